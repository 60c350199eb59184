//! Whether the files of a recording were written anew.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What the files of a recording look like from outside: enough to see that one was written anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature(Vec<(PathBuf, u64, SystemTime)>);

impl Signature {
    /// Of the files of a run and of those that may lie beside them. Touches the disk.
    #[must_use]
    pub fn of(inputs: &[PathBuf]) -> Self {
        let files =
            inputs.iter().flat_map(|path| std::iter::once(path.clone()).chain(side_cars(path)));
        let mut signature: Vec<_> = files
            .filter_map(|path| {
                let data = path.metadata().ok()?;
                Some((path, data.len(), data.modified().unwrap_or(SystemTime::UNIX_EPOCH)))
            })
            .collect();
        signature.sort();
        Self(signature)
    }

    /// Whether nothing was written for as long as `age`.
    #[must_use]
    pub fn is_older_than(&self, age: Duration) -> bool {
        let now = SystemTime::now();
        self.0
            .iter()
            .all(|(_, _, modified)| now.duration_since(*modified).is_ok_and(|passed| age <= passed))
    }
}

/// Where the exact callers of a trace may lie.
pub(crate) fn side_cars(trace: &Path) -> Vec<PathBuf> {
    let name = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem =
        [".json", ".json.gz", ".json.zst"].iter().find_map(|ending| name.strip_suffix(ending));
    let endings = ["callers.json", "callers.json.gz", "callers.json.zst"];
    stem.map(|stem| {
        endings.iter().map(|ending| trace.with_file_name(format!("{stem}.{ending}"))).collect()
    })
    .unwrap_or_default()
}
