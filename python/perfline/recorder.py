"""Record a run with ``torch.profiler`` so that every call has its exact source line.

A Chrome trace names the line where a called function is *defined*. PyTorch also knows the line that called it, and
versions before 2.14 drop that line when they export the trace. This module, one file that needs nothing but PyTorch,
writes it to a small side-car file beside the trace; Perfline reads the two together. ``profile`` records a few steps,
``trace_handler`` is for programs that have a ``torch.profiler.profile`` already, ``write_callers`` for those that
export their trace in a way of their own.

It works with PyTorch 1.13 and later. ``fixtures/FORMAT.md`` specifies the side-car (schema ``perfline.callers/1``).

Whatever goes wrong is a warning: recording never ends the program that is recorded.
"""

import array
import collections
import contextlib
import dis
import gc
import glob
import gzip
import hashlib
import inspect
import json
import linecache
import multiprocessing
import os
import pickle
import platform
import re
import secrets
import shlex
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import tokenize
import warnings

SCHEMA = "perfline.callers/1"

CHUNK = 1 << 20

MAX_NUMBERS = 3 << 22
"""Numbers of the rows of a thread, three each, after which no more lines are noted: 96 MiB."""

TOOLS = (3, 4, 2, 1, 0)
"""Ids of ``sys.monitoring`` that are tried; 2 is meant for profilers, and PyTorch 2.11 takes it with Python 3.12, 0 is meant
for debuggers, 1 for coverage tools.
"""

LIBRARY_FOLDERS = frozenset(("site-packages", "dist-packages"))

MAX_TEXT = 1 << 20
"""Bytes of a source file whose text is kept; of a larger one there is the hash."""

MAX_TEXTS = 8 << 20
"""Bytes of all texts that one recording keeps."""

SECRET = re.compile("key|token|secret|passw|credential|auth", re.IGNORECASE)
"""Names of arguments whose values are not recorded."""

HIDDEN = "***"
"""Stands for what is not recorded."""

MAX_COMMAND = 1000
"""Characters of the command line that are recorded."""

GIT_SECONDS = 5
"""How long git may take to say what was changed since the last commit."""

COMPILE_LOG = "dedicated_log_torch_trace_"
"""What the names of the logs that ``torch.compile`` writes to the folder ``TORCH_TRACE`` begin with."""

FRAME_FILE = re.compile(rb'  File \\"((?:[^"\\]|\\[^"])+)\\", line \d+, in ')
"""The file of a frame in a stack as Python formats it, within a text of JSON."""

KERNEL_STACKS = b"inductor_provenance_tracking_kernel_stack_traces"
"""Name of the record that says which lines each kernel was made from."""

COMPILED = (b'{"compilation_metrics"', b'{"bwd_compilation_metrics"')
"""Begin the records of a function, and of its backward pass, that was compiled."""

OF_COMPILED = (
    "co_name",
    "co_filename",
    "co_firstlineno",
    "entire_frame_compile_time_s",
    "recompile_reason",
    "compile_id",
    "duration_us",
    "aot_autograd_cumulative_compile_time_us",
    "inductor_cumulative_compile_time_us",
    "inductor_code_gen_cumulative_compile_time_us",
)
"""What of such a record is kept. The rest is mostly the configuration of the compiler."""

GRAPHS = (
    b'{"aot_joint_graph"',
    b'{"aot_forward_graph"',
    b'{"aot_backward_graph"',
    b'{"aot_inference_graph"',
)
"""Begin the records with the graphs that code is generated for."""

GRAPH_BREAK = b'"dynamo_graph_break_reason"'
"""Name of the record that says why a graph ends."""

MODULE = "nn.Module: "
"""What the events of calls of modules are named, before their class and a number."""

DATA_PARALLEL = frozenset(("DataParallel", "DistributedDataParallel"))
"""Classes whose only part, ``module``, is the wrapped module."""

WRAPPERS = frozenset(("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"))
"""What wrappers call the module that they wrap; names of modules go without it."""

TRACE_ENDING = ".pt.trace.json.gz"
"""The end of the name of a trace, as TensorBoard and other tools look for it."""

COMPILE_LOG_ENDING = ".torch_trace.log.gz"
"""The end of the name of what ``torch.compile`` logged, beside a trace."""

MAX_HISTORY = 1 << 18
"""Entries of the history of device memory that are kept, the last ones: an allocation and its release make three."""

GRADIENT = "gradient"
"""What the tensors of gradients are for."""

MAX_PLAIN_STEPS = 5
"""Steps before recording whose durations are written, the last ones."""

COMPRESSION = 6
"""Level of gzip for traces. The default of Python, 9, takes five times as long for a tenth less."""


