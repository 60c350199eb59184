//! What of a function can leave a trace, in the order in which Python comes by it.
//!
//! A recording shows the events of a frame one after another: Python calls, built-ins, operators of tensors. Each stems
//! from an expression, and which may follow which is the function's control flow. A [`Flow`] is that: a graph whose
//! nodes are the places that can leave an event ([`Site`]), so that recorded events are aligned with a path through it.
//!
//! # Evaluation order
//! As CPython's compiler emits it: the callee, its arguments from left to right, keyword arguments, then the call; the
//! value, then the targets; of `a[i] = v`, `v`, `a`, `i`, then the store (up to Python 3.8, `*` and `**` arguments are
//! unpacked together, at the end; here each in its place). `and`, `or`, `not` and conditional
//! expressions are branches, with a [`SiteKind::TruthTest`] on each operand that is tested. Up to Python 3.11 the
//! test of `a and b` in `(a and b) or c` is not done again where `a` has decided it; from 3.12 on it is: the graph has
//! both ways. Constant conditions (`while True`) have one way only, and constant operands no site.
//!
//! # Deliberate inexactness
//! - The body of a `finally`, and the `__exit__` of a `with`, is there once, not once per way of leaving: it goes on to
//!   wherever any of them would. A path may thus enter it by `return` and go on behind it.
//! - Any site can raise. That edge ([`EdgeKind::Exception`]) leads to the handlers around it, else to the exit.
//! - A list, set or dict comprehension is a frame of its own up to Python 3.11 and part of its function from 3.12 on.
//!   The flow has both readings as branches: [`SiteKind::Comprehension`], and the comprehension's own sites, which say
//!   so ([`Site::inlined`]).
//!
//! # Lines
//! The line of a site is the one that a frame shows (`f_lineno`) while the site's instruction runs. It differs between
//! versions of Python ([`Site::line_in`]); `tests/flow.rs` holds this table against recordings of Python 3.8 to 3.13:
//!
//! | site | line |
//! |---|---|
//! | call, operator, subscript, comparison | where the whole expression begins (`a` of `a\n+ b`; the callee, not the bracket or the last argument) |
//! | attribute | of the attribute's name; up to 3.9 where the expression begins |
//! | method call | of the method's name; up to 3.9, in 3.10 with keyword arguments, and always with `*` or `**`, where the expression begins |
//! | truth test of a condition | where the tested operand begins; up to 3.11 of the statement (or conditional expression), but in 3.10 and 3.11 of the comparison where one is or was tested |
//! | truth test of `and`, `or`, `not` as values | where the expression begins |
//! | `for`: iterator and each step | of the `for`; from 3.13 where the iterable begins |
//! | comprehension: iterator, each step | of the bracket; from 3.13 where the iterable begins (up to 3.9 also that of a second `for`) |
//! | comprehension: condition | where it begins; in 3.10 and 3.11 of the bracket |
//! | `with`: enter, exit | of the `with`; from 3.13 of the item; the exit up to 3.9 of the last line that ran (here: the last of the body) |
//! | formatting of an f-string's part | of the brace; up to 3.11 where the string begins |
//! | decorator being applied | of the decorator; up to 3.10 of the `def` or `class` |
//! | class body being run | of the `class` |
//! | unpacking into targets | where the targets begin |
//! | guard of a `case` | as a condition; in 3.10 and 3.11 of the innermost pattern tried last |

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use crate::LineIndex;
pub use crate::semantic::Binding;

pub(crate) mod builder;
mod constants;
mod expressions;
mod identifiers;
mod known_names;
mod lasting;
mod lines;
pub(crate) mod mentions;
mod statements;

pub use constants::{CallArguments, KnownValue};
use constants::{FlowParameter, ParameterTest};
use identifiers::Identifiers;
pub use identifiers::Mentions;
use lines::LinesByVersion;

/// The cost of a way that there is not, in [`ShortestPaths`].
pub const UNREACHABLE: u32 = u32::MAX;
/// The cost of a site that no path may pass over, for [`Flow::shortest_paths`].
pub const IMPASSABLE: u16 = u16::MAX;

