//! Decimal numbers to integers, from their digits: an f64 would lose 0.25 µs of a time since the epoch.

use crate::scan::{self, Scan, Stop};

/// What a text that should be a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parsed {
    Number(i64),
    /// A number that does not fit.
    OutOfRange,
    NotANumber,
}

/// Reads the plain number at `at` times 10^`scale`: its value and the position after it; `None` if something else
/// stands there that needs [`parse`]. `scale` is at most 8.
#[inline(always)]
pub(crate) fn plain(buf: &[u8], at: usize, scale: usize) -> Scan<Option<(i64, usize)>> {
    /// So many digits fit, whatever they are.
    const SAFE: usize = 18;
    let is_negative = buf.get(at) == Some(&b'-');
    let start = at + usize::from(is_negative);
    let mut value = 0_u64;
    let mut at = digits(buf, start, &mut value);
    let mut n_digits = at - start;
    let mut missing = scale;
    if buf.get(at) == Some(&b'.') {
        let end = digits(buf, at + 1, &mut value);
        let n_decimals = end - at - 1;
        if n_decimals > missing {
            return Ok(None);
        }
        n_digits += n_decimals;
        missing -= n_decimals;
        at = end;
    }
    if n_digits == 0 || n_digits + missing > SAFE {
        return if at < buf.len() { Ok(None) } else { Err(Stop::More) };
    }
    let value = (value * POWERS[missing]).cast_signed();
    match buf.get(at) {
        Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t') => {
            Ok(Some((if is_negative { -value } else { value }, at)))
        }
        Some(_) => Ok(None),
        None => Err(Stop::More),
    }
}

/// Powers of ten.
const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Appends the digits at `at` to `value` and gives the position after them. Past 19 digits the value is meaningless.
#[inline(always)]
fn digits(buf: &[u8], mut at: usize, value: &mut u64) -> usize {
    const POWERS: [u64; 9] =
        [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    // Eight at a time: the length of a number cannot be foreseen, and a loop over its digits would pay for that.
    while let Some(word) = scan::word_at(buf, at) {
        let n_digits = scan::n_digits(word);
        let word = word ^ scan::repeat(b'0');
        if n_digits == 0 {
            return at;
        }
        *value =
            value.wrapping_mul(POWERS[n_digits]).wrapping_add(join(word << (64 - 8 * n_digits)));
        at += n_digits;
        if n_digits < 8 {
            return at;
        }
    }
    while let Some(digit) = buf.get(at).map(|it| it.wrapping_sub(b'0')).filter(|&it| it < 10) {
        *value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    at
}

/// The number whose eight decimal digits are the bytes of `digits`, the first one lowest: neighbours are joined to
/// numbers of two, then four, then eight digits.
#[inline(always)]
fn join(digits: u64) -> u64 {
    let twos = (digits.wrapping_mul(10)).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos.wrapping_mul(100)).wrapping_add(twos >> 16) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000)).wrapping_add(fours >> 32) & 0xffff_ffff
}

