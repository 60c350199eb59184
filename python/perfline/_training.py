"""Records whole steps of training, for callbacks of frameworks: these say when a step begins, and when what follows is none."""

import atexit

from perfline import recorder


class TrainingSteps:
    """The steps of one training, and its recording: as ``recorder.profile``, whose arguments it takes. Trainings are long
    enough to leave five steps out, of which three are timed without the profiler.

    A step ends where the next one begins, so that it holds the batch that is taken for that one, what is logged, and
    checkpoints. Validation is no part of a step: recording ends before it, with the steps until then.
    """

    def __init__(self, folder="perfline-runs", *, skip=5, **options):
        self.recordings = []
        self._folder = folder
        # Without a number of steps, all are recorded.
        self._skip = 0 if options.get("steps", 1) is None else skip
        self._options = options
        self._prof = None
        self._n_begun = 0

    def begin(self):
        """A step begins, and the one before has ended."""
        if self.recordings:
            return
        if self._prof is None:
            self._prof = _Profile(self._folder, skip=self._skip, **self._options).__enter__()
            # Not every framework says that training failed.
            atexit.register(self.end)
        else:
            self._prof.step()
        self._n_begun += 1
        if self._prof.recordings:
            self.end()

    def interrupt(self):
        """What follows is no step. Steps that were recorded are written; otherwise the recording is still to come."""
        if self._prof is not None and self._n_begun > self._skip:
            self.end()

    def end(self):
        """Training has ended. What was recorded is written, and nothing of it stays in the program."""
        prof, self._prof = self._prof, None
        if prof is None:
            return
        self._n_begun = 0
        atexit.unregister(self.end)
        prof.__exit__(None, None, None)
        self.recordings += prof.recordings


class _Profile(recorder.profile):
    """A recording whose steps are those of a framework."""

    def _nothing_recorded(self):
        return (
            f"nothing was recorded: training ended in its step {self._calls + 1}, and recording begins after "
            f"{self._skip}; choose a smaller `skip`"
        )
