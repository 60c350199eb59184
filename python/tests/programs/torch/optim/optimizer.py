"""Optimizers, which report their steps as PyTorch's do."""

hooks = {}


class Handle:
    def __init__(self, key):
        self._key = key

    def remove(self):
        del hooks[self._key]


def register_optimizer_step_post_hook(hook):
    handle = Handle(len(hooks))
    hooks[handle._key] = hook
    return handle


class Optimizer:
    def __init__(self, name="one"):
        self.name = name

    def step(self):
        for hook in list(hooks.values()):
            hook(self, (), {})
