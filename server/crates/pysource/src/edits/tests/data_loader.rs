//! `num_workers=4`.

use super::*;

const HEAD: &str = "\
import torch
import torchvision
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset
class Numbers(Dataset):
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i): return i
";

/// A function with these lines.
fn function(body: &str) -> String {
    let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
    format!("{HEAD}def main(x, y, args):\n{body}")
}

const LOOP: &str = "for batch in loader:  # here\n    f(batch)\n";

#[test]
fn a_loader_that_works_alone() {
    let none: &[(&str, &str)] = &[("batch_size=8)", "batch_size=8, num_workers=4)")];
    let zero: &[(&str, &str)] = &[("num_workers=0", "num_workers=4")];
    let rows = [
        (format!("loader = DataLoader(Numbers(3), batch_size=8)\n{LOOP}"), none),
        (format!("data = Numbers(3)\nloader = DataLoader(data, batch_size=8)\n{LOOP}"), none),
        (format!("loader = DataLoader(Numbers(3), num_workers=0)\n{LOOP}"), zero),
        (format!("loader = DataLoader(dataset=Numbers(3), batch_size=8)\n{LOOP}"), none),
        (
            format!("loader = DataLoader(torchvision.datasets.MNIST('.'), batch_size=8)\n{LOOP}"),
            none,
        ),
        (
            format!("x = torch.ones(3)\nloader = DataLoader(TensorDataset(x), batch_size=8)\n{LOOP}")
                .replace("x = torch", "z = torch")
                .replace("Dataset(x)", "Dataset(z)"),
            none,
        ),
        (
            format!("loader = DataLoader(Subset(Numbers(3), [1]), batch_size=8)\n{LOOP}"),
            none,
        ),
        (
            "loader = DataLoader(Numbers(3), batch_size=8)\nfor i, batch in enumerate(loader):  # here\n    f(batch)\n".to_owned(),
            none,
        ),
        (
            format!("loader = DataLoader(Numbers(3), collate_fn=main, batch_size=8)\n{LOOP}"),
            none,
        ),
        (
            format!("loader = torch.utils.data.DataLoader(Numbers(3), 8, True, num_workers=0)\n{LOOP}"),
            zero,
        ),
    ];
    for (text, parts) in rows {
        check(&function(&text), Goal::DataLoader, UNKNOWN, What::Workers(4), parts);
    }
    let main = format!(
        "{HEAD}if __name__ == '__main__':\n    loader = DataLoader(Numbers(3), batch_size=8)\n    for b in loader:  # here\n        pass\n"
    );
    check(&main, Goal::DataLoader, UNKNOWN, What::Workers(4), none);
    let given = format!(
        "{HEAD}def train(loader):\n    for b in loader:  # here\n        pass\ndef main():\n    train(DataLoader(Numbers(3), batch_size=8))\n"
    );
    check(&given, Goal::DataLoader, UNKNOWN, What::Workers(4), none);
    let next = function(
        "batches = iter(DataLoader(Numbers(3), batch_size=8))\nwhile x:\n    batch = next(batches)  # here\n",
    );
    check(&next, Goal::DataLoader, UNKNOWN, What::Workers(4), none);
}

