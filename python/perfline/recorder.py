"""Record a run with ``torch.profiler`` so that every call has its exact source line.

A Chrome trace names the line where a called function is *defined*. PyTorch also knows the line that called it, and
versions before 2.14 drop that line when they export the trace. This module, one file that needs nothing but PyTorch,
writes it to a small side-car file beside the trace; Perfline reads the two together. ``profile`` records a few steps,
``trace_handler`` is for programs that have a ``torch.profiler.profile`` already, ``write_callers`` for those that
export their trace in a way of their own.

It works with PyTorch 1.13 and later. ``fixtures/FORMAT.md`` specifies the side-car (schema ``perfline.callers/1``).

Whatever goes wrong is a warning: recording never ends the program that is recorded.
"""

import contextlib
import gzip
import json
import os
import platform
import secrets
import socket
import sys
import tempfile
import time
import warnings

SCHEMA = "perfline.callers/1"

CHUNK = 1 << 20

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

    Each process of a distributed program records its own rank. ``options`` go to ``torch.profiler.profile``
    (``activities``, ``with_flops``, ``experimental_config``, …).

    Nothing is raised: where recording is not possible, one warning says why and the block runs without it.
    """

    def __init__(self, folder="perfline-runs", *, skip=2, steps=3, **options):
        self.recordings = []
        """The paths of the traces that were written."""
        self._folder = folder
        self._skip = skip
        self._steps = steps
        self._options = {"with_stack": True, "record_shapes": True, "profile_memory": True, **options}
        self._prof = None
        self._calls = 0
        self._problem = None
        self._has_warned = False

    def __enter__(self):
        try:
            import torch.profiler

            schedule = None
            if self._steps is not None:
                schedule = torch.profiler.schedule(
                    wait=max(self._skip - 1, 0), warmup=min(self._skip, 1), active=self._steps, repeat=1
                )
            prof = torch.profiler.profile(schedule=schedule, on_trace_ready=self._save, **self._options)
            prof.__enter__()
        except Exception as error:
            self._note(f"nothing is recorded: {_reason(error)}")
        else:
            self._prof = prof
        self._warn()
        return self

    def step(self):
        """Says that a step of the program has ended and the next begins."""
        if self._prof is None:
            return
        self._calls += 1
        try:
            self._prof.step()
        except Exception as error:
            self._note(f"recording ended early: {_reason(error)}")
            self._stop()
        else:
            if self.recordings:
                self._stop()
        self._warn()

    def __exit__(self, kind, error, traceback):
        if self._prof is None:
            return
        self._stop()
        if not self.recordings and kind is None:
            self._note(
                f"nothing was recorded: prof.step() was called {self._calls} times, and recording begins after "
                f"{self._skip}; call it after each step, or record the whole block with steps=None"
            )
        self._warn()

    def _stop(self):
        """Ends the profiler, which writes what it has not written yet. Nothing of it is left in the program."""
        prof, self._prof = self._prof, None
        try:
            prof.__exit__(None, None, None)
        except Exception as error:
            self._note(f"the profiler did not stop as it should: {_reason(error)}")

    def _save(self, prof):
        try:
            self.recordings.append(_write_recording(prof, self._folder, None))
        except Exception as error:
            self._note(f"no recording was written to {self._folder!r}: {_reason(error)}")

    def _note(self, problem):
        """Keeps the first problem: what follows from it is not reported."""
        self._problem = self._problem or problem

    def _warn(self):
        """Reports a problem, once, at the line of the program that called the method that calls this."""
        if self._problem and not self._has_warned:
            self._has_warned = True
            _warn(self._problem, stacklevel=4)


def trace_handler(folder, worker_name=None):
    """Returns what ``on_trace_ready`` of ``torch.profiler.profile`` takes: it writes each recording to ``folder``.

    A recording is the trace, ``<worker>.<time>.pt.trace.json.gz``, as ``tensorboard_trace_handler`` names it, and beside
    it the callers of its Python calls, ``<worker>.<time>.callers.json.gz``, if the trace itself lacks them (PyTorch
    before 2.14). The worker is ``<host>_<process>``, in a distributed program ``<host>_rank<rank>``, so that Perfline
    knows the ranks of a run. A file gets its name when it is complete. The folder is made if there is none.

    Record with ``with_stack=True``, or there are no lines. What goes wrong is a warning.
    """

    def handler(prof):
        try:
            _write_recording(prof, folder, worker_name)
        except Exception as error:
            _warn(f"no recording was written to {folder!r}: {_reason(error)}", stacklevel=3)

    return handler


def _write_recording(prof, folder, worker_name):
    """Writes a trace and, where needed, its side-car; returns the path of the trace."""
    folder = os.fsdecode(folder)
    os.makedirs(folder, exist_ok=True)
    stem = os.path.join(folder, f"{worker_name or _worker()}.{time.time_ns()}")
    path = f"{stem}.pt.trace.json.gz"
    # In the same folder, so that the trace can be moved into its place; hidden, so that half of it is not read.
    with tempfile.TemporaryDirectory(prefix=".perfline-", dir=folder) as temporary:
        plain = os.path.join(temporary, "trace.json")
        packed = os.path.join(temporary, "trace.json.gz")
        prof.export_chrome_trace(plain)
        if not _pack(plain, packed):
            write_callers(prof, f"{stem}.callers.json.gz")
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


def write_callers(prof, path):
    """Writes the caller of every Python call that ``prof`` recorded to ``path``, gzipped JSON.

    ``prof`` is a ``torch.profiler.profile`` (or ``torch.autograd.profiler.profile``) which has stopped, or whose
    ``on_trace_ready`` is running. Returns the number of calls written. Where that is 0, or calls are missing, one
    warning says why; no exception is raised, and a file that was at ``path`` stays unless the new one is complete.
    """
    try:
        calls, problem = _write_callers(prof, path)
    except Exception as error:
        calls, problem = 0, f"nothing was written to {path!r}: {_reason(error)}"
    if problem:
        _warn(problem, stacklevel=3)
    return calls


def _write_callers(prof, path):
    """Returns the number of calls written, and what there is to warn of, or None."""
    # Here, so that importing this module cannot fail: PyTorch's internals differ between versions.
    import torch
    from torch._C._profiler import _ExtraFields_PyCall, _ExtraFields_PyCCall

    path = os.fsdecode(path)
    profiler = getattr(prof, "profiler", prof)
    results = getattr(profiler, "kineto_results", None)
    if results is None:
        return (
            0,
            f"nothing was written to {path!r}: the profiler has recorded nothing yet; call this after it has stopped",
        )
    roots = results.experimental_event_tree()
    threads, strings, left_out, error = _collect(roots, frozenset((_ExtraFields_PyCall, _ExtraFields_PyCCall)))
    calls = sum(len(rows) for rows in threads.values())
    tids = _system_tids(results.events(), threads)
    document = {
        "schema": SCHEMA,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "strings": strings,
        "threads": [_columns(tids.get(thread, -1), rows) for thread, rows in threads.items()],
    }
    _write_gzip(path, json.dumps(document, separators=(",", ":")).encode())
    if left_out:
        return calls, f"{left_out} events, with what they called, are not in {path!r}: {_reason(error)}"
    if not calls:
        return calls, f"{path!r} is empty: the profiler recorded no Python calls; was it started with with_stack=True?"
    return calls, None


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


def _collect(roots, python_calls):
    """Reads the tree: the calls ``{thread: [(start_ns, name, file, line)]}``, the strings that name and file index, how
    many events could not be read, and the exception of the first of them.

    ``python_calls`` are the types of ``extra_fields`` that Python calls have. The tree is as deep as the Python stack
    and as large as the trace, so it is walked without recursion, and each property is read once: every access converts
    a C++ value, which is where the time goes.
    """
    index = {}
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
    return threads, list(index), left_out, first_error


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
    starts = [row[0] for row in rows]
    deltas = [b - a for a, b in zip(starts, starts[1:])]
    return {
        "tid": tid,
        "name": [row[1] for row in rows],
        "start_ns": starts[:1] + deltas,
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
