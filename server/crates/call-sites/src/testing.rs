//! Small programs for unit tests.

use std::sync::Arc;

use pysource::Module;
use pysource::flows;
use rustc_hash::FxHashMap;

use crate::code::{Child, FunctionCode, Python, Sequence};
use crate::definitions::Start;
use crate::keys::{ChildKey, FunctionKey, FunctionSource, KeyId};

/// CPython 3.11.
pub(crate) const PYTHON: Python = Python { minor: 11, has_comprehension_frames: Some(true) };

/// The function `name` of a text, without frames.
pub(crate) fn code(text: &str, name: &str) -> FunctionCode {
    let module = Module::parse(text);
    let function = module.functions().iter().position(|it| it.name == name).unwrap_or(0);
    let flow = flows(text, &[function]).remove(0);
    FunctionCode {
        recorded: "m.py".to_owned(),
        flow,
        module: Arc::new(module),
        is_unnamed: false,
        sequences: Vec::new(),
        index: FxHashMap::default(),
    }
}

/// A Python function of another file, of a method of `class` if there is one.
pub(crate) fn function(name: &str, class: Option<&str>) -> FunctionKey {
    FunctionKey {
        name: name.to_owned(),
        file: "other.py".to_owned(),
        line: 1,
        source: class.map(|class| FunctionSource {
            function: 0,
            class: Some(class.to_owned()),
            is_decorated: false,
            is_nested: false,
            arity: None,
        }),
        is_generator: false,
        is_resumed: false,
        ran_on: false,
        calls: Vec::new(),
    }
}

/// An operator.
pub(crate) fn operator(name: &str) -> ChildKey {
    ChildKey::Operator { name: name.to_owned() }
}

/// Children of one frame that was recorded once, from its beginning.
pub(crate) fn sequence(children: &[KeyId]) -> Sequence {
    let children = children.iter().map(|&key| Child { key, exact: 0 }).collect();
    Sequence { start: Start::Entry, is_cut: false, returned: false, children, frames: vec![0] }
}