#[test]
fn nothing() {
    let rows = [
        ("has workers", "loader = DataLoader(Numbers(3), num_workers=2)\n"),
        ("decided elsewhere", "loader = DataLoader(Numbers(3), num_workers=args.workers)\n"),
        ("keywords from elsewhere", "loader = DataLoader(Numbers(3), **args)\n"),
        ("arguments from elsewhere", "loader = DataLoader(*args)\n"),
        ("tensors that are given", "loader = DataLoader(TensorDataset(x[:3]))\n"),
        ("tensors that are counted", "loader = DataLoader(TensorDataset(*[x]))\n"),
        ("tensors made of others", "z = torch.stack([x])\nloader = DataLoader(TensorDataset(z))\n"),
        ("tensors made of themselves", "z = z + 1\nloader = DataLoader(TensorDataset(z))\n"),
        (
            "several data sets",
            "d = torch.utils.data.ConcatDataset([x, y])\nloader = DataLoader(d)\n",
        ),
        ("by position", "loader = DataLoader(Numbers(3), 8, True, None, None, 0)\n"),
        ("assigned twice", "loader = DataLoader(Numbers(3))\nloader = wrap(loader)\n"),
        ("of another library", "from x import DataLoader as L\nloader = L(Numbers(3))\n"),
        ("a data set from elsewhere", "loader = DataLoader(x)\n"),
        ("a list", "loader = DataLoader([1, 2])\n"),
        ("made by a function", "loader = DataLoader(make(3))\n"),
        ("assigned twice, the data", "d = Numbers(3)\nd = wrap(d)\nloader = DataLoader(d)\n"),
        ("given a lambda", "loader = DataLoader(Numbers(lambda: 3))\n"),
        ("given an open file", "loader = DataLoader(Numbers(open('x')))\n"),
        ("collated by a lambda", "loader = DataLoader(Numbers(3), collate_fn=lambda b: b)\n"),
        (
            "collated by a local function",
            "def c(b): return b\nloader = DataLoader(Numbers(3), collate_fn=c)\n",
        ),
        ("collated by an unknown function", "loader = DataLoader(Numbers(3), collate_fn=args.f)\n"),
        ("tensors on a device", "loader = DataLoader(TensorDataset(x.cuda()))\n"),
        (
            "tensors moved to a device",
            "z = torch.ones(3, device='cuda')\nloader = DataLoader(TensorDataset(z))\n",
        ),
        ("tensors from elsewhere", "loader = DataLoader(TensorDataset(x))\n"),
        (
            "local",
            "class D(Dataset):\n    def __getitem__(self, i): return i\nloader = DataLoader(D())\n",
        ),
    ];
    for (why, text) in rows {
        let text = function(&format!("{text}{LOOP}"));
        assert_eq!(offered(&text, Goal::DataLoader, UNKNOWN), [], "{why}:\n{text}");
    }
    let classes = [
        (
            "iterable",
            "class D(IterableDataset):\n    def __getitem__(self, i): pass\n    def __iter__(self): pass\n",
        ),
        ("without an index", "class D(Dataset):\n    def __iter__(self): pass\n"),
        ("of other bases", "class D(Numbers):\n    def __getitem__(self, i): pass\n"),
        ("of two bases", "class D(Dataset, Base):\n    def __getitem__(self, i): pass\n"),
        (
            "on a device",
            "class D(Dataset):\n    def __getitem__(self, i): return self.x[i].to(0)\n",
        ),
        (
            "knows a device",
            "class D(Dataset):\n    device = 1\n    def __getitem__(self, i): pass\n",
        ),
        (
            "keeps a file open",
            "class D(Dataset):\n    def __init__(self): self.f = open('x')\n    def __getitem__(self, i): pass\n",
        ),
    ];
    for (why, class) in classes {
        let main = format!(
            "{HEAD}{class}def main():\n    for b in DataLoader(D()):  # here\n        pass\n"
        );
        assert_eq!(offered(&main, Goal::DataLoader, UNKNOWN), [], "{why}:\n{main}");
    }
    let module = format!("{HEAD}for b in DataLoader(Numbers(3)):  # here\n    pass\n");
    assert_eq!(offered(&module, Goal::DataLoader, UNKNOWN), [], "run when it is imported");
    let inside = function("loader = DataLoader(Numbers(3))\nfor b in loader:\n    f(b)  # here\n");
    assert_eq!(offered(&inside, Goal::DataLoader, UNKNOWN), [], "not the loop itself");
    let next = function("batches = DataLoader(Numbers(3))\nbatch = next(batches)  # here\n");
    assert_eq!(offered(&next, Goal::DataLoader, UNKNOWN), [], "no iterator");
    let other = function("loader = DataLoader(Numbers(3))\nfor b in [loader]:  # here\n    f(b)\n");
    assert_eq!(offered(&other, Goal::DataLoader, UNKNOWN), [], "another loop");
}
