"""Runs at the start of each Python of a recorded program: ``perfline record`` puts this folder first on ``PYTHONPATH``.

It imports neither PyTorch nor Perfline. It has them meet when the program imports what marks its steps: PyTorch's
optimizers and data loaders. Launchers and data-loader workers, which have no steps, are thus left as they are.
"""

import importlib.machinery
import importlib.util
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

WATCHED = ("torch.optim.optimizer", "torch.utils.data.dataloader")
"""The modules of optimizers and data loaders, in all versions of PyTorch."""


COMPILE_LOG_VARIABLE = "PERFLINE_COMPILE_LOG"
"""The environment variable that names the folder for the logs of ``torch.compile``."""

FIRST_WITH_LINES = (2, 9)
"""The first PyTorch whose log says which lines each kernel was made from."""


def log_compilations(spec):
    """Has PyTorch, which is about to be imported from ``spec``, log what ``torch.compile`` makes of which lines, unless the
    program was started with settings of its own for that. PyTorch reads the variables while it is imported.
    """
    folder = os.environ.get(COMPILE_LOG_VARIABLE)
    if not folder or spec is None or not spec.origin:
        return
    if not {"TORCH_TRACE", "TORCH_COMPILE_DEBUG"}.isdisjoint(os.environ):
        return
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8") as text:
            version = re.search(r"^__version__ = ['\"](\d+)\.(\d+)", text.read(), re.MULTILINE)
    except (OSError, ValueError):
        return
    if version and tuple(map(int, version.groups())) >= FIRST_WITH_LINES:
        os.environ["TORCH_TRACE"] = folder
        os.environ.setdefault("INDUCTOR_PROVENANCE", "1")


class AfterImport:
    """A finder on ``sys.meta_path`` that calls ``found(module)`` when a watched module has been executed, and
    ``before(spec)`` before PyTorch is.

    It goes when it has seen all of them.
    """

    def __init__(self, watched, found, before):
        self._watched = set(watched)
        self._found = found
        self._before = before

    def find_spec(self, name, path, target=None):
        if name == "torch" and self._before is not None:
            before, self._before = self._before, None
            before(importlib.machinery.PathFinder.find_spec(name, path, target))
        if name not in self._watched:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            self._watched.discard(name)
            if not self._watched and self in sys.meta_path:
                sys.meta_path.remove(self)
            self._found(module)

        spec.loader.exec_module = exec_module
        return spec


def attach(module):
    """Imports Perfline's package from where this file lies, and hands it the module. The program's import never fails by it."""
    package = os.path.dirname(os.path.dirname(HERE))
    sys.path.insert(0, package)
    try:
        from perfline import _attached

        _attached.found(module)
    except Exception as error:
        # A module of the same name, or a Python that is too old for the package.
        sys.stderr.write(f"perfline: nothing is recorded: {type(error).__name__}: {error}\n")
    finally:
        sys.path.remove(package)


def run_next():
    """Runs the ``sitecustomize`` that the program would have without this one, if there is one."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


sys.meta_path.insert(0, AfterImport(WATCHED, attach, log_compilations))
run_next()
