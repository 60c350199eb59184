//! `foreach=True` and `fused=True`.

use super::*;

const HEAD: &str =
    "import torch\nfrom torch import nn, optim\nfrom torch.optim import Adam, AdamW\n";

fn foreach(text: &str, recorded: Recorded, parts: &[(&str, &str)]) {
    check(&format!("{HEAD}{text}"), Goal::Optimizer, recorded, What::Foreach, parts);
}

fn fused(text: &str, recorded: Recorded, parts: &[(&str, &str)]) {
    check(&format!("{HEAD}{text}"), Goal::Optimizer, recorded, What::Fused, parts);
}

#[test]
fn foreach_where_it_was_off() {
    const NEW: Recorded = recorded(2, 15);
    let off: &[(&str, &str)] = &[("foreach=False", "foreach=True")];
    foreach("opt = Adam(p, foreach=False)\nopt.step()  # here\n", NEW, off);
    foreach("opt = Adam(p, foreach=False)\nopt.step()  # here\n", UNKNOWN, off);
    foreach("opt = optim.SGD(p, 0.1, 0.9, foreach=False)\nopt.step()  # here\n", NEW, off);
    foreach("opt = torch.optim.RMSprop(p, lr=1e-2, foreach=False)\nopt.step()  # here\n", NEW, off);
    foreach(
        "import torch.optim as o\nopt = o.adagrad.Adagrad(p, foreach=False)\nopt.step()  # here\n",
        NEW,
        off,
    );
    foreach(
        "opt = Adam(p, fused=False, eps=1e-6)\nopt.step()  # here\n",
        NEW,
        &[("fused=False", "foreach=True")],
    );
    foreach("opt = Adam(p, fused=False, foreach=False)\nopt.step()  # here\n", NEW, off);
}

#[test]
fn foreach_before_it_was_the_default() {
    let old = recorded(1, 13);
    let added: &[(&str, &str)] = &[("lr=1e-3)", "lr=1e-3, foreach=True)")];
    foreach("opt = AdamW(p, lr=1e-3)\nopt.step()  # here\n", old, added);
    foreach(
        "class Trainer:\n    def __init__(self, m):\n        self.opt = Adam(m.parameters(), lr=1e-3)\n    def step(self):\n        self.opt.step()  # here\n",
        old,
        added,
    );
    foreach(
        "def main(p, scaler):\n    opt = Adam(p, lr=1e-3)\n    for x in p:\n        scaler.step(opt)  # here\n",
        old,
        added,
    );
    foreach(
        "def train(model, opt):\n    opt.step()  # here\ndef main(m):\n    opt = Adam(m.parameters(), lr=1e-3)\n    train(m, opt)\n",
        old,
        added,
    );
    foreach(
        "def epoch(*, opt):\n    opt.step()  # here\ndef train(m, opt):\n    epoch(opt=opt)\ndef main(m):\n    optimizer = Adam(m, lr=1e-3)\n    train(m, optimizer)\n    train(m, opt=optimizer)\n",
        old,
        added,
    );
    foreach(
        "def main(p, rate: float = 2):\n    opt: Adam = Adam(p, rate / 2, weight_decay=0)\n    def step():\n        opt.zero_grad(); opt.step(); sched.step()  # here\n    sched = optim.lr_scheduler.StepLR(opt, 3)\n",
        old,
        &[("weight_decay=0)", "weight_decay=0, foreach=True)")],
    );
    foreach(
        "args = parser.parse_args()\nopt = Adam(p, args.lr)\nopt.step(  # here\n    closure\n)\n",
        old,
        &[("args.lr)", "args.lr, foreach=True)")],
    );
}

#[test]
fn fused_where_the_text_moves_the_model() {
    let new = recorded(2, 4);
    let off: &[(&str, &str)] = &[("foreach=False", "fused=True")];
    let step = "opt = Adam(model.parameters(), foreach=False)\nopt.step()  # here\n";
    for moved in [
        "model = Net().cuda()",
        "model = Net().to('cuda:1')",
        "model = Net().to(device)",
        "model = Net()\nmodel.cuda()",
        "model = Net()\nmodel = model.to(args.device)",
        "model = nn.Linear(1, 1).to(torch.device('cuda'))",
    ] {
        fused(&format!("{moved}\n{step}"), new, off);
    }
    fused(
        "model = Net().cuda()\nopt = AdamW(model.parameters(), 1e-3, fused=False)\nopt.step()  # here\n",
        new,
        &[("fused=False", "fused=True")],
    );
    fused(
        "class T:\n    def __init__(self):\n        self.model = Net().to(self.device)\n        self.opt = AdamW(self.model.parameters(), foreach=False)\n    def go(self):\n        self.opt.step()  # here\n",
        new,
        off,
    );
}

