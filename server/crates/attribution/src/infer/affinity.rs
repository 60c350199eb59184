//! What an expression is likely to leave in a recording: names first, then the conventions of Python and PyTorch.
//!
//! Costs are in the units of [`learn::UNITS`](super::learn::UNITS): 0 is what one expects, 4 is e times less likely.

use pysource::flow::{Access, BinaryOp, Callee, CompareOp, Index, Iteration, SiteKind, UnaryOp};

use super::facts::{Certainty, Expression, Held, is_class_name};
use super::keys::{FunctionKey, Key, Owner};

/// Cost of not reaching the end of the function: an exception, or the end of the recording.
pub(crate) const NOT_RETURNED: u32 = 16;

/// Cost of going on in a handler, or out of the function, because something raised.
pub(crate) const RAISED: u32 = 16;

/// Cost of an operator of tensors where the text works on numbers.
const PLAIN: u32 = 10;

/// Cost of an event on the one line that it is known to come from, whatever stands there.
pub(crate) const KNOWN_LINE: u32 = 8;

/// The cost of `key` at a site of `file`, or `None` if it cannot come from there. `passed` are the lambdas and generator
/// expressions that are arguments of some call of the same function.
pub(crate) fn emission(
    site: &Expression<'_>,
    key: &Key,
    file: &str,
    passed: &[usize],
) -> Option<u32> {
    match key {
        Key::Function(function) if function.name.starts_with('<') => {
            let index = function.source.as_ref().filter(|_| function.file == file);
            comprehension(site, &function.name, index.map(|it| it.function), passed)
        }
        Key::Function(function) if function.is_generator => generator(site, &function.name),
        Key::Function(function) => called(site, function),
        Key::Module { class } => module(site, class),
        Key::Builtin { name, owner, runs } => {
            let runs = runs.as_ref().filter(|(of, _)| of == file).map(|&(_, function)| function);
            builtin(site, name, *owner, runs)
        }
        Key::Operator { name } => operator(site, name),
    }
}

/// A generator function runs where its elements are taken, which mostly is around the call that made it.
fn generator(site: &Expression<'_>, name: &str) -> Option<u32> {
    let is_named = site.mentions.contains(name);
    match site.kind {
        SiteKind::Iterate(Iteration::Next) => {
            let is_named = is_named || site.target.makers.contains(&name);
            Some(match (is_named, site.is_builtin_iterable) {
                (true, _) => 0,
                (false, true) => 16,
                (false, false) => 3,
            })
        }
        SiteKind::Unpack { .. } if site.target.makers.contains(&name) => Some(0),
        SiteKind::Unpack { .. } => Some(10),
        SiteKind::Spread { .. } => Some(if is_named { 0 } else { 4 }),
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
        SiteKind::Await => Some(if is_named { 0 } else { 4 }),
        SiteKind::Enter | SiteKind::Exit => Some(6),
        _ => None,
    }
}

/// The cost of a site that leaves nothing, before anything was learned.
pub(crate) fn silence(site: &Expression<'_>) -> u16 {
    match site.kind {
        _ if site.is_plain => 0,
        SiteKind::Subscript { index, .. } if index.is_of_plain => 0,
        // Types are called without an event.
        SiteKind::Call { callee, .. } if callee.name().is_some_and(is_type_call) => 0,
        SiteKind::Call { .. } => match site.target.certainty {
            // Whatever is called may be a class.
            Certainty::Anything => 5,
            _ if site.target.is_generator => 0,
            _ if site.target.is_class => 3,
            Certainty::Attribute => 8,
            Certainty::Method | Certainty::Imported => 9,
            Certainty::Defined | Certainty::Builtin => 12,
        },
        SiteKind::Comprehension { .. } => 8,
        SiteKind::Compare { op: CompareOp::In | CompareOp::NotIn, .. } => 0,
        SiteKind::Operator { .. } | SiteKind::Compare { .. } => 2,
        SiteKind::Enter | SiteKind::Exit => 3,
        SiteKind::Unary(_) | SiteKind::Subscript { .. } => 1,
        SiteKind::Attribute { access: Access::Load, .. } => match site.attribute {
            Held::Registered => 10,
            Held::RegisteredOrPlain => 2,
            Held::Method { is_decorated: true } => 4,
            _ => 0,
        },
        _ => 0,
    }
}