/// The number that `text` is, times 10^`scale`, rounded half up. Takes exponents, and hexadecimal numbers as addresses
/// are written (scale 0 then).
pub(crate) fn parse(text: &[u8], scale: usize) -> Parsed {
    let text = text.trim_ascii();
    let (is_negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if let [b'0', b'x' | b'X', digits @ ..] = text {
        return hexadecimal(digits, is_negative);
    }
    let (mantissa, exponent) = match text.iter().position(|it| matches!(it, b'e' | b'E')) {
        Some(index) => match exponent(&text[index + 1..]) {
            Some(exponent) => (&text[..index], exponent),
            None => return Parsed::NotANumber,
        },
        None => (text, 0),
    };
    let point = mantissa.iter().position(|&it| it == b'.').unwrap_or(mantissa.len());
    let is_number =
        mantissa.iter().enumerate().all(|(index, it)| it.is_ascii_digit() || index == point);
    if !is_number || mantissa.len() - usize::from(point < mantissa.len()) == 0 {
        return Parsed::NotANumber;
    }
    // So many digits, counted from the first, stand before the point of the result.
    let n_whole = i64::try_from(point + scale).unwrap_or(i64::MAX).saturating_add(exponent);
    match scaled(mantissa, n_whole, is_negative) {
        Some(value) => Parsed::Number(value),
        None => Parsed::OutOfRange,
    }
}

fn scaled(mantissa: &[u8], n_whole: i64, is_negative: bool) -> Option<i64> {
    let mut value = 0_i64;
    let mut index = 0_i64;
    let mut fraction = std::cmp::Ordering::Less;
    for digit in mantissa.iter().filter(|it| it.is_ascii_digit()).map(|it| it - b'0') {
        if index < n_whole {
            value = push_digit(value, digit, is_negative)?;
        } else if index == n_whole {
            fraction = digit.cmp(&5);
        } else if fraction.is_eq() && digit > 0 {
            fraction = std::cmp::Ordering::Greater;
        }
        index += 1;
    }
    while index < n_whole && value != 0 {
        value = push_digit(value, 0, is_negative)?;
        index += 1;
    }
    if is_negative {
        if fraction.is_gt() { value.checked_sub(1) } else { Some(value) }
    } else {
        if fraction.is_ge() { value.checked_add(1) } else { Some(value) }
    }
}

fn push_digit(value: i64, digit: u8, is_negative: bool) -> Option<i64> {
    let digit = if is_negative { -i64::from(digit) } else { i64::from(digit) };
    value.checked_mul(10)?.checked_add(digit)
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits
        .iter()
        .fold(0_i64, |value, it| value.saturating_mul(10).saturating_add(i64::from(it - b'0')));
    // Far beyond what fits either way.
    let value = value.min(1 << 32);
    Some(if is_negative { -value } else { value })
}

/// Addresses use all 64 bits; those above `i64::MAX` come out negative, as C++ prints them.
fn hexadecimal(digits: &[u8], is_negative: bool) -> Parsed {
    let Ok(text) = std::str::from_utf8(digits) else { return Parsed::NotANumber };
    if !digits.iter().all(u8::is_ascii_hexdigit) || digits.is_empty() {
        return Parsed::NotANumber;
    }
    match u64::from_str_radix(text, 16) {
        Ok(value) => {
            let value = value.cast_signed();
            Parsed::Number(if is_negative { value.wrapping_neg() } else { value })
        }
        Err(_) => Parsed::OutOfRange,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        let cases = [
            ("0", "0"),
            ("1795245582565210", "1795245582565210000"),
            ("4388527165375.866", "4388527165375866"),
            ("2369138.031", "2369138031"),
            ("1.6", "1600"),
            ("-1.5", "-1500"),
            ("1.0005", "1001"),
            ("1.00049999999999999999", "1000"),
            ("1.0015", "1002"),
            ("-1.0005", "-1000"),
            ("-1.00051", "-1001"),
            ("0.0004", "0"),
            ("1e3", "1000000"),
            ("1.5E-3", "2"),
            ("1.7e15", "1700000000000000000"),
            ("1.700000000000000001e15", "1700000000000000001"),
            ("5e-4", "1"),
            ("5e-5", "0"),
            ("0e999999999999", "0"),
            ("9223372036854775.807", "9223372036854775807"),
            ("-9223372036854775.808", "-9223372036854775808"),
            ("9223372036854775.808", "out of range"),
            ("99999999999999999999", "out of range"),
            ("1e999999999999999999999", "out of range"),
            ("", "not a number"),
            (".", "not a number"),
            (".5", "500"),
            ("5.", "5000"),
            ("1.2.3", "not a number"),
            ("1e", "not a number"),
            ("NaN", "not a number"),
            ("Infinity", "not a number"),
            ("-", "not a number"),
        ];
        for (text, expected) in cases {
            assert_eq!(say(parse(text.as_bytes(), 3)), expected, "{text}");
            // The quick way either gives the same or passes.
            for after in [",", ", \"dur\": 12345678"] {
                let followed = format!("{text}{after}");
                if let Ok(Some((value, end))) = plain(followed.as_bytes(), 0, 3) {
                    assert_eq!((value.to_string().as_str(), end), (expected, text.len()), "{text}");
                }
            }
        }
    }

    #[test]
    fn addresses_are_taken_as_64_bits() {
        let cases = [
            ("0x7f1818900000", "139741468033024"),
            ("0xffffffffffffffff", "-1"),
            ("0x1ffffffffffffffff", "out of range"),
            ("0x", "not a number"),
            ("0xg", "not a number"),
            ("18446744073709551615", "out of range"),
        ];
        for (text, expected) in cases {
            assert_eq!(say(parse(text.as_bytes(), 0)), expected, "{text}");
        }
    }

    fn say(parsed: Parsed) -> String {
        match parsed {
            Parsed::Number(value) => value.to_string(),
            Parsed::OutOfRange => "out of range".to_owned(),
            Parsed::NotANumber => "not a number".to_owned(),
        }
    }
}
