//! Workers for a `DataLoader` that has none.
//!
//! With workers, a data set is copied into processes. It has to be one that is indexed (of an iterable one each process
//! would read everything), may not use the device, and must not be local to a function, where a process that is spawned
//! could not find it. What a loader does on import is run again by processes that are spawned, so the loop has to be in
//! a function or behind `if __name__ == "__main__"`.

use ruff_python_ast::{Expr, ExprCall, Number, Stmt, StmtClassDef};
use ruff_text_size::{Ranged, TextRange};

use super::arguments::{are_plain, keyword};
use super::context::{Change, EditContext, What};
use crate::semantic::ScopeCode;
use crate::stack_guard::guarded;

/// What is suggested. More needs a measurement.
const WORKERS: u32 = 4;

/// Arguments that may be given by position without being `num_workers`.
pub(super) const MAX_POSITIONAL: usize = 5;

const LOADER: [&str; 2] = ["torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"];

/// FileNames that are followed when a value is looked at, at most.
const MAX_HOPS: usize = 8;

pub(super) fn workers(place: &EditContext<'_, '_>) -> Option<Change> {
    let is_here =
        |range: TextRange| place.statement.contains(&place.line_of(range.start().to_usize()));
    let looped = place.names.loops.iter().find(|it| is_here(it.range)).map(|it| &*it.iter);
    let iterable = looped.or_else(|| iterator(place, is_here))?;
    let call = loader_of(place, iterable)?;
    let arguments = &call.arguments;
    let is_none = keyword(arguments, "num_workers").is_none_or(|it| is_zero(&it.value));
    let data = keyword(arguments, "dataset").map(|it| &it.value).or(arguments.args.first())?;
    let functions = ["collate_fn", "worker_init_fn"].map(|name| keyword(arguments, name));
    let may_be = is_none
        && are_plain(arguments, MAX_POSITIONAL)
        && is_guarded(place, iterable.range())
        && is_guarded(place, call.range())
        && functions.iter().flatten().all(|it| is_of_module(place, &it.value))
        && is_indexed(place, data);
    let replacements = may_be.then(|| place.set(call, "num_workers", &WORKERS.to_string()))?;
    place.change(What::Workers(WORKERS), call, replacements)
}

/// `loader` of `next(batches)` with `batches = iter(loader)`.
fn iterator<'a>(
    place: &EditContext<'_, 'a>,
    is_here: impl Fn(TextRange) -> bool,
) -> Option<&'a Expr> {
    let is_of = |call: &ExprCall, name: &str| {
        matches!(&*call.func, Expr::Name(it) if it.id == name) && place.names.is_builtin(name)
    };
    let next = place.names.calls.iter().find(|it| is_here(it.range()) && is_of(it, "next"))?;
    let made = place.names.origin(next.arguments.args.first()?)?.as_call_expr()?;
    if is_of(made, "iter") { made.arguments.args.first() } else { None }
}

/// The constructor of the loader that a loop goes over: `loader`, `enumerate(loader)`, `tqdm(loader)`.
pub(super) fn loader_of<'a>(
    place: &EditContext<'_, 'a>,
    iterable: &'a Expr,
) -> Option<&'a ExprCall> {
    let (call, path) = match iterable {
        Expr::Call(it) if matches!(&*it.func, Expr::Name(it) if is_wrapper(place, it.id.as_str())) =>
        {
            return guarded(|| loader_of(place, it.arguments.args.first()?));
        }
        _ => place.names.made_by(iterable)?,
    };
    LOADER.contains(&path.as_str()).then_some(call)
}

/// Whether a name is of something that gives what it is given.
pub(super) fn is_wrapper(place: &EditContext<'_, '_>, name: &str) -> bool {
    let imported = place.names.imports.of_name(name).unwrap_or_default();
    match name {
        "enumerate" => place.names.is_builtin(name),
        "tqdm" => matches!(imported, "tqdm.tqdm" | "tqdm.auto.tqdm"),
        _ => false,
    }
}

fn is_zero(expr: &Expr) -> bool {
    matches!(expr, Expr::NumberLiteral(it) if matches!(&it.value, Number::Int(it) if it.as_u8() == Some(0)))
}

/// Whether something is not run when the file is only imported.
fn is_guarded(place: &EditContext<'_, '_>, range: TextRange) -> bool {
    let is_function = |it: &ScopeCode<'_>| it.is_def() && it.range().contains_range(range);
    let is_main = |it: &&TextRange| it.contains_range(range);
    place.names.scopes.codes.iter().any(is_function)
        || place.names.mains.iter().any(|it| is_main(&it))
}

