"""Records a few steps of Hugging Face's ``Trainer``."""

from transformers import TrainerCallback

from perfline._training import TrainingSteps


class Callback(TrainerCallback):
    """Records a few steps of a ``Trainer`` into files that Perfline reads::

        trainer.add_callback(perfline.transformers.Callback())

    The arguments are those of ``perfline.profile``, with ``skip=5``. A step is one of the optimizer, with all its micro-batches. Evaluation
    is not recorded: recording ends before it, with the steps until then. Each process records its own rank. Whatever
    goes wrong is a warning.
    """

    def __init__(self, folder="perfline-runs", **options):
        self._steps = TrainingSteps(folder, **options)

    @property
    def recordings(self):
        """The paths of the traces that were written."""
        return self._steps.recordings

    def on_train_begin(self, args, state, control, **kwargs):
        # A training before this one may have failed.
        self._steps.end()

    def on_step_begin(self, args, state, control, **kwargs):
        self._steps.begin()

    def on_step_end(self, args, state, control, **kwargs):
        if control.should_evaluate or control.should_training_stop:
            self._steps.interrupt()

    def on_epoch_end(self, args, state, control, **kwargs):
        if control.should_evaluate:
            self._steps.interrupt()

    def on_prediction_step(self, args, state, control, **kwargs):
        self._steps.interrupt()

    def on_train_end(self, args, state, control, **kwargs):
        self._steps.end()
