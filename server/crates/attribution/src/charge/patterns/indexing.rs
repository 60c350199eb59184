//! Loops over the rows of a tensor: the same operators over and over, each time beginning with `aten::select`.

use ledger::{Ns, PatternBooks};
use line_stacks::LineId;
use profile::StrId;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Repetitions from which a run is kept. Rules may ask for more.
const MIN_REPETITIONS: usize = 4;

/// Segments in a body, at most: `x[i]` and `y[i]` are two.
const MAX_SEGMENTS: usize = 4;

/// What ran in one call of a function: operators from one `aten::select` to the next.
#[derive(Debug, Default)]
pub(super) struct Indexing(Vec<Segment>);

#[derive(Debug, Clone, Copy)]
struct Segment {
    /// Of the names of its operators; 0 where a function of yours or a module ran in it.
    hash: u64,
    line: LineId,
    start: Ns,
    end: Ns,
    ops: u64,
    cuda: Ns,
}

/// An outermost operator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) name: StrId,
    pub(super) line: LineId,
    pub(super) start: Ns,
    pub(super) end: Ns,
    pub(super) cuda: Ns,
}

impl Indexing {
    /// `aten::select` straight in the function.
    pub(super) fn select(&mut self, item: Item) {
        let Item { line, start, end, cuda, .. } = item;
        self.0.push(Segment { hash: 1, line, start, end, ops: 1, cuda });
    }

    /// Any other operator.
    pub(super) fn operator(&mut self, item: Item) {
        if let Some(segment) = self.0.last_mut() {
            if segment.hash != 0 {
                let mut hasher = FxHasher::default();
                (segment.hash, item.name.index()).hash(&mut hasher);
                segment.hash = hasher.finish().max(1);
            }
            segment.end = segment.end.max(item.end);
            segment.ops += 1;
            segment.cuda += item.cuda;
        }
    }

    /// A function of yours or a module: what it does is more than to index, and may need the row before.
    pub(super) fn call(&mut self) {
        if let Some(segment) = self.0.last_mut() {
            segment.hash = 0;
        }
    }

    /// Each run of repetitions: its first line, its start, and what it cost.
    pub(super) fn runs(&self) -> Vec<(LineId, Ns, PatternBooks)> {
        let mut runs = Vec::new();
        let mut rest = &self.0[..];
        while let Some(first) = rest.first() {
            let (length, period) = (1..=MAX_SEGMENTS)
                .map(|period| (repeated(rest, period), period))
                // Of equally long ones the shortest body.
                .max_by_key(|&(length, period)| (length, std::cmp::Reverse(period)))
                .unwrap_or((0, 1));
            let times = length / period;
            if times < MIN_REPETITIONS {
                rest = &rest[1..];
                continue;
            }
            let run = &rest[..length];
            let last = run.last().unwrap_or(first);
            let books = PatternBooks {
                count: times as u64,
                most: times as u64,
                ops: run.iter().map(|it| it.ops).sum(),
                cpu: last.end - first.start,
                cuda: run.iter().map(|it| it.cuda).sum(),
                ..PatternBooks::default()
            };
            runs.push((first.line, first.start, books));
            rest = &rest[length..];
        }
        runs
    }
}

/// How many segments from the first repeat with this period, in whole periods.
fn repeated(segments: &[Segment], period: usize) -> usize {
    if segments.len() < period || segments[..period].iter().any(|it| it.hash == 0) {
        return 0;
    }
    let pairs = segments.iter().zip(&segments[period..]);
    let equal = pairs.take_while(|(one, two)| one.hash == two.hash).count();
    (equal + period) / period * period
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `s` is a select, `!` a call, other letters are operators. A letter lasts 10.
    fn runs(text: &str) -> Vec<(i64, u64, u64, i64)> {
        let mut indexing = Indexing::default();
        for (at, letter) in text.chars().enumerate() {
            let start = at as i64 * 10;
            let name = StrId::from_index(letter as usize);
            let item =
                Item { name, line: LineId(1), start: Ns(start), end: Ns(start + 10), cuda: Ns(1) };
            match letter {
                's' => indexing.select(item),
                '!' => indexing.call(),
                _ => indexing.operator(item),
            }
        }
        let runs = indexing.runs().into_iter();
        runs.map(|(_, start, it)| (start.0, it.count, it.ops, it.cpu.0)).collect()
    }

    #[test]
    fn repetitions() {
        assert_eq!(runs(&"sab".repeat(5)), [(0, 5, 15, 150)]);
        assert_eq!(
            runs(&format!("xy{}c", "sab".repeat(5))),
            [(20, 4, 12, 120)],
            "the end is another"
        );
        assert_eq!(runs(&"ssa".repeat(6)), [(0, 6, 18, 180)], "two tensors");
        assert_eq!(runs("sasasa"), []);
        assert_eq!(runs("sasbscsdsesf"), []);
        assert_eq!(runs(&"s!a".repeat(9)), [], "a cell of a recurrent network");
        let twice = format!("{}{}", "sa".repeat(4), "sb".repeat(4));
        assert_eq!(runs(&twice), [(0, 4, 8, 80), (80, 4, 8, 80)]);
    }
}
