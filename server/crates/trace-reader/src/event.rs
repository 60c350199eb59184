//! One element of `traceEvents`, as it stands in the file.

use profile::{Ns, WarningKind};

use crate::number::{self, Parsed};
use crate::scan::{self, Scan, Stop, Text};

/// The parts of an event that Perfline uses. Texts point into the buffer.
#[derive(Debug, Clone)]
pub(crate) struct Event<'a> {
    /// `ph`; 0 when absent.
    pub(crate) phase: u8,
    /// `cat`; empty when absent.
    pub(crate) category: &'a [u8],
    pub(crate) name: Text<'a>,
    /// `pid` and `tid` as text, whether the file has a string or a number.
    pub(crate) pid: Text<'a>,
    pub(crate) tid: Text<'a>,
    /// `id` as text.
    pub(crate) id: Text<'a>,
    /// `ts`.
    pub(crate) start: Option<Ns>,
    /// `dur`.
    pub(crate) duration: Option<Ns>,
    pub(crate) args: Args<'a>,
}

/// The parts of `args` that Perfline uses. Numbers are -1, texts empty when absent.
#[derive(Debug, Clone)]
pub(crate) struct Args<'a> {
    pub(crate) external_id: i64,
    pub(crate) correlation: i64,
    pub(crate) python_id: i64,
    pub(crate) python_parent: i64,
    pub(crate) call_from: Text<'a>,
    pub(crate) call_stack: Text<'a>,
    pub(crate) sequence: i64,
    pub(crate) forward_thread: i64,
    /// `Input Dims`, `Input type`, `stack`: the JSON text of the file.
    pub(crate) input_dims: &'a [u8],
    pub(crate) input_types: &'a [u8],
    pub(crate) stack: &'a [u8],
    /// `name` of a metadata event.
    pub(crate) name: Text<'a>,
    pub(crate) device: Text<'a>,
    pub(crate) stream: Text<'a>,
    pub(crate) graph_id: i64,
    pub(crate) graph_node_id: i64,
    pub(crate) bytes: i64,
    pub(crate) grid: [i64; 3],
    pub(crate) block: [i64; 3],
    pub(crate) registers: i64,
    pub(crate) shared_memory: i64,
    /// In tenths of a percent.
    pub(crate) occupancy: i64,
    pub(crate) memory: Memory<'a>,
}

/// The args of a `[memory]` instant.
#[derive(Debug, Clone)]
pub(crate) struct Memory<'a> {
    pub(crate) address: Text<'a>,
    pub(crate) bytes: Option<i64>,
    pub(crate) device_type: i64,
    pub(crate) device_id: i64,
    pub(crate) total_allocated: i64,
    pub(crate) total_reserved: i64,
}

/// What was odd in an event: what, where in the buffer, and what came of it.
pub(crate) type Oddity = (WarningKind, usize, &'static str);

const NO_TEXT: Text<'static> = Text { raw: &[], is_escaped: false };

impl Event<'_> {
    const EMPTY: Self = Self {
        phase: 0,
        category: &[],
        name: NO_TEXT,
        pid: NO_TEXT,
        tid: NO_TEXT,
        id: NO_TEXT,
        start: None,
        duration: None,
        args: Args {
            external_id: -1,
            correlation: -1,
            python_id: -1,
            python_parent: -1,
            call_from: NO_TEXT,
            call_stack: NO_TEXT,
            sequence: -1,
            forward_thread: 0,
            input_dims: &[],
            input_types: &[],
            stack: &[],
            name: NO_TEXT,
            device: NO_TEXT,
            stream: NO_TEXT,
            graph_id: -1,
            graph_node_id: -1,
            bytes: -1,
            grid: [0; 3],
            block: [0; 3],
            registers: 0,
            shared_memory: 0,
            occupancy: -1,
            memory: Memory {
                address: NO_TEXT,
                bytes: None,
                device_type: 0,
                device_id: -1,
                total_allocated: -1,
                total_reserved: -1,
            },
        },
    };
}

/// Reads the event whose `{` is at `at`: the event and the position after it. Of a key that is there twice, the last
/// counts. `oddities` is cleared first.
pub(crate) fn read<'a>(
    buf: &'a [u8],
    at: usize,
    oddities: &mut Vec<Oddity>,
) -> Scan<(Event<'a>, usize)> {
    oddities.clear();
    let mut event = Event::EMPTY;
    let mut members = Members { buf, at: at + 1 };
    while let Some((key, at)) = members.next_key()? {
        let mut values = Values { buf, at, oddities };
        match key {
            b"ph" => event.phase = values.text()?.raw.first().copied().unwrap_or(0),
            b"cat" => event.category = values.text()?.raw,
            b"name" => event.name = values.text()?,
            b"pid" => event.pid = values.text()?,
            b"tid" => event.tid = values.text()?,
            b"ts" => event.start = values.number(3)?,
            b"dur" => event.duration = values.number(3)?,
            b"id" => event.id = values.text()?,
            b"args" => values.args(&mut event.args)?,
            _ => values.skip()?,
        }
        members.at = values.at;
    }
    Ok((event, members.at))
}

/// Walks the members of an object.
pub(crate) struct Members<'a> {
    pub(crate) buf: &'a [u8],
    /// Position after the opening brace or the last value.
    pub(crate) at: usize,
}

