//! JSON and CSV from integers, without a detour through floats.

use std::io::{self, Write};

/// A field of the output.
pub(crate) enum Value {
    Text(String),
    /// JSON text. Numbers are decimal digits from integers, never through a float.
    Json(String),
}

impl Value {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(crate) fn number(number: impl ToString) -> Self {
        Self::Json(number.to_string())
    }

    pub(crate) fn json(&self) -> String {
        match self {
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            Self::Json(text) => text.clone(),
        }
    }

    /// RFC 4180.
    pub(crate) fn csv(&self) -> String {
        match self {
            Self::Text(text) if text.contains([',', '"', '\n', '\r']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            Self::Text(text) | Self::Json(text) => text.clone(),
        }
    }
}

/// An object on one line, with its fields in their order.
pub(crate) fn object(fields: &[(&str, Value)]) -> String {
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
