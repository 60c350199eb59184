//! What the text around a site shows about what it can leave: what a name is bound to, what an attribute holds.

use std::sync::Arc;

use pysource::flow::{
    Access, Binding, Callee, Flow, Iterable, Iteration, Mentions, Site, SiteKind, calls_for_each,
};
use pysource::{Arity, AssignedValue, Decoration, Function, FunctionKind, Module};
use recorded::RecordedSources;
use rustc_hash::FxHashMap;

use crate::c_objects::{is_type_call, is_type_of_object};
use crate::code::FunctionCode;
use crate::keys::OF_ONE_OBJECT;

/// Classes beyond this number of a lineage are not looked at.
const MAX_LINEAGE: usize = 16;

/// A site, with what the text shows beyond its kind.
pub(crate) struct Expression<'a> {
    pub(crate) kind: &'a SiteKind,
    /// The names that stand in it.
    pub(crate) mentions: Mentions<'a>,
    /// What a call can mean; of an iteration, what can have made what is iterated.
    pub(crate) target: CallTarget<'a>,
    /// Whether it is an operator on numbers, strings and the like.
    pub(crate) is_plain: bool,
    /// Whether it is an operator, a comparison or a test of truth on a tensor.
    pub(crate) is_of_tensor: bool,
    /// Whether it is an operator, a comparison or a test of truth that works on what the one before it gives.
    pub(crate) goes_on: bool,
    /// The first site in the function that works on the same: that calls a method of the same object, which is not known, or is an operator
    /// of the same names.
    pub(crate) receiver: Option<u32>,
    /// Whether it has a function called for elements (`list(map(f, xs))`) that has a decorator by which it may be another one.
    pub(crate) hands_decorated: bool,
    /// Whether what elements are taken from leaves nothing: a list, a dictionary, a `range`.
    pub(crate) is_builtin_iterable: bool,
    /// Whether what is iterated is an iterator of a built-in type around others: `zip`, `enumerate`. The call that makes it
    /// asks them for their iterators.
    pub(crate) is_made_by_type: bool,
    /// What an attribute of `self`, or of one of its attributes, can hold.
    pub(crate) attribute: HeldValue,
    /// Whether what is iterated calls a function for each element: `map`, `filter`.
    pub(crate) is_lazy: bool,
    /// The lambda that is given to what makes the elements, if one is.
    pub(crate) lambda: Option<usize>,
    /// The generator expression that is made just before and that this site is the first to take elements from.
    pub(crate) takes: Option<usize>,
    /// What is learned for all sites together that say the same: the dotted callee, the attribute with its class.
    pub(crate) shared: Option<String>,
}

impl Expression<'_> {
    /// Whether it takes elements that are made by calling a function for each: of `map`, of `filter`.
    pub(crate) fn calls_for_elements(&self) -> bool {
        let takes = matches!(
            self.kind,
            SiteKind::Iterate(Iteration::Next) | SiteKind::Unpack { .. } | SiteKind::Spread { .. }
        );
        takes && self.is_lazy
    }
}

/// What a call can mean.
#[derive(Debug, Default)]
pub(crate) struct CallTarget<'a> {
    /// The names of functions that it may call, the written one first.
    pub(crate) names: Vec<&'a str>,
    /// The names whose calls may have made what it calls: classes, mostly.
    pub(crate) makers: Vec<&'a str>,
    /// Of a method of `super()` or an attribute of `self`: the classes that it may be of, as far as the text shows.
    pub(crate) bases: Vec<&'a str>,
    /// Whether it calls a class.
    pub(crate) is_class: bool,
    /// Whether it calls a function that has a decorator by which it may be another one.
    pub(crate) is_decorated: bool,
    /// Whether it calls a function whose results are kept, so that most calls leave nothing.
    pub(crate) is_memoized: bool,
    /// Whether it calls a generator function, which leaves nothing: the generator runs later.
    pub(crate) is_generator: bool,
    /// Of what may be C code of another package: that package, whose Python functions it calls.
    pub(crate) package: Option<&'a str>,
    /// Whether NumPy has a dispatcher for it alone, which comes before it.
    pub(crate) has_dispatcher: bool,
    /// How far what is called is known.
    pub(crate) certainty: Certainty,
}