class profile:
    """Records a few steps of a program, with stacks, shapes and memory, into files that Perfline reads::

        with perfline.profile() as prof:
            for batch in loader:
                train_step(batch)
                prof.step()

    The first ``skip`` steps are left out: they compile, allocate and warm up (the last of them also warms up the
    profiler). Then ``steps`` steps are recorded and written to ``folder``, as ``trace_handler`` does, and the rest of
    the block runs without the profiler. A block that ends earlier, with an exception or without, leaves what it
    recorded until then. With ``steps=None`` the whole block is recorded, and ``prof.step()`` need not be called.

    With ``lines`` it is also noted when each line of the user's code begins, so that operators, which no trace gives a
    line, have exact lines too. Debuggers and coverage tools that use ``sys.settrace`` go before it.

    With ``sources`` the texts of the user's files that ran are written beside the trace, so that numbers stay on their
    lines when a file is edited later.

    With ``memory``, and where the program uses a CUDA device, the history of its memory is recorded from then on, and
    written beside the trace as a memory snapshot. A block that ends because a device has no memory left writes one, too.

    Each process of a distributed program records its own rank. ``options`` go to ``torch.profiler.profile``
    (``activities``, ``with_flops``, ``experimental_config``, …).

    Nothing is raised: where recording is not possible, one warning says why and the block runs without it.
    """

    def __init__(self, folder="perfline-runs", *, skip=2, steps=3, lines=True, sources=True, memory=True, **options):
        self._sources = _Sources() if sources else None
        self._memory = _Memory() if memory else None
        self.recordings = []
        """The paths of the traces that were written."""
        self.snapshots = []
        """The paths of the memory snapshots that were written."""
        self._folder = folder
        self._skip = skip
        self._steps = steps
        self._options = {"with_stack": True, "record_shapes": True, "profile_memory": True, **options}
        self._prof = None
        self._lines = _Lines() if lines and self._options["with_stack"] else None
        self._calls = 0
        self._workers = _LoaderWorkers()
        # How long steps took without the profiler, in nanoseconds, and when the step that runs began.
        self._plain_steps = []
        self._began = None
        self._problem = None
        self._has_warned = False

    def __enter__(self):
        try:
            import torch.profiler

            when = None if self._steps is None else _actions(self._skip, self._steps, 1)
            options = {**_collections(), **self._options}
            prof = torch.profiler.profile(schedule=when, on_trace_ready=self._save, **options)
            self._read_sources()
            self._start_memory()
            if when is None or self._skip == 0:
                self._start_lines()
            prof.__enter__()
        except Exception as error:
            self._stop_lines()
            self._stop_memory()
            self._note(f"nothing is recorded: {_reason(error)}")
        else:
            self._prof = prof
        self._warn()
        return self

    def step(self):
        """Says that a step of the program has ended and the next begins."""
        if self._prof is None:
            return
        # The first step compiles and allocates, and the last one before recording warms up the profiler.
        if self._steps is not None and 0 < self._calls < self._skip - 1:
            self._plain_steps = [*self._plain_steps, time.perf_counter_ns() - self._began][-MAX_PLAIN_STEPS:]
        self._calls += 1
        # Programs use their device only when they have begun.
        self._start_memory()
        if self._steps is not None and self._calls == self._skip + self._steps - 1 and self._memory is not None:
            self._memory.last_step_begins()
        try:
            # What the profiler itself does at its start and its end needs no lines.
            if self._steps is not None and self._calls == self._skip + self._steps:
                self._stop_lines()
            elif self._steps is not None and self._calls == self._skip:
                self._read_sources()
                self._start_lines()
            self._prof.step()
        except Exception as error:
            self._note(f"recording ended early: {_reason(error)}")
            self._stop()
        else:
            if self.recordings:
                self._stop()
        self._warn()
        self._began = time.perf_counter_ns()

    def __exit__(self, kind, error, traceback):
        if self._prof is None:
            return
        # Before the profiler ends, which writes the trace: what it takes itself is of no interest.
        if kind is not None:
            self._save_if_memory_is_out(kind)
        self._stop()
        if not self.recordings and kind is None:
            self._note(self._nothing_recorded())
        self._warn()

    def _nothing_recorded(self):
        """Why there is no recording although nothing failed."""
        return (
            f"nothing was recorded: prof.step() was called {self._calls} times, and recording begins after "
            f"{self._skip}; call it after each step, or record the whole block with steps=None"
        )

    def _stop(self):
        """Ends the profiler, which writes what it has not written yet. Nothing of it is left in the program."""
        prof, self._prof = self._prof, None
        self._stop_lines()
        try:
            prof.__exit__(None, None, None)
        except Exception as error:
            self._note(f"the profiler did not stop as it should: {_reason(error)}")
        self._stop_memory()

    def _save(self, prof):
        self._workers.stop()
        stem = _stem(self._folder, None)
        # Its name is that of the trace, which is written last.
        self._save_memory(stem)
        try:
            more = {"plain_steps_ns": self._plain_steps or None, "loader_workers": self._workers.document()}
            self.recordings.append(_write_recording(prof, stem, self._lines, self._sources, more))
        except Exception as error:
            self._note(f"no recording was written to {self._folder!r}: {_reason(error)}")

    def _save_memory(self, stem):
        """Writes a snapshot of the memory of devices, at most one."""
        try:
            if self._memory is not None and not self.snapshots:
                self.snapshots += self._memory.write(stem)
        except Exception as error:
            self._note(f"no memory snapshot was written to {self._folder!r}: {_reason(error)}")

    def _save_if_memory_is_out(self, kind):
        """Writes a snapshot if the exception of class ``kind``, which ends the block, says that a device has no memory left."""
        if _is_out_of_memory(kind):
            self._save_memory(_stem(self._folder, None))
            for path in self.snapshots:
                self._note(f"a device has no memory left; which lines hold it: perfline memory {path}")

    def _read_sources(self):
        try:
            if self._sources is not None:
                self._sources.read()
        except Exception as error:
            self._sources = None
            self._note(f"the texts of sources are not recorded: {_reason(error)}")

    def _start_lines(self):
        self._workers.start()
        try:
            if self._lines is not None:
                self._lines.start()
        except Exception as error:
            self._lines = None
            self._note(f"lines of operators are not recorded: {_reason(error)}")

    def _stop_lines(self):
        try:
            if self._lines is not None:
                self._lines.stop()
        except Exception as error:
            self._note(f"what notes the lines of operators did not stop as it should: {_reason(error)}")

    def _start_memory(self):
        try:
            if self._memory is not None:
                self._memory.start()
        except Exception as error:
            self._memory = None
            self._note(f"the memory of devices is not recorded: {_reason(error)}")

    def _stop_memory(self):
        try:
            if self._memory is not None:
                self._memory.stop()
        except Exception as error:
            self._note(f"recording the memory of devices did not stop as it should: {_reason(error)}")

    def _note(self, problem):
        """Keeps the first problem: what follows from it is not reported."""
        self._problem = self._problem or problem

    def _warn(self):
        """Reports a problem, once, at the line of the program that called the method that calls this."""
        if self._problem and not self._has_warned:
            self._has_warned = True
            _warn(self._problem, stacklevel=4)


def _collections():
    """The option that has PyTorch record when Python's garbage collector runs, where there is one (2.8 and later)."""
    try:
        from torch._C._profiler import _ExperimentalConfig

        return {"experimental_config": _ExperimentalConfig(record_python_gc_info=True)}
    except (ImportError, TypeError):
        return {}


def schedule(skip=5, steps=3, repeat=1, lines=True):
    """Returns what ``schedule`` of ``torch.profiler.profile`` takes: ``skip`` steps are left out, the last of which warms up the
    profiler, then ``steps`` are recorded, and so on ``repeat`` times; 0 stands for until the program ends.

    With ``lines`` it is noted when each line of the user's code begins while steps are recorded, as ``profile`` does;
    ``trace_handler`` writes it beside the trace.
    """
    return _Schedule(_actions(skip, steps, repeat), lines)


def _actions(skip, steps, repeat):
    """What the profiler does in each step, as a function of its number."""
    import torch.profiler

    with warnings.catch_warnings():
        # Without a step before them, the first one also starts the profiler: that is what was asked for.
        warnings.simplefilter("ignore", UserWarning)
        return torch.profiler.schedule(wait=max(skip - 1, 0), warmup=min(skip, 1), active=steps, repeat=repeat)


