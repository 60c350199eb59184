//! Walks the bytes: what stands where in a trace, what to do where something else stands, and what to carry over from
//! one piece of input to the next.

use memchr::memchr2;
use profile::{Profile, WarningKind, Warnings};

use crate::chunk::ParsedChunk;
use crate::envelope;
use crate::event::Event;
use crate::keys::Anomaly;
use crate::scan::{self, Scan, Stop};
use crate::tables::Tables;
use crate::template::TemplateCache;

/// Bytes of one unfinished value that are kept at most.
const MAX_CARRIED: usize = 256 << 20;

/// Bytes that are added at least before an unfinished value is tried again: some events.
const MIN_ADDED: usize = 4 << 10;

/// Reads a Kineto trace piece by piece. See [`Trace`] for what comes out.
#[derive(Debug)]
pub struct TraceReader {
    tables: Tables,
    place: JsonContext,
    /// Whether the outermost value is the list of events (PyTorch before 1.8).
    is_bare: bool,
    /// Whether the outermost value was closed.
    is_closed: bool,
    has_structure: bool,
    /// Where something else stands in place of the list of events.
    no_list: Option<u64>,
    /// The beginning of a value whose end was not fed yet.
    carry: Vec<u8>,
    /// Length of `carry` at which it is tried again: it doubles, so that a long value fed in small pieces is read in
    /// linear time.
    retry_at: usize,
    max_carried: usize,
    /// Offset in the input of the first byte that was not consumed.
    offset: u64,
    /// In damage: the last consumed byte that is not whitespace.
    before: u8,
    lost_bytes: u64,
    /// Bytes of damaged values that were read in vain.
    rescanned: u64,
    /// Of the event at hand.
    anomalies: Vec<Anomaly>,
    templates: TemplateCache,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonContext {
    /// Before the outermost value.
    Start,
    /// Between the members of the outermost object.
    Members,
    /// Between the elements of `traceEvents`.
    Events,
    /// After the outermost value.
    End,
    /// In damage.
    Lost,
}

/// What was read from one trace.
#[derive(Debug)]
pub struct Trace {
    /// The tables.
    pub profile: Profile,
    /// The anomalies that were met.
    pub warnings: Warnings,
    /// Elements of `traceEvents` that were read, of any kind.
    pub events: u64,
    /// Bytes that were fed.
    pub bytes: u64,
    /// Of these, bytes of damaged or unfinished values that were not read.
    pub lost_bytes: u64,
    /// Whether the input ended where the trace does and nothing was lost.
    pub complete: bool,
    /// Whether anything that only a trace has was found.
    pub looks_like_trace: bool,
    /// Where something else stands in place of the list of events: byte offset of the value of `traceEvents`.
    pub no_list: Option<u64>,
}

impl Default for TraceReader {
    fn default() -> Self {
        Self::new()
    }
}

impl TraceReader {
    /// A reader to which nothing was fed.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tables: Tables::default(),
            place: JsonContext::Start,
            is_bare: false,
            is_closed: false,
            has_structure: false,
            no_list: None,
            carry: Vec::new(),
            retry_at: MIN_ADDED,
            max_carried: MAX_CARRIED,
            offset: 0,
            before: b',',
            lost_bytes: 0,
            rescanned: 0,
            anomalies: Vec::new(),
            templates: TemplateCache::new(),
        }
    }

    /// Reads on. Events are read from where they lie; only a value that `bytes` does not hold whole is copied. How the
    /// input is cut into pieces makes no difference to the result.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !self.carry.is_empty() {
            let n_old = self.carry.len();
            let n_added = (self.retry_at - n_old).min(bytes.len());
            self.carry.extend_from_slice(&bytes[..n_added]);
            if self.carry.len() < self.retry_at {
                return;
            }
            let mut carry = std::mem::take(&mut self.carry);
            let used = self.advance(&carry, n_old);
            if used >= n_old {
                // The rest is read from where it lies.
                bytes = &bytes[used - n_old..];
                carry.clear();
                self.carry = carry;
            } else {
                bytes = &bytes[n_added..];
                carry.drain(..used);
                self.carry_over(carry);
            }
        }
        let used = self.advance(bytes, bytes.len());
        let mut carry = std::mem::take(&mut self.carry);
        carry.extend_from_slice(&bytes[used..]);
        self.carry_over(carry);
    }

    /// Like [`Self::feed`], with what was read of `bytes` ahead ([`SpeculativeReader::read`](crate::SpeculativeReader::read)). It
    /// makes no difference to the result.
    pub fn feed_chunk(&mut self, bytes: &[u8], chunk: Option<&ParsedChunk>) {
        let Some(chunk) = chunk else { return self.feed(bytes) };
        self.feed(&bytes[..chunk.start]);
        self.retry();
        let is_there = self.place == JsonContext::Events && self.carry.is_empty();
        let shift = self.offset.wrapping_sub(chunk.start as u64);
        if is_there && self.tables.append(&chunk.tables, shift) {
            self.offset += (chunk.end - chunk.start) as u64;
            self.feed(&bytes[chunk.end..]);
        } else {
            self.feed(&bytes[chunk.start..]);
        }
    }

    /// Elements of `traceEvents` that were read so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.tables.events
    }

    /// What was read. Whatever the end of the input cuts off is counted as lost.
    #[must_use]
    pub fn finish(mut self) -> Trace {
        let carry = std::mem::take(&mut self.carry);
        let bytes = self.offset + carry.len() as u64;
        self.read_last(&carry);
        self.tables.finish();
        let Tables { profile, warnings, events, phased, .. } = self.tables;
        Trace {
            profile,
            warnings,
            events,
            bytes,
            lost_bytes: self.lost_bytes,
            complete: self.is_closed && self.lost_bytes == 0,
            looks_like_trace: self.has_structure || phased > 0,
            no_list: self.no_list,
        }
    }

    /// Tries an unfinished value again, although little was added to it.
    fn retry(&mut self) {
        let mut carry = std::mem::take(&mut self.carry);
        let used = self.advance(&carry, carry.len());
        carry.drain(..used);
        self.carry_over(carry);
    }

    /// A reader between two events of a trace.
    pub(crate) fn among_events(templates: TemplateCache) -> Self {
        Self { place: JsonContext::Events, templates, ..Self::new() }
    }

    /// Reads the event that follows `at`, if it is one and whole: the position after it.
    #[inline]
    pub(crate) fn next_event<'a>(
        &mut self,
        buf: &'a [u8],
        at: usize,
        event: &mut Event<'a>,
    ) -> Option<usize> {
        let next = self.element(buf, at, event).ok();
        next.filter(|_| self.place == JsonContext::Events)
    }

    pub(crate) fn into_tables(self) -> (Tables, TemplateCache) {
        (self.tables, self.templates)
    }

    fn carry_over(&mut self, mut carry: Vec<u8>) {
        if carry.len() > self.max_carried {
            let message = "a value that is too long was skipped";
            self.tables.warnings.add(WarningKind::Malformed, self.offset, message);
            let mut used = self.lose(&carry, 0, carry.len());
            self.offset += used as u64;
            used += self.advance(&carry[used..], carry.len() - used);
            carry.drain(..used);
        }
        let longest = (self.max_carried + 1).max(carry.len() + 1);
        self.retry_at = longest.min(carry.len() + carry.len().max(MIN_ADDED));
        self.carry = carry;
    }

    /// Reads what is left when the input has ended.
    fn read_last(&mut self, mut rest: &[u8]) {
        let mut unfinished = None;
        loop {
            let used = self.advance(rest, rest.len());
            rest = &rest[used..];
            let is_lost = self.place == JsonContext::Lost;
            if let Some(offset) = unfinished.take() {
                // A value without an end may have swallowed others.
                let (kind, message) = if is_lost {
                    (
                        WarningKind::Truncated,
                        "the file ends inside a value; everything before was read",
                    )
                } else {
                    (WarningKind::Malformed, "a value without an end was skipped")
                };
                self.tables.warnings.add(kind, offset, message);
            }
            if is_lost {
                self.lost_bytes += rest.len() as u64;
                return;
            }
            let start = start_of_value(rest, 0);
            if start == rest.len() {
                break;
            }
            unfinished = Some(self.offset + start as u64);
            let used = self.lose(rest, 0, rest.len());
            self.offset += used as u64;
            rest = &rest[used..];
        }
        let offset = self.offset + rest.len() as u64;
        if !self.is_closed && self.place != JsonContext::Start {
            let message = "the file ends before the trace does; everything before was read";
            self.tables.warnings.add(WarningKind::Truncated, offset, message);
        }
    }

    /// Reads values until at least `enough` bytes of `buf` are consumed or the next value is not whole: how many bytes
    /// were consumed.
    fn advance(&mut self, buf: &[u8], enough: usize) -> usize {
        let mut event = Event::new();
        let mut at = 0;
        while at < enough.min(buf.len()) {
            match self.step(buf, at, &mut event) {
                Ok(next) => at = next,
                Err(Stop::More) => break,
                Err(Stop::Bad(bad)) => {
                    let offset = self.offset + bad as u64;
                    self.tables.warnings.add(
                        WarningKind::Malformed,
                        offset,
                        "bytes that cannot be read were skipped",
                    );
                    at = self.lose(buf, at, bad);
                }
            }
        }
        self.offset += at as u64;
        at
    }

    /// Reads one value, and whatever separates it from the one before: the position after it.
    #[inline]
    fn step<'a>(&mut self, buf: &'a [u8], at: usize, event: &mut Event<'a>) -> Scan<usize> {
        match self.place {
            JsonContext::Events => self.element(buf, at, event),
            JsonContext::Members => self.member(buf, at),
            JsonContext::Start => self.start(buf, at),
            JsonContext::End => self.end(buf, at),
            JsonContext::Lost => self.find_again(buf, at),
        }
    }

    fn start(&mut self, buf: &[u8], at: usize) -> Scan<usize> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        let rest = &buf[at..];
        if rest.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(rest) {
            return Err(Stop::More);
        }
        let at = if rest.starts_with(BYTE_ORDER_MARK) { at + BYTE_ORDER_MARK.len() } else { at };
        let (byte, at) = scan::significant(buf, at)?;
        (self.place, self.is_bare) = match byte {
            b'{' => (JsonContext::Members, false),
            b'[' => (JsonContext::Events, true),
            _ => return Err(Stop::Bad(at)),
        };
        Ok(at + 1)
    }

    fn end(&mut self, buf: &[u8], at: usize) -> Scan<usize> {
        match scan::significant(buf, at) {
            Ok((_, at)) => Err(Stop::Bad(at)),
            Err(_) => Ok(buf.len()),
        }
    }

    fn member(&mut self, buf: &[u8], at: usize) -> Scan<usize> {
        let (byte, at) = scan::significant(buf, at)?;
        match byte {
            b',' => Ok(at + 1),
            b'}' => {
                self.place = JsonContext::End;
                self.is_closed = true;
                Ok(at + 1)
            }
            b'"' => {
                let (key, value) = scan::key(buf, at)?;
                self.has_structure |= envelope::is_key_of_trace(key);
                let is_list = scan::byte(buf, value)? == b'[';
                if key == b"traceEvents" && is_list {
                    self.place = JsonContext::Events;
                    return Ok(value + 1);
                }
                let end = scan::skip_value(buf, value)?;
                if key == b"traceEvents" {
                    self.no_list.get_or_insert(self.offset + value as u64);
                }
                let Tables { profile, warnings, .. } = &mut self.tables;
                envelope::read(key, buf, value, &mut profile.meta, self.offset, warnings);
                Ok(end)
            }
            _ => Err(Stop::Bad(at)),
        }
    }

    #[inline]
    fn element<'a>(&mut self, buf: &'a [u8], at: usize, event: &mut Event<'a>) -> Scan<usize> {
        let (mut byte, mut at) = scan::significant(buf, at)?;
        let mut n_commas = 0;
        while byte == b',' {
            n_commas += 1;
            (byte, at) = scan::significant(buf, at + 1)?;
        }
        let is_comma_lost = n_commas > 1 || n_commas == 1 && byte == b']';
        match byte {
            b'{' => {
                let end = event.read(buf, at, &mut self.templates, &mut self.anomalies)?;
                self.note_comma(is_comma_lost, at);
                self.tables.add(event, &self.anomalies, self.offset + at as u64, self.offset);
                Ok(end)
            }
            b']' => {
                self.note_comma(is_comma_lost, at);
                (self.place, self.is_closed) = if self.is_bare {
                    (JsonContext::End, true)
                } else {
                    (JsonContext::Members, self.is_closed)
                };
                Ok(at + 1)
            }
            _ => {
                let end = scan::skip_value(buf, at)?;
                if !matches!(scan::significant(buf, end)?.0, b',' | b']') {
                    return Err(Stop::Bad(end));
                }
                self.note_comma(is_comma_lost, at);
                let offset = self.offset + at as u64;
                self.tables.warnings.add(
                    WarningKind::Malformed,
                    offset,
                    "something that is no event was skipped",
                );
                self.lost_bytes += (end - at) as u64;
                Ok(end)
            }
        }
    }

    /// Warns of commas before `at` that separate nothing, if there are any. Only when what follows them was read: until then it is
    /// tried again with more of the input.
    #[inline]
    fn note_comma(&mut self, is_lost: bool, at: usize) {
        if is_lost {
            let offset = self.offset + at as u64;
            let message = "a comma too many was skipped";
            self.tables.warnings.add(WarningKind::Malformed, offset, message);
        }
    }

    /// Gives up the value that follows `at` in `buf` and cannot be read at `bad`: where to look for the next one.
    #[cold]
    fn lose(&mut self, buf: &[u8], at: usize, bad: usize) -> usize {
        /// Bytes that may be read twice for each byte of the input, so that a file made for it cannot take quadratic
        /// time.
        const MAX_RESCANNED: u64 = 4;
        const ALWAYS_RESCANNED: u64 = 16 << 20;
        // A comma that is no separator is itself what cannot be read: how many follow it in this block must not matter.
        let start = start_of_value(buf, at).min(bad);
        self.rescanned += bad.saturating_sub(start) as u64;
        let is_spent =
            self.rescanned > ALWAYS_RESCANNED + MAX_RESCANNED * (self.offset + bad as u64);
        let may_be_next = match (self.place, buf.get(start)) {
            // Perhaps the end of the list is missing, and this is the next key of the outermost object.
            (JsonContext::Events, Some(b'"')) => true,
            // Perhaps what was taken for the end of the list or of the outermost object was none, and this is the next event or key.
            (JsonContext::Members, Some(b'{')) | (JsonContext::End, _) => true,
            _ => false,
        };
        let resume = if is_spent {
            bad.max(start + 1)
        } else if may_be_next {
            start
        } else {
            start + 1
        };
        let resume = resume.min(buf.len());
        self.place = JsonContext::Lost;
        self.is_closed = false;
        self.before = if resume > start { buf[resume - 1] } else { b',' };
        self.lost_bytes += (resume - start) as u64;
        resume
    }

    /// Looks for the next event or the next known key of the outermost object.
    #[cold]
    fn find_again(&mut self, buf: &[u8], at: usize) -> Scan<usize> {
        let mut next = at;
        let found = loop {
            let Some(found) = memchr2(b'{', b'"', &buf[next..]).map(|index| next + index) else {
                break buf.len();
            };
            match self.place_at(buf, at, found) {
                Ok(Some(place)) => {
                    self.place = place;
                    break found;
                }
                Ok(None) => next = found + 1,
                Err(_) if found == at => return Err(Stop::More),
                Err(_) => break found,
            }
        };
        if let Some(before) = last_significant(&buf[at..found]) {
            self.before = before;
        }
        self.lost_bytes += (found - at) as u64;
        Ok(found)
    }

    /// The place that `found` is in, if what begins there is plausibly undamaged. `at` is where the search began.
    fn place_at(&self, buf: &[u8], at: usize, found: usize) -> Scan<Option<JsonContext>> {
        const MAX_KEY: usize = 32;
        let before = last_significant(&buf[at..found]).unwrap_or(self.before);
        if buf[found] == b'"' {
            let is_key =
                scan::plain_key(buf, found, MAX_KEY)?.is_some_and(envelope::is_key_of_trace);
            return Ok((is_key && before != b':').then_some(JsonContext::Members));
        }
        Ok(match scan::first_key(buf, found)? {
            Some(b"ph") => Some(JsonContext::Events),
            // Objects inside `args` may begin with a name too.
            Some(b"name" | b"cat" | b"pid" | b"tid" | b"ts") if before != b':' => {
                Some(JsonContext::Events)
            }
            _ => None,
        })
    }
}

/// Position of the first byte at or after `at` that is neither whitespace nor a comma.
fn start_of_value(buf: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t' | b',') = buf.get(at) {
        at += 1;
    }
    at
}

fn last_significant(bytes: &[u8]) -> Option<u8> {
    bytes.iter().rev().copied().find(|it| !matches!(it, b' ' | b'\n' | b'\r' | b'\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit is 256 MiB, and here 64 KiB.
    #[test]
    fn a_value_that_is_too_long_is_skipped_in_bounded_memory() {
        let event =
            r#"{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}"#;
        let long = format!(r#"{{"ph": "X", "name": "{}", "ts": 1}}"#, "x".repeat(1 << 20));
        let text = format!("{{\"traceEvents\": [{event}, {long}, {event}]}}");
        let mut reader = TraceReader { max_carried: 64 << 10, ..TraceReader::new() };
        for piece in text.as_bytes().chunks(1000) {
            reader.feed(piece);
            assert!(reader.carry.len() <= 64 << 10);
        }
        let trace = reader.finish();
        assert_eq!(trace.events, 2);
        assert_eq!(trace.lost_bytes, long.len() as u64 + 2);
        let warnings: Vec<&str> = trace.warnings.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(warnings, ["a value that is too long was skipped"]);
    }
}
