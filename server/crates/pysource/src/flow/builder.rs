//! The graph, while it is made.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ruff_python_ast::{Expr, ExprAttribute, ExprCall, ExprName, StmtAssign, UnaryOp};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::constants::{Constant, FlowParameter, ParameterTest};
use super::known_names::{KnownNames, NameValue};
use super::lasting::{FunctionAssignments, LastingTest};
use super::lines::LinesByVersion;
use super::{
    Access, Binding, ByteRange, Decision, Flow, Iterable, Site, SiteKind, calls_for_each,
    takes_later,
};
use crate::LineIndex;
use crate::collect::is_self;
use crate::semantic::{Bindings, ScopeCode, Scopes, is_imported, resolve};
use crate::stack_guard::guarded;
use crate::values::{
    AssignedValue, gives_tensor, gives_value, is_hyperparameter, is_of_objects, is_size, is_sizes,
    is_tensor_method, name_and_attributes, value_of,
};

/// Marks the joins among node numbers, until the number of sites is known.
const JOIN: u32 = 1 << 31;
const ENTRY: u32 = JOIN;
const EXIT: u32 = JOIN | 1;

/// Makes the flow of one function. The way made so far ends at `at`; what is added goes on from there.
pub(crate) struct FlowBuilder<'t, 'a> {
    pub(super) scopes: &'t Scopes<'a>,
    pub(super) lines: &'t LineIndex,
    /// The names of the function and of those around it.
    names: &'t HashMap<usize, Bindings<'a>>,
    function: usize,
    sites: Vec<Site>,
    n_joins: u32,
    normal: Vec<(u32, u32)>,
    exceptional: Vec<(u32, u32)>,
    resume_points: Vec<u32>,
    /// What the function assigns, which says which conditions last.
    assignments: FunctionAssignments<'a>,
    /// What names hold at `at`, as far as that is known.
    pub(super) known: KnownNames<'a>,
    parameters: Vec<FlowParameter>,
    decisions: Vec<DraftDecision>,
    /// Where the next node goes on from; `None` behind a jump.
    pub(super) at: Option<u32>,
    /// Where an exception goes.
    pub(super) on_exception: u32,
    /// Whether there was a handler.
    pub(super) catches: bool,
    /// The names of what the handlers there are for.
    pub(super) caught: Vec<&'a str>,
    blocks: Vec<FlowBlock>,
    /// The line that an instruction gets that no expression of its own gives one: of the statement or expression being
    /// compiled, in Python up to 3.9.
    pub(super) here: u32,
    /// The same in Python 3.10 and 3.11, where a comparison in a condition leaves its own behind.
    pub(super) here_310: u32,
    /// Whether the condition of a `while` is being read.
    pub(super) is_while: bool,
    /// Whether annotations of plain names are evaluated: in modules and classes.
    pub(super) keeps_annotations: bool,
    pub(super) inlined: Option<usize>,
    /// How many comprehensions of this function are around.
    pub(super) n_inlined: u32,
    /// Keys, and the mappings that they are of.
    keys: HashSet<(DottedName<'a>, DottedName<'a>)>,
    /// Of expressions that were asked about, whether they are tensors, so that each part of a long one is looked at once.
    tensors: HashMap<TextRange, bool>,
    /// The same for plain values.
    plain: HashMap<TextRange, bool>,
}

/// A [`Decision`], before it is known whether there is another one like it.
struct DraftDecision {
    /// What is asked.
    asks: String,
    /// Which parameter it asks for, and with what that is compared, if it asks for one alone.
    of_parameter: Option<(usize, Option<Constant>)>,
    /// Whether a loop may come by it several times.
    is_in_loop: bool,
    holds: u32,
    fails: u32,
}

/// More conditions of a function than this are not looked at.
const MAX_CONDITIONS: usize = 16;

