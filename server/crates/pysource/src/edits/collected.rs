//! Numbers that a loop collects, read from the device after it.
//!
//! ```python
//! losses = []
//! for x, y in loader:
//!     loss = F.cross_entropy(model(x), y)
//!     losses.append(loss.item())       # waits in every step
//! log(sum(losses))
//! ```
//!
//! The list is made in the same statements as the loop, filled in one place and used only after the loop; what is put
//! into it is made anew in each pass, and nothing else refers to it, so that it has the same value after the loop.

use ruff_python_ast::{Expr, ExprName, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::context::{Change, EditContext, Replacement, What};
use crate::moves::after_loop::{is_made_in_each_pass, loop_around};
use crate::moves::is_private;
use crate::semantic::OccurrenceKind;

pub(super) fn change(place: &EditContext<'_, '_>) -> Option<Change> {
    let names = place.names;
    let (outer, inner) = loop_around(names)?;
    let (list, item, other) = append(&inner.suite[inner.row])?;
    let is_made = outer.suite[..outer.row].iter().any(|it| is_empty_list(it, list));
    let after = outer.suite.get(outer.row + 1)?;
    let after = TextRange::new(after.start(), outer.suite.last()?.end());
    let function = names.scopes.codes[inner.scope].range();
    let uses = names.of_name(list.id.as_str()).iter();
    let mut uses = uses.filter(|it| function.contains_range(it.range) && it.range != list.range);
    let mut n_bound = 0;
    let is_used_after = uses.all(|it| {
        n_bound += usize::from(it.kind == OccurrenceKind::Bind);
        it.scope == inner.scope
            && match it.kind {
                OccurrenceKind::Load => after.contains_range(it.range),
                OccurrenceKind::Bind => n_bound == 1,
                OccurrenceKind::Import | OccurrenceKind::Outer => false,
            }
    });
    let may_be = is_made
        && is_used_after
        && is_private(names, inner)
        && is_made_in_each_pass(names, inner, other);
    may_be.then_some(())?;

    let found = &outer.suite[outer.row];
    let (first, last) =
        (place.line_of(found.start().to_usize()), place.line_of(found.end().to_usize()));
    let row = place.lines.line_range(first)?;
    let indent = place.text.get(row.start..found.start().to_usize())?;
    let full = place.lines.full_line_range(last)?;
    let line_end = place.text.get(place.lines.line_range(last)?.end..full.end)?;
    let is_own = indent.trim().is_empty() && place.line_of(after.start().to_usize()) > last;
    let list = list.id.as_str();
    let text = format!("{indent}{list} = [it.item() for it in {list}]{line_end}");
    is_own.then(|| Change {
        what: What::Collected,
        line: place.line_of(item.start().to_usize()),
        replacements: vec![
            Replacement {
                range: item.start().to_usize()..item.end().to_usize(),
                text: "detach".to_owned(),
            },
            Replacement { range: full.end..full.end, text },
        ],
    })
}

/// `losses`, the name `item` and `loss` of `losses.append(loss.item())`.
fn append(stmt: &Stmt) -> Option<(&ExprName, TextRange, &ExprName)> {
    let call = stmt.as_expr_stmt()?.value.as_call_expr()?;
    let func = call.func.as_attribute_expr().filter(|it| it.attr.as_str() == "append")?;
    let [Expr::Call(read)] = &*call.arguments.args else { return None };
    let item = read.func.as_attribute_expr().filter(|it| it.attr.as_str() == "item")?;
    let is_plain = call.arguments.len() == 1 && read.arguments.is_empty();
    let (list, other) = (func.value.as_name_expr()?, item.value.as_name_expr()?);
    (is_plain && list.id != other.id).then_some((list, item.attr.range, other))
}

/// `losses = []`
fn is_empty_list(stmt: &Stmt, list: &ExprName) -> bool {
    stmt.as_assign_stmt().is_some_and(|it| {
        let is_it = matches!(it.targets.as_slice(), [Expr::Name(name)] if name.id == list.id);
        is_it && matches!(&*it.value, Expr::List(it) if it.elts.is_empty())
    })
}
