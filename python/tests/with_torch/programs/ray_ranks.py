"""Data-parallel training with Ray Train over gloo, in which one worker may be late.

    python ray_ranks.py WORKERS VARIANT DIR

- ``balanced``: no worker is late;
- ``slow_line``: worker 1 computes a metric before the backward pass;
- ``slow_data``: the items of worker 1 take longer to read.

Each worker writes its trace to DIR with ``tensorboard_trace_handler``, whose file names do not name the rank.
"""

import os
import sys
import time

import ray
import ray.train
import ray.train.torch
import torch
import torch.nn as nn
import torch.nn.functional as F
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
from torch.utils.data import DataLoader, Dataset

FEATURES = 128
CLASSES = 10
BATCH = 32
STEPS = 6


class Items(Dataset):
    def __init__(self, delay):
        self.x = torch.randn(BATCH * 64, FEATURES)
        self.y = torch.randint(CLASSES, (BATCH * 64,))
        self.delay = delay

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        if self.delay:
            time.sleep(self.delay)
        return self.x[index], self.y[index]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.head = nn.Linear(256, CLASSES)

    def forward(self, x):
        return self.head(self.body(x))


def confusion(logits):
    similarity = torch.randn(512, 512)
    for _ in range(12):
        similarity = torch.softmax(similarity @ similarity, dim=1)
    return similarity.mean() + logits.mean()


def train_func(config):
    context = ray.train.get_context()
    late = context.get_world_rank() == 1
    torch.set_num_threads(1)
    model = ray.train.torch.prepare_model(Classifier())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    delay = 0.004 if late and config["variant"] == "slow_data" else 0
    loader = ray.train.torch.prepare_data_loader(DataLoader(Items(delay), batch_size=BATCH))
    batches = iter(loader)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=4, repeat=1),
        on_trace_ready=tensorboard_trace_handler(config["folder"], use_gzip=True),
        record_shapes=True,
        with_stack=True,
    ) as prof:
        for _ in range(STEPS):
            x, y = next(batches)
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            if late and config["variant"] == "slow_line":
                confusion(logits.detach())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            prof.step()
    ray.train.report({"loss": loss.item()})


if __name__ == "__main__":
    workers, variant, folder = int(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
    ray.init(num_cpus=workers + 1, include_dashboard=False)
    TorchTrainer(
        train_func,
        train_loop_config={"variant": variant, "folder": folder},
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=False),
    ).fit()