enum FlowBlock {
    Loop {
        on_break: u32,
        on_continue: u32,
        /// Where a `for` takes its elements from.
        iterable: Option<(Iterable, TextRange)>,
    },
    /// A `finally` or `with`: what leaves it passes by `entry` first.
    Finally { entry: u32, jumps: Vec<Jump> },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Jump {
    Break,
    Continue,
    Return,
}

/// A `finally` that is open, to be closed.
pub(super) struct OpenFinally {
    entry: u32,
    on_exception: u32,
}

impl<'t, 'a> FlowBuilder<'t, 'a> {
    /// The flow of a function; an empty one if there is no such function.
    /// `names` are those of the function and of all around it.
    pub(crate) fn build(
        scopes: &'t Scopes<'a>,
        lines: &'t LineIndex,
        names: &'t HashMap<usize, Bindings<'a>>,
        function: usize,
    ) -> Flow {
        let Some(&code) = scopes.codes.get(function) else { return Flow::empty(function) };
        let has_math = is_module(&resolve(scopes, names, function, "math"), "math");
        let mut builder = Self {
            scopes,
            lines,
            names,
            function,
            sites: Vec::new(),
            n_joins: 2,
            normal: Vec::new(),
            exceptional: Vec::new(),
            resume_points: Vec::new(),
            assignments: FunctionAssignments::of(code, has_math),
            known: KnownNames::default(),
            parameters: match code {
                ScopeCode::Def(def) => FlowParameter::all(&def.parameters),
                _ => Vec::new(),
            },
            decisions: Vec::new(),
            at: Some(ENTRY),
            on_exception: EXIT,
            catches: false,
            caught: Vec::new(),
            blocks: Vec::new(),
            here: 1,
            here_310: 1,
            is_while: false,
            keeps_annotations: matches!(code, ScopeCode::Module(_) | ScopeCode::Class(_)),
            inlined: None,
            n_inlined: 0,
            keys: HashSet::new(),
            tensors: HashMap::new(),
            plain: HashMap::new(),
        };
        match code {
            ScopeCode::Module(module) => builder.body(&module.body),
            ScopeCode::Class(class) => builder.body(&class.body),
            ScopeCode::Def(def) => builder.body(&def.body),
            ScopeCode::Lambda(lambda) => builder.expr(&lambda.body),
            ScopeCode::Comprehension(loops) => builder.steps(&loops),
        }
        builder.jump(Jump::Return);
        builder.finish(function)
    }

