//! Optimizers that update all parameters at once.
//!
//! - `foreach=True`, on a device: default since 2.0 unless `foreach=False` or `fused=False` is given, so a recording
//!   that shows single tensors there needs one of these in the text, or a torch before that. Not with
//!   `differentiable=True`, nor with a learning rate that may be a tensor.
//! - `fused=True`: of `Adam` and `AdamW` on a device since 2.0, where the text moves the whole model there; on the host
//!   since 2.4, where single tensors are the default. (That of `SGD` and `Adagrad` refuses sparse gradients, which the
//!   text does not show.) All parameters have to be floating point numbers, which nothing shows.

use ruff_python_ast::{Expr, ExprCall, Number};
use ruff_text_size::Ranged;

use super::arguments::{Given, are_plain, given, keyword, replacement};
use super::context::{Change, EditContext, What};

/// Optimizers of `torch.optim` that take `foreach`.
const FOREACH: [&str; 11] = [
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop",
    "SGD",
];

/// Versions in which they take it, and single tensors are the default.
const FOREACH_OFF: std::ops::Range<(u32, u32)> = (1, 13)..(2, 0);

/// Since when `Adam` and `AdamW` take `fused` on a device, and on the host.
const FUSED_SINCE: [(u32, u32); 2] = [(2, 0), (2, 4)];

/// Arguments that may be given by position, in all versions, without being `foreach`.
const MAX_POSITIONAL: usize = 4;

/// Those for the optimizer that steps in the statement.
pub(super) fn changes(place: &EditContext<'_, '_>) -> Vec<Change> {
    let Some((call, class)) = stepping(place) else { return Vec::new() };
    [foreach(place, call, &class), fused(place, call, &class)].into_iter().flatten().collect()
}

/// The constructor of the one optimizer that steps here, with its class: `opt.step()`, `scaler.step(opt)`.
fn stepping<'a>(place: &EditContext<'_, 'a>) -> Option<(&'a ExprCall, String)> {
    let mut found: Option<(&ExprCall, String)> = None;
    for step in place.methods(&["step"]) {
        let receiver = step.func.as_attribute_expr().map(|it| &*it.value)?;
        let made = place.names.made_by(receiver);
        if made.as_ref().is_some_and(|(_, path)| path.starts_with("torch.optim.lr_scheduler.")) {
            continue;
        }
        let is_optimizer = |path: &str| class_of(path).is_some();
        let (call, path) = match made {
            Some((call, path)) if is_optimizer(&path) => (call, path),
            _ => place.names.made_by(step.arguments.args.first()?)?,
        };
        let class = class_of(&path)?;
        if found.is_some_and(|(other, _)| other.range() != call.range()) {
            return None;
        }
        found = Some((call, class.to_owned()));
    }
    found
}

/// `Adam` of `torch.optim.Adam` and `torch.optim.adam.Adam`.
pub(super) fn class_of(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("torch.optim.")?;
    let class = match rest.split_once('.') {
        None => rest,
        Some((file, class)) if file == class.to_lowercase() => class,
        Some(_) => return None,
    };
    FOREACH.contains(&class).then_some(class)
}

fn foreach(place: &EditContext<'_, '_>, call: &ExprCall, class: &str) -> Option<Change> {
    let arguments = &call.arguments;
    let is_off = FOREACH_OFF.contains(&place.recorded.torch.unwrap_or_default());
    let replacements = match (given(arguments, "foreach"), given(arguments, "fused")) {
        (Given::False, Given::Absent | Given::False) => place.set(call, "foreach", "True"),
        // `fused=False` alone turns the default off, too.
        (Given::Absent, Given::False) => {
            let range = keyword(arguments, "fused")?.range;
            Some(vec![replacement(range, "foreach=True".to_owned())])
        }
        (Given::Absent, Given::Absent) if is_off => place.set(call, "foreach", "True"),
        _ => None,
    };
    // That of NAdam in torch 1.13 differs by more than rounding.
    let is_same = class != "NAdam" || place.recorded.torch.is_some_and(|it| FOREACH_OFF.end <= it);
    let may_be = place.recorded.is_on_device
        && is_same
        && are_plain(arguments, MAX_POSITIONAL)
        && given(arguments, "differentiable") != Given::True
        && given(arguments, "differentiable") != Given::Other
        && has_plain_rate(place, call);
    if may_be { place.change(What::Foreach, call, replacements) } else { None }
}