/// The sites of a function and the ways between them.
///
/// Nodes are numbered from 0: first the sites, in evaluation order as the source has it, then *joins*, where ways part
/// or meet and nothing happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Whose flow it is, as an index into [`crate::Module::functions`].
    pub function: usize,
    /// What can leave an event; node `i` is `sites[i]`.
    pub sites: Vec<Site>,
    /// The node where the function begins: a join.
    pub entry: u32,
    /// The node where it ends, in whatever way: a join.
    pub exit: u32,
    /// The sites at which the frame is left and entered again: each `yield` and `await`. Recorded frames of a resumed
    /// generator or coroutine begin at one of these, that is, go on behind it.
    pub resume_points: Vec<u32>,
    /// Where the flow parts by a condition that is decided alike in all of a frame, as far as the text shows.
    pub decisions: Vec<Decision>,
    /// How many of these conditions there are that a frame may come by more than once: those with the lowest numbers. The others ask
    /// for a parameter.
    pub n_lasting: u32,
    /// Whether it has an `except`, so that what a call of it raises may stay within it.
    pub catches: bool,
    /// What conditions ask of a parameter that is what was passed.
    parameter_tests: Vec<ParameterTest>,
    /// Those that are no `*args` or `**kwargs`, those by name alone last.
    parameters: Vec<FlowParameter>,
    /// Where in `targets` the edges of a node begin: at `2 * node` the normal ones, at `2 * node + 1` the exceptional.
    starts: Vec<u32>,
    targets: Vec<u32>,
    /// The names that stand in the sites.
    identifiers: Arc<Identifiers>,
}

/// Where the flow parts by a condition that is decided alike in all of a frame: `mask is not None` for a parameter that
/// is never assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Which condition; those that ask the same have the same number, counted from 0.
    pub condition: u32,
    /// The join by which it goes on if the condition holds; by no other way it is reached.
    pub holds: u32,
    /// The same if it does not hold.
    pub fails: u32,
}

/// How an edge is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EdgeKind {
    /// The ordinary way on.
    Normal,
    /// Because something raised.
    Exception,
}

impl Flow {
    pub(crate) fn empty(function: usize) -> Self {
        Self {
            function,
            sites: Vec::new(),
            entry: 0,
            exit: 1,
            resume_points: Vec::new(),
            decisions: Vec::new(),
            n_lasting: 0,
            catches: false,
            parameter_tests: Vec::new(),
            parameters: Vec::new(),
            starts: vec![0, 1, 1, 1, 1],
            targets: vec![1],
            identifiers: Arc::default(),
        }
    }

    /// Whether there are conditions that ask for a parameter alone.
    #[must_use]
    pub fn asks_for_parameters(&self) -> bool {
        !self.parameter_tests.is_empty()
    }

    /// The conditions that a call decides by what it passes, and whether they hold. `is_bound`: Python itself passes the first
    /// parameter, as to a method. `of_caller` says what the calling function was passed for a parameter, by its row.
    pub fn decided_by(
        &self,
        call: &CallArguments,
        is_bound: bool,
        of_caller: impl Fn(usize) -> Option<KnownValue>,
    ) -> impl Iterator<Item = (u32, bool)> {
        self.parameter_tests.iter().filter_map(move |test| {
            let value = self.passed_by(call, test.parameter, is_bound, &of_caller)?;
            Some((test.condition, test.holds_for(&value)?))
        })
    }

    /// What a call passes for the parameter in row `parameter`, as far as that is known; the others as for [`Self::decided_by`].
    #[must_use]
    pub fn passed_by(
        &self,
        call: &CallArguments,
        parameter: usize,
        is_bound: bool,
        of_caller: impl Fn(usize) -> Option<KnownValue>,
    ) -> Option<KnownValue> {
        call.value_of(&self.parameters, parameter, is_bound, of_caller)
    }

    /// Number of nodes: sites and joins.
    #[must_use]
    pub fn n_nodes(&self) -> u32 {
        (self.starts.len() / 2) as u32
    }