class _Schedule:
    """Says what the profiler is to do in each step, and notes the lines of those that are recorded."""

    def __init__(self, actions, has_lines):
        self._actions = actions
        self._has_lines = has_lines
        self._noted = None
        self._ended = None
        self._is_last = False

    def __call__(self, step):
        # The profiler asks before it acts: a recording that ends does so when this has returned.
        action = self._actions(step)
        if self._is_last:
            self._stop()
        is_recorded = action.name.startswith("RECORD")
        if self._has_lines and is_recorded and self._noted is None:
            self._start()
        self._is_last = action.name == "RECORD_AND_SAVE"
        return action

    def take_lines(self):
        """The lines of the recording that has just ended, or None where none were noted."""
        self._stop()
        lines, self._ended = self._ended, None
        return lines

    def _start(self):
        lines = _Lines()
        try:
            lines.start()
        except Exception as error:
            self._has_lines = False
            _warn(f"lines of operators are not recorded: {_reason(error)}", stacklevel=5)
        else:
            self._noted = lines

    def _stop(self):
        lines, self._noted = self._noted, None
        if lines is None:
            return
        self._ended = lines
        try:
            lines.stop()
        except Exception as error:
            _warn(f"what notes the lines of operators did not stop as it should: {_reason(error)}", stacklevel=5)


def trace_handler(folder, worker_name=None, sources=True):
    """Returns what ``on_trace_ready`` of ``torch.profiler.profile`` takes: it writes each recording to ``folder``.

    A recording is the trace, ``<worker>.<time>.pt.trace.json.gz``, as ``tensorboard_trace_handler`` names it, and beside
    it ``<worker>.<time>.callers.json.gz``: the callers of its Python calls, if the trace itself lacks them (PyTorch
    before 2.14), and with ``sources`` the texts of the user's files that ran. The worker is ``<host>_<process>``, in a distributed program ``<host>_rank<rank>``, so that Perfline
    knows the ranks of a run. A file gets its name when it is complete. The folder is made if there is none.

    Record with ``with_stack=True``, or there are no lines. What goes wrong is a warning.
    """

    texts = None
    if sources:
        try:
            texts = _Sources()
            texts.read()
        except Exception as error:
            texts = None
            _warn(f"the texts of sources are not recorded: {_reason(error)}", stacklevel=3)

    def handler(prof):
        try:
            noted = getattr(prof, "schedule", None)
            lines = noted.take_lines() if isinstance(noted, _Schedule) else None
            _write_recording(prof, _stem(folder, worker_name), lines, texts, {})
        except Exception as error:
            _warn(f"no recording was written to {folder!r}: {_reason(error)}", stacklevel=3)

    return handler


def _stem(folder, worker_name):
    """What the paths of the files of one recording in ``folder`` begin with."""
    return os.path.join(os.fsdecode(folder), f"{worker_name or _worker()}.{time.time_ns()}")


def _hidden_folder(path):
    """A folder for what is not complete yet, beside ``path``, so that it can be moved into its place; hidden, so that half of
    it is not read. It goes away with all that is left in it.
    """
    folder = os.path.dirname(path)
    os.makedirs(folder or os.curdir, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=".perfline-", dir=folder or os.curdir)


def _write_recording(prof, stem, lines, sources, more):
    """Writes a trace and, where it lacks what is known, its side-car, whose paths begin with ``stem``; returns the path of
    the trace. ``more`` is what the side-car holds besides.
    """
    path = stem + TRACE_ENDING
    with _hidden_folder(path) as temporary:
        plain = os.path.join(temporary, "trace.json")
        packed = os.path.join(temporary, "trace.json.gz")
        prof.export_chrome_trace(plain)
        has_callers = _pack(plain, packed)
        compiled = _write_compile_log(stem + COMPILE_LOG_ENDING)
        if sources is not None:
            sources.ran_compiled(compiled)
        _write_side_car(prof, f"{stem}.callers.json.gz", lines, sources, not has_callers, more)
        # Last, because who waits for a recording waits for its trace.
        os.replace(packed, path)
    return path


def _pack(plain, packed):
    """Compresses a trace; returns whether it names the callers itself."""
    has_callers = False
    with open(plain, "rb") as trace, gzip.open(packed, "wb", compresslevel=COMPRESSION) as out:
        while True:
            chunk = trace.read(CHUNK)
            if not chunk:
                return has_callers
            # Every call has it or none, so that one at the border of two chunks does not matter.
            has_callers = has_callers or b'"CallFrom"' in chunk
            out.write(chunk)


def _worker():
    """The name of this process among those that write to one folder."""
    rank = _rank()
    return f"{socket.gethostname()}_{os.getpid()}" if rank is None else f"{socket.gethostname()}_rank{rank}"


