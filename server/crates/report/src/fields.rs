//! Fields of machine-readable output: JSON and CSV from integers, without a detour through floats.

use std::fmt::Display;
use std::io::{self, Write};

use ledger::Bytes;

use crate::terminal::{clean, is_hidden};

/// A field of the output.
pub(crate) enum FieldValue {
    Text(String),
    /// JSON text. Numbers are decimal digits from integers, never through a float.
    Json(String),
}

impl FieldValue {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(crate) fn number(number: impl ToString) -> Self {
        Self::Json(number.to_string())
    }

    pub(crate) fn bytes(bytes: Bytes) -> Self {
        Self::number(bytes.0)
    }

    pub(crate) fn json(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Json(text) => text.clone(),
        }
    }

    /// A cell as RFC 4180 has it.
    pub(crate) fn csv(&self) -> String {
        match self {
            Self::Text(text) => cell(text),
            Self::Json(text) => text.clone(),
        }
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    escaped(&serde_json::Value::from(text))
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
pub(crate) fn object<Name: Display>(fields: &[(Name, FieldValue)]) -> String {
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| format!("\"{name}\": {}", value.json())).collect();
    format!("{{{}}}", fields.join(", "))
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
