//! What is aligned: functions with the sequences of children that their frames had.

use std::sync::Arc;

use profile::Profile;
use pysource::Module;
use pysource::flow::Flow;
use recorded::RecordedSources;
use rustc_hash::FxHashMap;

use crate::definitions::Start;
use crate::keys::KeyId;

/// A function whose frames were recorded and whose source is at hand.
pub(crate) struct FunctionCode {
    /// The file as recorded.
    pub(crate) recorded: String,
    pub(crate) flow: Flow,
    /// What the text says.
    pub(crate) module: Arc<Module>,
    /// Whether its frames are recorded without file and line: those of `Module.__call__`.
    pub(crate) is_unnamed: bool,
    pub(crate) sequences: Vec<Sequence>,
    /// Rows of `sequences` by where they start, whether they are cut, and their children.
    pub(crate) index: FxHashMap<(Start, bool), FxHashMap<Vec<Child>, usize>>,
}

/// A child as the aligner sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Child {
    pub(crate) key: KeyId,
    /// The line it is known to come from; 0 where it is to be inferred.
    pub(crate) exact: u32,
}

/// A distinct sequence of children, with the frames that had it.
pub(crate) struct Sequence {
    pub(crate) start: Start,
    /// Whether the recording ended within the last child.
    pub(crate) is_cut: bool,
    /// Whether one of the frames is known to have returned: whatever it had raised would have ended the one that called it, too.
    pub(crate) returned: bool,
    pub(crate) children: Vec<Child>,
    /// The frames that had it, as runs of [`Children`].
    pub(crate) frames: Vec<u32>,
}

impl Sequence {
    /// How many frames had it.
    pub(crate) fn weight(&self) -> u32 {
        u32::try_from(self.frames.len()).unwrap_or(u32::MAX)
    }
}

impl FunctionCode {
    /// Adds a frame to the sequence that it had.
    pub(crate) fn add(
        &mut self,
        start: Start,
        is_cut: bool,
        returned: bool,
        children: &[Child],
        frame: u32,
    ) {
        let index = self.index.entry((start, is_cut)).or_default();
        let row = index.get(children).copied().unwrap_or_else(|| {
            let row = self.sequences.len();
            index.insert(children.to_owned(), row);
            let children = children.to_owned();
            let frames = Vec::new();
            self.sequences.push(Sequence { start, is_cut, returned, children, frames });
            row
        });
        let sequence = &mut self.sequences[row];
        sequence.returned |= returned;
        sequence.frames.push(frame);
    }
}

/// The Python that recorded, as far as the recording shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Python {
    /// Minor version, by which expressions have other lines.
    pub(crate) minor: u8,
    /// Whether comprehensions are frames (up to 3.11) or part of their function; `None` where it does not show.
    pub(crate) has_comprehension_frames: Option<bool>,
}

impl Python {
    pub(crate) fn of(profile: &Profile, sources: &RecordedSources) -> Self {
        let texts = || profile.strings.iter().map(|(_, text)| text);
        let minor_in = |text: &str| -> Option<u8> {
            let (_, rest) = text.split_once("/python3.")?;
            rest.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
        };
        let is_comprehension = |text: &str| {
            ["<listcomp>", "<dictcomp>", "<setcomp>"].iter().any(|it| text.ends_with(it))
        };
        if let Some(minor) = texts().find_map(minor_in) {
            return Self { minor, has_comprehension_frames: Some(minor < 12) };
        }
        // Paths below `site-packages` are recorded without what is before. Where the libraries were found shows the Python that is
        // here, which need not be the one that recorded.
        let found = sources.paths().filter_map(|path| minor_in(path.to_str()?)).next();
        if texts().any(is_comprehension) {
            let minor = found.filter(|it| *it < 12).unwrap_or(11);
            return Self { minor, has_comprehension_frames: Some(true) };
        }
        // Most programs have a comprehension somewhere, so that without a frame of one it probably is a Python that inlines them.
        let inlines = found.is_some_and(|it| it >= 12);
        Self { minor: found.unwrap_or(12), has_comprehension_frames: inlines.then_some(false) }
    }
}

#[cfg(test)]
mod tests {
    use recorded::RecordedSource;

    use super::*;

    /// The Python of a recording that holds `texts`, and whose library was found at `path`.
    fn python(texts: &[&str], path: &str) -> Python {
        let mut profile = Profile::default();
        for text in texts {
            profile.strings.intern(text);
        }
        let mut sources = RecordedSources::default();
        let source = RecordedSource { path: Some(path.into()), ..RecordedSource::default() };
        sources.insert("torch/nn/modules/module.py", source);
        Python::of(&profile, &sources)
    }

    #[test]
    fn the_python_that_is_here_need_not_be_the_one_that_recorded() {
        let here = |minor: u8| {
            format!("/env/lib/python3.{minor}/site-packages/torch/nn/modules/module.py")
        };
        let shows = |minor, has_comprehension_frames| Python { minor, has_comprehension_frames };
        let recorded = ["/a/lib/python3.12/threading.py(1030): _bootstrap"];
        assert_eq!(python(&recorded, &here(11)), shows(12, Some(false)));
        let frame = ["t.py(3): <dictcomp>"];
        assert_eq!(python(&frame, &here(9)), shows(9, Some(true)));
        assert_eq!(python(&frame, &here(13)), shows(11, Some(true)));
        // No frame of a comprehension: whether it inlines them is not known from an older Python that is here.
        assert_eq!(python(&["t.py(3): f"], &here(11)), shows(11, None));
        assert_eq!(python(&["t.py(3): f"], &here(13)), shows(13, Some(false)));
        assert_eq!(python(&["t.py(3): f"], "/src/torch/nn/modules/module.py"), shows(12, None));
    }
}
