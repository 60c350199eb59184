//! Whole stacks against the ledger of the same recording.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{Ledger, LineKey, Metric, Reason};
use stack_books::{StackBooks, StackFrame, StackRow};

/// Where the sums over stacks are not those of the ledger: of each metric, of each reason why something has no line, and of
/// each line self, own and total. Sums by line may differ by `rounding`.
pub(crate) fn differences(ledger: &Ledger, books: &StackBooks, rounding: u64) -> String {
    let mut text = String::new();
    let folded = books.of_user_code();
    for metric in StackBooks::METRICS {
        let id = metric.id();
        let mut holds_to = |rounding, what: &dyn Fn() -> String, stacks: i64, expected: i64| {
            if rounding < stacks.abs_diff(expected) {
                text += &format!("{}: stacks have {stacks}, the ledger {expected}\n", what());
            }
        };
        let mut holds = |what: &dyn Fn() -> String, stacks, expected| {
            holds_to(0, what, stacks, expected);
        };
        holds(&|| format!("total {id}"), books.total(metric), ledger.totals.get(metric));
        holds(&|| format!("total {id} of user code"), folded.total(metric), books.total(metric));
        let (whole, user) = (Sums::new(books, metric), Sums::new(&folded, metric));
        let reasons: BTreeSet<Reason> = ledger
            .unattributed
            .iter()
            .map(|it| it.0)
            .chain(whole.reasons.keys().copied())
            .collect();
        for reason in reasons {
            let expected = ledger.unattributed.iter().find(|it| it.0 == reason);
            let expected = expected.map_or(0, |(_, it)| it.get(metric));
            let amount = |sums: &Sums| sums.reasons.get(&reason).copied().unwrap_or(0);
            holds(&|| format!("{id} of {}", reason.name()), amount(&whole), expected);
            holds(&|| format!("{id} of {} in user code", reason.name()), amount(&user), expected);
        }
        let lines = ledger.lines.keys().chain(whole.own.keys()).chain(user.own.keys());
        for key in lines.collect::<BTreeSet<_>>() {
            let mut holds = |what: &dyn Fn() -> String, stacks, expected| {
                holds_to(rounding, what, stacks, expected);
            };
            let blank = ledger::LineBooks::default();
            let line = ledger.lines.get(key).map_or(&blank, |it| &**it);
            let of = |what: &str| format!("{id} {what} of {}:{}", key.file, key.line);
            let amount = |sums: &BTreeMap<LineKey, i64>| sums.get(key).copied().unwrap_or(0);
            holds(&|| of("own"), amount(&user.own), line.own(metric));
            let more = match metric {
                Metric::Cpu => (line.cpu_self, line.cpu_total),
                Metric::Cuda => (line.cuda_self, line.cuda_total),
                _ => continue,
            };
            holds(&|| of("self"), amount(&whole.own), more.0.0);
            holds(&|| of("total"), amount(&whole.inclusive), more.1.0);
        }
    }
    text
}

/// The amounts of one metric by what stacks hold.
struct Sums {
    /// By the reason that stands for the line.
    reasons: BTreeMap<Reason, i64>,
    /// By the innermost line.
    own: BTreeMap<LineKey, i64>,
    /// By every line, however often it is on a stack.
    inclusive: BTreeMap<LineKey, i64>,
}

impl Sums {
    fn new(books: &StackBooks, metric: Metric) -> Self {
        let mut sums =
            Self { reasons: BTreeMap::new(), own: BTreeMap::new(), inclusive: BTreeMap::new() };
        let frames: Vec<&StackFrame> = books.frames().map(|(frame, _)| frame).collect();
        for stack in books.stacks().chain([StackRow::ROOT]) {
            let amount = books.amount(metric, stack);
            if amount == 0 {
                continue;
            }
            let entries = books.entries(stack);
            let lines = entries.iter().filter_map(|it| match frames[it.index()] {
                StackFrame::Line(line) => Some(&line.key),
                _ => None,
            });
            if let Some(line) = lines.clone().next_back() {
                *sums.own.entry(line.clone()).or_default() += amount;
            }
            for line in lines.collect::<BTreeSet<_>>() {
                *sums.inclusive.entry(line.clone()).or_default() += amount;
            }
            if let Some(StackFrame::NoLine(reason)) = entries.first().map(|it| frames[it.index()]) {
                *sums.reasons.entry(*reason).or_default() += amount;
            }
        }
        sums
    }
}
