"""A program that takes batches before it makes an optimizer, which steps so often as its argument says."""

import sys

import torch
from torch.optim import optimizer

for _ in torch.utils.data.DataLoader(range(20)):
    pass
[first] = sys.modules["torch.profiler"].profile.made
print(first.recorded)
one = torch.optim.Optimizer("one")
for _ in range(int(sys.argv[1])):
    one.step()
others = [it for it in sys.modules["torch.profiler"].profile.made if it is not first and it.recorded]
for other in others:
    listeners = sys.modules["perfline.recorder"].optimizer_steps._listeners
    print(other.recorded, len(listeners), optimizer.Optimizer.__init__.__qualname__)
