"""A program with so many steps as its argument says; what it prints shows what recording left in it."""

import sys
import time

import torch
from torch.optim import optimizer

if __name__ == "__main__":
    one, other = torch.optim.Optimizer("one"), torch.optim.Optimizer("other")
    for step in range(int(sys.argv[1])):
        one.step()
        other.step()
        if "slow" in sys.argv:
            print(step, flush=True)
            time.sleep(0.05)
        if "fail" in sys.argv and step == 6:
            raise ValueError("the program failed")
    [profiler] = sys.modules["torch.profiler"].profile.made or [None]
    recorded = profiler and profiler.recorded
    finders = [type(it).__name__ for it in sys.meta_path if type(it).__name__ == "AfterImport"]
    print(recorded, len(optimizer.hooks) + len(finders), optimizer.Optimizer.__init__.__qualname__)
    sys.exit(3 if "status" in sys.argv else 0)
