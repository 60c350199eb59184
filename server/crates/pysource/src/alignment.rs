//! Alignment of recorded lines with lines of a later text, in order, by how well each goes with each.

use std::collections::HashMap;

/// What a line must weigh more by to be taken for one that moved against the line before it.
const MOVE: i64 = 4;

/// Units of a weight: where weights are equal, what moved least.
const UNIT: i64 = 1_000_000;

/// Most lines of a text by which moves are compared.
const MAX_DISTANCE: i64 = 999;

/// The current lines that a recorded line may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineEvidence {
    /// 1-based.
    pub(crate) recorded: u32,
    /// Line in the current text, and how much says that it is this one: above 0.
    pub(crate) candidates: Vec<(u32, i64)>,
}

/// A recorded line that was found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AlignedLine {
    pub(crate) recorded: u32,
    pub(crate) current: u32,
}

/// The best alignment that ends with a pair of lines.
struct PairValue {
    line: AlignedLine,
    value: i64,
    /// The pair before it.
    from: Option<usize>,
}

/// The alignment of most weight, in which both lines rise. `rows` are in order of their recorded lines.
pub(crate) fn align(rows: &[LineEvidence]) -> Vec<AlignedLine> {
    let n_lines = rows.iter().flat_map(|it| &it.candidates).map(|it| it.0).max().unwrap_or(0);
    let mut pairs: Vec<PairValue> = Vec::new();
    let mut by_shift: HashMap<i64, usize> = HashMap::new();
    let mut by_line = BestBefore::new(n_lines);
    for row in rows {
        let first = pairs.len();
        for &(current, weight) in &row.candidates {
            let line = AlignedLine { recorded: row.recorded, current };
            let shift = shift(line);
            let start = (if shift == 0 { 0 } else { -MOVE * UNIT }, None);
            let same = by_shift.get(&shift).map(|&it| (pairs[it].value, Some(it)));
            let moved = by_line.before(current).map(|(value, it)| (value - MOVE * UNIT, Some(it)));
            let before = [same, moved].into_iter().flatten();
            let (value, from) = before.fold(start, |a, b| if a.0 < b.0 { b } else { a });
            let value = value + weight * UNIT - shift.abs().min(MAX_DISTANCE);
            pairs.push(PairValue { line, value, from });
        }
        // A line is not aligned twice, so those of a row do not see each other.
        for at in first..pairs.len() {
            let PairValue { line, value, .. } = pairs[at];
            let best = by_shift.entry(shift(line)).or_insert(at);
            if pairs[*best].value < value {
                *best = at;
            }
            by_line.add(line.current, value, at);
        }
    }
    let mut next = (0..pairs.len()).max_by_key(|&it| pairs[it].value);
    let mut aligned = Vec::new();
    while let Some(pair) = next.map(|it| &pairs[it]) {
        aligned.push(pair.line);
        next = pair.from;
    }
    aligned.reverse();
    aligned
}

fn shift(line: AlignedLine) -> i64 {
    i64::from(line.current) - i64::from(line.recorded)
}

/// The best pair of those with a smaller current line, with its value: a Fenwick tree of maxima.
struct BestBefore(Vec<Option<(i64, usize)>>);

impl BestBefore {
    fn new(n_lines: u32) -> Self {
        Self(vec![None; n_lines as usize + 1])
    }

    fn before(&self, line: u32) -> Option<(i64, usize)> {
        let mut at = line.saturating_sub(1) as usize;
        let mut best = None;
        while at > 0 {
            best = best.max(self.0[at]);
            at -= at & at.wrapping_neg();
        }
        best
    }

    fn add(&mut self, line: u32, value: i64, pair: usize) {
        let mut at = line as usize;
        while let Some(best) = self.0.get_mut(at) {
            *best = (*best).max(Some((value, pair)));
            at += at & at.wrapping_neg();
        }
    }
}