    /// The site of a node; `None` for a join.
    #[must_use]
    pub fn site(&self, node: u32) -> Option<&Site> {
        self.sites.get(node as usize)
    }

    /// The names in the expression of a site of this flow.
    #[must_use]
    pub fn mentions(&self, site: &Site) -> Mentions<'_> {
        Mentions::new(&self.identifiers, &site.mentions)
    }

    /// Where it goes on normally after a node. Empty if nowhere, or if there is no such node.
    #[must_use]
    pub fn next(&self, node: u32) -> &[u32] {
        self.targets_of(2 * node as usize)
    }

    /// Where it goes on if a node raises.
    #[must_use]
    pub fn on_exception(&self, node: u32) -> &[u32] {
        self.targets_of(2 * node as usize + 1)
    }

    /// All ways on from a node, the normal ones first.
    pub fn edges(&self, node: u32) -> impl Iterator<Item = (u32, EdgeKind)> {
        let normal = self.next(node).iter().map(|&target| (target, EdgeKind::Normal));
        normal.chain(self.on_exception(node).iter().map(|&target| (target, EdgeKind::Exception)))
    }

    fn targets_of(&self, row: usize) -> &[u32] {
        match (self.starts.get(row), self.starts.get(row + 1)) {
            (Some(&start), Some(&end)) => &self.targets[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The shortest paths from `from` to every node: what the sites cost that they skip, the two ends excluded.
    ///
    /// `cost` is what it costs to pass over each site, [`IMPASSABLE`] if it cannot be (missing ones too), and
    /// `edge_cost` what it costs to take an edge from one node to another, [`UNREACHABLE`] if it cannot be. Takes
    /// O(n log n) for a function of n nodes.
    #[must_use]
    pub fn shortest_paths(
        &self,
        from: u32,
        cost: &[u16],
        edge_cost: impl Fn(u32, u32, EdgeKind) -> u32,
    ) -> ShortestPaths {
        let n = self.n_nodes() as usize;
        let from = from.min(self.exit);
        let mut paths = ShortestPaths { from, cost: vec![UNREACHABLE; n], before: vec![from; n] };
        let mut queue = BinaryHeap::new();
        let mut relax = |queue: &mut BinaryHeap<_>, node: u32, so_far: u32| {
            for (target, kind) in self.edges(node) {
                let distance = so_far.saturating_add(edge_cost(node, target, kind));
                if distance < paths.cost[target as usize] {
                    paths.cost[target as usize] = distance;
                    paths.before[target as usize] = node;
                    queue.push(Reverse((distance, target)));
                }
            }
        };
        relax(&mut queue, from, 0);
        let mut done = vec![false; n];
        while let Some(Reverse((distance, node))) = queue.pop() {
            if std::mem::replace(&mut done[node as usize], true) {
                continue;
            }
            let passing = match self.site(node) {
                None => 0,
                Some(_) => match cost.get(node as usize) {
                    None | Some(&IMPASSABLE) => continue,
                    Some(&cost) => u32::from(cost),
                },
            };
            relax(&mut queue, node, distance.saturating_add(passing));
        }
        paths
    }
}

/// The shortest paths from one node to every node ([`Flow::shortest_paths`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortestPaths {
    from: u32,
    cost: Vec<u32>,
    /// The node before each on its way.
    before: Vec<u32>,
}

impl ShortestPaths {
    /// What the way to `node` costs; [`UNREACHABLE`] without one. 0 means that the node can follow directly. For the
    /// node where the paths begin it is what it costs to come by again (`UNREACHABLE` outside of loops).
    #[must_use]
    pub fn cost(&self, node: u32) -> u32 {
        self.cost.get(node as usize).copied().unwrap_or(UNREACHABLE)
    }

    /// Adds the edges of the way to `node`, last first; none without a way.
    pub fn edges(&self, node: u32, edges: &mut Vec<(u32, u32)>) {
        if self.cost(node) == UNREACHABLE {
            return;
        }
        let mut to = node;
        loop {
            let from = self.before[to as usize];
            edges.push((from, to));
            if from == self.from {
                return;
            }
            to = from;
        }
    }
}

/// An expression, or a part of one, that can leave an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The line that a frame shows while it happens, in Python 3.12; for others [`Self::line_in`].
    pub line: u32,
    /// What happens.
    pub kind: SiteKind,
    /// The expression, in the text.
    pub text: ByteRange,
    /// If it belongs to a comprehension and stands here because Python 3.12 and later run it within the function around
    /// it: the innermost such comprehension, as an index into [`crate::Module::functions`].
    pub inlined: Option<usize>,
    /// Of an operator or comparison: whether it is on numbers, strings and the like, as far as the text shows, so that it
    /// leaves nothing.
    pub is_plain: bool,
    /// Of an operator, comparison or test of truth: whether it is on a tensor, as far as the text shows, so that it leaves
    /// an event.
    pub is_of_tensor: bool,
    /// Of an operator, comparison or test of truth: whether it works on what the operator or comparison gives that is the site before it.
    pub goes_on: bool,
    /// Whether it stands in a `try` with a handler of what it raises where it finds nothing: `KeyError` of a subscript, `StopIteration`
    /// of `next`.
    pub is_tried: bool,
    /// Of an [`SiteKind::Iterate`], [`SiteKind::Close`], [`SiteKind::Unpack`], [`SiteKind::Spread`] by `*` or [`SiteKind::Subscript`]: what the
    /// elements are taken from.
    pub iterable: Iterable,
    lines: LinesByVersion,
    /// The names in the expression, as rows of those of the flow.
    mentions: Range<u32>,
}