def _rank():
    """The rank of this process, or None in a program that is not distributed."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank() if distributed.get_world_size() > 1 else None
    # Launchers say it to programs that have not joined their group yet, or never do.
    is_one_of_many = os.environ.get("WORLD_SIZE", "1") not in ("", "1")
    return os.environ.get("RANK") if is_one_of_many else None


class _Lines:
    """Notes when each line of the user's code begins, by the clock that the trace goes by.

    From Python 3.12 on by ``sys.monitoring``, with events of the user's code objects alone; before by ``sys.settrace``, in
    the thread that starts it and in those that begin later. A row is three integers: nanoseconds since 1970, the ``id``
    of a code object, and the line that begins, or 0 where the code is entered: called, or resumed as a generator.
    """

    def __init__(self):
        self._is_user_code = _UserFiles()
        # By `id`; that they are kept makes sure that no other code object gets the same.
        self._codes = {}
        # By the system's thread id.
        self._rows = {}
        self._until = None
        self._end = None

    def start(self):
        """Begins, or raises what says why it cannot."""
        self._end = self._monitor() if hasattr(sys, "monitoring") else self._trace()

    def stop(self):
        """Ends it. Nothing of it stays in the program."""
        end, self._end = self._end, None
        if end is not None:
            self._until = time.time_ns()
            end()

    def document(self, index):
        """What a side-car holds of it. ``index`` numbers the strings."""

        def number(text):
            return index.setdefault(text, len(index))

        numbers, rows_of, modules = {}, [], {}
        for key, code in self._codes.items():
            # IPython compiles each statement of a cell by itself, and a trace calls them all the same.
            is_module = code.co_name == "<module>" or code.co_name.startswith("<cell line: ")
            place = modules.setdefault(code.co_filename, len(rows_of)) if is_module else len(rows_of)
            if place == len(rows_of):
                rows_of.append([])
            rows_of[place].append(code)
            numbers[key] = place
        prefixes = _path_prefixes()
        codes = [same[0] for same in rows_of]
        return {
            "until_ns": self._until,
            "codes": {
                "file": [number(_recorded_path(it.co_filename, prefixes)) for it in codes],
                "function": [number(it.co_name) for it in codes],
                "first": [it.co_firstlineno for it in codes],
                "last": [max(line or 0 for code in same for _, line in dis.findlinestarts(code)) for same in rows_of],
            },
            "threads": [
                {
                    "tid": tid,
                    "time_ns": _differences(rows[0::3]),
                    "code": [numbers[key] for key in rows[1::3]],
                    "line": rows[2::3].tolist(),
                }
                for tid, rows in self._rows.items()
                if rows
            ],
        }

    def _open(self, frame):
        """The user's frames among those that are running already: those of a thread from its innermost one on."""
        while frame is not None:
            if self._is_user_code[frame.f_code.co_filename]:
                yield frame
            frame = frame.f_back

    def _monitor(self):
        """Begins with ``sys.monitoring``; returns what ends it."""
        monitoring, events = sys.monitoring, sys.monitoring.events
        tool = next((it for it in TOOLS if monitoring.get_tool(it) is None), None)
        if tool is None:
            raise RuntimeError("other tools use sys.monitoring")
        codes, is_user_code, now = self._codes, self._is_user_code, time.time_ns

        of_thread = self._rows

        class Local(threading.local):
            def __init__(self):
                self.rows = of_thread.setdefault(threading.get_native_id(), array.array("q"))

        local = Local()

        def watch(code):
            codes[id(code)] = code
            monitoring.set_local_events(tool, code, events.LINE)

        def entered(code, *_):
            if id(code) not in codes:
                if not is_user_code[code.co_filename]:
                    return monitoring.DISABLE
                watch(code)
            local.rows.extend((now(), id(code), 0))
            return None

        def thrown(code, *_):
            # This event cannot be disabled.
            if id(code) in codes:
                local.rows.extend((now(), id(code), 0))

        def began(code, line):
            rows = local.rows
            rows.extend((now(), id(code), line))
            if len(rows) > MAX_NUMBERS:
                self.stop()

        def end():
            monitoring.set_events(tool, 0)
            for code in codes.values():
                monitoring.set_local_events(tool, code, 0)
            monitoring.free_tool_id(tool)

        monitoring.use_tool_id(tool, "perfline")
        try:
            monitoring.register_callback(tool, events.PY_START, entered)
            monitoring.register_callback(tool, events.PY_RESUME, entered)
            monitoring.register_callback(tool, events.PY_THROW, thrown)
            monitoring.register_callback(tool, events.LINE, began)
            for frame in sys._current_frames().values():
                for running in self._open(frame):
                    watch(running.f_code)
            monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_THROW)
            # What an earlier recording disabled.
            monitoring.restart_events()
        except BaseException:
            end()
            raise
        return end

    def _trace(self):
        """Begins with ``sys.settrace``; returns what ends it."""
        if sys.gettrace() is not None or threading._trace_hook is not None:
            raise RuntimeError("a debugger or a coverage tool uses sys.settrace")
        codes, is_user_code, now = self._codes, self._is_user_code, time.time_ns
        is_over = False

        def tracers():
            """What this thread is traced with: by code object for each line, and for each call."""
            rows = self._rows.setdefault(threading.get_native_id(), array.array("q"))
            extend = rows.extend
            of_code = {}

            def of_lines(code):
                key = id(code)
                if key in of_code:
                    return of_code[key]

                def began(frame, event, _):
                    if is_over:
                        sys.settrace(None)
                    elif event == "line":
                        extend((now(), key, frame.f_lineno))
                        if len(rows) > MAX_NUMBERS:
                            self.stop()
                    return began

                codes[key] = code
                of_code[key] = began
                return began

            def entered(frame, *_):
                if is_over:
                    # Of another thread than the one that ended it.
                    sys.settrace(None)
                    return None
                code = frame.f_code
                if not is_user_code[code.co_filename]:
                    return None
                began = of_lines(code)
                extend((now(), id(code), 0))
                return began

            return of_lines, entered

        def begin_thread(*event):
            _, entered = tracers()
            sys.settrace(entered)
            return entered(*event)

        def end():
            nonlocal is_over
            is_over = True
            sys.settrace(None)
            threading.settrace(None)
            for frame in frames:
                frame.f_trace = None
            frames.clear()

        of_lines, entered = tracers()
        frames = list(self._open(sys._getframe()))
        for frame in frames:
            frame.f_trace = of_lines(frame.f_code)
        threading.settrace(begin_thread)
        sys.settrace(entered)
        return end


def not_compiled(function, recursive=True):
    """``function`` such that ``torch.compile`` does not compile it, nor, with ``recursive``, what it calls: a compiled
    ``optimizer.step`` runs hooks. The compiler is imported when it is first called, as PyTorch's optimizers themselves do in
    ``zero_grad``.
    """
    try:
        from torch._compile import _disable_dynamo
    except ImportError:
        # Before PyTorch 2.1 the steps of optimizers were never compiled.
        return function
    return _disable_dynamo(function, recursive)


class _OptimizerSteps:
    """Notifies who asks for it of the steps of optimizers.

    One hook of PyTorch's does so. It stays when nobody asks any more: PyTorch iterates over its hooks while it calls them, and
    fails in the program, with a RuntimeError, if one of them takes itself or another one away.
    """

    def __init__(self):
        self._listeners = ()
        self._is_hooked = False

    def watch(self, listener):
        """Has ``listener`` called with each optimizer that has stepped; returns what ends that. Before PyTorch 2.0, which does
        not report steps, it returns None.
        """
        register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_post_hook", None)
        if register is None:
            return None
        if not self._is_hooked:

            def stepped(optimizer, args, kwargs):
                for listener in self._listeners:
                    listener(optimizer)

            register(not_compiled(stepped))
            self._is_hooked = True
        self._listeners = (*self._listeners, listener)

        def end():
            self._listeners = tuple(it for it in self._listeners if it is not listener)

        return end


optimizer_steps = _OptimizerSteps()
"""Those of the process: PyTorch has one hook of them, whatever is recorded how often."""


