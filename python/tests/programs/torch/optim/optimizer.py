"""Optimizers, which report their steps as PyTorch's do."""

import collections
import itertools

hooks = collections.OrderedDict()


def register_optimizer_step_post_hook(hook):
    hooks[len(hooks)] = hook


class Optimizer:
    def __init__(self, name="one"):
        self.name = name
        self.param_groups = []

    def step(self):
        # A hook that is taken away meanwhile is an error, as it is in PyTorch.
        for hook in itertools.chain((), hooks.values()):
            hook(self, (), {})
