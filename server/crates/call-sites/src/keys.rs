//! What a child of a frame is, as far as it matters for where it came from.

use profile::{Profile, StrId};
use pysource::{Arity, Decoration, Function, FunctionKind};
use recorded::Frame;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::definitions::{Definition, Definitions};

/// A row of [`Keys`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct KeyId(pub(crate) u32);

/// What a child is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ChildKey {
    /// A Python function.
    Function(FunctionKey),
    /// A call of a module: the class of `nn.Module: Class_3`.
    Module { class: String },
    /// A built-in function or method, by name.
    Builtin {
        name: String,
        /// What it belongs to, as far as its name in the recording shows.
        owner: Owner,
        /// The generator expression or lambda that runs within: its file, and which function of it.
        runs: Option<(String, usize)>,
        /// The class of the method that it runs for one of its arguments: `getattr` runs `__getattribute__`, `len` runs
        /// `__len__`.
        object: Option<String>,
    },
    /// An operator, without namespace and the `_` of the in-place variant.
    Operator { name: String },
}

/// What a built-in belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// A module: `<built-in function sqrt>` of `math`.
    Module,
    /// A class: `<built-in method sqrt of type object at 0x7f…>`, as the functions of `torch` are recorded.
    Class,
    /// An object: `<built-in method sqrt of Tensor object at 0x7f…>`.
    Object,
    /// The name does not show.
    Unknown,
}

/// A Python function that was called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FunctionKey {
    /// Its name (`co_name`).
    pub(crate) name: String,
    /// Path as recorded.
    pub(crate) file: String,
    /// Line of the definition, where its source shows; else as recorded.
    pub(crate) line: u32,
    /// What its source shows.
    pub(crate) source: Option<FunctionSource>,
    /// Whether its frames go on after a `yield` or `await`.
    pub(crate) is_generator: bool,
    /// Of a generator: whether the frame goes on, rather than begins.
    pub(crate) is_resumed: bool,
    /// Of one that goes on: whether it did more there than to have others go on, so that it was not closed.
    pub(crate) ran_on: bool,
    /// What it calls by itself, if it may be what a decorator made of another function, calls an operator of `torch.ops`, runs a
    /// context manager that is a generator, or is called in place of a function of PyTorch.
    pub(crate) calls: Vec<String>,
}

/// What the source of a function shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FunctionSource {
    /// Which function of its file it is.
    pub(crate) function: usize,
    /// The class that it is a method of.
    pub(crate) class: Option<String>,
    /// Whether it has a decorator that may make a property of it.
    pub(crate) is_decorated: bool,
    /// Whether it is defined within another function, as what decorators return is.
    pub(crate) is_nested: bool,
    /// How many arguments it takes, unless a decorator may change that.
    pub(crate) arity: Option<Arity>,
}

impl FunctionKey {
    /// Of what calls an operator of `torch.ops`: whether the recording shows another operator than `path` names.
    pub(crate) fn is_other_operator(&self, path: &[String]) -> bool {
        is_call_of_operator(&self.file, &self.name)
            && !self.calls.is_empty()
            && !path.iter().any(|it| self.calls.contains(it))
    }

    /// Whether a function of TorchScript asks it first, from C++, before it runs as an operator of its own name.
    pub(crate) fn is_asked_by_scripts(&self) -> bool {
        self.name == "is_exporting" && self.file.ends_with("torch/compiler/__init__.py")
    }

    /// Whether it runs a context manager that none of the functions makes which are called `names`.
    pub(crate) fn is_of_other_context_manager(&self, names: impl Fn(&str) -> bool) -> bool {
        is_of_context_manager(&self.file, &self.name)
            && !self.calls.is_empty()
            && !self.calls.iter().any(|it| names(it))
    }

    /// Whether it is called in place of the function of PyTorch that it calls in turn: by `torch.set_default_device`, or by a class of
    /// tensors.
    pub(crate) fn stands_for_its_call(&self) -> bool {
        self.name == TORCH_FUNCTION && !self.calls.is_empty()
    }

    /// Whether it may be what a decorator made of another function, and thus have any name.
    pub(crate) fn may_wrap(&self) -> bool {
        match &self.source {
            Some(source) => source.is_nested,
            None => is_wrapper(&self.file, &self.name),
        }
    }
}

/// Whether a function without source at hand is likely what a decorator made of another one.
fn is_wrapper(file: &str, name: &str) -> bool {
    name.ends_with("wrapper")
        || name.ends_with("wrapped")
        || WRAPPERS.contains(&name)
        || WRAPPER_FILES.iter().any(|it| file.ends_with(it))
}

/// What torch and the standard library call the functions that they wrap others in.
const WRAPPERS: [&str; 17] = [
    "profile_hook_step",
    "inner",
    "_fn",
    "wrap",
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
    "inner_fn",
    "fn",
    "func",
];

