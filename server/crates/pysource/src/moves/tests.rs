mod after_loop;

use super::*;

const HEAD: &str = "\
import torch
import torch.nn.functional as F
from torch import nn
";

/// The text after moving what stands on the line with `# here`.
fn moved(text: &str) -> Option<String> {
    let line = text.lines().position(|line| line.contains("# here")).unwrap() as u32 + 1;
    let module = Module::parse(text);
    assert!(!module.has_errors(), "{text}");
    let found = module.move_read(text, line)?;
    let after = found.apply(text);
    assert!(!Module::parse(&after).has_errors(), "{after}");
    Some(after)
}

#[test]
fn what_is_read_for_the_log_alone() {
    let text = "\
def train(model, batches, optimizer):
    for step, (x, y) in enumerate(batches):
        loss = F.cross_entropy(model(x), y)
        value = loss.item()  # here
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            # Not too often.
            print(f'{step}: {value:.3f}')
        step_done()
";
    let expected = "\
def train(model, batches, optimizer):
    for step, (x, y) in enumerate(batches):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            # Not too often.
            value = loss.item()  # here
            print(f'{step}: {value:.3f}')
        step_done()
";
    assert_eq!(moved(&format!("{HEAD}{text}")), Some(format!("{HEAD}{expected}")));
    let module = Module::parse(&format!("{HEAD}{text}"));
    let found = module.move_read(&format!("{HEAD}{text}"), 7).unwrap();
    let to = Destination::If("if step % 100 == 0".to_owned());
    assert_eq!((found.read, found.to), (".item()", to));
    let windows = format!("{HEAD}{text}").replace('\n', "\r\n");
    assert_eq!(moved(&windows), Some(format!("{HEAD}{expected}").replace('\n', "\r\n")));
}

/// A function with these lines, the first of which makes `loss`.
fn function(lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| format!("    {line}\n"));
    format!("{HEAD}\ndef f(x, y, log, step, opt, criterion=None):\n{}", lines.collect::<String>())
}

const MADE: &str = "loss = F.mse_loss(x, y)";
const READ: &str = "value = loss.item()  # here";
const LOG: &str = "if step % 10 == 0: # often";
const USE: &str = "    log(value)";

#[test]
fn where_it_is_the_same() {
    let rows: [&[&str]; 16] = [
        &[MADE, READ, LOG, USE],
        &[MADE, READ, "loss.backward()", "opt.step()", LOG, USE],
        &[MADE, "value = float(loss)  # here", "opt.step()", LOG, USE],
        &["loss = x.abs().mean()", READ, "opt.step()", LOG, USE],
        &["loss = (x - y) ** 2 / 3", READ, "opt.step()", LOG, USE],
        &["loss = -torch.mean(x, dim=0)", READ, "opt.step()", LOG, USE],
        &["mse = nn.MSELoss()", "loss = mse(x, y)", READ, "opt.step()", LOG, USE],
        // Made at an unknown place, but nothing in between can change it.
        &["loss = criterion(x, y)", READ, LOG, USE],
        &["loss = criterion(x, y)", READ, "scaled = step * 2", LOG, USE],
        &["pass", "value = x.item()  # here", "due = step % opt.every == 0", "if due:", USE],
        // Uses that neither change nor keep it.
        &[MADE, READ, "total = loss * 2 + 1", "opt.step()", "if loss > 3:", USE],
        &[MADE, READ, "if step: return", "opt.step()", LOG, USE],
        &[MADE, READ, "log(value=step)", "opt.value = 1", LOG, USE],
        &[MADE, READ, "opt.step()", LOG, USE, "else:", "    log(step)"],
        &[MADE, READ, "opt.step()", LOG, "    log(1); log(value)", "    log(f'{value}')"],
        &[
            "for _ in x:",
            "    loss = F.mse_loss(x, y)",
            "    value = loss.item()  # here",
            "    if step:",
            "        log(value)",
        ],
    ];
    for lines in rows {
        let text = function(lines);
        let after = moved(&text).unwrap_or_else(|| panic!("not offered:\n{text}"));
        let place = |text: &str, what: &str| text.find(what).unwrap();
        assert!(place(&after, "# here") > place(&after, "    if "), "{after}");
        assert!(place(&after, "# here") < place(&after, "log(") || lines.len() != 4, "{after}");
    }
}

