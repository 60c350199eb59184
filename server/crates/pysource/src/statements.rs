//! The statements of a text as sequences of tokens, to know them again in another text.
//!
//! Layout makes no difference: how a statement is cut into lines, quotes, a comma before a closing bracket, brackets
//! around a whole expression, comments.

use std::hash::{DefaultHasher, Hash, Hasher};

use ruff_python_ast::token::{Token, TokenKind, Tokens};
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Expr, Pattern, Stmt};
use ruff_text_size::Ranged;

use crate::LineIndex;
use crate::stack_guard::{Depth, Descend, with_tree};

/// A simple statement, the header of a compound one, or a decorator, as it can be compared with those of another text.
/// Statements that share a line are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    /// 1-based line of its first token.
    pub(crate) first_line: u32,
    /// Line of its last token.
    pub(crate) last_line: u32,
    /// A hash of each token that layout cannot change, in order.
    tokens: Vec<u64>,
    /// The line of each of them, counted from the first line.
    lines: Vec<u32>,
}

impl Statement {
    /// Whether both say the same on each of their lines, so that lines can be compared one by one.
    pub(crate) fn is_laid_out_alike(&self, other: &Self) -> bool {
        self.lines == other.lines
    }

    /// The share (of 1) of the tokens of both that a longest common subsequence of them holds.
    pub(crate) fn similarity(&self, other: &Self) -> f64 {
        let n_tokens = self.tokens.len() + other.tokens.len();
        if n_tokens == 0 || MAX_TOKENS < self.tokens.len().max(other.tokens.len()) {
            return 0.0;
        }
        let mut row = vec![0_usize; other.tokens.len() + 1];
        for mine in &self.tokens {
            let mut diagonal = 0;
            for (column, theirs) in other.tokens.iter().enumerate() {
                let above = row[column + 1];
                row[column + 1] = match mine == theirs {
                    true => diagonal + 1,
                    false => above.max(row[column]),
                };
                diagonal = above;
            }
        }
        2.0 * row[other.tokens.len()] as f64 / n_tokens as f64
    }

    /// Its tokens, as hashes.
    pub(crate) fn tokens(&self) -> &[u64] {
        &self.tokens
    }

    /// A number that statements share that say the same, and hardly any others.
    pub(crate) fn hash(&self) -> u64 {
        hashed(&self.tokens)
    }
}

/// Statements of more tokens (tables of data) are compared as a whole alone.
const MAX_TOKENS: usize = 1024;

/// The statements of a text in order; of a text over the limits of size, none.
pub(crate) fn statements(text: &str) -> Vec<Statement> {
    let lines = LineIndex::new(text);
    let found = with_tree(text, |parsed| {
        let mut walk = TreeDepth::default();
        walk.visit_body(&parsed.syntax().body);
        (split(text, parsed.tokens(), &lines), walk.0.max())
    });
    found.unwrap_or_default()
}

fn split(text: &str, tokens: &Tokens, lines: &LineIndex) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut current: Vec<&Token> = Vec::new();
    for token in tokens {
        match token.kind() {
            TokenKind::Newline | TokenKind::EndOfFile => {
                statements.extend(statement(text, &current, lines));
                current.clear();
            }
            TokenKind::NonLogicalNewline
            | TokenKind::Comment
            | TokenKind::Indent
            | TokenKind::Dedent => {}
            _ => current.push(token),
        }
    }
    statements
}

fn statement(text: &str, tokens: &[&Token], lines: &LineIndex) -> Option<Statement> {
    let line = |token: &Token| lines.line(token.start().to_usize());
    let (first_line, last) = (line(tokens.first()?), tokens.last()?);
    let dropped = layout(tokens);
    let kept = tokens.iter().zip(&dropped).filter(|(_, dropped)| !**dropped).map(|(it, _)| *it);
    let (hashes, rows): (Vec<u64>, Vec<u32>) =
        kept.map(|it| (token_hash(text, it), line(it) - first_line)).unzip();
    let last_line = lines.line(last.end().to_usize());
    Some(Statement { first_line, last_line, tokens: hashes, lines: rows })
}