/// How far it is known what a call means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Certainty {
    /// Whatever a variable, or the result of another call, happens to be.
    #[default]
    Anything,
    /// A method of an object that is not known.
    Method,
    /// An attribute of `self` whose values the text shows, if not all.
    Attribute,
    /// Something imported, or of an imported module.
    Imported,
    /// A function or class of the same text.
    Defined,
    /// A built-in.
    Builtin,
}

/// What an attribute of `self` can hold, as far as the text shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum HeldValue {
    /// It is not one of `self`.
    #[default]
    NotOfSelf,
    /// The text does not say.
    Unknown,
    /// A number, a string or the like: found without `__getattr__`.
    Plain,
    /// A parameter, buffer or module: `nn.Module.__getattr__` finds it.
    Registered,
    /// One of these, or something plain.
    RegisteredOrPlain,
    /// A method, or a property if it is decorated.
    Method { is_decorated: bool },
}

/// The sites of a function with what the text shows.
pub(crate) fn expressions<'a>(code: &'a FunctionCode, classes: &'a Classes) -> Vec<Expression<'a>> {
    let class = Lineage::of(code, classes);
    let flow = &code.flow;
    let sites = flow.sites.iter().enumerate();
    let mut receivers: FxHashMap<Receiver<'_>, u32> = FxHashMap::default();
    sites
        .map(|(at, site)| {
            let (mut target, mut attribute, mut shared) =
                (CallTarget::default(), HeldValue::NotOfSelf, None);
            match &site.kind {
                SiteKind::Call { callee, .. } => {
                    target = CallTarget::of(callee, &class, classes);
                    if callee.name().is_some_and(|it| OF_ONE_OBJECT.contains(&it)) {
                        target.bases = class.names();
                    }
                    // What `tuple(…)` leaves depends on what it is given.
                    let is_type = callee.path.len() == 1 && is_type_call(&callee.path[0]);
                    shared = (!is_type && callee.name().is_some()).then(|| callee.path.join("."));
                }
                SiteKind::Attribute { name, is_of_self: true, owner, is_called, .. } => {
                    target.bases = class.names();
                    let (file, of) = (&code.recorded, class.name());
                    match owner.as_deref() {
                        Some("self") => {
                            attribute = class.held(name);
                            shared = Some(format!("{file}:{of}.{name}"));
                        }
                        Some(_) if *is_called => {}
                        Some(owner) => {
                            attribute = class.held_by(owner, name, classes);
                            shared = Some(format!("{file}:{of}.{owner}.{name}"));
                        }
                        None => {}
                    }
                }
                SiteKind::Attribute {
                    name,
                    access: Access::Load,
                    owner: Some(owner),
                    is_of_import: false,
                    is_called: false,
                    ..
                } => shared = Some(format!("{}:{owner}.{name}", code.recorded)),
                _ => {}
            }
            let values: Vec<&AssignedValue> = match &site.iterable {
                Iterable::Name(Binding::Variable { values, .. }) => values.iter().collect(),
                Iterable::OfSelf(name) => class.values_of(name).collect(),
                _ => Vec::new(),
            };
            let is_made_by_type = is_made_by_type(&site.iterable);
            let is_builtin_iterable = site.iterable.is_built_in()
                || (!values.is_empty() && values.iter().all(|value| is_builtin_made(value)));
            values.into_iter().for_each(|value| target.add_value(value));
            let is_lazy =
                is_lazy_call(&site.iterable) || target.makers.iter().any(|it| calls_for_each(it));
            if let Iterable::Call { first: Some((name, binding)), .. } = &site.iterable
                && is_lazy
            {
                target.names.push(name);
                if let Binding::Variable { values, .. } = binding {
                    target.add_values(values);
                }
            }
            let lambda = match site.iterable {
                Iterable::Call { lambda, .. } => lambda,
                _ => None,
            };
            let takes = match site.iterable {
                Iterable::Generator { function } => Some(function),
                _ => taken(flow, at),
            };
            let kind = &site.kind;
            let names = || flow.mentions(site).iter();
            let hands_decorated = matches!(kind, SiteKind::Call { .. })
                && names().any(calls_for_each)
                && names().any(|it| class.module.named(it).any(is_changed));
            let receiver = receiver(site, flow);
            let receiver = receiver.map(|name| *receivers.entry(name).or_insert(at as u32));
            Expression {
                kind,
                mentions: flow.mentions(site),
                is_plain: site.is_plain,
                is_of_tensor: site.is_of_tensor,
                goes_on: site.goes_on,
                receiver,
                target,
                hands_decorated,
                is_builtin_iterable,
                is_made_by_type,
                attribute,
                is_lazy,
                lambda,
                takes,
                shared,
            }
        })
        .collect()
}

