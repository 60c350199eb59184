//! One element of `traceEvents`, as it stands in the file.

use profile::WarningKind;

use crate::keys::{Anomaly, EventKey, EventNumber, Json, Label, Triple};
use crate::number::{self, Parsed};
use crate::scan::{self, RawText, Scan};
use crate::template::{Next, TemplateCache};

/// The parts of an event that Perfline uses. One is filled again and again: what the last event left behind counts as
/// absent.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    numbers: [i64; EventNumber::COUNT],
    labels: [&'a [u8]; Label::COUNT],
    json: [&'a [u8]; Json::COUNT],
    triples: [[i64; 3]; Triple::COUNT],
    /// Which of the above the event has, one bit each.
    has_number: u32,
    has_label: u32,
    has_json: u32,
    has_triple: u32,
    /// Which of the labels do not stand for themselves.
    needs_unescape: u32,
}

impl<'a> Event<'a> {
    pub(crate) fn new() -> Self {
        Self {
            numbers: [0; EventNumber::COUNT],
            labels: [&[]; Label::COUNT],
            json: [&[]; Json::COUNT],
            triples: [[0; 3]; Triple::COUNT],
            has_number: 0,
            has_label: 0,
            has_json: 0,
            has_triple: 0,
            needs_unescape: 0,
        }
    }

    #[inline]
    pub(crate) fn number(&self, number: EventNumber) -> Option<i64> {
        (self.has_number >> number as u32 & 1 != 0).then_some(self.numbers[number as usize])
    }

    /// A number, or -1.
    #[inline]
    pub(crate) fn id(&self, number: EventNumber) -> i64 {
        self.number(number).unwrap_or(-1)
    }

    /// A text; empty when absent.
    #[inline]
    pub(crate) fn label(&self, label: Label) -> RawText<'a> {
        let raw =
            if self.has_label >> label as u32 & 1 != 0 { self.labels[label as usize] } else { &[] };
        RawText { raw, needs_unescape: self.needs_unescape >> label as u32 & 1 != 0 }
    }

    /// The JSON text of the file; empty when absent.
    #[inline]
    pub(crate) fn json(&self, json: Json) -> &'a [u8] {
        if self.has_json >> json as u32 & 1 != 0 { self.json[json as usize] } else { &[] }
    }

    /// Zeros when absent.
    #[inline]
    pub(crate) fn triple(&self, triple: Triple) -> [i64; 3] {
        if self.has_triple >> triple as u32 & 1 != 0 {
            self.triples[triple as usize]
        } else {
            [0; 3]
        }
    }

    /// Reads the event whose `{` is at `at`: the position after it. Of a key that is there twice, the last counts.
    /// `anomalies` is cleared first.
    pub(crate) fn read(
        &mut self,
        buf: &'a [u8],
        at: usize,
        templates: &mut TemplateCache,
        anomalies: &mut Vec<Anomaly>,
    ) -> Scan<usize> {
        anomalies.clear();
        (self.has_number, self.has_label, self.has_json, self.has_triple, self.needs_unescape) =
            (0, 0, 0, 0, 0);
        let mut values = Values { buf, at: at + 1, anomalies };
        let mut path = TemplateCache::start();
        loop {
            let start = values.at;
            let template = templates.next(buf, start, &mut path, values.anomalies)?;
            values.at = start + template.len;
            if template.has_constants {
                for (label, span) in template.constants() {
                    if let Some(raw) = span.get(buf, start) {
                        self.set_label(label, RawText { raw, needs_unescape: false });
                    }
                }
            }
            match template.next {
                Next::End => return Ok(values.at),
                Next::Value(key) => self.read_value(key, &mut values)?,
            }
        }
    }

    #[inline(always)]
    fn read_value(&mut self, key: EventKey, values: &mut Values<'a, '_>) -> Scan<()> {
        match key {
            EventKey::Number(number) => {
                let value = values.number(number.scale())?;
                self.numbers[number as usize] = value.unwrap_or(0);
                set_bit(&mut self.has_number, number as u32, value.is_some());
            }
            EventKey::Label(label) => self.set_label(label, values.text()?),
            EventKey::Json(json) => {
                let start = values.at;
                values.skip()?;
                self.json[json as usize] = &values.buf[start..values.at];
                self.has_json |= 1 << json as u32;
            }
            EventKey::Triple(triple) => {
                self.triples[triple as usize] = values.triple()?;
                self.has_triple |= 1 << triple as u32;
            }
            EventKey::Other => values.skip()?,
        }
        Ok(())
    }

    #[inline(always)]
    fn set_label(&mut self, label: Label, text: RawText<'a>) {
        self.labels[label as usize] = text.raw;
        self.has_label |= 1 << label as u32;
        set_bit(&mut self.needs_unescape, label as u32, text.needs_unescape);
    }
}