/// Whether a function is found by its name in the module.
fn is_of_module(place: &EditContext<'_, '_>, expr: &Expr) -> bool {
    if place.names.imported_path(expr).is_some() {
        return true;
    }
    let Expr::Name(name) = expr else { return false };
    let is_global = |range: TextRange| {
        !place
            .names
            .scopes
            .codes
            .iter()
            .skip(1)
            .map(ScopeCode::range)
            .any(|it| it.contains_range(range) && it.start() != range.start())
    };
    let function = place.names.binding(name).and_then(|it| place.names.functions.get(&it.range));
    function.is_some_and(|it| is_global(it.range))
}

/// Whether a data set is one that is indexed, can be handed to processes, and has nothing on a device.
fn is_indexed<'a>(place: &EditContext<'_, 'a>, data: &'a Expr) -> bool {
    let Some(Expr::Call(call)) = place.names.origin(data) else { return false };
    let path = place.names.imported_path(&call.func);
    if let Some(path) = path {
        let class = path.strip_prefix("torch.utils.data.").unwrap_or_default();
        let class = class.strip_prefix("dataset.").unwrap_or(class);
        return match class {
            "Subset" => {
                let data = call.arguments.args.first();
                are_plain(&call.arguments, 2)
                    && data.is_some_and(|it| guarded(|| is_indexed(place, it)))
            }
            "TensorDataset" => all_on_host(place, call),
            _ => path.starts_with("torchvision.datasets.") && all_on_host(place, call),
        };
    }
    let Expr::Name(name) = &*call.func else { return false };
    let class = place.names.binding(name).and_then(|it| place.names.classes.get(&it.range));
    class.is_some_and(|it| is_plain_class(place, it)) && all_on_host(place, call)
}

/// Whether a class of the module is a data set with `__getitem__` that knows no device.
fn is_plain_class(place: &EditContext<'_, '_>, class: &StmtClassDef) -> bool {
    let is_local = place
        .names
        .scopes
        .codes
        .iter()
        .skip(1)
        .map(ScopeCode::range)
        .any(|range| range != class.range && range.contains_range(class.range));
    let is_data_set = class.arguments.as_ref().is_some_and(|it| {
        let paths = it.args.iter().filter_map(|it| match it {
            // `Dataset[Tensor]`
            Expr::Subscript(it) => place.names.imported_path(&it.value),
            _ => place.names.imported_path(it),
        });
        let is_it = |it: &String| {
            matches!(it.as_str(), "torch.utils.data.Dataset" | "torch.utils.data.dataset.Dataset")
        };
        it.args.len() == 1 && paths.filter(is_it).count() == 1
    });
    let is_getitem =
        |it: &Stmt| matches!(it, Stmt::FunctionDef(it) if it.name.as_str() == "__getitem__");
    !is_local
        && is_data_set
        && class.body.iter().any(is_getitem)
        && is_text_on_host(place, class.range)
}

fn all_on_host<'a>(place: &EditContext<'_, 'a>, call: &'a ExprCall) -> bool {
    are_plain(&call.arguments, usize::MAX)
        && each_argument(call).all(|it| is_on_host(place, it, MAX_HOPS))
}

fn each_argument(call: &ExprCall) -> impl Iterator<Item = &Expr> {
    call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|it| &it.value))
}

/// Whether a value is made of numbers, texts and what libraries make of them, with nothing that is about a device or
/// cannot be pickled.
fn is_on_host<'a>(place: &EditContext<'_, 'a>, expr: &'a Expr, hops: usize) -> bool {
    let Some(hops) = hops.checked_sub(1) else { return false };
    let deep = |it: &'a Expr| guarded(|| is_on_host(place, it, hops));
    let is_plain = match expr {
        _ if expr.is_literal_expr() || place.names.imported_path(expr).is_some() => true,
        Expr::Name(_) | Expr::Attribute(_) => place.names.origin(expr).is_some_and(deep),
        Expr::List(it) => it.elts.iter().all(deep),
        Expr::Tuple(it) => it.elts.iter().all(deep),
        Expr::UnaryOp(it) => deep(&it.operand),
        Expr::BinOp(it) => deep(&it.left) && deep(&it.right),
        Expr::Call(it) => {
            let is_made_of = place.names.imported_path(&it.func).is_some()
                || it.func.as_attribute_expr().is_some_and(|it| deep(&it.value));
            is_made_of && are_plain(&it.arguments, usize::MAX) && each_argument(it).all(deep)
        }
        _ => false,
    };
    is_plain && is_text_on_host(place, expr.range())
}

fn is_text_on_host(place: &EditContext<'_, '_>, range: TextRange) -> bool {
    let text = &place.text[range.start().to_usize()..range.end().to_usize()];
    !["cuda", "device", "DEVICE", ".to(", "lambda", "open("].iter().any(|it| text.contains(it))
}
