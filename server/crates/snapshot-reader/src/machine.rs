//! The pickle machine: opcodes in, plain values out. It has no way to import, call or fetch anything.

use profile::{WarningKind, Warnings};
use rustc_hash::FxHashMap;

use crate::Error;
use crate::opcode::{Use, describe};
use crate::values::{Chain, Full, Handle, PickleValue, PickleValues};

/// A pickle that was read, to its end or to the damage.
#[derive(Debug)]
pub(crate) struct UnpickledFile {
    pub(crate) values: PickleValues,
    /// The top-level value.
    pub(crate) root: Handle,
    /// Bytes up to the end of the pickle, or to the damage.
    pub(crate) end: u64,
    /// What ended the reading before `STOP`.
    pub(crate) damage: Option<Error>,
}

/// Reads one pickle of protocol 0 to 5 from all of its bytes. See [`Machine::finish`].
#[cfg(test)]
pub(crate) fn load(bytes: &[u8], warnings: &mut Warnings) -> Result<UnpickledFile, Error> {
    let mut machine = Machine::default();
    machine.feed(bytes, warnings);
    machine.finish(warnings)
}

/// Why an opcode could not be obeyed.
enum Fault {
    /// Its argument is cut off.
    Cut,
    Code,
    Problem(&'static str),
}

impl From<Full> for Fault {
    fn from(_: Full) -> Self {
        Self::Problem("the pickle holds more than 2³¹ values")
    }
}

const UNDERFLOW: Fault = Fault::Problem("it needs more values than there are");
const NO_MARK: Fault = Fault::Problem("there is no MARK before it");

/// Bytes that are added at least before an opcode that was cut off is tried again.
const MIN_ADDED: usize = 64;

/// Obeys the opcodes of one pickle of protocol 0 to 5, fed in pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    values: PickleValues,
    stack: Vec<Handle>,
    /// Heights of the stack at each open MARK.
    marks: Vec<usize>,
    memo: Memo,
    /// The beginning of an opcode whose end was not fed yet.
    carry: Vec<u8>,
    /// Length of `carry` at which it is tried again: it doubles, so that a long text in small pieces takes linear time.
    retry_at: usize,
    /// Offset in the pickle of the first byte that was not obeyed.
    offset: u64,
    /// The top-level value, or what nothing can be read behind.
    end: Option<Result<Handle, Error>>,
}

