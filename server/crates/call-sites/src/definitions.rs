//! Where the function of a frame stands in the source.

use profile::{Profile, StrId};
use pysource::{Function, FunctionKind, Module};
use recorded::{Frame, RecordedSource, RecordedSources};
use rustc_hash::FxHashMap;

/// Where `Module.__call__` is defined: its frame is recorded as `nn.Module: …`, without file and line.
const MODULE_CALL: (&str, [&str; 2]) =
    ("torch/nn/modules/module.py", ["_wrapped_call_impl", "_call_impl"]);

/// The function of a frame.
#[derive(Clone, Copy)]
pub(crate) struct Definition<'a> {
    /// The file as recorded.
    pub(crate) file: &'a str,
    pub(crate) source: &'a RecordedSource,
    pub(crate) module: &'a Module,
    /// Index into [`Module::functions`].
    pub(crate) function: usize,
    /// Where its frames begin.
    pub(crate) start: Start,
    /// Whether its frames are recorded without file and line.
    pub(crate) is_unnamed: bool,
}

/// Where a frame's path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Start {
    /// At the function's beginning.
    Entry,
    /// Anywhere from this line on: the frame was open when recording began, or is a generator that goes on.
    Within(u32),
}

impl<'a> Definition<'a> {
    /// Whether the frame begins elsewhere than the function, as that of a resumed generator does.
    pub(crate) fn is_resumed(&self) -> bool {
        self.start != Start::Entry && self.function().kind != FunctionKind::Module
    }

    /// What the text says of the function.
    pub(crate) fn function(&self) -> &'a Function {
        &self.module.functions()[self.function]
    }
}

/// The functions of frames by the names of these, each looked up once.
pub(crate) struct Definitions<'a> {
    profile: &'a Profile,
    sources: &'a RecordedSources,
    known: FxHashMap<StrId, Option<Definition<'a>>>,
}

impl<'a> Definitions<'a> {
    pub(crate) fn new(profile: &'a Profile, sources: &'a RecordedSources) -> Self {
        Self { profile, sources, known: FxHashMap::default() }
    }

    /// The function of frames that are called `name`, if its source is at hand.
    pub(crate) fn of(&mut self, name: StrId) -> Option<Definition<'a>> {
        let (profile, sources) = (self.profile, self.sources);
        *self.known.entry(name).or_insert_with(|| find(profile.strings.get(name), sources))
    }
}

fn find<'a>(name: &'a str, sources: &'a RecordedSources) -> Option<Definition<'a>> {
    let text = |file| {
        let source = sources.get(file)?;
        source.text.as_ref()?;
        Some((source, source.module.as_deref()?))
    };
    let (file, source, module, function, start) = match Frame::parse(name) {
        Some(frame) => {
            let (source, module) = text(frame.file)?;
            let function = module.definition(frame.function, frame.line)?;
            let is_definition = [function.first_line, function.def_line].contains(&frame.line)
                && frame.function != "<module>";
            let start = if is_definition { Start::Entry } else { Start::Within(frame.line) };
            (frame.file, source, module, function, start)
        }
        None if name.starts_with("nn.Module: ") => {
            let (file, names) = MODULE_CALL;
            let (source, module) = text(file)?;
            let function = names.iter().find_map(|name| module.named(name).next())?;
            (file, source, module, function, Start::Entry)
        }
        None => return None,
    };
    let function = module.functions().iter().position(|it| std::ptr::eq(it, function))?;
    let is_unnamed = Frame::parse(name).is_none();
    Some(Definition { file, source, module, function, start, is_unnamed })
}