fn fused(place: &EditContext<'_, '_>, call: &ExprCall, class: &str) -> Option<Change> {
    let arguments = &call.arguments;
    let is_absent = |name| matches!(given(arguments, name), Given::Absent | Given::False);
    let is_since = |since| place.recorded.torch.is_some_and(|it| since <= it);
    let [on_device, on_host] = FUSED_SINCE.map(is_since);
    let is_default =
        (given(arguments, "foreach"), given(arguments, "fused")) == (Given::Absent, Given::Absent);
    let is_supported = match place.recorded.is_on_device {
        // With the defaults nothing in the text says why it is not done by itself.
        true => on_device && !is_default && is_moved(place, arguments.args.first()?),
        false => on_host,
    };
    let may_be = matches!(class, "Adam" | "AdamW")
        && is_supported
        && are_plain(arguments, MAX_POSITIONAL)
        && ["foreach", "fused", "differentiable"].into_iter().all(is_absent)
        && has_plain_rate(place, call);
    if !may_be {
        return None;
    }
    let replacements = match (keyword(arguments, "foreach"), keyword(arguments, "fused")) {
        (Some(foreach), None) => Some(vec![replacement(foreach.range, "fused=True".to_owned())]),
        _ => place.set(call, "fused", "True"),
    };
    place.change(What::Fused, call, replacements)
}

/// Whether the learning rate is a number for sure: a tensor needs `capturable=True` as well.
fn has_plain_rate(place: &EditContext<'_, '_>, call: &ExprCall) -> bool {
    let by_name = keyword(&call.arguments, "lr").map(|it| &it.value);
    by_name.or_else(|| call.arguments.args.get(1)).is_none_or(|it| is_number(place, it))
}

fn is_number(place: &EditContext<'_, '_>, expr: &Expr) -> bool {
    let deep = |it: &Expr| crate::stack_guard::guarded(|| is_number(place, it));
    match expr {
        Expr::NumberLiteral(it) => !matches!(it.value, Number::Complex { .. }),
        Expr::UnaryOp(it) => deep(&it.operand),
        Expr::BinOp(it) => deep(&it.left) && deep(&it.right),
        Expr::Call(it) => matches!(&*it.func, Expr::Name(it) if it.id == "float"),
        Expr::Name(it) => place.names.binding(it).is_some_and(|bound| {
            let value = place.names.assigned.get(&bound.range);
            value.is_some_and(|it| it.is_number_literal_expr())
                || place.names.parameters.get(&bound.range).is_some_and(|function| {
                    let parameters = function.parameters.iter_non_variadic_params();
                    let mut it = parameters.filter(|it| it.parameter.name.range == bound.range);
                    it.any(|it| {
                        let of_type = it.parameter.annotation.as_deref();
                        matches!(of_type, Some(Expr::Name(it)) if it.id == "float")
                            || it.default().is_some_and(Expr::is_number_literal_expr)
                    })
                })
        }),
        // `args.lr` of `args = parser.parse_args()`.
        Expr::Attribute(it) => match &*it.value {
            Expr::Name(name) => {
                let bound = place.names.binding(name);
                let value = bound.and_then(|it| place.names.assigned.get(&it.range));
                let call = value.and_then(|it| it.as_call_expr());
                let func = call.and_then(|it| it.func.as_attribute_expr());
                func.is_some_and(|it| it.attr.as_str() == "parse_args")
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether the parameters are those of one model that the text moves to a device as a whole.
fn is_moved(place: &EditContext<'_, '_>, parameters: &Expr) -> bool {
    let Some(model) = parameters
        .as_call_expr()
        .filter(|it| it.arguments.is_empty())
        .and_then(|it| it.func.as_attribute_expr())
        .filter(|it| it.attr.as_str() == "parameters")
    else {
        return false;
    };
    let text = |expr: &Expr| &place.text[expr.start().to_usize()..expr.end().to_usize()];
    let written = text(&model.value);
    let is_name = matches!(&*model.value, Expr::Name(_) | Expr::Attribute(_));
    let is_device = |call: &ExprCall| match (call.arguments.args.first(), call.arguments.len()) {
        (None, 0) => true,
        (Some(Expr::StringLiteral(it)), 1) => it.value.to_str().starts_with("cuda"),
        (Some(Expr::Name(it)), 1) => it.id.to_lowercase().contains("dev"),
        (Some(Expr::Attribute(it)), 1) => it.attr.as_str().to_lowercase().contains("dev"),
        (Some(Expr::Call(it)), 1) => {
            place.names.imported_path(&it.func).is_some_and(|it| it == "torch.device")
        }
        _ => false,
    };
    is_name
        && place.names.calls.iter().any(|call| {
            let Expr::Attribute(func) = &*call.func else { return false };
            let moves = match func.attr.as_str() {
                "cuda" => call.arguments.is_empty(),
                "to" => !call.arguments.is_empty() && is_device(call),
                _ => false,
            };
            let is_it = text(&func.value) == written;
            // `model = Net().to(device)`
            let is_made = || {
                place.names.assigned.iter().any(|(target, value)| {
                    let target = &place.text[target.start().to_usize()..target.end().to_usize()];
                    target == written && value.range() == call.range()
                })
            };
            moves && (is_it || is_made())
        })
}
