//! Which call made what a name stands for.

use ruff_python_ast::{Expr, ExprAttribute, ExprCall, ExprContext, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use crate::semantic::{FileNames, Occurrence, OccurrenceKind, ScopeCode};
use crate::stack_guard::guarded;

/// Names that are followed from one to the next, at most.
const MAX_HOPS: usize = 8;

impl<'a> FileNames<'a> {
    /// The expression that an expression is made by, if the file has one alone: a name is followed to the one
    /// assignment that binds it, `self.name` to the one in the file, and a parameter to what all calls of its function
    /// in the file are given. Comes to rest at the first expression that is neither.
    pub(crate) fn origin(&self, expr: &'a Expr) -> Option<&'a Expr> {
        self.origin_within(expr, MAX_HOPS)
    }

    /// [`Self::origin`], if it is a call, with what it calls as far as that was imported.
    pub(crate) fn made_by(&self, expr: &'a Expr) -> Option<(&'a ExprCall, String)> {
        let call = self.origin(expr)?.as_call_expr()?;
        Some((call, self.imported_path(&call.func)?))
    }

    fn origin_within(&self, expr: &'a Expr, hops: usize) -> Option<&'a Expr> {
        let hops = hops.checked_sub(1)?;
        let found = match expr {
            Expr::Name(name) => {
                let bound = self.binding(name)?;
                match (self.assigned.get(&bound.range), self.parameters.get(&bound.range)) {
                    (Some(value), _) => value,
                    (None, Some(function)) => {
                        return guarded(|| self.argument(function, bound.range, hops));
                    }
                    (None, None) => return None,
                }
            }
            Expr::Attribute(it) => self.assigned_attribute(it)?,
            _ => return Some(expr),
        };
        guarded(|| self.origin_within(found, hops))
    }

    /// What `self.name` is assigned, if the file assigns an attribute of that name once.
    fn assigned_attribute(&self, attribute: &ExprAttribute) -> Option<&'a Expr> {
        let is_self = |it: &Expr| matches!(it, Expr::Name(it) if it.id.as_str() == "self");
        let all = self.attributes(attribute.attr.as_str()).iter();
        let mut stores = all.filter(|it| it.ctx != ExprContext::Load);
        let store = stores.next().filter(|_| stores.next().is_none())?;
        let is_own = is_self(&attribute.value) && is_self(&store.value);
        let is_known = is_own && !self.has_star && self.of_name("setattr").is_empty();
        let innermost = |range: TextRange| {
            let around = self.classes.values().map(|it| it.range);
            around.filter(|it| it.contains_range(range)).min_by_key(|it| it.len())
        };
        let is_one_class = innermost(store.range).is_some()
            && innermost(store.range) == innermost(attribute.range);
        if is_known && is_one_class { self.assigned.get(&store.range).copied() } else { None }
    }

    /// What all calls of a function give for a parameter.
    fn argument(
        &self,
        function: &'a StmtFunctionDef,
        parameter: TextRange,
        hops: usize,
    ) -> Option<&'a Expr> {
        let all = self.of_name(function.name.as_str());
        let calls: Vec<&'a ExprCall> = self
            .calls
            .iter()
            .filter(|it| matches!(&*it.func, Expr::Name(func) if func.id == function.name.id))
            .copied()
            .collect();
        let is_called = |it: &Occurrence| match it.kind {
            OccurrenceKind::Load => calls.iter().any(|call| call.func.range() == it.range),
            _ => it.range == function.name.range,
        };
        let is_nested = self
            .scopes
            .codes
            .iter()
            .skip(1)
            .map(ScopeCode::range)
            .any(|range| range != function.range && range.contains_range(function.range));
        if is_nested || !function.decorator_list.is_empty() || !all.iter().all(is_called) {
            return None;
        }
        let parameters = function.parameters.iter_non_variadic_params();
        let (index, found) =
            parameters.enumerate().find(|(_, it)| it.parameter.name.range == parameter)?;
        let is_by_position =
            index < function.parameters.posonlyargs.len() + function.parameters.args.len();
        let name = found.parameter.name.as_str();
        let mut origins = calls.iter().map(|call| {
            let arguments = &call.arguments;
            let is_plain = super::arguments::are_plain(arguments, usize::MAX);
            let by_name = super::arguments::keyword(arguments, name).map(|it| &it.value);
            let by_position = arguments.args.get(index).filter(|_| is_by_position);
            self.origin_within(by_name.or(by_position).filter(|_| is_plain)?, hops)
        });
        let first = origins.next()??;
        origins.all(|it| it.is_some_and(|it| it.range() == first.range())).then_some(first)
    }
}