/// Bytes at hand.
struct PickleBytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Machine {
    /// Reads on. How the pickle is cut into pieces makes no difference to the result. What follows its end is ignored.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], warnings: &mut Warnings) {
        while !self.carry.is_empty() {
            let n_old = self.carry.len();
            let n_added = (self.retry_at - n_old).min(bytes.len());
            self.carry.extend_from_slice(&bytes[..n_added]);
            if self.carry.len() < self.retry_at {
                return;
            }
            let carry = std::mem::take(&mut self.carry);
            let used = self.run(&carry, n_old, warnings);
            if used >= n_old {
                // The rest is read from where it lies.
                bytes = &bytes[used - n_old..];
            } else {
                bytes = &bytes[n_added..];
                self.carry_over(&carry[used..]);
            }
        }
        let used = self.run(bytes, bytes.len(), warnings);
        self.carry_over(&bytes[used..]);
    }

    /// What was read. After damage the top-level dict or list holds what was read before.
    ///
    /// # Errors
    /// If the pickle asks to run code, or is damaged before there is a top-level dict or list.
    pub(crate) fn finish(mut self, warnings: &mut Warnings) -> Result<UnpickledFile, Error> {
        let carry = std::mem::take(&mut self.carry);
        let used = self.run(&carry, carry.len(), warnings);
        let damage = match self.end.take() {
            Some(Ok(root)) => {
                return Ok(UnpickledFile {
                    values: self.values,
                    root,
                    end: self.offset,
                    damage: None,
                });
            }
            Some(Err(damage)) => damage,
            None => match carry.get(used) {
                Some(&opcode) => name(&Fault::Cut, opcode, self.offset),
                None => Error::Truncated { opcode: "STOP", offset: self.offset },
            },
        };
        if matches!(damage, Error::Code { .. }) {
            return Err(damage);
        }
        match self.salvage() {
            Some(root) => {
                let end = damage.offset();
                Ok(UnpickledFile { values: self.values, root, end, damage: Some(damage) })
            }
            None => Err(damage),
        }
    }

    fn carry_over(&mut self, rest: &[u8]) {
        if self.end.is_none() {
            self.carry = rest.to_vec();
            self.retry_at = rest.len() + rest.len().max(MIN_ADDED);
        }
    }

    /// Obeys opcodes until at least `enough` of `bytes` are used or the next opcode is not whole: how many were used.
    /// At the end of the pickle all are.
    fn run(&mut self, bytes: &[u8], enough: usize, warnings: &mut Warnings) -> usize {
        if self.end.is_some() {
            return bytes.len();
        }
        let mut input = PickleBytes { bytes, at: 0 };
        while input.at < enough {
            let start = input.at;
            let offset = self.offset + start as u64;
            let opcode = bytes[start];
            input.at += 1;
            let end = match self.step(&mut input, opcode, offset, warnings) {
                Ok(None) => continue,
                Ok(Some(root)) => Ok(root),
                Err(Fault::Cut) => {
                    input.at = start;
                    break;
                }
                Err(fault) => Err(name(&fault, opcode, offset)),
            };
            self.end = Some(end);
            self.offset += input.at as u64;
            return bytes.len();
        }
        self.offset += input.at as u64;
        input.at
    }

    /// Obeys one opcode. Gives the top-level value at `STOP`.
    #[inline]
    fn step(
        &mut self,
        input: &mut PickleBytes<'_>,
        opcode: u8,
        offset: u64,
        warnings: &mut Warnings,
    ) -> Result<Option<Handle>, Fault> {
        match opcode {
            // Most of a snapshot is references to frames and keys.
            b'h' => {
                let [index] = input.array()?;
                self.recall(u32::from(index))?;
            }
            b'j' => {
                let index = u32::from_le_bytes(input.array()?);
                self.recall(index)?;
            }
            b'K' => {
                let [int] = input.array()?;
                self.push_int(i64::from(int))?;
            }
            b'M' => {
                let int = u16::from_le_bytes(input.array()?);
                self.push_int(i64::from(int))?;
            }
            b'J' => {
                let int = i32::from_le_bytes(input.array()?);
                self.push_int(i64::from(int))?;
            }
            0x8a => {
                let [len] = input.array()?;
                self.push_long(input, usize::from(len))?;
            }
            0x8b => {
                let len = i32::from_le_bytes(input.array()?);
                let len =
                    usize::try_from(len).map_err(|_| Fault::Problem("its length is negative"))?;
                self.push_long(input, len)?;
            }
            b'(' => self.marks.push(self.stack.len()),
            b'.' => return self.pop().map(Some),

            0x8c | b'U' => {
                let [len] = input.array()?;
                self.push_text(input, u64::from(len), offset, warnings)?;
            }
            b'X' | b'T' => {
                let len = u32::from_le_bytes(input.array()?);
                self.push_text(input, u64::from(len), offset, warnings)?;
            }
            0x8d => {
                let len = u64::from_le_bytes(input.array()?);
                self.push_text(input, len, offset, warnings)?;
            }
            b'V' => {
                let line = input.line()?;
                self.push_escaped(line, offset, warnings)?;
            }

            b'C' => {
                let [len] = input.array()?;
                self.push_scalar(input, u64::from(len))?;
            }
            b'B' => {
                let len = u32::from_le_bytes(input.array()?);
                self.push_scalar(input, u64::from(len))?;
            }
            0x8e | 0x96 => {
                let len = u64::from_le_bytes(input.array()?);
                self.push_scalar(input, len)?;
            }
            b'G' => self.push_scalar(input, 8)?,
            b'F' => {
                input.line()?;
                self.push_scalar(input, 0)?;
            }

            b'N' => self.stack.push(Handle::NONE),
            0x88 => self.stack.push(Handle::TRUE),
            0x89 => self.stack.push(Handle::FALSE),
            b'I' => match input.line()? {
                b"00" => self.stack.push(Handle::FALSE),
                b"01" => self.stack.push(Handle::TRUE),
                line => self.push_decimal(line)?,
            },
            b'L' => {
                let line = input.line()?;
                self.push_decimal(line.strip_suffix(b"L").unwrap_or(line))?;
            }

            b']' => self.push_new(PickleValue::List(Chain::new(offset)))?,
            b'}' => self.push_new(PickleValue::Dict(Chain::new(offset)))?,
            b')' => self.push_new(PickleValue::Tuple(Chain::new(offset)))?,
            0x8f => self.push_new(PickleValue::Set)?,
            b'l' => {
                let from = self.marked()?;
                let chain = self.gather(offset, from)?;
                self.push_new(PickleValue::List(chain))?;
            }
            b't' => {
                let from = self.marked()?;
                let chain = self.gather(offset, from)?;
                self.push_new(PickleValue::Tuple(chain))?;
            }
            b'd' => {
                let from = self.marked()?;
                self.expect_pairs(from)?;
                let chain = self.gather(offset, from)?;
                self.push_new(PickleValue::Dict(chain))?;
            }
            0x91 => {
                let from = self.marked()?;
                self.stack.truncate(from);
                self.push_new(PickleValue::Set)?;
            }
            0x85..=0x87 => {
                let from = self.below_top(usize::from(opcode - 0x84))?;
                let chain = self.gather(offset, from)?;
                self.push_new(PickleValue::Tuple(chain))?;
            }
            b'a' => {
                let from = self.below_top(1)?;
                self.append(from)?;
            }
            b'e' => {
                let from = self.marked()?;
                self.append(from)?;
            }
            b's' => {
                let from = self.below_top(2)?;
                self.set_items(from)?;
            }
            b'u' => {
                let from = self.marked()?;
                self.expect_pairs(from)?;
                self.set_items(from)?;
            }
            0x90 => {
                let from = self.marked()?;
                self.stack.truncate(from);
                if self.values.get(self.top()?) != PickleValue::Set {
                    return Err(Fault::Problem("there is no set to add to"));
                }
            }

            0x94 => {
                let top = self.top()?;
                self.memo.push(top)?;
            }
            b'q' => {
                let [index] = input.array()?;
                self.remember(u32::from(index))?;
            }
            b'r' => {
                let index = u32::from_le_bytes(input.array()?);
                self.remember(index)?;
            }
            b'p' => {
                let index = input.decimal_index()?;
                self.remember(index)?;
            }
            b'g' => {
                let index = input.decimal_index()?;
                self.recall(index)?;
            }

            b'0' => {
                // Python lets POP take back a MARK that has nothing above it.
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                } else {
                    self.pop()?;
                }
            }
            b'1' => {
                let from = self.marked()?;
                self.stack.truncate(from);
            }
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }

            0x80 => {
                let [version] = input.array()?;
                if version > 5 {
                    return Err(Fault::Problem("the protocol is newer than 5"));
                }
            }
            // Frames only say how to buffer.
            0x95 => {
                input.array::<8>()?;
            }
            _ => return Err(Fault::Code),
        }
        Ok(None)
    }

    // Scalars.

    #[inline]
    fn push_int(&mut self, int: i64) -> Result<(), Fault> {
        let handle = self.values.add_int(int)?;
        self.stack.push(handle);
        Ok(())
    }

    /// Two's complement, little-endian, any length.
    fn push_long(&mut self, input: &mut PickleBytes<'_>, len: usize) -> Result<(), Fault> {
        let bytes = input.take(len as u64)?;
        let negative = bytes.last().is_some_and(|&last| last >= 0x80);
        let sign = if negative { 0xff } else { 0 };
        let (low, high) = bytes.split_at(bytes.len().min(8));
        let mut word = [sign; 8];
        word[..low.len()].copy_from_slice(low);
        if high.iter().any(|&byte| byte != sign) {
            return self.push_new(PickleValue::Scalar);
        }
        let int = i64::from_le_bytes(word);
        match (negative, int < 0) {
            (false, true) => self.push_new(PickleValue::Unsigned(int.cast_unsigned())),
            (true, false) => self.push_new(PickleValue::Scalar),
            _ => self.push_int(int),
        }
    }

    fn push_decimal(&mut self, line: &[u8]) -> Result<(), Fault> {
        let text =
            std::str::from_utf8(line).map_err(|_| Fault::Problem("it is not a number"))?.trim();
        if let Ok(int) = text.parse() {
            return self.push_int(int);
        }
        if let Ok(int) = text.parse() {
            return self.push_new(PickleValue::Unsigned(int));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Fault::Problem("it is not a number"));
        }
        self.push_new(PickleValue::Scalar)
    }

    fn push_scalar(&mut self, input: &mut PickleBytes<'_>, len: u64) -> Result<(), Fault> {
        input.take(len)?;
        self.push_new(PickleValue::Scalar)
    }

    fn push_text(
        &mut self,
        input: &mut PickleBytes<'_>,
        len: u64,
        offset: u64,
        warnings: &mut Warnings,
    ) -> Result<(), Fault> {
        let bytes = input.take(len)?;
        let handle = match std::str::from_utf8(bytes) {
            Ok(text) => self.values.add_text(text)?,
            Err(_) => {
                warn_not_utf8(offset, warnings);
                self.values.add_text(&String::from_utf8_lossy(bytes))?
            }
        };
        self.stack.push(handle);
        Ok(())
    }

    /// Python's `raw-unicode-escape`: Latin-1 with `\uXXXX` and `\UXXXXXXXX`.
    fn push_escaped(
        &mut self,
        line: &[u8],
        offset: u64,
        warnings: &mut Warnings,
    ) -> Result<(), Fault> {
        let mut text = String::new();
        let mut rest = line;
        while let Some((&byte, after)) = rest.split_first() {
            let digits = match rest {
                [b'\\', b'u', digits @ ..] => digits.get(..4),
                [b'\\', b'U', digits @ ..] => digits.get(..8),
                _ => None,
            };
            let code = digits
                .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
                .and_then(|digits| std::str::from_utf8(digits).ok())
                .and_then(|digits| u32::from_str_radix(digits, 16).ok());
            rest = match (code, digits) {
                (Some(code), Some(digits)) => {
                    text.push(char::from_u32(code).unwrap_or_else(|| {
                        warn_not_utf8(offset, warnings);
                        char::REPLACEMENT_CHARACTER
                    }));
                    &rest[2 + digits.len()..]
                }
                _ => {
                    text.push(char::from(byte));
                    after
                }
            };
        }
        let handle = self.values.add_text(&text)?;
        self.stack.push(handle);
        Ok(())
    }

    // Stack and containers.

    fn push_new(&mut self, value: PickleValue) -> Result<(), Fault> {
        let handle = self.values.add(value)?;
        self.stack.push(handle);
        Ok(())
    }

    /// The height of the stack `count` values below its top; values below an open MARK are out of reach.
    fn below_top(&self, count: usize) -> Result<usize, Fault> {
        let floor = self.marks.last().copied().unwrap_or(0);
        self.stack.len().checked_sub(count).filter(|&from| from >= floor).ok_or(UNDERFLOW)
    }

    fn top(&self) -> Result<Handle, Fault> {
        let from = self.below_top(1)?;
        Ok(self.stack[from])
    }

    fn pop(&mut self) -> Result<Handle, Fault> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    /// Closes the last MARK: the height of the stack where it stands.
    fn marked(&mut self) -> Result<usize, Fault> {
        self.marks.pop().ok_or(NO_MARK)
    }

    fn expect_pairs(&self, from: usize) -> Result<(), Fault> {
        if (self.stack.len() - from).is_multiple_of(2) {
            Ok(())
        } else {
            Err(Fault::Problem("a key has no value"))
        }
    }

    /// Takes the values from height `from` off the stack, as the items of a new container.
    fn gather(&mut self, offset: u64, from: usize) -> Result<Chain, Fault> {
        let chain = self.values.extend(Chain::new(offset), &self.stack[from..])?;
        self.stack.truncate(from);
        Ok(chain)
    }

    /// Appends the values from height `from` to the list below them.
    fn append(&mut self, from: usize) -> Result<(), Fault> {
        const NO_LIST: Fault = Fault::Problem("there is no list to append to");
        let floor = self.marks.last().copied().unwrap_or(0);
        let below = from.checked_sub(1).filter(|&below| below >= floor).ok_or(NO_LIST)?;
        let list = self.stack[below];
        let PickleValue::List(chain) = self.values.get(list) else { return Err(NO_LIST) };
        let chain = self.values.extend_list(chain, &self.stack[from..])?;
        self.values.set(list, PickleValue::List(chain));
        self.stack.truncate(from);
        Ok(())
    }

    /// Sets the pairs from height `from` in the dict below them.
    fn set_items(&mut self, from: usize) -> Result<(), Fault> {
        const NO_DICT: Fault = Fault::Problem("there is no dict to set items of");
        let floor = self.marks.last().copied().unwrap_or(0);
        let below = from.checked_sub(1).filter(|&below| below >= floor).ok_or(NO_DICT)?;
        let dict = self.stack[below];
        let PickleValue::Dict(chain) = self.values.get(dict) else { return Err(NO_DICT) };
        let chain = self.values.extend(chain, &self.stack[from..])?;
        self.values.set(dict, PickleValue::Dict(chain));
        self.stack.truncate(from);
        Ok(())
    }

    // Memo.

    fn remember(&mut self, index: u32) -> Result<(), Fault> {
        let top = self.top()?;
        self.memo.set(index, top);
        Ok(())
    }

    #[inline]
    fn recall(&mut self, index: u32) -> Result<(), Fault> {
        let handle =
            self.memo.get(index).ok_or(Fault::Problem("nothing was memoized under its number"))?;
        self.stack.push(handle);
        Ok(())
    }

    // Damage.

    /// Puts what is still on the stack into the top-level dict or list, as far as it is whole: a pickle fills a
    /// container only after its last item. The last dict (an event, a segment) is left out, since it is not known
    /// what else it would have said.
    fn salvage(&mut self) -> Option<Handle> {
        let &root = self.stack.first()?;
        match self.values.get(root) {
            PickleValue::List(_) => {
                self.fill_list(0, 1)?;
            }
            PickleValue::Dict(mut chain) => {
                let mut at = 1;
                while let (Some(&key), Some(&value)) = (self.stack.get(at), self.stack.get(at + 1))
                    && matches!(self.values.get(key), PickleValue::Text(_))
                {
                    at = self.fill_list(at + 1, 2)?;
                    chain = self.values.extend(chain, &[key, value]).ok()?;
                }
                self.values.set(root, PickleValue::Dict(chain));
            }
            _ => return None,
        }
        Some(root)
    }

    /// Appends to the list at height `at` of the stack, and to the lists in it down to `depth` (2: the traces of
    /// the devices), the items above it. Gives the height at which the next value of its parent would be.
    fn fill_list(&mut self, at: usize, depth: u32) -> Option<usize> {
        let next = at + 1;
        let PickleValue::List(mut chain) = self.values.get(self.stack[at]) else {
            return Some(next);
        };
        let is_batch = self.marks.contains(&next);
        let Some(&first) = self.stack.get(next) else { return Some(next) };
        let kind = std::mem::discriminant(&self.values.get(first));
        // Without a MARK at most one item is on its way (APPEND); a text is the next key of the top-level dict.
        if !is_batch && matches!(self.values.get(first), PickleValue::Text(_)) {
            return Some(next);
        }
        let mut end = next;
        while end < self.stack.len()
            && (is_batch || end == next)
            && (end == next || !self.marks.contains(&end))
            && std::mem::discriminant(&self.values.get(self.stack[end])) == kind
        {
            end += 1;
        }
        match self.values.get(self.stack[end - 1]) {
            PickleValue::Dict(_) => end -= 1,
            _ if depth > 1 => {
                self.fill_list(end - 1, depth - 1)?;
            }
            _ => {}
        }
        let items = &self.stack[next..end];
        chain = self.values.extend(chain, items).ok()?;
        self.values.set(self.stack[at], PickleValue::List(chain));
        Some(self.stack.len())
    }
}

