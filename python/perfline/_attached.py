"""What ``perfline record`` does within the recorded program: it finds the steps, records a few, and leaves.

A step ends when the program's optimizer has stepped; in a program without optimizers, when it takes the next batch from
a data loader; in one without either, when a backward pass has ended; in a script that has none of these, the clock decides.
A program that makes its first optimizer after that was recorded is recorded anew. Where the options name a function, a step ends when a call of it has ended.
"""

import atexit
import contextlib
import functools
import glob
import json
import os
import signal
import sys
import threading
import time
import weakref

from perfline import _calls, _captures, recorder

VARIABLE = "PERFLINE_RECORD"
"""The environment variable that holds the options of ``perfline record``, as JSON."""

MIN_STEPS = 5
"""Steps before recording at the least: they compile, allocate and warm up."""

MAX_STEPS = 30
"""Steps after which recording begins although they still differ in length."""

DISTRIBUTED_STEPS = 10
"""Steps before recording where there are several ranks: all have to record the same steps."""

SPREAD = 1.25
"""Steps have settled when the longest of the last three is at most so many times as long as the shortest."""

PATIENCE_S = 60
"""Seconds after which a script that has no steps is recorded by the clock."""

CLOCK_S = 2
"""Seconds that are recorded of it."""

CALLS = 2
"""Calls before recording at the least where a function is named: it is found by the first one, which also compiles, allocates and
warms up.
"""

_session = None


def found(module):
    """Watches what a module of PyTorch, which the program has just imported, says of steps."""
    global _session
    options = os.environ.get(VARIABLE)
    if options is None:
        return
    try:
        if _session is None:
            _session = Session(json.loads(options))
        _session.watch(module)
    except Exception as error:
        # Said once: not for the next module, nor for the processes that this one starts.
        os.environ.pop(VARIABLE, None)
        say(f"nothing is recorded: {type(error).__name__}: {error}")


def say(message):
    """One line to the standard error stream, from one rank. That the stream may be closed does not matter."""
    if recorder._rank() in (None, 0, "0"):
        with contextlib.suppress(OSError, ValueError):
            print(f"perfline: {message}", file=sys.stderr, flush=True)


def shown(path):
    """A path from the current folder, where there is one."""
    try:
        return os.path.relpath(path)
    except (OSError, ValueError):
        # The folder was deleted, or is on another drive.
        return path


