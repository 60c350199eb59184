//! The outputs of `export_memory_timeline`: lists of integers in JSON.
//!
//! `.raw.json.gz` holds `[time in ns or -1, action, bytes, category]` for each change; bytes are negative where memory
//! is released. `.json` holds `[times in µs, rows of 9 sizes]`; the first size of a row is always 0. (From
//! `torch/profiler/_memory_profiler.py`, torch 2.0 to 2.15.)

use profile::{Bytes, MemoryTimeline, Ns, WarningKind, Warnings};

/// Categories, those without one included.
const N: usize = 8;

/// Whether a file that begins with `prefix` (some kilobytes) may be an exported timeline of either kind.
#[must_use]
pub fn looks_like_timeline(prefix: &[u8]) -> bool {
    let mut scanner = Scanner { bytes: prefix, at: 0 };
    if scanner.next() != Some(Token::Open) || scanner.next() != Some(Token::Open) {
        return false;
    }
    let mut numbers = Vec::new();
    loop {
        match scanner.next() {
            Some(Token::Number(number)) => numbers.push(number),
            Some(Token::Close) => break,
            // Times fill the prefix of the other kind; they are large, and rise.
            None => return scanner.at >= prefix.len() && numbers.len() > 16 && are_times(&numbers),
            Some(Token::Open) => return false,
        }
    }
    let is_change = matches!(numbers[..], [at, 1..=4, _, 0..=7] if -1 <= at);
    is_change || (are_times(&numbers) && scanner.next() == Some(Token::Open))
}

fn are_times(numbers: &[i64]) -> bool {
    // The last one may be cut off.
    let whole = &numbers[..numbers.len().saturating_sub(1)];
    !whole.is_empty() && whole.is_sorted() && whole.iter().all(|&it| it > 1_000_000_000)
}

/// Reads an exported timeline of either kind. What is cut off is left out with a warning.
///
/// `None` if it is none, or nothing of it can be read.
#[must_use]
pub fn read_timeline(bytes: &[u8]) -> Option<(MemoryTimeline, Warnings)> {
    let mut scanner = Scanner { bytes, at: 0 };
    let mut lists: Vec<Vec<i64>> = Vec::new();
    let (mut depth, mut is_whole) = (0_usize, false);
    while let Some(token) = scanner.next() {
        match token {
            Token::Open => {
                depth += 1;
                if depth > 3 {
                    return None;
                }
                if depth > 1 {
                    lists.push(Vec::new());
                }
            }
            Token::Close => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    is_whole = true;
                    break;
                }
            }
            Token::Number(number) => lists.last_mut()?.push(number),
        }
    }
    let mut warnings = Warnings::default();
    if !is_whole {
        let message = "the timeline ends early; what came before was read";
        warnings.add(WarningKind::Truncated, scanner.at as u64, message);
    }
    let timeline = match lists.first()?[..] {
        [_, 1..=4, _, 0..=7] => changes(&lists, &mut warnings),
        _ => rows(&lists),
    };
    (!timeline.at.is_empty()).then_some((timeline, warnings))
}

fn changes(lists: &[Vec<i64>], warnings: &mut Warnings) -> MemoryTimeline {
    let mut timeline = MemoryTimeline::default();
    let mut level: [Bytes; N] = [Bytes::ZERO; N];
    let first = lists
        .iter()
        .filter_map(|it| it.first())
        .find(|at| 0 <= **at)
        .map_or(Ns::ZERO, |&at| Ns(at));
    for list in lists {
        let [at, _, bytes, category] = list[..] else {
            warnings.add(
                WarningKind::Malformed,
                None,
                "a change that is no list of four numbers was left out",
            );
            continue;
        };
        let Some(of) = usize::try_from(category).ok().and_then(|it| level.get_mut(it)) else {
            warnings.add(
                WarningKind::NumberOutOfRange,
                None,
                "a change of an unknown category was left out",
            );
            continue;
        };
        *of = within((*of).saturating_add(Bytes(bytes)));
        push(&mut timeline, if at < 0 { first } else { Ns(at) }, level);
    }
    timeline
}

