//! `losses.append(loss.item())`.

use super::*;

/// A function with these lines.
fn function(lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    format!("import torch.nn.functional as F\ndef f(x, y, log, step, opt):\n{lines}")
}

const LIST: &str = "losses = []";
const LOOP: &str = "for x, y in log:";
const MADE: &str = "    loss = F.mse_loss(x, y)";
const READ: &str = "    losses.append(loss.item())  # here";
const STEP: &str = "    loss.backward(); opt.step()";
const USE: &str = "log(sum(losses))";

#[test]
fn numbers_that_are_used_after_the_loop() {
    let rows: [&[&str]; 12] = [
        &[LIST, LOOP, MADE, READ, STEP, USE],
        &[LIST, LOOP, MADE, STEP, READ, "", "# Mean.", USE],
        &[LIST, LOOP, MADE, STEP, READ, "return losses"],
        &[LIST, LOOP, MADE, STEP, READ, "if step:", "    log(losses)"],
        &[LIST, "n = 0", LOOP, "    n += 1", MADE, READ, STEP, USE, "log(max(losses), n)"],
        &[LIST, "while step:", MADE, READ, STEP, USE],
        &[LIST, LOOP, MADE, READ, "    if x: break", "else:", "    log(1)", USE],
        &[LIST, LOOP, "    if x: continue", MADE, READ, STEP, USE],
        &[LIST, LOOP, "    loss = (x - y).abs().mean()", READ, USE],
        &[LIST, LOOP, MADE, READ, "    scaled = loss / 2", "    scaled.backward()", USE],
        &[
            "with opt:",
            "    losses = []",
            "    for x in y:",
            "        loss = 1 - x",
            "        losses.append(loss.item())  # here",
            "    log(losses)",
        ],
        &[
            "for epoch in y:",
            "    losses = []",
            "    for x in y:",
            "        loss = 1 - x",
            "        losses.append(loss.item())  # here",
            "    log(losses)",
        ],
    ];
    for lines in rows {
        let text = function(lines);
        let [(What::Collected, after)] = &offered(&text, Goal::Collected, UNKNOWN)[..] else {
            panic!("not offered:\n{text}");
        };
        let written: Vec<&str> = after.lines().filter(|it| !text.contains(*it)).collect();
        let [detached, read] = written[..] else { panic!("{after}") };
        assert_eq!(detached.trim(), "losses.append(loss.detach())  # here");
        assert_eq!(read.trim(), "losses = [it.item() for it in losses]");
        let at = |text: &str, what: &str| text.find(what).unwrap();
        let next = text.lines().rev().find(|it| it.contains("losses")).unwrap();
        assert!(at(after, read) < at(after, next), "{after}");
        let windows = offered(&text.replace('\n', "\r\n"), Goal::Collected, UNKNOWN);
        assert_eq!(windows, [(What::Collected, after.replace('\n', "\r\n"))]);
    }
}

#[test]
fn nothing() {
    let rows: [(&str, &[&str]); 24] = [
        ("used in the loop", &[LIST, LOOP, MADE, READ, "    log(losses)", USE]),
        ("used in the loop, before", &[LIST, LOOP, "    log(losses)", MADE, READ, USE]),
        ("used before", &[LIST, "keep(losses)", LOOP, MADE, READ, USE]),
        ("never used", &[LIST, LOOP, MADE, READ]),
        ("used in a closure", &[LIST, LOOP, MADE, READ, "log(lambda: losses)"]),
        ("not made here", &[LOOP, MADE, "    opt.append(loss.item())  # here", USE]),
        ("not empty", &["losses = [1]", LOOP, MADE, READ, USE]),
        ("made by a call", &["losses = list()", LOOP, MADE, READ, USE]),
        ("known by two names", &["losses = a = []", LOOP, MADE, READ, USE]),
        ("made twice", &[LIST, LIST, LOOP, MADE, READ, USE]),
        ("made again after", &[LIST, LOOP, MADE, READ, USE, LIST]),
        ("made in the loop", &[LOOP, "    losses = []", MADE, READ, USE]),
        ("global", &["global losses", LIST, LOOP, MADE, READ, USE]),
        ("seen by locals", &[LIST, LOOP, MADE, READ, USE, "log(locals())"]),
        ("filled twice", &[LIST, LOOP, MADE, "    losses.append(1)", READ, USE]),
        ("filled by others", &[LIST, LOOP, MADE, READ, "    losses += [1]", USE]),
        ("of unknown origin", &[LIST, LOOP, "    loss = opt(x)", READ, USE]),
        ("not made in the loop", &[LIST, "loss = 1 - x", LOOP, READ, USE]),
        ("changed in place", &[LIST, LOOP, MADE, READ, "    loss.zero_()", USE]),
        ("handed on", &[LIST, LOOP, MADE, READ, "    log(loss)", USE]),
        (
            "in a branch",
            &[LIST, LOOP, MADE, "    if x:", "        losses.append(loss.item())  # here", USE],
        ),
        ("another method", &[LIST, LOOP, MADE, "    losses.insert(loss.item())  # here", USE]),
        (
            "of an expression",
            &[LIST, LOOP, MADE, "    losses.append(loss.item() * 2)  # here", USE],
        ),
        ("of no item", &[LIST, LOOP, MADE, "    losses.append(loss.item)  # here", USE]),
    ];
    for (why, lines) in rows {
        let text = function(lines);
        assert_eq!(offered(&text, Goal::Collected, UNKNOWN), [], "{why}:\n{text}");
    }
    let tried = "def f(log):\n    losses = []\n    try:\n        for x in log:\n            loss = 1 - x\n            losses.append(loss.item())  # here\n    finally:\n        log(losses)\n";
    assert_eq!(offered(tried, Goal::Collected, UNKNOWN), [], "tried");
    let short = "def f(log):\n    losses = []\n    for x in log:\n        loss = 1 - x\n        losses.append(loss.item())  # here\nlosses = f(1)\n";
    assert_eq!(offered(short, Goal::Collected, UNKNOWN), [], "nothing follows");
    let module = "losses = []\nfor x in log:\n    loss = 1 - x\n    losses.append(loss.item())  # here\nlog(losses)\n";
    assert_eq!(
        offered(module, Goal::Collected, UNKNOWN),
        [],
        "of a module, whose names others see"
    );
}
