//! One element of `traceEvents`, as it stands in the file.

use profile::WarningKind;

use crate::gap::{Gaps, Next};
use crate::number::{self, Parsed};
use crate::scan::{self, Scan, Text};

/// The parts of an event that Perfline uses. One is filled again and again: what the last event left behind counts as
/// absent.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    numbers: [i64; Number::COUNT],
    labels: [&'a [u8]; Label::COUNT],
    json: [&'a [u8]; Json::COUNT],
    triples: [[i64; 3]; Triple::COUNT],
    /// Which of the above the event has, one bit each.
    has_number: u32,
    has_label: u32,
    has_json: u32,
    has_triple: u32,
    /// Which of the labels do not stand for themselves.
    is_odd: u32,
}

/// The numbers of an event and its `args`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Number {
    /// `ts` and `dur`, in nanoseconds.
    Start,
    Duration,
    ExternalId,
    Correlation,
    PythonId,
    PythonParent,
    Sequence,
    ForwardThread,
    GraphId,
    GraphNodeId,
    CopiedBytes,
    Registers,
    SharedMemory,
    /// In tenths of a percent.
    Occupancy,
    /// In millionths.
    BlocksPerSm,
    /// Of a `[memory]` instant, like the following.
    Bytes,
    DeviceType,
    DeviceId,
    TotalAllocated,
    TotalReserved,
}

/// The texts of an event and its `args`; numbers that may be written as strings, such as ids of threads, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Label {
    Phase,
    Category,
    Name,
    Pid,
    Tid,
    Id,
    CallFrom,
    CallStack,
    /// `name` in `args` of a metadata event.
    ThreadName,
    Device,
    Stream,
    Address,
}

/// What is kept as the JSON text of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Json {
    InputDims,
    InputTypes,
    ConcreteInputs,
    Stack,
}

/// Lists of three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Triple {
    Grid,
    Block,
}

/// What stands behind a key of an event or of its `args`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Number(Number),
    Label(Label),
    Json(Json),
    Triple(Triple),
    /// Nothing of use here.
    Other,
}

