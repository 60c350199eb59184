//! Fields of machine-readable output: JSON and CSV from integers, without a detour through floats.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use ledger::{Bytes, LineKey, Ns};
use metrics::numbers::push_microseconds;

use crate::recording::Recording;
use crate::terminal::{clean, is_hidden};

/// A field of the output. Numbers are decimal digits from integers, never through a float.
pub(crate) enum FieldValue<'a> {
    Text(Cow<'a, str>),
    Integer(i128),
    /// A time, written in microseconds.
    Time(Ns),
    Flag(bool),
    /// What is not known: `null`, an empty cell.
    Unknown,
    /// JSON text.
    Json(String),
}

impl<'a> FieldValue<'a> {
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn number(number: impl Into<i128>) -> Self {
        Self::Integer(number.into())
    }

    pub(crate) fn bytes(bytes: Bytes) -> Self {
        Self::number(bytes.0)
    }

    pub(crate) fn json(&self) -> String {
        let mut json = String::new();
        self.push_json(&mut json);
        json
    }

    fn push_json(&self, json: &mut String) {
        match self {
            Self::Text(text) => push_quoted(json, text),
            Self::Unknown => json.push_str("null"),
            other => other.push_plain(json),
        }
    }

    /// A cell as RFC 4180 has it.
    pub(crate) fn csv(&self) -> String {
        let mut csv = String::new();
        match self {
            Self::Text(text) => return cell(text),
            other => other.push_plain(&mut csv),
        }
        csv
    }

    /// What is the same in JSON and in CSV.
    fn push_plain(&self, plain: &mut String) {
        match self {
            Self::Text(text) => plain.push_str(text),
            Self::Integer(number) => {
                // Writing to a string cannot fail.
                let _ = write!(plain, "{number}");
            }
            Self::Time(ns) => push_microseconds(plain, *ns),
            Self::Flag(flag) => plain.push_str(if *flag { "true" } else { "false" }),
            Self::Unknown => {}
            Self::Json(text) => plain.push_str(text),
        }
    }
}

/// Appends a JSON string.
fn push_quoted(json: &mut String, text: &str) {
    if text.bytes().all(|it| matches!(it, b' '..=b'~') && it != b'"' && it != b'\\') {
        json.push('"');
        json.push_str(text);
        json.push('"');
    } else {
        json.push_str(&escaped(&serde_json::Value::from(text)));
    }
}

/// JSON on one line. What a terminal or an editor would obey or not show is escaped too: names come from recordings, and
/// JSON is looked at as it is.
pub(crate) fn escaped(value: &serde_json::Value) -> String {
    let text = value.to_string();
    let mut quoted = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units).iter();
            quoted.extend(units.map(|it| format!("\\u{it:04x}")));
        } else {
            quoted.push(character);
        }
    }
    quoted
}

/// A cell of text. CSV has no escapes for what a terminal would obey, so it is replaced as in the terminal. A spreadsheet
/// takes a cell that begins like a formula for one; an apostrophe before it says that it is text (OWASP, "CSV
/// Injection"). Spreadsheets pass over space before a formula, and take the wide forms of the signs too.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['\t', '\r', '\n'])
        || text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    let cleaned = clean(text);
    if is_formula || cleaned.contains([',', ';', '"']) {
        let mark = if is_formula { "'" } else { "" };
        return format!("\"{mark}{}\"", cleaned.replace('"', "\"\""));
    }
    cleaned
}

/// An object on one line, with its fields in their order.
pub(crate) fn object<Name: AsRef<str>>(fields: &[(Name, FieldValue<'_>)]) -> String {
    let mut json = String::from("{");
    for (index, (name, value)) in fields.iter().enumerate() {
        json.push_str(if index == 0 { "\"" } else { ", \"" });
        json.push_str(name.as_ref());
        json.push_str("\": ");
        value.push_json(&mut json);
    }
    json.push('}');
    json
}

/// One entry a line, so that `grep` finds whole entries.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn write_list(
    out: &mut dyn Write,
    name: &str,
    entries: impl Iterator<Item = String>,
) -> io::Result<()> {
    write!(out, " \"{name}\": [")?;
    for (index, entry) in entries.enumerate() {
        write!(out, "{}\n  {entry}", if index == 0 { "" } else { "," })?;
    }
    write!(out, "]")
}

/// File and line, or two nulls.
pub(crate) fn place_fields<'a>(
    recording: &'a Recording<'_>,
    line: Option<&'a LineKey>,
) -> [FieldValue<'a>; 2] {
    match line {
        Some(it) => [FieldValue::text(recording.file(&it.file)), FieldValue::number(it.line)],
        None => [FieldValue::Json("null".to_owned()), FieldValue::Json("null".to_owned())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_escapes_what_is_obeyed_or_not_shown_and_says_the_same() {
        let rows = [
            ("forward", r#""forward""#),
            ("a\x1b]0;b\x07", r#""a\u001b]0;b\u0007""#),
            ("\u{9b}2J\x7f", r#""\u009b2J\u007f""#),
            ("\u{202e}yp.\u{2066}\u{200b}", r#""\u202eyp.\u2066\u200b""#),
            ("\u{e0041}", r#""\udb40\udc41""#),
            ("模型 \"é\"\n", r#""模型 \"é\"\n""#),
        ];
        for (text, expected) in rows {
            let json = FieldValue::text(text).json();
            assert_eq!(json, expected);
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    #[test]
    fn cells_of_text_are_no_formulas_and_no_commands_to_a_terminal() {
        let rows = [
            ("forward", "forward"),
            ("<lambda>", "<lambda>"),
            ("a, \"b\"", "\"a, \"\"b\"\"\""),
            ("a;=b", "\"a;=b\""),
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("  =1", "\"'  =1\""),
            ("＝1", "\"'＝1\""),
            ("\tx", "\"'    x\""),
            ("\rx", "\"'\u{fffd}x\""),
            ("a\x1b[2J\u{9b}\u{202e}\nb", "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}b"),
        ];
        for (text, expected) in rows {
            assert_eq!(FieldValue::text(text).csv(), expected);
        }
    }

    #[test]
    fn numbers_stay_as_they_are() {
        assert_eq!(
            (FieldValue::number(-5).csv(), FieldValue::number(-5).json()),
            ("-5".into(), "-5".into())
        );
    }
}
