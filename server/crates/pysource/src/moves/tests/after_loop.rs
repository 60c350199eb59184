//! After the loop.

use super::*;

const LOOP: &str = "for x, y in log:";
const MADE: &str = "    loss = F.mse_loss(x, y)";
const READ: &str = "    value = loss.item()  # here";
const STEP: &str = "    loss.backward(); opt.step()";
const USE: &str = "log(value)";

#[test]
fn what_is_used_after_the_loop_alone() {
    let rows: [(&[&str], &str); 12] = [
        (&[LOOP, MADE, READ, STEP, USE], USE),
        (&[LOOP, MADE, STEP, READ, USE], USE),
        (&["while x:", MADE, READ, STEP, "return value"], "return value"),
        (&[LOOP, MADE, READ, STEP, "z = value / 2", USE], "z = value"),
        (
            &[LOOP, MADE, READ, STEP, "z = 1", "", "# Best?", "if value < z:", "    pass"],
            "if value",
        ),
        (&[LOOP, MADE, "    value = float(loss)  # here", STEP, USE], USE),
        (&[LOOP, "    loss = (x - y).abs().mean()", READ, STEP, USE], USE),
        (&["mse = nn.MSELoss()", LOOP, "    loss = mse(x, y)", READ, STEP, USE], USE),
        (&[LOOP, MADE, READ, "    if x: break", USE], USE),
        (&[LOOP, "    if x: continue", MADE, READ, STEP, USE], USE),
        (&[LOOP, MADE, "    (loss / 2).backward()", READ, "else:", "    z = 1", USE], USE),
        (&[LOOP, MADE, READ, STEP, "if step: return", USE, "log(value, value)"], USE),
    ];
    for (lines, at) in rows {
        let text = function(lines);
        let after = moved(&text).unwrap_or_else(|| panic!("not offered:\n{text}"));
        let value = text.lines().find(|it| it.contains("# here")).unwrap();
        let without = text.replacen(&format!("{value}\n"), "", 1);
        let expected = without.replacen(at, &format!("{}\n    {at}", value.trim()), 1);
        assert_eq!(after, expected);
    }
    let epochs = function(&[
        "for epoch in y:",
        "    for x in log:",
        "        loss = F.mse_loss(x, y)",
        "        value = loss.item()  # here",
        "        opt.step()",
        "    log(value)",
    ]);
    let after = moved(&epochs).unwrap();
    assert!(
        after.ends_with("opt.step()\n        value = loss.item()  # here\n        log(value)\n"),
        "{after}"
    );
    let module = Module::parse(&epochs);
    assert_eq!(module.move_read(&epochs, 9).map(|it| it.to), Some(Destination::AfterLoop));
}

#[test]
fn where_it_may_not_be_the_same() {
    let rows: [(&str, &[&str]); 28] = [
        ("used in the loop", &[LOOP, MADE, READ, "    log(value)", USE]),
        ("used in the loop before", &[LOOP, "    if x: log(value)", MADE, READ, USE]),
        ("used nowhere", &[LOOP, MADE, READ, "log(step)"]),
        ("used in a branch", &[LOOP, MADE, READ, "if step:", "    log(value)"]),
        ("used in a loop", &[LOOP, MADE, READ, "for z in y:", "    log(value)"]),
        ("used in another loop", &[LOOP, MADE, READ, "while value:", "    pass"]),
        ("used by choice", &[LOOP, MADE, READ, "log(value if step else 0)"]),
        ("used by another choice", &[LOOP, MADE, READ, "log(step and value)"]),
        ("used in a chain", &[LOOP, MADE, READ, "log(1 < step < value)"]),
        ("used in a closure", &[LOOP, MADE, READ, "log(lambda: value)"]),
        ("bound before", &["value = 0", LOOP, MADE, READ, USE]),
        ("bound after", &[LOOP, MADE, READ, USE, "value = 1"]),
        ("deleted", &[LOOP, MADE, READ, USE, "del value"]),
        ("a parameter", &[LOOP, MADE, "    step = loss.item()  # here", "log(step)"]),
        ("global", &["global value", LOOP, MADE, READ, USE]),
        ("seen by locals", &[LOOP, MADE, READ, USE, "log(locals())"]),
        ("made before the loop", &["loss = F.mse_loss(x, y)", LOOP, READ, USE]),
        ("made in a branch", &[LOOP, "    if x:", "        loss = F.mse_loss(x, y)", READ, USE]),
        ("made twice", &[LOOP, MADE, READ, MADE, USE]),
        ("made again after", &[LOOP, MADE, READ, "loss = 1 - x", USE]),
        ("not read in each pass", &[LOOP, MADE, "    if x: continue", READ, USE]),
        ("of unknown origin", &[LOOP, "    loss = criterion(x, y)", READ, USE]),
        ("changed in place", &[LOOP, MADE, READ, "    loss.mul_(2)", USE]),
        ("added to", &[LOOP, MADE, READ, "    loss += 1", USE]),
        ("handed on", &[LOOP, MADE, READ, "    log(loss)", USE]),
        ("handed on after", &[LOOP, MADE, READ, USE, "log(loss)"]),
        ("seen by a closure", &[LOOP, MADE, READ, "    log(lambda: loss)", USE]),
        (
            "tried",
            &[
                "try:",
                "    for x in y:",
                "        loss = F.mse_loss(x, y)",
                "        value = loss.item()  # here",
                "    log(value)",
                "except ValueError: pass",
            ],
        ),
    ];
    for (why, lines) in rows {
        let text = function(lines);
        assert_eq!(moved(&text), None, "{why}:\n{text}");
    }
    let nested = "def f(log):\n    for x in log:\n        if x:\n            loss = 1 - x\n            value = loss.item()  # here\n    log(value)\n";
    assert_eq!(moved(nested), None, "not in the body itself");
    let other = "def f(log):\n    if log:\n        for x in log:\n            loss = 1 - x\n            value = loss.item()  # here\n    log(value)\n";
    assert_eq!(moved(other), None, "used outside of the statements around the loop");
    let short = "def f(log):\n    for x in log:\n        loss = 1 - x\n        value = loss.item()  # here\n    log(1); log(value)\n";
    assert_eq!(moved(short), None, "no line of its own");
}
