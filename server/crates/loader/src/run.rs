//! What was loaded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use device_memory::MemoryHistory;
use event_timeline::EventTimeline;
use ledger::{
    Balance, Ledger, LineKey, Ns, PathOutline, PathsByRank, RankPaths, SourceFile, SourceFit,
};
use profile::{Warning, WarningKind};
use pysource::LineMap;
use recorded::{RecordedCommit, TextOrigin, TextThatRan, TextsByFile};
use stack_books::StackBooks;

use crate::one_run::RunSigns;
use crate::spill::{SpillFile, Spilled};
use crate::{Error, SourceMapping};

/// How another file is chosen that goes with what was recorded of `file` as well; `None` if there is none.
#[must_use]
pub fn other_choice(file: &SourceFile) -> Option<String> {
    let mapping = SourceMapping::between(&file.recorded, file.others.first()?)?;
    Some(format!("--map {mapping} chooses the other"))
}

/// What an input turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InputKind {
    /// A Kineto Chrome trace.
    Kineto,
    /// A CUDA memory snapshot.
    Snapshot,
    /// A memory timeline by category (`export_memory_timeline`).
    Timeline,
    /// The recorder's exact callers.
    Callers,
    /// The log of `torch.compile` (`TORCH_TRACE`).
    CompileLog,
    /// The cache of `torch.compile`, a folder.
    CompileCache,
    /// A trace of the capture of the CUDA graphs that another trace replays.
    GraphCapture,
    /// A trace of the program without the CUDA graphs that another trace replays.
    GraphlessRun,
    /// Ledgers that were written to a file.
    Ledger,
}

impl InputKind {
    /// Whether it says more of a trace, and is no recording by itself.
    #[must_use]
    pub fn is_side_car(self) -> bool {
        matches!(
            self,
            Self::Callers
                | Self::CompileLog
                | Self::CompileCache
                | Self::GraphCapture
                | Self::GraphlessRun
        )
    }

    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kineto => "kineto",
            Self::Snapshot => "snapshot",
            Self::Timeline => "timeline",
            Self::Callers => "callers",
            Self::CompileLog => "compile-log",
            Self::CompileCache => "compile-cache",
            Self::GraphCapture => "graph-capture",
            Self::GraphlessRun => "graphless-run",
            Self::Ledger => "ledger",
        }
    }

    /// The kind with this stable name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let kinds = [
            Self::Kineto,
            Self::Snapshot,
            Self::Timeline,
            Self::Callers,
            Self::CompileLog,
            Self::CompileCache,
            Self::GraphCapture,
            Self::GraphlessRun,
        ];
        kinds.into_iter().find(|it| it.name() == name)
    }
}

/// One file that was read.
#[derive(Debug, Clone)]
pub struct Input {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: InputKind,
    /// Its rank; from `distributedInfo`, else from the file name, else by its place among the inputs.
    pub rank: u32,
    /// Events read.
    pub events: u64,
    /// Decompressed bytes read.
    pub bytes: u64,
    /// Whether it was read to its end without loss.
    pub complete: bool,
    /// The anomalies that were found.
    pub warnings: Vec<Warning>,
}

/// What the first steps of a trace say, before all of its run is read.
#[derive(Debug, Clone)]
pub struct PartialRun {
    /// The run as if it had these steps alone, of one rank. Its input is not complete and says so.
    pub run: Run,
    /// How much of the trace that is.
    pub so_far: StepsSoFar,
}

/// How much of a trace its first steps are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepsSoFar {
    /// How many steps these are.
    pub n_steps: usize,
    /// The time until the end of the last of them, as a share (of 1) of the time of the whole trace.
    pub share: f64,
}

/// `first 30 steps, 3.8 % of the recording`.
impl fmt::Display for StepsSoFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.share;
        match self.n_steps {
            1 => write!(f, "first step, {percent:.1} % of the recording"),
            n => write!(f, "first {n} steps, {percent:.1} % of the recording"),
        }
    }
}

