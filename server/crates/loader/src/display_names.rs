//! What source files are called in output.

use std::collections::BTreeMap;
use std::path::Path;

use ledger::{Ledger, SourceFile};

/// What the files of a ledger are called in output, by their key: the path relative to `root` where a file was found
/// below it, else as recorded. Touches the disk.
#[must_use]
pub fn display_names<'a>(ledger: &'a Ledger, root: &Path) -> BTreeMap<&'a str, String> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    ledger.files.iter().map(|(key, file)| (key.as_str(), name(file, &root))).collect()
}

fn name(file: &SourceFile, root: &Path) -> String {
    let found = file.path.as_ref().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
    match found.as_ref().and_then(|path| path.strip_prefix(root).ok()) {
        Some(relative) => {
            let parts = relative.components().map(|it| it.as_os_str().to_string_lossy());
            parts.collect::<Vec<_>>().join("/")
        }
        None => file.recorded.clone(),
    }
}
