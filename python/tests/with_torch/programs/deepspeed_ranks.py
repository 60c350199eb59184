"""Training with DeepSpeed ZeRO-1 over gloo, in which one rank may be late.

    torchrun --nproc-per-node 2 deepspeed_ranks.py VARIANT DIR

- ``balanced``: no rank is late;
- ``slow_data``: the batches of rank 1 take longer to read.
"""

import os
import sys
import time

import deepspeed
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

VARIANT, FOLDER = sys.argv[1], sys.argv[2]
RANK = int(os.environ["RANK"])
FEATURES = 128


def batches():
    while True:
        if VARIANT == "slow_data" and RANK == 1:
            time.sleep(0.05)
        yield torch.randn(32, FEATURES), torch.randint(10, (32,))


def train(engine, prof):
    data = batches()
    for _ in range(4):
        x, y = next(data)
        loss = F.cross_entropy(engine(x), y)
        engine.backward(loss)
        engine.step()
        prof.step()


def main():
    torch.set_num_threads(1)
    deepspeed.init_distributed(dist_backend="gloo")
    model = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, 10))
    config = {
        "train_micro_batch_size_per_gpu": 32,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
        "zero_optimization": {"stage": 1},
    }
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=tensorboard_trace_handler(FOLDER, use_gzip=True),
        record_shapes=True,
        with_stack=True,
    ) as prof:
        train(engine, prof)


if __name__ == "__main__":
    main()