/// One rank of a run. [`Run::ledger_of`] has its books.
#[derive(Debug, Clone)]
pub struct Rank {
    /// Rank number.
    pub rank: u32,
    /// Its steps, by number.
    pub steps: BTreeMap<u32, Ns>,
    /// Where there are several ranks, what does not balance in its books: nothing, but for a fault of Perfline.
    pub open: Vec<Balance>,
    /// Likewise the lines with more time than was recorded.
    pub excesses: Vec<LineKey>,
    /// Whether its critical paths have no gaps; likewise.
    pub has_whole_paths: bool,
    /// Where there are several ranks, what says of which run it is.
    pub(crate) signs: RunSigns,
    books: RankBooks,
}

#[derive(Debug, Clone)]
enum RankBooks {
    /// Those of the whole run, of which it is the only rank.
    Sum,
    /// The books of most ranks are not looked at by themselves, and whole they would need more memory than all else.
    Spilled {
        /// All but the critical paths.
        ledger: Spilled<Ledger>,
        paths: Spilled<BTreeMap<u32, RankPaths>>,
        /// Of the paths, what those of all ranks are joined by.
        outline: BTreeMap<u32, PathOutline>,
    },
}

impl Rank {
    /// One of several ranks with these books, which are given to `add` but for the critical paths: those of several ranks are not
    /// added up.
    #[must_use]
    pub fn new(
        rank: u32,
        mut ledger: Ledger,
        file: &Arc<SpillFile>,
        add: impl FnOnce(&Ledger),
    ) -> Self {
        let has_whole_paths = ledger.has_whole_paths();
        let paths = std::mem::take(&mut ledger.critical_paths);
        add(&ledger);
        Self {
            rank,
            steps: ledger.steps.clone(),
            open: ledger.balances().into_iter().filter(|it| !it.is_balanced()).collect(),
            excesses: ledger.excesses().cloned().collect(),
            has_whole_paths,
            signs: RunSigns::of(&ledger),
            books: RankBooks::Spilled {
                outline: paths.iter().map(|(&rank, it)| (rank, it.outline())).collect(),
                paths: Spilled::new(paths, file),
                ledger: Spilled::new(ledger, file),
            },
        }
    }

    /// The only rank of a run with these books, which are not looked at twice.
    #[must_use]
    pub fn only(rank: u32, merged: &Ledger) -> Self {
        Self {
            rank,
            steps: merged.steps.clone(),
            open: Vec::new(),
            excesses: Vec::new(),
            has_whole_paths: merged.has_whole_paths(),
            signs: RunSigns::default(),
            books: RankBooks::Sum,
        }
    }

    /// The books of one of several ranks; `None` of an only rank, which has those of the run.
    ///
    /// # Errors
    /// If they cannot be read from the file that they were put into.
    pub(crate) fn own_ledger(&self) -> Result<Option<Ledger>, Error> {
        let RankBooks::Spilled { ledger, paths, outline: _ } = &self.books else { return Ok(None) };
        let critical_paths = paths.get()?.into_owned();
        Ok(Some(Ledger { critical_paths, ..ledger.get()?.into_owned() }))
    }

    /// Adds what another file says of this rank. Neither is the only rank of a run yet.
    ///
    /// # Errors
    /// If what was read of either cannot be read from the file that it was put into.
    pub(crate) fn merge(&mut self, other: &Self, file: &Arc<SpillFile>) -> Result<(), Error> {
        if let (Some(mut sum), Some(theirs)) = (self.own_ledger()?, other.own_ledger()?) {
            sum.merge(&theirs);
            // Several files of one rank are still one rank.
            sum.ranks = 1;
            *self = Self::new(self.rank, sum, file, |_| ());
        }
        Ok(())
    }
}