/// The cost of going on where a condition holds.
pub(crate) fn truth(site: &Expression<'_>) -> u32 {
    // PyTorch looks for hooks wherever there can be some, and mostly there are none.
    if *site.kind == SiteKind::TruthTest && site.mentions.iter().any(|it| it.contains("_hooks")) {
        4
    } else {
        0
    }
}

/// The cost of one more event, right after one from the same site.
pub(crate) fn again(site: &Expression<'_>, key: &Key) -> u32 {
    match (site.kind, key) {
        (_, Key::Function(FunctionKey { is_generator: true, .. })) => 0,
        // `x[:, 0]` slices and selects.
        (SiteKind::Subscript { access: Access::Load, index }, Key::Operator { .. }) => {
            if n_operators(*index) > 1 {
                0
            } else {
                8
            }
        }
        (
            SiteKind::Subscript { .. } | SiteKind::Iterate(_) | SiteKind::Unpack { .. },
            Key::Operator { .. },
        ) => 0,
        (_, Key::Function(it)) if it.name == "<genexpr>" => 0,
        // A class is called: `__new__`, then `__init__`.
        (SiteKind::Call { .. }, Key::Function(it))
            if matches!(it.name.as_str(), "__init__" | "__post_init__") =>
        {
            0
        }
        (SiteKind::Unpack { .. } | SiteKind::Iterate(_), Key::Function(_)) => 1,
        (
            SiteKind::Format | SiteKind::Import | SiteKind::TruthTest | SiteKind::Compare { .. },
            _,
        ) => 2,
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

fn called(site: &Expression<'_>, key: &FunctionKey) -> Option<u32> {
    let name = key.name.as_str();
    let is_dunder = is_dunder(name);
    // What a decorator made of `__getitem__` is found by what it calls.
    let methods = |expected: &[&str], wrapper: u32| {
        if expected.contains(&name) {
            Some(1)
        } else if key.calls.iter().any(|it| expected.contains(&it.as_str())) {
            Some(2)
        } else {
            (key.may_wrap() && !is_dunder).then_some(wrapper)
        }
    };
    match site.kind {
        SiteKind::Call { callee, .. } => Some(called_function(site, callee, key)),
        SiteKind::Attribute { name: attribute, access, owner, is_called, .. } => {
            let is_property = attribute == name || key.calls.contains(attribute);
            match (name, access) {
                ("__getattr__" | "__getattribute__" | "__get__", Access::Load) => {
                    Some(match site.attribute {
                        Held::Registered | Held::RegisteredOrPlain => 0,
                        Held::Unknown => 1,
                        Held::Plain | Held::Method { .. } => 16,
                        // `_VF.einsum` is found by `torch/_VF.py`.
                        Held::NotOfSelf if is_of_module(owner.as_deref(), &key.file) => 0,
                        Held::NotOfSelf if is_tensor_attribute(attribute) => 14,
                        Held::NotOfSelf if *is_called => 9,
                        Held::NotOfSelf => 3,
                    })
                }
                ("__setattr__" | "__set__", Access::Store) => Some(1),
                ("__delattr__" | "__delete__", Access::Delete) => Some(1),
                // A property; one without a decorator is hardly any.
                _ if is_property => match &key.source {
                    // What a decorator made of a function is rather called than got.
                    Some(source) if source.is_nested => Some(12),
                    Some(source) => source.is_decorated.then_some(0),
                    None => Some(4),
                },
                _ if is_dunder => None,
                // A property may have a name of its own, but it has a decorator.
                _ => match &key.source {
                    Some(source) if !source.is_decorated && !source.is_nested => None,
                    _ => Some(22),
                },
            }
        }
        SiteKind::Operator { op, .. } => match name {
            "__torch_function__" => Some(4),
            _ => methods(binary_methods(*op), 4),
        },
        SiteKind::Unary(op) => methods(unary_methods(*op), 4),
        SiteKind::Compare { op: CompareOp::In | CompareOp::NotIn, left_is_literal }
            if name == "__hash__" =>
        {
            (!left_is_literal).then_some(1)
        }
        SiteKind::Compare { op, .. } => methods(compare_methods(*op), 4),
        SiteKind::Subscript { access, index } => {
            let expected = match access {
                Access::Load => "__getitem__",
                Access::Store => "__setitem__",
                Access::Delete => "__delitem__",
            };
            match name {
                _ if name == expected => Some(0),
                // Numbers and strings are hashed and compared without a trace.
                "__hash__" | "__eq__" => (!index.is_literal).then_some(1),
                "__class_getitem__" => Some(1),
                "__missing__" => Some(4),
                _ => methods(&[expected, "__class_getitem__"], 6),
            }
        }
        SiteKind::TruthTest => matches!(name, "__bool__" | "__len__").then_some(1),
        SiteKind::Iterate(part) => match name {
            _ if site.is_builtin_iterable => None,
            "__iter__" => Some(if *part == Iteration::Start { 0 } else { 8 }),
            "__next__" => Some(if *part == Iteration::Start { 8 } else { 0 }),
            "__len__" | "__getitem__" => Some(2),
            _ if is_dunder => None,
            // `map` and `filter` call a function for each element.
            _ if site.is_lazy => Some(if site.mentions.contains(name) { 1 } else { 6 }),
            _ if key.source.is_some() => None,
            // A generator function that goes on.
            _ => Some(if *part == Iteration::Start { 20 } else { 8 }),
        },
        SiteKind::Unpack { .. } => match name {
            _ if site.is_builtin_iterable => None,
            "__iter__" => Some(0),
            "__next__" | "__len__" => Some(1),
            _ => Some(20),
        },
        SiteKind::Enter => methods(&["__enter__", "__aenter__"], 6),
        SiteKind::Exit => methods(&["__exit__", "__aexit__"], 6),
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

/// Whether a call of `called` may run a function that is handed to it, or take elements, without an event of its own.
fn runs_functions(called: &str) -> bool {
    is_type_call(called)
        || matches!(called, "deque" | "sorted" | "next" | "reduce" | "sum" | "max" | "min")
}

fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

/// The first name of a dotted callee.
fn first_name(callee: &Callee) -> Option<&str> {
    callee.path.first().map(String::as_str)
}

fn called_function(site: &Expression<'_>, callee: &Callee, key: &FunctionKey) -> u32 {
    let (name, target) = (key.name.as_str(), &site.target);
    let called = callee.name();
    let class = key.source.as_ref().and_then(|source| source.class.as_deref());
    if called == Some(name) {
        // Methods are called as attributes, functions by their names or as attributes of modules.
        let is_unlike = match &key.source {
            Some(source) if callee.is_method => {
                class.is_none() && !source.is_nested && target.certainty != Certainty::Imported
            }
            Some(_) => class.is_some(),
            None => false,
        };
        return if is_unlike { 3 } else { 0 };
    }
    if target.has(name) {
        return 1;
    }
    match name {
        "__init__" | "__new__" | "__post_init__" | "__instancecheck__" | "__subclasscheck__" => {
            let is_class = class.is_some_and(|class| target.has(class));
            return match target.certainty {
                _ if is_class => 0,
                _ if name.ends_with("check__") => match called {
                    Some("isinstance" | "issubclass") => 1,
                    _ => 16,
                },
                // That of a base.
                _ if target.is_class || called.is_some_and(is_class_name) => 4,
                Certainty::Anything => 6,
                // Some classes are written like functions: `torch.no_grad`.
                Certainty::Imported => 7,
                _ => 12,
            };
        }
        "__call__" => {
            let is_maker = class.is_some_and(|class| target.makers.contains(&class));
            let is_operator = callee.path.len() > 2 && callee.path[..2] == ["torch", "ops"];
            return match target.certainty {
                _ if is_maker || is_operator => 0,
                _ if target.is_class => 14,
                Certainty::Anything => 4,
                Certainty::Attribute | Certainty::Imported => 6,
                Certainty::Method => 12,
                Certainty::Defined | Certainty::Builtin => 16,
            };
        }
        _ => {}
    }
    if is_dunder(name) {
        // `len`, `iter`, `next`, `float` … of an object of a Python class are recorded below the built-in, or alone.
        let inner = name.trim_matches('_');
        let is_iteration = matches!(name, "__iter__" | "__next__" | "__len__" | "__getitem__");
        return match target.certainty {
            _ if called == Some(inner) => 1,
            _ if is_iteration && called.is_some_and(runs_functions) => 3,
            Certainty::Anything => 7,
            _ => 16,
        };
    }
    if key.may_wrap() {
        let wraps_it = key.calls.iter().any(|it| {
            target.has(it) || (target.is_class && matches!(it.as_str(), "__init__" | "__new__"))
        });
        return match target.certainty {
            _ if wraps_it => 1,
            _ if target.is_decorated => 2,
            Certainty::Anything => 5,
            Certainty::Defined => 14,
            Certainty::Builtin => 18,
            _ => 7,
        };
    }
    // Private implementations are called by their public names, and the other way round.
    let is_alike = called.is_some_and(|it| it.trim_matches('_') == name.trim_matches('_'));
    // `forward_call = self.forward`, then `forward_call(x)`: names for functions keep something of the function's name.
    let is_related = called.is_some_and(|it| {
        it.len() > 2 && name.len() > 2 && (it.contains(name) || name.contains(it))
    });
    match target.certainty {
        _ if is_alike => 4,
        _ if called.is_some_and(runs_functions) => {
            if site.mentions.contains(name) {
                3
            } else {
                9
            }
        }
        Certainty::Anything if is_related => 5,
        Certainty::Anything => 7,
        Certainty::Attribute => 10,
        Certainty::Method | Certainty::Imported if is_related => 8,
        Certainty::Method => 13,
        Certainty::Imported => 14,
        Certainty::Defined if target.is_decorated => 14,
        Certainty::Defined | Certainty::Builtin => 18,
    }
}

/// Lambdas, comprehensions and generator expressions: their frames are told apart by where they stand.
fn comprehension(
    site: &Expression<'_>,
    name: &str,
    index: Option<usize>,
    passed: &[usize],
) -> Option<u32> {
    let is_here = |function: usize| index == Some(function);
    // What is passed to a call runs in it, not in another.
    let elsewhere = if index.is_some_and(|it| passed.contains(&it)) { 10 } else { 0 };
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
            Some(elsewhere + if callee.name().is_some_and(is_type_call) { 3 } else { 6 })
        }
        // `map` and `filter` call a function for each element.
        (SiteKind::Iterate(Iteration::Next), "<lambda>") if site.is_lazy => {
            Some(if site.iterates_lambda { 1 } else { 6 })
        }
        (SiteKind::Call { .. }, "<lambda>") => Some(elsewhere + 8),
        (SiteKind::Iterate(Iteration::Start), "<genexpr>") => None,
        (SiteKind::Unpack { .. } | SiteKind::Iterate(_) | SiteKind::Spread { .. }, "<genexpr>") => {
            Some(elsewhere + if site.takes.is_some_and(is_here) { 0 } else { 8 })
        }
        (SiteKind::Compare { op: CompareOp::In | CompareOp::NotIn, .. }, "<genexpr>") => Some(4),
        (SiteKind::Import, "<module>") => Some(1),
        _ => None,
    }
}

fn module(site: &Expression<'_>, class: &str) -> Option<u32> {
    let SiteKind::Call { callee, .. } = site.kind else { return None };
    let target = &site.target;
    if target.makers.contains(&class) {
        return Some(0);
    }
    let Some(name) = callee.name() else { return Some(3) };
    // Something may wrap or subclass what was made.
    let is_other = target.makers.iter().any(|it| is_class_name(it));
    Some(match target.certainty {
        _ if is_type_call(name) => 24,
        _ if target.is_class => 20,
        Certainty::Builtin => 24,
        Certainty::Defined => 16,
        Certainty::Imported if callee.path.len() > 1 => 20,
        Certainty::Imported => 8,
        Certainty::Anything | Certainty::Attribute if is_other => 7,
        Certainty::Anything | Certainty::Attribute => 3,
        Certainty::Method if callee.path.len() == 2 && first_name(callee) == Some("self") => 3,
        Certainty::Method => 6,
    })
}

fn builtin(site: &Expression<'_>, name: &str, owner: Owner, runs: Option<usize>) -> Option<u32> {
    match site.kind {
        SiteKind::Call { callee, passes, .. } => {
            let is_alike =
                callee.name().is_some_and(|it| it.trim_matches('_') == name.trim_matches('_'));
            let of_name = if callee.name() == Some(name) {
                owned(site.target.certainty, callee, owner)
            } else if site.target.has(name) {
                1
            } else if is_alike {
                12
            } else {
                match site.target.certainty {
                    Certainty::Anything => 9,
                    Certainty::Method | Certainty::Attribute | Certainty::Imported => 14,
                    Certainty::Defined | Certainty::Builtin => 18,
                }
            };
            let of_argument = match runs {
                Some(function) if passes.contains(&function) => 0,
                Some(_) if passes.is_empty() => 3,
                Some(_) => 10,
                None => 0,
            };
            Some(of_name + of_argument)
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

/// The cost of a built-in of `owner` where one of its name is called: `math.sqrt(x)`, `torch.sqrt(x)`, `x.sqrt()`.
fn owned(certainty: Certainty, callee: &Callee, owner: Owner) -> u32 {
    match (owner, certainty) {
        (Owner::Module | Owner::Class, Certainty::Method) if callee.path.len() == 2 => 4,
        (Owner::Object, Certainty::Imported) if callee.is_method => 4,
        (Owner::Object, Certainty::Builtin) => 4,
        _ => 0,
    }
}

fn operator(site: &Expression<'_>, name: &str) -> Option<u32> {
    let cost = operator_of(site, name)?;
    Some(if site.is_plain { cost + PLAIN } else { cost })
}

fn operator_of(site: &Expression<'_>, name: &str) -> Option<u32> {
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
        SiteKind::Compare { op, .. } => {
            let operators = compare_operators(*op);
            operators.contains(&name).then_some(0)
        }
        SiteKind::Subscript { access, index } => subscript(name, *access, *index),
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
        SiteKind::Attribute { name: attribute, access: Access::Load, .. } => {
            attribute_operators(attribute).contains(&name).then_some(1)
        }
        SiteKind::Attribute { name: attribute, access: Access::Store, .. } => {
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

fn subscript(name: &str, access: Access, index: Index) -> Option<u32> {
    if index.is_of_plain {
        return None;
    }
    let fits = |n: u32| if n > 0 { 0 } else { 8 };
    let read = match name {
        "slice" => Some(fits(index.slices)),
        "unsqueeze" => Some(fits(index.new_axes)),
        "select" | "index" => Some(fits(index.indices)),
        "alias" | "view" => Some(if n_operators(index) == 0 { 0 } else { 3 }),
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

/// How many operators reading a tensor's subscript runs at most.
fn n_operators(index: Index) -> u32 {
    index.slices + index.new_axes + index.indices
}

/// Whether an attribute of what is called `owner` is one of the module that a file is: `_VF.einsum` of `torch/_VF.py`.
fn is_of_module(owner: Option<&str>, file: &str) -> bool {
    let stem = file.rsplit('/').next().and_then(|name| name.strip_suffix(".py"));
    stem.is_some() && stem == owner
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