    fn finish(self, function: usize) -> Flow {
        let n_sites = self.sites.len() as u32;
        let node = |id: u32| if id & JOIN == 0 { id } else { n_sites + (id & !JOIN) };
        let rows = 2 * (n_sites + self.n_joins) as usize;
        let edges = || {
            let normal = self.normal.iter().map(|&(from, to)| (2 * node(from), node(to)));
            let raised = self.exceptional.iter().map(|&(from, to)| (2 * node(from) + 1, node(to)));
            normal.chain(raised)
        };
        // Sorted by counting: `starts[row]` is first the end of a row, and moves to its start as the row is filled.
        let mut starts = vec![0_u32; rows + 1];
        edges().for_each(|(row, _)| starts[row as usize] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut targets = vec![0; sum as usize];
        let all: Vec<_> = edges().collect();
        for &(row, target) in all.iter().rev() {
            starts[row as usize] -= 1;
            targets[starts[row as usize] as usize] = target;
        }
        let conditions = Conditions::of(&self.decisions);
        Flow {
            function,
            entry: node(ENTRY),
            exit: node(EXIT),
            decisions: conditions.decisions(&self.decisions, node),
            n_lasting: conditions.n_lasting,
            catches: self.catches,
            parameter_tests: conditions.parameter_tests(&self.decisions),
            parameters: self.parameters,
            resume_points: self.resume_points,
            starts,
            targets,
            identifiers: Arc::default(),
            sites: self.sites,
        }
    }

    /// What a name is bound to. Within a comprehension, its own variables come first.
    pub(super) fn binding(&self, name: &str) -> Binding {
        let scope = self.inlined.unwrap_or(self.function);
        resolve(self.scopes, self.names, scope, name)
    }

    /// Whether a name is imported.
    pub(super) fn is_imported(&self, name: &str) -> bool {
        let scope = self.inlined.unwrap_or(self.function);
        is_imported(self.scopes, self.names, scope, name)
    }

    /// The line of an offset.
    pub(super) fn line(&self, offset: TextSize) -> u32 {
        self.lines.line(offset.to_usize())
    }

    /// The line where something begins.
    pub(super) fn line_of(&self, node: &impl Ranged) -> u32 {
        self.line(node.start())
    }

    /// Adds a site.
    pub(super) fn site(&mut self, kind: SiteKind, lines: LinesByVersion, range: TextRange) -> u32 {
        let node = self.sites.len() as u32;
        let text = byte_range(range);
        let is_tried = raised_in_vain(&kind).iter().any(|it| self.caught.contains(it));
        let line = lines.of(12);
        if matches!(kind, SiteKind::Yield | SiteKind::Await) {
            self.resume_points.push(node);
        }
        self.sites.push(Site {
            line,
            kind,
            text,
            inlined: self.inlined,
            is_plain: false,
            is_of_tensor: false,
            goes_on: false,
            is_tried,
            iterable: Iterable::Other,
            lines,
            mentions: 0..0,
        });
        self.exceptional.push((node, self.on_exception));
        self.go_to(node);
        self.at = Some(node);
        node
    }

    /// Notes that the last site works on plain values, if all of `operands` are, on a tensor, if one of them is, and on what the site
    /// before it gives, if that is one of them.
    pub(super) fn works_on<'e>(&mut self, operands: impl IntoIterator<Item = &'e Expr>) {
        let before = self.sites.iter().rev().nth(1).filter(|it| it.kind.is_operator());
        let before = before.map(|it| it.text);
        let compares =
            |it: &Site| matches!(it.kind, SiteKind::Compare { .. } | SiteKind::TruthTest);
        let compares = self.sites.last().is_some_and(compares);
        let (mut is_plain, mut is_of_tensor, mut goes_on) = (true, false, false);
        let mut compares_sizes = false;
        for operand in operands {
            compares_sizes |= compares && is_size(operand);
            is_plain &= self.is_plain(operand);
            is_of_tensor |= self.is_tensor(operand);
            goes_on |= before == Some(byte_range(operand.range()));
        }
        if let Some(site) = self.sites.last_mut() {
            // The truth of a comparison is read where it stands.
            goes_on |= before == Some(site.text);
            (site.is_plain, site.is_of_tensor, site.goes_on) =
                (is_plain || compares_sizes, is_of_tensor, goes_on);
        }
    }

    /// What a name holds here. The variables of a comprehension are others.
    pub(super) fn known(&self, name: &str) -> Option<NameValue> {
        self.known.get(name).filter(|_| self.inlined.is_none())
    }

    /// What an expression evaluates to.
    pub(super) fn held(&mut self, expr: &Expr) -> Option<NameValue> {
        if self.is_tensor(expr) {
            return Some(NameValue::Tensor);
        }
        if self.is_of_numpy(expr) {
            return Some(NameValue::OfNumpy);
        }
        self.is_plain(expr).then_some(NameValue::Plain)
    }

    /// Notes what a target is assigned.
    pub(super) fn hold(&mut self, target: &'a Expr, held: Option<NameValue>) {
        guarded(|| match target {
            Expr::Name(it) if self.inlined.is_none() => {
                let is_shared = self.assignments.is_shared(&it.id);
                self.known.set(&it.id, held.filter(|_| !is_shared));
                self.keys.retain(|(_, (mapping, _))| *mapping != it.id.as_str());
            }
            Expr::Starred(it) => self.hold(&it.value, Some(NameValue::Plain)),
            Expr::Tuple(it) => it.elts.iter().for_each(|it| self.hold(it, held)),
            Expr::List(it) => it.elts.iter().for_each(|it| self.hold(it, held)),
            _ => {}
        });
    }