/// A loaded recording: the inputs of one run.
#[derive(Debug, Clone)]
pub struct Run {
    /// The files it was read from.
    pub inputs: Vec<Input>,
    /// Inputs that could not be read at all: one line each, with the path and what to do.
    pub failures: Vec<String>,
    /// The ranks, in order of their numbers.
    pub ranks: Vec<Rank>,
    /// The sum of all ranks.
    pub merged: Ledger,
    /// The texts of your code that ran, by key in the ledger; [`Self::text_that_ran`] knows those of libraries, too.
    pub texts: TextsByFile,
    /// The commit that was checked out when recording began, of the first rank whose recording names one. Files may have been
    /// changed since it.
    pub commit: Option<RecordedCommit>,
    /// The amounts of `merged` by whole stacks, if [`crate::LoadOptions::stacks`] asked for them.
    pub stacks: Option<StackBooks>,
    /// What threads and devices of one rank did when, if [`crate::LoadOptions::timeline`] asked for it.
    pub timeline: Option<EventTimeline>,
    /// What each memory held when, by rank and device, of snapshots and of traces that say so, if [`crate::LoadOptions::histories`] asked for it.
    pub histories: Vec<MemoryHistory>,
}

impl Run {
    /// The first input that is of another run than those before it, if there is one, with why that is known: the sums of the run mean
    /// nothing then.
    #[must_use]
    pub fn of_other_run(&self) -> Option<(&Input, &Warning)> {
        self.inputs.iter().find_map(|input| {
            let warning = input.warnings.iter().find(|it| it.kind == WarningKind::OtherRun)?;
            Some((input, warning))
        })
    }

    /// Whether all sums add up, but for those of a recording that is not of one run; `balances` are those of [`Self::merged`].
    #[must_use]
    pub fn adds_up(&self, balances: &[Balance]) -> bool {
        self.merged.adds_up_with(balances) && self.ranks.iter().all(|it| it.has_whole_paths)
    }

