//! What of a line matters: its tokens, without comments, white space between them, and the choice of quotes. Lines are taken
//! by themselves, whatever stands around them, so that half-typed code is no special case.

use std::borrow::Cow;

/// A line for comparisons: its indentation and its tokens. Empty where it has none: a blank line, a comment.
pub(crate) fn canonical(line: &str) -> String {
    let tokens = tokens(line);
    if tokens.is_empty() {
        return String::new();
    }
    let mut text = indentation(line).to_owned();
    for token in &tokens {
        text.push_str(token);
        text.push(' ');
    }
    text
}

/// Lines that belong together: a statement, however it is broken into lines.
#[derive(Debug)]
pub(crate) struct LogicalLine<'a> {
    /// Its tokens, without what formatters add and take away: commas before closing brackets, and parentheses around a
    /// whole expression.
    pub(crate) key: String,
    pub(crate) indentation: &'a str,
    /// Rows of its first line and after its last one.
    pub(crate) rows: std::ops::Range<usize>,
    /// The row of each token of `key`.
    pub(crate) at: Vec<usize>,
}

/// The statements of some lines; those without tokens belong to none, or to the statement that goes on around them.
pub(crate) fn logical_lines<'a>(lines: &[&'a str]) -> Vec<LogicalLine<'a>> {
    let mut found = Vec::new();
    let mut open: Vec<(Cow<'a, str>, usize)> = Vec::new();
    let mut depth = 0usize;
    for (row, line) in lines.iter().enumerate() {
        let mut tokens = tokens(line);
        let goes_on = tokens.pop_if(|it| it == "\\").is_some();
        for token in tokens {
            match &*token {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            open.push((token, row));
        }
        if depth == 0 && !goes_on {
            found.extend(closed(std::mem::take(&mut open), lines, row + 1));
        }
    }
    found.extend(closed(open, lines, lines.len()));
    found
}

/// The statement of some tokens that ends before a row.
fn closed<'a>(
    mut tokens: Vec<(Cow<'a, str>, usize)>,
    lines: &[&'a str],
    end: usize,
) -> Option<LogicalLine<'a>> {
    let first = tokens.first()?.1;
    let closes = |it: &(Cow<'_, str>, usize)| matches!(&*it.0, ")" | "]" | "}");
    let mut is_left_out: Vec<bool> = tokens
        .iter()
        .enumerate()
        .map(|(index, it)| it.0 == "," && tokens.get(index + 1).is_some_and(closes))
        .collect();
    if let Some((open, close)) = redundant_parentheses(&tokens) {
        is_left_out[open] = true;
        is_left_out[close] = true;
    }
    let mut left_out = is_left_out.into_iter();
    tokens.retain(|_| left_out.next() != Some(true));
    let key: Vec<&str> = tokens.iter().map(|it| &*it.0).collect();
    let at = tokens.iter().map(|it| it.1).collect();
    Some(LogicalLine {
        key: key.join(" "),
        indentation: indentation(lines[first]),
        rows: first..end,
        at,
    })
}

/// Parentheses around all that follows `=` or a keyword, without a comma directly in them: they mean nothing.
fn redundant_parentheses(tokens: &[(Cow<'_, str>, usize)]) -> Option<(usize, usize)> {
    let text = |index: usize| tokens.get(index).map(|it| &*it.0);
    let starts = |index: usize| {
        text(index) == Some("(")
            && matches!(
                text(index.wrapping_sub(1)),
                Some("=" | "return" | "if" | "elif" | "while" | "in" | "assert")
            )
    };
    let open = (1..tokens.len()).find(|&index| starts(index))?;
    let mut depth = 0usize;
    for index in open..tokens.len() {
        match text(index)? {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 1 => return None,
            _ => {}
        }
        if depth == 0 {
            let is_last = index + 1 == tokens.len();
            let is_head = text(index + 1) == Some(":") && index + 2 == tokens.len();
            return (is_last || is_head).then_some((open, index));
        }
    }
    None
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// The tokens of a line; numbers and names are distinguished from operators and not from each other.
fn tokens(line: &str) -> Vec<Cow<'_, str>> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' => break,
            '"' | '\'' => string_length(rest),
            _ if is_name(first) => rest.find(|it| !is_name(it)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(unquoted(token));
        rest = after.trim_start();
    }
    tokens
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Bytes of the string that a text begins with, as far as it is on this line.
fn string_length(text: &str) -> usize {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let end = if text.starts_with(&triple) { triple.as_str() } else { quote };
    let mut at = end.len();
    while at < text.len() {
        if text[at..].starts_with(end) {
            return at + end.len();
        }
        let mut characters = text[at..].chars();
        let escaped = characters.next() == Some('\\');
        at = text.len() - characters.as_str().len();
        if escaped {
            at += characters.next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}

/// A token with one kind of quotes where both mean the same.
fn unquoted(token: &str) -> Cow<'_, str> {
    let inner = token.trim_matches('\'');
    let is_single =
        token.starts_with('\'') && token.ends_with('\'') && !inner.contains(['"', '\\', '\'']);
    if is_single { Cow::Owned(token.replace('\'', "\"")) } else { Cow::Borrowed(token) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_alike_but_for_what_means_nothing() {
        let alike = [
            ("x = f( a,b )", "x=f(a, b)  # why"),
            ("x = 'a'", "x = \"a\""),
            ("x = '''a'''", "x = \"\"\"a\"\"\""),
            ("", "  # perfline: ignore[sync]"),
            ("é = 1", "é  =  1"),
        ];
        for (a, b) in alike {
            assert_eq!(canonical(a), canonical(b));
        }
        let different = [
            ("x = 1", "  x = 1"),
            ("x = '#a'", "x = '#b'"),
            ("x = 'a\"'", "x = \"a\""),
            ("x = 'a b'", "x = 'ab'"),
            ("notx", "not x"),
            ("x = '\\'#a'", "x = '\\'#b'"),
            ("x = 'open", "x = 'opened"),
            ("\\", ""),
        ];
        for (a, b) in different {
            assert_ne!(canonical(a), canonical(b));
        }
    }

    #[test]
    fn statements_are_alike_however_they_are_broken() {
        let key = |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            logical_lines(&lines).into_iter().map(|it| it.key).collect::<Vec<_>>()
        };
        let alike = [
            ("x = f(a, b)", "x = f(\n    a,\n    b,\n)"),
            ("x = a + b", "x = (\n    a\n    + b\n)"),
            ("if a and b:\n    pass", "if (\n    a\n    and b  # both\n):\n    pass"),
            ("x = a + b", "x = a + \\\n    b"),
        ];
        for (a, b) in alike {
            assert_eq!(key(a), key(b), "{b}");
        }
        let different = [
            ("x = (a, b)", "x = a, b + c"),
            ("x = (a + b) * c", "x = a + b * c"),
            ("a; b", "a\nb"),
        ];
        for (a, b) in different {
            assert_ne!(key(a), key(b), "{b}");
        }
    }
}