/// What a site works on: what one leaves teaches about others.
#[derive(PartialEq, Eq, Hash)]
enum Receiver<'a> {
    /// The variable whose method it calls.
    Object(&'a str),
    /// The names in an operator and its operands, sorted: those of numbers leave nothing.
    Operands(Vec<&'a str>),
}

/// Operators of more names are not compared.
const MAX_OPERANDS: usize = 4;

fn receiver<'a>(site: &'a Site, flow: &'a Flow) -> Option<Receiver<'a>> {
    match &site.kind {
        SiteKind::Call { callee, .. } => match (&*callee.path, &callee.binding) {
            ([owner, _], Binding::Variable { .. }) if owner != "self" => {
                Some(Receiver::Object(owner))
            }
            _ => None,
        },
        // Of these the text itself says whether they leave something.
        _ if site.is_plain || site.is_of_tensor => None,
        SiteKind::Operator { .. } | SiteKind::Compare { .. } | SiteKind::Unary(_) => {
            let mut names: Vec<&str> = flow.mentions(site).iter().collect();
            names.sort_unstable();
            names.dedup();
            (1..=MAX_OPERANDS).contains(&names.len()).then_some(Receiver::Operands(names))
        }
        _ => None,
    }
}

/// The generator expression made just before the site at `at`, in the same function.
fn taken(flow: &Flow, at: usize) -> Option<usize> {
    let before = flow.sites[..at].iter().rev().take(3);
    before.filter(|it| it.inlined == flow.sites[at].inlined).find_map(|it| match it.kind {
        SiteKind::Generator { function } => Some(function),
        _ => None,
    })
}

impl<'a> CallTarget<'a> {
    fn of(callee: &'a Callee, class: &Lineage<'a>, classes: &'a Classes) -> Self {
        let mut target = Self::default();
        target.names.extend(callee.name());
        if callee.is_super {
            target.bases = class.bases();
        }
        target.is_generator = callee.name().is_some_and(|name| {
            let mut named = class.module.named(name).peekable();
            // Of one that is decorated, what was made of it leaves its frame: `contextmanager`'s.
            named.peek().is_some() && named.all(|it| it.is_generator && !is_changed(it))
        });
        match (callee.path.len(), &callee.binding) {
            // It makes another of the kind.
            _ if is_type_of_object(callee) => {
                target.is_class = true;
                target.certainty = Certainty::Defined;
            }
            _ if callee.name().is_none() => {}
            (1, Binding::Variable { values, .. }) => target.add_values(values),
            (1, &Binding::Defined { function: named }) => {
                target.certainty = Certainty::Defined;
                if let Some(function) = class.module.functions().get(named) {
                    target.is_class = function.kind == FunctionKind::Class;
                    if target.is_class {
                        target.bases = Lineage::of_class(class.module, named, classes).inherited();
                    }
                    target.is_memoized = function.decoration == Decoration::Memoized;
                    target.is_decorated = is_changed(function);
                }
            }
            (1, Binding::Imported { name, .. }) => {
                target.certainty = Certainty::Imported;
                target.names.push(name);
                target.is_class = is_class_name(name);
            }
            (1, Binding::Builtin) => target.certainty = Certainty::Builtin,
            (2, _) if callee.path[0] == "self" && !callee.is_super => {
                target.certainty = Certainty::Method;
                let name = callee.path[1].as_str();
                match class.held(name) {
                    HeldValue::Method { is_decorated } => {
                        target.certainty = Certainty::Defined;
                        target.is_decorated = is_decorated;
                    }
                    // A method of a base without text has no values.
                    HeldValue::Unknown if class.values_of(name).next().is_some() => {
                        target.certainty = Certainty::Attribute;
                    }
                    HeldValue::NotOfSelf | HeldValue::Unknown => {}
                    HeldValue::Plain | HeldValue::Registered | HeldValue::RegisteredOrPlain => {
                        target.certainty = Certainty::Attribute;
                    }
                }
                for value in class.values_of(name) {
                    target.add_value(value);
                }
            }
            (_, Binding::Imported { .. })
                if !callee.path.iter().any(|it| it == "()" || it == "[]") =>
            {
                target.certainty = Certainty::Imported;
                target.is_class = callee.name().is_some_and(is_class_name);
            }
            _ => target.certainty = Certainty::Method,
        }
        target
    }

    fn add_values(&mut self, values: &'a [AssignedValue]) {
        values.iter().for_each(|value| self.add_value(value));
    }

    fn add_value(&mut self, value: &'a AssignedValue) {
        match value {
            AssignedValue::Named(name) => self.names.push(name),
            AssignedValue::Made(name) => self.makers.push(name),
            AssignedValue::Plain
            | AssignedValue::None
            | AssignedValue::Computed
            | AssignedValue::Unknown => {}
        }
    }

    /// Whether it may call a function of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(&name)
    }
}