    /// The books of one of [`Self::ranks`]. Where there are several, they are read again by each call.
    ///
    /// # Errors
    /// If they cannot be read from the temporary file that those of many ranks are put into.
    pub fn ledger_of<'a>(&'a self, rank: &Rank) -> Result<Cow<'a, Ledger>, Error> {
        Ok(rank.own_ledger()?.map_or(Cow::Borrowed(&self.merged), Cow::Owned))
    }

    /// The text of a file that ran, by its key in the ledger: the recorded lines are lines of it. `read` reads the file
    /// on disk, which is asked for where that is the text that ran. `None` where the text that ran is not known.
    #[must_use]
    pub fn text_that_ran(
        &self,
        key: &str,
        read: impl FnOnce(&Path) -> Option<String>,
    ) -> Option<TextThatRan> {
        if let Some(known) = self.texts.get(key) {
            return Some(known.clone());
        }
        let file = self.merged.files.get(key).filter(|file| file.fit == SourceFit::Fits)?;
        let text = read(file.path.as_ref()?)?.into();
        Some(TextThatRan { text, origin: TextOrigin::File })
    }

    /// Where the lines of a file that ran are in `current`, a later text of it; `None` where the text that ran is not
    /// known. `read` as in [`Self::text_that_ran`].
    #[must_use]
    pub fn lines_in(
        &self,
        key: &str,
        current: &str,
        read: impl FnOnce(&Path) -> Option<String>,
    ) -> Option<LineMap> {
        Some(self.text_that_ran(key, read)?.lines_in(current))
    }

    /// Which of your files have the text of a commit, because what is on disk is another one: a sentence, if there are some.
    #[must_use]
    pub fn texts_from_git(&self) -> Option<String> {
        let mut files = self.texts.iter().filter_map(|(key, it)| match it.origin {
            TextOrigin::Git(blob) => Some((key, blob)),
            _ => None,
        });
        let (key, blob) = files.next()?;
        let why = "what is on disk is not the text that ran";
        Some(match files.count() {
            0 => format!("{key} is taken as it is in {blob}: {why}"),
            n => format!(
                "{} source files are taken from git (e.g. {key}, {blob}): {why}",
                n.saturating_add(1)
            ),
        })
    }

    /// What is doubtful about the sources: one line for files that are there several times, one for those on disk that may not be the text that ran,
    /// one for those that are not, one for those in which nothing is found again, and one for those that were not found. Time in the latter two is
    /// shown on functions where the recording names no line. Where the text that ran is known, nothing is doubtful.
    #[must_use]
    pub fn source_doubts(&self) -> Vec<String> {
        let doubtful = |origin: TextOrigin, what: [&str; 2], why: &str| {
            let mut files = self.texts.iter().filter(|(_, it)| it.origin == origin);
            let (first, _) = files.next()?;
            let files = match files.count() {
                0 => format!("{first} {}", what[0]),
                n => format!("{} source files (e.g. {first}) {}", n.saturating_add(1), what[1]),
            };
            Some(format!("{files}{why}; record with the Python package, which keeps the texts"))
        };
        let newer = doubtful(
            TextOrigin::NewerFile,
            ["was changed", "were changed"],
            " after the recording, and what ran is not known: numbers are marked with ≈, because they may stand on wrong lines",
        );
        let arranged = doubtful(
            TextOrigin::ArrangedFile,
            ["is not the text that ran", "are not the texts that ran"],
            ", which is not known: numbers stand on the lines that what was recorded goes best with, marked with ≈; check out \
             the version that was recorded",
        );
        let doubt = |fit: SourceFit, what: [&str; 2], remedy: &str| {
            // What is no Python file cannot be looked for, and nobody looks for the recorder. Your files come first.
            let is_wanted = |file: &SourceFile| {
                fit != SourceFit::Missing
                    || file.recorded.ends_with(".py") && !file.recorded.starts_with("perfline/")
            };
            let files = self.merged.files.iter().filter(|(key, file)| {
                file.fit == fit && is_wanted(file) && !self.texts.contains_key(*key)
            });
            let mut files: Vec<&SourceFile> = files.map(|(_, file)| file).collect();
            files.sort_by_key(|file| !file.is_user_code);
            let first = files.first()?;
            let path =
                first.path.as_ref().map_or(String::new(), |it| format!(", {}", it.display()));
            let files = match files.len() {
                1 => format!("{}{path} {}", first.recorded, what[0]),
                n => format!("{n} source files {} (e.g. {}{path})", what[1], first.recorded),
            };
            Some(format!(
                "{files}: where the trace has no line, time is shown on the function's `def`; {remedy}"
            ))
        };
        let edited = doubt(
            SourceFit::Edited,
            ["is not the text that ran", "are not the text that ran"],
            "check out the version that was recorded",
        );
        let missing = doubt(
            SourceFit::Missing,
            ["was not found", "were not found"],
            "pass --root, --site or --map",
        );
        [self.choices(), newer, arranged, edited, missing].into_iter().flatten().collect()
    }

    /// Of which of your files there are several that what was recorded goes with equally well: a sentence, if there are some.
    fn choices(&self) -> Option<String> {
        let mut files = self.merged.files.iter().filter(|(_, it)| !it.others.is_empty());
        let (key, file) = files.next()?;
        let other = file.others.first()?;
        let how = other_choice(file).map_or(String::new(), |it| format!("; {it}"));
        let more = match files.count() {
            0 => String::new(),
            n => format!(" ({n} more files likewise)"),
        };
        Some(format!(
            "{} is {key} or {} by its functions, and is taken for the former{more}{how}",
            file.recorded,
            other.display()
        ))
    }
}

