//! What an expression is likely to leave in a recording: names first, then the conventions of Python and PyTorch.
//!
//! Costs are those of [`Costs`], in its unit: 0 is what one expects.

use pysource::Arity;
use pysource::flow::{
    Access, BinaryOp, Binding, Callee, CompareOp, ImportForm, Index, Iteration, SiteKind, UnaryOp,
    calls_for_each, is_of_itertools, takes_later,
};
use rustc_hash::FxHashSet;

use crate::c_objects::{
    is_container_method, is_object_of_c, is_type_call, is_type_of_c, is_type_of_object, is_ufunc,
};
use crate::costs::Costs;
use crate::facts::{Certainty, Expression, HeldValue, is_class_name, is_plain_attribute};
use crate::keys::{ChildKey, FunctionKey, MODULE_GENERATORS, Owner, TORCH_FUNCTION, out_of_place};

/// The property of a module's `__spec__` that an import by `from .` reads first (`resolve_name` in CPython's `import.c`).
const PACKAGE_OF_IMPORT: &str = "parent";

/// The function of `importlib` that `from package import …` calls last, where the names are taken from a package.
const NAMES_OF_IMPORT: &str = "_handle_fromlist";

/// Where the standard library has its enumerations.
const ENUM_FILE: &str = "enum.py";

/// The attributes of their members that a descriptor of Python gives.
const ENUM_PROPERTIES: [&str; 2] = ["name", "value"];

/// The cost of `key` at a site of `file`, or `None` if it cannot come from there. `arguments` are the lambdas and
/// generator expressions that are arguments of some call of the same function.
pub(crate) fn emission(
    site: &Expression<'_>,
    key: &ChildKey,
    file: &str,
    arguments: &[usize],
    costs: &Costs,
) -> Option<u32> {
    match key {
        ChildKey::Function(function) if compares_versions(function) => {
            let is_version = site.mentions.contains("__version__");
            let cost = if is_version { 0 } else { costs.comparison_turned };
            matches!(site.kind, SiteKind::Compare { .. }).then_some(cost)
        }
        ChildKey::Function(function) if function.name.starts_with('<') => {
            let index = function.source.as_ref().filter(|_| function.file == file);
            comprehension(site, &function.name, index.map(|it| it.function), arguments, costs)
        }
        ChildKey::Function(function) if function.is_generator => generator(site, function, costs),
        ChildKey::Function(function) if function.stands_for_its_call() => {
            in_place_of(site, function, costs)
        }
        ChildKey::Function(function) => called(site, function, costs),
        ChildKey::Module { class } => module(site, class, costs),
        ChildKey::Builtin { name, owner, runs, object } => {
            let runs = runs.as_ref().filter(|(of, _)| of == file).map(|&(_, function)| function);
            let object = object.as_deref();
            let is_object_named = object.is_none_or(|class| is_object_named(site, class));
            let cost = builtin(site, name, *owner, runs, costs)?;
            Some(if is_object_named { cost } else { cost + costs.builtin_of_other_object })
        }
        ChildKey::Operator { name } => operator(site, name, costs),
    }
}

/// The cost of a call with more or fewer arguments than what it would call by itself takes.
pub(crate) fn misfit(
    site: &Expression<'_>,
    key: &ChildKey,
    arity: Option<Arity>,
    costs: &Costs,
) -> u32 {
    let SiteKind::Call { callee, positional, keywords, arguments, .. } = site.kind else {
        return 0;
    };
    let Some(arity) = arity.filter(|_| !arguments.spreads()) else { return 0 };
    let fits = |n_bound| arity.fits(positional + n_bound, *keywords);
    let is_unlike = match key {
        ChildKey::Function(it) => {
            let is_method = it.source.as_ref().is_some_and(|it| it.class.is_some());
            callee.name() == Some(&it.name) && !fits(0) && !(is_method && fits(1))
        }
        ChildKey::Module { .. } => {
            let is_called = match site.target.certainty {
                Certainty::Anything | Certainty::Attribute => true,
                Certainty::Method => is_of_self(callee),
                Certainty::Imported | Certainty::Defined | Certainty::Builtin => false,
            };
            is_called && !fits(1)
        }
        _ => false,
    };
    if is_unlike { costs.arguments_unlike } else { 0 }
}

/// A generator function runs where its elements are taken, which mostly is around the call that made it.
fn generator(site: &Expression<'_>, key: &FunctionKey, costs: &Costs) -> Option<u32> {
    let name = key.name.as_str();
    let is_named = site.mentions.contains(name);
    match site.kind {
        // It goes on to its end, and does nothing.
        SiteKind::Close if !key.is_resumed || key.ran_on => None,
        SiteKind::Iterate(Iteration::Next) | SiteKind::Close => {
            let is_named = is_named || site.target.makers.contains(&name);
            Some(match (is_named, site.is_builtin_iterable) {
                (true, _) => 0,
                (false, true) => costs.generator_of_builtin,
                (false, false) => costs.generator_unnamed,
            })
        }
        SiteKind::Unpack { .. } if site.target.makers.contains(&name) => Some(0),
        SiteKind::Unpack { .. } => Some(costs.generator_unpacked),
        SiteKind::Spread { .. } => Some(if is_named { 0 } else { costs.generator_taken_unnamed }),
        SiteKind::Call { callee, .. } => match callee.name() {
            Some("next" | "send") => Some(costs.generator_next),
            Some(called) if takes_later(called) => Some(costs.generator_in_call),
            Some(called)
                if is_type_call(called)
                    || ["sum", "max", "min", "any", "all", "sorted"].contains(&called) =>
            {
                Some(if is_named { 0 } else { costs.generator_taken_unnamed })
            }
            Some(called) if called == name => Some(costs.generator_made),
            _ => Some(costs.generator_in_call),
        },
        SiteKind::Await => Some(if is_named { 0 } else { costs.generator_taken_unnamed }),
        SiteKind::Enter | SiteKind::Exit => Some(costs.generator_context),
        SiteKind::Attribute { access: Access::Store, .. } if key.is_resumed => {
            Some(costs.generator_released)
        }
        // `rows += read(file)`
        SiteKind::Operator { op: BinaryOp::Add, .. } if is_named => {
            Some(costs.generator_taken_unnamed)
        }
        _ => None,
    }
}

/// The cost of a function that `map` or `filter` calls for each element.
fn lazy(site: &Expression<'_>, name: &str, costs: &Costs) -> u32 {
    let is_named = site.mentions.contains(name) || site.target.has(name);
    if is_named { costs.lazy_named } else { costs.lazy_unnamed }
}

/// What the functions that were called from frames of one function show about all of its sites.
#[derive(Debug, Default)]
pub(crate) struct Called<'k> {
    /// The names of functions.
    functions: FxHashSet<&'k str>,
    /// Those that NumPy's dispatchers are named after.
    dispatched: FxHashSet<&'k str>,
    /// The files of all.
    files: FxHashSet<&'k str>,
    /// The names of generator functions. A call of one leaves nothing: its frames run where the elements are taken.
    generators: FxHashSet<&'k str>,
    /// Methods `__getattribute__`: their classes leave an event for each attribute.
    getters: Vec<&'k FunctionKey>,
}

impl<'k> Called<'k> {
    pub(crate) fn new(children: impl Iterator<Item = &'k ChildKey>) -> Self {
        let mut called = Self::default();
        for key in children {
            let ChildKey::Function(function) = key else { continue };
            called.functions.insert(&function.name);
            called.files.insert(&function.file);
            if let Some(name) = function.name.strip_suffix(NUMPY_DISPATCHER) {
                called.dispatched.insert(name.trim_matches('_'));
            }
            if function.is_generator {
                called.generators.insert(&function.name);
            }
            if function.name == "__getattribute__" {
                called.getters.push(function);
            }
        }
        called
    }

