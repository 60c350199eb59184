//! From the syntax tree to the tables of a [`Module`].

use ruff_python_ast::token::{TokenKind, Tokens};
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{
    Arguments, Comprehension, Decorator, Expr, ExprCall, Identifier, Parameters, Pattern, Stmt,
    StmtClassDef, StmtFunctionDef,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::directives::directives;
use crate::repair::repair;
use crate::stack_guard::{Depth, Descend, with_tree};
use crate::values::{AssignedValue, each_value, last_name};
use crate::{
    Arity, ClassFacts, Decoration, Function, FunctionKind, LineIndex, Loop, LoopKind, Module,
};

/// Names of functions nested so deep that theirs would be longer begin anew, so that all together stay linear in the text.
const MAX_NAME: usize = 1024;

/// Reads everything of `text` that [`Module`] shows.
pub(crate) fn collect(text: &str, lines: &LineIndex) -> Module {
    let nothing = || Module {
        functions: vec![module_function(lines)],
        n_lines: lines.n_lines(),
        has_errors: true,
        ..Module::default()
    };
    match read(text, lines) {
        None => nothing(),
        Some((Module { directives, .. }, Some(repaired))) => {
            match read(&repaired, &LineIndex::new(&repaired)) {
                None => nothing(),
                Some((module, _)) => Module { has_errors: true, directives, ..module },
            }
        }
        Some((module, None)) => module,
    }
}

/// What `text` says and, if it is damaged, the repaired text, which says more; `None` for one over the limits of size.
fn read(text: &str, lines: &LineIndex) -> Option<(Module, Option<String>)> {
    with_tree(text, |parsed| {
        let mut collector = Collector {
            lines,
            functions: vec![module_function(lines)],
            loops: Vec::new(),
            classes: Vec::new(),
            plain_parameters: Vec::new(),
            n_branches: 0,
            scope: 0,
            call: None,
            depth: Depth::default(),
        };
        collector.visit_body(&parsed.syntax().body);
        let Collector { functions, loops, mut classes, depth, .. } = collector;
        for class in &mut classes {
            class.attributes.sort();
            class.attributes.dedup();
            class.assured.sort();
            class.assured.dedup();
        }
        let mut long_statements = logical_lines(parsed.tokens(), lines);
        let code_lines = joined(&long_statements);
        long_statements.retain(|(first, last)| first < last);
        let has_errors = !parsed.errors().is_empty();
        let repaired = has_errors.then(|| repair(text, parsed.tokens(), lines)).flatten();
        let n_lines = lines.n_lines();
        let directives = directives(text, parsed.tokens(), lines);
        let module = Module {
            functions,
            loops,
            classes,
            long_statements,
            code_lines,
            directives,
            n_lines,
            has_errors,
        };
        ((module, repaired), depth.max())
    })
}

fn module_function(lines: &LineIndex) -> Function {
    Function {
        name: "<module>".to_owned(),
        qualified_name: "<module>".to_owned(),
        kind: FunctionKind::Module,
        first_line: 1,
        def_line: 1,
        body_first_line: 1,
        last_line: lines.n_lines(),
        parent: None,
        is_generator: false,
        cleans_up: false,
        decoration: Decoration::default(),
        arity: None,
        is_triton_kernel: false,
    }
}

/// First and last line of each logical line.
fn logical_lines(tokens: &Tokens, lines: &LineIndex) -> Vec<(u32, u32)> {
    let mut statements = Vec::new();
    let mut start = None;
    for token in tokens {
        match token.kind() {
            TokenKind::Newline | TokenKind::EndOfFile => {
                if let Some(start) = start.take() {
                    statements.push((lines.line(start), lines.line(token.start().to_usize())));
                }
            }
            TokenKind::NonLogicalNewline
            | TokenKind::Comment
            | TokenKind::Indent
            | TokenKind::Dedent => {}
            _ => start = start.or(Some(token.start().to_usize())),
        }
    }
    statements
}

/// The same, neighbouring ones joined.
fn joined(statements: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &(first, last) in statements {
        match runs.last_mut() {
            Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
            _ => runs.push((first, last)),
        }
    }
    runs
}

struct Collector<'a> {
    lines: &'a LineIndex,
    functions: Vec<Function>,
    loops: Vec<Loop>,
    classes: Vec<ClassFacts>,
    /// The parameters of the innermost `def` that hold numbers, strings and the like.
    plain_parameters: Vec<String>,
    /// How many `if` of the innermost `def` are around.
    n_branches: u32,
    /// The function whose code is being walked.
    scope: usize,
    /// Where the arguments of the innermost call begin: a generator expression that is the only argument has no
    /// brackets of its own, and CPython counts those of the call.
    call: Option<TextSize>,
    depth: Depth,
}

