//! A new argument is written as the others are.

use super::*;

/// The call with `foreach=True` after its other arguments.
fn with_foreach(call: &str) -> Option<String> {
    let head = "from torch.optim import Adam\ndef f(p, q, parser):\n    ";
    let text = format!("{head}opt = {call}\n    opt.step()  # here\n");
    let found = offered(&text, Goal::Optimizer, recorded(1, 13));
    let [(What::Foreach, after)] = &found[..] else { return None };
    let after = after.strip_prefix(head).unwrap().strip_prefix("opt = ").unwrap();
    Some(after.strip_suffix("\n    opt.step()  # here\n").unwrap().to_owned())
}

#[test]
fn as_the_others() {
    let rows = [
        ("Adam(p)", "Adam(p, foreach=True)"),
        ("Adam(p, lr=1e-3)", "Adam(p, lr=1e-3, foreach=True)"),
        ("Adam(p, lr=1e-3, )", "Adam(p, lr=1e-3, foreach=True )"),
        ("Adam((p))", "Adam((p), foreach=True)"),
        ("Adam(p  # note\n    )", "Adam(p, foreach=True  # note\n    )"),
        ("Adam(p,\n         lr=1e-3)", "Adam(p,\n         lr=1e-3, foreach=True)"),
        ("Adam(p,\n         lr=1e-3,)", "Adam(p,\n         lr=1e-3, foreach=True)"),
        (
            "Adam(\n        p,\n        lr=1e-3,\n    )",
            "Adam(\n        p,\n        lr=1e-3,\n        foreach=True,\n    )",
        ),
        (
            "Adam(\n        p,\n        lr=1e-3\n    )",
            "Adam(\n        p,\n        lr=1e-3,\n        foreach=True\n    )",
        ),
        (
            "Adam(\n        p,  # all\n        lr=1e-3,  # as in the paper\n        # eps?\n    )",
            "Adam(\n        p,  # all\n        lr=1e-3,  # as in the paper\n        foreach=True,\n        # eps?\n    )",
        ),
        (
            "Adam(\n        p,\n        lr=1e-3  # é, as in the paper\n    )",
            "Adam(\n        p,\n        lr=1e-3,  # é, as in the paper\n        foreach=True\n    )",
        ),
        ("Adam(\n        p, lr=1e-3,\n    )", "Adam(\n        p, lr=1e-3, foreach=True,\n    )"),
        ("Adam(\n        p, lr=1e-3\n    )", "Adam(\n        p, lr=1e-3, foreach=True\n    )"),
        (
            "Adam([\n        {'params': p},\n        {'params': q},\n    ], lr=1e-3)",
            "Adam([\n        {'params': p},\n        {'params': q},\n    ], lr=1e-3, foreach=True)",
        ),
        (
            "Adam(\n        [\n            p,\n        ],\n    )",
            "Adam(\n        [\n            p,\n        ],\n        foreach=True,\n    )",
        ),
        ("Adam((i for i in p))", "Adam((i for i in p), foreach=True)"),
        ("(Adam(p))", "(Adam(p, foreach=True))"),
    ];
    for (before, after) in rows {
        assert_eq!(with_foreach(before).as_deref(), Some(after));
        let windows = with_foreach(&before.replace('\n', "\r\n"));
        assert_eq!(windows, Some(after.replace('\n', "\r\n")), "the ends of lines are kept");
    }
    assert_eq!(with_foreach("Adam(i for i in p)"), None, "takes no other argument");
}