    /// The package of something imported that a site calls, in the file `file`, if that may be C code which calls Python functions
    /// of its package: such functions are among them, but none of its name.
    pub(crate) fn package_of<'a>(&self, site: &Expression<'a>, file: &str) -> Option<&'a str> {
        let SiteKind::Call { callee, .. } = site.kind else { return None };
        let is_recorded = callee.name().is_some_and(|it| self.functions.contains(it));
        let package = package(callee).filter(|_| !is_recorded && !is_ufunc(callee))?;
        let runs_functions = || self.files.iter().any(|it| is_of_package(package, it));
        (!is_of_package(package, file) && runs_functions()).then_some(package)
    }

    /// Whether a dispatcher of NumPy is named after what a site calls.
    pub(crate) fn has_dispatcher_of(&self, site: &Expression<'_>) -> bool {
        let SiteKind::Call { callee, .. } = site.kind else { return false };
        callee.name().is_some_and(|it| self.dispatched.contains(it.trim_matches('_')))
    }
}

/// The cost of skipping a site, that is, of its leaving nothing, before anything was learned.
pub(crate) fn skip_cost(site: &Expression<'_>, called: &Called<'_>, costs: &Costs) -> u16 {
    let makes_generator = |name: &str| called.generators.contains(name);
    let is_always_got =
        |owner: Option<&str>| called.getters.iter().any(|it| is_got_of_object(site, owner, it));
    let cost = match site.kind {
        _ if site.is_plain => 0,
        SiteKind::Call { callee, .. } if callee.name().is_some_and(makes_generator) => 0,
        SiteKind::Call { callee, .. }
            if callee.is_method
                && callee.name().is_some_and(|it| MODULE_GENERATORS.contains(&it)) =>
        {
            costs.skip_generator
        }
        SiteKind::Attribute { access: Access::Load, owner, .. }
            if is_always_got(owner.as_deref()) =>
        {
            costs.skip_registered
        }
        SiteKind::Subscript { index, .. } | SiteKind::Dimension { index } if index.is_of_plain => 0,
        // `d[0, 1]` may be that of a `dict`, or of an array.
        SiteKind::Dimension { index } if !index.has_dimensions => costs.skip_subscript,
        SiteKind::Dimension { .. } => costs.skip_dimension,
        // Types and NumPy's universal functions are called without an event.
        SiteKind::Call { callee, .. } if callee.name().is_some_and(is_type_call) => 0,
        SiteKind::Call { callee, .. } if is_object_of_c(callee) => 0,
        SiteKind::Call { .. } => match site.target.certainty {
            // Whatever is called may be a class.
            Certainty::Anything => costs.skip_unknown_call,
            _ if site.target.is_generator => 0,
            _ if site.target.is_memoized => costs.skip_memoized,
            _ if site.target.is_class => costs.skip_class,
            Certainty::Attribute => costs.skip_attribute_call,
            Certainty::Method | Certainty::Imported => costs.skip_method,
            Certainty::Defined | Certainty::Builtin => costs.skip_defined,
        },
        SiteKind::Comprehension { .. } => costs.skip_comprehension,
        SiteKind::Compare { op: CompareOp::In | CompareOp::NotIn, .. } => 0,
        SiteKind::Operator { .. }
        | SiteKind::Compare { .. }
        | SiteKind::Unary(_)
        | SiteKind::TruthTest
            if site.is_of_tensor =>
        {
            costs.skip_of_tensor
        }
        SiteKind::Operator { .. } | SiteKind::Compare { .. } => costs.skip_operator,
        SiteKind::Enter | SiteKind::Exit => costs.skip_context,
        SiteKind::Subscript { index, .. } if index.has_dimensions => costs.skip_dimensions,
        SiteKind::Unary(_) | SiteKind::Subscript { .. } => costs.skip_subscript,
        SiteKind::Attribute { access: Access::Load, .. } => match site.attribute {
            HeldValue::Registered => costs.skip_registered,
            HeldValue::RegisteredOrPlain => costs.skip_maybe_registered,
            HeldValue::Method { is_decorated: true } => costs.skip_decorated_method,
            _ => 0,
        },
        _ => 0,
    };
    u16::try_from(cost).unwrap_or(u16::MAX)
}

/// The cost of going on where a condition holds.
pub(crate) fn branch_cost(site: &Expression<'_>, costs: &Costs) -> u32 {
    // PyTorch looks for hooks wherever there can be some, and mostly there are none.
    if *site.kind == SiteKind::TruthTest && site.mentions.iter().any(|it| it.contains("_hooks")) {
        costs.branch_with_hooks
    } else {
        0
    }
}

/// The cost of one more event, right after one (`before`) from the same site.
pub(crate) fn repeat_cost(
    site: &Expression<'_>,
    before: &ChildKey,
    key: &ChildKey,
    costs: &Costs,
) -> u32 {
    match (site.kind, key) {
        (SiteKind::Subscript { access: Access::Store, .. }, ChildKey::Operator { .. })
            if is_write(before) =>
        {
            costs.repeat_written
        }
        // A view of what is written, then the copy to it.
        (SiteKind::Attribute { access: Access::Store, .. }, ChildKey::Operator { .. })
            if is_view_of_part(before) =>
        {
            0
        }
        // `tuple(x)` asks for the length next.
        (SiteKind::Call { callee, .. }, ChildKey::Function(it))
            if it.name == "__len__"
                && is_named(before, "__iter__")
                && callee.name().is_some_and(asks_for_length) =>
        {
            0
        }
        // `zip(a, b)` asks one after the other for its iterator.
        (SiteKind::Call { callee, .. }, ChildKey::Function(it))
            if it.name == "__iter__" && callee.name().is_some_and(is_type_call) =>
        {
            let takes_one =
                callee.name().is_some_and(|it| asks_for_length(it) || hashes_elements(it));
            if takes_one { costs.repeat_operator } else { costs.repeat_iteration }
        }
        (SiteKind::Call { callee, .. }, ChildKey::Function(it))
            if is_look_up(&it.name)
                && (callee.name().is_some_and(hashes_elements)
                    || matches!(before, ChildKey::Function(it) if is_look_up(&it.name))) =>
        {
            0
        }
        // The elements of a tuple.
        (SiteKind::Hash, ChildKey::Function(it)) if is_look_up(&it.name) => 0,
        (SiteKind::Call { .. }, ChildKey::Operator { .. }) if matches!(before, ChildKey::Function(it) if it.is_asked_by_scripts()) => {
            0
        }
        (SiteKind::Call { .. }, ChildKey::Function(_)) if is_dispatcher(before) => 0,
        // TorchDynamo asks whether its code holds, then runs it.
        (SiteKind::Call { .. }, ChildKey::Function(_)) if is_guard(before) => 0,
        // C code calls functions, one after the other.
        (SiteKind::Call { .. }, ChildKey::Function(it))
            if is_run_by_c(site, key) || (is_run_by_c(site, before) && !is_dunder(&it.name)) =>
        {
            costs.repeat_of_package
        }
        // A loop over one generator takes one element, then the next time round.
        (SiteKind::Iterate(Iteration::Next) | SiteKind::Close, ChildKey::Function(it))
            if is_of_function(before, it) && !site.is_made_by_type && !site.is_lazy =>
        {
            costs.repeat_operator
        }
        (_, ChildKey::Function(FunctionKey { is_generator: true, .. })) => 0,
        (
            SiteKind::Subscript { access: Access::Load, index } | SiteKind::Dimension { index },
            ChildKey::Operator { name },
        ) => {
            if matches!(before, ChildKey::Operator { name: before } if before == "index") {
                // One operator takes all parts that are tensors, after all other parts.
                costs.repeat_subscript
            } else if matches!(before, ChildKey::Operator { name: before } if before == "item") {
                // What a tensor says is selected; the value of another tensor is that of another part.
                let is_of_one = index.indices + index.slices <= 1;
                if name == "item" && is_of_one { costs.repeat_subscript } else { 0 }
            } else if matches!(before, ChildKey::Operator { name: before } if is_conversion(before))
                && (is_conversion(name) || name == "index")
            {
                // What became a tensor is converted again, then says which parts are taken.
                0
            } else if !index.has_dimensions && 1 < index.indices && !is_of_number_in_index(name) {
                // A number, then tensors; for one more number there is a site.
                0
            } else if index.indices > 0 && !index.is_literal && !is_read(before) {
                costs.repeat_indexing
            } else {
                costs.repeat_subscript
            }
        }
        (
            SiteKind::Subscript { .. } | SiteKind::Iterate(_) | SiteKind::Unpack { .. },
            ChildKey::Operator { .. },
        ) => 0,
        (SiteKind::Call { callee, .. }, ChildKey::Operator { name })
            if converts(callee.name().unwrap_or(""), name) =>
        {
            costs.repeat_indexing
        }
        (_, ChildKey::Function(it)) if it.name == "<genexpr>" => 0,
        // `sorted(xs, key=lambda x: …)` calls it for each element.
        (SiteKind::Call { passes, .. }, ChildKey::Function(it))
            if it.name == "<lambda>" && !passes.is_empty() =>
        {
            0
        }
        // `list(map(f, xs))` calls it for each element.
        (SiteKind::Call { callee, .. }, ChildKey::Function(it))
            if is_handed(site, callee, it) || takes_mapped(site, callee) =>
        {
            0
        }
        (SiteKind::Spread { .. }, ChildKey::Function(_)) => 0,
        (SiteKind::Spread { .. } | SiteKind::Unpack { .. }, _) if site.calls_for_elements() => 0,
        (SiteKind::Call { .. }, ChildKey::Function(it))
            if it.name == "__setitem__" && site.target.is_class =>
        {
            0
        }
        // A class is called: `__new__`, then `__init__`.
        (SiteKind::Call { .. }, ChildKey::Function(it))
            if matches!(it.name.as_str(), "__init__" | "__post_init__") =>
        {
            0
        }
        (SiteKind::Unpack { .. } | SiteKind::Iterate(_), ChildKey::Function(_)) => {
            costs.repeat_iteration
        }
        // What is looked for in a `dict` is hashed once, then compared.
        (SiteKind::Subscript { .. }, ChildKey::Function(it)) if it.name == "__eq__" => {
            costs.repeat_conversion
        }
        (SiteKind::Compare { .. }, ChildKey::Function(it)) if it.name == "__hash__" => {
            costs.repeat_other
        }
        // A statement looks up its package first, and takes names from another last, each once.
        (SiteKind::Import(_), ChildKey::Function(it))
            if is_of_importlib(it)
                && (it.name == PACKAGE_OF_IMPORT || is_named(before, NAMES_OF_IMPORT)) =>
        {
            costs.repeat_other
        }
        (SiteKind::Import(_), _) if is_named(before, PACKAGE_OF_IMPORT) => 0,
        // The truth of a tensor is read once, and of an object one method says it.
        (SiteKind::TruthTest, _) if before == key => costs.repeat_other,
        (
            SiteKind::Format | SiteKind::Import(_) | SiteKind::TruthTest | SiteKind::Compare { .. },
            _,
        ) => costs.repeat_conversion,
        (SiteKind::Operator { .. } | SiteKind::Unary(_), _) => costs.repeat_operator,
        _ => costs.repeat_other,
    }
}