    /// Nothing is known from here on of the names that are bound in a part of the text.
    pub(super) fn forget_bound_in(&mut self, range: TextRange) {
        for name in self.assignments.bound_in(range) {
            self.known.set(name, None);
        }
    }

    /// Notes that `key` is one of `mapping`, because it is looked for in it, or because that holds by it what no tensor does.
    pub(super) fn note_key(&mut self, key: &'a Expr, mapping: &'a Expr) {
        self.keys.extend(dotted_name(key).zip(dotted_name(mapping)));
    }

    /// Whether `key` is one of `mapping`, so that this is no tensor, by that at least.
    pub(super) fn is_key(&self, key: &Expr, mapping: &Expr) -> bool {
        let both = || dotted_name(key).zip(dotted_name(mapping));
        !self.keys.is_empty() && both().is_some_and(|it| self.keys.contains(&it))
    }

    /// Whether an expression is a tensor for sure, as far as the text shows.
    pub(super) fn is_tensor(&mut self, expr: &Expr) -> bool {
        if let Some(known) = self.tensors.get(&expr.range()) {
            return *known;
        }
        let is_tensor = guarded(|| match expr {
            Expr::Name(it) => match (self.known(&it.id), self.binding(&it.id)) {
                (Some(held), _) => held == NameValue::Tensor,
                (None, Binding::Variable { values, .. }) => {
                    values.iter().any(AssignedValue::is_tensor)
                        && values.iter().all(|it| it.is_tensor() || *it == AssignedValue::Computed)
                }
                _ => false,
            },
            Expr::BinOp(it) => self.is_tensor(&it.left) || self.is_tensor(&it.right),
            Expr::If(it) => self.is_tensor(&it.body) && self.is_tensor(&it.orelse),
            Expr::UnaryOp(it) => it.op != UnaryOp::Not && self.is_tensor(&it.operand),
            Expr::Compare(it) => {
                it.ops.iter().all(|op| !is_of_objects(*op)) && self.is_tensor(&it.left)
            }
            Expr::Subscript(it) => self.is_tensor(&it.value),
            Expr::Call(it) => match &*it.func {
                Expr::Attribute(func) => {
                    let name = func.attr.as_str();
                    let module = func.value.as_name_expr().map(|it| self.binding(&it.id));
                    match module {
                        Some(Binding::Imported { name: module, .. }) if module == "torch" => {
                            gives_tensor(name)
                        }
                        Some(Binding::Imported { name: module, .. }) if module == "functional" => {
                            true
                        }
                        Some(Binding::Imported { .. }) => false,
                        _ => {
                            is_tensor_method(name)
                                || (!gives_value(name) && self.is_tensor(&func.value))
                        }
                    }
                }
                _ => false,
            },
            _ => false,
        });
        self.tensors.insert(expr.range(), is_tensor);
        is_tensor
    }

    /// Whether an expression is a number, a string or the like, as far as the text shows.
    pub(super) fn is_plain(&mut self, expr: &Expr) -> bool {
        if let Some(known) = self.plain.get(&expr.range()) {
            return *known;
        }
        let is_plain = guarded(|| match expr {
            Expr::Name(it) => match (self.known(&it.id), self.binding(&it.id)) {
                (Some(held), _) => held != NameValue::Tensor,
                (None, Binding::Variable { values, .. }) => {
                    !values.is_empty() && values.iter().all(AssignedValue::is_plain)
                }
                _ => false,
            },
            Expr::BinOp(it) => self.is_plain(&it.left) && self.is_plain(&it.right),
            Expr::If(it) => self.is_plain(&it.body) && self.is_plain(&it.orelse),
            Expr::UnaryOp(it) => self.is_plain(&it.operand),
            Expr::Compare(it) => {
                let mut operands = std::iter::once(&*it.left).chain(&it.comparators);
                operands.clone().any(is_size) || operands.all(|it| self.is_plain(it))
            }
            Expr::Attribute(it) => it.attr.as_str() == "ndim" || self.is_of_math(it),
            // Functions of `math` take and give numbers.
            Expr::Call(it) if it.func.as_attribute_expr().is_some_and(|it| self.is_of_math(it)) => {
                true
            }
            Expr::Subscript(it) if is_hyperparameter(it) => true,
            _ if is_sizes(expr) || self.is_of_numpy(expr) => true,
            _ => value_of(expr).is_plain(),
        });
        self.plain.insert(expr.range(), is_plain);
        is_plain
    }

