//! `zero_grad(set_to_none=True)`.

use super::*;

const HEAD: &str = "import torch\nfrom torch.optim import Adam, SGD\n";

#[test]
fn where_it_is_off() {
    let (old, new) = (recorded(1, 13), recorded(2, 1));
    let given: &[(&str, &str)] = &[("set_to_none=False", "set_to_none=True")];
    let added: &[(&str, &str)] = &[("zero_grad()", "zero_grad(set_to_none=True)")];
    let rows = [
        (new, "opt.zero_grad(set_to_none=False)  # here\n", given),
        (UNKNOWN, "opt.zero_grad(set_to_none=False)  # here\n", given),
        (new, "model.zero_grad(set_to_none=False)  # here\n", given),
        (new, "self.opt.zero_grad(\n    set_to_none=False,  # here\n)\n", given),
        (new, "loss.backward(); opt.zero_grad(set_to_none=False); f()  # here\n", given),
        (new, "if i % 2: opt.zero_grad(set_to_none=False)  # here\n", given),
        (new, "g = torch.autograd.grad(y, x)\nopt.zero_grad(set_to_none=False)  # here\n", given),
        (old, "opt = Adam(p)\nopt.zero_grad()  # here\n", added),
        (recorded(1, 7), "opt = torch.optim.AdamW(p)\nopt.zero_grad()  # here\n", added),
        (
            old,
            "class T:\n    def a(self):\n        self.opt = SGD(p, 1)\n    def b(self):\n        self.opt.zero_grad()  # here\n",
            added,
        ),
        (old, "def f(opt):\n    opt.zero_grad()  # here\nopt = Adam(p)\nf(opt)\n", added),
        (old, "opt = Adam(p)\nopt.zero_grad(); loss.backward(); opt.step()  # here\n", added),
    ];
    for (recorded, text, parts) in rows {
        let text = format!("{HEAD}{text}");
        check(&text, Goal::ZeroGrad, recorded, What::SetToNone, parts);
    }
}

#[test]
fn nothing() {
    let (old, new) = (recorded(1, 13), recorded(2, 0));
    let rows = [
        ("the default", new, "opt = Adam(p)\nopt.zero_grad()  # here\n"),
        ("of a version that is not known", UNKNOWN, "opt = Adam(p)\nopt.zero_grad()  # here\n"),
        ("before it was there", recorded(1, 6), "opt = Adam(p)\nopt.zero_grad()  # here\n"),
        ("there", old, "opt.zero_grad(set_to_none=True)  # here\n"),
        ("decided elsewhere", old, "opt.zero_grad(set_to_none=fast)  # here\n"),
        ("by position", old, "opt = Adam(p)\nopt.zero_grad(False)  # here\n"),
        ("keywords from elsewhere", old, "opt = Adam(p)\nopt.zero_grad(**kw)  # here\n"),
        ("and more", old, "opt.zero_grad(set_to_none=False, **kw)  # here\n"),
        ("of an unknown value", old, "opt.zero_grad()  # here\n"),
        ("of a model", old, "model = Net()\nmodel.zero_grad()  # here\n"),
        (
            "of a class of the file",
            old,
            "class Lion(torch.optim.Optimizer):\n    def zero_grad(self): pass\nopt = Lion(p)\nopt.zero_grad()  # here\n",
        ),
        (
            "of another library",
            old,
            "import apex\nopt = apex.optimizers.FusedAdam(p)\nopt.zero_grad()  # here\n",
        ),
        ("wrapped", old, "opt = Adam(p)\nopt = Wrapped(opt)\nopt.zero_grad()  # here\n"),
        ("of a list", old, "for opt in opts:\n    opt.zero_grad()  # here\n"),
        ("two", old, "a = Adam(p)\nb = Adam(p)\na.zero_grad(); b.zero_grad()  # here\n"),
        ("two of which one is off", new, "a.zero_grad(); b.zero_grad(set_to_none=False)  # here\n"),
        (
            "gradients are read",
            new,
            "opt.zero_grad(set_to_none=False)  # here\nprint(p.grad.norm())\n",
        ),
        (
            "gradients are added up",
            new,
            "opt.zero_grad(set_to_none=False)  # here\ntotal += p.grad\n",
        ),
        (
            "gradients are read before",
            old,
            "opt = Adam(p)\nn = [q.grad for q in p]\nopt.zero_grad()  # here\n",
        ),
        ("gradients are written", new, "opt.zero_grad(set_to_none=False)  # here\np.grad = x\n"),
        ("not called", new, "f(opt.zero_grad, set_to_none=False)  # here\n"),
        ("a function", old, "zero_grad(set_to_none=False)  # here\n"),
        ("another method", old, "opt.zero(set_to_none=False)  # here\n"),
    ];
    for (why, recorded, text) in rows {
        let text = format!("{HEAD}{text}");
        assert_eq!(offered(&text, Goal::ZeroGrad, recorded), [], "{why}:\n{text}");
    }
}
