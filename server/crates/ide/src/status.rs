//! What was loaded, in a line, and how much of it stands on lines.

use ledger::{Evidence, Ledger, Metric as Book};
use metrics::Period;
use metrics::numbers::duration;

use crate::view::View;

/// How much of a recording stands on lines, and how they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Coverage {
    /// The share (of 1) of thread time that has a line; `None` where the recording has no thread time.
    pub cpu: Option<f64>,
    /// The same for device time.
    pub cuda: Option<f64>,
    /// Lines that the recording names.
    pub exact: usize,
    /// Lines that follow from the source and the order of events.
    pub inferred: usize,
    /// Functions of which no line is known.
    pub function: usize,
}

/// How much of a recording stands on lines, and how they are known.
#[must_use]
pub fn coverage(ledger: &Ledger) -> Coverage {
    let count = |evidence| ledger.lines.values().filter(|it| it.evidence == evidence).count();
    Coverage {
        cpu: attributed(ledger, Book::Cpu),
        cuda: attributed(ledger, Book::Cuda),
        exact: count(Evidence::Exact),
        inferred: count(Evidence::Inferred),
        function: count(Evidence::Function),
    }
}

/// The share (of 1) of an amount that has a line; `None` where there is none of it.
pub(crate) fn attributed(ledger: &Ledger, book: Book) -> Option<f64> {
    let total = ledger.totals.get(book);
    let missing = ledger.unattributed.sum().get(book);
    (total != 0).then(|| 1.0 - missing as f64 / total as f64)
}

/// What is shown, in one short line: `slow_model.json.gz · mean of 3 steps · 41 ms`. `names` are those of the files
/// that were read, `rank` is the chosen one.
#[must_use]
pub fn summary(ledger: &Ledger, view: &View, names: &[String], rank: Option<u32>) -> String {
    let n_steps = ledger.steps.len();
    let mut parts: Vec<String> = files(names).into_iter().collect();
    match (rank, ledger.ranks) {
        (Some(rank), _) => parts.push(format!("rank {rank}")),
        (None, ranks @ 2..) => parts.push(format!("{ranks} ranks")),
        (None, _) => {}
    }
    let scale = metrics::Scale::new(ledger, view.period);
    let period = match scale.period() {
        Period::Mean if n_steps == 1 => "1 step".to_owned(),
        Period::Mean => format!("mean of {n_steps} steps"),
        Period::Step(step) => format!("step {step}"),
        Period::Run => "whole recording".to_owned(),
    };
    parts.push(period);
    if 0.0 < scale.time() {
        parts.push(duration(scale.time()));
    }
    parts.extend(view.so_far.as_ref().map(|it| format!("so far: {it}")));
    parts.join(" · ")
}

/// What is shown where nothing is loaded: what is `loading`, by the names of its files, or that there is nothing.
#[must_use]
pub fn summary_of_nothing(loading: &[String]) -> String {
    files(loading).map_or_else(|| "no recording".to_owned(), |files| format!("loading {files}"))
}

fn files(names: &[String]) -> Option<String> {
    match names {
        [] => None,
        [name] => Some(name.clone()),
        [name, rest @ ..] => Some(format!("{name} and {} more", rest.len())),
    }
}

#[cfg(test)]
mod tests {
    use ledger::Ns;

    use super::*;
    use crate::testing::{TRAIN_BOOKS, ledger};

    #[test]
    fn summaries() {
        let ledger = ledger(TRAIN_BOOKS);
        let text = |period, names: &[&str], rank| {
            let names: Vec<String> = names.iter().map(|&it| it.to_owned()).collect();
            summary(&ledger, &View { period, ..View::default() }, &names, rank)
        };
        assert_eq!(text(Period::Mean, &["a.json"], None), "a.json · mean of 2 steps · 41 ms");
        assert_eq!(text(Period::Step(2), &["a.json"], Some(1)), "a.json · rank 1 · step 2 · 41 ms");
        assert_eq!(
            text(Period::Run, &["a.json", "b.json", "c.json"], None),
            "a.json and 2 more · whole recording · 82 ms"
        );
        let view = View {
            so_far: Some("first 2 steps, 3.8 % of the recording".into()),
            ..View::default()
        };
        assert_eq!(
            summary(&ledger, &view, &["a.json".to_owned()], None),
            "a.json · mean of 2 steps · 41 ms · so far: first 2 steps, 3.8 % of the recording"
        );
        let mut ranks = ledger.clone();
        ranks.merge(&ledger);
        ranks.steps.clear();
        let view = View::default();
        assert_eq!(summary(&ranks, &view, &[], None), "2 ranks · whole recording · 164 ms");
        assert_eq!(summary_of_nothing(&[]), "no recording");
        assert_eq!(summary_of_nothing(&["a.json".to_owned()]), "loading a.json");
    }

    #[test]
    fn how_much_stands_on_lines() {
        let mut ledger =
            ledger("step 1 10ms\n1 cuda=3ms\n2 inferred cuda=2ms\n3 function cuda=1ms\n");
        ledger.totals.cuda += Ns(2_000_000);
        ledger.unattributed.charge(ledger::Reason::NoLaunch, Book::Cuda, 2_000_000);
        let expected = Coverage { cpu: None, cuda: Some(0.75), exact: 1, inferred: 1, function: 1 };
        assert_eq!(coverage(&ledger), expected);
    }
}