    /// Notes that an expression gives a number, and so what it is computed from.
    pub(super) fn expect_plain(&mut self, expr: &'a Expr) {
        guarded(|| match expr {
            Expr::BinOp(it) => {
                self.expect_plain(&it.left);
                self.expect_plain(&it.right);
            }
            Expr::UnaryOp(it) => self.expect_plain(&it.operand),
            Expr::Name(it) if self.inlined.is_none() => self.known.learn(it, NameValue::Plain),
            _ => {}
        });
        if !self.is_tensor(expr) {
            self.plain.insert(expr.range(), true);
        }
    }

    /// Notes that what is assigned is a number, if its name is used as one.
    pub(super) fn expect_as_used(&mut self, it: &'a StmtAssign) {
        let is_number = |target: &Expr| {
            target.as_name_expr().is_some_and(|name| self.assignments.is_number(&name.id))
        };
        if it.targets.iter().any(is_number) {
            self.expect_plain(&it.value);
        }
    }

    /// Notes that what the last site gives, which is all of `expr`, is plain.
    pub(super) fn expect_last_plain(&mut self, expr: &Expr) {
        let text = byte_range(expr.range());
        if self.is_tensor(expr) {
            return;
        }
        if let Some(site) = self.sites.last_mut().filter(|it| it.text == text) {
            site.is_plain = true;
            self.plain.insert(expr.range(), true);
        }
    }

    /// Whether an attribute is one of the module `math`.
    pub(super) fn is_of_math(&self, it: &ExprAttribute) -> bool {
        it.value.as_name_expr().is_some_and(|it| is_module(&self.binding(&it.id), "math"))
    }

    /// Whether an expression is an array, a number or another object of NumPy, as far as the text shows: what its functions give, and
    /// what is computed from that without tensors.
    pub(super) fn is_of_numpy(&mut self, expr: &Expr) -> bool {
        guarded(|| match expr {
            Expr::BinOp(it) => self.gives_numpy(&it.left, &it.right),
            Expr::Compare(it) => match (&*it.ops, &*it.comparators) {
                ([op], [right]) => !is_of_objects(*op) && self.gives_numpy(&it.left, right),
                _ => false,
            },
            Expr::UnaryOp(it) => it.op != UnaryOp::Not && self.is_of_numpy(&it.operand),
            Expr::Name(it) => self.known(&it.id) == Some(NameValue::OfNumpy),
            Expr::Call(it) => it.func.as_attribute_expr().is_some_and(|it| {
                let module = name_and_attributes(&it.value).map(|(name, _)| name);
                module.is_some_and(|it| is_module(&self.binding(&it.id), "numpy"))
                    || self.is_of_numpy(&it.value)
            }),
            Expr::Subscript(it) => self.is_of_numpy(&it.value),
            _ => false,
        })
    }

    /// Whether an operator of these gives an object of NumPy.
    fn gives_numpy(&mut self, left: &Expr, right: &Expr) -> bool {
        (self.is_of_numpy(left) && self.is_plain(right))
            || (self.is_plain(left) && self.is_of_numpy(right))
    }

    /// Notes that the last `n` sites take the elements of `iterable`.
    pub(super) fn take_from(&mut self, n: usize, iterable: &Expr) {
        let iterable = self.iterable(iterable);
        let from = self.sites.len().saturating_sub(n);
        self.sites[from..].iter_mut().for_each(|site| site.iterable = iterable.clone());
    }

