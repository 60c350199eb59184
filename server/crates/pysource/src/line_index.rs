//! Byte offsets and positions.
//!
//! Written here because the `line-index` crate only knows `\n`: it would number the lines of a file with lone `\r`
//! differently from Python, and count `\r` as part of a line.

use std::ops::Range;

/// What a column counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units.
    Utf16,
    /// Code points.
    Utf32,
}

impl Encoding {
    /// Units of a character that takes `utf8` bytes.
    fn units(self, utf8: u32) -> u32 {
        match self {
            Self::Utf8 => utf8,
            Self::Utf16 => 1 + u32::from(utf8 == 4),
            Self::Utf32 => 1,
        }
    }
}

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// 1-based line.
    pub line: u32,
    /// 0-based column, in the units of the [`Encoding`] that was asked for.
    pub column: u32,
}

/// Where the lines of a text begin and which of its characters are not ASCII: enough to convert offsets without the
/// text. What lies beyond 4 GiB counts to the last line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineIndex {
    /// Byte offset of each line's first byte; the first is 0.
    starts: Vec<u32>,
    /// Byte offset of each line's end, before its line end: kept as its length (0, 1 or 2 bytes).
    terminators: Vec<u8>,
    /// Non-ASCII characters in text order.
    wide: Vec<WideRun>,
    /// Length of the text in bytes.
    len: u32,
}

/// Neighbouring characters that all take `utf8` bytes, 2 to 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WideRun {
    start: u32,
    chars: u32,
    utf8: u32,
}

impl WideRun {
    fn end(&self) -> u32 {
        self.start + self.chars * self.utf8
    }
}