#[test]
fn fused_on_the_host() {
    let host = Recorded { is_on_device: false, ..recorded(2, 4) };
    let opt = "opt = Adam(p, lr=1e-3)\nopt.step()  # here\n";
    fused(opt, host, &[("lr=1e-3)", "lr=1e-3, fused=True)")]);
    fused(
        "opt = AdamW(p, foreach=False)\nopt.step()  # here\n",
        host,
        &[("foreach=False", "fused=True")],
    );
    let earlier = Recorded { is_on_device: false, ..recorded(2, 3) };
    let unknown = Recorded { is_on_device: false, ..UNKNOWN };
    let off = "opt = optim.SGD(p, foreach=False)\nopt.step()  # here\n";
    for (text, recorded) in [(opt, earlier), (opt, unknown), (off, host)] {
        assert_eq!(offered(&format!("{HEAD}{text}"), Goal::Optimizer, recorded), [], "{text}");
    }
}

#[test]
fn fused_relies_on_more_than_foreach() {
    let off = "opt = Adam(model.parameters(), foreach=False)\nopt.step()  # here\n";
    let moved = format!("model = Net().cuda()\n{off}");
    let rows = [
        ("before it was there", moved.clone(), recorded(1, 13)),
        ("of a version that is not known", moved.clone(), UNKNOWN),
        ("not moved", format!("model = Net()\n{off}"), recorded(2, 4)),
        ("moved to the host", format!("model = Net().to('cpu')\n{off}"), recorded(2, 4)),
        ("of another type", format!("model = Net().to(torch.half)\n{off}"), recorded(2, 4)),
        ("another one is moved", format!("other = Net().cuda()\n{off}"), recorded(2, 4)),
        ("refuses sparse gradients", moved.replace("Adam(", "optim.SGD("), recorded(2, 4)),
        (
            "groups of parameters",
            moved.replace("model.parameters()", "groups(model)"),
            recorded(2, 4),
        ),
    ];
    for (why, text, recorded) in rows {
        let text = format!("{HEAD}{text}");
        let offered = offered(&text, Goal::Optimizer, recorded);
        assert!(
            offered.iter().all(|it| it.0 == What::Foreach) && offered.len() == 1,
            "{why}:\n{text}"
        );
    }
}

