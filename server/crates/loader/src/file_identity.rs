//! What the system says of a file without reading it: what changes when the file changes.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime};

use remote_files::RemoteMetadata;

use crate::stable_hash::StableHash;

/// How long a file must not have changed for its times to say that it did not: two changes within this time may have the same
/// time, because systems note it coarsely.
const SETTLED: Duration = Duration::from_millis(500);

/// Size, number and times of a file. The time of the last change of its entry, which programs cannot set, is among them where the
/// system has one: a file that was written anew under an old time is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    size: u64,
    number: u64,
    /// Nanoseconds since the Unix epoch.
    modified: i128,
    /// Likewise; 0 where the system has none.
    changed: i128,
}

impl FileIdentity {
    /// `None` of what is no regular file.
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        if !metadata.is_file() {
            return None;
        }
        let (number, changed) = number_and_change(metadata);
        let since = metadata.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let modified = i128::try_from(since.as_nanos()).ok()?;
        Some(Self { size: metadata.len(), number, modified, changed })
    }

    /// `None` of what has no tag that changes with its content. The tag takes the place of the number.
    pub(crate) fn of_remote(metadata: &RemoteMetadata) -> Option<Self> {
        let since = metadata.modified?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let modified = i128::try_from(since.as_nanos()).ok()?;
        Some(Self { size: metadata.size, number: metadata.version?, modified, changed: 0 })
    }

    /// Of what `path` leads to on disk: it may be the name of a source that a stranger recorded.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        Self::of(&path.metadata().ok()?)
    }

    pub(crate) fn add_to(&self, hash: &mut StableHash) {
        let Self { size, number, modified, changed } = self;
        hash.bytes(&size.to_le_bytes());
        hash.bytes(&number.to_le_bytes());
        hash.bytes(&modified.to_le_bytes());
        hash.bytes(&changed.to_le_bytes());
    }

    /// Whether a change from now on would change it.
    pub(crate) fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.ok().and_then(|it| i128::try_from(it.as_nanos()).ok()).unwrap_or_default();
        let settled = i128::try_from(SETTLED.as_nanos()).unwrap_or(i128::MAX);
        self.modified.max(self.changed) + settled <= now
    }
}

/// Number of the file on its device, and the time when its entry was changed.
#[cfg(unix)]
fn number_and_change(metadata: &Metadata) -> (u64, i128) {
    use std::os::unix::fs::MetadataExt;
    let nanoseconds = i128::from(metadata.ctime()) * 1_000_000_000;
    (metadata.ino(), nanoseconds + i128::from(metadata.ctime_nsec()))
}

#[cfg(not(unix))]
fn number_and_change(_: &Metadata) -> (u64, i128) {
    (0, 0)
}