/// Whether a function is what a comparison of `torch.__version__` calls: its class makes all of them as lambdas.
fn compares_versions(key: &FunctionKey) -> bool {
    key.name == "<lambda>" && key.file.ends_with("torch/torch_version.py")
}

fn is_of_importlib(key: &FunctionKey) -> bool {
    key.file.contains("importlib")
}

fn is_named(key: &ChildKey, name: &str) -> bool {
    matches!(key, ChildKey::Function(it) if it.name == name)
}

/// Whether the methods of tensors are in this file.
fn is_of_tensors(file: &str) -> bool {
    file.ends_with("torch/_tensor.py") || file.ends_with("torch/tensor.py")
}

/// Whether what is before a frame of a generator function is a frame of the same function.
fn is_of_function(before: &ChildKey, key: &FunctionKey) -> bool {
    key.is_generator
        && matches!(before, ChildKey::Function(it) if (&it.name, &it.file) == (&key.name, &key.file))
}

/// Whether a type hashes the elements that it is given, and compares those that are alike.
fn hashes_elements(name: &str) -> bool {
    matches!(name, "set" | "frozenset" | "dict" | "OrderedDict" | "Counter")
}

/// Whether a type takes one value, not elements.
fn is_scalar_type(name: &str) -> bool {
    matches!(name, "int" | "float" | "bool" | "str")
}

/// The cost of a function that is called in place of one of PyTorch: what it calls in turn shows which.
fn in_place_of(site: &Expression<'_>, key: &FunctionKey, costs: &Costs) -> Option<u32> {
    let is_it = match site.kind {
        SiteKind::Call { callee, .. } => {
            callee.name().is_some_and(|called| key.calls.iter().any(|it| is_alike(called, it)))
        }
        SiteKind::Operator { .. } | SiteKind::Unary(_) | SiteKind::Compare { .. } => {
            let run = key.calls.iter().filter_map(|it| operator(site, out_of_place(it), costs));
            return Some(run.min().unwrap_or(costs.torch_function_of_other));
        }
        _ => false,
    };
    if is_it { Some(0) } else { called(site, key, costs) }
}