def _terminated(number, _):
    """Ends the program as the signal would, by way of what it does at its end, which a second one must not cut short."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _await_optimizer(options, recordings):
    """Records the program anew if it makes an optimizer: ``recordings`` are of steps without one, which were not those that it is about."""
    module = sys.modules["torch.optim.optimizer"]
    process = os.getpid()

    def made():
        global _session
        end()
        try:
            # Processes that were forked meanwhile are not recorded.
            if os.getpid() == process:
                _session = Session(options, replaces=recordings)
                _session.watch(module)
                _session._made_optimizer()
        except Exception as error:
            say(f"it is not recorded anew: {type(error).__name__}: {error}")

    end = _watch_creation(module, made)


def _watch_creation(module, made):
    """Calls ``made`` for each optimizer that is made, until what is returned is called."""
    create = module.Optimizer.__init__

    def __init__(self, *args, **kwargs):
        made()
        create(self, *args, **kwargs)

    module.Optimizer.__init__ = __init__
    return lambda: setattr(module.Optimizer, "__init__", create)


def _number(steps):
    return "1 step" if steps == 1 else f"{steps} steps"


class _Profile(recorder.profile):
    """A recording of which the session says itself that it did not come about."""

    def _nothing_recorded(self):
        return None


class Session:
    """One program: its steps so far, and the recording."""

    def __init__(self, options, clock=time.perf_counter, replaces=()):
        self._options = options
        # Recordings of the same program, which are deleted when there is this one.
        self._replaces = replaces
        self._clock = clock
        self._steps = 0
        self._last = None
        self._durations = []
        # The optimizer whose steps count, if it is still there, and how often others stepped since it did.
        self._optimizer = lambda: None
        self._others = 0
        self._has_optimizer = False
        self._knows_optimizers = False
        self._has_loader = False
        self._function = options.get("function")
        self._prof = None
        # The steps before the first that is recorded.
        self._skipped = 0
        self._memory = recorder._Memory() if options["memory"] else None
        self._captures = _captures.Captures(options["folder"], options["lines"], say)
        self._by_clock = False
        self._is_over = False
        self._undo = []
        if self._function is not None:
            self._undo.append(_calls.watch(self._function, self._found, self._call_ended))
        atexit.register(self.end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave)
        if self._function is None and not replaces and options.get("parent") == os.getppid():
            self._set_alarm(PATIENCE_S)

    def watch(self, module):
        """Has the optimizers or data loaders of ``module`` report steps."""
        if self._is_over:
            return
        # Memory often runs out in the first steps, before those that are recorded.
        if self._memory is not None:
            self._memory.start_when_used()
        self._captures.watch()
        if self._function is not None:
            return
        if module.__name__ == "torch.optim.optimizer":
            self._watch_optimizers(module)
            # PyTorch imports it before.
            self._watch_backward(sys.modules.get("torch.autograd"))
        else:
            self._watch_loaders(module)

    def _watch_optimizers(self, module):
        end = recorder.optimizer_steps.watch(self._stepped)
        if end is None:
            say("this PyTorch (before 2.0) does not report steps of optimizers; batches of data loaders count instead")
            return
        self._knows_optimizers = True
        self._undo += [end, _watch_creation(module, self._made_optimizer)]

    def _watch_backward(self, module):
        run = getattr(module, "backward", None)
        if run is None:
            return
        session = self

        @functools.wraps(run)
        def backward(*args, **kwargs):
            run(*args, **kwargs)
            session._ran_backward()

        module.backward = backward
        self._undo.append(lambda: setattr(module, "backward", run))

    def _watch_loaders(self, module):
        iterator = module._BaseDataLoaderIter
        take = iterator.__next__
        session = self

        def __next__(self):
            session._took_batch()
            return take(self)

        iterator.__next__ = __next__
        self._undo.append(lambda: setattr(iterator, "__next__", take))

    def _stepped(self, optimizer):
        # Programs with several optimizers step each once per step; one that is no longer used does not count. Some make a new one for
        # each step.
        if self._optimizer() is None or self._others > 2 * MIN_STEPS:
            self._optimizer = weakref.ref(optimizer)
        if self._optimizer() is not optimizer:
            self._others += 1
            return
        self._others = 0
        self._step()

    def _made_optimizer(self):
        if not self._has_optimizer and self._prof is None:
            # What came before was no step of it.
            self._steps, self._last, self._durations = 0, None, []
        self._has_optimizer = True

    def _took_batch(self):
        self._has_loader = True
        if not self._has_optimizer:
            self._step()

    def _ran_backward(self):
        if not (self._has_optimizer or self._has_loader):
            self._step()

    def _found(self):
        """The function that the options name is called for the first time. The profiler cannot be started now."""
        self._steps = 1
        self._last = self._clock()

    def _call_ended(self):
        try:
            self._step()
        except Exception as error:
            say(f"recording ended early: {type(error).__name__}: {error}")

    def _step(self):
        """A step has ended."""
        if self._is_over or self._by_clock or threading.current_thread() is not threading.main_thread():
            return
        now = self._clock()
        self._steps += 1
        if self._last is not None:
            self._durations = [*self._durations[-2:], now - self._last]
        self._last = now
        if self._prof is not None:
            self._prof.step()
            if self._prof.recordings:
                self._finish()
        elif self._has_settled():
            self._skipped = self._steps + 1
            self._start(skip=1, steps=self._options["steps"])

    def _has_settled(self):
        after = self._options["after"]
        if after is None and self._function is not None:
            after = CALLS
        if after is None and os.environ.get("WORLD_SIZE", "1") not in ("", "1"):
            after = DISTRIBUTED_STEPS
        if after is not None:
            return self._steps >= after
        shortest, longest = min(self._durations, default=0), max(self._durations, default=0)
        return self._steps >= MIN_STEPS and (longest <= SPREAD * shortest or self._steps >= MAX_STEPS)

    def _start(self, **steps):
        options = {name: self._options[name] for name in ("folder", "lines", "sources", "memory")}
        prof = _Profile(**options, **steps)
        prof._memory = self._memory
        prof._plain_steps = [round(1e9 * it) for it in self._durations]
        self._prof = prof.__enter__()
        # What the program does at its end is no part of a step: of the functions for that, the one registered last runs first.
        atexit.unregister(self.end)
        atexit.register(self.end)
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _terminated)
            self._undo.append(lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))

    def _finish(self):
        """The recording is written. Nothing of it stays in the program."""
        prof = self._prof
        self._captures.keep(prof.recordings)
        self._leave()
        for path in prof.recordings:
            say(f"recorded {shown(path)}")
        self._delete_replaced()
        if self._options["then"] == "exit":
            sys.exit(0)
        if self._knows_optimizers and not (self._has_optimizer or self._by_clock):
            _await_optimizer(self._options, prof.recordings)

    def _delete_replaced(self):
        for path in self._replaces:
            say(f"{shown(path)} was recorded before the program made an optimizer, and is replaced")
            for one in glob.glob(glob.escape(path.removesuffix(recorder.TRACE_ENDING)) + ".*"):
                with contextlib.suppress(OSError):
                    os.remove(one)

    def _leave(self):
        self._is_over = True
        self._prof = None
        self._captures.stop()
        undo, self._undo = self._undo, []
        for one in undo:
            one()
        atexit.unregister(self.end)

    def end(self):
        """The program ends: writes what was recorded until now."""
        if self._is_over:
            return
        prof = self._prof
        # The exception that ends the program, if one does: Python has just printed it.
        kind = getattr(sys, "last_type", None)
        if prof is not None:
            prof.__exit__(kind, None, None)
        self._captures.keep(prof.recordings if prof is not None else [])
        has_snapshot = prof is None and kind is not None and self._saves_memory_that_is_out(kind)
        steps = _number(self._steps)
        self._leave()
        if has_snapshot:
            say(f"a device has no memory left after {steps}; a memory snapshot was written")
        elif prof is not None and prof.recordings:
            say(f"the program ended while it was recorded; {shown(prof.recordings[0])} has {self._last_steps()}")
            self._delete_replaced()
        elif self._replaces:
            # It is recorded, without a step of its optimizer.
            return
        elif self._function is not None:
            self._say_why_nothing_was_recorded_of_calls()
        elif kind is not None and self._options.get("parent") == os.getppid():
            when = f"after {steps}" if self._steps else "before its first step"
            say(f"nothing was recorded: the program failed {when}")
        elif self._steps:
            say(
                f"nothing was recorded: the program ended after {steps}; "
                "record earlier ones with `--after N` and fewer with `--steps N`"
            )
        elif self._options.get("parent") == os.getppid():
            say(
                "nothing was recorded: the program ended before an optimizer stepped, a data loader gave a batch or a "
                "backward pass ended; record calls of a function with `--function NAME`, or a block with "
                "`with perfline.profile(steps=None):`"
            )

    def _last_steps(self):
        """What the recording has of a program that ended before the steps that are asked for."""
        if self._by_clock:
            return "what it did until then"
        steps, asked = self._steps - self._skipped, self._options["steps"]
        if steps > 0:
            last = "its last step" if steps == 1 else f"its last {steps} steps"
            return f"{last}, of {asked} that were to be recorded"
        return (
            f"what followed its last step, and no whole step: it ended after {_number(self._steps)}; "
            "record earlier ones with `--after N`, or a block with `with perfline.profile(steps=None):`"
        )

    def _say_why_nothing_was_recorded_of_calls(self):
        if self._steps == 0:
            say(
                f"nothing was recorded: no function {self._function} began after PyTorch was imported; name it as in "
                "`--function train.py:Model.forward`"
            )
            return
        calls = "once" if self._steps == 1 else f"{self._steps} times"
        say(
            f"nothing was recorded: {self._function} was called {calls}; {CALLS} calls come before recording, and one more warms "
            "up the profiler; record a block with `with perfline.profile(steps=None):`"
        )

    def _saves_memory_that_is_out(self, kind):
        """Writes a memory snapshot if the exception of class ``kind`` says that a device has no memory left; returns whether
        there is one.
        """
        if self._memory is None or not recorder._is_out_of_memory(kind):
            return False
        try:
            return bool(self._memory.write(recorder._stem(self._options["folder"], None)))
        except Exception as error:
            say(f"no memory snapshot was written: {type(error).__name__}: {error}")
            return False

    def _set_alarm(self, seconds):
        """Calls ``_rang`` in the main thread: PyTorch records the operators of the thread that starts its profiler."""
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or not hasattr(signal, "SIGALRM") or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
            return
        signal.signal(signal.SIGALRM, self._rang)
        signal.setitimer(signal.ITIMER_REAL, seconds)

        def undo():
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)

        self._undo.append(undo)

    def _rang(self, *_):
        if self._is_over or self._steps:
            return
        if self._prof is None:
            self._by_clock = True
            self._start(steps=None)
            signal.setitimer(signal.ITIMER_REAL, CLOCK_S)
        else:
            self._prof.__exit__(None, None, None)
            self._finish()
