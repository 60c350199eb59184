"""A training step with a loss that is read element by element."""

import sys

import torch
from torch.profiler import ProfilerActivity, profile, schedule


def correct(logits, target):
    hits = 0
    best = logits.argmax(dim=-1)
    for row in range(0, best.shape[0], 8):
        if best[row].item() == target[row].item():
            hits += 1
    return hits


def norms(model):
    total = 0.0
    for parameter in model.parameters():
        total += float(parameter.detach().norm())
    return total


def train_step(model, optimizer, batch, target):
    logits = model(batch)
    loss = torch.nn.functional.cross_entropy(logits, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return correct(logits, target), norms(model)


def main(path, steps=8):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch, target = torch.randn(512, 256), torch.randint(0, 64, (512,))
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=2, active=steps),
        with_stack=True,
        on_trace_ready=lambda prof: prof.export_chrome_trace(path),
    ) as prof:
        for _ in range(steps + 3):
            train_step(model, optimizer, batch, target)
            prof.step()


if __name__ == "__main__":
    main(sys.argv[1])
