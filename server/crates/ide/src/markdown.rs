//! Text in Markdown.

use std::path::Path;

/// `text` as it is, in running text and in table cells. What cannot be taken for a mark where it stands is not escaped: some
/// editors show Markdown as it is.
pub(crate) fn escape(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut escaped = String::with_capacity(text.len());
    for (at, &char) in chars.iter().enumerate() {
        if char.is_control() {
            escaped.push(' ');
            continue;
        }
        let before = at.checked_sub(1).and_then(|at| chars.get(at));
        let is_word = |it: Option<&char>| it.is_some_and(|it| it.is_alphanumeric());
        let is_mark = match char {
            '\\' | '`' | '*' | '[' | ']' | '<' | '#' | '|' | '~' | '&' => true,
            // Within a word it is none.
            '_' => !(is_word(before) && is_word(chars.get(at + 1))),
            // A quotation begins a text; what it would end begins with `<`.
            '>' => before.is_none(),
            _ => false,
        };
        if is_mark {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

/// `text` as code, in running text and in table cells. Backticks cannot be escaped in code, so they become quotes; a
/// table cell ends at any `|` that is not escaped, in code too.
pub(crate) fn code(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect::<String>()
        .replace('`', "'");
    format!("`{}`", text.trim().replace('|', "\\|"))
}

/// `name` as code that leads to a line of a file, as a `file:` URI whose fragment is the line: editors go there.
pub(crate) fn link(name: &str, path: &Path, line: u32) -> String {
    let path = uri_reference(&path.to_string_lossy());
    let root = if path.starts_with('/') { "" } else { "/" };
    format!("[{}](file://{root}{path}#L{line})", code(name))
}

/// A path as a relative reference (RFC 3986), with `/` between its parts.
#[must_use]
pub fn uri_reference(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// A table; `""` for an empty one. The first column is text, the others are numbers. Columns are padded: some editors
/// show Markdown as it is.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let width_of = |column: usize, name: &str| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).chain([name.chars().count(), 3]).max().unwrap_or(3)
    };
    let widths: Vec<usize> =
        head.iter().enumerate().map(|(column, name)| width_of(column, name)).collect();
    let line = |cells: &[&str]| {
        let cells = cells.iter().zip(&widths).enumerate();
        let cells: Vec<String> =
            cells
                .map(|(column, (cell, &width))| {
                    if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                })
                .collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<String> = widths
        .iter()
        .enumerate()
        .map(|(column, &width)| {
            let dashes = "-".repeat(width - 1);
            if column == 0 { format!(":{dashes}") } else { format!("{dashes}:") }
        })
        .collect();
    let mut table = line(head) + &line(&rule.iter().map(String::as_str).collect::<Vec<_>>());
    for row in rows {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        table += &line(&cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(escape("<b>__init__ [x](y)|\n"), "\\<b>\\_\\_init\\_\\_ \\[x\\](y)\\| ");
        assert_eq!(escape("> !slow_model.py(3) {a} __b"), "\\> !slow_model.py(3) {a} \\_\\_b");
        assert_eq!(code("a`b|c\n"), "`a'b\\|c`");
    }

    #[test]
    fn tables() {
        assert_eq!(
            table(&["line", "µs"], &[vec!["x".to_owned(), "1000".to_owned()]]),
            "| line |   µs |\n| :--- | ---: |\n| x    | 1000 |\n"
        );
        assert_eq!(table(&["a"], &[]), "");
    }
}
