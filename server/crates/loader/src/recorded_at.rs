//! Whether a file was changed after a recording was made.

use std::path::Path;
use std::time::{Duration, SystemTime};

use profile::{Ns, Profile};

/// A trace that is older than its last event by more than this, or newer, is a copy: its own time says nothing of the run.
const WRITING: Duration = Duration::from_secs(60 * 60);

/// Files that are copied, or checked out, together with their recording are at most this much newer than it.
const COPYING: Duration = Duration::from_secs(10 * 60);

/// The same where the recording may be no copy: it is as old as one that nobody copied. Whoever copies it at once, or checks it
/// out, gets its sources a moment later.
const CHECKING_OUT: Duration = Duration::from_secs(60);

/// The time after which a file must have been changed to be another text than the one that ran.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedAt(Option<SystemTime>);

impl RecordedAt {
    /// Of a trace that was read from `path`. A trace is written when the run is over, so that what is newer than its file
    /// was changed since. Where the file is a copy, sources may have been copied with it.
    pub(crate) fn of_trace(profile: &Profile, path: &Path) -> Self {
        let host = &profile.host;
        let ends =
            host.start.iter().zip(&host.duration).map(|(&start, &duration)| start + duration);
        let end = ends.max().map(|end| profile.meta.base + end);
        Self::new(end.filter(|it| Ns::ZERO < *it), path)
    }

    /// Of a file that names no time.
    pub(crate) fn of_file(path: &Path) -> Self {
        Self::new(None, path)
    }

    fn new(end: Option<Ns>, path: &Path) -> Self {
        let end = end.and_then(|end| {
            let since = Duration::from_nanos(u64::try_from(end.0).ok()?);
            SystemTime::UNIX_EPOCH.checked_add(since)
        });
        // Of a pipe, the time is that of now.
        let written = path.metadata().ok().filter(std::fs::Metadata::is_file);
        let written = written.and_then(|it| it.modified().ok());
        let latest = match (end, written) {
            (Some(end), Some(written)) if end <= written && written <= end + WRITING => {
                Some(written + CHECKING_OUT)
            }
            (_, Some(written)) => Some(written + COPYING),
            (end, None) => end,
        };
        Self(latest)
    }

    /// Whether the file at `path` was changed since. One of which nothing is known was not.
    pub(crate) fn is_newer(self, path: &Path) -> bool {
        let modified = path.metadata().and_then(|it| it.modified());
        self.0.zip(modified.ok()).is_some_and(|(latest, modified)| latest < modified)
    }
}
