"""Hugging Face's ``Trainer`` with two batches for each step of the optimizer, and an evaluation after some of them."""

import sys

import perfline.transformers
import torch
import transformers


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(100, 64)
        self.head = torch.nn.Linear(64, 100)

    def forward(self, input_ids, labels=None):
        hidden = self.embed(input_ids)
        logits = self.head(hidden @ hidden.transpose(1, 2) @ hidden)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return {"loss": loss, "logits": logits}


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, index):
        ids = torch.randint(0, 100, (32,))
        return {"input_ids": ids, "labels": ids}


trainer = transformers.Trainer(
    Model(),
    transformers.TrainingArguments(
        "out",
        max_steps=10,
        gradient_accumulation_steps=2,
        per_device_train_batch_size=8,
        eval_strategy="steps",
        eval_steps=int(sys.argv[1]),
        save_strategy="no",
        report_to="none",
        use_cpu=True,
    ),
    train_dataset=Data(),
    eval_dataset=Data(),
)
trainer.add_callback(perfline.transformers.Callback())
trainer.train()
