"""Training with Lightning's DDP strategy over gloo, in which one process may be late.

    python lightning_ranks.py VARIANT DIR

- ``balanced``: no process is late;
- ``slow_line``: process 1 computes a metric in ``training_step``.

Lightning's own profiler writes the traces to DIR.
"""

import sys

import lightning
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.profilers import PyTorchProfiler
from torch.utils.data import DataLoader, TensorDataset

VARIANT, FOLDER = sys.argv[1], sys.argv[2]
FEATURES = 64


class Regressor(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(FEATURES, 256), nn.GELU(), nn.Linear(256, 1))

    def spectrum(self, prediction):
        table = torch.randn(96, 96)
        return torch.linalg.svdvals(table).sum() + prediction.mean()

    def training_step(self, batch, batch_idx):
        x, y = batch
        prediction = self.net(x)
        loss = F.mse_loss(prediction, y)
        if VARIANT == "slow_line" and self.global_rank == 1:
            for _ in range(8):
                self.spectrum(prediction.detach())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(512, FEATURES), torch.randn(512, 1))
    profiler = PyTorchProfiler(
        dirpath=FOLDER,
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=torch.profiler.tensorboard_trace_handler(FOLDER, use_gzip=True),
        record_shapes=True,
        with_stack=True,
    )
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_steps=5,
        profiler=profiler,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Regressor(), DataLoader(data, batch_size=16))


if __name__ == "__main__":
    main()
