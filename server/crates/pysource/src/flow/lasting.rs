//! Conditions that hold throughout a frame or not at all, as far as the text shows.
//!
//! `if mask is not None:` decides alike wherever it stands in a function that does not assign `mask`, and in each pass of
//! its loops. A condition is one of these if it is made of
//! - parameters and names of the scopes around that the function never binds, parameters that it assigns further down alone, and names
//!   that it binds once, outside of loops;
//! - attributes of `self` that it does not assign, and hyperparameters of an optimizer's group (`group["momentum"]`);
//! - constants;
//!
//! compared with one another, given to a predicate (`isinstance`), or tested as they are. What a call changes meanwhile does not
//! show: that a condition lasts is likely, not certain.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{CmpOp, ExceptHandler, Expr, ExprContext, ExprName, Pattern, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::constants::Constant;
use crate::collect::is_self;
use crate::semantic::{ScopeCode, imported};
use crate::stack_guard::guarded;
use crate::values::is_hyperparameter;

/// Functions whose answer depends on nothing but what they are given.
const PREDICATES: [&str; 4] = ["isinstance", "exists", "callable", "hasattr"];

/// What a function binds and assigns.
#[derive(Default)]
pub(super) struct FunctionAssignments<'a> {
    parameters: HashSet<&'a str>,
    names: HashMap<&'a str, NameAssignment>,
    /// Attributes of `self`.
    attributes: HashSet<&'a str>,
    /// Keys of hyperparameters.
    hyperparameters: HashSet<&'a str>,
    /// Where names are bound, in this function and those in it, in order.
    bound: Vec<(TextSize, &'a str)>,
    /// Names that belong to a function around this one, or that one within it assigns.
    shared: HashSet<&'a str>,
    /// Names that are given to functions of `math`.
    numbers: HashSet<&'a str>,
    has_math: bool,
    n_loops: u32,
    /// Whether what is being walked is assigned a truth value.
    is_truth: bool,
}

/// How often a name is bound.
struct NameAssignment {
    /// Where it is bound first.
    first: TextSize,
    is_once: bool,
    is_truth: bool,
}

/// A test whose answer lasts.
pub(super) struct LastingTest<'e> {
    /// What is asked, in words that are the same wherever the same is asked.
    pub(super) asks: String,
    /// Whether it asks for the contrary of these words.
    pub(super) is_contrary: bool,
    /// The parameter that is asked for, if that is all, and the constant that it is compared with, if any.
    pub(super) of_parameter: Option<(&'e str, Option<Constant>)>,
}

impl<'a> FunctionAssignments<'a> {
    /// Those of `code`. `has_math`: the name `math` stands for Python's module there.
    pub(super) fn of(code: ScopeCode<'a>, has_math: bool) -> Self {
        let mut walk = Self { has_math, ..Self::default() };
        match code {
            ScopeCode::Def(def) => {
                walk.parameters.extend(def.parameters.iter().map(|it| it.name().as_str()));
                walk.visit_body(&def.body);
            }
            ScopeCode::Module(module) => walk.visit_body(&module.body),
            ScopeCode::Class(class) => walk.visit_body(&class.body),
            ScopeCode::Lambda(_) | ScopeCode::Comprehension(_) => {}
        }
        walk.bound.sort_by_key(|it| it.0);
        walk
    }

