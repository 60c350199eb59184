//! What the names of a function are bound to, as far as the text shows.

use std::collections::HashMap;

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{AnyParameterRef, ExceptHandler, Expr, ExprCall, Parameters, Pattern, Stmt};

use super::{ScopeCode, Scopes, imported};
use crate::collect::{is_plain_default, is_plain_type, is_tensor_type, names_elements};
use crate::stack_guard::guarded;
use crate::values::{AssignedValue, each_value, is_hyperparameter, is_sizes};

/// Values of a name beyond this number are not kept.
const MAX_VALUES: usize = 8;

/// What a name is bound to where it is used, as far as the text shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Binding {
    /// The expression does not begin with a name.
    #[default]
    None,
    /// A variable or parameter, of the function or one around it.
    Variable {
        /// What it is assigned; parameters, loop variables and the like add [`AssignedValue::Unknown`].
        values: Vec<AssignedValue>,
        /// Whether it is one of the module.
        is_global: bool,
    },
    /// A function or class of the text, as an index into [`crate::Module::functions`].
    Defined {
        /// Which.
        function: usize,
    },
    /// Something imported.
    Imported {
        /// Its name where it comes from: `y` of `from x import y as z`, `x` of `import x.y`.
        name: String,
        /// The whole path: `x.y` of `from x import y as z`, `x` of `import x.y`.
        path: String,
    },
    /// Not bound in the text: a built-in, or by way of `import *`.
    Builtin,
}

/// The names bound by the code of one function.
#[derive(Default)]
pub(crate) struct Bindings<'a> {
    bound: HashMap<&'a str, NameBinding>,
}

/// How a scope binds a name.
#[derive(Clone)]
enum NameBinding {
    /// Assigned, maybe several times.
    Variable(Vec<AssignedValue>),
    /// `def` or `class`, by its number.
    Defined(usize),
    /// As in [`Binding::Imported`].
    Imported { name: String, path: String },
    /// `global` or `nonlocal`.
    Outside,
}

impl<'a> Bindings<'a> {
    /// The names that the code of `function` binds.
    pub(crate) fn new(scopes: &Scopes<'a>, function: usize) -> Self {
        let mut walk = BindingWalk { scopes, names: Self::default(), plain: Vec::new() };
        match scopes.codes.get(function) {
            Some(&ScopeCode::Module(module)) => walk.visit_body(&module.body),
            Some(&ScopeCode::Class(class)) => walk.visit_body(&class.body),
            Some(&ScopeCode::Def(def)) => {
                walk.parameters(&def.parameters, def.name.as_str() == "__getitem__");
                walk.decorates(&def.parameters, scopes.decorated_by(function));
                let parent = scopes.parents.get(function).copied().flatten();
                let is_method = parent.is_some_and(|it| scopes.codes[it].is_class());
                let calls = scopes.calls_of(def);
                calls.iter().for_each(|it| walk.passed(&def.parameters, it, is_method));
                walk.visit_body(&def.body);
            }
            Some(&ScopeCode::Lambda(lambda)) => {
                lambda.parameters.iter().for_each(|it| walk.parameters(it, false));
                walk.visit_expr(&lambda.body);
            }
            Some(&ScopeCode::Comprehension(loops)) => {
                for generator in loops.generators {
                    walk.elements(&generator.target, &generator.iter);
                }
            }
            None => {}
        }
        walk.names
    }

    fn variable(&mut self, name: &'a str, value: AssignedValue) {
        if let NameBinding::Variable(values) =
            self.bound.entry(name).or_insert_with(|| NameBinding::Variable(Vec::new()))
            && values.len() < MAX_VALUES
            && !values.contains(&value)
        {
            values.push(value);
        }
    }
}

/// What `name` is bound to in `function`: by itself, else by a function around it (classes do not count), else by the
/// module. `names` are the names of `function` and of all around it.
pub(crate) fn resolve(
    scopes: &Scopes<'_>,
    names: &HashMap<usize, Bindings<'_>>,
    function: usize,
    name: &str,
) -> Binding {
    match bound(scopes, names, function, name) {
        Some((at, NameBinding::Variable(values))) => {
            Binding::Variable { values: values.clone(), is_global: at == 0 }
        }
        Some((_, &NameBinding::Defined(function))) => Binding::Defined { function },
        Some((_, NameBinding::Imported { name, path })) => {
            Binding::Imported { name: name.clone(), path: path.clone() }
        }
        Some((_, NameBinding::Outside)) | None => Binding::Builtin,
    }
}