fn called(site: &Expression<'_>, key: &FunctionKey, costs: &Costs) -> Option<u32> {
    let name = key.name.as_str();
    let is_dunder = is_dunder(name);
    let class = key.source.as_ref().and_then(|source| source.class.as_deref());
    // What a decorator made of `__getitem__` is found by what it calls.
    let methods = |expected: &[&str]| {
        if expected.contains(&name) {
            Some(costs.special_method)
        } else if key.calls.iter().any(|it| expected.iter().any(|name| is_alike(name, it))) {
            Some(costs.wrapped_special_method)
        } else {
            (key.may_wrap() && !is_dunder).then_some(costs.wrapper_of_special)
        }
    };
    match site.kind {
        SiteKind::Call { callee, .. } => Some(called_function(site, callee, key, costs)),
        SiteKind::Attribute { name: attribute, access, owner, is_called, is_of_import, .. } => {
            let is_property = attribute == name || key.calls.contains(attribute);
            match (name, access) {
                ("__get__", Access::Load) if key.file == ENUM_FILE => {
                    let is_its = ENUM_PROPERTIES.contains(&attribute.as_str());
                    Some(if is_its { 0 } else { costs.getattr_found })
                }
                ("__getattr__" | "__getattribute__" | "__get__", Access::Load) => {
                    Some(match site.attribute {
                        _ if is_got_of_object(site, owner.as_deref(), key) => 0,
                        _ if name == "__getattribute__"
                            && owner.as_deref() == Some("self")
                            && class.is_some_and(|it| !site.target.bases.contains(&it)) =>
                        {
                            costs.getattr_found
                        }
                        HeldValue::Registered | HeldValue::RegisteredOrPlain => 0,
                        HeldValue::Unknown => costs.getattr_unknown,
                        HeldValue::Plain | HeldValue::Method { .. } => costs.getattr_found,
                        // `_VF.einsum` is found by `torch/_VF.py`.
                        HeldValue::NotOfSelf if is_of_module(owner.as_deref(), &key.file) => 0,
                        HeldValue::NotOfSelf
                            if is_of_settings(key)
                                && owner.as_ref().is_some_and(|it| it.ends_with("config")) =>
                        {
                            0
                        }
                        HeldValue::NotOfSelf if *is_of_import => costs.getattr_found,
                        HeldValue::NotOfSelf if is_tensor_attribute(attribute) => {
                            costs.getattr_of_tensor
                        }
                        HeldValue::NotOfSelf if is_plain_attribute(attribute) => {
                            costs.getattr_found
                        }
                        HeldValue::NotOfSelf if *is_called => costs.getattr_called,
                        HeldValue::NotOfSelf => costs.getattr_other,
                    })
                }
                // `__setattr__ = __checked_setattr__` in a class leaves the name of the function.
                (_, Access::Store) if name == "__set__" || name.ends_with("setattr__") => {
                    Some(costs.special_method)
                }
                ("__delattr__" | "__delete__", Access::Delete) => Some(costs.special_method),
                (TORCH_FUNCTION, Access::Load) if is_tensor_attribute(attribute) => {
                    Some(costs.torch_function)
                }
                // A property; one without a decorator is hardly any.
                _ if is_property => match &key.source {
                    // What a decorator made of a function is rather called than got.
                    Some(source) if source.is_nested => Some(costs.property_nested),
                    Some(source) => source.is_decorated.then_some(0),
                    // What is called has an event of its own.
                    None if *is_called => Some(costs.property_called),
                    None => Some(costs.property_without_source),
                },
                _ if is_dunder => None,
                // A property may have a name of its own, but it has a decorator.
                _ => match &key.source {
                    Some(source) if !source.is_decorated && !source.is_nested => None,
                    _ => Some(costs.property_renamed),
                },
            }
        }
        SiteKind::Operator { .. } | SiteKind::Unary(_) | SiteKind::Compare { .. }
            if name == TORCH_FUNCTION =>
        {
            (!site.is_plain).then_some(costs.torch_function)
        }
        SiteKind::Operator { op, .. } => methods(binary_methods(*op)),
        SiteKind::Unary(op) => methods(unary_methods(*op)),
        SiteKind::Compare { op: CompareOp::In | CompareOp::NotIn, may_hash, .. }
            if name == "__hash__" =>
        {
            may_hash.then_some(costs.special_method)
        }
        SiteKind::Compare { op, .. } => methods(compare_methods(*op)),
        SiteKind::Subscript { access, index } => {
            let expected = match access {
                Access::Load => "__getitem__",
                Access::Store => "__setitem__",
                Access::Delete => "__delitem__",
            };
            match name {
                _ if name == expected && site.is_builtin_iterable => None,
                _ if name == expected => Some(0),
                TORCH_FUNCTION => (!index.is_of_plain).then_some(costs.torch_function),
                // Numbers and strings are hashed and compared without a trace.
                "__hash__" | "__eq__" => (!index.is_literal).then_some(costs.special_method),
                "__class_getitem__" => Some(costs.special_method),
                "__missing__" => Some(costs.missing_key),
                // A `defaultdict` makes what is missing.
                "__init__" if *access == Access::Load && index.slices == 0 && !index.is_number => {
                    Some(costs.missing_key)
                }
                // `Tuple[int, int]` of `typing`, which keeps what it makes.
                "inner" if key.file == "typing.py" => Some(0),
                _ => methods(&[expected, "__class_getitem__"]),
            }
        }
        SiteKind::TruthTest => match name {
            "__bool__" | "__len__" => Some(costs.special_method),
            TORCH_FUNCTION => (!site.is_plain).then_some(costs.torch_function),
            _ => None,
        },
        SiteKind::Iterate(part) => match name {
            _ if site.is_builtin_iterable => None,
            _ if site.is_made_by_type && *part == Iteration::Start => None,
            "__iter__" if site.is_made_by_type && !site.is_lazy => None,
            "__iter__" => Some(if *part == Iteration::Start { 0 } else { costs.iteration_swapped }),
            "__next__" => Some(if *part == Iteration::Start { costs.iteration_swapped } else { 0 }),
            "__len__" | "__getitem__" => Some(costs.iteration_by_index),
            _ if is_dunder => None,
            _ if site.calls_for_elements() => Some(lazy(site, name, costs)),
            _ if key.source.is_some() || name.ends_with(NUMPY_DISPATCHER) => None,
            // A generator function that goes on.
            _ => Some(if *part == Iteration::Start {
                costs.iteration_starts_function
            } else {
                costs.iteration_steps_function
            }),
        },
        SiteKind::Unpack { .. } => match name {
            _ if site.is_builtin_iterable => None,
            "__iter__" if is_of_tensors(&key.file) => Some(0),
            "__iter__" => Some(costs.unpack_object),
            // An iterator has no length.
            "__len__" if site.is_lazy || site.is_made_by_type => None,
            "__next__" | "__len__" => Some(costs.special_method),
            _ if site.calls_for_elements() => Some(lazy(site, name, costs)),
            _ => Some(costs.unpack_function),
        },
        SiteKind::Hash => match name {
            "__hash__" => Some(0),
            "__eq__" => Some(costs.special_method),
            _ => None,
        },
        // `*args` and `**kwargs` are a tuple and a dict.
        SiteKind::Spread { .. } if site.mentions.iter().all(|it| it.ends_with("args")) => None,
        SiteKind::Spread { mapping } => match name {
            "keys" if *mapping => Some(0),
            "__iter__" | "__next__" | "__len__" | "__getitem__" => Some(costs.spread_element),
            _ if site.calls_for_elements() => Some(lazy(site, name, costs)),
            _ => None,
        },
        SiteKind::Enter | SiteKind::Exit => {
            let expected = match site.kind {
                SiteKind::Enter => ["__enter__", "__aenter__"],
                _ => ["__exit__", "__aexit__"],
            };
            let is_other = key.is_of_other_context_manager(|it| site.mentions.contains(it));
            methods(&expected).map(|cost| cost + if is_other { costs.context_of_other } else { 0 })
        }
        SiteKind::Format => matches!(name, "__format__" | "__str__" | "__repr__").then_some(0),
        SiteKind::Import(form) => {
            let is_left = match name {
                // Settings are read where they are used.
                "__getattr__" => !is_of_settings(key),
                PACKAGE_OF_IMPORT => is_of_importlib(key) && *form == ImportForm::RelativeNames,
                NAMES_OF_IMPORT => is_of_importlib(key) && *form != ImportForm::Module,
                _ => is_of_importlib(key),
            };
            is_left.then_some(0)
        }
        // `@no_grad()` makes an object, which is called with the function.
        SiteKind::Decorate { .. } if name == "__call__" => Some(costs.special_method),
        SiteKind::Decorate { .. } => (!is_dunder).then_some(costs.decorator_applied),
        SiteKind::ClassDef { .. } => {
            matches!(name, "__new__" | "__init__" | "__prepare__" | "__init_subclass__")
                .then_some(costs.special_method)
        }
        SiteKind::Await | SiteKind::Yield => (!is_dunder).then_some(costs.await_function),
        _ => None,
    }
}

/// Whether a call of `called` may run a function that is handed to it, or take elements, without an event of its own.
fn runs_functions(called: &str) -> bool {
    is_type_call(called)
        || matches!(called, "deque" | "sorted" | "next" | "reduce" | "sum" | "max" | "min")
}

/// Whether a call of `called` takes the elements of what it is given, which a call may make.
fn takes_elements(called: &str) -> bool {
    runs_functions(called)
        && !takes_later(called)
        && !matches!(called, "int" | "float" | "bool" | "str" | "range" | "slice" | "type")
}

/// Whether a function is handed, by its name or by that of what it wraps, to a call that may run it.
fn is_handed(site: &Expression<'_>, callee: &Callee, key: &FunctionKey) -> bool {
    let is_named = |name: &str| site.mentions.contains(name);
    let wraps_it =
        || key.may_wrap() && (site.hands_decorated || key.calls.iter().any(|it| is_named(it)));
    callee.name().is_some_and(runs_functions) && (is_named(&key.name) || wraps_it())
}

/// Whether a call takes elements for each of which `map` or `filter` calls a function: `deque(map(f, xs), maxlen=0)`.
fn takes_mapped(site: &Expression<'_>, callee: &Callee) -> bool {
    callee.name().is_some_and(runs_functions) && site.mentions.iter().any(calls_for_each)
}

/// Whether a method runs where something is looked for among keys.
fn is_look_up(name: &str) -> bool {
    matches!(name, "__hash__" | "__eq__")
}

/// Whether a call of `called` asks what it is given how many elements it has, before it takes them.
fn asks_for_length(called: &str) -> bool {
    matches!(called, "list" | "tuple" | "sorted" | "bool" | "deque" | "reversed")
}

fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

/// Whether two names differ in underscores alone: `__pow__` and `pow`.
fn is_alike(one: &str, other: &str) -> bool {
    one.trim_matches('_') == other.trim_matches('_')
}

/// Whether the last word of two names is the same: `fn_next` and `_contract_edges_next`.
fn ends_alike(one: &str, other: &str) -> bool {
    let last = |it: &'_ str| it.rsplit('_').next().map(str::len).filter(|it| MIN_WORD <= *it);
    last(one).is_some_and(|n| last(other) == Some(n) && one.ends_with(&other[other.len() - n..]))
}

/// Letters of a word that says which function it is, and not that it is one (`fn`, `fun`, `cb`).
const MIN_WORD: usize = 4;

