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
    let mut scanner = Scanner { bytes: prefix, at: 0, is_too_large: false };
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

/// Reads an exported timeline of either kind, fed in pieces of any size. Its tables alone are held, not its text.
#[derive(Debug, Default)]
pub struct TimelineReader {
    /// The beginning of a number that goes on in the next piece; of one that is too large, a part that is too large as well.
    carry: Vec<u8>,
    depth: usize,
    is_whole: bool,
    /// Whether it is no list of lists of integers, so that nothing of it counts.
    is_refused: bool,
    /// Whether something else than lists and integers came; nothing behind it is read.
    is_over: bool,
    /// Bytes up to where reading is.
    offset: u64,
    /// The list that is read.
    list: Option<Vec<i64>>,
    kind: Option<TimelineKind>,
    timeline: MemoryTimeline,
    warnings: Warnings,
}

/// What the lists of an exported timeline are.
#[derive(Debug)]
enum TimelineKind {
    /// One change each.
    Changes(Changes),
    /// The times, then a row for each.
    Rows { times: std::vec::IntoIter<i64> },
}

/// The sums of the changes so far.
#[derive(Debug, Default)]
struct Changes {
    level: [Bytes; N],
    /// The first time that is named: what was there before counts from then on.
    first: Option<Ns>,
    is_before_first: bool,
}

/// Numbers that are kept of a list other than the times: more than any has that counts.
const MAX_KEPT: usize = 16;

/// Digits of a number that fits, and a sign.
const MAX_DIGITS: usize = 20;

impl TimelineReader {
    /// A reader to which nothing was fed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads on. How the text is cut into pieces makes no difference to the result.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        if !self.carry.is_empty() {
            let digits = bytes.iter().take_while(|it| it.is_ascii_digit()).count();
            let (more, rest) = bytes.split_at(digits);
            let kept = more.len().min((MAX_DIGITS + 2).saturating_sub(self.carry.len()));
            self.carry.extend_from_slice(&more[..kept]);
            bytes = rest;
            if bytes.is_empty() {
                return;
            }
            self.read_carry();
        }
        let digits = bytes.iter().rev().take_while(|it| it.is_ascii_digit()).count();
        let start = bytes.len() - digits;
        let start = start - usize::from(bytes[..start].ends_with(b"-"));
        // What has more digits fits nowhere, whether it goes on or not.
        let start = if digits > MAX_DIGITS { bytes.len() } else { start };
        let (whole, tail) = bytes.split_at(start);
        self.read(whole);
        if !self.is_done() {
            self.carry.extend_from_slice(tail);
        }
    }

    /// Reads the carry, which is a number as a whole.
    fn read_carry(&mut self) {
        let carry = std::mem::take(&mut self.carry);
        self.read(&carry);
    }

    /// The timeline. What is cut off is left out with a warning.
    ///
    /// `None` if it is none, or nothing of it can be read.
    #[must_use]
    pub fn finish(mut self) -> Option<(MemoryTimeline, Warnings)> {
        self.read_carry();
        self.end_list();
        if self.is_refused {
            return None;
        }
        if let Some(TimelineKind::Changes(Changes { is_before_first: true, level, .. })) = self.kind
        {
            push(&mut self.timeline, Ns::ZERO, level);
        }
        if !self.is_whole {
            let message = "the timeline ends early; what came before was read";
            self.warnings.add(WarningKind::Truncated, self.offset, message);
        }
        (!self.timeline.at.is_empty()).then_some((self.timeline, self.warnings))
    }

    /// Changes or times that were read so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.timeline.at.len()
    }

    /// Whether nothing was read so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn is_done(&self) -> bool {
        self.is_whole || self.is_refused || self.is_over
    }

    /// Reads whole tokens.
    fn read(&mut self, bytes: &[u8]) {
        let mut scanner = Scanner { bytes, at: 0, is_too_large: false };
        while !self.is_done() {
            match scanner.next() {
                None => self.is_over = scanner.at < bytes.len() || scanner.is_too_large,
                Some(token) => {
                    self.token(token);
                    continue;
                }
            }
            break;
        }
        self.offset += scanner.at as u64;
    }

    fn token(&mut self, token: Token) {
        match token {
            Token::Open => {
                self.depth += 1;
                self.is_refused = self.depth > 3;
                if self.depth > 1 {
                    self.end_list();
                    self.list = Some(Vec::new());
                }
            }
            Token::Close => match self.depth.checked_sub(1) {
                None => self.is_refused = true,
                Some(depth) => {
                    self.depth = depth;
                    self.is_whole = depth == 0;
                }
            },
            Token::Number(number) => match &mut self.list {
                None => self.is_refused = true,
                Some(list) if self.kind.is_some() && list.len() >= MAX_KEPT => {}
                Some(list) => list.push(number),
            },
        }
    }

    /// Takes over the list that was read.
    fn end_list(&mut self) {
        let Some(list) = self.list.take() else { return };
        match &mut self.kind {
            Some(TimelineKind::Changes(changes)) => {
                changes.add(&list, &mut self.timeline, &mut self.warnings);
            }
            // The list around the rows is empty itself.
            Some(TimelineKind::Rows { .. }) if list.is_empty() => {}
            Some(TimelineKind::Rows { times }) => {
                let Some(at) = times.next() else { return };
                if let Some(level) = list.get(1..).and_then(|it| <[i64; N]>::try_from(it).ok()) {
                    let level = level.map(|it| within(Bytes(it)));
                    push(&mut self.timeline, Ns(at.saturating_mul(1000)), level);
                }
            }
            None => {
                let is_change = matches!(list[..], [_, 1..=4, _, 0..=7]);
                self.kind = Some(if is_change {
                    let mut changes = Changes::default();
                    changes.add(&list, &mut self.timeline, &mut self.warnings);
                    TimelineKind::Changes(changes)
                } else {
                    TimelineKind::Rows { times: list.into_iter() }
                });
            }
        }
    }
}

