//! The grammar of JSON, leniently, over a buffer that may end anywhere. Nothing here recurses or allocates.

/// Why a value could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The buffer ends inside the value.
    More,
    /// What stands at this position of the buffer cannot be there.
    Bad(usize),
}

pub(crate) type Scan<T> = Result<T, Stop>;

/// The inside of a string as it stands in the file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RawText<'a> {
    pub(crate) raw: &'a [u8],
    /// Whether a backslash or a control character is in it, so that it does not stand for itself.
    pub(crate) needs_unescape: bool,
}

/// Position of the first byte at or after `at` that is not whitespace, or the end of the buffer.
#[inline(always)]
pub(crate) fn skip_space(buf: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = buf.get(at) {
        at += 1;
    }
    at
}

#[inline(always)]
pub(crate) fn byte(buf: &[u8], at: usize) -> Scan<u8> {
    buf.get(at).copied().ok_or(Stop::More)
}

/// The first byte at or after `at` that is not whitespace, and its position.
#[inline(always)]
pub(crate) fn significant(buf: &[u8], at: usize) -> Scan<(u8, usize)> {
    let at = skip_space(buf, at);
    Ok((byte(buf, at)?, at))
}

/// Reads the key of an object from its opening quote: the key and the position of its value.
#[inline(always)]
pub(crate) fn key(buf: &[u8], at: usize) -> Scan<(&[u8], usize)> {
    let (text, at) = string(buf, at)?;
    let (colon, at) = significant(buf, at)?;
    if colon != b':' {
        return Err(Stop::Bad(at));
    }
    Ok((text.raw, skip_space(buf, at + 1)))
}

/// Reads a string from its opening quote: its inside, and the position after it.
#[inline(always)]
pub(crate) fn string(buf: &[u8], at: usize) -> Scan<(RawText<'_>, usize)> {
    let start = at + 1;
    let found = special(buf, start)?;
    if buf[found] == b'"' {
        return Ok((RawText { raw: &buf[start..found], needs_unescape: false }, found + 1));
    }
    let end = unusual_end(buf, found)?;
    Ok((RawText { raw: &buf[start..end], needs_unescape: true }, end + 1))
}

/// Skips one value of any kind: the position after it.
#[inline(always)]
pub(crate) fn skip_value(buf: &[u8], at: usize) -> Scan<usize> {
    match byte(buf, at)? {
        b'"' => string(buf, at).map(|(_, end)| end),
        b'{' | b'[' => skip_nested(buf, at),
        _ => word(buf, at).map(|(_, end)| end),
    }
}

/// Reads a number or a bare word (`null`, `NaN`, `N/A`): its bytes, and the position after it.
#[inline]
pub(crate) fn word(buf: &[u8], at: usize) -> Scan<(&[u8], usize)> {
    // Most are numbers of a few digits.
    if let Some(word) = word_at(buf, at) {
        let len = n_digits(word);
        if len > 0 && buf.get(at + len).copied().is_some_and(is_end_of_word) {
            return Ok((&buf[at..at + len], at + len));
        }
    }
    any_word(buf, at)
}

fn is_end_of_word(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')
}

fn any_word(buf: &[u8], at: usize) -> Scan<(&[u8], usize)> {
    let rest = buf.get(at..).unwrap_or_default();
    let len = rest.iter().position(|&it| is_end_of_word(it)).ok_or(Stop::More)?;
    if len == 0
        || rest[..len]
            .iter()
            .any(|it| !it.is_ascii_graphic() || matches!(it, b'"' | b'{' | b'[' | b':'))
    {
        return Err(Stop::Bad(at));
    }
    Ok((&rest[..len], at + len))
}

/// Skips an object or a list from its opening bracket: the position after its closing one.
///
/// Where the file lacks a part, this must not swallow the rest of it. So it stops at what cannot be: an event inside
/// another one, a `}` that closes a `[`, a string that is followed by a word (which is what strings and the text
/// between them look like from the wrong side), a control character.
fn skip_nested(buf: &[u8], start: usize) -> Scan<usize> {
    let mut depth = 0_i64;
    // The bit of a depth says whether the bracket there is a brace; deeper ones than it has bits are not distinguished.
    let mut braces = 0_u64;
    let bit =
        |depth: i64| u32::try_from(depth).ok().and_then(|it| 1_u64.checked_shl(it)).unwrap_or(0);
    let mut at = start;
    loop {
        at = skip_lists(buf, at, &mut depth)?;
        if depth == 0 {
            return Ok(at + 1);
        }
        depth -= STOP;
        match buf[at] {
            b'"' => {
                let end = string(buf, at)?.1;
                let (next, position) = significant(buf, end)?;
                if !is_after_string(next) {
                    return Err(Stop::Bad(end));
                }
                at = position;
            }
            b'{' => {
                if at > start && starts_event(buf, at)? {
                    return Err(Stop::Bad(at));
                }
                depth += 1;
                braces |= bit(depth);
                at += 1;
            }
            b'}' => {
                if depth < 64 && braces & bit(depth) == 0 {
                    return Err(Stop::Bad(at));
                }
                braces &= !bit(depth);
                depth -= 1;
                at += 1;
                if depth == 0 {
                    return Ok(at);
                }
            }
            _ => return Err(Stop::Bad(at)),
        }
    }
}

