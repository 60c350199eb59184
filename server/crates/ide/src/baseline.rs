//! What the lines of a recording cost in another one, its baseline.

use std::collections::HashMap;

use comparison::{AmountDifference, Difference};
use ledger::LineKey;

/// What lines cost in a baseline, beside the recording that is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baseline {
    name: String,
    lines: HashMap<LineKey, Vec<AmountDifference>>,
}

impl Baseline {
    /// From the comparison of a baseline, called `name`, with what is shown.
    #[must_use]
    pub fn new(name: String, difference: &Difference) -> Self {
        let mut lines: HashMap<LineKey, Vec<AmountDifference>> = HashMap::new();
        for line in &difference.lines {
            if let Some(key) = &line.new {
                lines.entry(key.clone()).or_default().extend(line.amounts.iter().copied());
            }
        }
        Self { name, lines }
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What is compared of a line.
    pub(crate) fn amounts(&self, line: &LineKey) -> &[AmountDifference] {
        self.lines.get(line).map_or(&[], Vec::as_slice)
    }
}

/// What a line costs in the baseline, and by how much that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineDifference {
    /// Nanoseconds or bytes in the baseline.
    pub base: f64,
    /// The same as text.
    pub base_text: String,
    /// What is more now; negative where it is less.
    pub delta: f64,
    /// The same as text, with its sign.
    pub delta_text: String,
    /// Whether the difference exceeds the noise; `None` where steps are too few to say.
    pub is_significant: Option<bool>,
}

impl BaselineDifference {
    pub(crate) fn new(amount: &AmountDifference) -> Self {
        let delta = amount.delta();
        Self {
            base: amount.base,
            base_text: amount.quantity.text(amount.base),
            delta,
            delta_text: format!("{}{}", sign(delta), amount.quantity.text(delta.abs())),
            is_significant: amount.significant,
        }
    }

    /// The difference behind a number of the same kind: ` (−1.2)`, with its unit where that is another one. Nothing where it does
    /// not exceed the noise.
    pub(crate) fn behind(&self, text: &str) -> String {
        if self.is_significant != Some(true) {
            return String::new();
        }
        let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
        match (self.delta_text.rsplit_once(' '), unit(text)) {
            (Some((number, of_delta)), Some(unit)) if of_delta == unit => format!(" ({number})"),
            _ => format!(" ({})", self.delta_text),
        }
    }
}

/// What stands before a difference.
pub(crate) fn sign(delta: f64) -> &'static str {
    if delta < 0.0 { "−" } else { "+" }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use comparison::ComparedRun;
    use ledger::Ledger;
    use metrics::Quantity;

    use super::*;
    use crate::testing::{Fixture, ledger};
    use crate::view::{View, ViewMetric};
    use crate::{RunKnowledge, hints, hot_lines, hover};

    const TEXT: &str = "a()\nb()\nc()\n";

    /// Eight steps of 10 ms, with `times` in milliseconds on lines 1 to 3 in each.
    fn books(times: [f64; 3]) -> String {
        let mut books = String::new();
        for step in 1..=8 {
            books += &format!("step {step} 10ms\n");
        }
        for (line, time) in (1..).zip(times) {
            books += &format!("{line} fn=f cpu={time}ms\n");
        }
        books
    }

    fn compared_run<'a>(ledger: &'a Ledger, key: &'a str) -> ComparedRun<'a> {
        ComparedRun { ledger, names: [(key, key)].into(), texts: [(key, TEXT)].into() }
    }

    fn with_baseline(before: [f64; 3], now: [f64; 3]) -> (Fixture, View) {
        let fixture = Fixture::new(TEXT, &books(now));
        let base = ledger(&books(before));
        let key = fixture.source().key.to_owned();
        let difference =
            Difference::new(&compared_run(&base, &key), &compared_run(&fixture.ledger, &key));
        let baseline = Some(Arc::new(Baseline::new("before".to_owned(), &difference)));
        let view = View { metric: Some(ViewMetric::Cpu), baseline, ..View::default() };
        (fixture, view)
    }

    #[test]
    fn differences_beyond_the_noise_stand_behind_their_numbers() {
        let (fixture, view) = with_baseline([3.0, 2.0, 0.5], [1.8, 2.0, 1.5]);
        let labels: Vec<String> =
            hints(&fixture.source(), &view, 1..=9).into_iter().map(|it| it.label).collect();
        assert_eq!(labels, ["1.8 ms cpu (−1.2)", "2 ms cpu", "1.5 ms cpu (+1)"]);
        let step = View { period: metrics::Period::Step(2), ..view.clone() };
        let labels = hints(&fixture.source(), &step, 1..=9);
        assert!(labels.iter().all(|it| !it.label.contains('(')), "of one step: {labels:?}");
        let text =
            hover(&fixture.source(), &view, RunKnowledge::default(), 1).unwrap().text.plain();
        assert!(text.contains("beside before") && text.contains("−40 %"), "{text}");
        let text =
            hover(&fixture.source(), &view, RunKnowledge::default(), 2).unwrap().text.plain();
        assert!(text.contains("within the noise"), "{text}");
        let hot = hot_lines(&fixture.ledger, &view, 9, false, |_, _| true);
        let found: Vec<_> = hot
            .iter()
            .map(|it| it.difference.as_ref().map(|it| (it.delta_text.as_str(), it.is_significant)))
            .collect();
        assert_eq!(found[1], Some(("−1.2 ms", Some(true))));
    }

    #[test]
    fn the_unit_is_left_out_where_it_is_the_same() {
        let of = |base, new| {
            let quantity = Quantity::CpuBusy;
            let amount = AmountDifference {
                quantity,
                base,
                new,
                shift: None,
                significant: Some(true),
                is_same_work: false,
            };
            BaselineDifference::new(&amount).behind(&quantity.text(new))
        };
        assert_eq!(of(2e6, 5e6), " (+3)");
        assert_eq!(of(2.2e6, 2e6), " (−200 µs)");
    }
}