impl Changes {
    fn add(&mut self, list: &[i64], timeline: &mut MemoryTimeline, warnings: &mut Warnings) {
        if let (None, Some(&at @ 0..)) = (self.first, list.first()) {
            self.first = Some(Ns(at));
            if std::mem::take(&mut self.is_before_first) {
                push(timeline, Ns(at), self.level);
            }
        }
        let &[at, _, bytes, category] = list else {
            let message = "a change that is no list of four numbers was left out";
            warnings.add(WarningKind::Malformed, None, message);
            return;
        };
        let Some(of) = usize::try_from(category).ok().and_then(|it| self.level.get_mut(it)) else {
            let message = "a change of an unknown category was left out";
            warnings.add(WarningKind::NumberOutOfRange, None, message);
            return;
        };
        *of = within((*of).saturating_add(Bytes(bytes)));
        match (at, self.first) {
            (0.., _) => push(timeline, Ns(at), self.level),
            (_, Some(first)) => push(timeline, first, self.level),
            (_, None) => self.is_before_first = true,
        }
    }
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
    /// Whether a number does not fit.
    is_too_large: bool,
}

impl Scanner<'_> {
    /// `None` at the end, and at the beginning of anything but lists of integers.
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
                // Zeros before a number make it too long, too: of one that goes on in the next piece no more than that is kept.
                let number = text.parse().ok().filter(|_| text.len() <= MAX_DIGITS);
                if number.is_none() {
                    self.is_too_large = true;
                    self.at = start;
                }
                number.map(Token::Number)
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

    fn read_timeline(bytes: &[u8]) -> Option<(MemoryTimeline, Warnings)> {
        let mut reader = TimelineReader::new();
        reader.feed(bytes);
        reader.finish()
    }

    #[test]
    fn pieces_make_no_difference() {
        let unusual: [&[u8]; 8] = [
            b"[[5, 1, 3, 0], [-1, 1, 4, 1]] and more",
            b"[[-1, 1, 3, 0], [-1, 1, 4, 1]]",
            b"[[-1, 1, 3, 0], 7, [9, 2, 1, 1], [1, 2], []]",
            b"[[1, 1, 99999999999999999999999999999999999999999, 0]]",
            b"[[1, 1, 1, 0], [1, -11111111111111111111111111111111111111, 0, 0]]",
            b"[[1, 1, -, 0], [2, 1, 1, 0]]",
            b"[[1, 1, 1, 1], [2, 1, 1, 0], {}]",
            b"]",
        ];
        for text in [RAW, ROWS].into_iter().chain(unusual) {
            for end in 0..=text.len() {
                let text = &text[..end];
                let whole = read_timeline(text);
                for size in 1..=text.len().min(9) {
                    let mut reader = TimelineReader::new();
                    text.chunks(size).for_each(|it| reader.feed(it));
                    let text = String::from_utf8_lossy(text);
                    assert_eq!(reader.finish(), whole, "{size} bytes each of {text}");
                }
            }
        }
    }

    #[test]
    fn what_came_before_the_first_time_counts_from_then_on() {
        let (timeline, _) = read_timeline(b"[[-1, 1, 3, 0], [-1, 1, 4, 1]]").unwrap();
        assert_eq!((timeline.at, timeline.bytes[0][0]), (vec![Ns::ZERO], Bytes(3)));
    }

    #[test]
    fn of_a_list_that_is_too_long_its_beginning_alone_is_held() {
        let mut reader = TimelineReader::new();
        reader.feed(b"[[1, 1, 1, 1], [");
        (0..10_000).for_each(|_| reader.feed(b"1, 1, 1, 1, "));
        assert!(reader.list.as_ref().is_some_and(|it| it.len() == MAX_KEPT));
        (0..10_000).for_each(|_| reader.feed(b"11111111"));
        assert!(reader.carry.len() < 3 * MAX_DIGITS, "{}", reader.carry.len());
    }

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
