//! `non_blocking=True` for a copy from pinned memory.
//!
//! The source is pinned where `.pin_memory()` made it, or where it comes from a `DataLoader` with `pin_memory=True`: it
//! is a variable of the loop over it, not bound again since. A loader without is offered both, if it collates by itself
//! (so that there are tensors only). Nothing on the host may write into the source while it is copied, so what it is
//! used for later has to be harmless.

use ruff_python_ast::{Expr, ExprCall, ExprName, StmtAssign, StmtFor};
use ruff_text_size::{Ranged, TextRange};

use super::arguments::{Given, are_plain, given, keyword};
use super::context::{Change, EditContext, What};
use super::data_loader::{MAX_POSITIONAL, is_wrapper, loader_of};
use crate::semantic::{Occurrence, OccurrenceKind, ScopeCode};

pub(super) fn change(place: &EditContext<'_, '_>) -> Option<Change> {
    let all = place.methods(&["to", "cuda"]);
    let copies: Vec<&ExprCall> = all.into_iter().filter(|it| is_copy(place, it)).collect();
    let first = copies.first()?;
    // All of a statement together: which of them is meant is not known.
    let sources: Option<Vec<CopySource<'_>>> = copies.iter().map(|it| source(place, it)).collect();
    let sources = sources?;
    let mut replacements = Vec::new();
    for copy in &copies {
        replacements.extend(place.set(copy, "non_blocking", "True")?);
    }
    let mut loaders = sources.iter().filter_map(|it| match it {
        CopySource::Pinned => None,
        CopySource::Loader(call) => Some(*call),
    });
    let loader = loaders.next();
    if loaders.any(|it| loader.is_some_and(|loader| loader.range() != it.range())) {
        return None;
    }
    let (what, call) = match loader {
        None => (What::NonBlocking, *first),
        Some(loader) => {
            replacements.extend(place.set(loader, "pin_memory", "True")?);
            (What::PinMemory, loader)
        }
    };
    replacements.sort_by_key(|it| it.range.start);
    place.change(what, call, Some(replacements))
}

/// Whether a call is a copy that blocks: `.cuda()`, `.to(device)`. A type alone is no copy.
fn is_copy(place: &EditContext<'_, '_>, call: &ExprCall) -> bool {
    let is_cuda = call.func.as_attribute_expr().is_some_and(|it| it.attr.as_str() == "cuda");
    let arguments = &call.arguments;
    let is_type = |it: &Expr| {
        place.names.imported_path(it).is_some_and(|it| it.starts_with("torch."))
            && !matches!(it, Expr::Call(_))
    };
    let has_device = keyword(arguments, "device").is_some()
        || arguments.args.first().is_some_and(|it| !is_type(it));
    are_plain(arguments, 1)
        && matches!(given(arguments, "non_blocking"), Given::Absent | Given::False)
        && (is_cuda || has_device)
}

/// Where what is copied comes from.
enum CopySource<'a> {
    /// Pinned memory.
    Pinned,
    /// A loader that does not pin.
    Loader(&'a ExprCall),
}

fn source<'a>(place: &EditContext<'_, 'a>, copy: &'a ExprCall) -> Option<CopySource<'a>> {
    let from = &*copy.func.as_attribute_expr()?.value;
    if is_pinning(from) {
        return Some(CopySource::Pinned);
    }
    // `batch`, `batch[0]`, `batch["x"]`
    let root = match from {
        Expr::Name(it) => it,
        Expr::Subscript(it) if it.slice.is_literal_expr() => it.value.as_name_expr()?,
        _ => return None,
    };
    let made = place.names.binding(root).and_then(|it| place.names.assigned.get(&it.range));
    if made.is_some_and(|it| is_pinning(it)) {
        let is_pinned = from.is_name_expr() && is_left_alone(place, root, None, copy);
        return is_pinned.then_some(CopySource::Pinned);
    }
    of_loop(place, root, copy)
}

fn is_pinning(expr: &Expr) -> bool {
    let func = expr.as_call_expr().and_then(|it| it.func.as_attribute_expr());
    func.is_some_and(|it| it.attr.as_str() == "pin_memory")
}

/// The loader of the innermost loop around a copy that binds what is copied, if nothing else binds it before the copy.
fn of_loop<'a>(
    place: &EditContext<'_, 'a>,
    root: &'a ExprName,
    copy: &ExprCall,
) -> Option<CopySource<'a>> {
    let found = place.names.loops.iter().rev().find(|it| body(it).contains_range(root.range))?;
    let (names, scopes) = (place.names, &place.names.scopes.codes);
    let until = assignment(place, copy).map_or(copy.start(), Ranged::start);
    let before = TextRange::new(found.iter.end(), until.max(found.iter.end()));
    let is_bound =
        |it: &&Occurrence| it.kind != OccurrenceKind::Load && before.contains_range(it.range);
    let mut bound = names.of_name(root.id.as_str()).iter().filter(is_bound);
    // `x, y = batch` hands on what the loop gives.
    let held = match (bound.next(), bound.next()) {
        (None, _) => root,
        (Some(bound), None) => parts_of(found, bound.range)?,
        _ => return None,
    };
    let call = loader_of(place, &found.iter)?;
    let function = |range: TextRange| {
        let around = scopes.iter().filter(|it| it.is_def() && it.range().contains_range(range));
        around.map(ScopeCode::range).min_by_key(|it| it.len())
    };
    let is_once = |it: &ExprName| {
        let all = names.of_name(it.id.as_str()).iter();
        all.filter(|it| body(found).contains_range(it.range)).count() == 1
    };
    let is_outer = |it: &Occurrence| it.kind == OccurrenceKind::Outer;
    let arguments = &call.arguments;
    let may_be = binds(place, &found.iter, &found.target).iter().any(|it| it.id == held.id)
        && (held.range == root.range || is_once(held))
        && function(found.range) == function(root.range)
        && ![root, held].iter().any(|it| names.of_name(it.id.as_str()).iter().any(is_outer))
        && keyword(arguments, "collate_fn").is_none()
        && are_plain(arguments, MAX_POSITIONAL)
        && is_left_alone(place, root, Some(found), copy);
    if !may_be {
        return None;
    }
    match given(arguments, "pin_memory") {
        Given::True => Some(CopySource::Pinned),
        Given::Absent | Given::False => Some(CopySource::Loader(call)),
        Given::Other => None,
    }
}

