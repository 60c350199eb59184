//! What a line has on the critical path of the steps.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ledger::{LineKey, Ns, PathTime};
use metrics::numbers::{duration, percent};
use metrics::{Period, Quantity};
use ranks::{CriticalPath, PathLine};

use crate::place::{Placed, PlacedSource};
use crate::scale::ViewScale;
use crate::sections::{LineSection, RichText, paragraph};

/// How many ranks are named.
const MAX_RANKS: usize = 2;

/// What the time of a path went to, with shares, the most first: `device 73.5 %, host 26.5 %`.
#[must_use]
pub fn path_parts(time: &PathTime) -> String {
    let whole = time.sum();
    let mut parts = Vec::from(time.parts());
    parts.retain(|(_, time)| *time != Ns::ZERO);
    parts.sort_by_key(|(_, time)| Reverse(*time));
    let parts: Vec<String> =
        parts.into_iter().map(|(name, time)| format!("{name} {}", share(time, whole))).collect();
    parts.join(", ")
}

/// Which ranks, with their shares where they are several: `r1 87 %, r0 13 %`.
#[must_use]
pub fn rank_shares(by_rank: &BTreeMap<u32, Ns>, whole: Ns) -> String {
    let mut ranks: Vec<(u32, Ns)> = by_rank.iter().map(|(&rank, &time)| (rank, time)).collect();
    ranks.sort_by_key(|&(rank, time)| (Reverse(time), rank));
    if let [(rank, _)] = ranks[..] {
        return format!("r{rank}");
    }
    let shown = ranks.iter().take(MAX_RANKS);
    let mut texts: Vec<String> =
        shown.map(|&(rank, time)| format!("r{rank} {}", share(time, whole))).collect();
    let more = ranks.len().saturating_sub(MAX_RANKS);
    texts.extend((0 < more).then(|| format!("{more} more")));
    texts.join(", ")
}

fn share(time: Ns, whole: Ns) -> String {
    percent(if whole == Ns::ZERO { 0.0 } else { time.as_f64() / whole.as_f64() })
}

/// What lines have on `path` together: `8.89 ms per step on the critical path (50.2 % of it: host 100 %; on r1)`. `None` where they
/// have nothing.
#[must_use]
pub fn on_critical_path<'a>(
    path: &CriticalPath,
    lines: impl IntoIterator<Item = &'a LineKey>,
    period: Period,
) -> Option<String> {
    let mut sum = PathLine::default();
    for it in lines.into_iter().filter_map(|it| path.line(it)) {
        sum.add(it);
    }
    let time = sum.time.sum();
    if time == Ns::ZERO {
        return None;
    }
    let mean = if period == Period::Run { time } else { path.per_step(time) };
    let of = match period {
        Period::Run => "",
        _ if path.steps == 1 => "",
        Period::Mean => " per step",
        Period::Step(_) => " of the mean step",
    };
    let ranks = match path.by_rank.len() {
        0 | 1 => String::new(),
        _ => format!("; on {}", rank_shares(&sum.by_rank, time)),
    };
    Some(format!(
        "{}{of} on the critical path ({} of it: {}{ranks})",
        duration(mean.as_f64()),
        share(time, path.time.sum()),
        path_parts(&sum.time),
    ))
}

/// What a line has on the critical path; of a line that costs something, that it has nothing.
pub(crate) fn section(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    path: Option<&CriticalPath>,
    placed: &Placed<'_>,
) -> Option<LineSection> {
    // It is known of the whole recording.
    let path = path.filter(|_| scale.part.is_none())?;
    let line = LineKey { file: source.key.to_owned(), line: placed.recorded };
    let text = on_critical_path(path, [&line], scale.period()).or_else(|| {
        let costs = [Quantity::CpuOwn, Quantity::CudaOwn]
            .into_iter()
            .any(|it| scale.notable(it, &placed.books).is_some());
        let what = if scale.ledger().steps.is_empty() { "the run" } else { "steps" };
        costs.then(|| format!("Not on the critical path: {what} would be as long without it."))
    });
    paragraph(RichText::words(text?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;
    use crate::{RunKnowledge, View, hover};

    #[test]
    fn a_hover_says_whether_a_line_is_on_it() {
        let text = "step()\nother()\nrare()\n";
        let books = "step 1 10ms\nthread 10ms\n1 fn=f cpu=9ms\n2 fn=f cpu=1ms\n3 fn=f cpu=0.001ms";
        let fixture = Fixture::new(text, books);
        let time = PathTime { host: Ns(9_000_000), ..PathTime::default() };
        let lines = vec![line("train.py", 1, time, &[(0, 9_000_000)])];
        let path = CriticalPath { steps: 1, time, by_rank: [(0, Ns(9_000_000))].into(), lines };
        let run = RunKnowledge { findings: &[], path: Some(&path) };
        let text = |line| {
            let hover = hover(&fixture.source(), &View::default(), run, line);
            hover.map(|it| it.text.plain()).unwrap_or_default()
        };
        assert!(
            text(1).contains("9 ms on the critical path (100 % of it: host 100 %)"),
            "{}",
            text(1)
        );
        assert!(text(2).contains("Not on the critical path"), "{}", text(2));
        // What costs next to nothing is not named for it.
        assert!(!text(3).contains("critical path"), "{}", text(3));
    }

    fn line(file: &str, line: u32, time: PathTime, by_rank: &[(u32, i64)]) -> PathLine {
        let line = Some(LineKey { file: file.to_owned(), line });
        let by_rank = by_rank.iter().map(|&(rank, time)| (rank, Ns(time))).collect();
        PathLine { line, time, by_rank }
    }

    #[test]
    fn lines_are_added_up() {
        let host = |host| PathTime { host: Ns(host), ..PathTime::default() };
        let device = PathTime { device: Ns(6_000), ..PathTime::default() };
        let mut path = CriticalPath { steps: 2, ..CriticalPath::default() };
        path.lines = vec![
            line("a.py", 1, device, &[(1, 6_000)]),
            line("a.py", 2, host(2_000), &[(0, 1_000), (1, 1_000)]),
        ];
        for it in &path.lines {
            path.time.add(&it.time);
        }
        path.by_rank = [(0, Ns(1_000)), (1, Ns(7_000))].into();
        let keys = [1, 2, 3].map(|line| LineKey { file: "a.py".to_owned(), line });
        let text = |lines: &[LineKey], period| on_critical_path(&path, lines, period);
        assert_eq!(
            text(&keys, Period::Mean).as_deref(),
            Some(
                "4 µs per step on the critical path (100 % of it: device 75 %, host 25 %; on r1 87.5 %, r0 12.5 %)"
            )
        );
        assert_eq!(
            text(&keys[..1], Period::Run).as_deref(),
            Some("6 µs on the critical path (75 % of it: device 100 %; on r1)")
        );
        assert_eq!(text(&keys[2..], Period::Mean), None);
    }
}
