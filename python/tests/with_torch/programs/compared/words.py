"""A small language model: trained for a few steps, which are recorded."""

import math

import perfline
import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY = "abcdefghijklmnopqrstuvwxyz ,.;:!?'()-0123456789"
TEXT = "to be, or not to be: that is the question; whether 'tis nobler in the mind to suffer " * 60
BATCH, LENGTH, WIDTH, HEADS = 12, 48, 96, 4
DECAY = 0.99


def encode(text):
    codes = []
    for letter in text:
        codes.append(VOCABULARY.index(letter))
    return torch.tensor(codes)


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, index):
        start = index * 7 % (len(TEXT) - LENGTH - 1)
        return encode(TEXT[start : start + LENGTH + 1])


def causal_mask(length):
    mask = torch.zeros(length, length)
    for row in range(length):
        mask[row, row + 1 :] = -math.inf
    return mask


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, -1).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self.split(it) for it in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1)
        scores = scores / math.sqrt(q.shape[-1])
        scores = scores + causal_mask(x.shape[1])
        weights = torch.exp(scores - scores.amax(-1, keepdim=True))
        weights = weights / weights.sum(-1, keepdim=True)
        mixed = (weights @ v).transpose(1, 2).reshape(x.shape)
        return self.out(mixed)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def activate(self, x):
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return 0.5 * x * (1 + torch.tanh(inner))

    def forward(self, x):
        return self.down(self.activate(self.up(x)).double().float())


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = Mlp()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(len(VOCABULARY), WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(WIDTH, len(VOCABULARY))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def cross_entropy(logits, targets):
    losses = []
    for row in range(len(targets)):
        losses.append(F.cross_entropy(logits[row], targets[row]))
    return torch.stack(losses).mean()


def clip(parameters, limit):
    everything = torch.cat([it.grad.flatten() for it in parameters])
    factor = limit / (everything.double().norm() + 1e-6)
    if factor < 1:
        for parameter in parameters:
            parameter.grad = parameter.grad * factor.float()


class Average:
    def __init__(self, model):
        self.shadow = [it.detach().clone() for it in model.parameters()]

    def update(self, model):
        for shadow, parameter in zip(self.shadow, model.parameters()):
            shadow.mul_(DECAY).add_(parameter.detach(), alpha=1 - DECAY)


def accuracy(logits, targets):
    guesses = logits.argmax(-1).flatten()
    hits = 0
    for guess, target in zip(guesses.tolist(), targets.flatten().tolist()):
        if guess == target:
            hits += 1
    return hits / len(guesses)


def train_step(model, optimizer, average, batch):
    inputs, targets = batch[:, :-1], batch[:, 1:]
    optimizer.zero_grad(set_to_none=False)
    logits = model(inputs)
    loss = cross_entropy(logits, targets)
    loss.backward()
    clip(list(model.parameters()), 1.0)
    optimizer.step()
    average.update(model)
    return loss.item(), accuracy(logits.detach(), targets)


def main():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    average = Average(model)
    loader = torch.utils.data.DataLoader(Texts(), batch_size=BATCH)
    with perfline.profile(skip=8, steps=12) as prof:
        for number, batch in enumerate(loader):
            train_step(model, optimizer, average, batch)
            prof.step()
            if number == 24:
                break


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