/// Skips lists, numbers and what is between them, one table look-up a byte: the position of the byte that brings the depth
/// to 0, or that needs a closer look. [`STOP`] is added to the depth then.
#[inline(always)]
fn skip_lists(buf: &[u8], mut at: usize, depth: &mut i64) -> Scan<usize> {
    // In one comparison: whether a depth, which is at least 1 before and changes by 1 or `STOP`, is 0 or at least `STOP`.
    let is_end = |depth: i64| depth.wrapping_sub(1).cast_unsigned() >= STOP.cast_unsigned() - 1;
    while let Some(bytes) = buf.get(at..).and_then(|it| it.first_chunk::<8>()) {
        for (index, &byte) in bytes.iter().enumerate() {
            *depth += CHANGE[usize::from(byte)];
            if is_end(*depth) {
                return Ok(at + index);
            }
        }
        at += bytes.len();
    }
    for (index, &byte) in buf.get(at..).unwrap_or_default().iter().enumerate() {
        *depth += CHANGE[usize::from(byte)];
        if is_end(*depth) {
            return Ok(at + index);
        }
    }
    Err(Stop::More)
}

/// Stands in [`CHANGE`] for a byte that needs a closer look: more than any depth.
const STOP: i64 = 1 << 40;

/// By how much a byte outside strings changes the depth.
const CHANGE: [i64; 256] = {
    let mut table = [0; 256];
    let mut control = 0;
    while control < b' ' {
        table[control as usize] = STOP;
        control += 1;
    }
    table[b'\t' as usize] = 0;
    table[b'\n' as usize] = 0;
    table[b'\r' as usize] = 0;
    table[b'[' as usize] = 1;
    table[b']' as usize] = -1;
    table[b'{' as usize] = STOP;
    table[b'}' as usize] = STOP;
    table[b'"' as usize] = STOP;
    table
};

/// Whether the `{` at `at` opens an object whose first key is `ph`: only events have it.
pub(crate) fn starts_event(buf: &[u8], at: usize) -> Scan<bool> {
    Ok(first_key(buf, at)? == Some(b"ph"))
}

/// The first key of the object that opens at `at`, if a plain short key followed by a colon stands there.
pub(crate) fn first_key(buf: &[u8], at: usize) -> Scan<Option<&[u8]>> {
    const MAX_LEN: usize = 32;
    let (quote, at) = significant(buf, at + 1)?;
    if quote != b'"' {
        return Ok(None);
    }
    plain_key(buf, at, MAX_LEN)
}

/// The key of at most `longest` bytes that opens at `at`, if it has no escapes and a colon follows.
pub(crate) fn plain_key(buf: &[u8], at: usize, longest: usize) -> Scan<Option<&[u8]>> {
    let rest = &buf[at + 1..];
    let Some(len) = rest.iter().take(longest + 1).position(|&it| it == b'"') else {
        return if rest.len() > longest { Ok(None) } else { Err(Stop::More) };
    };
    let (colon, _) = significant(buf, at + 1 + len + 1)?;
    Ok((colon == b':').then_some(&rest[..len]))
}

/// Position of the first byte at or after `at` that does not stand for itself in a string: a quote, a backslash, a
/// control character.
#[inline(always)]
fn special(buf: &[u8], mut at: usize) -> Scan<usize> {
    // Eight bytes at a time: strings here are mostly shorter than what makes a call to memchr worth it.
    while let Some(word) = word_at(buf, at) {
        let control = word.wrapping_sub(repeat(b' ')) & !word & repeat(0x80);
        let found = zero_bytes(word ^ repeat(b'"')) | zero_bytes(word ^ repeat(b'\\')) | control;
        if found != 0 {
            return Ok(at + (found.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    let rest = buf.get(at..).unwrap_or_default();
    let is_special = |it: &u8| matches!(it, b'"' | b'\\' | 0..b' ');
    rest.iter().position(is_special).map(|index| at + index).ok_or(Stop::More)
}

/// The eight bytes at `at`, the first one lowest.
#[inline(always)]
pub(crate) fn word_at(buf: &[u8], at: usize) -> Option<u64> {
    buf.get(at..)?.first_chunk().map(|it| u64::from_le_bytes(*it))
}

/// How many of the eight bytes are digits, counted from the first up to one that is none.
#[inline(always)]
pub(crate) fn n_digits(word: u64) -> usize {
    let word = word ^ repeat(b'0');
    // A carry out of a byte can only disturb bytes after one that is no digit.
    let others = (word.wrapping_add(repeat(0x76)) | word) & repeat(0x80);
    (others.trailing_zeros() / 8) as usize
}

#[inline(always)]
pub(crate) const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The high bit of the first byte that is zero; of later bytes too, where nothing is promised.
#[inline(always)]
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(repeat(0x01)) & !word & repeat(0x80)
}

/// Position of the closing quote of a string whose first special byte is at `first`.
///
/// Old Kineto does not escape the backslashes of Windows paths, so in `"C:\dir\", "ts": 1` the quote after `dir\`
/// closes the string. It is taken so if the string read properly is not followed by what can follow a string. A NUL is
/// in no string: there the file was never written, and the rest of it belongs to something else.
#[cold]
fn unusual_end(buf: &[u8], first: usize) -> Scan<usize> {
    let mut at = first;
    let mut has_escaped_quote = false;
    loop {
        at = special(buf, at)?;
        match buf[at] {
            b'"' => break,
            b'\\' => {
                has_escaped_quote |= byte(buf, at + 1)? == b'"';
                at += 2;
            }
            0 => return Err(Stop::Bad(at)),
            _ => at += 1,
        }
    }
    if !has_escaped_quote || can_follow_string(buf, at + 1)? {
        return Ok(at);
    }
    let mut quote = first;
    while quote < at {
        quote = special(buf, quote)?;
        if buf[quote] == b'\\' {
            quote += 1;
            if buf[quote] == b'"' && can_follow_string(buf, quote + 1)? {
                return Ok(quote);
            }
        }
        quote += 1;
    }
    Ok(at)
}

fn can_follow_string(buf: &[u8], at: usize) -> Scan<bool> {
    Ok(is_after_string(significant(buf, at)?.0))
}

#[inline(always)]
fn is_after_string(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b':')
}
