//! Half-edited text: brackets that are still open.
//!
//! The parser takes everything after an open bracket for its content, and loses the functions that follow. No
//! statement can stand inside brackets, so where one begins there, the bracket is the mistake: the lines from it to
//! the statement are taken out of the text.

use ruff_python_ast::token::{Token, TokenKind, Tokens};
use ruff_text_size::Ranged;

use crate::LineIndex;

/// The text with as many lines, in which the statements with brackets that were never closed say nothing any more;
/// `None` if there are none.
pub(crate) fn repair(text: &str, tokens: &Tokens, lines: &LineIndex) -> Option<String> {
    let damages = damages(text, tokens, lines);
    if damages.is_empty() {
        return None;
    }
    let line = |line: u32| lines.line_range(line).map_or("", |range| &text[range]);
    let mut repaired = String::with_capacity(text.len());
    let mut next = 1;
    for damage in damages {
        (next..damage.first).for_each(|row| push_line(&mut repaired, line(row)));
        let indent = indent(line(damage.first));
        let after = self::indent(line(damage.next));
        let name = definition(line(damage.first));
        let first = match name {
            Some(head) => format!("{head}():"),
            None if after.len() > indent.len() => format!("{indent}if _:"),
            None => format!("{indent}pass"),
        };
        push_line(&mut repaired, &first);
        // What follows still belongs to the function, as far as it goes.
        let last = (damage.first + 1..=damage.last).rev().find(|&row| !line(row).trim().is_empty());
        for row in damage.first + 1..=damage.last {
            let is_last = last == Some(row);
            let body = match name {
                _ if !is_last => String::new(),
                _ if after.len() > indent.len() => format!("{after}pass"),
                Some(_) => format!("{indent} pass"),
                None => format!("{indent}pass"),
            };
            push_line(&mut repaired, &body);
        }
        next = damage.last + 1;
    }
    (next..=lines.n_lines()).for_each(|row| push_line(&mut repaired, line(row)));
    // The last line has no line end.
    repaired.pop();
    Some(repaired)
}

/// A statement with a bracket that was never closed.
struct UnclosedStatement {
    /// The line of the bracket.
    first: u32,
    /// The last line before the next statement and its decorators.
    last: u32,
    /// The line of the next statement.
    next: u32,
}

fn damages(text: &str, tokens: &Tokens, lines: &LineIndex) -> Vec<UnclosedStatement> {
    let line = |token: &Token| lines.line(token.start().to_usize());
    let begins_line = |token: &Token| {
        let range = lines.line_range(line(token)).unwrap_or_default();
        text[range.start..token.start().to_usize()].trim().is_empty()
    };
    let mut damages = Vec::new();
    let mut open = Vec::new();
    for (row, token) in tokens.iter().enumerate() {
        match token.kind() {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => open.push(line(token)),
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                open.pop();
            }
            kind if !open.is_empty()
                && is_statement(kind, tokens.get(row + 1).map(Token::kind))
                && begins_line(token) =>
            {
                let (first, next) = (open[0], line(token));
                let is_decorator = |&row: &u32| {
                    lines
                        .line_range(row)
                        .is_some_and(|range| text[range].trim_start().starts_with('@'))
                };
                let before = (first..next).rev().take_while(is_decorator).last().unwrap_or(next);
                if first < before {
                    damages.push(UnclosedStatement { first, last: before - 1, next });
                }
                open.clear();
            }
            _ => {}
        }
    }
    damages
}

/// Whether a token begins a statement and cannot stand in an expression.
fn is_statement(kind: TokenKind, next: Option<TokenKind>) -> bool {
    match kind {
        TokenKind::Async => next == Some(TokenKind::Def),
        TokenKind::Def
        | TokenKind::Class
        | TokenKind::Return
        | TokenKind::Import
        | TokenKind::While
        | TokenKind::With
        | TokenKind::Try
        | TokenKind::Except
        | TokenKind::Finally
        | TokenKind::Elif
        | TokenKind::Raise
        | TokenKind::Assert
        | TokenKind::Del
        | TokenKind::Pass
        | TokenKind::Break
        | TokenKind::Continue
        | TokenKind::Global
        | TokenKind::Nonlocal => true,
        _ => false,
    }
}

/// The line up to the name that it defines, if it is the first line of a `def` or class.
fn definition(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let code = code.strip_prefix("async ").map_or(code, str::trim_start);
    let name = code.strip_prefix("def ").or_else(|| code.strip_prefix("class "))?.trim_start();
    let rest = name.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    (rest.len() < name.len()).then(|| &line[..line.len() - rest.len()])
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