impl LineIndex {
    /// Indexes a text, in time linear in its length.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let bytes = &text.as_bytes()[..len as usize];
        let mut index = Self { starts: vec![0], terminators: Vec::new(), wide: Vec::new(), len };
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            let is_second_half = bytes[at] == b'\n' && at > 0 && bytes[at - 1] == b'\r';
            if is_second_half {
                if let (Some(start), Some(terminator)) =
                    (index.starts.last_mut(), index.terminators.last_mut())
                {
                    *start += 1;
                    *terminator = 2;
                }
            } else {
                index.starts.push(at as u32 + 1);
                index.terminators.push(1);
            }
        }
        index.terminators.push(0);
        if !text.is_ascii() {
            index.index_wide(text);
        }
        index
    }

    fn index_wide(&mut self, text: &str) {
        // This is done after every keystroke, and most of a text is ASCII.
        let mut rest = text.bytes().enumerate();
        while let Some((at, _)) = rest.find(|(_, byte)| !byte.is_ascii()) {
            let Some(c) = text.get(at..).and_then(|text| text.chars().next()) else { break };
            let (Ok(start), utf8) = (u32::try_from(at), c.len_utf8() as u32) else { break };
            match self.wide.last_mut() {
                Some(run) if run.utf8 == utf8 && run.end() == start => run.chars += 1,
                _ => self.wide.push(WideRun { start, chars: 1, utf8 }),
            }
            rest.nth(c.len_utf8() - 2);
        }
    }

    /// Number of lines: the line ends of the text, and one.
    #[must_use]
    pub fn n_lines(&self) -> u32 {
        self.starts.len() as u32
    }

    /// The 1-based line that a byte offset is on. A line end belongs to the line it ends; an offset past the end is on
    /// the last line.
    #[must_use]
    pub fn line(&self, offset: usize) -> u32 {
        self.starts.partition_point(|&start| start as usize <= offset) as u32
    }

    /// The bytes of a line without its line end; `None` if there is no such line.
    #[must_use]
    pub fn line_range(&self, line: u32) -> Option<Range<usize>> {
        let full = self.full_line_range(line)?;
        Some(full.start..full.end - usize::from(self.terminators[line as usize - 1]))
    }

    /// The bytes of a line with its line end; `None` if there is no such line.
    #[must_use]
    pub fn full_line_range(&self, line: u32) -> Option<Range<usize>> {
        let row = (line as usize).checked_sub(1)?;
        let start = *self.starts.get(row)?;
        let end = self.starts.get(row + 1).copied().unwrap_or(self.len);
        Some(start as usize..end as usize)
    }

    /// The position of a byte offset. An offset inside a character is taken back to its start, one inside or after a
    /// line end to before it, and one past the text to its end.
    #[must_use]
    pub fn position(&self, offset: usize, encoding: Encoding) -> Position {
        let line = self.line(offset);
        let range = self.line_range(line).unwrap_or_default();
        let offset = offset.min(range.end) as u32;
        let mut column = 0;
        let mut at = range.start as u32;
        for run in self.wide_in(&range).take_while(|run| run.start < offset) {
            let chars = ((offset - run.start) / run.utf8).min(run.chars);
            column += run.start - at + chars * encoding.units(run.utf8);
            at = run.end();
        }
        Position { line, column: column + offset.saturating_sub(at) }
    }

    /// The byte offset of a position; `None` if there is no such line. A column past the end of the line is taken back
    /// to its end, one inside a character to its start.
    #[must_use]
    pub fn offset(&self, position: Position, encoding: Encoding) -> Option<usize> {
        let range = self.line_range(position.line)?;
        let mut rest = position.column;
        let mut at = range.start as u32;
        for run in self.wide_in(&range) {
            let (ascii, units) = (run.start - at, encoding.units(run.utf8));
            if rest < ascii {
                break;
            }
            rest -= ascii;
            if rest / units < run.chars {
                return Some((run.start + rest / units * run.utf8) as usize);
            }
            rest -= run.chars * units;
            at = run.end();
        }
        Some((at as usize).saturating_add(rest as usize).min(range.end))
    }

    /// The wide runs of a line. A run never spans lines, because line ends are ASCII.
    fn wide_in(&self, line: &Range<usize>) -> impl Iterator<Item = &WideRun> {
        let first = self.wide.partition_point(|run| (run.start as usize) < line.start);
        let end = line.end;
        self.wide[first..].iter().take_while(move |run| (run.start as usize) < end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each line's text, between bars.
    fn lines(text: &str) -> String {
        let index = LineIndex::new(text);
        (1..=index.n_lines())
            .map(|line| format!("|{}", &text[index.line_range(line).unwrap()]))
            .collect()
    }

    #[test]
    fn line_ends() {
        assert_eq!(lines(""), "|");
        assert_eq!(lines("a"), "|a");
        assert_eq!(lines("a\n"), "|a|");
        assert_eq!(lines("a\r\nb\rc\nd"), "|a|b|c|d");
        assert_eq!(lines("\r\r\n\n\r"), "|||||");
        assert_eq!(
            lines("form\u{c}feed and \u{2028} are no line ends"),
            "|form\u{c}feed and \u{2028} are no line ends"
        );
    }

    #[test]
    fn columns() {
        let index = LineIndex::new("x = 'é€𝄞'\r\ny");
        let columns = |offset| {
            [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32]
                .map(|encoding| index.position(offset, encoding).column)
        };
        assert_eq!(columns(5), [5, 5, 5]);
        assert_eq!(columns(7), [7, 6, 6]);
        assert_eq!(columns(10), [10, 7, 7]);
        assert_eq!(columns(14), [14, 9, 8]);
        assert_eq!(columns(15), [15, 10, 9], "the end of the line");
        assert_eq!(columns(16), [15, 10, 9], "inside the line end");
        assert_eq!(index.position(17, Encoding::Utf16), Position { line: 2, column: 0 });
        assert_eq!(index.position(usize::MAX, Encoding::Utf16), Position { line: 2, column: 1 });
    }

    #[test]
    fn meaningless_positions() {
        let index = LineIndex::new("aé\nb");
        let offset = |line, column, encoding| index.offset(Position { line, column }, encoding);
        assert_eq!(offset(0, 0, Encoding::Utf8), None);
        assert_eq!(offset(3, 0, Encoding::Utf8), None);
        assert_eq!(offset(1, 2, Encoding::Utf8), Some(1), "inside é");
        assert_eq!(offset(1, 99, Encoding::Utf16), Some(3));
        assert_eq!(offset(2, u32::MAX, Encoding::Utf32), Some(5));
        assert_eq!(index.line_range(0), None);
        assert_eq!(index.full_line_range(3), None);
    }

    proptest! {
        #[test]
        fn positions_round_trip(text in "([a-c \n\r]|\r\n|é|€|𝄞|\u{2028}){0,40}") {
            let index = LineIndex::new(&text);
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                for (offset, _) in text.char_indices().chain([(text.len(), ' ')]) {
                    let position = index.position(offset, encoding);
                    let range = index.line_range(position.line).unwrap();
                    prop_assert_eq!(index.offset(position, encoding), Some(offset.min(range.end)));
                    let before = &text[range.start..offset.min(range.end)];
                    let units = match encoding {
                        Encoding::Utf8 => before.len(),
                        Encoding::Utf16 => before.encode_utf16().count(),
                        Encoding::Utf32 => before.chars().count(),
                    };
                    prop_assert_eq!(position.column as usize, units);
                }
            }
        }

        #[test]
        fn any_position_is_a_character_boundary(
            text in "([ab\n\r]|é|€|𝄞){0,20}", line in 0u32..12, column in 0u32..30, offset in 0usize..100,
        ) {
            let index = LineIndex::new(&text);
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                if let Some(offset) = index.offset(Position { line, column }, encoding) {
                    prop_assert!(text.is_char_boundary(offset));
                }
                let position = index.position(offset, encoding);
                prop_assert!(index.offset(position, encoding).is_some_and(|offset| text.is_char_boundary(offset)));
            }
        }

        #[test]
        fn lines_cover_the_text(text in "([ab\n\r]|é){0,30}") {
            let index = LineIndex::new(&text);
            let whole: String = (1..=index.n_lines()).map(|line| &text[index.full_line_range(line).unwrap()]).collect();
            prop_assert_eq!(&whole, &text);
            let joined: Vec<&str> = (1..=index.n_lines()).map(|line| &text[index.line_range(line).unwrap()]).collect();
            prop_assert_eq!(joined.join("\n"), text.replace("\r\n", "\n").replace('\r', "\n"));
        }
    }
}
