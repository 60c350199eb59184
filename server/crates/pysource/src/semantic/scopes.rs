//! The functions of a syntax tree, numbered as in [`crate::Module::functions`].

use std::collections::HashMap;

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{
    Arguments, Comprehension, Expr, ExprCall, ExprLambda, ModModule, Pattern, Stmt, StmtClassDef,
    StmtFunctionDef,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::module::FunctionKind;
use crate::stack_guard::{Depth, Descend};
use crate::values::last_name;

/// Functions that a decorator is applied to beyond this number are not kept.
const MAX_DECORATED: usize = 64;
/// Calls of one name beyond this number are not kept.
const MAX_CALLS: usize = 64;

/// The code of a function.
#[derive(Clone, Copy)]
pub(crate) enum ScopeCode<'a> {
    Module(&'a ModModule),
    Class(&'a StmtClassDef),
    Def(&'a StmtFunctionDef),
    Lambda(&'a ExprLambda),
    Comprehension(Loops<'a>),
}

impl ScopeCode<'_> {
    /// Whether it is a `def`.
    pub(crate) fn is_def(&self) -> bool {
        matches!(self, Self::Def(_))
    }

    /// Whether it is a class.
    pub(crate) fn is_class(&self) -> bool {
        matches!(self, Self::Class(_))
    }

    /// All of its text, decorators and parameters included.
    pub(crate) fn range(&self) -> TextRange {
        match self {
            Self::Module(it) => it.range,
            Self::Class(it) => it.range,
            Self::Def(it) => it.range,
            Self::Lambda(it) => it.range,
            Self::Comprehension(it) => it.range,
        }
    }
}

/// A comprehension or generator expression.
#[derive(Clone, Copy)]
pub(crate) struct Loops<'a> {
    /// With the brackets, a call's where a generator expression has none of its own.
    pub(crate) range: TextRange,
    /// What is made of each step: one expression, or the key and the value.
    pub(crate) elements: [Option<&'a Expr>; 2],
    pub(crate) generators: &'a [Comprehension],
    pub(crate) kind: FunctionKind,
}

impl Loops<'_> {
    pub(crate) fn is_generator(&self) -> bool {
        self.kind == FunctionKind::GenExpr
    }

    /// Whether it makes a set or a dictionary.
    pub(crate) fn hashes(&self) -> bool {
        matches!(self.kind, FunctionKind::SetComp | FunctionKind::DictComp)
    }
}

/// A decorator: `@name`, or `@name(…)`, which makes one.
#[derive(PartialEq, Eq, Hash)]
struct DecoratorName<'a> {
    name: &'a str,
    is_called: bool,
}

/// All functions of a text.
pub(crate) struct Scopes<'a> {
    pub(crate) codes: Vec<ScopeCode<'a>>,
    /// The number of the function around each; `None` for the module.
    pub(crate) parents: Vec<Option<usize>>,
    /// By the address of the tree's node.
    numbers: HashMap<usize, usize>,
    /// The functions of the text that a decorator is applied to, by how that is written.
    decorated: HashMap<DecoratorName<'a>, Vec<&'a str>>,
    /// The calls that pass something, by the last name of what is called.
    calls: HashMap<&'a str, Vec<&'a ExprCall>>,
    /// Whether annotations are not evaluated (`from __future__ import annotations`).
    pub(crate) lazy_annotations: bool,
    /// Depth of the tree, in levels.
    pub(crate) depth: usize,
}

impl<'a> Scopes<'a> {
    pub(crate) fn new(module: &'a ModModule) -> Self {
        let mut walk = ScopeWalk {
            scopes: Self {
                codes: vec![ScopeCode::Module(module)],
                parents: vec![None],
                numbers: HashMap::new(),
                decorated: HashMap::new(),
                calls: HashMap::new(),
                lazy_annotations: module.body.iter().any(is_lazy_annotations),
                depth: 0,
            },
            scope: 0,
            call: None,
            depth: Depth::default(),
        };
        walk.visit_body(&module.body);
        Self { depth: walk.depth.max(), ..walk.scopes }
    }

    /// The number of the function that is this node of the tree; `None` for one without a name.
    pub(crate) fn number<T>(&self, node: &T) -> Option<usize> {
        self.numbers.get(&std::ptr::from_ref(node).addr()).copied()
    }

    /// The names of the functions of the text that `function` decorates: by itself, or as what the function around it makes.
    pub(crate) fn decorated_by(&self, function: usize) -> &[&'a str] {
        let name = |function: usize| match self.codes.get(function) {
            Some(ScopeCode::Def(def)) => Some(def.name.as_str()),
            _ => None,
        };
        let maker = self.parents.get(function).copied().flatten().and_then(name);
        let itself = name(function).map(|name| DecoratorName { name, is_called: false });
        let made = maker.map(|name| DecoratorName { name, is_called: true });
        let found = itself.into_iter().chain(made).find_map(|it| self.decorated.get(&it));
        found.map_or(&[], Vec::as_slice)
    }

    fn add_decorated(&mut self, def: &'a StmtFunctionDef) {
        for decorator in &def.decorator_list {
            let (decorator, is_called) = match &decorator.expression {
                Expr::Call(it) => (&*it.func, true),
                it => (it, false),
            };
            let Some(name) = decorator.as_name_expr() else { continue };
            let decorator = DecoratorName { name: &name.id, is_called };
            let decorated = self.decorated.entry(decorator).or_default();
            if decorated.len() < MAX_DECORATED {
                decorated.push(&def.name);
            }
        }
    }

    /// The calls of the text that may pass something to `function`, by its name.
    pub(crate) fn calls_of(&self, function: &StmtFunctionDef) -> &[&'a ExprCall] {
        self.calls.get(function.name.as_str()).map_or(&[], Vec::as_slice)
    }

    fn add_call(&mut self, call: &'a ExprCall) {
        let Some(name) = last_name(&call.func) else { return };
        if !call.arguments.is_empty() {
            let calls = self.calls.entry(name).or_default();
            if calls.len() < MAX_CALLS {
                calls.push(call);
            }
        }
    }

    fn add<T>(&mut self, node: &T, code: ScopeCode<'a>, parent: usize) {
        self.numbers.insert(std::ptr::from_ref(node).addr(), self.codes.len());
        self.codes.push(code);
        self.parents.push(Some(parent));
    }
}

fn is_lazy_annotations(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::ImportFrom(it) if it.level == 0
        && it.module.as_ref().is_some_and(|module| module.as_str() == "__future__")
        && it.names.iter().any(|alias| alias.name.as_str() == "annotations"))
}

