//! Of programs put together at random.

#![expect(clippy::disallowed_methods, reason = "the workloads are read from disk")]

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::*;

/// Lines for the body of a function: each brings what others use, or is about what they bring.
const LINES: [&str; 30] = [
    "opt = Adam(model.parameters(), lr=1e-3, foreach=False)",
    "opt = torch.optim.SGD(model.parameters(), 0.1, fused=False,)",
    "opt = Adam(\n        model.parameters(),  # all\n        foreach=False\n    )",
    "self.opt = Adam(model.parameters())",
    "model = Net().cuda()",
    "data = TensorDataset(torch.ones(3))",
    "loader = DataLoader(data, batch_size=8)",
    "loader = DataLoader(\n        data,\n        pin_memory=True,\n    )",
    "batches = iter(loader)",
    "losses = []",
    "for x, y in loader:",
    "for i, batch in enumerate(loader):",
    "while step:",
    "if step % 10 == 0:",
    "try:",
    "x, y = batch",
    "x = x.to(device)",
    "x, y = x.to(device), y.cuda()",
    "x = batch['x'].pin_memory().to(device)",
    "batch = next(batches)",
    "loss = F.mse_loss(x, y)",
    "value = loss.item()",
    "value = float(loss)  # é",
    "losses.append(loss.item())",
    "opt.zero_grad(set_to_none=False)",
    "opt.zero_grad(); loss.backward(); opt.step()",
    "opt.step()",
    "self.opt.step(\n        closure\n    )",
    "log(value)",
    "log(sum(losses))",
];

/// A loop whose last loss is used after it.
const LOOP: [(usize, usize); 5] = [(10, 3), (20, 0), (21, 0), (26, 0), (28, 1)];

/// A loss that is used now and then.
const LOG: [(usize, usize); 4] = [(20, 3), (21, 0), (13, 0), (28, 0)];

/// Losses that are collected.
const COLLECT: [(usize, usize); 5] = [(9, 3), (10, 0), (20, 0), (23, 0), (29, 1)];

/// A function with these lines, each followed by what is one deeper or as deep as it allows.
fn program(rows: &[(usize, usize)], line_end: &str) -> String {
    let mut text = "import torch\nimport torch.nn.functional as F\nfrom torch.optim import Adam\n\
                    from torch.utils.data import DataLoader, TensorDataset\n\
                    class T:\n  def f(self, step, model):\n"
        .to_owned();
    let mut open: Vec<&str> = Vec::new();
    let mut is_empty = true;
    let close = |text: &mut String, open: &mut Vec<&str>| {
        if open.pop() == Some("try:") {
            *text += &format!("{}finally: pass\n", "    ".repeat(open.len() + 1));
        }
    };
    for &(row, leave) in rows {
        for _ in 0..leave.min(if is_empty { 0 } else { open.len() }) {
            close(&mut text, &mut open);
        }
        let line = LINES[row];
        text += &format!("{}{line}\n", "    ".repeat(open.len() + 1));
        is_empty = line.ends_with(':');
        if is_empty {
            open.push(line);
        }
    }
    if is_empty {
        text += &format!("{}pass\n", "    ".repeat(open.len() + 1));
    }
    while !open.is_empty() {
        close(&mut text, &mut open);
    }
    text.replace('\n', line_end)
}

#[test]
fn every_edit_parses_and_is_offered_once() {
    let strategy = (
        prop::collection::vec((0..LINES.len(), 0..3_usize), 1..24),
        prop_oneof![Just("\n"), Just("\r\n")],
        prop_oneof![Just(None), Just(Some((1, 13))), Just(Some((2, 11)))],
        any::<bool>(),
        prop_oneof![Just(&[][..]), Just(&LOOP[..]), Just(&LOG[..]), Just(&COLLECT[..])],
    );
    let seen = RefCell::new(BTreeSet::new());
    let config = ProptestConfig { cases: 300, ..ProptestConfig::default() };
    let check = |(rows, line_end, torch, is_on_device, end): (Vec<_>, _, _, _, _)| {
        let rows = [&rows[..], end].concat();
        let text = program(&rows, line_end);
        prop_assert!(!Module::parse(&text).has_errors(), "{text}");
        check_all(&text, Recorded { torch, is_on_device }, &mut seen.borrow_mut());
        Ok(())
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng).run(&strategy, check).unwrap();
    let all = [
        "AfterLoop",
        "Collected",
        "Foreach",
        "Fused",
        "If",
        "NonBlocking",
        "PinMemory",
        "SetToNone",
        "Workers",
    ];
    assert_eq!(seen.into_inner().into_iter().collect::<Vec<_>>(), all, "all kinds were offered");
}

#[test]
fn edits_of_all_workloads() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/workloads");
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "py") {
            let text = std::fs::read_to_string(&path).unwrap();
            for torch in [None, Some((1, 13)), Some((2, 11))] {
                for is_on_device in [false, true] {
                    check_all(&text, Recorded { torch, is_on_device }, &mut seen);
                }
            }
        }
    }
    assert!(seen.contains("Foreach"), "{seen:?}");
}

/// Looks at every line with every goal, and for reads that can be moved.
fn check_all(text: &str, recorded: Recorded, seen: &mut BTreeSet<String>) {
    let module = Module::parse(text);
    let lines = LineIndex::new(text);
    for line in 1..=lines.n_lines() {
        let start = lines.line_range(line).map_or(0, |it| it.start);
        let goals = [
            Goal::Optimizer,
            Goal::ZeroGrad,
            Goal::Collected,
            Goal::HostToDevice,
            Goal::DataLoader,
        ];
        for goal in goals {
            for change in module.changes(text, line, goal, recorded) {
                let what = format!("{:?}", change.what);
                seen.insert(what.split('(').next().unwrap_or_default().to_owned());
                let after = change.apply(text);
                let before = change.replacements.iter().filter(|it| it.range.end <= start);
                let added: usize = before.map(|it| it.text.matches('\n').count()).sum();
                let again = Module::parse(&after);
                assert!(!again.has_errors(), "{after}");
                let offered = again.changes(&after, line + added as u32, goal, recorded);
                assert_eq!(
                    offered,
                    [],
                    "{change:?} of line {line}:\n{text}\nis offered again:\n{after}"
                );
            }
        }
        if let Some(found) = module.move_read(text, line) {
            let to = format!("{:?}", found.to);
            seen.insert(to.split('(').next().unwrap_or_default().to_owned());
            let after = found.apply(text);
            let again = Module::parse(&after);
            assert!(!again.has_errors(), "{after}");
            // The read is a line further down for each that it was moved over.
            let mut reads = (1..=lines.n_lines()).filter_map(|it| again.move_read(&after, it));
            assert!(reads.all(|it| it.apply(&after) != *text), "back and forth:\n{text}\n{after}");
            let n = |text: &str| text.lines().count();
            assert_eq!(n(&after), n(text), "a line was moved:\n{text}\n{after}");
        }
    }
}
