//! What is known about the files that a recording names.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ledger::SourceFit;
use pysource::{LineMap, Module};
use rustc_hash::FxHashMap;

/// Where the text that ran comes from; what is more certain to have run is less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextOrigin {
    /// The recording holds it.
    Recorded,
    /// A copy was kept when the recording was loaded before.
    Kept,
    /// A commit of the time of the recording has it: the functions that ran are where the recording names them.
    Git(GitBlob),
    /// The file as it was when the recording was loaded: the functions that ran are where the recording names them.
    #[default]
    File,
    /// The file, though it was changed after the recording: the functions that ran are where the recording names them, and
    /// of their lines nothing is known.
    NewerFile,
    /// The file as it is now, with its functions put where the recording names them (`pysource::arranged`).
    ArrangedFile,
}

impl TextOrigin {
    /// Whether its lines may be others than those that ran, so that all numbers on them are marked.
    #[must_use]
    pub fn is_doubtful(self) -> bool {
        matches!(self, Self::NewerFile | Self::ArrangedFile)
    }
}

/// The id of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(pub [u8; 20]);

/// `1a2b3c4`: as many digits as git shows.
impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}{:x}", d >> 4)
    }
}

/// The commit that was checked out when recording began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordedCommit {
    /// Its id.
    pub id: CommitId,
    /// Whether files that git tracks differed from it then.
    pub is_dirty: bool,
}

/// `1a2b3c4`, and `1a2b3c4-dirty` where files differed, as `git describe` writes it.
impl fmt::Display for RecordedCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.id, if self.is_dirty { "-dirty" } else { "" })
    }
}

/// A text in a git repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GitBlob {
    /// The text's own id.
    pub blob: [u8; 20],
    /// The commit that it was taken from.
    pub commit: CommitId,
    /// When that was made: seconds since the Unix epoch.
    pub time: i64,
}

/// `git revision 1a2b3c4 (2026-11-21)`: the commit and the day, in universal time, on which it was made.
impl fmt::Display for GitBlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_date(self.time.div_euclid(24 * 60 * 60));
        write!(f, "git revision {} ({year}-{month:02}-{day:02})", self.commit)
    }
}

/// Year, month and day of the Gregorian calendar, by the days since 1970-01-01. Years begin in March here, so that the day of a
/// leap year is the last of its year.
fn civil_date(days: i64) -> (i64, i64, i64) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let days = days.saturating_add(719_468);
    let (era, day) = (days.div_euclid(DAYS_OF_400_YEARS), days.rem_euclid(DAYS_OF_400_YEARS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// The text of a file that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextThatRan {
    /// The text; recorded lines are lines of it.
    pub text: Arc<str>,
    /// Where it comes from.
    pub origin: TextOrigin,
}

impl TextThatRan {
    /// Where its lines are in `current`, a later text of the file. Where it is not certain that it ran, each line is marked as
    /// edited.
    #[must_use]
    pub fn lines_in(&self, current: &str) -> LineMap {
        let lines = LineMap::between(&self.text, current);
        if self.origin.is_doubtful() { lines.doubted() } else { lines }
    }
}

/// Texts that ran, by a name of their file: the path as recorded, or the key in the ledger.
pub type TextsByFile = BTreeMap<String, TextThatRan>;

/// One source file of a recording.
#[derive(Debug, Clone, Default)]
pub struct RecordedSource {
    /// Key in the ledger: the path relative to the root where it was found there, else the path as recorded.
    pub key: String,
    /// Where it is on this machine, if it was found.
    pub path: Option<PathBuf>,
    /// Whether it is your code.
    pub is_user_code: bool,
    /// Whether the text on disk is the one that ran.
    pub fit: SourceFit,
    /// What the text that ran says, if that text is known; the file on disk may be another one (`fit`).
    pub module: Option<Arc<Module>>,
    /// The text that ran, likewise.
    pub text: Option<Arc<str>>,
    /// Where `text` comes from.
    pub origin: TextOrigin,
    /// Files of your code, relative to the root, that go with the recorded path and functions as well as that at `path` does.
    pub others: Vec<PathBuf>,
}

/// The source files of a recording by their recorded paths. A file that is not listed counts as a library's, unfound.
#[derive(Debug, Clone, Default)]
pub struct RecordedSources {
    files: FxHashMap<String, RecordedSource>,
}

impl RecordedSources {
    /// Lists a file.
    pub fn insert(&mut self, recorded: &str, source: RecordedSource) {
        self.files.insert(recorded.to_owned(), source);
    }

    /// Lists a file of your code of which only the recorded path is known.
    pub fn insert_own(&mut self, recorded: &str) {
        let source = RecordedSource {
            key: recorded.to_owned(),
            is_user_code: true,
            fit: SourceFit::Missing,
            ..RecordedSource::default()
        };
        self.insert(recorded, source);
    }

    /// What all texts say that are at hand.
    pub fn modules(&self) -> impl Iterator<Item = &Arc<Module>> {
        self.files.values().filter_map(|source| source.module.as_ref())
    }

    /// Where the files are that were found.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.values().filter_map(|source| source.path.as_deref())
    }

    /// The texts of your code that ran, by their key in the ledger.
    #[must_use]
    pub fn own_texts(&self) -> TextsByFile {
        let own = self.files.values().filter(|source| source.is_user_code);
        let texts = own.filter_map(|source| {
            let text = Arc::clone(source.text.as_ref()?);
            Some((source.key.clone(), TextThatRan { text, origin: source.origin }))
        });
        texts.collect()
    }

    /// What is known about a recorded path.
    #[must_use]
    pub fn get(&self, recorded: &str) -> Option<&RecordedSource> {
        self.files.get(recorded)
    }

    /// Whether the file with this key in the ledger is your code.
    #[must_use]
    pub fn is_user_code(&self, key: &str) -> bool {
        self.files.values().any(|source| source.key == key && source.is_user_code)
    }

    /// Whether the text of the file with this key in the ledger is at hand and is the one that ran.
    #[must_use]
    pub fn has_text(&self, key: &str) -> bool {
        self.files.values().any(|source| source.key == key && source.text.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_named_with_its_day() {
        let commit = CommitId([0x1a; 20]);
        let shown = |time| GitBlob { blob: [0; 20], commit, time }.to_string();
        assert_eq!(shown(0), "git revision 1a1a1a1 (1970-01-01)");
        assert_eq!(shown(-1), "git revision 1a1a1a1 (1969-12-31)");
        assert_eq!(shown(951_782_400), "git revision 1a1a1a1 (2000-02-29)");
        assert_eq!(shown(1_795_219_199), "git revision 1a1a1a1 (2026-11-20)");
        assert_eq!(shown(4_107_542_400), "git revision 1a1a1a1 (2100-03-01)");
        // Whatever a commit says.
        assert!(shown(i64::MAX).starts_with("git revision 1a1a1a1 ("));
        assert!(shown(i64::MIN).starts_with("git revision 1a1a1a1 ("));
    }
}