#[test]
fn nothing() {
    let (old, new) = (recorded(1, 13), recorded(2, 15));
    let rows = [
        ("on by default", new, "opt = Adam(p)\nopt.step()  # here\n"),
        ("of a version that is not known", UNKNOWN, "opt = Adam(p)\nopt.step()  # here\n"),
        ("before it was there", recorded(1, 11), "opt = Adam(p)\nopt.step()  # here\n"),
        ("there", old, "opt = Adam(p, foreach=True)\nopt.step()  # here\n"),
        ("fused", new, "opt = Adam(p, fused=True)\nopt.step()  # here\n"),
        ("decided elsewhere", new, "opt = Adam(p, foreach=fast)\nopt.step()  # here\n"),
        ("decided elsewhere, fused", old, "opt = Adam(p, fused=fast)\nopt.step()  # here\n"),
        (
            "differentiable",
            new,
            "opt = Adam(p, foreach=False, differentiable=True)\nopt.step()  # here\n",
        ),
        (
            "maybe differentiable",
            new,
            "opt = Adam(p, foreach=False, differentiable=d)\nopt.step()  # here\n",
        ),
        (
            "keywords from elsewhere",
            new,
            "opt = Adam(p, foreach=False, **kw)\nopt.step()  # here\n",
        ),
        ("arguments from elsewhere", new, "opt = Adam(*p, foreach=False)\nopt.step()  # here\n"),
        ("many by position", old, "opt = optim.Rprop(p, 1, a, b, None)\nopt.step()  # here\n"),
        (
            "a rate that may be a tensor",
            new,
            "opt = Adam(p, lr=rate, foreach=False)\nopt.step()  # here\n",
        ),
        (
            "a rate that is a tensor",
            new,
            "lr = torch.tensor(1.)\nopt = Adam(p, lr=lr, foreach=False)\nopt.step()  # here\n",
        ),
        (
            "a rate from a parameter",
            new,
            "def f(lr):\n    opt = Adam(p, lr, foreach=False)\n    opt.step()  # here\n",
        ),
        ("takes none", old, "opt = optim.SparseAdam(p)\nopt.step()  # here\n"),
        ("differs", old, "opt = optim.NAdam(p)\nopt.step()  # here\n"),
        ("may differ", UNKNOWN, "opt = optim.NAdam(p, foreach=False)\nopt.step()  # here\n"),
        ("takes none", old, "opt = optim.LBFGS(p)\nopt.step(closure)  # here\n"),
        (
            "of another library",
            old,
            "import apex\nopt = apex.optimizers.Adam(p)\nopt.step()  # here\n",
        ),
        ("a class of the file", old, "class Adam: pass\nopt = Adam(p)\nopt.step()  # here\n"),
        ("any name", old, "from x import *\nopt = Adam(p)\nopt.step()  # here\n"),
        ("assigned twice", old, "opt = Adam(p)\nopt = AdamW(p)\nopt.step()  # here\n"),
        ("wrapped", old, "opt = Adam(p)\nopt = wrap(opt)\nopt.step()  # here\n"),
        ("unpacked", old, "model, opt = prepare(m, Adam(p))\nopt.step()  # here\n"),
        ("chosen", old, "opt = Adam(p) if x else AdamW(p)\nopt.step()  # here\n"),
        ("chosen by name", old, "opt = getattr(optim, name)(p)\nopt.step()  # here\n"),
        ("in a list", old, "opts = [Adam(p)]\nfor opt in opts:\n    opt.step()  # here\n"),
        ("in a list, by number", old, "opts = [Adam(p)]\nopts[0].step()  # here\n"),
        (
            "global",
            old,
            "opt = None\ndef f():\n    global opt\n    opt = Adam(p)\n    opt.step()  # here\n",
        ),
        (
            "from a function",
            old,
            "def make():\n    return Adam(p)\nopt = make()\nopt.step()  # here\n",
        ),
        (
            "a parameter that is never passed",
            old,
            "def train(opt):\n    opt.step()  # here\nopt = Adam(p)\n",
        ),
        (
            "given by two",
            old,
            "def train(opt):\n    opt.step()  # here\na = Adam(p)\nb = Adam(q)\ntrain(a)\ntrain(b)\n",
        ),
        (
            "given with a star",
            old,
            "def train(opt):\n    opt.step()  # here\na = Adam(p)\ntrain(*[a])\n",
        ),
        (
            "given by default",
            old,
            "def train(opt=None):\n    opt.step()  # here\na = Adam(p)\ntrain(opt=a)\ntrain()\n",
        ),
        (
            "handed on as a function",
            old,
            "def train(opt):\n    opt.step()  # here\na = Adam(p)\ntrain(a)\nrun(train)\n",
        ),
        (
            "decorated",
            old,
            "@wrap\ndef train(opt):\n    opt.step()  # here\na = Adam(p)\ntrain(a)\n",
        ),
        (
            "in two attributes",
            old,
            "class T:\n    def a(self):\n        self.opt = Adam(p)\n    def b(self):\n        self.opt = None\n        self.opt.step()  # here\n",
        ),
        (
            "of another object",
            old,
            "class T:\n    def a(self, t):\n        self.opt = Adam(p)\n        t.opt.step()  # here\n",
        ),
        (
            "of another class",
            old,
            "class T:\n    def a(self):\n        self.opt = Adam(p)\nclass U:\n    def b(self):\n        self.opt.step()  # here\n",
        ),
        (
            "set by name",
            old,
            "class T:\n    def a(self):\n        self.opt = Adam(p)\n        setattr(self, n, 1)\n        self.opt.step()  # here\n",
        ),
        ("another step", old, "opt = Adam(p)\nprof.step()  # here\n"),
        ("one of two", old, "opt = Adam(p)\nprof.step(); opt.step()  # here\n"),
        ("both", old, "a = Adam(p)\nb = Adam(p)\na.step(); b.step()  # here\n"),
        ("no step", old, "opt = Adam(p)\nopt.zero_grad()  # here\n"),
    ];
    for (why, recorded, text) in rows {
        let text = format!("{HEAD}{text}");
        assert_eq!(offered(&text, Goal::Optimizer, recorded), [], "{why}:\n{text}");
    }
    let broken = "from torch.optim import Adam\nopt = Adam(p, foreach=False)\nopt.step()\n(";
    assert_eq!(Module::parse(broken).changes(broken, 3, Goal::Optimizer, new), []);
    assert_eq!(Module::parse("").changes("", 7, Goal::Optimizer, new), []);
}
