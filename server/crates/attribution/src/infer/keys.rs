//! What a child of a frame is, as far as it matters for where it came from.

use profile::{HostKind, Profile, StrId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Sources;
use crate::names::Frame;

/// A row of [`Keys`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct KeyId(pub(crate) u32);

/// What a child is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A Python function.
    Function {
        /// Its name (`co_name`).
        name: String,
        /// The class that it is a method of, where its source tells.
        class: Option<String>,
        /// Path as recorded.
        file: String,
        /// Line of the definition, where its source tells; else as recorded.
        line: u32,
        /// Which function of its file it is, where its source tells.
        function: Option<usize>,
        /// Whether it has a decorator, where its source tells: a property has one.
        is_decorated: Option<bool>,
        /// Whether it is a generator: some of its frames go on after a `yield`.
        is_generator: bool,
    },
    /// A call of a module: the class of `nn.Module: Class_3`.
    Module { class: String },
    /// A built-in function or method, by name alone.
    Builtin { name: String },
    /// An operator, without namespace and the `_` of the in-place variant.
    Operator { name: String },
}

/// The distinct kinds of children of a recording.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    rows: Vec<Key>,
    index: FxHashMap<Key, KeyId>,
    by_name: FxHashMap<(bool, StrId), KeyId>,
}

impl Keys {
    pub(crate) fn get(&self, id: KeyId) -> &Key {
        &self.rows[id.0 as usize]
    }

    /// Whether `next`, right after `before` in one frame, is the same function going on from a later line: a generator,
    /// recognised where its source is not at hand.
    pub(crate) fn goes_on(&self, before: KeyId, next: KeyId) -> bool {
        match (self.get(before), self.get(next)) {
            (
                Key::Function { name, file, line, function: None, .. },
                Key::Function { name: next_name, file: next_file, line: next_line, .. },
            ) => (name, file) == (next_name, next_file) && line < next_line,
            _ => false,
        }
    }

    /// Marks the functions that were seen to go on from a line other than their definition's.
    pub(crate) fn mark_generators(&mut self, resumed: &FxHashSet<KeyId>) {
        for id in resumed {
            if let Key::Function { is_generator, name, .. } = &mut self.rows[id.0 as usize] {
                *is_generator = !name.starts_with('<');
            }
        }
    }

    /// The key of an event called `name`.
    pub(crate) fn key(
        &mut self,
        profile: &Profile,
        sources: &Sources,
        kind: HostKind,
        name: StrId,
    ) -> KeyId {
        let is_operator = kind == HostKind::Operator;
        if let Some(&id) = self.by_name.get(&(is_operator, name)) {
            return id;
        }
        let text = profile.strings.get(name);
        let key = if is_operator { operator(text) } else { python(text, sources) };
        let rows = &mut self.rows;
        let id = *self.index.entry(key).or_insert_with_key(|key| {
            rows.push(key.clone());
            KeyId(u32::try_from(rows.len() - 1).unwrap_or(u32::MAX))
        });
        self.by_name.insert((is_operator, name), id);
        id
    }
}

fn operator(text: &str) -> Key {
    let name = text.rsplit("::").next().unwrap_or(text);
    // `__and__` is an operator of its own; `add_` is `add` in place.
    let name = if name.ends_with("__") { name } else { name.strip_suffix('_').unwrap_or(name) };
    Key::Operator { name: name.to_owned() }
}

fn python(text: &str, sources: &Sources) -> Key {
    if let Some(frame) = Frame::parse(text) {
        let module = sources.get(frame.file).and_then(|source| source.module.as_deref());
        let function = module.and_then(|module| module.definition(frame.function, frame.line));
        let class = function.and_then(|function| {
            let (outer, _) = function.qualified_name.rsplit_once('.')?;
            Some(outer.rsplit('.').next().unwrap_or(outer).to_owned())
        });
        return Key::Function {
            name: frame.function.to_owned(),
            class,
            file: frame.file.to_owned(),
            // Generators are recorded with the line where they go on; the definition tells them together.
            line: function.map_or(frame.line, |function| function.first_line),
            function: function.zip(module).and_then(|(function, module)| {
                module.functions().iter().position(|it| std::ptr::eq(it, function))
            }),
            is_decorated: function.map(|function| function.first_line != function.def_line),
            is_generator: false,
        };
    }
    if let Some(module) = text.strip_prefix("nn.Module: ") {
        let class = module.rsplit_once('_').map_or(module, |(class, _)| class);
        return Key::Module { class: class.to_owned() };
    }
    Key::Builtin { name: builtin_name(text).to_owned() }
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
            Key::Operator { name } => name,
            other => format!("{other:?}"),
        };
        let names = ["aten::add_", "aten::__and__", "prims::sum", "mm"].map(name);
        assert_eq!(names, ["add", "__and__", "sum", "mm"]);
    }
}
