//! What an expression is likely to leave in a recording: names first, then the conventions of Python and PyTorch.
//!
//! Costs are in the units of [`learn::UNITS`](super::learn::UNITS): 0 is what one expects, 4 is e times less likely.

use pysource::flow::{Access, BinaryOp, Callee, CompareOp, Flow, Iteration, SiteKind, UnaryOp};

use super::keys::Key;

/// Cost of not reaching the end of the function: an exception, or the end of the recording.
pub(crate) const NOT_RETURNED: u32 = 16;

/// Cost of going on in a handler, or out of the function, because something raised.
pub(crate) const RAISED: u32 = 16;

/// Cost of an event on the one line that it is known to come from, whatever stands there.
pub(crate) const KNOWN_LINE: u32 = 8;

/// What torch and the standard library call the functions that they wrap others in.
const WRAPPERS: [&str; 22] = [
    "wrapper",
    "inner",
    "_fn",
    "wrapped",
    "wrap",
    "_wrapped",
    "wrapper_fn",
    "wrapped_fn",
    "new_func",
    "newfunc",
    "decorate",
    "decorated",
    "decorate_context",
    "decorate_autocast",
    "decorate_fwd",
    "decorate_bwd",
    "_wrapper",
    "inner_fn",
    "fn",
    "func",
    "compile_wrapper",
    "profile_hook_step",
];

/// A site, with what its text tells beyond its kind.
pub(crate) struct Expression<'a> {
    pub(crate) kind: &'a SiteKind,
    text: &'a str,
    /// The generator expression that is made just before and that this site is the first to take elements from.
    takes: Option<usize>,
    /// What the brackets of a subscript hold.
    subscript: Subscript,
    /// Whether it is an attribute of `self`.
    is_of_self: bool,
}

/// What the brackets of a subscript hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Subscript {
    /// Slices that are not all of a dimension.
    n_slices: u32,
    /// `None`s.
    n_new: u32,
    /// Numbers, masks, index tensors.
    n_indices: u32,
    /// Whether it is a size or another plain sequence, whatever stands in the brackets.
    is_plain: bool,
}

/// The sites of `flow`, a flow of `text`, with what the text tells.
pub(crate) fn expressions<'a>(flow: &'a Flow, text: &'a str) -> Vec<Expression<'a>> {
    let sites = flow.sites.iter().enumerate();
    sites
        .map(|(at, site)| {
            let text = text.get(site.text.start as usize..site.text.end as usize).unwrap_or("");
            let before = flow.sites[..at].iter().rev().take(3);
            let takes =
                before.filter(|it| it.inlined == site.inlined).find_map(|it| match it.kind {
                    SiteKind::Generator { function } => Some(function),
                    _ => None,
                });
            let subscript = match site.kind {
                SiteKind::Subscript { .. } => Subscript::parse(text),
                _ => Subscript::default(),
            };
            Expression {
                kind: &site.kind,
                text,
                takes,
                subscript,
                is_of_self: text.starts_with("self."),
            }
        })
        .collect()
}

impl Subscript {
    fn parse(text: &str) -> Self {
        let Some((base, inside)) = split_subscript(text) else { return Self::default() };
        let is_plain = [".shape", ".size()", ".stride()", "args", "kwargs", "__dict__"]
            .iter()
            .any(|it| base.ends_with(it));
        let mut subscript = Self { is_plain, ..Self::default() };
        for part in top_level_parts(inside) {
            match part.trim() {
                "" | ":" | "..." | "::" => {}
                "None" => subscript.n_new += 1,
                part if top_level_colon(part) => subscript.n_slices += 1,
                _ => subscript.n_indices += 1,
            }
        }
        subscript
    }

    /// How many operators reading it runs at most, if it is a tensor's.
    fn n_operators(self) -> u32 {
        self.n_slices + self.n_new + self.n_indices
    }
}