impl<'a> Members<'a> {
    /// The next key and the position of its value; `None` past the closing brace. Commas may be missing at the front
    /// and be too many elsewhere, but values need one between them.
    #[inline(always)]
    pub(crate) fn next_key(&mut self) -> Scan<Option<(&'a [u8], usize)>> {
        let (mut byte, mut at) = scan::significant(self.buf, self.at)?;
        let mut is_separated = self.buf[self.at - 1] == b'{';
        while byte == b',' {
            is_separated = true;
            (byte, at) = scan::significant(self.buf, at + 1)?;
        }
        match byte {
            b'"' if is_separated => scan::key(self.buf, at).map(Some),
            b'}' => {
                self.at = at + 1;
                Ok(None)
            }
            _ => Err(Stop::Bad(at)),
        }
    }
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
                Ok(NO_TEXT)
            }
            _ => {
                let (raw, end) = scan::word(self.buf, self.at)?;
                self.at = end;
                Ok(if raw == b"null" { NO_TEXT } else { Text { raw, is_escaped: false } })
            }
        }
    }

    /// A value of any kind as the JSON text of the file.
    #[inline(always)]
    fn json(&mut self) -> Scan<&'a [u8]> {
        let start = self.at;
        self.skip()?;
        Ok(&self.buf[start..self.at])
    }

    /// A number times 10^`scale`, also as a string; `None` if it is `null` or cannot be read.
    #[inline(always)]
    pub(crate) fn number(&mut self, scale: u32) -> Scan<Option<i64>> {
        match number::plain(self.buf, self.at, scale)? {
            Some((value, end)) => {
                self.at = end;
                Ok(Some(value))
            }
            None => self.odd_number(scale),
        }
    }

    #[cold]
    fn odd_number(&mut self, scale: u32) -> Scan<Option<i64>> {
        let at = self.at;
        let kind = scan::byte(self.buf, at)?;
        let text = self.text()?.raw;
        if matches!(kind, b'{' | b'[') || text.is_empty() {
            return Ok(None);
        }
        match number::parse(text, i64::from(scale)) {
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

    /// An integer; -1 when there is none.
    #[inline(always)]
    fn integer(&mut self) -> Scan<i64> {
        Ok(self.number(0)?.unwrap_or(-1))
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

    #[inline(always)]
    fn args(&mut self, args: &mut Args<'a>) -> Scan<()> {
        if scan::byte(self.buf, self.at)? != b'{' {
            return self.skip();
        }
        let mut members = Members { buf: self.buf, at: self.at + 1 };
        while let Some((key, at)) = members.next_key()? {
            self.at = at;
            self.arg(key, args)?;
            members.at = self.at;
        }
        self.at = members.at;
        Ok(())
    }

    #[inline(always)]
    fn arg(&mut self, key: &[u8], args: &mut Args<'a>) -> Scan<()> {
        // By length first: most keys then are told apart by one comparison.
        match key.len() {
            4 => match key {
                b"name" => args.name = self.text()?,
                b"grid" => args.grid = self.triple()?,
                b"Addr" => args.memory.address = self.text()?,
                _ => self.skip()?,
            },
            5 => match key {
                b"block" => args.block = self.triple()?,
                b"bytes" => args.bytes = self.integer()?,
                b"Bytes" => args.memory.bytes = self.number(0)?,
                b"stack" => args.stack = self.json()?,
                _ => self.skip()?,
            },
            6 => match key {
                b"device" => args.device = self.text()?,
                b"stream" => args.stream = self.text()?,
                _ => self.skip()?,
            },
            8 => match key {
                b"CallFrom" => args.call_from = self.text()?,
                b"graph id" => args.graph_id = self.integer()?,
                _ => self.skip()?,
            },
            9 => match key {
                b"Python id" => args.python_id = self.integer()?,
                b"Device Id" => args.memory.device_id = self.integer()?,
                _ => self.skip()?,
            },
            10 => match key {
                b"Input Dims" | b"Input dims" => args.input_dims = self.json()?,
                b"Input type" => args.input_types = self.json()?,
                b"Call stack" => args.call_stack = self.text()?,
                _ => self.skip()?,
            },
            11 => match key {
                b"External id" | b"external id" => args.external_id = self.integer()?,
                b"correlation" => args.correlation = self.integer()?,
                b"Device Type" => args.memory.device_type = self.number(0)?.unwrap_or(0),
                _ => self.skip()?,
            },
            13 => match key {
                b"Fwd thread id" => args.forward_thread = self.number(0)?.unwrap_or(0),
                b"graph node id" => args.graph_node_id = self.integer()?,
                b"shared memory" => args.shared_memory = self.number(0)?.unwrap_or(0),
                _ => self.skip()?,
            },
            14 if key == b"Total Reserved" => args.memory.total_reserved = self.integer()?,
            15 => match key {
                b"Sequence number" => args.sequence = self.integer()?,
                b"Total Allocated" => args.memory.total_allocated = self.integer()?,
                _ => self.skip()?,
            },
            16 if key == b"Python parent id" => args.python_parent = self.integer()?,
            20 if key == b"registers per thread" => args.registers = self.number(0)?.unwrap_or(0),
            25 if key == b"est. achieved occupancy %" => {
                args.occupancy = self.number(1)?.unwrap_or(-1)
            }
            _ => self.skip()?,
        }
        Ok(())
    }
}
