use ledger::Ns;

use super::*;
use crate::View;
use crate::testing::{Fixture, check_text};

/// What can be done on a line: titles, each with the text afterwards.
fn shown(text: &str, line: u32) -> String {
    let fixture = Fixture::new(text, "step 1 10ms\n3 fn=f wait=4.8ms waits=10\n");
    let source = fixture.source();
    let findings = View::default().findings(source.ledger);
    let actions = actions(&source, &findings, &(line..=line));
    let shown = actions.iter().map(|action| {
        let mut text = text.to_owned();
        for edit in action.edits.iter().rev() {
            text.replace_range(edit.start..edit.end, &edit.text);
        }
        let module = pysource::Module::parse(&text);
        assert!(!module.has_errors(), "{text}");
        assert!(action.is_fix || module.directives(3).next().is_some(), "{text}");
        format!("{}\n{text}", action.title)
    });
    shown.collect()
}

#[test]
fn a_fix_comes_first() {
    let text = "\
def f(a, step):
    loss = 1 - a
    value = loss.item()
    if step % 10 == 0:
        log(value)
";
    check_text(
        &shown(text, 3),
        "
        Move `.item()` into `if step % 10 == 0`: saves up to 4.8 ms of waiting per step
        def f(a, step):
            loss = 1 - a
            if step % 10 == 0:
                value = loss.item()
                log(value)
        Ignore `sync` on this line
        def f(a, step):
            loss = 1 - a
            value = loss.item()  # perfline: ignore[sync]
            if step % 10 == 0:
                log(value)
        ",
    );
}

#[test]
fn comments_are_kept_and_lists_extended() {
    let rows = [
        ("a.item()", "a.item()  # perfline: ignore[sync]"),
        ("a.item()  ", "a.item()  # perfline: ignore[sync]  "),
        ("a.item()  # note", "a.item()  # note  # perfline: ignore[sync]"),
        ("a.item()  # perfline: ignore[b]", "a.item()  # perfline: ignore[b, sync]"),
        ("a.item()  # perfline: ignore[]", "a.item()  # perfline: ignore[sync]"),
        ("a()  # é #perfline:ignore [b ] x", "a()  # é #perfline:ignore [b, sync ] x"),
        (
            "a('# perfline: ignore[b]')  # perfline: ignore[b]",
            "a('# perfline: ignore[b]')  # perfline: ignore[b, sync]",
        ),
        ("a('# perfline: ignore[b]')", "a('# perfline: ignore[b]')  # perfline: ignore[sync]"),
        ("a.item( \\\n  )", "a.item( \\\n  )  # perfline: ignore[sync]"),
        ("a.item('''\n''')", "a.item('''\n''')  # perfline: ignore[sync]"),
        ("a.item(\n  )", "a.item(  # perfline: ignore[sync]\n  )"),
    ];
    for (before, after) in rows {
        let text = |line: &str| format!("def f(a):\n    pass\n    {line}\n    b()\n");
        let expected = format!("Ignore `sync` on this line\n{}", text(after));
        assert_eq!(shown(&text(before), 3), expected);
    }
}

#[test]
fn only_where_there_is_a_finding() {
    let text = "def f(a):\n    pass\n    a.item()\n    b()\n";
    assert_eq!(shown(text, 2), "");
    assert_eq!(shown(text, 4), "");
    assert_eq!(shown(&text.replace("item()", "item()  # perfline: ignore"), 3), "");
}

/// What can be done on a line about a finding of a rule on line `of`: titles, `*` for what is preferred.
fn titles(
    text: &str,
    rule: &'static str,
    torch: Option<(u32, u32)>,
    of: u32,
    line: u32,
) -> Vec<String> {
    let books = format!("step 1 10ms\n{of} fn=f wait=4.8ms waits=10 cuda=1ms\n");
    let mut fixture = Fixture::new(text, &books);
    fixture.ledger.torch.extend(torch);
    let source = fixture.source();
    let mut findings = View::default().findings(source.ledger);
    findings.retain(|it| it.rule == "sync");
    findings[0].rule = rule;
    let actions = actions(&source, &findings, &(line..=line));
    let shown = actions.into_iter().map(|it| {
        assert!(it.edits.iter().all(|edit| text.is_char_boundary(edit.start)));
        format!("{}{}", if it.is_preferred { "* " } else { "" }, it.title)
    });
    shown.filter(|it| !it.starts_with("Ignore")).collect()
}

