"""Lightning's ``Trainer`` with a sanity check, two batches for each step of the optimizer, and validation after some of them."""

import sys

import lightning
import perfline.lightning
import torch


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 256)
        self.second = torch.nn.Linear(256, 10)

    def training_step(self, batch, index):
        x, y = batch
        hidden = self.first(x).relu()
        return torch.nn.functional.cross_entropy(self.second(hidden) * 2, y)

    def validation_step(self, batch, index):
        self.log("mean", self.second(self.first(batch[0])).mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


data = torch.utils.data.TensorDataset(torch.randn(160, 64), torch.randint(0, 10, (160,)))
loader = torch.utils.data.DataLoader(data, batch_size=8)
trainer = lightning.Trainer(
    accelerator="cpu",
    max_epochs=1,
    accumulate_grad_batches=2,
    val_check_interval=2 * int(sys.argv[1]),
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    callbacks=[perfline.lightning.Callback()],
)
trainer.fit(Model(), loader, loader)
