//! What names hold at a place, as far as the assignments and conditions on the way there say.
//!
//! What a name is assigned anywhere in a function is known already ([`crate::semantic::Bindings`]). On a way through the function more
//! is: behind `x = torch.exp(y)` `x` is a tensor until it is assigned anew, and where `isinstance(x, Tensor)` holds it is one, too.

use std::collections::HashMap;

use ruff_python_ast::{BoolOp, CmpOp, Expr, ExprCall, ExprName, UnaryOp};

use crate::collect::{is_plain_type, is_tensor_type};
use crate::stack_guard::guarded;
use crate::values::last_name;

/// What a name holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameValue {
    /// A tensor.
    Tensor,
    /// A number, a string, a list and the like: no tensor.
    Plain,
    /// An array, a number or another object of NumPy: no tensor, but made into one where it stands in the brackets of a tensor.
    OfNumpy,
}

/// What names hold where the flow has got to. Where ways part, [`Self::mark`] says from where on the changes of a way are to be taken back.
#[derive(Debug, Default)]
pub(super) struct KnownNames<'a> {
    held: HashMap<&'a str, NameValue>,
    /// What each change replaced, in order.
    replaced: Vec<(&'a str, Option<NameValue>)>,
}

/// What the names that were changed on a way hold at its end.
pub(super) type NameChanges<'a> = HashMap<&'a str, Option<NameValue>>;

impl<'a> KnownNames<'a> {
    pub(super) fn get(&self, name: &str) -> Option<NameValue> {
        self.held.get(name).copied()
    }

    /// `None`: the name holds what is not known from here on.
    pub(super) fn set(&mut self, name: &'a str, held: Option<NameValue>) {
        let before = self.replace(name, held);
        if before != held {
            self.replaced.push((name, before));
        }
    }

    fn replace(&mut self, name: &'a str, held: Option<NameValue>) -> Option<NameValue> {
        match held {
            Some(held) => self.held.insert(name, held),
            None => self.held.remove(name),
        }
    }

    /// Where the changes so far end.
    pub(super) fn mark(&self) -> usize {
        self.replaced.len()
    }

    /// Takes back the changes since `mark`.
    pub(super) fn take_back(&mut self, mark: usize) -> NameChanges<'a> {
        let mut changes = NameChanges::new();
        let since = self.replaced.split_off(mark.min(self.replaced.len()));
        for (name, before) in since.into_iter().rev() {
            let at_end = self.get(name);
            changes.entry(name).or_insert(at_end);
            self.replace(name, before);
        }
        changes
    }

    /// Takes back what was learned since `mark`; what was forgotten meanwhile stays so.
    pub(super) fn unlearn(&mut self, mark: usize) {
        for (name, held) in self.take_back(mark) {
            if held.is_none() {
                self.set(name, None);
            }
        }
    }

    /// Goes on where ways meet that parted here: what holds at the end of all is known.
    pub(super) fn meet(&mut self, ways: Vec<NameChanges<'a>>) {
        let n_ways = ways.len();
        // How many ways changed a name, and to what, if these agree.
        let mut met: HashMap<&'a str, (usize, Option<NameValue>)> = HashMap::new();
        for (name, held) in ways.into_iter().flatten() {
            let (n, agreed) = met.entry(name).or_insert((0, held));
            *n += 1;
            *agreed = agreed.filter(|it| held == Some(*it));
        }
        for (name, (n, agreed)) in met {
            let is_kept = |held: &NameValue| n == n_ways || self.get(name) == Some(*held);
            self.set(name, agreed.filter(is_kept));
        }
    }

    /// Notes what is known where `test` holds, or where it does not.
    pub(super) fn narrow(&mut self, test: &'a Expr, holds: bool) {
        guarded(|| match test {
            Expr::UnaryOp(it) if it.op == UnaryOp::Not => self.narrow(&it.operand, !holds),
            Expr::BoolOp(it) if (it.op == BoolOp::And) == holds => {
                it.values.iter().for_each(|value| self.narrow(value, holds));
            }
            Expr::Call(it) => {
                if let Some((name, held)) = tested(it, holds) {
                    self.learn(name, held);
                }
            }
            Expr::Compare(it) => {
                let is_none = match (&*it.ops, &*it.comparators) {
                    ([CmpOp::Is], [Expr::NoneLiteral(_)]) => holds,
                    ([CmpOp::IsNot], [Expr::NoneLiteral(_)]) => !holds,
                    _ => false,
                };
                if let Some(name) = it.left.as_name_expr().filter(|_| is_none) {
                    self.learn(name, NameValue::Plain);
                }
            }
            _ => {}
        });
    }

    /// What is known already stays: a name that is assigned a tensor is one.
    pub(super) fn learn(&mut self, name: &'a ExprName, held: NameValue) {
        if self.get(&name.id).is_none() {
            self.set(&name.id, Some(held));
        }
    }
}

/// What a call says of a name where it gives `True` (`holds`) or `False`: `isinstance(x, Tensor)`, `torch.is_tensor(x)`.
fn tested(call: &ExprCall, holds: bool) -> Option<(&ExprName, NameValue)> {
    let function = last_name(&call.func)?;
    let name = call.arguments.args.first()?.as_name_expr()?;
    let of_tensor = if holds { NameValue::Tensor } else { NameValue::Plain };
    match (function, &*call.arguments.args) {
        ("is_tensor", [_]) => Some((name, of_tensor)),
        ("isinstance", [_, class]) if is_tensor_type(class) => Some((name, of_tensor)),
        ("isinstance", [_, class]) if is_plain_type(class) && holds => {
            Some((name, NameValue::Plain))
        }
        // One of several classes.
        ("isinstance", [_, Expr::Tuple(it)]) if it.elts.iter().any(is_tensor_type) && !holds => {
            Some((name, NameValue::Plain))
        }
        _ => None,
    }
}