impl PathsByRank for Run {
    fn outlines(&self) -> BTreeMap<u32, Cow<'_, PathOutline>> {
        let mut outlines = self.merged.outlines();
        for rank in &self.ranks {
            if let RankBooks::Spilled { outline, .. } = &rank.books {
                outlines.extend(outline.iter().map(|(&rank, it)| (rank, Cow::Borrowed(it))));
            }
        }
        outlines
    }

    fn paths_of(&self, rank: u32) -> io::Result<Cow<'_, RankPaths>> {
        for it in &self.ranks {
            if let RankBooks::Spilled { outline, paths, .. } = &it.books
                && outline.contains_key(&rank)
            {
                let mut paths = paths.get().map_err(io::Error::other)?.into_owned();
                return Ok(Cow::Owned(paths.remove(&rank).unwrap_or_default()));
            }
        }
        self.merged.paths_of(rank)
    }
}

#[cfg(test)]
mod tests {
    use ledger::{PathPiece, PathTime, StepPath, ThreadKey, TimeRange};

    use super::*;

    /// A rank that was at work from 0 to `end`, and a step of it that was all on one line.
    fn books(rank: u32, end: i64) -> Ledger {
        let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
        ledger.threads.insert(ThreadKey { rank, thread: "1".to_owned() }, Ns(end));
        ledger.steps.insert(1, Ns(end));
        let host = PathTime { host: Ns(end), ..PathTime::default() };
        let piece = PathPiece {
            before: None,
            time: TimeRange { start: Ns(0), end: Ns(end) },
            collective: None,
            lines: [(Some(0), host)].into_iter().collect(),
        };
        let line = LineKey { file: "train.py".to_owned(), line: rank + 1 };
        let steps = [(Some(1), StepPath { pieces: vec![piece] })].into();
        ledger.critical_paths.insert(rank, RankPaths { lines: vec![line], steps });
        ledger
    }

    #[test]
    fn books_of_a_rank_come_back_from_the_file_with_its_paths() {
        let file = Arc::new(SpillFile::new(0));
        let mut sum = Ledger::default();
        let whole = [0, 1].map(|rank| books(rank, 10 + i64::from(rank)));
        let ranks = (0..).zip(whole.clone());
        let ranks = ranks.map(|(rank, it)| Rank::new(rank, it, &file, |it| sum.merge(it)));
        let run = Run {
            inputs: Vec::new(),
            failures: Vec::new(),
            ranks: ranks.collect(),
            merged: Ledger::default(),
            texts: TextsByFile::new(),
            commit: None,
            stacks: None,
            timeline: None,
            histories: Vec::new(),
        };
        let run = Run { merged: sum, ..run };
        // Paths of several ranks are not added up.
        assert!(run.merged.critical_paths.is_empty());
        assert_eq!(run.merged.threads.len(), 2);
        assert!(run.adds_up(&run.merged.balances()));
        let outlines = run.outlines();
        for (rank, whole) in run.ranks.iter().zip(&whole) {
            assert_eq!(*run.ledger_of(rank).unwrap(), *whole);
            let paths = &whole.critical_paths[&rank.rank];
            assert_eq!(*run.paths_of(rank.rank).unwrap(), *paths);
            assert_eq!(*outlines[&rank.rank], paths.outline());
        }
        assert_eq!(*run.paths_of(7).unwrap(), RankPaths::default());
    }

    #[test]
    fn two_files_of_a_rank_are_one_rank() {
        let file = Arc::new(SpillFile::new(0));
        let [mut one, other] = [10, 20].map(|end| Rank::new(3, books(3, end), &file, |_| ()));
        one.merge(&other, &file).unwrap();
        let mut sum = books(3, 10);
        sum.merge(&books(3, 20));
        let found = one.own_ledger().unwrap().unwrap();
        assert_eq!(found, Ledger { ranks: 1, ..sum });
        // Of a step that both have, the longer path is kept.
        let piece = &found.critical_paths[&3].steps[&Some(1)].pieces[0];
        assert_eq!(piece.time.end, Ns(20));
    }
}
