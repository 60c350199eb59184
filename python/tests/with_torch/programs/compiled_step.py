"""A training loop whose model and optimizer step are compiled."""

import torch

model = torch.nn.Linear(16, 16)
forward = torch.compile(model, backend="eager", dynamic=False)
optimizer = torch.optim.AdamW(model.parameters())
step = torch.compile(optimizer.step, backend="eager")
for i in range(12):
    forward(torch.randn(4 + i % 4, 16)).sum().backward()
    step()
    optimizer.zero_grad()