    fn iterable(&self, expr: &Expr) -> Iterable {
        match expr {
            Expr::Name(it) => Iterable::Name(self.binding(&it.id)),
            Expr::Attribute(it) if is_self(&it.value) => Iterable::OfSelf(it.attr.to_string()),
            Expr::Generator(it) => match self.scopes.number(it) {
                Some(function) => Iterable::Generator { function },
                None => Iterable::Other,
            },
            Expr::Call(it) if self.hands_on_built_in(it) => self.iterable(&it.arguments.args[0]),
            Expr::Call(it) => {
                let (name, is_method) = match &*it.func {
                    Expr::Name(it) => (it.id.as_str(), false),
                    Expr::Attribute(it) => (it.attr.as_str(), true),
                    _ => return Iterable::Other,
                };
                Iterable::Call {
                    name: name.to_owned(),
                    is_method,
                    has_arguments: !it.arguments.is_empty(),
                    lambda: it.arguments.args.iter().find_map(|it| match it {
                        Expr::Lambda(it) => self.scopes.number(it),
                        _ => None,
                    }),
                    first: match it.arguments.args.first() {
                        Some(Expr::Name(it)) => Some((it.id.to_string(), self.binding(&it.id))),
                        _ => None,
                    },
                }
            }
            _ => Iterable::Other,
        }
    }

    /// Whether a call makes an iterator that takes its elements from what leaves nothing alone: `chain(a.values(), b.values())`.
    fn hands_on_built_in(&self, call: &ExprCall) -> bool {
        let (args, keywords) = (&call.arguments.args, &call.arguments.keywords);
        let name = match &*call.func {
            Expr::Name(it) => &it.id,
            Expr::Attribute(it) => &it.attr.id,
            _ => return false,
        };
        takes_later(name)
            && !calls_for_each(name)
            && keywords.is_empty()
            && !args.is_empty()
            && args.iter().all(|it| it.is_call_expr() && self.iterable(it).is_built_in())
    }

    fn is_in_loop(&self) -> bool {
        self.blocks.iter().any(|it| matches!(it, FlowBlock::Loop { .. }))
    }

    /// The row of the parameter that a name is, where that is what was passed.
    pub(super) fn passed_parameter(&self, name: &ExprName) -> Option<usize> {
        let is_as_passed = self.assignments.is_as_passed(name, self.is_in_loop());
        is_as_passed.then(|| self.parameter(&name.id))?
    }

    /// The row of a parameter, unless it is one of `*args` or `**kwargs`.
    fn parameter(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|it| it.is_named(name))
    }

    /// Parts by `test` to `then` and `otherwise`.
    pub(super) fn part(&mut self, test: &Expr, then: u32, otherwise: u32) {
        // What `while` tests changes, or it would never end.
        let is_in_loop = self.is_in_loop();
        let lasting = if self.is_while { None } else { self.assignments.lasting(test, is_in_loop) };
        let Some(LastingTest { asks, is_contrary, of_parameter }) = lasting else {
            self.go_to(then);
            return self.go_to(otherwise);
        };
        let (yes, no) = (self.join(), self.join());
        self.go_to(yes);
        self.go_to(no);
        self.link(Some(yes), then);
        self.link(Some(no), otherwise);
        let (holds, fails) = if is_contrary { (no, yes) } else { (yes, no) };
        let of_parameter =
            of_parameter.and_then(|(name, constant)| Some((self.parameter(name)?, constant)));
        self.decisions.push(DraftDecision { asks, of_parameter, is_in_loop, holds, fails });
    }

    pub(super) fn join(&mut self) -> u32 {
        self.n_joins += 1;
        JOIN | (self.n_joins - 1)
    }

    /// Goes on at `node`, too.
    pub(super) fn go_to(&mut self, node: u32) {
        self.link(self.at, node);
    }