/// Whether a function has a decorator by which it may be another one.
fn is_changed(function: &Function) -> bool {
    function.decoration == Decoration::Other
}

fn is_lazy_call(iterable: &Iterable) -> bool {
    matches!(iterable, Iterable::Call { name, is_method: false, .. } if calls_for_each(name))
}

fn is_made_by_type(iterable: &Iterable) -> bool {
    matches!(iterable, Iterable::Call { name, is_method: false, .. }
        if matches!(name.as_str(), "zip" | "enumerate" | "map" | "filter" | "reversed" | "sorted" | "list" | "tuple"))
}

fn is_builtin_made(value: &AssignedValue) -> bool {
    match value {
        AssignedValue::Plain | AssignedValue::None => true,
        AssignedValue::Made(maker) => [
            "list",
            "tuple",
            "dict",
            "set",
            "sorted",
            "range",
            "OrderedDict",
            "defaultdict",
            "deque",
        ]
        .contains(&maker.as_str()),
        AssignedValue::Named(_) | AssignedValue::Computed | AssignedValue::Unknown => false,
    }
}

/// Whether a name is written like a class's.
pub(crate) fn is_class_name(name: &str) -> bool {
    name.trim_start_matches('_').starts_with(char::is_uppercase)
}

/// All classes of the sources at hand, by name.
#[derive(Debug, Default)]
pub(crate) struct Classes(FxHashMap<String, Vec<(Arc<Module>, usize)>>);

impl Classes {
    pub(crate) fn new(sources: &RecordedSources) -> Self {
        let mut classes = Self::default();
        for module in sources.modules() {
            for (row, class) in module.classes().iter().enumerate() {
                let name = &module.functions()[class.function].name;
                classes.0.entry(name.clone()).or_default().push((module.clone(), row));
            }
        }
        classes
    }