impl Descend for Collector<'_> {
    fn depth(&mut self) -> &mut Depth {
        &mut self.depth
    }
}

impl<'a> SourceOrderVisitor<'a> for Collector<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.descend(|this| match stmt {
            Stmt::FunctionDef(def) => this.function(def),
            Stmt::ClassDef(class) => this.class(class),
            Stmt::For(it) => {
                this.statement_loop(LoopKind::For, it.range, &it.body);
                source_order::walk_stmt(this, stmt);
            }
            Stmt::While(it) => {
                this.statement_loop(LoopKind::While, it.range, &it.body);
                source_order::walk_stmt(this, stmt);
            }
            Stmt::Assign(it) => {
                it.targets.iter().for_each(|target| this.attribute(target, None, Some(&it.value)));
                source_order::walk_stmt(this, stmt);
            }
            Stmt::AnnAssign(it) => {
                this.attribute(&it.target, Some(&it.annotation), it.value.as_deref());
                source_order::walk_stmt(this, stmt);
            }
            Stmt::If(_) => {
                this.n_branches += 1;
                source_order::walk_stmt(this, stmt);
                this.n_branches -= 1;
            }
            Stmt::With(_) | Stmt::Try(_) => {
                this.functions[this.scope].cleans_up = true;
                source_order::walk_stmt(this, stmt);
            }
            _ => source_order::walk_stmt(this, stmt),
        });
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.descend(|this| match expr {
            Expr::Lambda(lambda) => {
                let outer =
                    this.enter("<lambda>", FunctionKind::Lambda, lambda.range, lambda.body.start());
                let inner = std::mem::replace(&mut this.scope, outer);
                if let Some(parameters) = &lambda.parameters {
                    this.visit_parameters(parameters);
                }
                this.scope = inner;
                this.visit_expr(&lambda.body);
                this.scope = outer;
            }
            Expr::ListComp(it) => {
                this.comprehension(
                    "<listcomp>",
                    FunctionKind::ListComp,
                    it.range,
                    &[&it.elt],
                    &it.generators,
                );
            }
            Expr::SetComp(it) => {
                this.comprehension(
                    "<setcomp>",
                    FunctionKind::SetComp,
                    it.range,
                    &[&it.elt],
                    &it.generators,
                );
            }
            Expr::DictComp(it) => {
                let key = it.key.as_deref();
                let elements: Vec<&Expr> = key.into_iter().chain([&*it.value]).collect();
                this.comprehension(
                    "<dictcomp>",
                    FunctionKind::DictComp,
                    it.range,
                    &elements,
                    &it.generators,
                );
            }
            Expr::Generator(it) => {
                let start = this.call.filter(|_| !it.parenthesized).unwrap_or(it.start());
                let range = TextRange::new(start.min(it.start()), it.end());
                this.comprehension(
                    "<genexpr>",
                    FunctionKind::GenExpr,
                    range,
                    &[&it.elt],
                    &it.generators,
                );
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                this.functions[this.scope].is_generator = true;
                source_order::walk_expr(this, expr);
            }
            Expr::Call(it) => {
                this.registered(it);
                source_order::walk_expr(this, expr);
            }
            _ => source_order::walk_expr(this, expr),
        });
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

