//! The lines that cost most.

use ledger::{Evidence, Ledger};

use crate::place::Source;
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
}

/// The lines with most of the metric of `view`, at most `limit`: of your code, or of all where none is yours. `wanted`
/// takes a file's key and a recorded line.
#[must_use]
pub fn hot_lines(
    ledger: &Ledger,
    view: &View,
    limit: usize,
    wanted: impl Fn(&str, u32) -> bool,
) -> Vec<HotLine> {
    let scale = Scale::new(ledger, view);
    let is_own = |file: &str| ledger.files.get(file).is_some_and(|it| it.is_own);
    let any_own = ledger.files.values().any(|it| it.is_own);
    let mut lines: Vec<HotLine> = ledger
        .lines
        .iter()
        .filter(|(key, _)| (!any_own || is_own(&key.file)) && wanted(&key.file, key.line))
        .filter_map(|(key, books)| {
            let value = scale.value(scale.primary(), books).filter(|&value| 0.0 < value)?;
            Some(HotLine {
                file: key.file.clone(),
                line: key.line,
                function: books.function.clone(),
                evidence: books.evidence,
                value,
                text: scale.text(scale.primary(), value),
                share: scale.share(scale.primary(), value),
            })
        })
        .collect();
    lines.sort_by(|a, b| {
        b.value.total_cmp(&a.value).then_with(|| (&a.file, a.line).cmp(&(&b.file, b.line)))
    });
    lines.truncate(limit);
    lines
}

impl Source<'_> {
    /// All lines that something was recorded of: each as it is now, and as recorded.
    #[must_use]
    pub fn lines(&self) -> Vec<(u32, u32)> {
        self.placed().iter().map(|placed| (placed.line, placed.recorded)).collect()
    }

    /// Where a recorded line of this file is now: its line, and whether it was changed. `None` where it is gone.
    #[must_use]
    pub fn current(&self, recorded: u32) -> Option<(u32, bool)> {
        let placed = self.placed();
        placed.iter().find(|placed| placed.recorded == recorded).map(|it| (it.line, it.is_stale))
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
            let lines = hot_lines(&ledger, view, limit, |_, line| line != 12);
            lines.iter().map(|it| format!("{} {} {:.3}", it.line, it.text, it.share)).collect()
        };
        let view = View::default();
        assert_eq!(hot(&view, 3), ["11 11 ms 0.268", "4 6.3 ms 0.154", "6 1.5 ms 0.037"]);
        let wait = View { metric: Some(Metric::Wait), ..view.clone() };
        assert_eq!(hot(&wait, 9), ["5 4.8 ms 0.117"]);
        let total = View { metric: Some(Metric::Cpu), charge: Charge::Total, ..view };
        assert_eq!(hot(&total, 2), ["11 12 ms 0.293", "10 8 ms 0.195"]);
    }
}