    /// How many arguments `forward` takes of the only class of this name; `None` where there are others, or no text.
    pub(crate) fn arity_of_forward(&self, class: &str) -> Option<Arity> {
        let [(module, row)] = self.0.get(class)?.as_slice() else { return None };
        let mut lineage = Lineage { module, line: Vec::new() };
        lineage.add(module, module.classes().get(*row)?, self);
        let forward = lineage.line.iter().find_map(|(module, class)| {
            let is_its = |it: &&Function| it.parent == Some(class.function);
            module.named("forward").find(is_its)
        });
        forward.filter(|it| it.decoration == Decoration::Unchanged)?.arity
    }
}

/// The class that a method belongs to, with its bases, nearest first.
struct Lineage<'a> {
    module: &'a Module,
    line: Vec<(&'a Module, &'a pysource::ClassFacts)>,
}

impl<'a> Lineage<'a> {
    fn of(code: &'a FunctionCode, classes: &'a Classes) -> Self {
        let module: &Module = &code.module;
        let functions = module.functions();
        let mut at = Some(code.flow.function);
        while let Some(function) = at.filter(|&at| functions[at].kind != FunctionKind::Class) {
            at = functions[function].parent;
        }
        match at {
            Some(class) => Self::of_class(module, class, classes),
            None => Self { module, line: Vec::new() },
        }
    }

    /// That of a class of a module, by its place among the functions.
    fn of_class(module: &'a Module, class: usize, classes: &'a Classes) -> Self {
        let own = module.classes().iter().find(|it| it.function == class);
        let mut lineage = Self { module, line: Vec::new() };
        if let Some(own) = own {
            lineage.add(module, own, classes);
        }
        lineage
    }

    fn add(&mut self, module: &'a Module, class: &'a pysource::ClassFacts, classes: &'a Classes) {
        let is_known = self.line.iter().any(|&(_, known)| std::ptr::eq(known, class));
        if is_known || self.line.len() >= MAX_LINEAGE {
            return;
        }
        self.line.push((module, class));
        for base in &class.bases {
            let is_base =
                |it: &&pysource::ClassFacts| module.functions()[it.function].name == *base;
            if let Some(base) = module.classes().iter().find(is_base) {
                self.add(module, base, classes);
            } else if let Some([(module, row)]) = classes.0.get(base).map(Vec::as_slice) {
                self.add(module, &module.classes()[*row], classes);
            }
        }
    }