impl Collector<'_> {
    fn function(&mut self, def: &StmtFunctionDef) {
        let kind = if def.is_async { FunctionKind::AsyncDef } else { FunctionKind::Def };
        let outer = self.enter_def(&def.name, kind, def.range, &def.decorator_list, &def.body);
        if self.scope != outer
            && let Some(function) = self.functions.last_mut()
        {
            function.arity = Some(arity(&def.parameters));
        }
        let inner = std::mem::replace(&mut self.scope, outer);
        def.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        if let Some(type_params) = &def.type_params {
            self.visit_type_params(type_params);
        }
        self.visit_parameters(&def.parameters);
        if let Some(returns) = &def.returns {
            self.visit_annotation(returns);
        }
        self.scope = inner;
        let plain = def.parameters.iter().filter(|it| {
            it.is_variadic()
                || it.annotation().is_some_and(is_plain_type)
                || it.default().is_some_and(is_plain_default)
        });
        let plain = plain.map(|it| it.name().to_string()).collect();
        let plain = std::mem::replace(&mut self.plain_parameters, plain);
        let n_branches = std::mem::replace(&mut self.n_branches, 0);
        self.visit_body(&def.body);
        self.plain_parameters = plain;
        self.n_branches = n_branches;
        self.scope = outer;
    }

    fn class(&mut self, class: &StmtClassDef) {
        let (kind, decorators) = (FunctionKind::Class, &class.decorator_list);
        let outer = self.enter_def(&class.name, kind, class.range, decorators, &class.body);
        if self.scope != outer {
            let bases = class.arguments.iter().flat_map(|it| &it.args);
            let bases = bases.filter_map(|base| last_name(base).map(str::to_owned));
            let class = ClassFacts {
                function: self.scope,
                bases: bases.collect(),
                ..ClassFacts::default()
            };
            self.classes.push(class);
        }
        let inner = std::mem::replace(&mut self.scope, outer);
        class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        if let Some(type_params) = &class.type_params {
            self.visit_type_params(type_params);
        }
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        self.scope = inner;
        self.visit_body(&class.body);
        self.scope = outer;
    }

    /// Notes what an attribute is assigned: `name = …` in the body of a class, `self.name = …` in a method.
    fn attribute(&mut self, target: &Expr, annotation: Option<&Expr>, value: Option<&Expr>) {
        let name = match target {
            Expr::Name(it) if self.functions[self.scope].kind == FunctionKind::Class => &it.id,
            Expr::Attribute(it) if is_self(&it.value) => it.attr.id(),
            Expr::Tuple(targets) => {
                if let Some(Expr::Tuple(values)) = value
                    && targets.len() == values.len()
                {
                    let each = targets.elts.iter().zip(&values.elts);
                    each.for_each(|(target, value)| self.attribute(target, None, Some(value)));
                }
                return;
            }
            _ => return,
        };
        if annotation.is_some_and(is_plain_type) {
            return self.add_attribute(name, AssignedValue::Plain);
        }
        if let Some(value) = value {
            let mut values = Vec::new();
            each_value(value, &mut |value| values.push(value));
            if self.n_branches == 0
                && !values.contains(&AssignedValue::None)
                && let Some(class) = self.class_around()
            {
                class.assured.push(name.to_string());
            }
            for value in values {
                let is_plain = matches!(&value, AssignedValue::Named(it) if self.plain_parameters.contains(it));
                self.add_attribute(name, if is_plain { AssignedValue::Plain } else { value });
            }
        }
    }

    /// Notes `self.register_buffer("name", …)` and the like.
    fn registered(&mut self, call: &ExprCall) {
        const METHODS: [&str; 4] =
            ["register_buffer", "register_parameter", "register_module", "add_module"];
        let Expr::Attribute(method) = &*call.func else { return };
        let Some(Expr::StringLiteral(name)) = call.arguments.args.first() else { return };
        if METHODS.contains(&method.attr.as_str()) && is_self(&method.value) {
            self.add_attribute(name.value.to_str(), AssignedValue::Made(method.attr.to_string()));
        }
    }

    fn add_attribute(&mut self, name: &str, value: AssignedValue) {
        if let Some(class) = self.class_around() {
            class.attributes.push((name.to_owned(), value));
        }
    }

    /// The class whose body or method is being walked.
    fn class_around(&mut self) -> Option<&mut ClassFacts> {
        let around = std::iter::successors(Some(self.scope), |&it| self.functions[it].parent);
        let mut classes = around.filter(|&it| self.functions[it].kind == FunctionKind::Class);
        let class = classes.next()?;
        self.classes.iter_mut().rfind(|it| it.function == class)
    }

    fn statement_loop(&mut self, kind: LoopKind, range: TextRange, body: &[Stmt]) {
        let header_line = self.line(range.start());
        let first_line = body.first().map_or(header_line, |stmt| self.line(stmt.start()));
        let last_line = body.last().map_or(header_line, |stmt| self.last_line(stmt.end()));
        self.loops.push(Loop { kind, header_line, first_line, last_line, function: self.scope });
    }

    fn comprehension(
        &mut self,
        name: &str,
        kind: FunctionKind,
        range: TextRange,
        elements: &[&Expr],
        generators: &[Comprehension],
    ) {
        let body = elements.first().map_or(range.start(), |element| element.start());
        let outer = self.enter(name, kind, range, body);
        let (first_line, last_line) = (self.line(range.start()), self.last_line(range.end()));
        let header_line = generators.first().map_or(first_line, |it| self.line(it.start()));
        let kind = LoopKind::Comprehension;
        self.loops.push(Loop { kind, header_line, first_line, last_line, function: self.scope });
        elements.iter().for_each(|element| self.visit_expr(element));
        for (row, generator) in generators.iter().enumerate() {
            self.visit_expr(&generator.target);
            if row == 0 {
                // The first iterable is evaluated where the comprehension stands.
                let inner = std::mem::replace(&mut self.scope, outer);
                self.visit_expr(&generator.iter);
                self.scope = inner;
            } else {
                self.visit_expr(&generator.iter);
            }
            generator.ifs.iter().for_each(|test| self.visit_expr(test));
        }
        self.scope = outer;
    }
}

