//! Keyword arguments of calls: which are there, and writing one as the others are written.

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Arguments, Expr, ExprCall, Keyword};
use ruff_text_size::{Ranged, TextRange};

use super::context::{EditContext, Replacement};

/// What a keyword argument is, as far as it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    Absent,
    True,
    False,
    /// Anything else; it is known only when the code runs.
    Other,
}

/// A keyword argument of a call that has no `**`.
pub(super) fn given(arguments: &Arguments, name: &str) -> Given {
    match keyword(arguments, name).map(|it| &it.value) {
        None => Given::Absent,
        Some(Expr::BooleanLiteral(it)) => {
            if it.value {
                Given::True
            } else {
                Given::False
            }
        }
        Some(_) => Given::Other,
    }
}

pub(super) fn keyword<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a Keyword> {
    arguments.keywords.iter().find(|it| it.arg.as_ref().is_some_and(|it| it.as_str() == name))
}

/// Whether all arguments are written out, with at most `most` of them by position.
pub(super) fn are_plain(arguments: &Arguments, most: usize) -> bool {
    arguments.args.len() <= most
        && !arguments.args.iter().any(Expr::is_starred_expr)
        && arguments.keywords.iter().all(|it| it.arg.is_some())
}

impl EditContext<'_, '_> {
    /// Writes `name=value`: instead of the argument of that name, else after all others and in their style.
    pub(super) fn set(&self, call: &ExprCall, name: &str, value: &str) -> Option<Vec<Replacement>> {
        if let Some(there) = keyword(&call.arguments, name) {
            return Some(vec![replacement(there.value.range(), value.to_owned())]);
        }
        self.append(call, &format!("{name}={value}"))
    }

    fn append(&self, call: &ExprCall, argument: &str) -> Option<Vec<Replacement>> {
        let insert = |at: usize, text: String| Replacement { range: at..at, text };
        let arguments = &call.arguments;
        let close = arguments.range.end().to_usize().checked_sub(1)?;
        let is_code =
            |kind: TokenKind| !matches!(kind, TokenKind::Comment | TokenKind::NonLogicalNewline);
        let mut before = self.tokens.before(arguments.range.end()).iter().rev().skip(1);
        let last = before.find(|it| is_code(it.kind()))?;
        let at = last.range().end().to_usize();
        let start = arguments.iter_source_order().last().map(|it| it.range().start());
        let Some(start) = start else {
            return (last.kind() == TokenKind::Lpar).then(|| vec![insert(at, argument.to_owned())]);
        };
        // `f(x for x in y)` takes no other argument.
        let lone = arguments.args.first().filter(|_| arguments.len() == 1);
        if lone.is_some_and(|it| matches!(it, Expr::Generator(it) if !it.parenthesized)) {
            return None;
        }
        let has_comma = last.kind() == TokenKind::Comma;
        let row = self.lines.line_range(self.line_of(start.to_usize()))?;
        let indent = self.text.get(row.start..start.to_usize())?;
        let is_own_line = indent.trim().is_empty();
        let last_line = self.line_of(at);
        let is_closed_below = last_line < self.line_of(close);
        if !(is_own_line && is_closed_below) {
            return Some(vec![match has_comma {
                // `f(a, )` has its comma already.
                true => {
                    insert(at, format!(" {argument}{}", if is_closed_below { "," } else { "" }))
                }
                false => insert(at, format!(", {argument}")),
            }]);
        }
        // On a line of its own, after a comment that is there.
        let (row, full) =
            (self.lines.line_range(last_line)?, self.lines.full_line_range(last_line)?);
        let line_end = self.text.get(row.end..full.end)?;
        let line = format!("{line_end}{indent}{argument}");
        Some(match has_comma {
            true => vec![insert(row.end, format!("{line},"))],
            false if at == row.end => vec![insert(at, format!(",{line}"))],
            false => vec![insert(at, ",".to_owned()), insert(row.end, line)],
        })
    }
}

pub(super) fn replacement(range: TextRange, text: String) -> Replacement {
    Replacement { range: range.start().to_usize()..range.end().to_usize(), text }
}