    fn name(&self) -> &'a str {
        let first = self.line.first();
        first.map_or("", |(module, class)| &module.functions()[class.function].qualified_name)
    }

    /// The names of all bases.
    fn bases(&self) -> Vec<&'a str> {
        let bases = self.line.iter().flat_map(|(_, class)| &class.bases);
        bases.map(|base| base.rsplit('.').next().unwrap_or(base)).collect()
    }

    /// The names of the bases that may have the initializer of its objects: none if it has one itself.
    fn inherited(&self) -> Vec<&'a str> {
        let Some((module, class)) = self.line.first() else { return Vec::new() };
        let is_own = |it: &Function| it.parent == Some(class.function) && it.name == "__init__";
        if module.functions().iter().any(is_own) { Vec::new() } else { self.bases() }
    }

    /// Its name and those of all bases.
    fn names(&self) -> Vec<&'a str> {
        let mut names = self.bases();
        names.push(self.name().rsplit('.').next().unwrap_or_default());
        names
    }

    fn values_of(&self, attribute: &str) -> impl Iterator<Item = &'a AssignedValue> {
        self.line.iter().flat_map(move |(_, class)| class.values_of(attribute))
    }

    /// Whether the attribute `name` is assigned `None`, and anything else under a condition alone.
    fn may_be_none(&self, name: &str) -> bool {
        self.values_of(name).any(|it| *it == AssignedValue::None)
            && !self.line.iter().any(|(_, class)| class.assures(name))
    }

    /// What the attribute `name` of `self` can hold.
    fn held(&self, name: &str) -> HeldValue {
        let is_method = |class: &pysource::ClassFacts, it: &&Function| {
            it.parent == Some(class.function) && it.name == name && it.kind != FunctionKind::Class
        };
        for (module, class) in &self.line {
            let method = module.functions().iter().find(|it| is_method(class, it));
            if let Some(method) = method {
                return HeldValue::Method { is_decorated: is_changed(method) };
            }
        }
        let is_made = |value: &AssignedValue| matches!(value, AssignedValue::Made(maker) if is_registered(maker));
        let is_registered = self.is_module() && self.values_of(name).any(is_made);
        // What an operator gives is no parameter, buffer or module, even if it is a tensor.
        let is_plain = self
            .values_of(name)
            .any(|it| matches!(it, AssignedValue::Plain | AssignedValue::Computed))
            || (is_registered && self.may_be_none(name));
        if !is_registered && !is_plain && self.is_layer() && REGISTERED_IN_LAYERS.contains(&name) {
            return HeldValue::Registered;
        }
        match (is_registered, is_plain) {
            (true, true) => HeldValue::RegisteredOrPlain,
            (true, false) => HeldValue::Registered,
            (false, true) => HeldValue::Plain,
            (false, false) if PLAIN_BY_CONVENTION.contains(&name) || is_plain_attribute(name) => {
                HeldValue::Plain
            }
            (false, false) => HeldValue::Unknown,
        }
    }

    /// What the attribute `name` of the attribute `owner` of `self` can hold.
    fn held_by(&self, owner: &str, name: &str, classes: &'a Classes) -> HeldValue {
        let mut makers = self.values_of(owner).filter_map(|value| match value {
            AssignedValue::Made(maker) => Some(maker.as_str()),
            _ => None,
        });
        let Some(maker) = makers.next().filter(|_| makers.next().is_none()) else {
            return HeldValue::NotOfSelf;
        };
        if let Some([(module, row)]) = classes.0.get(maker).map(Vec::as_slice) {
            let mut lineage = Self { module, line: Vec::new() };
            lineage.add(module, &module.classes()[*row], classes);
            return match lineage.held(name) {
                // A base may have it.
                HeldValue::Unknown => HeldValue::NotOfSelf,
                held => held,
            };
        }
        if maker == "ModuleDict" {
            return HeldValue::Registered;
        }
        match LAYERS.iter().any(|it| maker.starts_with(it)) {
            true if REGISTERED_IN_LAYERS.contains(&name) => HeldValue::Registered,
            true => HeldValue::Plain,
            false => HeldValue::NotOfSelf,
        }
    }

    /// Whether it is one of the layers of `torch.nn`.
    fn is_layer(&self) -> bool {
        self.line.iter().any(|(_, class)| class.bases.iter().any(|base| is_layer(base)))
    }

    /// Whether it is an `nn.Module`: its attributes are found by a `__getattr__`.
    fn is_module(&self) -> bool {
        self.line.iter().any(|(module, class)| {
            class.bases.iter().any(|base| base.ends_with("Module") || is_layer(base))
                || module.functions()[class.function].name == "Module"
        })
    }
}

/// What the names of layers of `torch.nn` begin with whose attributes are parameters, buffers and plain values alone.
const LAYERS: [&str; 9] = [
    "Linear",
    "Conv",
    "Embedding",
    "Dropout",
    "LayerNorm",
    "RMSNorm",
    "GroupNorm",
    "BatchNorm",
    "InstanceNorm",
];

/// Whether a class of this name, of no text at hand, is one of these: `nn.Conv2d`, `Linear`, `nn.ConvTranspose1d`.
fn is_layer(base: &str) -> bool {
    let name = base.rsplit('.').next().unwrap_or(base);
    LAYERS.iter().filter_map(|it| name.strip_prefix(it)).any(|rest| {
        let rest = rest.strip_prefix("Transpose").unwrap_or(rest);
        matches!(rest, "" | "1d" | "2d" | "3d")
    })
}