/// Files in which frames are wrappers, whatever their name: since torch 2.15 that of `no_grad` is called `no_grad`.
const WRAPPER_FILES: [&str; 2] = ["torch/utils/_contextlib.py", "torch/_compile.py"];

/// Built-in functions that run a special method of an object that they are given.
pub(crate) const OF_ONE_OBJECT: [&str; 5] = ["getattr", "hasattr", "len", "iter", "next"];

/// The methods of modules that are generators, the frames of which run where the elements are taken.
pub(crate) const MODULE_GENERATORS: [&str; 8] = [
    "parameters",
    "named_parameters",
    "buffers",
    "named_buffers",
    "children",
    "named_children",
    "modules",
    "named_modules",
];

/// Where they are defined.
const MODULE_FILE: &str = "torch/nn/modules/module.py";

/// Where the objects of `torch.ops` are defined, which are called by a `__call__` each, whatever the operator.
const OPERATORS_FILE: &str = "torch/_ops.py";

/// How many functions that wrap one another are looked through.
const MAX_WRAPPERS: u32 = 3;

/// How many of the names that a function calls are kept.
const MAX_CALLS: usize = 32;

/// The distinct kinds of children of a recording.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    rows: Vec<ChildKey>,
    index: FxHashMap<ChildKey, KeyId>,
    /// By name alone: of operators, and of calls for which this is enough.
    operators: FxHashMap<StrId, KeyId>,
    calls: FxHashMap<StrId, KeyId>,
    /// Of other calls by name, then by the names of what they run.
    calls_within: FxHashMap<StrId, FxHashMap<Vec<StrId>, KeyId>>,
    /// Of generators that were not closed, by the key of those that may have been.
    ran_on: FxHashMap<KeyId, KeyId>,
}

impl Keys {
    pub(crate) fn get(&self, id: KeyId) -> &ChildKey {
        &self.rows[id.0 as usize]
    }

    /// Whether `next`, right after `before` in one frame, is the same function going on from a later line: a generator,
    /// recognised where its source is not at hand.
    pub(crate) fn goes_on(&self, before: KeyId, next: KeyId) -> bool {
        if before == next {
            return false;
        }
        match (self.get(before), self.get(next)) {
            (ChildKey::Function(it), ChildKey::Function(next)) => {
                it.source.is_none()
                    // Several classes of a file have an `__init__`; of the special methods, `__iter__` may be a generator.
                    && (it.name == "__iter__" || !it.name.starts_with("__"))
                    && (&it.name, &it.file) == (&next.name, &next.file)
                    && it.line < next.line
            }
            _ => false,
        }
    }

    /// Whether a function without source is known to be a generator: a method of `torch.nn.Module`.
    pub(crate) fn is_module_generator(&self, key: KeyId) -> bool {
        matches!(self.get(key), ChildKey::Function(it) if it.source.is_none()
            && it.file.ends_with(MODULE_FILE)
            && MODULE_GENERATORS.contains(&it.name.as_str()))
    }

    /// Marks the functions without source that were seen to go on from a line other than their definition's, which is
    /// the first that they are recorded with.
    pub(crate) fn mark_generators(&mut self, resumed: &FxHashSet<KeyId>) {
        let mut first_lines: FxHashMap<(String, String), u32> = FxHashMap::default();
        for id in resumed {
            if let ChildKey::Function(it) = &mut self.rows[id.0 as usize]
                && it.source.is_none()
                && !it.name.starts_with('<')
            {
                it.is_generator = true;
                let function = (it.file.clone(), it.name.clone());
                let first = first_lines.entry(function).or_insert(it.line);
                *first = it.line.min(*first);
            }
        }
        for id in resumed {
            if let ChildKey::Function(it) = &mut self.rows[id.0 as usize]
                && let Some(&first) = first_lines.get(&(it.file.clone(), it.name.clone()))
            {
                it.is_resumed = it.is_generator && it.line > first;
            }
        }
    }

    /// The key of an operator called `name`.
    pub(crate) fn operator(&mut self, profile: &Profile, name: StrId) -> KeyId {
        if let Some(&id) = self.operators.get(&name) {
            return id;
        }
        let id = self.add(operator(profile.strings.get(name)));
        self.operators.insert(name, id);
        id
    }

    /// The key of a call of `name`, of which [`looks_within`] does not hold.
    pub(crate) fn call(
        &mut self,
        profile: &Profile,
        definitions: &mut Definitions<'_>,
        name: StrId,
    ) -> KeyId {
        if let Some(&id) = self.calls.get(&name) {
            return id;
        }
        let id = self.add(python(profile, definitions, name, &[]));
        self.calls.insert(name, id);
        id
    }

