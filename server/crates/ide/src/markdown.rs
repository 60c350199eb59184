//! Text in Markdown.

/// `text` as it is, in running text and in table cells.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_control() {
            escaped.push(' ');
            continue;
        }
        if matches!(
            char,
            '\\' | '`'
                | '*'
                | '_'
                | '{'
                | '}'
                | '['
                | ']'
                | '<'
                | '>'
                | '('
                | ')'
                | '#'
                | '|'
                | '!'
                | '~'
                | '&'
        ) {
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

/// A table; `""` for an empty one. The first column is text, the others are numbers.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rule: Vec<&str> =
        (0..head.len()).map(|column| if column == 0 { ":--" } else { "--:" }).collect();
    let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    let mut table = line(head) + &line(&rule);
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
        assert_eq!(escape("<b>__init__ [x](y)|\n"), "\\<b\\>\\_\\_init\\_\\_ \\[x\\]\\(y\\)\\| ");
        assert_eq!(code("a`b|c\n"), "`a'b\\|c`");
    }

    #[test]
    fn tables() {
        assert_eq!(
            table(&["a", "b"], &[vec!["x".to_owned(), "1".to_owned()]]),
            "| a | b |\n| :-- | --: |\n| x | 1 |\n"
        );
        assert_eq!(table(&["a"], &[]), "");
    }
}