/// What attributes are called that hold settings, not modules.
const PLAIN_BY_CONVENTION: [&str; 6] = ["config", "cfg", "args", "opt", "hparams", "training"];

/// Attributes of the layers of `torch.nn` that are numbers, tuples of these or strings.
const PLAIN_IN_LAYERS: [&str; 20] = [
    "dilation",
    "dim_feedforward",
    "embed_dim",
    "embedding_dim",
    "eps",
    "head_dim",
    "hidden_size",
    "in_channels",
    "in_features",
    "input_size",
    "kernel_size",
    "normalized_shape",
    "num_embeddings",
    "num_features",
    "num_groups",
    "num_heads",
    "num_layers",
    "out_channels",
    "out_features",
    "stride",
];

/// Whether an attribute of this name is found without `nn.Module.__getattr__`, whatever has it: a setting of a layer, or one
/// that every object has (`__dict__`, `__class__`).
pub(crate) fn is_plain_attribute(name: &str) -> bool {
    PLAIN_IN_LAYERS.contains(&name) || (name.starts_with("__") && name.ends_with("__"))
}

/// The parameters and buffers of these layers.
const REGISTERED_IN_LAYERS: [&str; 5] =
    ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"];

/// Whether what a call of `maker` made, assigned to an attribute of a module, becomes one of its parameters, buffers or
/// modules.
fn is_registered(maker: &str) -> bool {
    maker.starts_with("register_") || maker == "add_module" || is_class_name(maker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::code;

    const TEXT: &str = "\
import torch
from lib import Thing
class Base(torch.nn.Module):
    def __init__(self):
        self.first = Linear(1)
        self.size = 3
class Net(Base):
    def forward(self, x, unknown):
        a = self.first(x)
        b = self.size
        c = torch.relu(a)
        d = Thing(b)
        e = helper(d)
        g = unknown(e)
        h = len(g)
        super().forward(h)
        return x.mean()
def helper(x):
    yield x
";

    fn expressions_on(line: u32, read: impl Fn(&Expression<'_>) -> String) -> Vec<String> {
        let code = code(TEXT, "forward");
        let classes = Classes::default();
        let all = expressions(&code, &classes);
        let sites = code.flow.sites.iter().zip(&all).filter(|(site, _)| site.line == line);
        sites.map(|(_, expression)| read(expression)).collect()
    }

    fn certainty(line: u32) -> Certainty {
        let found = std::cell::Cell::new(Certainty::Anything);
        expressions_on(line, |it| {
            if matches!(it.kind, SiteKind::Call { .. }) {
                found.set(it.target.certainty.max(found.get()));
            }
            String::new()
        });
        found.get()
    }

    #[test]
    fn the_text_shows_what_is_called() {
        assert_eq!(certainty(9), Certainty::Attribute);
        assert_eq!(certainty(11), Certainty::Imported);
        assert_eq!(certainty(12), Certainty::Imported);
        assert_eq!(certainty(13), Certainty::Defined);
        assert_eq!(certainty(14), Certainty::Anything);
        assert_eq!(certainty(15), Certainty::Builtin);
        assert_eq!(certainty(17), Certainty::Method);
    }

    #[test]
    fn the_text_shows_what_attributes_hold() {
        let held = |line| expressions_on(line, |it| format!("{:?}", it.attribute));
        assert!(held(9).contains(&"Registered".to_owned()), "{:?}", held(9));
        assert!(held(10).contains(&"Plain".to_owned()), "{:?}", held(10));
    }

    #[test]
    fn a_call_of_a_generator_function_is_known() {
        let calls = expressions_on(13, |it| it.target.is_generator.to_string());
        assert_eq!(calls, ["true"]);
    }

    #[test]
    fn super_has_the_bases_of_the_text() {
        let bases = expressions_on(16, |it| it.target.bases.join(" "));
        assert!(bases.iter().any(|it| it.contains("Base") && it.contains("Module")), "{bases:?}");
    }
}