/// The value and the inside of the last brackets of `a[i]`.
fn split_subscript(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_suffix(']')?;
    let mut depth = 0;
    for (at, byte) in inner.bytes().enumerate().rev() {
        match byte {
            b']' | b')' | b'}' => depth += 1,
            b'[' if depth == 0 => return Some((&inner[..at], &inner[at + 1..])),
            b'[' | b'(' | b'{' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The parts between commas that are in no brackets.
fn top_level_parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |it: char| {
        depth +=
            i32::from(matches!(it, '[' | '(' | '{')) - i32::from(matches!(it, ']' | ')' | '}'));
        it == ',' && depth == 0
    })
}

fn top_level_colon(text: &str) -> bool {
    let mut depth = 0;
    text.chars().any(|it| {
        depth +=
            i32::from(matches!(it, '[' | '(' | '{')) - i32::from(matches!(it, ']' | ')' | '}'));
        it == ':' && depth == 0
    })
}

/// The cost of `key` at a site, or `None` if it cannot come from there.
pub(crate) fn emission(site: &Expression<'_>, key: &Key) -> Option<u32> {
    match key {
        Key::Function { is_generator: true, name, .. } => generator(site, name),
        Key::Function { name, class, function, is_decorated, .. } => {
            called(site, name, class.as_deref(), *function, *is_decorated)
        }
        Key::Module { .. } => module(site.kind),
        Key::Builtin { name } => builtin(site.kind, name),
        Key::Operator { name } => operator(site, name),
    }
}

/// A generator function runs where its elements are taken, which mostly is around the call that made it.
fn generator(site: &Expression<'_>, name: &str) -> Option<u32> {
    let is_named = site.text.contains(name);
    match site.kind {
        SiteKind::Iterate(Iteration::Next) => {
            Some(match (is_named, site.text.starts_with("range(")) {
                (true, _) => 0,
                (false, true) => 20,
                (false, false) => 3,
            })
        }
        SiteKind::Unpack { .. } | SiteKind::Spread { .. } => Some(if is_named { 0 } else { 4 }),
        SiteKind::Call { callee, .. } => match callee.name() {
            Some("next" | "send") => Some(1),
            Some(called)
                if is_type_call(called)
                    || ["sum", "max", "min", "any", "all", "sorted"].contains(&called) =>
            {
                Some(if is_named { 0 } else { 4 })
            }
            Some(called) if called == name => Some(6),
            _ => Some(12),
        },
        SiteKind::Enter | SiteKind::Exit | SiteKind::Await => Some(6),
        _ => None,
    }
}

/// The cost of a site that leaves nothing, before anything was learned.
pub(crate) fn silence(site: &Expression<'_>) -> u16 {
    match site.kind {
        SiteKind::Subscript { .. } if site.subscript.is_plain => 0,
        // Types are called without an event.
        SiteKind::Call { callee, .. } if callee.name().is_some_and(is_type_call) => 0,
        SiteKind::Call { .. } => 6,
        SiteKind::Comprehension { .. } => 8,
        SiteKind::Operator { .. } | SiteKind::Compare(_) => 2,
        SiteKind::Enter | SiteKind::Exit => 3,
        SiteKind::Unary(_) | SiteKind::Subscript { .. } | SiteKind::TruthTest => 1,
        _ => 0,
    }
}

/// The cost of one more event, right after one from the same site.
pub(crate) fn again(site: &Expression<'_>, key: &Key) -> u32 {
    match (site.kind, key) {
        (_, Key::Function { is_generator: true, .. }) => 0,
        // `x[:, 0]` slices and selects.
        (SiteKind::Subscript { access: Access::Load }, Key::Operator { .. }) => {
            if site.subscript.n_operators() > 1 { 0 } else { 8 }
        }
        (
            SiteKind::Subscript { .. } | SiteKind::Iterate(_) | SiteKind::Unpack { .. },
            Key::Operator { .. },
        ) => 0,
        (_, Key::Function { name, .. }) if name == "<genexpr>" => 0,
        // A class is called: `__new__`, then `__init__`.
        (SiteKind::Call { .. }, Key::Function { name, .. })
            if matches!(name.as_str(), "__init__" | "__post_init__") =>
        {
            0
        }
        (SiteKind::Unpack { .. } | SiteKind::Iterate(_), Key::Function { .. }) => 1,
        (SiteKind::Format | SiteKind::Import | SiteKind::TruthTest | SiteKind::Compare(_), _) => 2,
        (SiteKind::Operator { .. } | SiteKind::Unary(_), _) => 6,
        _ => 14,
    }
}

fn is_type_call(name: &str) -> bool {
    let types = [
        "int",
        "float",
        "bool",
        "str",
        "list",
        "tuple",
        "dict",
        "set",
        "frozenset",
        "range",
        "enumerate",
        "zip",
        "map",
        "filter",
        "reversed",
        "slice",
        "type",
        "super",
        "object",
        "bytes",
        "property",
        "partial",
    ];
    types.contains(&name)
}

fn called(
    site: &Expression<'_>,
    name: &str,
    class: Option<&str>,
    index: Option<usize>,
    is_decorated: Option<bool>,
) -> Option<u32> {
    let kind = site.kind;
    if name.starts_with('<') {
        return comprehension(site, name, index);
    }
    let is_dunder = name.starts_with("__") && name.ends_with("__");
    match kind {
        SiteKind::Call { callee, .. } => Some(called_function(callee, name, class, is_dunder)),
        SiteKind::Attribute { name: attribute, access } => match (name, access) {
            ("__getattr__" | "__getattribute__" | "__get__", Access::Load) => {
                Some(if is_tensor_attribute(attribute) {
                    14
                } else if site.is_of_self {
                    0
                } else {
                    3
                })
            }
            ("__setattr__" | "__set__", Access::Store) => Some(1),
            ("__delattr__" | "__delete__", Access::Delete) => Some(1),
            // A property; one without a decorator is hardly any.
            _ if attribute == name => Some(match is_decorated {
                Some(true) => 0,
                Some(false) => 14,
                None => 4,
            }),
            _ if is_dunder => None,
            _ => Some(22),
        },
        SiteKind::Operator { op, .. } => match binary_methods(*op).contains(&name) {
            true => Some(1),
            // Reflected operators of a tensor are wrapped in a function called `wrapped`.
            false if name == "wrapped" => Some(3),
            false if name == "__torch_function__" => Some(4),
            false => None,
        },
        SiteKind::Unary(op) => {
            unary_methods(*op).contains(&name).then_some(1).or((name == "wrapped").then_some(4))
        }
        SiteKind::Compare(op) => {
            compare_methods(*op).contains(&name).then_some(1).or((name == "wrapped").then_some(4))
        }
        SiteKind::Subscript { access } => {
            let expected = match access {
                Access::Load => "__getitem__",
                Access::Store => "__setitem__",
                Access::Delete => "__delitem__",
            };
            match name {
                _ if name == expected => Some(0),
                "__hash__" | "__eq__" | "__class_getitem__" => Some(1),
                "__missing__" => Some(4),
                _ => None,
            }
        }
        SiteKind::TruthTest => matches!(name, "__bool__" | "__len__").then_some(1),
        SiteKind::Iterate(part) => match name {
            "__iter__" => Some(if *part == Iteration::Start { 0 } else { 8 }),
            "__next__" => Some(if *part == Iteration::Start { 8 } else { 0 }),
            "__len__" | "__getitem__" => Some(2),
            _ if is_dunder => None,
            // A generator function that goes on.
            _ => Some(if *part == Iteration::Start { 20 } else { 8 }),
        },
        SiteKind::Unpack { .. } => {
            matches!(name, "__iter__" | "__next__" | "__len__").then_some(1).or(Some(20))
        }
        SiteKind::Enter => matches!(name, "__enter__" | "__aenter__").then_some(0),
        SiteKind::Exit => matches!(name, "__exit__" | "__aexit__").then_some(0),
        SiteKind::Format => matches!(name, "__format__" | "__str__" | "__repr__").then_some(0),
        SiteKind::Import => {
            matches!(name, "_find_and_load" | "_handle_fromlist" | "__getattr__").then_some(0)
        }
        SiteKind::Decorate { .. } => (!is_dunder).then_some(8),
        SiteKind::ClassDef { .. } => {
            matches!(name, "__new__" | "__init__" | "__prepare__" | "__init_subclass__")
                .then_some(1)
        }
        SiteKind::Await | SiteKind::Yield => (!is_dunder).then_some(10),
        _ => None,
    }
}

/// The first name of a dotted callee.
fn first_name(callee: &Callee) -> Option<&str> {
    callee.path.first().map(String::as_str)
}

fn called_function(callee: &Callee, name: &str, class: Option<&str>, is_dunder: bool) -> u32 {
    let called = callee.name();
    if called == Some(name) {
        return 0;
    }
    let is_class_method =
        matches!(name, "__init__" | "__new__" | "__post_init__" | "__call__" | "__instancecheck__");
    if is_class_method {
        let is_class = called.is_some() && called == class;
        let looks_like_class =
            called.is_some_and(|it| it.trim_start_matches('_').starts_with(char::is_uppercase));
        return match (name, is_class, looks_like_class) {
            (_, true, _) => 0,
            ("__call__", ..) => 7,
            (_, false, true) => 5,
            (_, false, false) => 12,
        };
    }
    if is_dunder {
        // `len`, `iter`, `next`, `float` … of an object of a Python class are recorded below the built-in, or alone.
        let inner = name.trim_matches('_');
        return if called == Some(inner) { 1 } else { 16 };
    }
    if WRAPPERS.contains(&name) {
        return 7;
    }
    // Private implementations are called by their public names, and the other way round.
    let is_alike = called.is_some_and(|it| it.trim_matches('_') == name.trim_matches('_'));
    // `forward_call = self.forward`, then `forward_call(x)`: names for functions keep something of the function's name.
    let is_related = called.is_some_and(|it| {
        it.len() > 2 && name.len() > 2 && (it.contains(name) || name.contains(it))
    });
    match (is_alike, is_related, callee.path.len()) {
        (true, ..) => 4,
        (_, true, _) => 5,
        // A plain name may be bound to anything.
        (_, _, 1) => 11,
        _ => 14,
    }
}

/// Lambdas, comprehensions and generator expressions: their frames are told apart by where they stand.
fn comprehension(site: &Expression<'_>, name: &str, index: Option<usize>) -> Option<u32> {
    let is_here = |function: usize| index == Some(function);
    match (site.kind, name) {
        (SiteKind::Comprehension { function }, "<listcomp>" | "<setcomp>" | "<dictcomp>") => {
            Some(if is_here(*function) { 0 } else { 16 })
        }
        // Whatever takes a generator's elements runs its frame.
        (SiteKind::Call { passes, .. }, "<genexpr>" | "<lambda>")
            if passes.iter().any(|&it| is_here(it)) =>
        {
            Some(0)
        }
        (SiteKind::Call { callee, .. }, "<genexpr>") => {
            Some(if callee.name().is_some_and(is_type_call) { 3 } else { 6 })
        }
        (SiteKind::Call { .. }, "<lambda>") => Some(8),
        (SiteKind::Unpack { .. } | SiteKind::Iterate(_) | SiteKind::Spread { .. }, "<genexpr>") => {
            Some(if site.takes.is_some_and(is_here) { 0 } else { 8 })
        }
        (SiteKind::Compare(CompareOp::In | CompareOp::NotIn), "<genexpr>") => Some(4),
        (SiteKind::Import, "<module>") => Some(1),
        _ => None,
    }
}

fn module(kind: &SiteKind) -> Option<u32> {
    let SiteKind::Call { callee, .. } = kind else { return None };
    let Some(name) = callee.name() else { return Some(3) };
    // Functions of torch and built-ins are not modules.
    if first_name(callee)
        .is_some_and(|first| matches!(first, "torch" | "F" | "math" | "np" | "functional"))
    {
        return Some(if callee.path.len() > 1 { 20 } else { 6 });
    }
    if is_type_call(name)
        || matches!(
            name,
            "len" | "isinstance" | "getattr" | "hasattr" | "print" | "setattr" | "sum"
        )
    {
        return Some(24);
    }
    let is_attribute_of_self = first_name(callee) == Some("self") && callee.path.len() == 2;
    Some(if is_attribute_of_self || callee.path.len() == 1 { 3 } else { 6 })
}

fn builtin(kind: &SiteKind, name: &str) -> Option<u32> {
    match kind {
        SiteKind::Call { callee, .. } => {
            let called = callee.name();
            let is_alike = called.is_some_and(|it| it.trim_matches('_') == name.trim_matches('_'));
            Some(if called == Some(name) {
                0
            } else if is_alike {
                2
            } else {
                14
            })
        }
        SiteKind::Enter => matches!(name, "__enter__" | "__aenter__").then_some(0),
        SiteKind::Exit => matches!(name, "__exit__" | "__aexit__").then_some(0),
        SiteKind::Import => matches!(name, "__import__").then_some(0),
        SiteKind::ClassDef { .. } => matches!(name, "__build_class__").then_some(0),
        SiteKind::Format => matches!(name, "__format__" | "format").then_some(1),
        SiteKind::Decorate { .. } => Some(8),
        SiteKind::Subscript { .. } => {
            matches!(name, "__getitem__" | "__setitem__" | "__class_getitem__").then_some(1)
        }
        SiteKind::Operator { op, .. } => binary_methods(*op).contains(&name).then_some(1),
        SiteKind::Iterate(_) => {
            matches!(name, "__iter__" | "__next__" | "next" | "iter").then_some(2)
        }
        SiteKind::Attribute { .. } => matches!(name, "__getattribute__" | "__get__").then_some(4),
        _ => None,
    }
}

fn operator(site: &Expression<'_>, name: &str) -> Option<u32> {
    match site.kind {
        SiteKind::Operator { op, .. } => {
            let operators = binary_operators(*op);
            operators.iter().position(|it| *it == name).map(|at| if at == 0 { 0 } else { 2 })
        }
        SiteKind::Unary(op) => match op {
            UnaryOp::Minus => (name == "neg").then_some(0),
            UnaryOp::Invert => matches!(name, "bitwise_not" | "logical_not").then_some(0),
            UnaryOp::Plus => (name == "positive").then_some(0),
        },
        SiteKind::Compare(op) => {
            let operators = compare_operators(*op);
            operators.contains(&name).then_some(0)
        }
        SiteKind::Subscript { access } => subscript(name, *access, site.subscript),
        SiteKind::TruthTest => match name {
            "is_nonzero" => Some(0),
            "item" | "any" | "_local_scalar_dense" => Some(5),
            _ => None,
        },
        SiteKind::Iterate(_) => match name {
            "unbind" => Some(0),
            "select" => Some(6),
            _ => None,
        },
        SiteKind::Unpack { .. } => match name {
            "unbind" => Some(0),
            "select" => Some(6),
            _ => None,
        },
        SiteKind::Attribute { name: attribute, access: Access::Load } => {
            attribute_operators(attribute).contains(&name).then_some(1)
        }
        SiteKind::Attribute { name: attribute, access: Access::Store } => {
            (attribute == "data" && matches!(name, "set_data" | "detach")).then_some(1)
        }
        SiteKind::Format => matches!(name, "item" | "_local_scalar_dense").then_some(1),
        SiteKind::Call { callee, .. } => called_operator(callee, name),
        _ => None,
    }
}

/// Operators directly below a call: the call itself left no event, because a type or a hidden function was called.
fn called_operator(callee: &Callee, name: &str) -> Option<u32> {
    let called = callee.name().unwrap_or("");
    let conversions = match called {
        "float" | "int" | "bool" | "complex" | "range" | "str" | "round" | "divmod" | "slice" => {
            ["item", "_local_scalar_dense", "is_nonzero", "to"].contains(&name)
        }
        "list" | "tuple" | "set" | "zip" | "enumerate" | "map" | "iter" | "reversed" | "sum"
        | "max" | "min" | "sorted" => {
            ["unbind", "select", "item", "add", "gt", "lt", "is_nonzero"].contains(&name)
        }
        _ => false,
    };
    if conversions {
        return Some(1);
    }
    if called.trim_end_matches('_') == name {
        return Some(2);
    }
    Some(16)
}

fn subscript(name: &str, access: Access, inside: Subscript) -> Option<u32> {
    if inside.is_plain {
        return None;
    }
    let fits = |n: u32| if n > 0 { 0 } else { 8 };
    let read = match name {
        "slice" => Some(fits(inside.n_slices)),
        "unsqueeze" => Some(fits(inside.n_new)),
        "select" | "index" => Some(fits(inside.n_indices)),
        "alias" | "view" => Some(if inside.n_operators() == 0 { 0 } else { 3 }),
        "item"
        | "_local_scalar_dense"
        | "nonzero"
        | "to"
        | "lift_fresh"
        | "detach"
        | "permute"
        | "expand" => Some(4),
        _ => None,
    };
    let is_written = ["copy", "fill", "index_put", "_index_put_impl", "masked_fill", "index_fill"]
        .contains(&name);
    match access {
        Access::Load => read,
        Access::Store if is_written => Some(0),
        Access::Store => read.map(|cost| cost + 1),
        Access::Delete => None,
    }
}

/// Attributes that tensors have and modules seldom do.
fn is_tensor_attribute(name: &str) -> bool {
    let attributes = [
        "shape",
        "dtype",
        "device",
        "grad",
        "data",
        "T",
        "mT",
        "ndim",
        "requires_grad",
        "is_cuda",
        "real",
        "imag",
        "grad_fn",
    ];
    attributes.contains(&name)
}

fn attribute_operators(attribute: &str) -> &'static [&'static str] {
    match attribute {
        "T" => &["numpy_T", "t", "permute"],
        "mT" => &["mT", "transpose"],
        "H" | "mH" => &["matrix_H", "mH", "adjoint", "transpose"],
        "data" => &["detach", "alias", "set_data"],
        "real" => &["real", "view_as_real", "select"],
        "imag" => &["imag", "view_as_real", "select"],
        "grad" => &["detach", "alias"],
        _ => &[],
    }
}