    pub(super) fn link(&mut self, from: Option<u32>, to: u32) {
        if let Some(from) = from {
            self.normal.push((from, to));
        }
    }

    /// Raises again what was caught.
    pub(super) fn raise_from(&mut self, from: Option<u32>) {
        if let Some(from) = from {
            self.exceptional.push((from, self.on_exception));
        }
    }

    /// Goes on where an exception leads alone.
    pub(super) fn go_on_unexpectedly(&mut self) {
        let join = self.join();
        self.exceptional.extend(self.at.map(|from| (from, join)));
        self.at = self.at.map(|_| join);
    }

    /// Where two ways meet.
    pub(super) fn merge(&mut self, one: Option<u32>, other: Option<u32>) -> Option<u32> {
        match (one, other) {
            (Some(one), Some(other)) if one != other => {
                let join = self.join();
                self.link(Some(one), join);
                self.link(Some(other), join);
                Some(join)
            }
            (one, other) => one.or(other),
        }
    }

    /// `iterable` is what a `for` takes its elements from.
    pub(super) fn open_loop(&mut self, on_break: u32, on_continue: u32, iterable: Option<&Expr>) {
        let iterable = iterable.map(|it| (self.iterable(it), it.range()));
        self.blocks.push(FlowBlock::Loop { on_break, on_continue, iterable });
    }

    /// Closes the iterators of the loops that `jump` leaves, on `line`.
    pub(super) fn close_iterators(&mut self, jump: Jump, line: u32) {
        let loops = self.blocks.iter().rev().filter_map(|block| match block {
            FlowBlock::Loop { iterable, .. } => Some(iterable.clone()),
            FlowBlock::Finally { .. } => None,
        });
        let left: Vec<_> = match jump {
            Jump::Continue => Vec::new(),
            Jump::Break => loops.take(1).flatten().collect(),
            Jump::Return => loops.flatten().collect(),
        };
        for (iterable, range) in left {
            self.site(SiteKind::Close, LinesByVersion::same(line), range);
            self.sites.last_mut().into_iter().for_each(|site| site.iterable = iterable.clone());
        }
    }

    pub(super) fn close_loop(&mut self) {
        self.blocks.pop();
    }

    /// Leaves what is around, by way of each `finally`.
    pub(super) fn jump(&mut self, jump: Jump) {
        let target = self.blocks.iter_mut().rev().find_map(|block| match block {
            FlowBlock::Finally { entry, jumps } => {
                if !jumps.contains(&jump) {
                    jumps.push(jump);
                }
                Some(*entry)
            }
            FlowBlock::Loop { on_break, on_continue, .. } => match jump {
                Jump::Break => Some(*on_break),
                Jump::Continue => Some(*on_continue),
                Jump::Return => None,
            },
        });
        self.go_to(target.unwrap_or(EXIT));
        self.at = None;
    }

    /// What follows is left by way of what [`Self::close_finally`] adds, however it is left.
    pub(super) fn open_finally(&mut self) -> OpenFinally {
        let entry = self.join();
        self.blocks.push(FlowBlock::Finally { entry, jumps: Vec::new() });
        OpenFinally { entry, on_exception: std::mem::replace(&mut self.on_exception, entry) }
    }

    /// Adds what is done on the way out. `swallows` if it may end an exception.
    pub(super) fn close_finally(
        &mut self,
        open: OpenFinally,
        swallows: bool,
        last: impl FnOnce(&mut Self),
    ) {
        let goes_on = self.at.is_some() || swallows;
        self.go_to(open.entry);
        self.on_exception = open.on_exception;
        let jumps = match self.blocks.pop() {
            Some(FlowBlock::Finally { jumps, .. }) => jumps,
            _ => Vec::new(),
        };
        self.at = Some(open.entry);
        last(self);
        let end = self.at;
        for jump in jumps {
            self.at = end;
            self.jump(jump);
        }
        self.raise_from(end);
        self.at = end.filter(|_| goes_on);
    }
}