class _Memory:
    """Records the history of the memory of CUDA devices: each allocation and release, with the Python frames that run.

    It needs PyTorch 2.1. Where the program records the history itself, that is written, and goes on.
    """

    def __init__(self):
        self._is_ours = False
        self._is_over = False
        # When the last step began, in microseconds since 1970.
        self._since = 0
        # What is at an address at a time, as `_tensors_of` gives it.
        self._tensors = []
        self._end_steps = None

    def last_step_begins(self):
        """Has the gradients of the last step noted when an optimizer takes them: many programs drop them after it."""
        self._since = _microseconds()
        # A compiled step of an optimizer would be compiled once more if it had a hook.
        counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
        if counters and counters.get("frames"):
            return
        if self._end_steps is None and self._is_in_use():
            self._end_steps = optimizer_steps.watch(self._stepped)

    def _stepped(self, optimizer):
        with contextlib.suppress(Exception):
            gradients = [it.grad for group in optimizer.param_groups for it in group["params"]]
            self._tensors += _tensors_of(GRADIENT, gradients)

    def start_when_used(self):
        """Begins when the program uses a device for the first time, so that its parameters are in the history, too."""
        cuda = sys.modules.get("torch.cuda")
        # Before PyTorch has said what it has, the steps begin it.
        if cuda is not None and hasattr(cuda, "_lazy_call") and hasattr(cuda, "is_initialized"):
            cuda._lazy_call(self._try_to_start)

    def _try_to_start(self):
        # PyTorch calls it while the device is being prepared, and says only later that it is in use. An exception would be
        # one of the program's; the steps try again, and report it.
        with contextlib.suppress(Exception):
            self._begin()

    def start(self):
        """Begins if a device is in use and nobody records its memory; raises what says why it cannot."""
        if self._is_in_use():
            self._begin()

    def _begin(self):
        if self._is_ours or self._is_over:
            return
        memory = sys.modules["torch.cuda"].memory
        # PyTorch before 2.1 takes other arguments, and cannot be asked whether it is on.
        is_known = inspect.signature(memory._record_memory_history).parameters["enabled"].default == "all"
        if is_known and not self._is_on():
            memory._record_memory_history(max_entries=MAX_HISTORY, stacks="python")
            self._is_ours = True

    def write(self, stem):
        """Writes a snapshot; returns its path as the only one of a list, which is empty where no history was recorded."""
        if not (self._is_in_use() and self._is_on()):
            return []
        path = f"{stem}.snapshot.pickle.gz"
        # As `_dump_snapshot` writes it, with one entry more, which other readers do not look at.
        snapshot = sys.modules["torch.cuda"].memory._snapshot()
        snapshot["perfline"] = self._purposes()
        with _hidden_folder(path) as temporary:
            packed = os.path.join(temporary, "snapshot.pickle.gz")
            with gzip.open(packed, "wb", compresslevel=COMPRESSION) as out:
                pickle.dump(snapshot, out)
            os.replace(packed, path)
        return [path]

    def _purposes(self):
        """What the tensors that are there are for (``fixtures/FORMAT.md``, memory snapshots)."""
        tensors = list(self._tensors)
        try:
            tensors += _tensors_in_use()
        except Exception as error:
            _warn(f"what tensors are for is not recorded: {_reason(error)}", stacklevel=6)
        return {
            "since_us": self._since,
            "address": [address for address, _, _ in tensors],
            "purpose": [purpose for _, purpose, _ in tensors],
            "time_us": [time for _, _, time in tensors],
        }

    def stop(self):
        """Ends what it began. It does not begin again."""
        is_ours, self._is_ours, self._is_over = self._is_ours, False, True
        end, self._end_steps = self._end_steps, None
        if end is not None:
            end()
        if is_ours:
            sys.modules["torch.cuda"].memory._record_memory_history(enabled=None)

    @staticmethod
    def _is_in_use():
        cuda = sys.modules.get("torch.cuda")
        return cuda is not None and cuda.is_initialized()

    @staticmethod
    def _is_on():
        is_on = getattr(sys.modules["torch._C"], "_cuda_isHistoryEnabled", None)
        return is_on is not None and is_on()


def _microseconds():
    """Since 1970, as PyTorch counts in memory snapshots."""
    return time.time_ns() // 1000


def _tensors_of(purpose, tensors):
    """For each of ``tensors`` on a CUDA device, the address of its storage, ``purpose``, and the time in microseconds."""
    now, rows = _microseconds(), []
    for tensor in tensors:
        # Of a tensor that is distributed over ranks, the part of this one.
        tensor = getattr(tensor, "_local_tensor", tensor)
        with contextlib.suppress(Exception):
            if tensor is not None and tensor.is_cuda:
                rows.append((tensor.untyped_storage().data_ptr(), purpose, now))
    return rows


def _tensors_in_use():
    """The parameters, their gradients, the buffers and the states of optimizers that are there."""
    import torch

    parameters, buffers, states = [], [], []
    # Not by `isinstance`, which runs code of objects that stand for others.
    for it in gc.get_objects():
        if issubclass(type(it), torch.nn.Module):
            parameters += vars(it).get("_parameters", {}).values()
            buffers += vars(it).get("_buffers", {}).values()
        elif issubclass(type(it), torch.optim.Optimizer):
            parameters += (one for group in it.param_groups for one in group["params"])
            states += (value for state in it.state.values() if isinstance(state, dict) for value in state.values())
    gradients = [it.grad for it in parameters if it is not None]
    return [
        *_tensors_of("parameter", parameters),
        *_tensors_of(GRADIENT, gradients),
        *_tensors_of("optimizer state", states),
        *_tensors_of("buffer", buffers),
    ]


def _is_out_of_memory(kind):
    """Whether exceptions of class ``kind`` say that a device has no memory left."""
    # PyTorch 2.5 and later call it `torch.OutOfMemoryError`, and have the old name, too.
    error = getattr(sys.modules.get("torch.cuda"), "OutOfMemoryError", None)
    return error is not None and issubclass(kind, error)


class _LoaderWorkers:
    """How much the worker processes of data loaders work while steps are recorded: their time on a processor, as Linux counts
    it. Other systems do not say it.
    """

    def __init__(self):
        self._began = None
        self._before = {}
        self._time = 0
        self._worked = []

    def start(self):
        self._before = _loader_workers()
        self._began = time.perf_counter_ns()

    def stop(self):
        """Takes the time. Workers that began or ended since ``start`` are left out."""
        if self._began is None:
            return
        self._time = time.perf_counter_ns() - self._began
        after = _loader_workers()
        self._worked = [after[pid] - before for pid, before in self._before.items() if pid in after]

    def document(self):
        """What a side-car holds of it, or None where there are no workers."""
        return {"time_ns": self._time, "worked_ns": self._worked} if self._worked else None


def _loader_workers():
    """By process id, how long each worker of a data loader was on a processor since it began, in nanoseconds."""
    loaders = sys.modules.get("torch.utils.data.dataloader")
    kind = getattr(loaders, "_MultiProcessingDataLoaderIter", None)
    found = {}
    # Looking through all objects makes the step that follows slower, so it is done only where there are processes to find.
    if kind is None or sys.platform != "linux" or not multiprocessing.active_children():
        return found
    for iterator in [it for it in gc.get_objects() if type(it) is kind]:
        for process in vars(iterator).get("_workers", ()):
            try:
                if process.is_alive():
                    threads = glob.glob(f"/proc/{process.pid}/task/*/schedstat")
                    found[process.pid] = sum(map(_processor_time, threads))
            except (OSError, ValueError):
                # It ends now.
                continue
    return found