/// Whether [`resolve`] finds an import.
pub(crate) fn is_imported(
    scopes: &Scopes<'_>,
    names: &HashMap<usize, Bindings<'_>>,
    function: usize,
    name: &str,
) -> bool {
    matches!(bound(scopes, names, function, name), Some((_, NameBinding::Imported { .. })))
}

/// What binds a name, with the scope that does.
fn bound<'n>(
    scopes: &Scopes<'_>,
    names: &'n HashMap<usize, Bindings<'_>>,
    function: usize,
    name: &str,
) -> Option<(usize, &'n NameBinding)> {
    let mut scope = Some(function);
    while let Some(at) = scope {
        let is_seen = at == function || !matches!(scopes.codes.get(at), Some(ScopeCode::Class(_)));
        match names.get(&at).and_then(|names| names.bound.get(name)).filter(|_| is_seen) {
            Some(NameBinding::Outside) | None => {}
            Some(bound) => return Some((at, bound)),
        }
        scope = scopes.parents.get(at).copied().flatten();
    }
    None
}

struct BindingWalk<'s, 'a> {
    scopes: &'s Scopes<'a>,
    names: Bindings<'a>,
    /// The parameters whose annotations name nothing but numbers, strings and tuples of these.
    plain: Vec<&'a str>,
}

