//! `non_blocking=True`, and `pin_memory=True` with it.

use super::*;

const HEAD: &str = "import torch\nfrom torch.utils.data import DataLoader\nfrom tqdm import tqdm\n";

#[test]
fn from_pinned_memory() {
    let pinned = "loader = DataLoader(data, pin_memory=True)\n";
    let to: &[(&str, &str)] = &[(".to(device)", ".to(device, non_blocking=True)")];
    let cuda: &[(&str, &str)] = &[(".cuda()", ".cuda(non_blocking=True)")];
    let two: &[(&str, &str)] = &[
        ("x.to(device)", "x.to(device, non_blocking=True)"),
        ("y.to(device)", "y.to(device, non_blocking=True)"),
    ];
    let rows = [
        ("y = x.pin_memory().to(device)  # here\n", to),
        ("y = x.pin_memory().cuda()  # here\n", cuda),
        ("p = x.pin_memory()\ny = p.to(device)  # here\n", to),
        ("for x in loader:\n    x = x.to(device)  # here\n", to),
        ("for x, y in loader:\n    x = x.to(device)  # here\n    y = y.to(device)\n", to),
        ("for x, y in loader:\n    x, y = x.to(device), y.to(device)  # here\n", two),
        ("for i, (x, y) in enumerate(loader):\n    x = x.cuda()  # here\n", cuda),
        ("for i, batch in enumerate(tqdm(loader)):\n    x = batch[0].to(device)  # here\n", to),
        (
            "for batch in loader:\n    x = batch['x'].to(device)  # here\n    y = batch['y'].cuda()\n",
            to,
        ),
        ("for batch in loader:\n    x, y = batch\n    x = x.to(device)  # here\n", to),
        (
            "for i, data in enumerate(loader, 0):\n    x, y = data\n    x, y = x.to(device), y.to(device)  # here\n",
            two,
        ),
        ("for batch in loader:\n    x, y = batch[0].cuda(), batch[1]  # here\n", cuda),
        ("for x, y in loader:\n    out = model(x.to(device))  # here\n    n = x.size(0)\n", to),
        (
            "for x, y in loader:\n    x = x.to(device, non_blocking=False)  # here\n",
            &[("non_blocking=False", "non_blocking=True")],
        ),
        (
            "for x, y in loader:\n    x = x.to(device=d)  # here\n",
            &[("device=d", "device=d, non_blocking=True")],
        ),
        (
            "def f(batches):\n    for x in batches:\n        x = x.to(device)  # here\nf(loader)\n",
            to,
        ),
        (
            "for x in loader:\n    for z in range(3):\n        pass\n    x = x.to(device)  # here\n    x.zero_()\n",
            to,
        ),
    ];
    for (text, parts) in rows {
        let text = format!("{HEAD}{pinned}{text}");
        check(&text, Goal::HostToDevice, UNKNOWN, What::NonBlocking, parts);
    }
}

#[test]
fn from_a_loader_that_does_not_pin() {
    let both: &[(&str, &str)] = &[
        ("num_workers=2)", "num_workers=2, pin_memory=True)"),
        (".to(device)", ".to(device, non_blocking=True)"),
    ];
    let rows = [
        (
            "loader = DataLoader(data, num_workers=2)\nfor x, y in loader:\n    x = x.to(device)  # here\n",
            both,
        ),
        (
            "loader = DataLoader(data, pin_memory=False)\nfor x in loader:\n    x = x.to(device)  # here\n",
            &[
                ("pin_memory=False", "pin_memory=True"),
                (".to(device)", ".to(device, non_blocking=True)"),
            ],
        ),
        (
            "class T:\n    def a(self):\n        self.loader = DataLoader(data, num_workers=2)\n    def b(self):\n        for x, y in self.loader:\n            x = x.to(device)  # here\n",
            both,
        ),
        (
            "def train(loader):\n    for x, y in loader:\n        x = x.to(device)  # here\ntrain(DataLoader(data, num_workers=2))\n",
            &[
                (".to(device)", ".to(device, non_blocking=True)"),
                ("num_workers=2)", "num_workers=2, pin_memory=True)"),
            ],
        ),
    ];
    for (text, parts) in rows {
        let text = format!("{HEAD}{text}");
        check(&text, Goal::HostToDevice, UNKNOWN, What::PinMemory, parts);
    }
}

