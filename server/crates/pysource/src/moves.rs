//! Moving a read of the device to where alone what is read is used: into an `if`, or after a loop.
//!
//! ```python
//! loss = F.cross_entropy(model(x), y)
//! value = loss.item()                  # waits in every step
//! loss.backward()
//! if step % 100 == 0:
//!     log(value)                       # used in one of a hundred
//! ```
//!
//! It is offered only where the program does the same afterwards:
//!
//! - The name is used in the body of one later `if` of the same statements, and nowhere else in its function.
//! - What is read is the same object there, because its name is not bound in between, and has the same value, because
//!   either nothing in between can change an object, or nothing else can refer to it: it is the result of an
//!   operator, a loss or a reduction of torch, and was not handed to anything since.
//!
//! A read that fails would fail later, or not at all where the `if` does not come to it. `after_loop.rs` is about loops.

pub(crate) mod after_loop;
mod harmless;

use std::ops::Range;

use ruff_python_ast::visitor::source_order::SourceOrderVisitor;
use ruff_python_ast::{Expr, ExprName, Stmt, StmtAssign, StmtIf};
use ruff_text_size::{Ranged, TextRange};

use harmless::{Harmless, is_fresh};

use crate::semantic::{FileNames, FoundStatement, OccurrenceKind};
use crate::stack_guard::{guarded, with_tree};
use crate::{LineIndex, Module};

/// A statement that may stand elsewhere instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// What reads: `.item()` or `float()`.
    pub read: &'static str,
    /// Where it may stand.
    pub to: Destination,
    /// The bytes to be taken out: whole lines.
    pub delete: Range<usize>,
    /// Where to put `insert`: the start of a line after `delete`.
    pub insert_at: usize,
    /// Whole lines.
    pub insert: String,
}

/// Where a statement may stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// In the body of this: `if step % 100 == 0`, as it is written.
    If(String),
    /// After the loop that it stands in.
    AfterLoop,
}

impl Move {
    /// The text with the statement moved.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let Self { delete, insert_at, insert, .. } = self;
        let parts =
            [&text[..delete.start], &text[delete.end..*insert_at], insert, &text[*insert_at..]];
        parts.concat()
    }
}

/// What sees the names of a function from outside of its text.
const WATCHERS: [&str; 6] = ["locals", "vars", "eval", "exec", "dir", "globals"];

impl Module {
    /// How the statement on `line` of `text`, which this is the module of, can be moved to where alone what it reads is
    /// used: `name = other.item()` or `name = float(other)`. `None` where the program might do something else
    /// afterwards.
    #[must_use]
    pub fn move_read(&self, text: &str, line: u32) -> Option<Move> {
        if self.has_errors {
            return None;
        }
        let lines = LineIndex::new(text);
        // Most lines need no look at the tree.
        let written = text.get(lines.line_range(line)?)?;
        if !written.contains("item") && !written.contains("float") {
            return None;
        }
        let found = with_tree(text, |parsed| {
            let names = FileNames::of(parsed.syntax(), &lines, line);
            let found = names.found().and_then(|found| self.possible(text, &lines, &names, found));
            (found, names.scopes.depth)
        })??;
        (!Self::parse(&found.apply(text)).has_errors).then_some(found)
    }

    fn possible(
        &self,
        text: &str,
        lines: &LineIndex,
        names: &FileNames<'_>,
        found: FoundStatement<'_>,
    ) -> Option<Move> {
        let assign = found.suite[found.row].as_assign_stmt()?;
        let (name, read, other) = read(assign)?;
        let is_possible =
            is_private(names, found) && (read != "float()" || names.is_builtin("float"));
        is_possible.then_some(())?;
        let (before, to) = into_if(text, names, found, (name, other))
            .or_else(|| Some((after_loop::target(names, name, other)?, Destination::AfterLoop)))?;

        let line = self.own_line(text, lines, assign.range)?;
        let statement = text[assign.start().to_usize()..lines.line_range(line)?.end].trim_end();
        let rest = &statement[assign.range.len().to_usize()..];
        (rest.is_empty() || rest.trim_start().starts_with('#')).then_some(())?;
        let first = lines.line(before.start().to_usize());
        let head = text.get(lines.line_range(first)?.start..before.start().to_usize())?;
        let is_own = head.trim().is_empty() && *self.statement_lines(first).start() == first;
        is_own.then_some(())?;
        let (delete, ends) = (lines.full_line_range(line)?, lines.line_range(line)?.end);
        Some(Move {
            read,
            to,
            insert_at: lines.line_range(first)?.start,
            insert: format!("{head}{statement}{}", &text[ends..delete.end]),
            delete,
        })
    }

    /// The line of a statement that has it for itself.
    fn own_line(&self, text: &str, lines: &LineIndex, range: TextRange) -> Option<u32> {
        let line = lines.line(range.start().to_usize());
        let before = text.get(lines.line_range(line)?.start..range.start().to_usize())?;
        (before.trim().is_empty() && self.statement_lines(line) == (line..=line)).then_some(line)
    }
}

/// Whether a statement is one of a function, whose names nothing sees from outside of its text.
pub(crate) fn is_private(names: &FileNames<'_>, found: FoundStatement<'_>) -> bool {
    let function = names.scopes.codes[found.scope];
    let is_watched = |watcher: &&str| {
        names.of_name(watcher).iter().any(|it| function.range().contains_range(it.range))
    };
    function.is_def() && !WATCHERS.iter().any(is_watched)
}

