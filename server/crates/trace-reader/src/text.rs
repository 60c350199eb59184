//! The text behind a JSON string.

use std::borrow::Cow;

use crate::scan::RawText;

/// A decoded string, and its anomalies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    /// A raw control character, or an escape that JSON does not know: all backslashes were taken literally then.
    pub(crate) is_loose: bool,
    /// Bytes or escapes that are no Unicode text were replaced by U+FFFD.
    pub(crate) is_invalid: bool,
}

/// Decodes the inside of a string.
pub(crate) fn decode<'a>(text: &RawText<'a>) -> Decoded<'a> {
    let has_control = text.raw.iter().any(|&it| it < b' ');
    let utf8 = String::from_utf8_lossy(text.raw);
    let is_invalid = matches!(utf8, Cow::Owned(_));
    if !text.needs_unescape {
        return Decoded { text: utf8, is_loose: has_control, is_invalid };
    }
    match unescape(&utf8) {
        Some((decoded, has_lone_surrogate)) => Decoded {
            text: Cow::Owned(decoded),
            is_loose: has_control,
            is_invalid: is_invalid || has_lone_surrogate,
        },
        // Old Kineto does not escape anything, so that a Windows path has `\U` or `\p` in it.
        None => Decoded { text: utf8, is_loose: true, is_invalid },
    }
}

/// The text without escapes, and whether a half of a surrogate pair was replaced; `None` if an escape is none.
fn unescape(text: &str) -> Option<(String, bool)> {
    let mut decoded = String::with_capacity(text.len());
    let mut has_lone_surrogate = false;
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        decoded.push_str(plain);
        let mut chars = escape.chars();
        let character = match chars.next()? {
            'u' => {
                let (character, after) = unicode_escape(chars.as_str())?;
                has_lone_surrogate |= character.is_none();
                rest = after;
                decoded.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
                continue;
            }
            '"' => '"',
            '\\' => '\\',
            '/' => '/',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            _ => return None,
        };
        decoded.push(character);
        rest = chars.as_str();
    }
    decoded.push_str(rest);
    Some((decoded, has_lone_surrogate))
}

/// The character of the escape whose hex digits `text` begins with (`None` for half a surrogate pair), and the rest.
fn unicode_escape(text: &str) -> Option<(Option<char>, &str)> {
    let (high, rest) = hex4(text)?;
    if !(0xd800..0xdc00).contains(&high) {
        return Some((char::from_u32(high), rest));
    }
    let low =
        rest.strip_prefix("\\u").and_then(hex4).filter(|(low, _)| (0xdc00..0xe000).contains(low));
    match low {
        Some((low, after)) => {
            Some((char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)), after))
        }
        None => Some((None, rest)),
    }
}

fn hex4(text: &str) -> Option<(u32, &str)> {
    let digits = text.get(..4).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()))?;
    Some((u32::from_str_radix(digits, 16).ok()?, &text[4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_decoded_or_kept() {
        let cases: [(&[u8], &str, &str); 13] = [
            (br"plain", "plain", ""),
            (br"a\nb\t\u00e9\/", "a\nb\té/", ""),
            (br#"say \"hi\""#, "say \"hi\"", ""),
            (br"C:\\Users\\me", r"C:\Users\me", ""),
            (br"C:\Users\new", r"C:\Users\new", "loose"),
            (br"C:\users", r"C:\users", "loose"),
            (br"dir\", r"dir\", "loose"),
            (b"two\nlines", "two\nlines", "loose"),
            (br"\ud83d\ude00", "😀", ""),
            (br"\ud83d!", "\u{fffd}!", "invalid"),
            (br"\ude00", "\u{fffd}", "invalid"),
            (b"caf\xe9", "caf\u{fffd}", "invalid"),
            ("naïve".as_bytes(), "naïve", ""),
        ];
        for (raw, expected, anomalies) in cases {
            let decoded = decode(&RawText { raw, needs_unescape: true });
            assert_eq!(decoded.text, expected);
            let (loose, invalid) = (
                if decoded.is_loose { "loose" } else { "" },
                if decoded.is_invalid { "invalid" } else { "" },
            );
            assert_eq!(format!("{loose}{invalid}"), anomalies, "{expected}");
        }
    }
}
