"""Records a few steps of Lightning's ``Trainer``."""

import sys

from perfline._training import TrainingSteps

# The same framework is installed under two names, and a program uses the classes of one.
if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback as _Callback
else:
    try:
        from lightning.pytorch import Callback as _Callback
    except ImportError:
        from pytorch_lightning import Callback as _Callback


class Callback(_Callback):
    """Records a few steps of ``Trainer.fit`` into files that Perfline reads::

        lightning.Trainer(callbacks=[perfline.lightning.Callback()]).fit(model, data)

    The arguments are those of ``perfline.profile``, with ``skip=5``. A step is one of the optimizer: with ``accumulate_grad_batches``, it
    has as many batches. The sanity check and validation are not recorded: recording ends before validation, with the
    steps until then. Each process records its own rank. Whatever goes wrong is a warning.
    """

    def __init__(self, folder="perfline-runs", **options):
        super().__init__()
        self._steps = TrainingSteps(folder, **options)

    @property
    def recordings(self):
        """The paths of the traces that were written."""
        return self._steps.recordings

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if batch_idx % trainer.accumulate_grad_batches == 0:
            self._steps.begin()

    def on_validation_start(self, trainer, pl_module):
        self._steps.interrupt()

    def on_train_end(self, trainer, pl_module):
        self._steps.end()

    def on_exception(self, trainer, pl_module, exception):
        self._steps.end()
