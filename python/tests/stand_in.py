"""A stand-in for PyTorch, as far as the recorder knows it, with faults that real recordings have only now and then."""

import json
import types
import typing


class PyCall:
    def __init__(self, caller):
        self.caller = caller
        self.module = None


class PyCCall(PyCall):
    pass


class Operator:
    pass


def torch_modules():
    """What is in ``sys.modules`` when PyTorch was imported."""
    torch = types.ModuleType("torch")
    torch.__version__ = "2.6.0"
    torch.nn = types.SimpleNamespace(Module=Module)
    torch.optim = types.SimpleNamespace(Optimizer=Optimizer)
    torch.autograd = types.ModuleType("torch.autograd")
    torch.autograd.backward = backward
    torch.autograd._profiler_enabled = lambda: any(it.is_running for it in Profile.made)
    torch.profiler = types.ModuleType("torch.profiler")
    torch.profiler.profile = Profile
    torch.profiler.schedule = schedule
    torch.profiler.ProfilerActivity = types.SimpleNamespace(CPU="CPU", CUDA="CUDA")
    internals = types.ModuleType("torch._C._profiler")
    internals._ExtraFields_PyCall = PyCall
    internals._ExtraFields_PyCCall = PyCCall
    cuda = Cuda()
    graphs = types.ModuleType("torch.cuda.graphs")
    graphs.graph = Graph
    torch_c = types.ModuleType("torch._C")
    torch_c._cuda_isHistoryEnabled = lambda: cuda.history is not None
    return {
        "torch": torch,
        "torch.autograd": torch.autograd,
        "torch.profiler": torch.profiler,
        "torch.cuda": cuda,
        "torch.cuda.graphs": graphs,
        "torch._C": torch_c,
        "torch._C._profiler": internals,
    }


def backward():
    """``torch.autograd.backward``."""


class Cuda(types.ModuleType):
    """``torch.cuda`` of a machine with a device, which nobody uses until ``init`` is called."""

    class OutOfMemoryError(RuntimeError):
        pass

    def __init__(self):
        super().__init__("torch.cuda")
        self.memory = self
        self.history = None
        """The arguments that the history of the memory is recorded with, or None while it is not."""
        self._is_used = False
        self._waiting = []

    def init(self):
        # What waits for it is called before PyTorch says that it is in use.
        for call in self._waiting:
            call()
        self._is_used = True

    def is_initialized(self):
        return self._is_used

    def _lazy_call(self, call):
        if self._is_used:
            call()
        else:
            self._waiting.append(call)

    def _record_memory_history(self, enabled="all", stacks="all", max_entries=None):
        self.history = None if enabled is None else {"stacks": stacks, "max_entries": max_entries}

    def _snapshot(self):
        """A snapshot with one request that failed."""
        frames = [{"filename": "train.py", "line": 12, "name": "<module>"}]
        failed = {"action": "oom", "device_free": 4096, "size": 1 << 20, "stream": 0, "time_us": 1000, "frames": frames}
        return {"segments": [], "device_traces": [[failed]]}


class Graph:
    """``torch.cuda.graph``: what captures a graph."""

    def __enter__(self):
        """Begins the capture."""

    def __exit__(self, *error):
        """Ends the capture."""


class Tensor:
    """A tensor whose storage is at an address of a device, or of the host."""

    def __init__(self, address, grad=None, is_cuda=True):
        self.grad = grad
        self.is_cuda = is_cuda
        self._address = address

    def untyped_storage(self):
        return types.SimpleNamespace(data_ptr=lambda: self._address)


class Optimizer:
    """``torch.optim.Optimizer``: what it holds."""

    def __init__(self, parameters, state):
        self.param_groups = [{"params": parameters}]
        self.state = state


class Module:
    """``torch.nn.Module``: what it holds."""

    def __init__(self, parameters=(), **parts):
        self._parameters = dict(enumerate(parameters))
        self._modules = parts


