"""A program whose steps are the calls of a function; it has an optimizer, too, whose steps do not count then."""

import inspect
import sys

import torch

n_calls = 0


class Base:
    def forward(self, depth):
        global n_calls
        n_calls += 1
        return depth


class Model(Base):
    def forward(self, depth, *, more=0):
        super().forward(depth)
        return self.forward(depth - 1, more=more) if depth else depth


class Other:
    def forward(self, size=3):
        return size


def make(size):
    def inner(by=2):
        return size * by

    return inner


def again():
    return None


async def coroutine():
    return None


model, other, optimizer, inner = Model(), Other(), torch.optim.Optimizer(), make(4)
held = again
for _ in range(int(sys.argv[1])):
    assert other.forward() == 3
    assert inner() == 8
    held()
    coroutine().close()
    model.forward(2)
    optimizer.step()
print([it.recorded for it in sys.modules["torch.profiler"].profile.made])
print(sys.argv[1], "calls of", inspect.signature(Model.forward), "with", n_calls, "in all")