    /// The names that are bound in a part of the text.
    pub(super) fn bound_in(&self, range: TextRange) -> impl Iterator<Item = &'a str> {
        let from = self.bound.partition_point(|it| it.0 < range.start());
        let to = self.bound.partition_point(|it| it.0 < range.end());
        self.bound[from..to].iter().map(|it| it.1)
    }

    /// Whether other functions may assign a name meanwhile.
    pub(super) fn is_shared(&self, name: &str) -> bool {
        self.shared.contains(name)
    }

    /// Whether a name is bound once, to a number: functions of `math` take it.
    pub(super) fn is_number(&self, name: &str) -> bool {
        self.numbers.contains(name) && self.names.get(name).is_some_and(|it| it.is_once)
    }

    /// What `test` asks; `None` if the answer may change.
    pub(super) fn lasting<'e>(&self, test: &'e Expr, is_in_loop: bool) -> Option<LastingTest<'e>> {
        let (asks, is_contrary) = self.asked(test, is_in_loop)?;
        let of_parameter = self.of_parameter(test, is_in_loop);
        Some(LastingTest { asks, is_contrary, of_parameter })
    }

    /// What `test` asks in words, and whether it asks for the contrary.
    fn asked(&self, test: &Expr, is_in_loop: bool) -> Option<(String, bool)> {
        match test {
            Expr::Compare(it) if it.ops.len() == 1 => {
                let (left, right) =
                    (self.term(&it.left, is_in_loop)?, self.term(&it.comparators[0], is_in_loop)?);
                let (op, is_contrary) = match it.ops[0] {
                    CmpOp::Is => ("is", false),
                    CmpOp::IsNot => ("is", true),
                    CmpOp::Eq => ("==", false),
                    CmpOp::NotEq => ("==", true),
                    CmpOp::In => ("in", false),
                    CmpOp::NotIn => ("in", true),
                    CmpOp::Gt => (">", false),
                    CmpOp::LtE => (">", true),
                    CmpOp::Lt => ("<", false),
                    CmpOp::GtE => ("<", true),
                };
                Some((format!("{left} {op} {right}"), is_contrary))
            }
            Expr::Call(it) => {
                let name = it.func.as_name_expr().map(|it| it.id.as_str());
                let name = name.filter(|it| PREDICATES.contains(it))?;
                let first = self.term(it.arguments.args.first()?, is_in_loop)?;
                let others = it.arguments.args.iter().skip(1);
                let others = others.map(|it| self.term(it, is_in_loop));
                let others: Option<Vec<_>> = others.collect();
                Some((format!("{name} {first} {}", others?.join(" ")), false))
            }
            // A list that a name is bound to once may be filled later.
            Expr::Name(it)
                if !self.is_as_passed(it, is_in_loop)
                    && self.names.get(it.id.as_str()).is_some_and(|it| !it.is_truth) =>
            {
                None
            }
            Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => {
                Some((self.term(test, is_in_loop)?, false))
            }
            _ => None,
        }
    }

    /// The parameter that `test` asks for alone, if it is what was passed, and the constant that it is compared with, if any.
    fn of_parameter<'e>(
        &self,
        test: &'e Expr,
        is_in_loop: bool,
    ) -> Option<(&'e str, Option<Constant>)> {
        let (name, constant) = match test {
            Expr::Name(it) => (it, None),
            Expr::Compare(it) => match (&*it.ops, &*it.comparators) {
                ([CmpOp::Is | CmpOp::IsNot | CmpOp::Eq | CmpOp::NotEq], [right]) => {
                    (it.left.as_name_expr()?, Some(Constant::of(right)?))
                }
                _ => return None,
            },
            _ => return None,
        };
        self.is_as_passed(name, is_in_loop).then_some((name.id.as_str(), constant))
    }

    /// Whether a name is a parameter that was not assigned before it stands there, so that it is what was passed.
    pub(super) fn is_as_passed(&self, name: &ExprName, is_in_loop: bool) -> bool {
        let assigned = self.names.get(name.id.as_str());
        let is_later = |it: &NameAssignment| !is_in_loop && name.start() < it.first;
        self.parameters.contains(name.id.as_str()) && assigned.is_none_or(is_later)
    }

    /// The name of a value that stays what it is.
    fn term(&self, expr: &Expr, is_in_loop: bool) -> Option<String> {
        match expr {
            Expr::Name(it) => {
                let name = it.id.as_str();
                let is_kept = match self.names.get(name) {
                    None => true,
                    Some(_) if self.parameters.contains(name) => self.is_as_passed(it, is_in_loop),
                    Some(it) => it.is_once,
                };
                is_kept.then(|| name.to_owned())
            }
            Expr::Attribute(it) if is_self(&it.value) => {
                let name = it.attr.as_str();
                (!self.attributes.contains(name)).then(|| format!("self.{name}"))
            }
            Expr::Subscript(it) if is_hyperparameter(it) => {
                let key = it.slice.as_string_literal_expr()?.value.to_str();
                (!self.hyperparameters.contains(key)).then(|| format!("group.{key}"))
            }
            _ => Constant::of(expr).map(|it| it.words()),
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for FunctionAssignments<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let is_loop = matches!(stmt, Stmt::For(_) | Stmt::While(_));
        self.n_loops += u32::from(is_loop);
        self.is_truth = match stmt {
            Stmt::Assign(it) => is_truth(&it.value),
            _ => false,
        };
        match stmt {
            Stmt::FunctionDef(it) => self.bound.push((it.name.start(), &it.name)),
            Stmt::ClassDef(it) => self.bound.push((it.name.start(), &it.name)),
            Stmt::Import(_) | Stmt::ImportFrom(_) => {
                self.bound.extend(imported(stmt).into_iter().map(|it| (it.range.start(), it.name)));
            }
            Stmt::Global(it) => self.shared.extend(it.names.iter().map(|it| it.as_str())),
            Stmt::Nonlocal(it) => self.shared.extend(it.names.iter().map(|it| it.as_str())),
            _ => {}
        }
        guarded(|| source_order::walk_stmt(self, stmt));
        self.n_loops -= u32::from(is_loop);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(it) if it.ctx != ExprContext::Load => {
                let (first, is_once, is_truth) = (it.start(), self.n_loops == 0, self.is_truth);
                self.bound.push((first, &it.id));
                let bound = self.names.entry(&it.id);
                bound
                    .and_modify(|it| (it.first, it.is_once) = (it.first.min(first), false))
                    .or_insert(NameAssignment { first, is_once, is_truth });
            }
            Expr::Attribute(it) if it.ctx != ExprContext::Load && is_self(&it.value) => {
                self.attributes.insert(&it.attr);
            }
            Expr::Subscript(it) if it.ctx != ExprContext::Load && is_hyperparameter(it) => {
                let key = it.slice.as_string_literal_expr().map(|it| it.value.to_str());
                self.hyperparameters.extend(key);
            }
            Expr::Call(it) if self.has_math && is_called_of_math(&it.func) => {
                let names = it.arguments.args.iter().filter_map(|it| it.as_name_expr());
                self.numbers.extend(names.map(|it| it.id.as_str()));
            }
            _ => {}
        }
        guarded(|| source_order::walk_expr(self, expr));
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(it) = handler;
        self.bound.extend(it.name.iter().map(|it| (it.start(), it.as_str())));
        source_order::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(it) => it.name.as_ref(),
            Pattern::MatchStar(it) => it.name.as_ref(),
            Pattern::MatchMapping(it) => it.rest.as_ref(),
            _ => None,
        };
        self.bound.extend(name.map(|it| (it.start(), it.as_str())));
        guarded(|| source_order::walk_pattern(self, pattern));
    }
}

/// Whether a function is one of the module `math`, by its text.
fn is_called_of_math(function: &Expr) -> bool {
    let module = function.as_attribute_expr().and_then(|it| it.value.as_name_expr());
    module.is_some_and(|it| it.id == "math")
}

/// Whether an expression gives `True` or `False`, as far as the text shows.
fn is_truth(expr: &Expr) -> bool {
    match expr {
        Expr::BooleanLiteral(_) | Expr::Compare(_) => true,
        Expr::UnaryOp(it) => it.op == ruff_python_ast::UnaryOp::Not,
        Expr::BoolOp(it) => it.values.iter().all(is_truth),
        Expr::Call(it) => {
            it.func.as_name_expr().is_some_and(|it| PREDICATES.contains(&it.id.as_str()))
        }
        _ => false,
    }
}