fn binary_methods(op: BinaryOp) -> &'static [&'static str] {
    match op {
        BinaryOp::Add => &["__add__", "__radd__", "__iadd__"],
        BinaryOp::Sub => &["__sub__", "__rsub__", "__isub__"],
        BinaryOp::Mul => &["__mul__", "__rmul__", "__imul__"],
        BinaryOp::MatMul => &["__matmul__", "__rmatmul__", "__imatmul__"],
        BinaryOp::Div => &["__truediv__", "__rtruediv__", "__itruediv__", "__rdiv__", "__div__"],
        BinaryOp::FloorDiv => &["__floordiv__", "__rfloordiv__", "__ifloordiv__"],
        BinaryOp::Mod => &["__mod__", "__rmod__", "__imod__"],
        BinaryOp::Pow => &["__pow__", "__rpow__", "__ipow__"],
        BinaryOp::LShift => &["__lshift__", "__rlshift__", "__ilshift__"],
        BinaryOp::RShift => &["__rshift__", "__rrshift__", "__irshift__"],
        BinaryOp::And => &["__and__", "__rand__", "__iand__"],
        BinaryOp::Or => &["__or__", "__ror__", "__ior__"],
        BinaryOp::Xor => &["__xor__", "__rxor__", "__ixor__"],
    }
}