#[inline(always)]
fn set_bit(bits: &mut u32, bit: u32, is_set: bool) {
    *bits = *bits & !(1 << bit) | u32::from(is_set) << bit;
}

/// Reads values, one after the other.
pub(crate) struct Values<'a, 'b> {
    pub(crate) buf: &'a [u8],
    pub(crate) at: usize,
    pub(crate) anomalies: &'b mut Vec<Anomaly>,
}

impl<'a> Values<'a, '_> {
    #[inline(always)]
    pub(crate) fn skip(&mut self) -> Scan<()> {
        self.at = scan::skip_value(self.buf, self.at)?;
        Ok(())
    }

    /// A string, or a number as text; empty for anything else.
    #[inline(always)]
    pub(crate) fn text(&mut self) -> Scan<RawText<'a>> {
        match scan::byte(self.buf, self.at)? {
            b'"' => {
                let (text, end) = scan::string(self.buf, self.at)?;
                self.at = end;
                Ok(text)
            }
            b'{' | b'[' => {
                let at = self.at;
                self.skip()?;
                self.anomalies.push((
                    WarningKind::Malformed,
                    at,
                    "a list or object stands where a text belongs",
                ));
                Ok(RawText::default())
            }
            _ => {
                let (raw, end) = scan::word(self.buf, self.at)?;
                self.at = end;
                Ok(if raw == b"null" {
                    RawText::default()
                } else {
                    RawText { raw, needs_unescape: false }
                })
            }
        }
    }

    /// A number times 10^`scale`, also as a string; `None` if it is `null` or cannot be read.
    #[inline(always)]
    pub(crate) fn number(&mut self, scale: usize) -> Scan<Option<i64>> {
        match number::plain(self.buf, self.at, scale)? {
            Some((value, end)) => {
                self.at = end;
                Ok(Some(value))
            }
            None => self.unusual_number(scale),
        }
    }

    #[cold]
    fn unusual_number(&mut self, scale: usize) -> Scan<Option<i64>> {
        let at = self.at;
        let kind = scan::byte(self.buf, at)?;
        let text = self.text()?.raw;
        if matches!(kind, b'{' | b'[') || text.is_empty() {
            return Ok(None);
        }
        match number::parse(text, scale) {
            Parsed::Number(value) => Ok(Some(value)),
            Parsed::OutOfRange => {
                self.anomalies.push((
                    WarningKind::NumberOutOfRange,
                    at,
                    "a number too large for 64 bits was ignored",
                ));
                Ok(None)
            }
            Parsed::NotANumber => {
                self.anomalies.push((
                    WarningKind::BareWord,
                    at,
                    "a word that is not a number was ignored",
                ));
                Ok(None)
            }
        }
    }

    /// A list of three integers, as `grid` and `block` are written.
    fn triple(&mut self) -> Scan<[i64; 3]> {
        let mut triple = [0; 3];
        if scan::byte(self.buf, self.at)? != b'[' {
            self.skip()?;
            return Ok(triple);
        }
        self.at += 1;
        let mut index = 0;
        loop {
            let (byte, at) = scan::significant(self.buf, self.at)?;
            self.at = at;
            match byte {
                b']' => break,
                b',' => self.at += 1,
                _ => {
                    let value = self.number(0)?;
                    if let Some(place) = triple.get_mut(index) {
                        *place = value.unwrap_or(0);
                    }
                    index += 1;
                }
            }
        }
        self.at += 1;
        Ok(triple)
    }
}