#[test]
fn nothing() {
    let pinned = "loader = DataLoader(data, pin_memory=True)\n";
    let rows = [
        ("of an unknown value", "y = x.to(device)  # here\n"),
        ("not pinned", "x = torch.ones(3)\ny = x.to(device)  # here\n"),
        ("there", "for x in loader:\n    x = x.to(device, non_blocking=True)  # here\n"),
        ("decided elsewhere", "for x in loader:\n    x = x.to(device, non_blocking=n)  # here\n"),
        ("keywords from elsewhere", "for x in loader:\n    x = x.to(device, **kw)  # here\n"),
        ("keywords from elsewhere", "for x in loader:\n    x = x.to(**kw)  # here\n"),
        ("arguments from elsewhere", "for x in loader:\n    x = x.to(*where)  # here\n"),
        ("a type", "for x in loader:\n    x = x.to(torch.float16)  # here\n"),
        ("many by position", "for x in loader:\n    x = x.to(device, torch.half, False)  # here\n"),
        (
            "the number of the batch",
            "for i, x in enumerate(loader):\n    i = i.to(device)  # here\n",
        ),
        ("bound between", "for x in loader:\n    x = x + 1\n    x = x.to(device)  # here\n"),
        (
            "bound between, in a branch",
            "for x in loader:\n    if a:\n        x = f(x)\n    x = x.to(device)  # here\n",
        ),
        (
            "bound by an inner loop",
            "for x in loader:\n    for x in xs:\n        x = x.to(device)  # here\n",
        ),
        ("made of it", "for x in loader:\n    y = x * 2\n    y = y.to(device)  # here\n"),
        ("a result", "for x in loader:\n    x = f(x).to(device)  # here\n"),
        ("one of two", "for x in loader:\n    x, z = x.to(device), z.to(device)  # here\n"),
        ("a key that may be anything", "for x in loader:\n    y = x[k].to(device)  # here\n"),
        ("in a comprehension", "for b in loader:\n    b = [x.to(device) for x in b]  # here\n"),
        (
            "collated by others",
            "l = DataLoader(d, collate_fn=f, pin_memory=True)\nfor x in l:\n    x = x.to(device)  # here\n",
        ),
        (
            "pins by a condition",
            "l = DataLoader(d, pin_memory=cuda)\nfor x in l:\n    x = x.to(device)  # here\n",
        ),
        (
            "arguments of the loader from elsewhere",
            "l = DataLoader(d, **kw)\nfor x in l:\n    x = x.to(device)  # here\n",
        ),
        (
            "of another library",
            "from torch_geometric.loader import DataLoader as L\nl = L(d, pin_memory=True)\nfor x in l:\n    x = x.to(device)  # here\n",
        ),
        (
            "a loader of two",
            "l = DataLoader(d)\nl = wrap(l)\nfor x in l:\n    x = x.to(device)  # here\n",
        ),
        ("zipped", "for x, y in zip(loader, loader):\n    x = x.to(device)  # here\n"),
        ("after the loop", "for x in loader:\n    pass\nx = x.to(device)  # here\n"),
        (
            "in a function of the loop",
            "for x in loader:\n    def f():\n        y = x.to(device)  # here\n",
        ),
        ("written later", "for x in loader:\n    y = x.to(device)  # here\n    x.zero_()\n"),
        (
            "kept by another name",
            "for x in loader:\n    z = x\n    x = x.to(device)  # here\n    z.zero_()\n",
        ),
        ("kept in part", "for b in loader:\n    z = b[0]\n    x = b[0].to(device)  # here\n"),
        (
            "kept in part, maybe",
            "for b in loader:\n    z = b[-2]\n    x = b[0].to(device)  # here\n",
        ),
        (
            "kept in the batch",
            "for b in loader:\n    x, y = b\n    x = x.to(device)  # here\n    b[0].zero_()\n",
        ),
        ("kept in a list", "for x in loader:\n    kept.append(x)\n    x = x.to(device)  # here\n"),
        (
            "written later, pinned by itself",
            "p = x.pin_memory()\ny = p.to(device)  # here\np.copy_(z)\n",
        ),
        (
            "two loaders that do not pin",
            "a = DataLoader(d)\nb = DataLoader(d)\nfor x in a:\n    for y in b:\n        f(x.to(device), y.to(device))  # here\n",
        ),
        ("any name", "from z import *\nfor x in loader:\n    x = x.to(device)  # here\n"),
        ("no copy", "for x in loader:\n    x = x.float()  # here\n"),
    ];
    for (why, text) in rows {
        let text = format!("{HEAD}{pinned}{text}");
        assert_eq!(offered(&text, Goal::HostToDevice, UNKNOWN), [], "{why}:\n{text}");
    }
}