/// How NumPy names the functions that find out whose implementation of a function is run.
const NUMPY_DISPATCHER: &str = "_dispatcher";

/// Whether a function is what NumPy runs before `called` to find out whose implementation that is.
fn is_dispatcher_of(name: &str, called: &str) -> bool {
    name.strip_suffix(NUMPY_DISPATCHER).is_some_and(|it| is_alike(it, called))
}

/// Whether an event shows that a call runs C code: it is a function of the package of the called one.
fn is_run_by_c(site: &Expression<'_>, event: &ChildKey) -> bool {
    let ChildKey::Function(it) = event else { return false };
    site.target.package.is_some_and(|package| is_of_package(package, &it.file))
}

/// Whether an event was a guard of TorchDynamo.
fn is_guard(before: &ChildKey) -> bool {
    let ChildKey::Function(it) = before else { return false };
    it.file.ends_with("torch/_dynamo/guards.py") || (it.file == "<string>" && it.name == "guard")
}

/// Whether an event was a dispatcher of NumPy: the function that it is for comes next.
fn is_dispatcher(before: &ChildKey) -> bool {
    matches!(before, ChildKey::Function(it) if it.name.ends_with(NUMPY_DISPATCHER))
}

/// Whether a call names the module that its function is of, and the function that was called is of another one:
/// `F_t.resize(x)` and `torchvision/transforms/_functional_pil.py`.
fn is_of_other_module(callee: &Callee, key: &FunctionKey) -> bool {
    let Binding::Imported { name, .. } = &callee.binding else { return false };
    let is_function = key.source.as_ref().is_none_or(|it| it.class.is_none());
    let owner = match callee.path.as_slice() {
        [_, _] => name.as_str(),
        [_, .., owner, _] => owner.as_str(),
        _ => return false,
    };
    let is_name = |part: &str| part.contains(owner.trim_matches('_'));
    is_function && !is_class_name(owner) && owner != "()" && !key.file.split('/').any(is_name)
}

/// Whether `self.name` is called. Where no class around has a method of this name, it is rather an attribute.
fn is_of_self(callee: &Callee) -> bool {
    callee.path.len() == 2 && first_name(callee) == Some("self")
}

/// The first name of a dotted callee.
fn first_name(callee: &Callee) -> Option<&str> {
    callee.path.first().map(String::as_str)
}

fn called_function(
    site: &Expression<'_>,
    callee: &Callee,
    key: &FunctionKey,
    costs: &Costs,
) -> u32 {
    let (name, target) = (key.name.as_str(), &site.target);
    let called = callee.name();
    let class = key.source.as_ref().and_then(|source| source.class.as_deref());
    if called == Some(name) {
        let is_base = class.is_none_or(|it| target.bases.is_empty() || target.bases.contains(&it));
        if callee.is_super && !is_base {
            return costs.super_of_other;
        }
        // Methods are called as attributes, functions by their names or as attributes of modules.
        let is_unlike = match &key.source {
            Some(_) if callee.is_method => {
                class.is_none() && target.certainty != Certainty::Imported
            }
            Some(_) => class.is_some(),
            None => false,
        };
        return match is_unlike {
            true => costs.call_unlike,
            false if is_of_other_module(callee, key) => costs.call_of_other_module,
            false => 0,
        };
    }
    if target.has(name) {
        return costs.call_assigned;
    }
    match name {
        "__init__" | "__new__" | "__post_init__" | "__instancecheck__" | "__subclasscheck__" => {
            let is_class = class.is_some_and(|class| {
                target.has(class) || (target.is_class && target.bases.contains(&class))
            });
            return match target.certainty {
                _ if is_class => 0,
                // A metaclass makes an object.
                _ if called == Some("__call__")
                    && (callee.is_super || callee.path.first().is_some_and(|it| it == "type")) =>
                {
                    costs.special_method
                }
                _ if name.ends_with("check__") => match called {
                    Some("isinstance" | "issubclass") => costs.call_check,
                    _ => costs.call_check_elsewhere,
                },
                // That of a base.
                _ if target.is_class || called.is_some_and(is_class_name) => costs.init_of_base,
                Certainty::Anything => costs.init_of_unknown,
                // Some classes are written like functions: `torch.no_grad`.
                Certainty::Imported => costs.init_of_imported,
                _ => costs.init_elsewhere,
            };
        }
        "__call__" => {
            let is_maker = class.is_some_and(|class| target.makers.contains(&class));
            let is_operator = callee.path.len() > 2 && callee.path[..2] == ["torch", "ops"];
            return match target.certainty {
                _ if is_operator && key.is_other_operator(&callee.path) => {
                    costs.call_other_operator
                }
                _ if is_maker || is_operator => 0,
                _ if target.is_class => costs.call_object_class,
                Certainty::Anything => costs.call_object_unknown,
                Certainty::Attribute | Certainty::Imported => costs.call_object_attribute,
                Certainty::Method if is_of_self(callee) => costs.call_object_attribute,
                Certainty::Method => costs.call_object_method,
                Certainty::Defined | Certainty::Builtin => costs.call_object_defined,
            };
        }
        _ => {}
    }
    if is_dunder(name) {
        // `len`, `iter`, `next`, `float` … of an object of a Python class are recorded below the built-in, or alone.
        let inner = name.trim_matches('_');
        let is_iteration = matches!(name, "__iter__" | "__next__" | "__len__" | "__getitem__");
        return match target.certainty {
            _ if called == Some(inner) => costs.dunder_by_function,
            _ if matches!(name, "__getattr__" | "__getattribute__")
                && matches!(called, Some("getattr" | "hasattr")) =>
            {
                costs.dunder_by_function
            }
            _ if name == "__len__" && called.is_some_and(|it| !asks_for_length(it)) => {
                costs.dunder_elsewhere
            }
            // `zip(a, b)` and `enumerate(a)` ask for iterators as a loop does.
            _ if name == "__iter__" && called.is_some_and(takes_later) => 0,
            _ if is_iteration && called.is_some_and(runs_functions) => costs.dunder_in_iteration,
            // A class made of `dict` is given its items.
            _ if name == "__setitem__" && target.is_class => costs.dunder_in_iteration,
            _ if is_look_up(name) && called.is_some_and(hashes_elements) => {
                costs.dunder_in_iteration
            }
            // What keeps the results of a function looks up what that is passed.
            _ if is_look_up(name) && target.is_memoized => costs.dunder_by_function,
            Certainty::Imported if is_look_up(name) && !target.is_class => costs.dunder_unknown,
            Certainty::Anything => costs.dunder_unknown,
            _ => costs.dunder_elsewhere,
        };
    }
    if key.is_asked_by_scripts() {
        return costs.scripted_call;
    }
    // It makes what calls later, if anything.
    let takes_mapped = takes_mapped(site, callee);
    if called == Some("partial")
        || (is_type_of_c(callee) && !takes_mapped && !is_handed(site, callee, key))
    {
        return costs.call_other_defined;
    }
    if key.may_wrap() {
        // What is built in has no decorator.
        let is_builtin = target.certainty == Certainty::Builtin;
        let wraps_it = key.calls.iter().any(|it| {
            (target.has(it) && !is_builtin)
                || (target.is_class && matches!(it.as_str(), "__init__" | "__new__"))
        });
        return match target.certainty {
            _ if wraps_it => costs.wrapper_calls_it,
            _ if is_handed(site, callee, key) => costs.call_handed_named,
            _ if takes_mapped => costs.wrapper_mapped,
            _ if called.is_some_and(takes_elements) => costs.call_handed_unnamed,
            _ if target.is_decorated || is_called_like(callee, &key.file) => {
                costs.wrapper_decorated
            }
            Certainty::Anything => costs.wrapper_unknown,
            Certainty::Defined => costs.wrapper_defined,
            Certainty::Builtin => costs.wrapper_builtin,
            _ if is_ufunc(callee) => costs.wrapper_builtin,
            _ => costs.wrapper_other,
        };
    }
    if called.is_some_and(|it| is_dispatcher_of(name, it)) {
        return 0;
    }
    // Some are of several functions: `_vhstack_dispatcher`.
    let is_of_its = || package(callee).is_some_and(|it| is_of_package(it, &key.file));
    let has_several = !target.has_dispatcher && !is_ufunc(callee);
    if name.ends_with(NUMPY_DISPATCHER) && has_several && is_of_its() {
        return costs.dispatcher_of_several;
    }
    // Private implementations are called by their public names, and the other way round.
    let is_alike = called.is_some_and(|it| is_alike(it, name));
    // `forward_call = self.forward`, then `forward_call(x)`: names for functions keep something of the function's name.
    let is_related = called.is_some_and(|it| {
        it.len() > 2 && name.len() > 2 && (it.contains(name) || name.contains(it))
    });
    match target.certainty {
        _ if is_alike => costs.call_alike,
        _ if is_handed(site, callee, key) => costs.call_handed_named,
        _ if called.is_some_and(takes_elements) => costs.call_handed_unnamed,
        Certainty::Anything if is_related => costs.call_related_unknown,
        Certainty::Anything => costs.call_unknown,
        Certainty::Attribute if called.is_some_and(|it| ends_alike(it, name)) => {
            costs.call_attribute_alike
        }
        Certainty::Attribute => costs.call_other_attribute,
        Certainty::Method | Certainty::Imported if is_related => costs.call_related,
        Certainty::Imported if target.package.is_some_and(|it| is_of_package(it, &key.file)) => {
            costs.call_of_package
        }
        Certainty::Imported if target.package.is_some() => costs.call_with_package,
        Certainty::Method => costs.call_other_method,
        Certainty::Imported if is_ufunc(callee) => costs.call_other_defined,
        Certainty::Imported => costs.call_other_imported,
        Certainty::Defined if target.is_decorated => costs.call_other_imported,
        Certainty::Defined | Certainty::Builtin => costs.call_other_defined,
    }
}