impl Site {
    /// The line that a frame of Python 3.`minor` shows while it happens.
    #[must_use]
    pub fn line_in(&self, minor: u8) -> u32 {
        self.lines.of(minor)
    }
}

impl SiteKind {
    /// Whether it is an operator or a comparison that gives a tensor where it works on one.
    fn is_operator(&self) -> bool {
        match self {
            Self::Operator { .. } | Self::Unary(_) => true,
            Self::Compare { op, .. } => !matches!(op, CompareOp::In | CompareOp::NotIn),
            _ => false,
        }
    }
}

/// A range of byte offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ByteRange {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

impl ByteRange {
    /// The range at the same lines and columns of another text of as many lines.
    pub(crate) fn carried(self, from: &LineIndex, to: &LineIndex) -> Self {
        let carry = |offset: u32| {
            let line = from.line(offset as usize);
            let start = from.line_range(line).unwrap_or_default().start;
            let range = to.line_range(line).unwrap_or_default();
            (range.start + (offset as usize - start)).min(range.end) as u32
        };
        Self { start: carry(self.start), end: carry(self.end) }
    }
}

/// What happens at a [`Site`]. Functions are indices into [`crate::Module::functions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteKind {
    /// A call.
    Call {
        /// What is called.
        callee: Callee,
        /// Number of positional arguments, `*` arguments included.
        positional: u32,
        /// Number of keyword arguments, `**` arguments included.
        keywords: u32,
        /// What is passed, as far as the text says.
        arguments: CallArguments,
        /// The lambdas and generator expressions among the arguments, and among those of a `map` or `filter` there: they
        /// probably run during the call. Those of `map` and `filter` themselves run when their elements are taken.
        passes: Vec<usize>,
    },
    /// A binary operator.
    Operator {
        /// Which.
        op: BinaryOp,
        /// Whether it is an augmented assignment (`+=`).
        in_place: bool,
    },
    /// `-`, `+` or `~`.
    Unary(UnaryOp),
    /// One comparison, of a chain of them maybe. `is` leaves nothing.
    Compare {
        /// Which.
        op: CompareOp,
        /// Whether a number or string stands on the left.
        left_is_literal: bool,
        /// Whether what stands on the left may be hashed: `in` what may be a `dict` or a `set`.
        may_hash: bool,
    },
    /// `a[i]`.
    Subscript {
        /// Whether it is read, written or deleted.
        access: Access,
        /// What stands in the brackets.
        index: Index,
    },
    /// One more part of the brackets of a subscript by several dimensions: `x[:, 0, 1:]` selects, then slices.
    Dimension {
        /// What stands in the brackets.
        index: Index,
    },
    /// `a.name`: a property, or `__getattr__` and its like (`nn.Module`).
    Attribute {
        /// The name.
        name: String,
        /// Whether it is read, written or deleted.
        access: Access,
        /// The last name of what has the attribute: `b` of `a.b.name`; `None` for what has no name.
        owner: Option<String>,
        /// Whether what has the attribute is a name that is imported: a module, mostly.
        is_of_import: bool,
        /// Whether the expression begins with `self`, as `self.layers[0].name` does.
        is_of_self: bool,
        /// Whether it is what a call calls.
        is_called: bool,
    },
    /// Whether a value is true. Not after `is`, `in` and `not`, which give a `bool`.
    TruthTest,
    /// A `for`, a comprehension or `yield from`.
    Iterate(Iteration),
    /// A `break` or `return` leaves a `for`, which closes the generator that it takes its elements from.
    Close,
    /// Several targets assigned from one value.
    Unpack {
        /// Number of targets.
        n: u32,
    },
    /// What goes into a set or becomes a key is hashed: of a display all that is not constant, of a comprehension each time.
    Hash,
    /// `*` (`mapping`: `**`) in a call or display.
    Spread {
        /// Whether it is `**`.
        mapping: bool,
    },
    /// `__enter__` or `__aenter__`.
    Enter,
    /// `__exit__` or `__aexit__`.
    Exit,
    /// A list, set or dict comprehension run as a function, as up to Python 3.11.
    Comprehension {
        /// The comprehension.
        function: usize,
    },
    /// A generator expression being made; it runs later.
    Generator {
        /// The generator expression.
        function: usize,
    },
    /// Formatting of a value in an f-string.
    Format,
    /// A decorator being called with what it decorates.
    Decorate {
        /// The function or class decorated.
        function: usize,
    },
    /// A class body being run, and its metaclass called.
    ClassDef {
        /// The class.
        function: usize,
    },
    /// An import, which may run modules.
    Import(ImportForm),
    /// `yield`; the frame is left, and entered again.
    Yield,
    /// `await`, also that of `async for` and `async with`: a coroutine runs, the frame may be left and entered again.
    Await,
    /// `raise`, and that of a failed `assert`.
    Raise,
}