/// Which tokens are layout: commas before a closing bracket, and parentheses around an expression that needs none.
fn layout(tokens: &[&Token]) -> Vec<bool> {
    let kind = |at: usize| tokens.get(at).map(|it| it.kind());
    let mut dropped = vec![false; tokens.len()];
    let mut open: Vec<OpenBracket> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind() {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => {
                open.push(OpenBracket { at, has_comma: false });
            }
            TokenKind::Comma => {
                let is_last = kind(at + 1).is_some_and(is_closing);
                // A tuple of one has a comma that says so.
                let is_tuple =
                    open.last().is_some_and(|it| !it.has_comma && !is_call(tokens, it.at));
                dropped[at] = is_last && !is_tuple;
                if let Some(it) = open.last_mut() {
                    it.has_comma = true;
                }
            }
            kind_here if is_closing(kind_here) => {
                let Some(it) = open.pop() else { continue };
                let is_last = kind(at + 1).is_none_or(|next| {
                    is_closing(next) || matches!(next, TokenKind::Colon | TokenKind::Comma)
                });
                let is_empty = it.at + 1 == at;
                let is_parenthesis = kind_here == TokenKind::Rpar;
                if is_parenthesis
                    && is_last
                    && !is_empty
                    && !it.has_comma
                    && !is_call(tokens, it.at)
                {
                    (dropped[it.at], dropped[at]) = (true, true);
                }
            }
            _ => {}
        }
    }
    dropped
}

/// A bracket that is not closed yet.
struct OpenBracket {
    at: usize,
    has_comma: bool,
}

/// Whether the bracket at `at` follows a value, so that it calls or subscribes it.
fn is_call(tokens: &[&Token], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| tokens[before].kind());
    before.is_some_and(|it| {
        is_closing(it) || matches!(it, TokenKind::Name | TokenKind::String | TokenKind::FStringEnd)
    })
}

fn is_closing(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace)
}

fn token_hash(text: &str, token: &Token) -> u64 {
    let text = text.get(token.start().to_usize()..token.end().to_usize()).unwrap_or_default();
    match token.kind() {
        // Quotes may be either, one or three.
        TokenKind::String | TokenKind::FStringStart | TokenKind::FStringEnd => {
            let prefix = text.find(['"', '\'']).unwrap_or(0);
            let inner = text[prefix..].trim_matches(['"', '\'']);
            hashed(&(1, text[..prefix].to_ascii_lowercase(), inner))
        }
        _ => hashed(&(0, text)),
    }
}

fn hashed(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// How deep the tree is, which has to be known to drop it.
#[derive(Default)]
struct TreeDepth(Depth);

impl Descend for TreeDepth {
    fn depth(&mut self) -> &mut Depth {
        &mut self.0
    }
}

impl<'a> SourceOrderVisitor<'a> for TreeDepth {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.descend(|this| source_order::walk_stmt(this, stmt));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.descend(|this| source_order::walk_expr(this, expr));
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.descend(|this| source_order::walk_pattern(this, pattern));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Statement {
        let found = statements(text);
        assert_eq!(found.len(), 1, "{text:?}");
        found.into_iter().next().unwrap()
    }

    #[test]
    fn layout_makes_no_difference() {
        let same = [
            ("f(a, b)", "f(\n    a,\n    b,\n)"),
            ("x = a + b", "x = (\n    a\n    + b\n)"),
            ("return a if b else c", "return (\n    a if b else c\n)"),
            ("x = 'a'", "x = \"a\""),
            ("x = f'{a}'", "x = f\"{a}\""),
            ("if a and b: pass", "if (\n  a\n  and b\n): pass"),
            ("x = [1, 2]", "x = [\n    1,\n    2,  # two\n]"),
            ("f(key=(a or b))", "f(key=a or b)"),
        ];
        for (one, other) in same {
            assert!(only(one).hash() == only(other).hash(), "{one} / {other}");
        }
        let different = [
            ("x = (a,)", "x = (a)"),
            ("x = (a + b) * c", "x = a + b * c"),
            ("f((a, b))", "f(a, b)"),
            ("f(a)", "f(b)"),
            ("x = 'a'", "x = b'a'"),
            ("f()", "f"),
        ];
        for (one, other) in different {
            assert!(only(one).hash() != only(other).hash(), "{one} / {other}");
        }
    }

    #[test]
    fn statements_are_headers_and_simple_statements() {
        let text = "@d\ndef f(a,\n      b):\n    '''Doc.'''\n    for x in a:\n        g(\n            x)\n\n    return b\n";
        let lines: Vec<(u32, u32)> =
            statements(text).iter().map(|it| (it.first_line, it.last_line)).collect();
        assert_eq!(lines, [(1, 1), (2, 3), (4, 4), (5, 5), (6, 7), (9, 9)]);
    }

    #[test]
    fn similarity_is_of_tokens_in_order() {
        let of = |one: &str, other: &str| only(one).similarity(&only(other));
        assert_eq!(of("total += loss.item()", "total += loss.item()"), 1.0);
        assert!(of("total += loss.item()", "total += loss.detach()") > 0.8);
        assert!(of("total += loss.item()", "del x") < 0.2);
    }

    #[test]
    fn lines_are_compared_one_by_one_where_the_layout_is_the_same() {
        let one = only("f(a,\n  b)");
        assert!(one.is_laid_out_alike(&only("g(c,\n  d)")));
        assert!(!one.is_laid_out_alike(&only("f(a, b)")));
    }
}
