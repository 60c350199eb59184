//! Where a read belongs that every pass of a loop does, and only what follows the loop uses.
//!
//! ```python
//! for x, y in loader:
//!     loss = F.cross_entropy(model(x), y)
//!     value = loss.item()              # waits in every step
//!     loss.backward()
//! print(value)                         # uses the last one
//! ```
//!
//! After the loop `loss` is what the last pass made, and has the value that it had there: it is bound nowhere else, each
//! pass that makes it also reads it, and nothing else refers to it. Without any pass the name is missing before and
//! after, so the use has to be one that is always come to.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Expr, ExprName, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::harmless::{Harmless, is_fresh};
use crate::semantic::{FileNames, FoundStatement, OccurrenceKind};

/// The statement after the loop that first uses `name`, before which the read of `other` does the same.
pub(super) fn target<'a>(
    names: &FileNames<'a>,
    name: &ExprName,
    other: &ExprName,
) -> Option<&'a Stmt> {
    let (outer, inner) = loop_around(names)?;
    is_made_in_each_pass(names, inner, other).then_some(())?;

    let function = names.scopes.codes[inner.scope].range();
    let uses = names.of_name(name.id.as_str()).iter();
    let uses = uses.filter(|it| function.contains_range(it.range) && it.range != name.range);
    let first = uses.clone().map(|it| it.range).min_by_key(|it| it.start())?;
    let row = outer.suite.iter().position(|it| it.range().contains_range(first))?;
    let target = &outer.suite[row];
    let after = TextRange::new(target.start(), outer.suite.last()?.end());
    let is_fine = row > outer.row
        && uses.clone().all(|it| it.kind == OccurrenceKind::Load && it.scope == inner.scope)
        && uses.clone().all(|it| after.contains_range(it.range));
    // A use that is not come to without any pass would miss what is read.
    let evaluated = match target {
        Stmt::If(it) => it.test.range(),
        Stmt::Expr(_) | Stmt::Assign(_) | Stmt::AugAssign(_) | Stmt::Return(_) => target.range(),
        _ => return None,
    };
    let mut choices = Choices { from: evaluated.start(), to: evaluated.end(), is_found: false };
    choices.visit_stmt(target);
    let is_always = evaluated.contains_range(first) && !choices.is_found;
    (is_fine && is_always).then_some(target)
}

/// The loop whose body the statement that was looked for stands in, and that statement.
pub(crate) fn loop_around<'a>(
    names: &FileNames<'a>,
) -> Option<(FoundStatement<'a>, FoundStatement<'a>)> {
    let inner = names.found()?;
    let [around @ .., outer, _] = &names.path[..] else { return None };
    let body = match &outer.suite[outer.row] {
        Stmt::For(it) => &it.body,
        Stmt::While(it) => &it.body,
        _ => return None,
    };
    let is_body = body.first().map(Ranged::range) == inner.suite.first().map(Ranged::range);
    // What fails in a pass goes on after a `try`.
    let is_tried = around.iter().any(|it| it.suite[it.row].is_try_stmt());
    (is_body && !is_tried && outer.scope == inner.scope).then_some((*outer, inner))
}

/// Whether `other` is made by a statement of the body before the read, whenever that is come to, and nothing in the
/// function changes it or gives it to anybody.
pub(crate) fn is_made_in_each_pass(
    names: &FileNames<'_>,
    inner: FoundStatement<'_>,
    other: &ExprName,
) -> bool {
    let function = names.scopes.codes[inner.scope].range();
    let Some(def) = names.functions.values().find(|it| it.range == function) else { return false };
    let is_made = |stmt: &Stmt| {
        stmt.as_assign_stmt().is_some_and(|it| match it.targets.as_slice() {
            [Expr::Name(name)] => name.id == other.id && is_fresh(names, &it.value),
            _ => false,
        })
    };
    let Some(made) = inner.suite[..inner.row].iter().rposition(is_made) else { return false };
    let goes_on = inner.suite[made + 1..inner.row].iter().all(|it| {
        matches!(
            it,
            Stmt::Expr(_)
                | Stmt::Assign(_)
                | Stmt::AugAssign(_)
                | Stmt::AnnAssign(_)
                | Stmt::Pass(_)
        )
    });
    let mut harmless = Harmless { name: other.id.as_str(), ranges: vec![other.range] };
    def.body.iter().for_each(|it| harmless.visit_stmt(it));
    let all = names.of_name(other.id.as_str()).iter();
    let mut all = all.filter(|it| function.contains_range(it.range));
    let origin = inner.suite[made].range();
    goes_on
        && all.all(|it| {
            it.scope == inner.scope
                && match it.kind {
                    OccurrenceKind::Load => harmless.ranges.contains(&it.range),
                    OccurrenceKind::Bind => origin.contains_range(it.range),
                    OccurrenceKind::Import | OccurrenceKind::Outer => false,
                }
        })
}

/// Whether a part of a text holds an expression that is not always evaluated.
struct Choices {
    from: TextSize,
    to: TextSize,
    is_found: bool,
}

impl<'a> SourceOrderVisitor<'a> for Choices {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        crate::stack_guard::guarded(|| source_order::walk_stmt(self, stmt));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let is_choice = matches!(expr, Expr::If(_) | Expr::BoolOp(_) | Expr::Compare(_));
        // `a < b < c` does not always come to `c`.
        let is_choice = is_choice && !matches!(expr, Expr::Compare(it) if it.ops.len() < 2);
        self.is_found |= is_choice && self.from <= expr.start() && expr.end() <= self.to;
        crate::stack_guard::guarded(|| source_order::walk_expr(self, expr));
    }
}