#[test]
fn arguments_with_what_they_save() {
    let optimizer = "\
from torch.optim import Adam
model = Net().cuda()
opt = Adam(
    model.parameters(),
    foreach=False,
)
for x in y:
    opt.zero_grad(set_to_none=False)
    opt.step()
";
    let foreach = "* Set `foreach=True` on line 3: saves up to 4.8 ms per step";
    let fused = "Set `fused=True` on line 3: saves up to 4.8 ms per step (all parameters have to be floating point)";
    let of = "optimizer-single-tensor";
    for line in [9, 3, 5, 6] {
        assert_eq!(titles(optimizer, of, Some((2, 11)), 9, line), [foreach, fused], "{line}");
    }
    assert_eq!(titles(optimizer, of, None, 9, 9), [foreach]);
    assert_eq!(titles(optimizer, of, Some((2, 11)), 9, 2), [""; 0]);
    assert_eq!(
        titles(optimizer, "zero-grad", None, 8, 8),
        [
            "Set `set_to_none=True`: saves up to 4.8 ms per step (parameters without a gradient are then skipped)"
        ]
    );
    let loader = "\
import torch; from torch.utils.data import DataLoader, TensorDataset
def main(data):
    loader = DataLoader(TensorDataset(torch.ones(3)))
    for (x,) in loader:
        x = x.to(device)
";
    let workers = "Try `num_workers=4` on line 3: saves up to 4.8 ms per step (the data set is pickled where processes are spawned)";
    assert_eq!(titles(loader, "dataloader", None, 4, 3), [workers]);
    let pin = "Set `pin_memory=True` on line 3 and copy with `non_blocking=True`: saves up to 4.8 ms per step";
    assert_eq!(titles(loader, "h2d-copy", None, 5, 5), [pin]);
    let pinned = loader.replace("ones(3))", "ones(3)), pin_memory=True");
    assert_eq!(
        titles(&pinned, "sync", None, 5, 5),
        ["* Copy with `non_blocking=True`: saves up to 4.8 ms of waiting per step"]
    );
    let collected = "\
def f(x, y, log):
    losses = []
    for z in x:
        loss = z - y
        losses.append(loss.item())
    log(losses)
";
    assert_eq!(
        titles(collected, "sync", None, 5, 5),
        [
            "Collect tensors, and read them after the loop: saves up to 4.8 ms of waiting per step (a small tensor of each pass stays)"
        ]
    );
    let after = collected.replace("losses.append(loss.item())", "value = loss.item()");
    let after = after.replace("log(losses)", "log(value)");
    assert_eq!(
        titles(&after, "sync", None, 5, 5),
        ["* Move `.item()` after the loop: saves up to 4.8 ms of waiting per step"]
    );
    assert_eq!(titles(optimizer, "hot-loop", None, 9, 9), [""; 0]);
}

#[test]
fn the_same_change_for_two_findings_is_reported_once() {
    let text = "def f(x):\n    pass\n    y = x.pin_memory().cuda()\n";
    let fixture = Fixture::new(text, "step 1 10ms\n3 fn=f wait=4.8ms waits=10\n");
    let source = fixture.source();
    let mut findings = View::default().findings(source.ledger);
    findings.retain(|it| it.rule == "sync");
    let mut other = findings[0].clone();
    (other.rule, other.cost_per_step) = ("h2d-copy", Some(Ns(1_000_000)));
    findings.push(other);
    let actions = actions(&source, &findings, &(3..=3));
    let titles: Vec<&str> = actions.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Copy with `non_blocking=True`: saves up to 4.8 ms of waiting per step",
            "Ignore `sync` on this line",
            "Ignore `h2d-copy` on this line",
        ]
    );
}