impl<'a> PickleBytes<'a> {
    fn take(&mut self, len: u64) -> Result<&'a [u8], Fault> {
        let rest = &self.bytes[self.at..];
        let taken = usize::try_from(len).ok().and_then(|len| rest.get(..len)).ok_or(Fault::Cut)?;
        self.at += taken.len();
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let array = self.bytes[self.at..].first_chunk::<N>().ok_or(Fault::Cut)?;
        self.at += N;
        Ok(*array)
    }

    /// The argument of a text opcode, without its line feed.
    fn line(&mut self) -> Result<&'a [u8], Fault> {
        let rest = &self.bytes[self.at..];
        let len = memchr::memchr(b'\n', rest).ok_or(Fault::Cut)?;
        self.at += len + 1;
        Ok(&rest[..len])
    }

    /// The argument of a text opcode that is the number of a memo entry.
    fn decimal_index(&mut self) -> Result<u32, Fault> {
        let line = self.line()?;
        std::str::from_utf8(line)
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .ok_or(Fault::Problem("it has no number of a memo entry"))
    }
}

fn warn_not_utf8(offset: u64, warnings: &mut Warnings) {
    warnings.add(WarningKind::InvalidUtf8, offset, "text that is not UTF-8 was replaced by U+FFFD");
}

fn name(fault: &Fault, opcode: u8, offset: u64) -> Error {
    let Some((name, usage)) = describe(opcode) else {
        return Error::UnknownOpcode { byte: opcode, offset };
    };
    match fault {
        Fault::Cut => Error::Truncated { opcode: name, offset },
        Fault::Problem(problem) => Error::Malformed { opcode: name, offset, problem },
        Fault::Code if usage == Use::Code => Error::Code { opcode: name, offset },
        Fault::Code => Error::Malformed { opcode: name, offset, problem: "no snapshot has it" },
    }
}

/// What PUT and MEMOIZE stored. Picklers number from 0 on, which makes a plain array; any other number goes to a
/// map, so that a number costs no more than the bytes that say it.
#[derive(Debug, Default)]
struct Memo {
    dense: Vec<Handle>,
    sparse: FxHashMap<u32, Handle>,
}

impl Memo {
    #[inline]
    fn get(&self, index: u32) -> Option<Handle> {
        match self.dense.get(index as usize) {
            Some(&handle) => Some(handle),
            None => self.sparse.get(&index).copied(),
        }
    }

    fn set(&mut self, index: u32, handle: Handle) {
        if let Some(entry) = self.dense.get_mut(index as usize) {
            *entry = handle;
        } else if index as usize == self.dense.len() {
            self.dense.push(handle);
            if !self.sparse.is_empty() {
                self.sparse.remove(&index);
            }
        } else {
            self.sparse.insert(index, handle);
        }
    }

    /// MEMOIZE takes the number of entries for its number.
    fn push(&mut self, handle: Handle) -> Result<(), Full> {
        let index = u32::try_from(self.dense.len() + self.sparse.len()).map_err(|_| Full)?;
        self.set(index, handle);
        Ok(())
    }
}