fn rows(lists: &[Vec<i64>]) -> MemoryTimeline {
    let mut timeline = MemoryTimeline::default();
    let Some((times, rest)) = lists.split_first() else { return timeline };
    // The list around the rows is empty itself.
    for (&at, row) in times.iter().zip(rest.iter().filter(|row| !row.is_empty())) {
        if let Some(level) = row.get(1..).and_then(|it| <[i64; N]>::try_from(it).ok()) {
            push(&mut timeline, Ns(at.saturating_mul(1000)), level.map(|it| within(Bytes(it))));
        }
    }
    timeline
}

/// Sums of all categories fit, whatever a file says.
fn within(bytes: Bytes) -> Bytes {
    bytes.clamp(Bytes(-(1 << 56)), Bytes(1 << 56))
}

/// Adds a level; of several at one time, the last counts. A time that goes back is taken as the one before.
fn push(timeline: &mut MemoryTimeline, at: Ns, level: [Bytes; N]) {
    match (timeline.at.last(), timeline.bytes.last_mut()) {
        (Some(&last), Some(bytes)) if at <= last => *bytes = level,
        _ => {
            timeline.at.push(at);
            timeline.bytes.push(level);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    Number(i64),
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    /// `None` at the end, and at anything but lists of integers.
    fn next(&mut self) -> Option<Token> {
        while matches!(self.bytes.get(self.at)?, b' ' | b',' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
        let start = self.at;
        self.at += 1;
        match self.bytes[start] {
            b'[' => Some(Token::Open),
            b']' => Some(Token::Close),
            b'-' | b'0'..=b'9' => {
                while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
                    self.at += 1;
                }
                let text = std::str::from_utf8(&self.bytes[start..self.at]).ok()?;
                text.parse().ok().map(Token::Number)
            }
            _ => {
                self.at = start;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: &[u8] = b"[[-1, 1, 100, 0], [-1, 1, 20, 7], [5000, 2, 64, 4], [6000, 3, -64, 4], [6000, 3, 64, 5], [7000, 4, -20, 7]]";
    const ROWS: &[u8] = b"[[1700000000000000, 1700000000000009],\n [[0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 9, 0, 0, 0, 0, 0, 0, 1]]]";

    #[test]
    fn changes_are_summed_up() {
        assert!(looks_like_timeline(RAW));
        let (timeline, warnings) = read_timeline(RAW).unwrap();
        assert_eq!(timeline.at, [5000, 6000, 7000].map(Ns));
        let expected = [
            [100, 0, 0, 0, 64, 0, 0, 20],
            [100, 0, 0, 0, 0, 64, 0, 20],
            [100, 0, 0, 0, 0, 64, 0, 0],
        ];
        assert_eq!(timeline.bytes, expected.map(|it| it.map(Bytes)));
        assert!(warnings.is_empty());
    }

    #[test]
    fn rows_are_taken_as_they_are() {
        assert!(looks_like_timeline(ROWS));
        let (timeline, _) = read_timeline(ROWS).unwrap();
        assert_eq!(timeline.at, [1_700_000_000_000_000_000, 1_700_000_000_000_009_000].map(Ns));
        assert_eq!(
            timeline.bytes,
            [[1, 2, 3, 4, 5, 6, 7, 8].map(Bytes), [9, 0, 0, 0, 0, 0, 0, 1].map(Bytes)]
        );
    }

    #[test]
    fn what_is_cut_off_is_reported_and_other_lists_are_none() {
        for end in 1..RAW.len() {
            if let Some((timeline, warnings)) = read_timeline(&RAW[..end]) {
                assert!(timeline.at.len() <= 3);
                assert!(!warnings.is_empty(), "{end}");
            }
        }
        for other in [&b"[[1, 2], [3, 4]]"[..], b"[]", b"{}", b"[[[", b"[{\"ph\": 1}]", b""] {
            assert!(!looks_like_timeline(other), "{other:?}");
        }
        assert!(read_timeline(b"[[[[1]]]]").is_none());
        assert!(read_timeline(&[b'['; 100_000]).is_none());
    }

    #[test]
    fn impossible_numbers_do_not_overflow() {
        let huge =
            b"[[1, 2, 9223372036854775807, 0], [2, 2, 9223372036854775807, 0], [3, 2, 1, 9]]";
        let (timeline, warnings) = read_timeline(huge).unwrap();
        assert_eq!(timeline.bytes[1][0], Bytes(1 << 56));
        assert_eq!(warnings.iter().count(), 1);
    }
}
