"""Runs at the start of each Python of a recorded program: ``perfline record`` puts this folder first on ``PYTHONPATH``.

It imports neither PyTorch nor Perfline. It has them meet when the program imports what marks its steps: PyTorch's
optimizers and data loaders. Launchers and data-loader workers, which have no steps, are thus left as they are.
"""

import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

WATCHED = ("torch.optim.optimizer", "torch.utils.data.dataloader")
"""The modules of optimizers and data loaders, in all versions of PyTorch."""


class AfterImport:
    """A finder on ``sys.meta_path`` that calls ``found(module)`` when a watched module has been executed."""

    def __init__(self, watched, found):
        self._watched = set(watched)
        self._found = found

    def find_spec(self, name, path, target=None):
        if name not in self._watched:
            return None
        self._watched.discard(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            self._found(module)

        spec.loader.exec_module = exec_module
        return spec


def attach(module):
    """Imports Perfline's package from where this file lies, and hands it the module."""
    package = os.path.dirname(os.path.dirname(HERE))
    sys.path.insert(0, package)
    try:
        from perfline import _attached
    finally:
        sys.path.remove(package)
    _attached.found(module)


def run_next():
    """Runs the ``sitecustomize`` that the program would have without this one, if there is one."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


sys.meta_path.insert(0, AfterImport(WATCHED, attach))
run_next()
