"""Two workers of Ray Train, each of which records its own rank into the storage of the run."""

import os

import perfline
import ray.train
import ray.train.torch
import torch


def train():
    model = ray.train.torch.prepare_model(torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with perfline.profile(os.path.join(storage, "perfline-runs")) as prof:
        for _ in range(8):
            x, y = torch.randn(8, 64), torch.randint(0, 10, (8,))
            loss = torch.nn.functional.cross_entropy(model(x) * 2, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            prof.step()


storage = os.getcwd()
ray.train.torch.TorchTrainer(
    train,
    scaling_config=ray.train.ScalingConfig(num_workers=2, resources_per_worker={"CPU": 0.5}),
    run_config=ray.train.RunConfig(name="run", storage_path=storage),
).fit()