impl Collector<'_> {
    /// Begins a `def` or class: [`Self::enter`], but while a name is still to be typed the body stays with the outer
    /// function.
    fn enter_def(
        &mut self,
        name: &Identifier,
        kind: FunctionKind,
        range: TextRange,
        decorators: &[Decorator],
        body: &[Stmt],
    ) -> usize {
        if name.is_empty() {
            return self.scope;
        }
        let body = body.first().map_or(range.end(), Ranged::start);
        let outer = self.enter(name, kind, range, body);
        if let Some((decorator, function)) = decorators.first().zip(self.functions.last_mut()) {
            function.def_line = self.lines.line(name.start().to_usize());
            function.first_line = self.lines.line(decorator.expression.start().to_usize());
            function.decoration = decoration(decorators);
            function.is_triton_kernel = decorators.iter().any(compiles_for_triton);
        }
        outer
    }

    /// Begins a function: what is walked from here on is its code. The outer function is returned, to go back to.
    fn enter(&mut self, name: &str, kind: FunctionKind, range: TextRange, body: TextSize) -> usize {
        let parent = &self.functions[self.scope];
        let begins_anew =
            parent.kind == FunctionKind::Module || parent.qualified_name.len() > MAX_NAME;
        let qualified_name = match begins_anew {
            true => name.to_owned(),
            false => format!("{}.{name}", parent.qualified_name),
        };
        // Of damaged text the parser may hand out last what stands first; the functions stay in order of their lines.
        let before = self.functions.last().map_or(1, |function| function.first_line);
        let first_line = self.line(range.start()).max(before);
        self.functions.push(Function {
            name: name.to_owned(),
            qualified_name,
            kind,
            first_line,
            def_line: first_line,
            body_first_line: self.line(body),
            last_line: self.last_line(range.end()).max(first_line),
            parent: Some(self.scope),
            is_generator: kind == FunctionKind::GenExpr,
            cleans_up: false,
            decoration: Decoration::default(),
            arity: None,
            is_triton_kernel: false,
        });
        std::mem::replace(&mut self.scope, self.functions.len() - 1)
    }

    fn line(&self, offset: TextSize) -> u32 {
        self.lines.line(offset.to_usize())
    }

    /// The line of the last byte before `end`.
    fn last_line(&self, end: TextSize) -> u32 {
        self.lines.line(end.to_usize().saturating_sub(1))
    }
}