/// The conditions of a function.
struct Conditions {
    /// What is asked, by number. First those that a frame may come by more than once, then those that ask for a parameter.
    asks: Vec<String>,
    n_lasting: u32,
}

impl Conditions {
    fn of(drafts: &[DraftDecision]) -> Self {
        let mut asks: Vec<String> = Vec::new();
        let mut take = |is_taken: &dyn Fn(usize, &DraftDecision) -> bool, max: usize| {
            for (row, draft) in drafts.iter().enumerate() {
                if asks.len() < max && !asks.contains(&draft.asks) && is_taken(row, draft) {
                    asks.push(draft.asks.clone());
                }
            }
            asks.len()
        };
        let is_again = |row: usize, draft: &DraftDecision| {
            draft.is_in_loop || drafts[row + 1..].iter().any(|it| it.asks == draft.asks)
        };
        let n_lasting = take(&is_again, MAX_CONDITIONS);
        take(&|_, draft| draft.of_parameter.is_some(), n_lasting + MAX_CONDITIONS);
        Self { asks, n_lasting: n_lasting as u32 }
    }

    fn number(&self, draft: &DraftDecision) -> Option<u32> {
        self.asks.iter().position(|it| *it == draft.asks).map(|it| it as u32)
    }

    fn decisions(&self, drafts: &[DraftDecision], node: impl Fn(u32) -> u32) -> Vec<Decision> {
        let kept = drafts.iter().filter_map(|it| Some((self.number(it)?, it)));
        let decision = |(condition, it): (u32, &DraftDecision)| Decision {
            condition,
            holds: node(it.holds),
            fails: node(it.fails),
        };
        kept.map(decision).collect()
    }

    /// What they ask of parameters, each once.
    fn parameter_tests(&self, drafts: &[DraftDecision]) -> Vec<ParameterTest> {
        let all = drafts.iter().filter_map(|it| {
            let (parameter, is) = it.of_parameter.clone()?;
            Some(ParameterTest { condition: self.number(it)?, parameter, is })
        });
        let mut tests: Vec<ParameterTest> = all.collect();
        tests.sort_by_key(|it| it.condition);
        tests.dedup_by_key(|it| it.condition);
        tests
    }
}

/// Whether a name that is bound so stands for a module.
fn is_module(binding: &Binding, module: &str) -> bool {
    matches!(binding, Binding::Imported { path, .. } if path == module)
}

/// A name, and the attributes behind it, the last first: `x.y.z`.
type DottedName<'e> = (&'e str, Vec<&'e str>);

fn dotted_name(expr: &Expr) -> Option<DottedName<'_>> {
    name_and_attributes(expr).map(|(name, attributes)| (name.id.as_str(), attributes))
}

fn byte_range(range: TextRange) -> ByteRange {
    ByteRange { start: range.start().to_u32(), end: range.end().to_u32() }
}

/// What is raised where an expression finds nothing: a handler of that in the same `try` says that this is expected.
fn raised_in_vain(kind: &SiteKind) -> &'static [&'static str] {
    match kind {
        SiteKind::Call { callee, .. } => match callee.name() {
            Some("getattr") => &["AttributeError"],
            Some("next" | "send") => &["StopIteration"],
            Some("index") => &["ValueError"],
            Some("remove") => &["ValueError", "KeyError"],
            Some("pop" | "popleft" | "popitem") => &["KeyError", "IndexError", "LookupError"],
            Some("import_module") => &["ImportError", "ModuleNotFoundError"],
            _ => &[],
        },
        SiteKind::Attribute { access: Access::Load, .. } => &["AttributeError"],
        SiteKind::Subscript { access: Access::Load, .. } => {
            &["KeyError", "IndexError", "LookupError"]
        }
        SiteKind::Import(_) => &["ImportError", "ModuleNotFoundError"],
        _ => &[],
    }
}
