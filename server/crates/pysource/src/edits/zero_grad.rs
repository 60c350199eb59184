//! `zero_grad(set_to_none=True)`, where `set_to_none=False` is given, or is the default: before torch 2.0.
//!
//! Code in the same file that reads `.grad` may not expect `None`, so that nothing is offered there.

use ruff_python_ast::{Expr, ExprAttribute, ExprCall};
use ruff_text_size::Ranged;

use super::arguments::{Given, are_plain, given};
use super::context::{Change, EditContext, What};

/// Versions that take the argument, and have `False` for its default.
const OFF: std::ops::Range<(u32, u32)> = (1, 7)..(2, 0);

pub(super) fn change(place: &EditContext<'_, '_>) -> Option<Change> {
    let [call] = place.methods(&["zero_grad"])[..] else { return None };
    let receiver = &call.func.as_attribute_expr()?.value;
    let arguments = &call.arguments;
    let is_off = || OFF.contains(&place.recorded.torch.unwrap_or_default());
    let is_wanted = match (&arguments.args[..], given(arguments, "set_to_none")) {
        // Whatever takes the argument knows it.
        ([], Given::False) => true,
        // Any other class may have a method of this name.
        ([], Given::Absent) => is_off() && is_optimizer(place, receiver),
        _ => false,
    };
    let may_be = is_wanted && are_plain(arguments, 0) && !reads_gradients(place);
    let replacements = may_be.then(|| place.set(call, "set_to_none", "True"))?;
    place.change(What::SetToNone, call, replacements)
}

fn is_optimizer<'a>(place: &EditContext<'_, 'a>, receiver: &'a Expr) -> bool {
    let made = place.names.made_by(receiver);
    made.is_some_and(|(_, path)| super::optimizer::class_of(&path).is_some())
}

/// Whether something has `.grad` read or written: `torch.autograd.grad` is none.
fn reads_gradients(place: &EditContext<'_, '_>) -> bool {
    let is_function = |it: &ExprAttribute| {
        let is_callee = |call: &&ExprCall| call.func.range() == it.range;
        place.names.calls.iter().any(is_callee)
    };
    place.names.attributes("grad").iter().any(|it| !is_function(it))
}