#[test]
fn where_it_may_not_be_the_same() {
    let rows: [(&str, &[&str]); 42] = [
        ("used in no if", &[MADE, READ, "log(value)"]),
        ("used nowhere", &[MADE, READ, LOG, "    pass"]),
        ("used before the if", &[MADE, READ, "log(value)", LOG, USE]),
        ("used in the test", &[MADE, READ, "if value > 3:", USE]),
        ("used in the else", &[MADE, READ, LOG, USE, "else:", "    log(value)"]),
        ("used in the elif", &[MADE, READ, LOG, USE, "elif value:", "    pass"]),
        ("used after the if", &[MADE, READ, LOG, USE, "return value"]),
        ("used in two", &[MADE, READ, LOG, USE, LOG, USE]),
        (
            "used before, in a loop",
            &[
                "value = 0",
                "for _ in x:",
                "    log(value)",
                "    loss = F.mse_loss(x, y)",
                "    value = loss.item()  # here",
                "    if step:",
                "        log(value)",
            ],
        ),
        ("used in a while", &[MADE, READ, "while step:", USE]),
        ("used in a closure", &[MADE, READ, LOG, "    log(lambda: value)"]),
        ("used in a comprehension", &[MADE, READ, LOG, "    log([value for _ in x])"]),
        ("used in a function", &[MADE, READ, "def g():", USE, LOG, "    pass"]),
        ("bound in the body", &[MADE, READ, LOG, "    value = value + 1", "    log(value)"]),
        ("global", &["global value", MADE, READ, LOG, USE]),
        (
            "a parameter",
            &["y = F.mse_loss(x, y)", "step = y.item()  # here", "if x:", "    log(step)"],
        ),
        ("seen by locals", &[MADE, READ, "opt.step()", LOG, USE, "log(locals())"]),
        ("rebound", &[MADE, READ, "loss = x", LOG, USE]),
        ("rebound by a loop", &[MADE, READ, "for loss in x: pass", LOG, USE]),
        ("rebound by a walrus", &[MADE, READ, "if (loss := x):", USE]),
        (
            "rebound by a function",
            &[MADE, "def g():", "    nonlocal loss", "    loss = 1", READ, "g()", LOG, USE],
        ),
        ("global to others", &["global loss", MADE, READ, "opt.step()", LOG, USE]),
        ("added to", &[MADE, READ, "loss += 1", LOG, USE]),
        ("changed in place", &[MADE, READ, "loss.mul_(2)", LOG, USE]),
        ("stored into", &[MADE, READ, "loss[0] = 2", LOG, USE]),
        ("changed through its data", &[MADE, READ, "loss.data = x", LOG, USE]),
        ("handed on", &[MADE, READ, "log(loss)", LOG, USE]),
        ("handed on before", &[MADE, "log(loss)", READ, "opt.step()", LOG, USE]),
        ("handed on by name", &[MADE, "z = loss", READ, "z.zero_()", LOG, USE]),
        ("kept in a list", &[MADE, READ, "log.losses = [loss]", "opt.step()", LOG, USE]),
        ("shifted into a stream", &[MADE, READ, "log << loss", "opt.step()", LOG, USE]),
        ("of unknown origin", &["loss = criterion(x, y)", READ, "opt.step()", LOG, USE]),
        ("from a parameter", &["pass", "value = x.item()  # here", "opt.step()", LOG, USE]),
        ("from a meter", &["loss = log.mean()", READ, "log.update()", LOG, USE]),
        ("from a view", &["loss = x[0]", READ, "opt.step()", LOG, USE]),
        ("the same tensor", &["loss = +x", READ, "opt.step()", LOG, USE]),
        ("written into another", &["loss = torch.mean(x, out=y)", READ, "opt.step()", LOG, USE]),
        ("another float", &["float = int", MADE, "value = float(loss)  # here", LOG, USE]),
        ("called in the test", &["loss = criterion(x, y)", READ, "if opt.step():", USE]),
        ("in one line", &[MADE, READ, "if step: log(value)"]),
        ("two statements", &[MADE, "value = loss.item(); log(1)  # here", LOG, USE]),
        ("other arguments", &[MADE, "value = loss.item(0)  # here", LOG, USE]),
    ];
    for (why, lines) in rows {
        let text = function(lines);
        assert_eq!(moved(&text), None, "{why}:\n{text}");
    }
}

#[test]
fn other_places() {
    let rows = [
        ("the module", "loss = 1 - x\nvalue = loss.item()  # here\nif step:\n    log(value)\n"),
        (
            "a class",
            "class A:\n    loss = 1 - x\n    value = loss.item()  # here\n    if step:\n        log(value)\n",
        ),
        (
            "another F",
            "def F(): pass\ndef f(x):\n    loss = F.mse_loss(x)\n    value = loss.item()  # here\n    g()\n    if x:\n        log(value)\n",
        ),
        (
            "any name",
            "from x import *\ndef f(x):\n    loss = F.mse_loss(x)\n    value = loss.item()  # here\n    g()\n    if x:\n        log(value)\n",
        ),
        (
            "an if before",
            "def f(x):\n    loss = 1 - x\n    if x:\n        log(value)\n    value = loss.item()  # here\n",
        ),
        (
            "another suite",
            "def f(x):\n    if x:\n        loss = 1 - x\n        value = loss.item()  # here\n    if x:\n        log(value)\n",
        ),
        (
            "a continued header",
            "def f(x):\n    if x: \\\n        value = x.item()  # here\n    if x:\n        log(value)\n",
        ),
    ];
    for (why, text) in rows {
        assert_eq!(moved(&format!("{HEAD}{text}")), None, "{why}:\n{text}");
    }
    let broken = "def f(x):\n    value = x.item()\n    if x:\n        log(value)\n    (\n";
    assert_eq!(Module::parse(broken).move_read(broken, 2), None);
    assert_eq!(Module::parse("").move_read("", 7), None);
}