    /// The key of a call of `name`; `within` are the names of the Python events right below it.
    pub(crate) fn call_within(
        &mut self,
        profile: &Profile,
        definitions: &mut Definitions<'_>,
        name: StrId,
        within: &[StrId],
    ) -> KeyId {
        if let Some(&id) = self.calls_within.get(&name).and_then(|known| known.get(within)) {
            return id;
        }
        let id = self.add(python(profile, definitions, name, within));
        self.calls_within.entry(name).or_default().insert(within.to_owned(), id);
        id
    }

    /// The key of a generator that goes on like `key`, which was not closed.
    pub(crate) fn ran_on(&mut self, key: KeyId) -> KeyId {
        if let Some(&known) = self.ran_on.get(&key) {
            return known;
        }
        let ran_on = match self.get(key).clone() {
            ChildKey::Function(it) => {
                self.add(ChildKey::Function(FunctionKey { ran_on: true, ..it }))
            }
            _ => key,
        };
        self.ran_on.insert(key, ran_on);
        ran_on
    }

    /// The key of an operator of this name.
    #[cfg(test)]
    pub(crate) fn operator_named(&mut self, name: &str) -> KeyId {
        self.add(operator(name))
    }

    fn add(&mut self, key: ChildKey) -> KeyId {
        let rows = &mut self.rows;
        *self.index.entry(key).or_insert_with_key(|key| {
            rows.push(key.clone());
            KeyId(u32::try_from(rows.len() - 1).unwrap_or(u32::MAX))
        })
    }
}

/// How many calls within one another, of what a Python event called `name` (`text`) runs, say something about where it was
/// called.
pub(crate) fn looks_within(text: &str, name: StrId, definitions: &mut Definitions<'_>) -> u32 {
    let is_wrapper = match Frame::parse(text) {
        // The built-in that it calls is named after the operator.
        Some(frame) if is_call_of_operator(frame.file, frame.function) => return 1,
        // The function of PyTorch, or one that wraps it.
        Some(frame) if frame.function == TORCH_FUNCTION => return 2,
        // `next`, and the generator.
        Some(frame) if is_of_context_manager(frame.file, frame.function) => return 2,
        Some(frame) => match definitions.of(name) {
            Some(definition) => is_nested(definition),
            None => is_wrapper(frame.file, frame.function),
        },
        None => text.starts_with("<built-in"),
    };
    if is_wrapper { MAX_WRAPPERS } else { 0 }
}

/// The method that is called in place of functions of PyTorch.
pub(crate) const TORCH_FUNCTION: &str = "__torch_function__";

/// Whether a function is what `torch.ops.namespace.operator(…)` calls.
fn is_call_of_operator(file: &str, function: &str) -> bool {
    function == "__call__" && file.ends_with(OPERATORS_FILE)
}

/// Whether a function is where a generator goes on that `contextlib.contextmanager` decorates.
fn is_of_context_manager(file: &str, function: &str) -> bool {
    matches!(function, "__enter__" | "__exit__" | "__aenter__" | "__aexit__")
        && file.ends_with("contextlib.py")
}

/// Whether a call recorded as `call` is that of a built-in which runs the operator `operator`, by their names.
pub(crate) fn is_operator_of(call: &str, operator: &str) -> bool {
    call.starts_with('<') && out_of_place(builtin_name(call)) == operator_name(operator)
}

fn operator(text: &str) -> ChildKey {
    ChildKey::Operator { name: operator_name(text).to_owned() }
}

fn operator_name(text: &str) -> &str {
    out_of_place(text.rsplit("::").next().unwrap_or(text))
}

/// `add` of `add_`, which is `add` in place; `__and__` is an operator of its own.
pub(crate) fn out_of_place(name: &str) -> &str {
    if name.ends_with("__") { name } else { name.strip_suffix('_').unwrap_or(name) }
}