def _processor_time(path):
    """How long a thread was on a processor, by the path of its ``schedstat``, in nanoseconds."""
    with open(path, encoding="ascii") as file:
        return int(file.read().split()[0])


class _UserFiles(dict):
    """Whether a file is the user's: it belongs to no library, to Python or to this recorder."""

    def __init__(self):
        super().__init__()
        folders = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
        torch = getattr(sys.modules.get("torch"), "__file__", None)
        if torch:
            folders.append(os.path.dirname(torch))
        if __package__:
            folders.append(os.path.dirname(os.path.abspath(__file__)))
        # In both spellings, because a code object has that of the import.
        both = {spelled(folder) for folder in folders if folder for spelled in (os.path.abspath, os.path.realpath)}
        self._libraries = tuple(os.path.join(folder, "") for folder in both)

    def __missing__(self, file):
        try:
            path = os.path.abspath(file)
        except OSError:
            # The folder that a relative path begins in was deleted.
            path = file
        # Notebooks of older versions name cells so; other names in brackets stand for texts that are in no file.
        is_text = file.startswith("<") and not file.startswith("<ipython-input")
        is_library = path.startswith(self._libraries) or not LIBRARY_FOLDERS.isdisjoint(path.split(os.sep))
        self[file] = not (is_text or is_library or path == os.path.abspath(__file__))
        return self[file]


class _Sources:
    """The texts of the user's files, as near to what Python read as can be had: those that ``linecache`` has (cells of
    notebooks are only there), else the files as they are when recording begins.
    """

    def __init__(self):
        self._is_user_code = _UserFiles()
        # By the path that code objects have: the text, or None where there is none.
        self._texts = {}
        self._compiled = frozenset()

    def ran_compiled(self, paths):
        """Code of the files at ``paths`` ran as what ``torch.compile`` made of it."""
        self._compiled = paths

    def read(self):
        """Reads the files of all modules that are loaded, those alone that were not read before."""
        for path in [*_module_files(), *linecache.cache]:
            if path not in self._texts and self._is_user_code[path]:
                self._texts[path] = _source_text(path)

    def document(self, index, knows_what_ran):
        """What a side-car holds of it. ``index`` numbers the strings; where it ``knows_what_ran``, it names each file
        that ran, by itself or in the name of a function, unless what ran of it was compiled.
        """
        self.read()
        ran = {name.rpartition("): ")[0].rpartition("(")[0] for name in index}.union(index)
        prefixes = _path_prefixes()
        files, left = [], MAX_TEXTS
        for path, text in self._texts.items():
            name = _recorded_path(path, prefixes)
            if text is None or (knows_what_ran and name not in ran and path not in self._compiled):
                continue
            encoded = text.encode("utf-8", "replace")
            is_kept = len(encoded) <= min(MAX_TEXT, left)
            left -= len(encoded) if is_kept else 0
            files.append(
                {
                    "file": index.setdefault(name, len(index)),
                    "sha256": hashlib.sha256(encoded).hexdigest(),
                    "text": text if is_kept else None,
                }
            )
        return {"files": files, "git": _git_state()}


def _module_files():
    """The Python files of the modules that are loaded."""
    for module in list(sys.modules.values()):
        # Not by `getattr`: modules that load their parts when these are asked for must not begin to.
        file = vars(module).get("__file__") if isinstance(module, type(sys)) else None
        if isinstance(file, str) and file.endswith(".py"):
            yield file


def _source_text(path):
    """The text of a source, or None where there is none."""
    known = linecache.cache.get(path)
    if known is not None and len(known) == 4:
        return "".join(known[2])
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_TEXTS:
            return None
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, ValueError):
        return None


def _command():
    """The script and its arguments, without what may be a secret; None in a notebook, whose kernel says nothing of it."""
    script = sys.argv[0] if sys.argv else ""
    if "ipykernel" in sys.modules:
        return None
    if os.path.isabs(script) and script.startswith(os.path.join(os.getcwd(), "")):
        script = os.path.relpath(script)
    shown, is_secret = [script], False
    for argument in sys.argv[1:]:
        name, equals, _ = argument.partition("=")
        if is_secret and not argument.startswith("-"):
            argument = HIDDEN
        elif equals and SECRET.search(name):
            argument = f"{name}={HIDDEN}"
        is_secret = argument.startswith("-") and not equals and bool(SECRET.search(argument))
        # `https://user:password@host/…`
        shown.append(re.sub(r"//[^/@\s]*@", f"//{HIDDEN}@", argument))
    text = " ".join(argument if argument == HIDDEN else shlex.quote(argument) for argument in shown)
    return text[:MAX_COMMAND] or None


