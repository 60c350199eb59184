"""A stand-in for PyTorch, as far as programs that are recorded use it: optimizers, data loaders, the profiler."""

import sys

import stand_in

sys.modules.update({name: module for name, module in stand_in.torch_modules().items() if name != "torch"})
__version__ = "2.6.0"
profiler, cuda, autograd = (sys.modules[f"torch.{part}"] for part in ("profiler", "cuda", "autograd"))

cuda.graphs = sys.modules["torch.cuda.graphs"]

from torch import optim, utils  # noqa: E402, F401