/// Lambdas, comprehensions and generator expressions: their frames are distinguished by where they stand.
fn comprehension(
    site: &Expression<'_>,
    name: &str,
    index: Option<usize>,
    arguments: &[usize],
    costs: &Costs,
) -> Option<u32> {
    let is_here = |function: usize| index == Some(function);
    // What is passed to a call runs in it, not in another.
    let elsewhere =
        if index.is_some_and(|it| arguments.contains(&it)) { costs.argument_elsewhere } else { 0 };
    match (site.kind, name) {
        (SiteKind::Comprehension { function }, "<listcomp>" | "<setcomp>" | "<dictcomp>") => {
            Some(if is_here(*function) { 0 } else { costs.other_comprehension })
        }
        // Whatever takes a generator's elements runs its frame.
        (SiteKind::Call { callee, passes, .. }, "<genexpr>" | "<lambda>")
            if passes.iter().any(|&it| is_here(it)) =>
        {
            let is_later = match &callee.path[..] {
                [name] => takes_later(name),
                _ => callee.name().is_some_and(is_of_itertools),
            };
            Some(if is_later { costs.argument_elsewhere } else { 0 })
        }
        (SiteKind::Call { callee, .. }, "<genexpr>") => Some(
            elsewhere
                + match callee.name() {
                    Some(called) if takes_later(called) => costs.generator_in_call,
                    Some(called) if is_type_call(called) && !is_scalar_type(called) => {
                        costs.genexpr_in_type
                    }
                    _ => costs.genexpr_in_call,
                },
        ),
        // `map` and `filter` call a function for each element.
        (_, "<lambda>") if site.calls_for_elements() => Some(match site.lambda {
            Some(lambda) if is_here(lambda) => costs.lazy_named,
            Some(_) => costs.lazy_unnamed + costs.argument_elsewhere,
            None => costs.lazy_unnamed,
        }),
        // A type is no lambda.
        (SiteKind::Call { callee, .. }, "<lambda>") if is_type_of_object(callee) => {
            Some(costs.argument_elsewhere + costs.lambda_in_call)
        }
        (SiteKind::Call { .. }, "<lambda>") => Some(elsewhere + costs.lambda_in_call),
        // `defaultdict(lambda: …)` calls it for a key that it does not have.
        (SiteKind::Subscript { access: Access::Load, .. }, "<lambda>") => Some(costs.missing_key),
        (SiteKind::Iterate(Iteration::Start), "<genexpr>") => None,
        (SiteKind::Unpack { .. } | SiteKind::Iterate(_) | SiteKind::Spread { .. }, "<genexpr>") => {
            Some(
                elsewhere
                    + if site.takes.is_some_and(is_here) { 0 } else { costs.genexpr_iterated },
            )
        }
        (SiteKind::Compare { op: CompareOp::In | CompareOp::NotIn, .. }, "<genexpr>") => {
            Some(costs.genexpr_in_comparison)
        }
        (SiteKind::Import(_), "<module>") => Some(costs.import_module),
        _ => None,
    }
}

fn module(site: &Expression<'_>, class: &str, costs: &Costs) -> Option<u32> {
    if site.calls_for_elements() {
        return Some(costs.lazy_unnamed);
    }
    let SiteKind::Call { callee, .. } = site.kind else { return None };
    let target = &site.target;
    if target.makers.contains(&class) {
        return Some(0);
    }
    let Some(name) = callee.name() else { return Some(costs.module_nameless) };
    // Something may wrap or subclass what was made.
    let is_other = target.makers.iter().any(|it| is_class_name(it));
    Some(match target.certainty {
        _ if is_type_call(name) => costs.module_of_type,
        _ if name.contains("checkpoint") => costs.module_of_checkpoint,
        _ if target.is_class => costs.module_of_class,
        Certainty::Builtin => costs.module_of_builtin,
        Certainty::Defined => costs.module_of_defined,
        Certainty::Imported if callee.path.len() > 1 => costs.module_of_function,
        Certainty::Imported => costs.module_of_imported,
        Certainty::Anything | Certainty::Attribute if is_other => costs.module_of_other_class,
        Certainty::Anything | Certainty::Attribute => costs.module_of_attribute,
        Certainty::Method if is_of_self(callee) => costs.module_of_attribute,
        Certainty::Method => costs.module_of_method,
    })
}

fn builtin(
    site: &Expression<'_>,
    name: &str,
    owner: Owner,
    runs: Option<usize>,
    costs: &Costs,
) -> Option<u32> {
    match site.kind {
        SiteKind::Call { callee, passes, .. } => {
            let is_alike = callee.name().is_some_and(|it| is_alike(it, name));
            let of_name = if callee.name() == Some(name) {
                owned(site.target.certainty, callee, owner, costs)
            } else if site.target.has(name) {
                costs.call_assigned
            } else if is_alike {
                costs.builtin_alike
            } else {
                match site.target.certainty {
                    _ if is_container_method(callee) => costs.builtin_of_containers,
                    Certainty::Anything => costs.builtin_unknown,
                    Certainty::Method | Certainty::Attribute | Certainty::Imported => {
                        costs.builtin_other
                    }
                    Certainty::Defined | Certainty::Builtin => costs.builtin_defined,
                }
            };
            let of_argument = match runs {
                Some(function) if passes.contains(&function) => 0,
                Some(_) if passes.is_empty() => costs.builtin_runs_unpassed,
                Some(_) => costs.builtin_runs_other,
                None => 0,
            };
            Some(of_name + of_argument)
        }
        SiteKind::Enter => matches!(name, "__enter__" | "__aenter__").then_some(0),
        SiteKind::Exit => matches!(name, "__exit__" | "__aexit__").then_some(0),
        SiteKind::Import(_) => matches!(name, "__import__").then_some(0),
        SiteKind::ClassDef { .. } => matches!(name, "__build_class__").then_some(0),
        SiteKind::Format => {
            matches!(name, "__format__" | "format").then_some(costs.builtin_special)
        }
        SiteKind::Decorate { .. } => Some(costs.builtin_decorator),
        SiteKind::Subscript { .. } => {
            matches!(name, "__getitem__" | "__setitem__" | "__class_getitem__")
                .then_some(costs.builtin_special)
        }
        SiteKind::Operator { op, .. } => {
            binary_methods(*op).contains(&name).then_some(costs.builtin_special)
        }
        SiteKind::Iterate(_) => (!site.is_builtin_iterable
            && matches!(name, "__iter__" | "__next__" | "next" | "iter"))
        .then_some(costs.builtin_iteration),
        SiteKind::Attribute { .. } => {
            matches!(name, "__getattribute__" | "__get__").then_some(costs.builtin_attribute)
        }
        _ => None,
    }
}

