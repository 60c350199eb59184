"""A program with so many steps as its argument says; what it prints shows what recording left in it."""

import sys
import time

import torch
from torch.optim import optimizer

if __name__ == "__main__":
    one, other = torch.optim.Optimizer("one"), torch.optim.Optimizer("other")
    if "cuda" in sys.argv:
        torch.cuda.init()
    if "unstoppable" in sys.argv:
        sys.modules["torch.profiler"].profile.failing = ("stop",)
    if "hook" in sys.argv:
        optimizer.register_optimizer_step_post_hook(lambda *_: None)
    for step in range(int(sys.argv[1])):
        if "graph" in sys.argv and step in (1, 2):
            with torch.cuda.graphs.graph():
                pass
        one.step()
        other.step()
        if "slow" in sys.argv:
            print(step, flush=True)
            time.sleep(0.05)
        if "fail" in sys.argv and step == 6:
            raise ValueError("the program failed")
        if "memory" in sys.argv and step == 2:
            raise torch.cuda.OutOfMemoryError("out of memory")
    profiler = next((it for it in sys.modules["torch.profiler"].profile.made if it.recorded), None)
    recorded = profiler and profiler.recorded
    finders = [type(it).__name__ for it in sys.meta_path if type(it).__name__ == "AfterImport"]
    if torch.cuda.history is not None:
        print("the history of memory is still recorded")
    # One hook stays, which notifies nobody.
    listeners = sys.modules["perfline.recorder"].optimizer_steps._listeners
    print(recorded, len(listeners) + len(finders), optimizer.Optimizer.__init__.__qualname__)
    sys.exit(3 if "status" in sys.argv else 0)
