"""A loop with Hugging Face's ``Accelerator``."""

import accelerate
import perfline
import torch

accelerator = accelerate.Accelerator(cpu=True)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
data = torch.utils.data.TensorDataset(torch.randn(128, 64), torch.randint(0, 10, (128,)))
loader = torch.utils.data.DataLoader(data, batch_size=8)
model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), loader)

with perfline.profile() as prof:
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x) * 2, y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        prof.step()
