//! Recognises a trace by its first bytes.

use memchr::memmem;

use crate::envelope;
use crate::scan;

/// Whether a file that begins with `prefix` (some kilobytes, decompressed) is a Kineto trace: an object with a key that
/// only traces have, or a list of events.
#[must_use]
pub fn looks_like_trace(prefix: &[u8]) -> bool {
    let text = prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix);
    let start = scan::skip_space(text, 0);
    match text.get(start) {
        Some(b'{') => has_key_of_trace(text, start + 1) || has_events(text),
        _ => has_events(text),
    }
}

/// Whether one of the keys of the outermost object is one that only traces have.
fn has_key_of_trace(text: &[u8], mut at: usize) -> bool {
    loop {
        at = scan::skip_space(text, at);
        match text.get(at) {
            Some(b',') => at += 1,
            Some(b'"') => {
                let Ok((key, value)) = scan::key(text, at) else { return false };
                if envelope::is_key_of_trace(key) {
                    return true;
                }
                let Ok(end) = scan::skip_value(text, value) else { return false };
                at = end;
            }
            _ => return false,
        }
    }
}

/// Whether an event, or the list of events, begins somewhere: in damaged files, and where other objects come first.
fn has_events(text: &[u8]) -> bool {
    let is_key = |key: &[u8], values: &[u8]| {
        memmem::find_iter(text, key).any(|at| {
            let colon = scan::skip_space(text, at + key.len());
            let value = scan::skip_space(text, colon + 1);
            text.get(colon) == Some(&b':') && text.get(value).is_some_and(|it| values.contains(it))
        })
    };
    is_key(b"\"traceEvents\"", b"[")
        || is_key(b"\"ph\"", b"\"") && is_key(b"\"ts\"", b"0123456789-\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_traces_look_like_traces() {
        let cases = [
            (r#"{"schemaVersion": 1, "#, true),
            ("\u{feff}\n {\n  \"displayTimeUnit\": \"ms\",", true),
            (r#"{"metadata": {"a": ["#, false),
            (r#"{"metadata": {"a": [1, 2, "}"]}, "traceEvents": [ "#, true),
            (r#"{"data": {"traceEvents" : ["#, true),
            (r#"[ {"ph": "X", "cat": "Operator", "name": "x", "pid": 1, "ts": 5"#, true),
            (r#"ator", "ts": 12, "dur": 3}, {"ph": "X", "ca"#, true),
            (r#"[[1, 2], [3, 4]]"#, false),
            ("[]", false),
            ("{}", false),
            ("", false),
            (r#"{"name": "package", "version": "1.0.0"}"#, false),
            (r#"{"schema":"perfline.callers/1","torch":"2.11.0""#, false),
            ("\u{80}\u{2}}q", false),
        ];
        for (prefix, expected) in cases {
            assert_eq!(looks_like_trace(prefix.as_bytes()), expected, "{prefix}");
        }
    }
}