impl<'a> BindingWalk<'_, 'a> {
    /// `is_index` if they are those of `__getitem__`.
    fn parameters(&mut self, parameters: &'a Parameters, is_index: bool) {
        for parameter in parameters {
            let is_plain = is_index
                || parameter.is_variadic()
                || parameter.annotation().is_some_and(is_plain_type)
                || parameter.default().is_some_and(is_plain_default);
            let has_plain_elements = |it: &Expr| is_plain_type(it) && names_elements(it);
            if parameter.annotation().is_some_and(has_plain_elements) && !parameter.is_variadic() {
                self.plain.push(parameter.name());
            }
            let is_tensor =
                parameter.annotation().is_some_and(is_tensor_type) && parameter.default().is_none();
            let value = match (is_plain, is_tensor && !parameter.is_variadic()) {
                (true, _) => AssignedValue::Plain,
                (false, true) => AssignedValue::Made("Tensor".to_owned()),
                (false, false) => AssignedValue::Unknown,
            };
            self.names.variable(parameter.name(), value);
        }
    }

    /// The first parameter of a decorator holds what it decorates.
    fn decorates(&mut self, parameters: &'a Parameters, decorated: &[&str]) {
        let first = parameters.iter().next().filter(|it| !it.is_variadic());
        let bound = first.and_then(|it| self.names.bound.get_mut(it.name().as_str()));
        if let Some(NameBinding::Variable(values)) = bound {
            values.extend(decorated.iter().map(|it| AssignedValue::Named((*it).to_owned())));
        }
    }

    /// Parameters hold the functions and objects that `call` passes.
    fn passed(&mut self, parameters: &'a Parameters, call: &ExprCall, is_method: bool) {
        // Python passes the object itself.
        let n_bound = usize::from(is_method && call.func.is_attribute_expr());
        let placed = parameters.posonlyargs.iter().chain(&parameters.args).skip(n_bound);
        let positional = call.arguments.args.iter().take_while(|it| !it.is_starred_expr());
        let named = call.arguments.keywords.iter().filter_map(|keyword| {
            let is_named = |it: &AnyParameterRef<'_>| keyword.arg.as_ref() == Some(it.name());
            let parameter = parameters.iter().find(|it| !it.is_variadic() && is_named(it))?;
            Some((parameter.name(), &keyword.value))
        });
        for (name, value) in placed.map(|it| it.name()).zip(positional).chain(named) {
            // An annotation or a default says more.
            let bound = self.names.bound.get(name.as_str());
            let is_open = matches!(bound, Some(NameBinding::Variable(values)) if values.contains(&AssignedValue::Unknown));
            each_value(value, &mut |value| {
                if is_open && matches!(value, AssignedValue::Named(_) | AssignedValue::Made(_)) {
                    self.names.variable(name, value);
                }
            });
        }
    }

    /// Loop variables: those of `range` are numbers, and so is the first of `enumerate`.
    fn elements(&mut self, target: &'a Expr, iterable: &Expr) {
        let called = match iterable {
            Expr::Call(it) => it.func.as_name_expr().map(|name| name.id.as_str()),
            _ => None,
        };
        match (called, target) {
            (Some("range"), _) => self.target(target, AssignedValue::Plain),
            (Some("enumerate"), Expr::Tuple(it)) if !it.elts.is_empty() => {
                self.target(&it.elts[0], AssignedValue::Plain);
                it.elts[1..].iter().for_each(|it| self.target(it, AssignedValue::Unknown));
            }
            _ => self.target(target, AssignedValue::Unknown),
        }
    }

    fn target(&mut self, target: &'a Expr, value: AssignedValue) {
        guarded(|| match target {
            Expr::Name(it) => self.names.variable(&it.id, value),
            Expr::Tuple(it) => {
                it.elts.iter().for_each(|it| self.target(it, AssignedValue::Unknown))
            }
            Expr::List(it) => it.elts.iter().for_each(|it| self.target(it, AssignedValue::Unknown)),
            // Whatever is left over, as a list.
            Expr::Starred(it) => self.target(&it.value, AssignedValue::Plain),
            _ => {}
        });
    }

    fn is_plain_parameter(&self, value: &Expr) -> bool {
        value.as_name_expr().is_some_and(|it| self.plain.contains(&it.id.as_str()))
    }

    fn assigned(&mut self, targets: &'a [Expr], value: &'a Expr) {
        for target in targets {
            match (target, value) {
                (Expr::Tuple(names), Expr::Tuple(values)) if names.len() == values.len() => {
                    for (name, value) in names.elts.iter().zip(&values.elts) {
                        each_value(value, &mut |value| self.target(name, value));
                    }
                }
                // `b, c = x.shape`, `beta1, beta2 = group["betas"]`, or a parameter that says what it is.
                (Expr::Tuple(names), _)
                    if is_sizes(value)
                        || self.is_plain_parameter(value)
                        || value.as_subscript_expr().is_some_and(is_hyperparameter) =>
                {
                    names.elts.iter().for_each(|it| self.target(it, AssignedValue::Plain));
                }
                _ => each_value(value, &mut |value| self.target(target, value)),
            }
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for BindingWalk<'_, 'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            // What is inside is another scope.
            Stmt::FunctionDef(it) => {
                if let Some(number) = self.scopes.number(it) {
                    self.names.bound.insert(&it.name, NameBinding::Defined(number));
                }
                return;
            }
            Stmt::ClassDef(it) => {
                if let Some(number) = self.scopes.number(it) {
                    self.names.bound.insert(&it.name, NameBinding::Defined(number));
                }
                return;
            }
            Stmt::Assign(it) => self.assigned(&it.targets, &it.value),
            Stmt::AnnAssign(it) => {
                if let Some(value) = &it.value {
                    self.assigned(std::slice::from_ref(&it.target), value);
                }
            }
            // `n += 1` keeps a number a number.
            Stmt::AugAssign(it) => {
                each_value(&it.value, &mut |value| self.target(&it.target, value))
            }
            Stmt::For(it) => self.elements(&it.target, &it.iter),
            Stmt::With(it) => {
                for item in &it.items {
                    if let Some(target) = &item.optional_vars {
                        self.target(target, AssignedValue::Unknown);
                    }
                }
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) => {
                for it in imported(stmt) {
                    let name = it.last_name().to_owned();
                    let bound = NameBinding::Imported { name, path: it.path };
                    self.names.bound.insert(it.name, bound);
                }
            }
            Stmt::Global(it) => {
                it.names.iter().for_each(|it| {
                    self.names.bound.insert(it, NameBinding::Outside);
                });
            }
            Stmt::Nonlocal(it) => {
                it.names.iter().for_each(|it| {
                    self.names.bound.insert(it, NameBinding::Outside);
                });
            }
            Stmt::Try(it) => {
                for ExceptHandler::ExceptHandler(handler) in &it.handlers {
                    if let Some(name) = &handler.name {
                        self.names.variable(name, AssignedValue::Unknown);
                    }
                }
            }
            _ => {}
        }
        guarded(|| source_order::walk_stmt(self, stmt));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Lambda(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::DictComp(_)
            | Expr::Generator(_) => return,
            Expr::Named(it) => {
                each_value(&it.value, &mut |value| self.target(&it.target, value));
            }
            _ => {}
        }
        guarded(|| source_order::walk_expr(self, expr));
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        match pattern {
            Pattern::MatchAs(it) => {
                it.name.iter().for_each(|it| self.names.variable(it, AssignedValue::Unknown));
            }
            Pattern::MatchStar(it) => {
                it.name.iter().for_each(|it| self.names.variable(it, AssignedValue::Unknown));
            }
            _ => {}
        }
        guarded(|| source_order::walk_pattern(self, pattern));
    }
}