fn python(
    profile: &Profile,
    definitions: &mut Definitions<'_>,
    name: StrId,
    within: &[StrId],
) -> ChildKey {
    let text = profile.strings.get(name);
    if let Some(frame) = Frame::parse(text) {
        let definition = definitions.of(name);
        let texts = within.iter().map(|&it| profile.strings.get(it));
        // What is passed as `device` is looked up in a dictionary.
        let is_looked_up = |it: &str| {
            frame.function == TORCH_FUNCTION && it.starts_with("<built-in method get of dict ")
        };
        let texts = texts.filter(|it| !is_looked_up(it));
        let mut calls: Vec<String> = texts.filter_map(called_name).collect();
        calls.sort_unstable();
        calls.dedup();
        calls.truncate(MAX_CALLS);
        let is_generator = definition.is_some_and(|it| {
            let function = it.function();
            function.kind == FunctionKind::AsyncDef
                || (function.is_generator && function.kind != FunctionKind::GenExpr)
        });
        return ChildKey::Function(FunctionKey {
            name: frame.function.to_owned(),
            file: frame.file.to_owned(),
            // Generators are recorded with the line where they go on; the definition identifies them.
            line: definition.map_or(frame.line, |it| it.function().first_line),
            source: definition.map(function_source),
            is_generator,
            is_resumed: is_generator && definition.is_some_and(|it| it.is_resumed()),
            ran_on: false,
            calls,
        });
    }
    if let Some(module) = text.strip_prefix("nn.Module: ") {
        return ChildKey::Module { class: module_class(module).to_owned() };
    }
    let runs = within.iter().find_map(|&it| {
        let definition = definitions.of(it)?;
        let is_anonymous = definition.function().name.starts_with('<');
        is_anonymous.then(|| (definition.file.to_owned(), definition.function))
    });
    let name = builtin_name(text);
    let object = OF_ONE_OBJECT.contains(&name).then(|| {
        within.iter().find_map(|&it| {
            let function = definitions.of(it).map(function_source)?;
            let is_special =
                function.class.is_some() && called_name(profile.strings.get(it))?.starts_with("__");
            function.class.filter(|_| is_special)
        })
    });
    ChildKey::Builtin { name: name.to_owned(), owner: owner(text), runs, object: object.flatten() }
}

fn function_source(definition: Definition<'_>) -> FunctionSource {
    let function = definition.function();
    let parent = function.parent.map(|parent| &definition.module.functions()[parent]);
    FunctionSource {
        function: definition.function,
        class: parent.filter(|it| it.kind == FunctionKind::Class).map(|it| it.name.clone()),
        is_decorated: function.decoration == Decoration::Other,
        is_nested: is_nested(definition),
        arity: function.arity.filter(|_| function.decoration == Decoration::Unchanged),
    }
}

/// Whether it is a `def` within another function.
fn is_nested(definition: Definition<'_>) -> bool {
    let is_def = |it: &Function| matches!(it.kind, FunctionKind::Def | FunctionKind::AsyncDef);
    let function = definition.function();
    let parent = function.parent.map(|parent| &definition.module.functions()[parent]);
    is_def(function) && parent.is_some_and(is_def)
}

/// The name by which whatever is recorded as `text` is called: a function's, a module's class, a built-in's.
fn called_name(text: &str) -> Option<String> {
    let name = match (Frame::parse(text), text.strip_prefix("nn.Module: ")) {
        (Some(frame), _) => frame.function,
        (None, Some(module)) => module_class(module),
        (None, None) => builtin_name(text),
    };
    (!name.starts_with('<')).then(|| name.to_owned())
}

/// `Class` of `Class_3`.
fn module_class(module: &str) -> &str {
    module.rsplit_once('_').map_or(module, |(class, _)| class)
}

fn owner(text: &str) -> Owner {
    if text.starts_with("<built-in function ") {
        return Owner::Module;
    }
    match text.split_once(" of ").map(|(_, of)| of) {
        Some(of) if of.starts_with("type object") => Owner::Class,
        Some(of) if of.contains(" object at 0x") && !of.starts_with("PyCapsule") => Owner::Object,
        _ => Owner::Unknown,
    }
}

/// `view` of `<built-in method view of Tensor object at 0x7f…>`, `len` of `<built-in function len>`, `add` of
/// `<method 'add' of 'torch._C.TensorBase' objects>`.
fn builtin_name(text: &str) -> &str {
    let inner = text.trim_start_matches('<').trim_end_matches('>');
    if let Some(quoted) = inner.split('\'').nth(1) {
        return quoted;
    }
    let rest = ["built-in method ", "built-in function "]
        .iter()
        .find_map(|prefix| inner.strip_prefix(prefix));
    rest.unwrap_or(inner).split(' ').next().unwrap_or(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_in_is_known_by_its_name() {
        let cases = [
            ("<built-in method view of Tensor object at 0x7f0309bfe460>", "view"),
            ("<built-in function len>", "len"),
            ("<method 'add' of 'torch._C.TensorBase' objects>", "add"),
            (
                "<built-in method run_backward of torch._C._EngineBase object at 0x7f>",
                "run_backward",
            ),
        ];
        for (text, name) in cases {
            assert_eq!(builtin_name(text), name);
        }
    }

    #[test]
    fn an_operator_is_known_without_namespace_and_place() {
        let name = |text| match operator(text) {
            ChildKey::Operator { name } => name,
            other => format!("{other:?}"),
        };
        let names = ["aten::add_", "aten::__and__", "prims::sum", "mm"].map(name);
        assert_eq!(names, ["add", "__and__", "sum", "mm"]);
    }
}
