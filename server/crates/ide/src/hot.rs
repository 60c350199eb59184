//! The lines that cost most.

use ledger::{Evidence, Ledger, LineBooks, LineKey};

use crate::heat;
use crate::place::{Placed, Source, lines_of};
use crate::scale::Scale;
use crate::view::View;

/// A line that costs much.
#[derive(Debug, Clone, PartialEq)]
pub struct HotLine {
    /// Key of [`Ledger::files`].
    pub file: String,
    /// 1-based line in the text that ran.
    pub line: u32,
    /// The function that it is in.
    pub function: String,
    /// How it is known.
    pub evidence: Evidence,
    /// Nanoseconds or bytes, by the metric of the view.
    pub value: f64,
    /// `value` as text.
    pub text: String,
    /// The share (of 1) of the step, the recording, or the bytes.
    pub share: f64,
    /// From 0 to 1, perceptually even, by `share`.
    pub heat: f64,
}

/// The lines with most of the metric of `view`, at most `limit`. `wanted` takes a file's key and a recorded line; with
/// `own_only`, only lines of your code are wanted, unless no file is yours.
#[must_use]
pub fn hot_lines(
    ledger: &Ledger,
    view: &View,
    limit: usize,
    own_only: bool,
    wanted: impl Fn(&str, u32) -> bool,
) -> Vec<HotLine> {
    let scale = Scale::new(ledger, view);
    let quantity = scale.primary();
    let own_only = own_only && ledger.files.values().any(|it| it.is_own);
    // Most lines are of libraries.
    let files = ledger.files.iter().filter(|(_, file)| own_only && file.is_own);
    let own = files.flat_map(|(file, _)| lines_of(ledger, file));
    let all = ledger.lines.iter().filter(|_| !own_only);
    let mut lines: Vec<(&LineKey, &LineBooks, f64)> = own
        .chain(all)
        .filter(|(key, _)| wanted(&key.file, key.line))
        .filter_map(|(key, books)| {
            let value = scale.value(quantity, books).filter(|&value| 0.0 < value)?;
            Some((key, books, value))
        })
        .collect();
    lines.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(b.0)));
    let lines = lines.into_iter().take(limit).map(|(key, books, value)| {
        let share = scale.share(quantity, value);
        HotLine {
            file: key.file.clone(),
            line: key.line,
            function: books.function.clone(),
            evidence: books.evidence,
            value,
            text: quantity.text(value),
            share,
            heat: heat::of_share(share),
        }
    });
    lines.collect()
}

/// A recorded line that is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentLine {
    /// 1-based line in the text as it is now.
    pub line: u32,
    /// 1-based line in the text that ran.
    pub recorded: u32,
    /// Whether it was changed since.
    pub is_stale: bool,
}

impl Source<'_> {
    /// All lines that something was recorded of, as far as they are still there, in line order.
    #[must_use]
    pub fn lines(&self) -> Vec<CurrentLine> {
        let line = |placed: &Placed<'_>| CurrentLine {
            line: placed.line,
            recorded: placed.recorded,
            is_stale: placed.is_stale,
        };
        self.placed().iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TRAIN_BOOKS, ledger};
    use crate::view::{Charge, Metric};

    #[test]
    fn the_costliest_come_first() {
        let ledger = ledger(TRAIN_BOOKS);
        let hot = |view: &View, limit| -> Vec<String> {
            let lines = hot_lines(&ledger, view, limit, true, |_, line| line != 12);
            lines.iter().map(|it| format!("{} {} {:.3}", it.line, it.text, it.share)).collect()
        };
        let view = View::default();
        assert_eq!(hot(&view, 3), ["11 11 ms 0.268", "4 6.3 ms 0.154", "6 1.5 ms 0.037"]);
        let wait = View { metric: Some(Metric::Wait), ..view.clone() };
        assert_eq!(hot(&wait, 9), ["5 4.8 ms 0.117"]);
        let total = View { metric: Some(Metric::Cpu), charge: Charge::Total, ..view };
        assert_eq!(hot(&total, 2), ["11 12 ms 0.293", "10 8 ms 0.195"]);
    }

    #[test]
    fn libraries_only_if_they_are_asked_for() {
        let mut ledger = ledger("step 1 10ms\n1 cuda=1ms\n");
        let books = ledger.lines.values().next().unwrap().clone();
        let key = LineKey { file: "torch/relu.py".to_owned(), line: 9 };
        ledger.files.insert(key.file.clone(), ledger::SourceFile::default());
        ledger.lines.insert(key, books);
        let files = |ledger: &Ledger, own_only| -> Vec<String> {
            let lines = hot_lines(ledger, &View::default(), 9, own_only, |_, _| true);
            lines.into_iter().map(|it| it.file).collect()
        };
        assert_eq!(files(&ledger, true), ["train.py"]);
        assert_eq!(files(&ledger, false), ["torch/relu.py", "train.py"]);
        ledger.files.values_mut().for_each(|file| file.is_own = false);
        assert_eq!(files(&ledger, true).len(), 2, "no file is yours");
    }
}