def _git_state():
    """The commit that is checked out, and whether files that git knows were changed since; None where git is not used."""

    def ask(*command):
        # What a repository configures to be run is not wanted here, and what else works in it is not to be held up.
        options = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"]
        return subprocess.run(
            ["git", *options, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=GIT_SECONDS,
            check=True,
            text=True,
        ).stdout.strip()

    try:
        return {
            "revision": ask("rev-parse", "HEAD"),
            "dirty": bool(ask("status", "--porcelain", "--untracked-files=no")),
        }
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _path_prefixes():
    """The folders that PyTorch leaves out before the paths of a trace, the longest first."""
    folders = {os.path.join(os.path.abspath(folder), "") for folder in sys.path}
    return sorted(folders, key=len, reverse=True)


def _recorded_path(path, prefixes):
    """A path as a trace spells it."""
    prefix = next((it for it in prefixes if path.startswith(it)), "")
    return path[len(prefix) :]


def _differences(times):
    """The first, and for each later one the difference to the one before."""
    return [*times[:1], *(after - before for before, after in zip(times, times[1:]))]


def write_callers(prof, path):
    """Writes the caller of every Python call that ``prof`` recorded to ``path``, gzipped JSON.

    ``prof`` is a ``torch.profiler.profile`` (or ``torch.autograd.profiler.profile``) which has stopped, or whose
    ``on_trace_ready`` is running. Returns the number of calls written. Where that is 0, or calls are missing, one
    warning says why; no exception is raised, and a file that was at ``path`` stays unless the new one is complete.
    """
    return _write_side_car(prof, path, None, None, True, {})


def _write_side_car(prof, path, lines, sources, has_calls, more):
    """Writes a side-car with the lines that ``lines`` noted, the texts that ``sources`` read, what of ``more`` is not None,
    and with the callers of calls, if it is to have them; returns the number of these calls.
    """
    try:
        calls, problem = _try_to_write(prof, path, lines, sources, has_calls, more)
    except Exception as error:
        calls, problem = 0, f"nothing was written to {path!r}: {_reason(error)}"
    if problem:
        _warn(problem, stacklevel=4)
    return calls


def _try_to_write(prof, path, lines, sources, has_calls, more):
    """Returns the number of calls written, and what there is to warn of, or None."""
    # Here, so that importing this module cannot fail: PyTorch's internals differ between versions.
    import torch

    path = os.fsdecode(path)
    index, threads, tids, left_out = {}, {}, {}, 0
    results = getattr(getattr(prof, "profiler", prof), "kineto_results", None)
    if results is None:
        return (
            0,
            f"nothing was written to {path!r}: the profiler has recorded nothing yet; call this after it has stopped",
        )
    roots = results.experimental_event_tree()
    if has_calls:
        threads, left_out, error = _collect(roots, index)
        tids = _system_tids(results.events(), threads)
    modules = _modules(roots, index)
    more = {part: it for part, it in more.items() if it is not None}
    if not (has_calls or lines or sources or modules or more):
        return 0, None
    document = {
        "schema": SCHEMA,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        **more,
        "modules": modules or None,
        "lines": None if lines is None else lines.document(index),
        "command": None if sources is None else _command(),
        # After what numbers the files that ran, before the strings that it adds to.
        "sources": None if sources is None else sources.document(index, has_calls or lines is not None),
        "strings": list(index),
        "threads": [_columns(tids.get(thread, -1), rows) for thread, rows in threads.items()],
    }
    for part in ("modules", "lines", "command", "sources"):
        if document[part] is None:
            del document[part]
    _write_gzip(path, json.dumps(document, separators=(",", ":")).encode("utf-8", "replace"))
    calls = sum(len(rows) for rows in threads.values())
    if left_out:
        return calls, f"{left_out} events, with what they called, are not in {path!r}: {_reason(error)}"
    if has_calls and not calls:
        return calls, f"{path!r} is empty: the profiler recorded no Python calls; was it started with with_stack=True?"
    return calls, None


def _write_compile_log(path):
    """Writes what ``torch.compile`` has logged in this process until now to ``path``, as far as Perfline reads it; nothing
    where it does not log, or has compiled nothing. Returns the paths of the files whose lines kernels were made from.
    """
    try:
        log = _own_compile_log(os.environ.get("TORCH_TRACE"))
        if log is None:
            return frozenset()
        with open(log, "rb") as lines:
            records = list(used_records(lines))
        if any(part in it for it in records for part in (KERNEL_STACKS, *COMPILED)):
            _write_gzip(path, b"".join(records))
        return _files_of_kernels(records)
    except Exception as error:
        _warn(f"the log of torch.compile is not beside the recording: {_reason(error)}", stacklevel=5)
        return frozenset()


def _files_of_kernels(records):
    """The files that the stacks of kernels name. Each stack is a text in the payload of its record, a line of JSON."""
    files = set()
    for record, payload in zip(records, records[1:]):
        if KERNEL_STACKS in record:
            for path in FRAME_FILE.findall(payload):
                with contextlib.suppress(ValueError):
                    files.add(json.loads(b'"%s"' % path))
    return files


def _own_compile_log(folder):
    """The newest log in ``folder`` that this process has written, or None: process ids are used again."""
    if not folder:
        return None
    logs = glob.glob(os.path.join(glob.escape(folder), f"{COMPILE_LOG}*.log"))
    for log in sorted(logs, key=os.path.getmtime, reverse=True):
        with open(log, "rb") as lines:
            # `V1121 20:49:57.438000 17948 torch/_inductor/compile_fx.py:1961] {…}`, with the process as the third word.
            words = lines.readline(CHUNK).split(maxsplit=3)
        if len(words) == 4 and words[2] == b"%d" % os.getpid():
            return log
    return None


def used_records(lines):
    """Of the ``lines`` of a log of ``torch.compile`` those of the records that Perfline reads: generated files, the graphs
    and lines that they were made from, what was compiled and why. All others, some of which hold the configuration of the
    program, are left out.
    """
    is_used = False
    for line in lines:
        if line.startswith(b"\t"):
            # Belongs to the record before it.
            if is_used:
                yield line
            # Behind it come the stack, with lines of code, and what only developers of the compiler want.
            is_used = is_used and not line.startswith((b"\t  Explanation:", b"\tUser code traceback:"))
        elif any(it in line for it in COMPILED):
            is_used = False
            try:
                yield _compiled_record(line)
            except ValueError:
                # The program is still writing it.
                continue
        else:
            is_used = any(
                it in line for it in (b'{"str"', b'{"inductor_output_code"', KERNEL_STACKS, *GRAPHS, GRAPH_BREAK)
            )
            if is_used:
                yield line


def _compiled_record(line):
    """The record of a function that was compiled, without what Perfline does not read."""
    prefix, _, record = line.partition(b"] {")
    record = json.loads(b"{" + record)
    for name, metrics in record.items():
        if name.endswith("compilation_metrics"):
            record[name] = {key: metrics[key] for key in OF_COMPILED if key in metrics}
    return b"%s] %s\n" % (prefix, json.dumps(record).encode())


def _reason(error):
    """An exception in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _warn(problem, stacklevel):
    """Warns at the place that the number shows, counted from here as ``warnings.warn`` counts."""
    message = f"Perfline's recorder: {problem}"
    try:
        warnings.warn(message, RuntimeWarning, stacklevel)
    except RuntimeWarning:
        # The program turns warnings into exceptions; this one must not end it.
        print(message, file=sys.stderr)


def _collect(roots, index):
    """Reads the tree: the calls ``{thread: [(start_ns, name, file, line)]}``, whose name and file ``index`` numbers, how
    many events could not be read, and the exception of the first of them.

    The tree is as deep as the Python stack
    and as large as the trace, so it is walked without recursion, and each property is read once: every access converts
    a C++ value, which is where the time goes.
    """
    from torch._C._profiler import _ExtraFields_PyCall, _ExtraFields_PyCCall

    python_calls = frozenset((_ExtraFields_PyCall, _ExtraFields_PyCCall))
    threads = {}
    left_out, first_error = 0, None
    stack = list(roots)
    stack.reverse()
    while stack:
        event = stack.pop()
        try:
            children = event.children
            if children:
                children.reverse()
                stack += children
            fields = event.extra_fields
            if type(fields) not in python_calls:
                continue
            caller = fields.caller
            line = caller.line_number
            try:
                name, file = event.name, caller.file_name
            except UnicodeDecodeError:
                name, file = _text(event, "name"), _text(caller, "file_name")
            start, thread = event.start_time_ns, event.start_tid
        except Exception as error:
            left_out += 1
            first_error = first_error or error
            continue
        row = (
            start,
            index.setdefault(name, len(index)),
            index.setdefault(file, len(index)) if file else -1,
            line if line > 0 else -1,
        )
        threads.setdefault(thread, []).append(row)
    for rows in threads.values():
        rows.sort(key=_start)
    return threads, left_out, first_error


def _modules(roots, index):
    """What a side-car says of the modules that ran: what the model calls each, and how large it is. ``index`` numbers the
    strings. None where no module ran, or nothing is known of those that did.
    """
    try:
        ran = sorted(_modules_that_ran(roots))
        known = _known_modules(ran) if ran else {}
    except Exception as error:
        _warn(f"the names of modules are not recorded: {_reason(error)}", stacklevel=6)
        return None
    # Nothing in a trace distinguishes modules whose classes have one name, and the same number each.
    n_modules = collections.Counter(event for event, _ in ran)
    rows = [(event, *known[module]) for event, module in ran if n_modules[event] == 1 and module in known]

    def number(text):
        return index.setdefault(text, len(index))

    return rows and {
        "event": [number(event) for event, _, _, _ in rows],
        "name": [number(name) for _, name, _, _ in rows],
        "parameters": [parameters for _, _, parameters, _ in rows],
        "bytes": [n_bytes for _, _, _, n_bytes in rows],
    }


def _modules_that_ran(roots):
    """The names of the events of modules, each with the ``id`` of the module."""
    found = set()
    stack = list(roots)
    while stack:
        event = stack.pop()
        try:
            stack += event.children
            if event.name.startswith(MODULE):
                found.add((event.name, event.extra_fields.module.self_ptr))
        except Exception:
            # Who reads the callers reports what cannot be read.
            continue
    return found


def _known_modules(ran):
    """Of the modules that ``ran``, by their ``id``: what each is called, the number of its parameters, and their bytes, those
    of modules in it included. Modules that are gone are missing.

    A module is called by its path from the outermost one. Where there are several outermost ones, the path begins with the
    variable that holds it.
    """
    import torch

    # Not by `isinstance`, which runs code of objects that stand for others.
    modules = {id(it): it for it in gc.get_objects() if issubclass(type(it), torch.nn.Module)}
    # By address another module may be there now.
    ids = {key for event, key in ran if key in modules and event.startswith(f"{MODULE}{type(modules[key]).__name__}_")}
    parents = {id(part): it for it in modules.values() for _, part in _parts(it)}
    outermost = {}
    for key in ids:
        passed = set()
        while key in parents and key not in passed:
            passed.add(key)
            key = id(parents[key])
        outermost[key] = modules[key]
    # Losses and the like have no parts, and need not be distinguished from the parts of a model.
    is_only_model = sum(bool(_parts(it)) for it in outermost.values()) == 1
    variables = _variables(outermost)
    known, prefixes = {}, collections.Counter()
    for key, top in outermost.items():
        prefix = ""
        if not (is_only_model and _parts(top)):
            prefix = variables.get(key, type(top).__name__)
            prefixes[prefix] += 1
            prefix += f"#{prefixes[prefix]}" if prefixes[prefix] > 1 else ""
        for name, module in _named_modules(top, prefix):
            if id(module) in ids:
                known[id(module)] = (name or type(module).__name__, *_size(module))
    return known


def _parts(module):
    """The modules directly in a module, with their names."""
    return [(name, it) for name, it in vars(module).get("_modules", {}).items() if it is not None]


def _named_modules(top, prefix):
    """``top`` and all modules in it, each once, with its name. As ``named_modules``, which a model may replace."""
    seen, stack = set(), [(prefix, top)]
    while stack:
        name, module = stack.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield name, module
        parts = _parts(module)
        is_wrapper = type(module).__name__ in DATA_PARALLEL or any(part in WRAPPERS for part, _ in parts)
        for part, it in reversed(parts):
            stack.append((name if is_wrapper else f"{name}.{part}" if name else part, it))


def _variables(objects):
    """By ``id``, the name of a variable that holds one of ``objects``: of the functions that run, of their modules, else an
    attribute of an object whose method runs.
    """
    frame, spaces = sys._getframe(1), []
    while frame is not None:
        spaces.append((frame.f_locals, frame.f_globals))
        frame = frame.f_back
    found = {}

    def look(space):
        for name, value in list(space.items()):
            if id(value) in objects and not name.startswith("_"):
                found.setdefault(id(value), name)

    for own, of_module in spaces:
        look({name: it for name, it in own.items() if name != "self"})
        look(of_module)
    for own, _ in spaces:
        look(getattr(own.get("self"), "__dict__", {}))
    return found


def _size(module):
    """The number of parameters of a module and of those in it, and their bytes; None where one has no shape yet."""
    parts = (vars(it).get("_parameters", {}) for _, it in _named_modules(module, ""))
    parameters = {id(it): it for part in parts for it in part.values() if it is not None}.values()
    try:
        return sum(it.numel() for it in parameters), sum(it.numel() * it.element_size() for it in parameters)
    except Exception:
        return None, None


def _text(owner, attribute):
    """A text that need not be UTF-8: PyTorch 2.6 reads names from memory that an import has freed meanwhile.

    The exception holds the bytes that could not be decoded. They become what a reader of the trace makes of them.
    """
    try:
        return getattr(owner, attribute)
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "replace")


def _start(row):
    """The sort key of a call. The sort is stable, so calls of one instant stay in the order of the tree."""
    return row[0]


def _system_tids(events, threads):
    """Maps the tree's own thread numbers to the system's, which the trace shows as ``tid``.

    Only the flat events carry both. In older versions (2.11 still, 2.15 no longer) those are operators alone, so a
    thread without operators stays unknown.
    """
    tids = {}
    for event in events:
        thread = event.start_thread_id()
        if thread in threads and thread not in tids:
            tids[thread] = event.device_resource_id()
            if len(tids) == len(threads):
                break
    return tids


def _columns(tid, rows):
    return {
        "tid": tid,
        "name": [row[1] for row in rows],
        "start_ns": _differences([row[0] for row in rows]),
        "file": [row[2] for row in rows],
        "line": [row[3] for row in rows],
    }


def _write_gzip(path, data):
    """Writes all or nothing, with no time stamp: a reader never sees half a file, and equal data give equal bytes.

    The file gets its name when it is complete. Until then it has one that cannot be predicted, and it is created only
    if nothing has that name, a link included.
    """
    partial = os.path.join(os.path.dirname(path), f".perfline-{secrets.token_hex(16)}")
    # Outside of what cleans up: a file of that name that is there already is another's.
    raw = open(partial, "xb")  # noqa: SIM115
    try:
        with raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
            packed.write(data)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
