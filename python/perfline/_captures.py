"""Traces of the capture of CUDA graphs, while ``perfline record`` waits for the steps that it records.

A trace of replays names one line for all kernels of a graph, the one that replays it. The lines that launched them ran when the
graph was captured, mostly in the first steps.
"""

import functools
import os
import shutil
import sys
import tempfile

from perfline import recorder

MAX_CAPTURES = 64
"""Captures that are recorded of a program: as many as Perfline looks at beside a trace."""

ENDING = ".captures"
"""What takes the place of ``.pt.trace.json.gz`` in the name of the folder of a recording's captures."""


class Captures:
    """Records each capture of a graph in a trace of its own, if ``has_lines`` with the lines of the program."""

    def __init__(self, folder, has_lines, report):
        self._folder = os.fsdecode(folder)
        self._has_lines = has_lines
        self._report = report
        # Where the traces wait until there is a recording that they go with.
        self._waiting = None
        self._count = 0
        # The capture that is recorded, its profiler, and what notes lines.
        self._open = None
        self._undo = None

    def watch(self):
        """Begins, where the program has imported what captures graphs."""
        graph = getattr(sys.modules.get("torch.cuda.graphs"), "graph", None)
        if graph is None or self._undo is not None:
            return
        enter, leave = graph.__enter__, graph.__exit__

        @functools.wraps(enter)
        def __enter__(capture):
            self._begin(capture)
            try:
                return enter(capture)
            except BaseException:
                self._end(capture)
                raise

        @functools.wraps(leave)
        def __exit__(capture, *error):
            try:
                return leave(capture, *error)
            finally:
                self._end(capture)

        graph.__enter__, graph.__exit__ = __enter__, __exit__

        def undo():
            graph.__enter__, graph.__exit__ = enter, leave

        self._undo = undo

    def keep(self, traces):
        """Puts what was recorded beside the first of the traces of the program that were written; without one it is deleted."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return
        try:
            if traces:
                os.rename(waiting, traces[0][: -len(recorder.TRACE_ENDING)] + ENDING)
        except OSError as error:
            self._report(f"the capture of CUDA graphs was not kept: {error.strerror}")
        shutil.rmtree(os.path.dirname(waiting), ignore_errors=True)

    def stop(self):
        """Ends it, in a process that was forked, too: nothing of it stays in the program, and no file is touched."""
        undo, self._undo = self._undo, lambda: None
        if undo is not None:
            undo()
        self._open = self._waiting = None

    def _begin(self, capture):
        # One at a time: a capture in another one, or in another thread meanwhile, is in the trace of that, if anywhere.
        if self._open is not None or self._count >= MAX_CAPTURES:
            return
        try:
            import torch.profiler

            # Where steps are recorded there is one already.
            if torch.autograd._profiler_enabled():
                return
            activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
            prof = torch.profiler.profile(activities=activities, with_stack=True)
            prof.start()
            self._open = capture, prof, self._started_lines()
        except Exception as error:
            self._failed(error)

    def _end(self, capture):
        if self._open is None or self._open[0] is not capture:
            return
        (_, prof, lines), self._open = self._open, None
        try:
            if lines is not None:
                lines.stop()
            prof.stop()
            self._count += 1
            if self._waiting is None:
                os.makedirs(self._folder, exist_ok=True)
                hidden = tempfile.mkdtemp(prefix=".perfline-", dir=self._folder)
                # Who may read the recording may read this, too.
                self._waiting = os.path.join(hidden, "captures")
                os.mkdir(self._waiting)
            stem = os.path.join(self._waiting, f"{self._count:02}")
            prof.export_chrome_trace(f"{stem}.json")
            has_callers = recorder._pack(f"{stem}.json", f"{stem}.json.gz")
            os.remove(f"{stem}.json")
            # That calls are missing is no news: the captured function runs within some that have not ended.
            recorder._try_to_write(prof, f"{stem}.callers.json.gz", lines, None, not has_callers, {})
        except Exception as error:
            self._failed(error)

    def _started_lines(self):
        """What notes the lines of the program, or None where that is not wanted or not possible: steps are recorded without, too."""
        if not self._has_lines:
            return None
        lines = recorder._Lines()
        try:
            lines.start()
        except Exception:
            return None
        return lines

    def _failed(self, error):
        """A capture that cannot be recorded is the program's all the same. The next ones are not tried."""
        self._count = MAX_CAPTURES
        self._report(f"the capture of a CUDA graph was not recorded: {type(error).__name__}: {error}")