/// The assignment that a copy is in.
fn assignment<'a>(place: &EditContext<'_, 'a>, copy: &ExprCall) -> Option<&'a StmtAssign> {
    let found = place.names.found()?;
    let assign = found.suite.get(found.row)?.as_assign_stmt()?;
    assign.range.contains_range(copy.range()).then_some(assign)
}

fn body(found: &StmtFor) -> TextRange {
    let ends = found.body.first().zip(found.body.last());
    ends.map_or(found.range, |(first, last)| TextRange::new(first.start(), last.end()))
}

/// `batch` of `x, y = batch`, a statement of a loop, by where `x` is.
fn parts_of(found: &StmtFor, bound: TextRange) -> Option<&ExprName> {
    let stmt = found.body.iter().find(|it| it.range().contains_range(bound))?;
    let assign = stmt.as_assign_stmt()?;
    let [Expr::Tuple(targets)] = assign.targets.as_slice() else { return None };
    targets.elts.iter().all(Expr::is_name_expr).then_some(assign.value.as_name_expr()?)
}

/// The variables of a loop that hold what is looped over: not the number of `enumerate`.
fn binds<'a>(place: &EditContext<'_, '_>, iterable: &Expr, target: &'a Expr) -> Vec<&'a ExprName> {
    let is_numbered = match iterable {
        Expr::Call(it) => {
            matches!(&*it.func, Expr::Name(it) if it.id == "enumerate" && is_wrapper(place, "enumerate"))
        }
        _ => false,
    };
    let held = match (is_numbered, target) {
        (false, it) => it,
        (true, Expr::Tuple(it)) if it.elts.len() == 2 => &it.elts[1],
        (true, _) => return Vec::new(),
    };
    match held {
        Expr::Name(it) => vec![it],
        Expr::Tuple(it) => it.elts.iter().filter_map(|it| it.as_name_expr()).collect(),
        Expr::List(it) => it.elts.iter().filter_map(|it| it.as_name_expr()).collect(),
        _ => Vec::new(),
    }
}

/// Whether nothing writes into what a name stands for once it is being copied: it is used only for copies, sizes and
/// types, until it is bound to the copy.
fn is_left_alone(
    place: &EditContext<'_, '_>,
    root: &ExprName,
    of: Option<&StmtFor>,
    copy: &ExprCall,
) -> bool {
    let all = place.names.of_name(root.id.as_str());
    // `x, y = x.to(device), y.to(device)`
    let until = assignment(place, copy).map(Ranged::range).filter(|range| {
        all.iter().any(|it| it.kind == OccurrenceKind::Bind && range.contains_range(it.range))
    });
    let from = copy.func.as_attribute_expr().map_or(root.range, |it| it.value.range());
    let key = &place.text[root.range.end().to_usize()..from.end().to_usize()];
    let is_counted = |range: TextRange| {
        let is_around = of.is_none_or(|it| it.range.contains_range(range));
        is_around && until.is_none_or(|until| range.end() <= until.end())
    };
    let mut loads =
        all.iter().filter(|it| it.kind == OccurrenceKind::Load && it.range != root.range);
    loads.all(|it| !is_counted(it.range) || is_harmless(place, it.range, key))
}

/// Whether a use is a copy, a size or a type, or of another part than `key` (`["x"]`).
fn is_harmless(place: &EditContext<'_, '_>, name: TextRange, key: &str) -> bool {
    let rest = &place.text[name.end().to_usize()..];
    let (part, rest) = match rest.find(']').filter(|_| rest.starts_with('[')) {
        Some(end) => rest.split_at(end + 1),
        None => ("", rest),
    };
    let is_index = |part: &str| {
        let number = part.trim_matches(['[', ']']);
        !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit())
    };
    let is_name = |part: &str| {
        let text = part.trim_matches(['[', ']']).trim_matches(['"', '\'']);
        part.len() == text.len() + 4
            && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
    };
    let text = |part: &str| part.replace('\'', "\"");
    let is_other = text(part) != text(key)
        && (is_index(part) && is_index(key) || is_name(part) && is_name(key));
    let uses = [".to(", ".cuda(", ".size(", ".shape", ".dtype", ".dim()", ".numel()"];
    is_other || uses.iter().any(|it| rest.starts_with(it))
}