struct ScopeWalk<'a> {
    scopes: Scopes<'a>,
    /// The function whose code is being walked.
    scope: usize,
    /// Where the arguments of the innermost call begin, for generator expressions without brackets.
    call: Option<TextSize>,
    depth: Depth,
}

impl<'a> ScopeWalk<'a> {
    fn comprehension<T>(
        &mut self,
        node: &T,
        range: TextRange,
        elements: [Option<&'a Expr>; 2],
        generators: &'a [Comprehension],
        kind: FunctionKind,
    ) {
        let loops = Loops { range, elements, generators, kind };
        self.scopes.add(node, ScopeCode::Comprehension(loops), self.scope);
    }
}

impl Descend for ScopeWalk<'_> {
    fn depth(&mut self) -> &mut Depth {
        &mut self.depth
    }
}

impl<'a> SourceOrderVisitor<'a> for ScopeWalk<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let outer = self.scope;
        match stmt {
            Stmt::FunctionDef(it) if !it.name.is_empty() => {
                self.scopes.add_decorated(it);
                self.scopes.add(it, ScopeCode::Def(it), outer);
                self.scope = self.scopes.codes.len() - 1;
            }
            Stmt::ClassDef(it) if !it.name.is_empty() => {
                self.scopes.add(it, ScopeCode::Class(it), outer);
                self.scope = self.scopes.codes.len() - 1;
            }
            _ => {}
        }
        self.descend(|this| source_order::walk_stmt(this, stmt));
        self.scope = outer;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let outer = self.scope;
        match expr {
            Expr::Call(it) => self.scopes.add_call(it),
            Expr::Lambda(it) => {
                self.scopes.add(it, ScopeCode::Lambda(it), outer);
                self.scope = self.scopes.codes.len() - 1;
            }
            Expr::ListComp(it) => {
                let elements = [Some(&*it.elt), None];
                self.comprehension(it, it.range, elements, &it.generators, FunctionKind::ListComp);
            }
            Expr::SetComp(it) => {
                let elements = [Some(&*it.elt), None];
                self.comprehension(it, it.range, elements, &it.generators, FunctionKind::SetComp);
            }
            Expr::DictComp(it) => {
                let elements = [it.key.as_deref(), Some(&*it.value)];
                self.comprehension(it, it.range, elements, &it.generators, FunctionKind::DictComp);
            }
            Expr::Generator(it) => {
                let start = self.call.filter(|_| !it.parenthesized).unwrap_or(it.start());
                let range = TextRange::new(start.min(it.start()), it.end());
                let elements = [Some(&*it.elt), None];
                self.comprehension(it, range, elements, &it.generators, FunctionKind::GenExpr);
            }
            _ => {}
        }
        if matches!(
            expr,
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_)
        ) {
            self.scope = self.scopes.codes.len() - 1;
        }
        self.descend(|this| source_order::walk_expr(this, expr));
        self.scope = outer;
    }

    fn visit_arguments(&mut self, arguments: &'a Arguments) {
        let outer = self.call.replace(arguments.start());
        source_order::walk_arguments(self, arguments);
        self.call = outer;
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.descend(|this| source_order::walk_pattern(this, pattern));
    }
}