/// The cost of a built-in of `owner` where one of its name is called: `math.sqrt(x)`, `torch.sqrt(x)`, `x.sqrt()`.
fn owned(certainty: Certainty, callee: &Callee, owner: Owner, costs: &Costs) -> u32 {
    match (owner, certainty) {
        (Owner::Module | Owner::Class, Certainty::Method) if callee.path.len() == 2 => {
            costs.builtin_owner
        }
        (Owner::Object, Certainty::Imported) if callee.is_method => costs.builtin_owner,
        (Owner::Object, Certainty::Builtin) => costs.builtin_owner,
        _ => 0,
    }
}

fn operator(site: &Expression<'_>, name: &str, costs: &Costs) -> Option<u32> {
    let cost = operator_of(site, name, costs)?;
    // That the text is wrong is unlikely once: it says so of the truth of a comparison where it says so of the comparison.
    let is_known = *site.kind == SiteKind::TruthTest && site.goes_on;
    Some(if site.is_plain && !is_known { cost + costs.plain_operator } else { cost })
}

fn operator_of(site: &Expression<'_>, name: &str, costs: &Costs) -> Option<u32> {
    match site.kind {
        SiteKind::Operator { op, .. } => {
            let operators = binary_operators(*op);
            operators
                .iter()
                .position(|it| *it == name)
                .map(|at| if at == 0 { 0 } else { costs.operator_unusual })
        }
        SiteKind::Unary(op) => match op {
            UnaryOp::Minus => (name == "neg").then_some(0),
            UnaryOp::Invert => matches!(name, "bitwise_not" | "logical_not").then_some(0),
            UnaryOp::Plus => (name == "positive").then_some(0),
        },
        SiteKind::Compare { op, left_is_literal, .. } => {
            let position = compare_operators(*op).iter().position(|it| *it == name);
            // Those of a number and a tensor are turned round.
            let is_turned = is_ordering(*op) && position == Some(1) && !left_is_literal;
            position.map(|_| if is_turned { costs.comparison_turned } else { 0 })
        }
        SiteKind::Subscript { access, index } => subscript(name, *access, *index, costs),
        // Indices that are tensors are taken at once.
        SiteKind::Dimension { index } if !index.has_dimensions && !is_of_number_in_index(name) => {
            None
        }
        SiteKind::Dimension { index } => subscript(name, Access::Load, *index, costs),
        SiteKind::TruthTest => match name {
            "is_nonzero" => Some(0),
            "item" | "any" | "_local_scalar_dense" => Some(costs.operator_truth),
            _ => None,
        },
        SiteKind::Iterate(_) => match name {
            "unbind" => Some(0),
            "select" => Some(costs.operator_select),
            _ => None,
        },
        SiteKind::Unpack { .. } => match name {
            "unbind" => Some(0),
            "select" => Some(costs.operator_select),
            _ => None,
        },
        SiteKind::Attribute { name: attribute, access: Access::Load, .. } => {
            attribute_operators(attribute).contains(&name).then_some(costs.operator_attribute)
        }
        // `x.imag *= 2` gets a view, then copies to one.
        SiteKind::Attribute { name: attribute, access: Access::Store, .. }
            if is_part_of_complex(attribute) =>
        {
            let is_its = name == "copy" || attribute_operators(attribute).contains(&name);
            is_its.then_some(costs.operator_attribute)
        }
        SiteKind::Attribute { name: attribute, access: Access::Store, .. } => match name {
            _ if attribute != "data" => None,
            // Nothing else runs it.
            "_has_compatible_shallow_copy_type" => Some(0),
            "set_data" | "detach" => Some(costs.operator_attribute),
            _ => None,
        },
        SiteKind::Format => {
            matches!(name, "item" | "_local_scalar_dense").then_some(costs.operator_attribute)
        }
        SiteKind::Call { callee, .. } => called_operator(callee, name, costs),
        _ => None,
    }
}

/// Operators by which numbers and arrays become tensors, and tensors others of the same values.
const CONVERSIONS: [&str; 9] =
    ["lift_fresh", "detach", "to", "_to_copy", "empty", "copy", "alias", "zeros", "fill"];

/// Whether calling `called` leaves no event but operators like `name`: it is a type that makes tensors.
fn converts(called: &str, name: &str) -> bool {
    let is_constructor = called.ends_with("Tensor") || matches!(called, "Variable" | "Parameter");
    is_constructor && is_conversion(name)
}

/// Whether an operator makes a tensor of numbers and arrays, or of another tensor.
fn is_conversion(name: &str) -> bool {
    CONVERSIONS.contains(&name)
}

/// Packages that know no tensors: their functions run no operators.
const WITHOUT_TENSORS: [&str; 11] = [
    "numpy",
    "math",
    "random",
    "os",
    "sys",
    "time",
    "json",
    "collections",
    "itertools",
    "logging",
    "scipy",
];

/// Whether what is imported from `path` runs no operators.
fn is_without_tensors(path: &str) -> bool {
    path.split('.').next().is_some_and(|package| WITHOUT_TENSORS.contains(&package))
}

/// Operators directly below a call: the call itself left no event, because a type or a hidden function was called.
fn called_operator(callee: &Callee, name: &str, costs: &Costs) -> Option<u32> {
    let called = callee.name().unwrap_or("");
    let conversions = match called {
        "float" | "int" | "bool" | "complex" | "range" | "str" | "round" | "divmod" | "slice" => {
            ["item", "_local_scalar_dense", "is_nonzero", "to"].contains(&name)
        }
        "list" | "tuple" | "set" | "sum" | "max" | "min" | "sorted" | "any" | "all"
            if name == "select" =>
        {
            return Some(costs.operator_select);
        }
        "list" | "tuple" | "set" | "zip" | "enumerate" | "map" | "iter" | "reversed" | "sum"
        | "max" | "min" | "sorted" | "any" | "all"
            if name == "unbind" =>
        {
            true
        }
        "sum" => matches!(name, "add" | "item"),
        "max" | "min" | "sorted" => matches!(name, "gt" | "lt" | "is_nonzero" | "item"),
        "any" | "all" => name == "is_nonzero",
        "set" => name == "item",
        _ => false,
    };
    if conversions {
        return Some(costs.operator_conversion);
    }
    if converts(called, name) {
        return Some(costs.operator_conversion);
    }
    // The type `slice` is no operator of tensors.
    if called.trim_end_matches('_') == name && callee.path != ["slice"] {
        return Some(costs.operator_of_call);
    }
    match &callee.binding {
        Binding::Imported { path, .. } if is_without_tensors(path) => None,
        _ => Some(costs.operator_in_call),
    }
}

/// Operators by which a part of a tensor is written.
const WRITES: [&str; 6] =
    ["copy", "fill", "index_put", "_index_put_impl", "masked_fill", "index_fill"];

/// Whether an operator is of a number among the indices of a tensor, or of a tensor that holds one.
fn is_of_number_in_index(name: &str) -> bool {
    matches!(name, "select" | "item")
}

/// Whether an operator takes a part of a tensor.
fn is_read(key: &ChildKey) -> bool {
    matches!(key, ChildKey::Operator { name } if matches!(name.as_str(), "index" | "select" | "slice"))
}

/// Whether an operator gives the real or the imaginary part of a tensor.
fn is_view_of_part(key: &ChildKey) -> bool {
    matches!(key, ChildKey::Operator { name } if is_part_of_complex(name))
}

/// Whether an attribute of tensors, and the operator that it runs, is that of the real or the imaginary part.
fn is_part_of_complex(name: &str) -> bool {
    matches!(name, "real" | "imag")
}

/// Whether an operator writes to a part of a tensor.
fn is_write(key: &ChildKey) -> bool {
    matches!(key, ChildKey::Operator { name } if WRITES.contains(&name.as_str()))
}