/// What was odd in an event: what, where in the buffer, and what came of it.
pub(crate) type Oddity = (WarningKind, usize, &'static str);

impl Number {
    const COUNT: usize = Self::TotalReserved as usize + 1;

    /// The number is kept times ten to this power.
    fn scale(self) -> usize {
        match self {
            Self::Start | Self::Duration => 3,
            Self::Occupancy => 1,
            Self::BlocksPerSm => 6,
            _ => 0,
        }
    }
}

impl Label {
    const COUNT: usize = Self::Address as usize + 1;
}

impl Json {
    const COUNT: usize = Self::Stack as usize + 1;
}

impl Triple {
    const COUNT: usize = Self::Block as usize + 1;
}

impl Key {
    pub(crate) fn of_event(key: &[u8]) -> Self {
        match key {
            b"ph" => Self::Label(Label::Phase),
            b"cat" => Self::Label(Label::Category),
            b"name" => Self::Label(Label::Name),
            b"pid" => Self::Label(Label::Pid),
            b"tid" => Self::Label(Label::Tid),
            b"ts" => Self::Number(Number::Start),
            b"dur" => Self::Number(Number::Duration),
            b"id" => Self::Label(Label::Id),
            _ => Self::Other,
        }
    }

    pub(crate) fn of_arg(key: &[u8]) -> Self {
        match key {
            // `external id` until PyTorch 1.12, `Input dims` in 1.8.
            b"External id" | b"external id" => Self::Number(Number::ExternalId),
            b"correlation" => Self::Number(Number::Correlation),
            b"Python id" => Self::Number(Number::PythonId),
            b"Python parent id" => Self::Number(Number::PythonParent),
            b"CallFrom" => Self::Label(Label::CallFrom),
            b"Call stack" => Self::Label(Label::CallStack),
            b"Sequence number" => Self::Number(Number::Sequence),
            b"Fwd thread id" => Self::Number(Number::ForwardThread),
            b"Input Dims" | b"Input dims" => Self::Json(Json::InputDims),
            b"Input type" => Self::Json(Json::InputTypes),
            b"Concrete Inputs" => Self::Json(Json::ConcreteInputs),
            b"stack" => Self::Json(Json::Stack),
            b"name" => Self::Label(Label::ThreadName),
            b"device" => Self::Label(Label::Device),
            b"stream" => Self::Label(Label::Stream),
            b"graph id" => Self::Number(Number::GraphId),
            b"graph node id" => Self::Number(Number::GraphNodeId),
            b"bytes" => Self::Number(Number::CopiedBytes),
            b"grid" => Self::Triple(Triple::Grid),
            b"block" => Self::Triple(Triple::Block),
            b"registers per thread" => Self::Number(Number::Registers),
            b"shared memory" => Self::Number(Number::SharedMemory),
            b"est. achieved occupancy %" => Self::Number(Number::Occupancy),
            b"blocks per SM" => Self::Number(Number::BlocksPerSm),
            b"Addr" => Self::Label(Label::Address),
            b"Bytes" => Self::Number(Number::Bytes),
            b"Device Type" => Self::Number(Number::DeviceType),
            b"Device Id" => Self::Number(Number::DeviceId),
            b"Total Allocated" => Self::Number(Number::TotalAllocated),
            b"Total Reserved" => Self::Number(Number::TotalReserved),
            _ => Self::Other,
        }
    }
}

impl<'a> Event<'a> {
    pub(crate) fn new() -> Self {
        Self {
            numbers: [0; Number::COUNT],
            labels: [&[]; Label::COUNT],
            json: [&[]; Json::COUNT],
            triples: [[0; 3]; Triple::COUNT],
            has_number: 0,
            has_label: 0,
            has_json: 0,
            has_triple: 0,
            is_odd: 0,
        }
    }

    #[inline]
    pub(crate) fn number(&self, number: Number) -> Option<i64> {
        (self.has_number >> number as u32 & 1 != 0).then_some(self.numbers[number as usize])
    }

    /// A number, or -1.
    #[inline]
    pub(crate) fn id(&self, number: Number) -> i64 {
        self.number(number).unwrap_or(-1)
    }

    /// A text; empty when absent.
    #[inline]
    pub(crate) fn label(&self, label: Label) -> Text<'a> {
        let raw =
            if self.has_label >> label as u32 & 1 != 0 { self.labels[label as usize] } else { &[] };
        Text { raw, is_odd: self.is_odd >> label as u32 & 1 != 0 }
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
    /// `oddities` is cleared first.
    pub(crate) fn read(
        &mut self,
        buf: &'a [u8],
        at: usize,
        gaps: &mut Gaps,
        oddities: &mut Vec<Oddity>,
    ) -> Scan<usize> {
        oddities.clear();
        (self.has_number, self.has_label, self.has_json, self.has_triple, self.is_odd) =
            (0, 0, 0, 0, 0);
        let mut values = Values { buf, at: at + 1, oddities };
        let mut path = Gaps::start();
        loop {
            let start = values.at;
            let gap = gaps.next(buf, start, &mut path, values.oddities)?;
            values.at = start + gap.len;
            for (label, span) in gap.constants() {
                if let Some(raw) = span.get(buf, start) {
                    self.set_label(label, Text { raw, is_odd: false });
                }
            }
            match gap.next {
                Next::End => return Ok(values.at),
                Next::Value(key) => self.read_value(key, &mut values)?,
            }
        }
    }

    #[inline(always)]
    fn read_value(&mut self, key: Key, values: &mut Values<'a, '_>) -> Scan<()> {
        match key {
            Key::Number(number) => {
                let value = values.number(number.scale())?;
                self.numbers[number as usize] = value.unwrap_or(0);
                set_bit(&mut self.has_number, number as u32, value.is_some());
            }
            Key::Label(label) => self.set_label(label, values.text()?),
            Key::Json(json) => {
                let start = values.at;
                values.skip()?;
                self.json[json as usize] = &values.buf[start..values.at];
                self.has_json |= 1 << json as u32;
            }
            Key::Triple(triple) => {
                self.triples[triple as usize] = values.triple()?;
                self.has_triple |= 1 << triple as u32;
            }
            Key::Other => values.skip()?,
        }
        Ok(())
    }

    #[inline(always)]
    fn set_label(&mut self, label: Label, text: Text<'a>) {
        self.labels[label as usize] = text.raw;
        self.has_label |= 1 << label as u32;
        set_bit(&mut self.is_odd, label as u32, text.is_odd);
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
    pub(crate) oddities: &'b mut Vec<Oddity>,
}

impl<'a> Values<'a, '_> {
    #[inline(always)]
    pub(crate) fn skip(&mut self) -> Scan<()> {
        self.at = scan::skip_value(self.buf, self.at)?;
        Ok(())
    }

    /// A string, or a number as text; empty for anything else.
    #[inline(always)]
    pub(crate) fn text(&mut self) -> Scan<Text<'a>> {
        match scan::byte(self.buf, self.at)? {
            b'"' => {
                let (text, end) = scan::string(self.buf, self.at)?;
                self.at = end;
                Ok(text)
            }
            b'{' | b'[' => {
                let at = self.at;
                self.skip()?;
                self.oddities.push((
                    WarningKind::Malformed,
                    at,
                    "a list or object stands where a text belongs",
                ));
                Ok(Text::default())
            }
            _ => {
                let (raw, end) = scan::word(self.buf, self.at)?;
                self.at = end;
                Ok(if raw == b"null" { Text::default() } else { Text { raw, is_odd: false } })
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
            None => self.odd_number(scale),
        }
    }

    #[cold]
    fn odd_number(&mut self, scale: usize) -> Scan<Option<i64>> {
        let at = self.at;
        let kind = scan::byte(self.buf, at)?;
        let text = self.text()?.raw;
        if matches!(kind, b'{' | b'[') || text.is_empty() {
            return Ok(None);
        }
        match number::parse(text, scale) {
            Parsed::Number(value) => Ok(Some(value)),
            Parsed::OutOfRange => {
                self.oddities.push((
                    WarningKind::NumberOutOfRange,
                    at,
                    "a number too large for 64 bits was ignored",
                ));
                Ok(None)
            }
            Parsed::NotANumber => {
                self.oddities.push((
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