/// How an import is written, which decides what of `importlib` it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportForm {
    /// `import module`.
    Module,
    /// `from module import name`.
    Names,
    /// `from .module import name`: the package is looked up first.
    RelativeNames,
}

/// What stands in the brackets of a subscript, and before them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Index {
    /// Number of slices that are not all of a dimension.
    pub slices: u32,
    /// Number of `None`s: new dimensions of a tensor.
    pub new_axes: u32,
    /// Number of other parts: numbers, masks, index tensors.
    pub indices: u32,
    /// Whether it is that of a size, a list, a dict or another plain container (`x.shape[…]`, `args[…]`), whatever stands in the brackets.
    pub is_of_plain: bool,
    /// Whether a number or string stands there alone.
    pub is_literal: bool,
    /// Whether something stands there alone that is a number or the like, as far as the text shows: a loop counter.
    pub is_number: bool,
    /// Whether something stands there alone that is a tensor of more than one element, as far as the text shows.
    pub is_tensor: bool,
    /// Whether a list, an array or the like stands there, as far as the text shows: a tensor is made of it first.
    pub is_of_arrays: bool,
    /// Whether several parts stand there of which one is a slice, `...` or `None`: only tensors and arrays have dimensions.
    pub has_dimensions: bool,
}

impl Index {
    /// How many operators reading a tensor's subscript runs at most: one for each slice, number and `None`.
    #[must_use]
    pub fn n_operators(&self) -> u32 {
        self.slices + self.new_axes + self.indices
    }
}