/// Operators that a binary operator on tensors runs, the usual one first.
fn binary_operators(op: BinaryOp) -> &'static [&'static str] {
    match op {
        BinaryOp::Add => &["add", "_foreach_add"],
        BinaryOp::Sub => &["sub", "rsub"],
        BinaryOp::Mul => &["mul", "_foreach_mul"],
        BinaryOp::MatMul => &["matmul", "mm", "bmm", "mv", "dot", "linear"],
        BinaryOp::Div => &["div", "true_divide", "reciprocal", "mul"],
        BinaryOp::FloorDiv => &["floor_divide", "div"],
        BinaryOp::Mod => &["remainder", "fmod"],
        BinaryOp::Pow => &["pow", "result_type"],
        BinaryOp::LShift => &["__lshift__", "__ilshift__", "bitwise_left_shift"],
        BinaryOp::RShift => &["__rshift__", "__irshift__", "bitwise_right_shift"],
        BinaryOp::And => &["__and__", "bitwise_and", "__iand__", "logical_and"],
        BinaryOp::Or => &["__or__", "bitwise_or", "__ior__", "logical_or"],
        BinaryOp::Xor => &["__xor__", "bitwise_xor", "__ixor__", "logical_xor"],
    }
}

fn unary_methods(op: UnaryOp) -> &'static [&'static str] {
    match op {
        UnaryOp::Minus => &["__neg__"],
        UnaryOp::Plus => &["__pos__"],
        UnaryOp::Invert => &["__invert__"],
    }
}

fn compare_methods(op: CompareOp) -> &'static [&'static str] {
    match op {
        CompareOp::Eq => &["__eq__"],
        CompareOp::NotEq => &["__ne__", "__eq__"],
        CompareOp::Lt => &["__lt__", "__gt__"],
        CompareOp::LtE => &["__le__", "__ge__"],
        CompareOp::Gt => &["__gt__", "__lt__"],
        CompareOp::GtE => &["__ge__", "__le__"],
        CompareOp::In | CompareOp::NotIn => {
            &["__contains__", "__eq__", "__iter__", "__next__", "__hash__"]
        }
    }
}

fn compare_operators(op: CompareOp) -> &'static [&'static str] {
    match op {
        CompareOp::Eq => &["eq"],
        CompareOp::NotEq => &["ne"],
        CompareOp::Lt => &["lt", "gt"],
        CompareOp::LtE => &["le", "ge"],
        CompareOp::Gt => &["gt", "lt"],
        CompareOp::GtE => &["ge", "le"],
        CompareOp::In | CompareOp::NotIn => &["eq", "any", "is_nonzero"],
    }
}
