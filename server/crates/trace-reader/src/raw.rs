//! Members of JSON objects as they stand in a file, for what writes a part of a trace again: names may change then, but the digits of a
//! number may not.

use std::borrow::Cow;

use profile::HostKind;

use crate::category::{self, EventClass};
use crate::number::{self, Parsed};
use crate::scan;
use crate::template::Members;

/// What becomes of a complete event, as far as a part of a trace is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventSide {
    /// It happened on a thread.
    Host,
    /// It ran on a device.
    Device,
    /// Nothing is charged with it.
    Neither,
}

/// The side of complete events of a category. `tid` helps where the category does not.
#[must_use]
pub fn side(category: &str, name: &str, tid: &str) -> EventSide {
    match category::classify(category.as_bytes(), name.as_bytes(), tid.as_bytes()) {
        EventClass::Host(_) => EventSide::Host,
        EventClass::Device(_) => EventSide::Device,
        EventClass::Ignored | EventClass::Unknown => EventSide::Neither,
    }
}

/// Where the value ends that begins at `at`: `Ok(None)` if `text` ends before it does.
///
/// # Errors
/// The position of what cannot be there.
pub fn value_end(text: &[u8], at: usize) -> Result<Option<usize>, usize> {
    match scan::skip_value(text, at) {
        Ok(end) => Ok(Some(end)),
        Err(scan::Stop::More) => Ok(None),
        Err(scan::Stop::Bad(at)) => Err(at),
    }
}

/// Keys and values of the object that `object` is, in their order; `None` if it is none, or damaged.
#[must_use]
pub fn members(object: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    (object.first() == Some(&b'{')).then_some(())?;
    let mut members = Members::of(object, 0);
    let mut found = Vec::new();
    while let Some((key, at)) = members.next_key().ok()? {
        let end = scan::skip_value(object, at).ok()?;
        found.push((key, &object[at..end]));
        members.at = end;
    }
    Some(found)
}

/// The items of the list that `list` is, in their order; `None` if it is none, or damaged.
#[must_use]
pub fn items(list: &[u8]) -> Option<Vec<&[u8]>> {
    (list.first() == Some(&b'[')).then_some(())?;
    let mut found = Vec::new();
    let mut at = 1;
    loop {
        let (byte, start) = scan::significant(list, at).ok()?;
        match byte {
            b']' => return Some(found),
            b',' => at = start + 1,
            _ => {
                at = scan::skip_value(list, start).ok()?;
                found.push(&list[start..at]);
            }
        }
    }
}

/// The text of a JSON string, `None` of another value.
#[must_use]
pub fn text(value: &[u8]) -> Option<Cow<'_, str>> {
    let inside = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let needs_unescape = inside.iter().any(|&it| it == b'\\' || it < b' ');
    Some(crate::text::decode(&scan::RawText { raw: inside, needs_unescape }).text)
}

/// A number times 10^`scale`, also as a string; `None` of another value, or if it does not fit.
#[must_use]
pub fn number(value: &[u8], scale: usize) -> Option<i64> {
    let inside = value.strip_prefix(b"\"").and_then(|it| it.strip_suffix(b"\""));
    match number::parse(inside.unwrap_or(value), scale) {
        Parsed::Number(number) => Some(number),
        Parsed::OutOfRange | Parsed::NotANumber => None,
    }
}

/// What of an event says whether it belongs to a part of a trace. Texts stand as in the file, without their quotation marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventHead<'a> {
    /// `X` of an event that lasts, `M` of what says something of a process, …
    pub phase: &'a [u8],
    /// As in [`side`].
    pub category: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Its process, or its device.
    pub pid: &'a [u8],
    /// Its thread, or its stream.
    pub tid: &'a [u8],
    /// Of flows: what both ends have in common.
    pub id: &'a [u8],
    /// In nanoseconds.
    pub start: Option<i64>,
    /// In nanoseconds.
    pub duration: i64,
    /// The same number as on what it started on a device, or what started it.
    pub correlation: Option<i64>,
}

impl<'a> EventHead<'a> {
    /// Of an event as it stands in the file; `None` if it is no object, or damaged.
    #[must_use]
    pub fn read(event: &'a [u8]) -> Option<Self> {
        let mut head = Self::default();
        for (key, value) in members(event)? {
            match key {
                b"ph" => head.phase = inside(value),
                b"cat" => head.category = inside(value),
                b"name" => head.name = inside(value),
                b"pid" => head.pid = inside(value),
                b"tid" => head.tid = inside(value),
                b"id" => head.id = inside(value),
                b"ts" => head.start = number(value, 3),
                b"dur" => head.duration = number(value, 3).unwrap_or(0).max(0),
                b"args" => {
                    for (key, value) in members(value).unwrap_or_default() {
                        if key == b"correlation" {
                            head.correlation = number(value, 0);
                        }
                    }
                }
                _ => {}
            }
        }
        Some(head)
    }

    /// The side of a complete event.
    #[must_use]
    pub fn side(&self) -> EventSide {
        let text = |it: &'a [u8]| String::from_utf8_lossy(it);
        side(&text(self.category), &text(self.name), &text(self.tid))
    }

    /// Whether it is a range that a program, or its profiler, has named.
    #[must_use]
    pub fn is_annotation(&self) -> bool {
        category::classify(self.category, self.name, self.tid)
            == EventClass::Host(HostKind::Annotation)
    }

    /// When it ends, in nanoseconds.
    #[must_use]
    pub fn end(&self) -> i64 {
        self.start.unwrap_or(0).saturating_add(self.duration)
    }
}

fn inside(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|it| it.strip_suffix(b"\"")).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_items_stand_as_in_the_file() {
        let object = br#"{"ts": 1795248241741670.325, "args": {"a": [1, "x\u00e9"]}, "name": "k"}"#;
        let found = members(object).unwrap();
        let keys: Vec<&[u8]> = found.iter().map(|it| it.0).collect();
        assert_eq!(keys, [b"ts".as_slice(), b"args", b"name"]);
        assert_eq!(found[0].1, b"1795248241741670.325");
        assert_eq!(number(found[0].1, 3), Some(1_795_248_241_741_670_325));
        let inner = members(found[1].1).unwrap();
        let list = items(inner[0].1).unwrap();
        assert_eq!(text(list[1]).unwrap(), "xé");
        assert_eq!(
            (number(list[0], 0), number(b"\"12\"", 0), text(list[0])),
            (Some(1), Some(12), None)
        );
        for damaged in [b"{\"a\": ".as_slice(), b"[1, 2]", b"{\"a\" 1}", b""] {
            assert_eq!(members(damaged), None);
        }
    }
}