/// What a `for`, a comprehension, `yield from`, an unpacking or a subscript takes elements from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Iterable {
    /// Any other expression.
    #[default]
    Other,
    /// A name.
    Name(Binding),
    /// `self.name`.
    OfSelf(String),
    /// A generator expression, as an index into [`crate::Module::functions`].
    Generator {
        /// Which.
        function: usize,
    },
    /// The result of a call.
    Call {
        /// The function's or method's name.
        name: String,
        /// Whether it is called as an attribute.
        is_method: bool,
        /// Whether it has arguments.
        has_arguments: bool,
        /// The lambda that is one of them, if one is, as an index into [`crate::Module::functions`].
        lambda: Option<usize>,
        /// The first argument, if that is a name, with what that is: `map` and `filter` call it.
        first: Option<(String, Binding)>,
    },
}

impl Iterable {
    /// Whether it is a call that gives something whose iteration leaves nothing: a range, or a view of a dictionary.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        match self {
            Self::Call { name, is_method: false, .. } => name == "range",
            Self::Call { name, has_arguments: false, .. } => {
                matches!(name.as_str(), "items" | "values" | "keys")
            }
            _ => false,
        }
    }
}

/// Whether a built-in type of this name calls a function for each element when that is taken.
#[must_use]
pub fn calls_for_each(name: &str) -> bool {
    matches!(name, "map" | "filter")
}

/// Whether what a name like this makes takes the elements that it is given when its own are asked for: a built-in type, or one of
/// `itertools`.
#[must_use]
pub fn takes_later(name: &str) -> bool {
    calls_for_each(name) || matches!(name, "zip" | "enumerate") || is_of_itertools(name)
}

/// Whether `itertools` has an iterator of this name over what others yield.
#[must_use]
pub fn is_of_itertools(name: &str) -> bool {
    matches!(
        name,
        "chain"
            | "from_iterable"
            | "islice"
            | "takewhile"
            | "dropwhile"
            | "starmap"
            | "zip_longest"
            | "filterfalse"
            | "accumulate"
            | "pairwise"
    )
}

/// What a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callee {
    /// The names from left to right: `["self", "attn"]`. Parts that have none: `()` for the result of a call, `[]` of a
    /// subscript, `''` for a string, `?` for any other expression (and what a chain of more than 32 parts begins with). `self.layers[i](x)` is `["self", "layers", "[]"]`.
    pub path: Vec<String>,
    /// Whether it is a method of `super()`.
    pub is_super: bool,
    /// Whether the callee is an attribute: a method, or a function of a module.
    pub is_method: bool,
    /// What the first of the names is bound to.
    pub binding: Binding,
}

impl Callee {
    /// The name called: a function's or the last attribute's; `None` if what is called has no name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.path
            .last()
            .map(String::as_str)
            .filter(|name| !matches!(*name, "()" | "[]" | "''" | "?"))
    }
}

/// Whether something is read, written or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read.
    Load,
    /// Written.
    Store,
    /// Deleted.
    Delete,
}

/// A part of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Iteration {
    /// `iter(x)`.
    Start,
    /// `next(it)`, the one that ends it too.
    Next,
}

macro_rules! operators {
    ($(#[$doc:meta])* $name:ident: $($(#[$variant_doc:meta])* $variant:ident $symbol:literal,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = concat!("`", $symbol, "`.")] $variant,)*
        }

        impl $name {
            /// How it is written.
            #[must_use]
            pub fn symbol(self) -> &'static str {
                match self {
                    $(Self::$variant => $symbol,)*
                }
            }
        }
    };
}

operators! {
    /// A binary operator.
    BinaryOp:
    Add "+", Sub "-", Mul "*", MatMul "@", Div "/", Mod "%", Pow "**", LShift "<<", RShift ">>", Or "|", Xor "^",
    And "&", FloorDiv "//",
}

operators! {
    /// A unary operator that is not `not`.
    UnaryOp: Invert "~", Plus "+", Minus "-",
}

operators! {
    /// A comparison that can leave an event.
    CompareOp: Eq "==", NotEq "!=", Lt "<", LtE "<=", Gt ">", GtE ">=", In "in", NotIn "not in",
}