fn subscript(name: &str, access: Access, index: Index, costs: &Costs) -> Option<u32> {
    if index.is_of_plain {
        return None;
    }
    let fits = |n: u32| if n > 0 { 0 } else { costs.subscript_without_part };
    let read = match name {
        "slice" => Some(fits(index.slices)),
        "unsqueeze" => Some(fits(index.new_axes)),
        "select" => Some(fits(if index.is_tensor { 0 } else { index.indices })),
        "index" => Some(fits(if index.is_literal || index.is_number { 0 } else { index.indices })),
        "alias" | "view" => Some(if index.n_operators() == 0 { 0 } else { costs.subscript_alias }),
        _ if is_conversion(name) && index.indices > 0 && !index.is_literal => {
            Some(if index.is_of_arrays { 0 } else { costs.subscript_converted })
        }
        "lift_fresh" | "to" | "detach" if access == Access::Load => {
            Some(costs.subscript_unconverted)
        }
        // An index that is a tensor of one number.
        "item" if index.indices > 0 && !index.is_literal && !index.is_number => {
            Some(costs.subscript_by_value)
        }
        "item" | "_local_scalar_dense" if index.is_literal => None,
        "item"
        | "_local_scalar_dense"
        | "nonzero"
        | "to"
        | "lift_fresh"
        | "detach"
        | "permute"
        | "expand" => Some(costs.subscript_other),
        _ => None,
    };
    let is_written = WRITES.contains(&name);
    match access {
        Access::Load => read,
        Access::Store if is_written => Some(0),
        Access::Store => read.map(|cost| cost + costs.subscript_store),
        Access::Delete => None,
    }
}

/// Whether a call mentions what may be an object of `class`.
fn is_object_named(site: &Expression<'_>, class: &str) -> bool {
    site.mentions.iter().any(|it| is_name_of_object(it, class))
        || (site.mentions.contains("self") && site.target.bases.contains(&class))
}

/// Whether a variable or attribute is called like a class: `config` like `PretrainedConfig`.
fn is_name_of_object(name: &str, class: &str) -> bool {
    let name = name.trim_matches('_');
    name.len() > 2 && class.to_lowercase().ends_with(&name.to_lowercase())
}

/// Whether an attribute is got of an object of the class of a method: `self.x` in that class, `config.x` with a method of
/// `PretrainedConfig`. One of the class itself is not.
fn is_got_of_object(site: &Expression<'_>, owner: Option<&str>, method: &FunctionKey) -> bool {
    let class = method.source.as_ref().and_then(|source| source.class.as_deref());
    match (owner, class) {
        (Some("self"), Some(class)) => {
            method.name == "__getattribute__" && site.target.bases.contains(&class)
        }
        (Some(name), Some(class)) => name != class && is_name_of_object(name, class),
        _ => false,
    }
}

/// Whether what is called, or what a method is called on, has a name like a file: `clip_grad_norm_` and
/// `torch/nn/utils/clip_grad.py`, `optimizer_g.step` and `torch/optim/optimizer.py`.
fn is_called_like(callee: &Callee, file: &str) -> bool {
    let Some(stem) = file.rsplit('/').next().and_then(|name| name.strip_suffix(".py")) else {
        return false;
    };
    if stem.len() > 3 && callee.name().is_some_and(|it| it.contains(stem)) {
        return true;
    }
    let owner = callee.path.len().checked_sub(2).map(|at| callee.path[at].to_lowercase());
    owner.is_some_and(|it| it.len() > 2 && (it.contains(stem) || stem.contains(&it)))
}

/// The package or module of the imported function that is called, if there may be C code in it that calls Python functions of it:
/// `numpy` of `np.random.randint`, `scipy` of `dijkstra` of `scipy.sparse.csgraph`.
fn package(callee: &Callee) -> Option<&str> {
    let Binding::Imported { name, path } = &callee.binding else { return None };
    let package = match callee.path.len() {
        1 => path.split('.').next().unwrap_or_default(),
        _ => name,
    };
    Some(package).filter(|it| !matches!(*it, "" | "torch"))
}

/// Whether a file is one of a package or module: `numpy/core/fromnumeric.py` of `numpy`.
fn is_of_package(package: &str, file: &str) -> bool {
    file.strip_prefix(package).is_some_and(|rest| rest.starts_with('/') || rest == ".py")
}

/// Whether an attribute of what is called `owner` is one of the module that a file is: `_VF.einsum` of `torch/_VF.py`.
fn is_of_module(owner: Option<&str>, file: &str) -> bool {
    let stem = file.rsplit('/').next().and_then(|name| name.strip_suffix(".py"));
    stem.is_some() && stem == owner
}

/// Whether a method is that of PyTorch's modules of settings: `torch._dynamo.config.verbose`.
fn is_of_settings(method: &FunctionKey) -> bool {
    method.file.ends_with("torch/utils/_config_module.py")
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

fn is_ordering(op: CompareOp) -> bool {
    matches!(op, CompareOp::Lt | CompareOp::LtE | CompareOp::Gt | CompareOp::GtE)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Classes, expressions};
    use crate::testing::{code, function, operator};

    /// The lowest cost of `key` on each line of a function `f`; lines that cannot leave it are absent.
    fn by_line(text: &str, key: &ChildKey) -> Vec<(u32, u32)> {
        let code = code(text, "f");
        let classes = Classes::default();
        let mut lines = std::collections::BTreeMap::new();
        for (site, expression) in code.flow.sites.iter().zip(&expressions(&code, &classes)) {
            let cost = emission(expression, key, &code.recorded, &[], &Costs::default());
            let Some(cost) = cost else { continue };
            let least = lines.entry(site.line).or_insert(cost);
            *least = cost.min(*least);
        }
        lines.into_iter().collect()
    }

    fn line_of(text: &str, key: &ChildKey) -> Option<u32> {
        by_line(text, key).into_iter().min_by_key(|&(_, cost)| cost).map(|(line, _)| line)
    }

    #[test]
    fn an_operator_comes_from_its_symbol() {
        let text = "def f(a, b):\n    c = a + b\n    d = a @ c\n    return -d\n";
        assert_eq!(by_line(text, &operator("matmul")), [(3, 0)]);
        assert_eq!(by_line(text, &operator("add")), [(2, 0)]);
        assert_eq!(by_line(text, &operator("neg")), [(4, 0)]);
        assert_eq!(by_line(text, &operator("conv2d")), []);
    }

    #[test]
    fn functions_of_arrays_run_no_operators() {
        let text =
            "import numpy as np\ndef f(a):\n    b = np.zeros(3)\n    return FloatTensor(b)\n";
        assert_eq!(
            by_line(text, &operator("lift_fresh")),
            [(4, Costs::default().operator_conversion)]
        );
    }

    #[test]
    fn a_function_is_called_by_its_name() {
        let text = "def f(x):\n    a = other(x)\n    return scale(a)\n";
        assert_eq!(line_of(text, &ChildKey::Function(function("scale", None))), Some(3));
    }

    #[test]
    fn an_initializer_is_that_of_the_class_that_is_called() {
        let text = "class A(Base):\n    def f(self):\n        super().__init__()\n        return Thing()\n";
        let of = |class| line_of(text, &ChildKey::Function(function("__init__", Some(class))));
        assert_eq!(of("Thing"), Some(4));
        assert_eq!(of("Base"), Some(3));
    }

    #[test]
    fn a_mapping_gives_its_keys_and_values() {
        let text = "def f(m, **kwargs):\n    a = g(**m)\n    return g(**kwargs)\n";
        let keys = by_line(text, &ChildKey::Function(function("keys", None)));
        assert_eq!(keys.iter().min_by_key(|it| it.1), Some(&(2, 0)));
        let elements = by_line(text, &ChildKey::Function(function("__getitem__", None)));
        assert_eq!(
            elements.iter().min_by_key(|it| it.1),
            Some(&(2, Costs::default().spread_element))
        );
    }

    #[test]
    fn what_certainly_leaves_an_event_is_not_skipped() {
        let code = code("def f(x):\n    a = len(x)\n    b = int(a)\n    return b\n", "f");
        let classes = Classes::default();
        let costs = Costs::default();
        let skipped: Vec<u16> = expressions(&code, &classes)
            .iter()
            .map(|it| skip_cost(it, &Called::default(), &costs))
            .collect();
        assert_eq!(skipped, [costs.skip_defined as u16, 0]);
    }
}