fn arity(parameters: &Parameters) -> Arity {
    let placed = parameters.posonlyargs.iter().chain(&parameters.args);
    let all = placed.clone().chain(&parameters.kwonlyargs);
    Arity {
        placed: placed.count() as u32,
        named: parameters.kwonlyargs.len() as u32,
        required: all.filter(|it| it.default.is_none()).count() as u32,
        takes_any_placed: parameters.vararg.is_some(),
        takes_any_named: parameters.kwarg.is_some(),
    }
}

/// What decorators make of a function or class.
fn decoration(decorators: &[Decorator]) -> Decoration {
    let mut decoration = Decoration::Unchanged;
    for decorator in decorators {
        let it = &decorator.expression;
        match last_name(it.as_call_expr().map_or(it, |call| &call.func)).unwrap_or("") {
            "classmethod" | "staticmethod" | "abstractmethod" | "override" | "final" => {}
            "lru_cache" | "cache" => decoration = Decoration::Memoized,
            _ => return Decoration::Other,
        }
    }
    decoration
}

/// Whether a decorator is `triton.jit` or `gluon.jit`, with arguments or without.
fn compiles_for_triton(decorator: &Decorator) -> bool {
    let it = &decorator.expression;
    let it = it.as_call_expr().map_or(it, |call| &call.func);
    it.as_attribute_expr().is_some_and(|it| {
        it.attr.as_str() == "jit" && matches!(last_name(&it.value), Some("triton" | "gluon"))
    })
}

/// Whether an expression is the name `self`.
pub(crate) fn is_self(expr: &Expr) -> bool {
    matches!(expr, Expr::Name(it) if it.id == "self")
}

/// Whether an annotation names nothing but numbers, strings and the like: `bool`, `Optional[int]`, `float | None`.
pub(crate) fn is_plain_type(annotation: &Expr) -> bool {
    const PLAIN: [&str; 14] = [
        "bool", "int", "float", "str", "complex", "bytes", "dtype", "Optional", "Union", "Final",
        "Tuple", "tuple", "Literal", "device",
    ];
    match annotation {
        Expr::Name(it) => PLAIN.contains(&it.id.as_str()),
        Expr::Attribute(it) => PLAIN.contains(&it.attr.as_str()),
        Expr::Subscript(it) => is_plain_type(&it.value) && is_plain_type(&it.slice),
        Expr::Tuple(it) => it.elts.iter().all(is_plain_type),
        Expr::BinOp(it) => is_plain_type(&it.left) && is_plain_type(&it.right),
        _ => annotation.is_literal_expr(),
    }
}

/// Whether an annotation of [`is_plain_type`] says of tuples what is in them: `tuple[int, int]`, but not `tuple`.
pub(crate) fn names_elements(annotation: &Expr) -> bool {
    match annotation {
        Expr::Name(it) => !matches!(it.id.as_str(), "tuple" | "Tuple"),
        Expr::Attribute(it) => it.attr.as_str() != "Tuple",
        Expr::Subscript(it) => names_elements(&it.slice),
        Expr::Tuple(it) => it.elts.iter().all(names_elements),
        Expr::BinOp(it) => names_elements(&it.left) && names_elements(&it.right),
        _ => true,
    }
}

/// Whether an annotation is `Tensor` or `torch.Tensor`.
pub(crate) fn is_tensor_type(annotation: &Expr) -> bool {
    match annotation {
        Expr::Name(it) => it.id.as_str() == "Tensor",
        Expr::Attribute(it) => it.attr.as_str() == "Tensor",
        _ => false,
    }
}

pub(crate) fn is_plain_default(default: &Expr) -> bool {
    default.is_literal_expr() && !default.is_none_literal_expr()
}