class Parameter:
    """A parameter of so many numbers of four bytes; with None, one that has no shape yet."""

    def __init__(self, count):
        self._count = count

    def numel(self):
        if self._count is None:
            raise ValueError("no shape yet")
        return self._count

    def element_size(self):
        return 4


def call_of(module, number=0):
    """The event of a call of a module."""
    event = Event(f"nn.Module: {type(module).__name__}_{number}", 1000)
    event.extra_fields.module = types.SimpleNamespace(self_ptr=id(module))
    return event


class Event:
    """An event of the tree. An attribute that is an exception is raised when it is read, as in PyTorch's bindings."""

    def __init__(self, name, start, children=(), caller=("train.py", 7), kind=PyCall, thread=1):
        self._values = {
            "name": name,
            "children": children,
            "start_time_ns": start,
            "start_tid": thread,
            "extra_fields": kind(Caller(*caller)) if kind is not Operator else Operator(),
        }

    def __getattr__(self, attribute):
        value = self._values[attribute]
        if isinstance(value, Exception):
            raise value
        return list(value) if attribute == "children" and value else value


class Caller:
    def __init__(self, file, line):
        self._file = file
        self.line_number = line

    @property
    def file_name(self):
        if isinstance(self._file, Exception):
            raise self._file
        return self._file


class FlatEvent:
    def start_thread_id(self):
        return 1

    def device_resource_id(self):
        return 4711


def profiler(*roots):
    results = types.SimpleNamespace(experimental_event_tree=lambda: list(roots), events=lambda: [FlatEvent()])
    return types.SimpleNamespace(profiler=types.SimpleNamespace(kineto_results=results))


GOOD = Event(
    "train.py(1): main",
    1000,
    [
        Event("aten::add", 1500, kind=Operator, children=[Event("<built-in method item>", 1700, kind=PyCCall)]),
        Event("train.py(5): step", 1200, caller=("train.py", 3)),
    ],
)
"""A tree with three Python calls."""


def schedule(*, wait, warmup, active, repeat):
    """The states of ``torch.profiler.schedule``, for one cycle."""
    assert repeat == 1
    states = ["none"] * wait + ["warm up"] * warmup + ["record"] * (active - 1) + ["record and save"]
    return lambda step: states[step] if step < len(states) else "none"


class Profile:
    """``torch.profiler.profile``: which steps it records, and when it says that a trace is ready.

    ``made`` lists the profilers. ``failing`` names methods that raise.
    """

    made: typing.ClassVar[list] = []
    failing = ()
    trace: typing.ClassVar[dict] = {"traceEvents": [{"name": "train.py(1): main", "cat": "python_function"}]}

    def __init__(self, *, schedule=None, on_trace_ready=None, **options):
        self.options = options
        self.profiler = profiler(GOOD).profiler
        self.recorded = []
        self.is_running = False
        self._schedule = schedule
        self._on_trace_ready = on_trace_ready
        self._step = 0
        self._fail("__init__")
        self.made.append(self)

    def __enter__(self):
        self._fail("__enter__")
        self.start()
        self._note()
        return self

    def start(self):
        self.is_running = True

    def stop(self):
        self.is_running = False
        self._fail("stop")

    def step(self):
        self._fail("step")
        before = self._state()
        self._step += 1
        if before == "record and save":
            self._on_trace_ready(self)
        self._note()

    def __exit__(self, *_):
        self.is_running = False
        self._fail("__exit__")
        if self._state().startswith("record"):
            self._on_trace_ready(self)

    def export_chrome_trace(self, path):
        self._fail("export_chrome_trace")
        with open(path, "x") as file:
            json.dump(self.trace, file)

    def _state(self):
        return "record" if self._schedule is None else self._schedule(self._step)

    def _note(self):
        if self._state().startswith("record"):
            self.recorded.append(self._step)

    def _fail(self, method):
        if method in self.failing:
            raise RuntimeError(f"{method} failed")
