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
    /// Rows of `sequences` by where they start and their children.
    pub(crate) index: FxHashMap<Start, FxHashMap<Vec<Child>, usize>>,
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
    pub(crate) fn add(&mut self, start: Start, children: &[Child], frame: u32) {
        let index = self.index.entry(start).or_default();
        let row = index.get(children).copied().unwrap_or_else(|| {
            let row = self.sequences.len();
            index.insert(children.to_owned(), row);
            let children = children.to_owned();
            self.sequences.push(Sequence { start, children, frames: Vec::new() });
            row
        });
        self.sequences[row].frames.push(frame);
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
        // Paths below `site-packages` are recorded without what is before; where the libraries were found shows it, too.
        let minor = texts().find_map(minor_in).or_else(|| {
            let mut paths = sources.paths().filter_map(|path| minor_in(path.to_str()?));
            paths.next()
        });
        let is_comprehension = |text: &str| {
            ["<listcomp>", "<dictcomp>", "<setcomp>"].iter().any(|it| text.ends_with(it))
        };
        let has_frames = texts().any(is_comprehension);
        match minor {
            Some(minor) => Self { minor, has_comprehension_frames: Some(minor < 12) },
            None if has_frames => Self { minor: 11, has_comprehension_frames: Some(true) },
            // Most programs have a comprehension somewhere, so it probably is a Python that inlines them.
            None => Self { minor: 12, has_comprehension_frames: None },
        }
    }
}
