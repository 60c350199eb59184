//! A trace piece by piece: what stands beside the events, and each event, as bytes of the file.

use std::io::{self, Read};

use trace_reader::raw;

/// Bytes that are read at once.
const READ: usize = 256 << 10;

/// Bytes of one value at most; a larger one is passed over.
const MAX_VALUE: usize = 64 << 20;

/// A piece of a trace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TracePiece<'a> {
    /// A member of the outermost object: key and value.
    Member(&'a [u8], &'a [u8]),
    /// An element of `traceEvents`, or of the list that the file is.
    Event(&'a [u8]),
}

/// Reads a trace in pieces. What is damaged is passed over and counted.
pub(crate) struct Pieces<R> {
    input: R,
    buffer: Vec<u8>,
    at: usize,
    place: PiecePlace,
    /// How often something stood where it cannot.
    pub(crate) damaged: u64,
    has_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PiecePlace {
    Start,
    Members,
    Events { is_outermost: bool },
    End,
}

impl<R: Read> Pieces<R> {
    pub(crate) fn new(input: R) -> Self {
        let buffer = Vec::new();
        Self { input, buffer, at: 0, place: PiecePlace::Start, damaged: 0, has_ended: false }
    }

    /// The next piece, until there is none.
    pub(crate) fn next(&mut self) -> io::Result<Option<TracePiece<'_>>> {
        loop {
            let Some(byte) = self.significant()? else { return Ok(None) };
            match (self.place, byte) {
                (PiecePlace::Start, b'{') => self.go(PiecePlace::Members),
                (PiecePlace::Start, b'[') => self.go(PiecePlace::Events { is_outermost: true }),
                (PiecePlace::Members, b'}') => self.go(PiecePlace::End),
                (PiecePlace::Members | PiecePlace::Events { .. }, b',') => self.at += 1,
                (PiecePlace::Members, b'"') => {
                    if let Some((key, value)) = self.member()? {
                        return Ok(Some(TracePiece::Member(
                            &self.buffer[key],
                            &self.buffer[value],
                        )));
                    }
                }
                (PiecePlace::Events { is_outermost }, b']') => {
                    self.go(if is_outermost { PiecePlace::End } else { PiecePlace::Members });
                }
                (PiecePlace::Events { .. }, b'{') => {
                    if let Some(event) = self.value(self.at)? {
                        self.at = event.end;
                        return Ok(Some(TracePiece::Event(&self.buffer[event])));
                    }
                }
                (PiecePlace::End, _) => return Ok(None),
                _ => {
                    self.damaged += 1;
                    self.at += 1;
                }
            }
        }
    }

    fn go(&mut self, place: PiecePlace) {
        self.place = place;
        self.at += 1;
    }

    /// The member whose key begins here; `None` where its value is the list of events, or cannot be read.
    fn member(&mut self) -> io::Result<Option<(std::ops::Range<usize>, std::ops::Range<usize>)>> {
        let Some(key) = self.value(self.at)? else { return Ok(None) };
        let mut at = key.end;
        let mut colons = 0;
        loop {
            match self.buffer.get(at).copied() {
                Some(b':') => colons += 1,
                Some(b' ' | b'\n' | b'\r' | b'\t') => {}
                None if self.more()? => continue,
                _ => break,
            }
            at += 1;
        }
        if colons != 1 {
            self.damaged += 1;
            self.at = key.end;
            return Ok(None);
        }
        let inside = key.start + 1..key.end - 1;
        if &self.buffer[inside.clone()] == b"traceEvents" && self.buffer.get(at) == Some(&b'[') {
            self.at = at;
            self.go(PiecePlace::Events { is_outermost: false });
            return Ok(None);
        }
        // What was read so far stays in the buffer.
        let Some(value) = self.value(at)? else { return Ok(None) };
        self.at = value.end;
        Ok(Some((inside, value)))
    }

    /// Where the value at `start` is in the buffer; `None` past one that is damaged.
    fn value(&mut self, start: usize) -> io::Result<Option<std::ops::Range<usize>>> {
        loop {
            match raw::value_end(&self.buffer, start) {
                Ok(Some(end)) => return Ok(Some(start..end)),
                Ok(None) if self.buffer.len() - start < MAX_VALUE && self.more()? => {}
                Ok(None) => {
                    self.damaged += 1;
                    self.at = self.buffer.len();
                    return Ok(None);
                }
                Err(at) => {
                    self.damaged += 1;
                    self.at = at.max(start + 1);
                    return Ok(None);
                }
            }
        }
    }

    /// The next byte that is no white space.
    fn significant(&mut self) -> io::Result<Option<u8>> {
        // What was handed out is not needed any more.
        if READ < self.at {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        loop {
            match self.buffer.get(self.at).copied() {
                Some(b' ' | b'\n' | b'\r' | b'\t' | 0xef | 0xbb | 0xbf) => self.at += 1,
                Some(byte) => return Ok(Some(byte)),
                None if self.more()? => {}
                None => return Ok(None),
            }
        }
    }

    /// Reads on, twice as much as there is where that is much, so that long values are not looked at again and again.
    fn more(&mut self) -> io::Result<bool> {
        if self.has_ended {
            return Ok(false);
        }
        let wanted = READ.max(self.buffer.len() - self.at);
        let read = (&mut self.input).take(wanted as u64).read_to_end(&mut self.buffer)?;
        self.has_ended = read == 0;
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time.
    struct OneByOne<'a>(&'a [u8]);

    impl Read for OneByOne<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(buffer.len()).min(1);
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn shown(text: &str) -> (Vec<String>, u64) {
        let mut pieces = Pieces::new(OneByOne(text.as_bytes()));
        let mut found = Vec::new();
        while let Some(piece) = pieces.next().unwrap() {
            let text = |it: &[u8]| String::from_utf8_lossy(it).into_owned();
            found.push(match piece {
                TracePiece::Member(key, value) => format!("{}={}", text(key), text(value)),
                TracePiece::Event(event) => text(event),
            });
        }
        (found, pieces.damaged)
    }

    #[test]
    fn members_and_events_come_one_by_one() {
        let (found, damaged) = shown(
            r#"{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [ {"ph":"X"} , {"ph":"M","args":{"a":[]}}], "traceName": "a.json"}"#,
        );
        let expected = [
            "schemaVersion=1",
            "deviceProperties=[]",
            r#"{"ph":"X"}"#,
            r#"{"ph":"M","args":{"a":[]}}"#,
            r#"traceName="a.json""#,
        ];
        assert_eq!((found, damaged), (expected.map(str::to_owned).to_vec(), 0));
        assert_eq!(shown(r#"[{"ph":"X"}]"#), (vec![r#"{"ph":"X"}"#.to_owned()], 0));
    }

    #[test]
    fn what_is_damaged_is_passed_over() {
        let (found, damaged) = shown(r#"{"traceEvents": [{"a":1}, x {"b":2}, {"c":3"#);
        assert_eq!(found, [r#"{"a":1}"#, r#"{"b":2}"#]);
        assert!(0 < damaged);
        assert_eq!(shown("").0, Vec::<String>::new());
    }
}
