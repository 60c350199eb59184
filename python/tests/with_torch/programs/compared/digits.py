"""A small network for pictures of digits: trained for a few steps, which are recorded."""

import math
import random

import perfline
import torch
import torch.nn.functional as F
from torch import nn

CLASSES, BATCH, SIZE, WIDTH = 10, 32, 20, 16


class Pictures(torch.utils.data.Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(1)
        self.pixels = torch.randint(0, 256, (2048, SIZE * SIZE), generator=generator).tolist()

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, index):
        values = [value / 255 for value in self.pixels[index]]
        picture = torch.tensor(values).view(1, SIZE, SIZE)
        return augment(picture), index % CLASSES


def augment(picture):
    shift = random.randrange(3)
    picture = picture.roll(shift, dims=2)
    noise = torch.empty_like(picture)
    for row in range(SIZE):
        noise[0, row] = 0.1 * torch.rand(SIZE)
    return picture + noise


class Norm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(channels))
        self.shift = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        mean = x.mean((0, 2, 3), keepdim=True)
        spread = ((x - mean) ** 2).mean((0, 2, 3), keepdim=True)
        x = (x - mean) / torch.sqrt(spread + 1e-5)
        return x * self.scale.view(1, -1, 1, 1) + self.shift.view(1, -1, 1, 1)


class Stage(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm = Norm(outputs)

    def forward(self, x):
        x = self.norm(self.conv(x))
        return x.where(x > 0, torch.zeros_like(x))


def pool(x):
    patches = x.unfold(2, 2, 2).unfold(3, 2, 2)
    return patches.contiguous().flatten(4).amax(-1)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Stage(1, WIDTH)
        self.second = Stage(WIDTH, WIDTH)
        self.third = Stage(WIDTH, 2 * WIDTH)
        self.head = nn.Linear(2 * WIDTH * (SIZE // 4) ** 2, CLASSES)

    def forward(self, x):
        x = pool(self.second(self.first(x)))
        x = x + position(x.shape[-1])
        x = pool(self.third(x))
        return self.head(x.flatten(1))


def position(size):
    rows = torch.zeros(size, size)
    for row in range(size):
        for column in range(size):
            rows[row, column] = math.sin(row) + math.cos(column)
    return rows


def smooth_loss(logits, targets):
    losses = []
    for row in range(len(targets)):
        wanted = torch.full((CLASSES,), 0.1 / CLASSES)
        wanted[targets[row]] += 0.9
        losses.append(-(wanted * F.log_softmax(logits[row], dim=0)).sum())
    return torch.stack(losses).mean()


class Momentum:
    def __init__(self, parameters, rate):
        self.parameters = list(parameters)
        self.rate = rate
        self.speeds = [torch.zeros_like(it) for it in self.parameters]

    @torch.no_grad()
    def step(self):
        for parameter, speed in zip(self.parameters, self.speeds):
            for row in range(len(speed)):
                speed[row].mul_(0.9).add_(parameter.grad[row])
                parameter[row].sub_(self.rate * speed[row])

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad = None


class Confusion:
    def __init__(self):
        self.counts = torch.zeros(CLASSES, CLASSES, dtype=torch.long)

    def add(self, logits, targets):
        guesses = logits.argmax(1)
        for guess, target in zip(guesses, targets):
            self.counts[target, guess] += 1


def worst(losses, n):
    order = sorted(range(len(losses)), key=lambda index: -losses[index].item())
    return order[:n]


def describe(model):
    parts = []
    for name, parameter in model.named_parameters():
        parts.append(f"{name}: {parameter.mean().item():.4f} ± {parameter.std().item():.4f}")
    return "; ".join(parts)


def train_step(model, optimizer, confusion, pictures, targets):
    logits = model(pictures)
    loss = smooth_loss(logits, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    confusion.add(logits, targets)
    hard = worst(F.cross_entropy(logits.detach(), targets, reduction="none"), 3)
    return loss.item(), hard, describe(model)


def main():
    torch.manual_seed(0)
    random.seed(0)
    model = Network()
    optimizer = Momentum(model.parameters(), 0.01)
    confusion = Confusion()
    loader = torch.utils.data.DataLoader(Pictures(), batch_size=BATCH)
    with perfline.profile(skip=8, steps=12) as prof:
        for number, (pictures, targets) in enumerate(loader):
            train_step(model, optimizer, confusion, pictures, targets)
            prof.step()
            if number == 24:
                break


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
