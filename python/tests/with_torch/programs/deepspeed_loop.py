"""A loop with an engine of DeepSpeed."""

import deepspeed
import perfline
import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
engine, _, _, _ = deepspeed.initialize(
    model=model,
    model_parameters=model.parameters(),
    config={
        "train_micro_batch_size_per_gpu": 8,
        "optimizer": {"type": "AdamW", "params": {"torch_adam": True}},
        "zero_optimization": {"stage": 0},
    },
)
with perfline.profile() as prof:
    for _ in range(8):
        x, y = torch.randn(8, 64), torch.randint(0, 10, (8,))
        loss = torch.nn.functional.cross_entropy(engine(x) * 2, y)
        engine.backward(loss)
        engine.step()
        prof.step()