/// The first statement of the `if` that alone uses `name`, where reading `other` does the same.
fn into_if<'a>(
    text: &str,
    names: &FileNames<'_>,
    found: FoundStatement<'a>,
    (name, other): (&ExprName, &ExprName),
) -> Option<(&'a Stmt, Destination)> {
    let (after, target) = target(names, found, name)?;
    let between = &found.suite[found.row + 1..after];
    let read = found.suite[found.row].range();
    let is_same = keeps_its_object(names, found, other, read, target)
        && (between.iter().all(is_inert) && is_inert_expr(&target.test)
            || keeps_its_value(names, found, other, after, target));
    is_same.then_some(())?;
    let condition = &text[target.start().to_usize()..target.test.end().to_usize()];
    let condition = condition.split_whitespace().collect::<Vec<_>>().join(" ");
    Some((target.body.first()?, Destination::If(condition)))
}

/// `name = other.item()` or `name = float(other)`.
fn read(assign: &StmtAssign) -> Option<(&ExprName, &'static str, &ExprName)> {
    let [Expr::Name(name)] = assign.targets.as_slice() else { return None };
    let call = assign.value.as_call_expr()?;
    let (read, other) = match &*call.func {
        Expr::Attribute(it) if it.attr.as_str() == "item" && call.arguments.is_empty() => {
            (".item()", it.value.as_name_expr()?)
        }
        Expr::Name(it) if it.id.as_str() == "float" && call.arguments.keywords.is_empty() => {
            let [Expr::Name(other)] = &*call.arguments.args else { return None };
            ("float()", other)
        }
        _ => return None,
    };
    (name.id != other.id).then_some((name, read, other))
}

/// The `if` after a statement that has all uses of `name` in its body, and its row.
fn target<'a>(
    names: &FileNames<'_>,
    found: FoundStatement<'a>,
    name: &ExprName,
) -> Option<(usize, &'a StmtIf)> {
    let function = names.scopes.codes[found.scope].range();
    let uses = names.of_name(name.id.as_str()).iter();
    let mut uses = uses
        .filter(|it| function.contains_range(it.range) && it.range != name.range)
        .copied()
        .peekable();
    let first = uses.peek()?.range;
    let row = found.suite.iter().position(|stmt| stmt.range().contains_range(first))?;
    let target = found.suite[row].as_if_stmt().filter(|_| found.row < row)?;
    let body = TextRange::new(target.body.first()?.start(), target.body.last()?.end());
    let is_fine = uses.all(|it| {
        it.kind == OccurrenceKind::Load && it.scope == found.scope && body.contains_range(it.range)
    });
    is_fine.then_some((row, target))
}

/// Whether a name stands for the same object when the `if` is reached: it is a name of this function alone, and is not
/// bound in between.
fn keeps_its_object(
    names: &FileNames<'_>,
    found: FoundStatement<'_>,
    other: &ExprName,
    read: TextRange,
    target: &StmtIf,
) -> bool {
    let function = names.scopes.codes[found.scope].range();
    let between = TextRange::new(read.end(), target.test.end());
    names.of_name(other.id.as_str()).iter().filter(|it| function.contains_range(it.range)).all(
        |it| {
            it.scope == found.scope
                && it.kind != OccurrenceKind::Outer
                && (it.kind == OccurrenceKind::Load || !between.contains_range(it.range))
        },
    )
}

/// Whether the value of `other` is the same when the `if` is reached, because nothing else refers to it: it was made
/// by a statement before the read, and not handed on since.
fn keeps_its_value(
    names: &FileNames<'_>,
    found: FoundStatement<'_>,
    other: &ExprName,
    after: usize,
    target: &StmtIf,
) -> bool {
    let is_made = |stmt: &&Stmt| match stmt {
        Stmt::Assign(it) => {
            matches!(it.targets.as_slice(), [Expr::Name(name)] if name.id == other.id)
        }
        _ => false,
    };
    let Some(made) = found.suite[..found.row].iter().rposition(|stmt| is_made(&stmt)) else {
        return false;
    };
    let Stmt::Assign(origin) = &found.suite[made] else { return false };
    if !is_fresh(names, &origin.value) {
        return false;
    }
    // The read itself is harmless.
    let mut harmless = Harmless { name: other.id.as_str(), ranges: vec![other.range] };
    found.suite[made + 1..after].iter().for_each(|stmt| harmless.visit_stmt(stmt));
    harmless.visit_expr(&target.test);
    let since = TextRange::new(origin.end(), target.test.end());
    let mut uses = names.of_name(other.id.as_str()).iter();
    uses.all(|it| !since.contains_range(it.range) || harmless.ranges.contains(&it.range))
}

/// Whether a statement cannot change an object: it only gives names to what operators make.
fn is_inert(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Pass(_) => true,
        Stmt::Expr(it) => is_inert_expr(&it.value),
        Stmt::Assign(it) => it.targets.iter().all(Expr::is_name_expr) && is_inert_expr(&it.value),
        _ => false,
    }
}

fn is_inert_expr(expr: &Expr) -> bool {
    let all = |exprs: &[&Expr]| exprs.iter().all(|it| guarded(|| is_inert_expr(it)));
    match expr {
        Expr::Name(_)
        | Expr::StringLiteral(_)
        | Expr::BytesLiteral(_)
        | Expr::NumberLiteral(_)
        | Expr::BooleanLiteral(_)
        | Expr::NoneLiteral(_) => true,
        Expr::Attribute(it) => all(&[&it.value]),
        Expr::UnaryOp(it) => all(&[&it.operand]),
        Expr::BinOp(it) => all(&[&it.left, &it.right]),
        Expr::BoolOp(it) => it.values.iter().all(|it| all(&[it])),
        Expr::Compare(it) => all(&[&it.left]) && it.comparators.iter().all(|it| all(&[it])),
        Expr::Tuple(it) => it.elts.iter().all(|it| all(&[it])),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
