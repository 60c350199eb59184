//! When a recording was made, and whether a file was changed after it.

use std::path::Path;
use std::time::{Duration, SystemTime};

use ledger::TimeRange;
use ledger_file::KeptMoment;
use profile::{Ns, Profile};
use recorded::{CommitId, RecordedCommit};

use crate::places;

/// A trace that is older than its last event by more than this, or newer, is a copy: its own time says nothing of the run.
const WRITING: Duration = Duration::from_secs(60 * 60);

/// Files that are copied, or checked out, together with their recording are at most this much newer than it.
const COPYING: Duration = Duration::from_secs(10 * 60);

/// The same where the recording may be no copy: it is as old as one that nobody copied. Whoever copies it at once, or checks it
/// out, gets its sources a moment later.
const CHECKING_OUT: Duration = Duration::from_secs(60);

/// Unix times before this are those of clocks that do not begin in 1970: of 2001.
const FIRST_CREDIBLE: Duration = Duration::from_secs(1_000_000_000);

/// From when the first host event of a trace began until the last ended, by the clock of the recording.
pub(crate) fn recorded(profile: &Profile) -> Option<TimeRange> {
    let host = &profile.host;
    let ends =
        host.start.iter().zip(&host.duration).map(|(start, time)| start.saturating_add(*time));
    let at = |it: Ns| profile.meta.base.saturating_add(it);
    Some(TimeRange { start: at(*host.start.iter().min()?), end: at(ends.max()?) })
}

/// A time of a recording, if its clock counts from the Unix epoch.
pub(crate) fn credible(at: Ns) -> Option<SystemTime> {
    let since = Duration::from_nanos(u64::try_from(at.0).ok()?);
    (FIRST_CREDIBLE <= since).then(|| SystemTime::UNIX_EPOCH.checked_add(since)).flatten()
}

/// When a recording was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RecordedAt {
    /// The time after which a file must have been changed to be another text than the one that ran.
    latest: Option<SystemTime>,
    /// When recording began, in seconds since the Unix epoch.
    pub(crate) began: Option<i64>,
    /// The commit that the recording names.
    pub(crate) commit: Option<RecordedCommit>,
}

impl RecordedAt {
    /// Of a trace that was read from `path`. A trace is written when the run is over, so that what is newer than its file
    /// was changed since. Where the file is a copy, sources may have been copied with it.
    pub(crate) fn of_trace(profile: &Profile, path: &Path, commit: Option<RecordedCommit>) -> Self {
        let (began, end) = recorded(profile).map(|it| (it.start, it.end)).unzip();
        let is_known = |it: &Ns| Ns::ZERO < *it;
        Self { commit, ..Self::new(began.filter(is_known), end.filter(is_known), path) }
    }

    /// Of a file that names no time.
    pub(crate) fn of_file(path: &Path) -> Self {
        Self::new(None, None, path)
    }

    /// As it was kept with a ledger.
    pub(crate) fn of_kept(kept: KeptMoment) -> Self {
        let KeptMoment { latest, began, commit } = kept;
        let time = |it| SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(it));
        let commit = commit.map(|(id, is_dirty)| RecordedCommit { id: CommitId(id), is_dirty });
        Self { latest: latest.and_then(time), began, commit }
    }

    /// To keep it with a ledger.
    pub(crate) fn to_kept(self) -> KeptMoment {
        let Self { latest, began, commit } = self;
        let since = latest.and_then(|it| it.duration_since(SystemTime::UNIX_EPOCH).ok());
        let latest = since.and_then(|it| u64::try_from(it.as_nanos()).ok());
        KeptMoment { latest, began, commit: commit.map(|it| (it.id.0, it.is_dirty)) }
    }

    fn new(began: Option<Ns>, end: Option<Ns>, path: &Path) -> Self {
        let time = |it: Ns| {
            let since = Duration::from_nanos(u64::try_from(it.0).ok()?);
            SystemTime::UNIX_EPOCH.checked_add(since)
        };
        let end = end.and_then(time);
        // Of a pipe, the time is that of now.
        let written = places::modified(path).ok();
        let latest = match (end, written) {
            (Some(end), Some(written)) if end <= written && written <= end + WRITING => {
                Some(written + CHECKING_OUT)
            }
            (_, Some(written)) => Some(written + COPYING),
            (end, None) => end,
        };
        let seconds = |it: SystemTime| {
            let since = it.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            i64::try_from(since.as_secs()).ok().filter(|_| FIRST_CREDIBLE <= since)
        };
        let began = began.and_then(time).and_then(seconds).or_else(|| written.and_then(seconds));
        Self { latest, began, commit: None }
    }

    /// Whether the file at `path` was changed since. One of which nothing is known was not.
    pub(crate) fn is_newer(self, path: &Path) -> bool {
        let modified = path.metadata().and_then(|it| it.modified());
        self.latest.zip(modified.ok()).is_some_and(|(latest, modified)| latest < modified)
    }
}
