//! `perfline.sources` and `perfline.locate`: which of your files are not certain, and where they are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ledger::{SourceFile, SourceFit};
use loader::SourceMapping;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid, text};
use crate::loaded::LoadedRecording;
use crate::session::Session;

/// Your files that were not found, and those that may be several.
pub(super) async fn list(session: &Arc<Session>) -> Result<Value> {
    session
        .background(|snapshot, _| snapshot.loaded.as_deref().map(listed).unwrap_or_default())
        .await
}

fn listed(loaded: &LoadedRecording) -> Value {
    let root = loaded.root();
    let missing = own(loaded).filter(|it| it.fit == SourceFit::Missing);
    let missing: Vec<&str> = missing.map(|it| it.recorded.as_str()).collect();
    let choice = |file: &SourceFile| {
        let path = file.path.as_ref()?;
        let paths = std::iter::once(path.strip_prefix(root).unwrap_or(path).to_owned());
        let choices = paths.chain(file.others.iter().cloned()).map(|relative| {
            let mapping = SourceMapping::between(&file.recorded, &relative);
            json!({
                "path": root.join(&relative),
                "mapping": mapping.map(|it| described(&it, root)),
            })
        });
        Some(json!({"recorded": file.recorded, "choices": choices.collect::<Vec<_>>()}))
    };
    let several = own(loaded).filter(|it| !it.others.is_empty());
    let several: Vec<Value> = several.filter_map(choice).collect();
    json!({"root": root, "missing": missing, "ambiguous": several})
}

/// The mapping by which most of your files that are not the texts that ran are in a folder.
pub(super) async fn locate(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let folder = arguments.get(0, "folder").map(text);
    let folder = PathBuf::from(folder.ok_or_else(|| invalid("folder is missing".to_owned()))?);
    let work = move |loaded: &LoadedRecording| {
        let names =
            || own(loaded).filter(|it| it.fit != SourceFit::Fits).map(|it| it.recorded.as_str());
        // Where other code is the user's, a package that is nowhere is not known to be: the folder says so.
        let others = || missing(loaded).map(|it| it.recorded.as_str());
        let located = SourceMapping::locate(names(), &folder)
            .or_else(|| SourceMapping::locate(others(), &folder));
        let found = located.map(|(mapping, n_files)| {
            let root = loaded.root();
            json!({"root": root, "mapping": described(&mapping, root), "files": n_files})
        });
        found.ok_or_else(|| {
            let folder = folder.display();
            let Some(first) = names().next() else {
                return format!(
                    "all files of yours were found, and {folder} has no other file of the recording"
                );
            };
            let more = match names().count() {
                1 => String::new(),
                n => format!(" and {} more", n.saturating_sub(1)),
            };
            format!("{folder} has no file of the recording, which names {first}{more}")
        })
    };
    let located = session.background(move |snapshot, _| {
        let loaded = snapshot.loaded.as_deref();
        loaded.map_or_else(|| Err("no recording is loaded".to_owned()), work)
    });
    located.await?.map_err(invalid)
}

/// A mapping as it is written into the settings: a folder below the root is relative to it.
fn described(mapping: &SourceMapping, root: &Path) -> Value {
    let folder = mapping.folder().strip_prefix(root).unwrap_or(mapping.folder());
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    json!({
        "recorded": mapping.recorded(),
        "folder": folder.to_string_lossy().replace('\\', "/"),
    })
}

/// The files of other code that were not found.
fn missing(loaded: &LoadedRecording) -> impl Iterator<Item = &SourceFile> {
    let files = loaded.run.merged.files.values();
    let is_missing = |it: &&SourceFile| !it.is_user_code && it.fit == SourceFit::Missing;
    files.filter(is_missing).filter(|it| it.recorded.ends_with(".py"))
}

/// The files of your code that can be looked for.
fn own(loaded: &LoadedRecording) -> impl Iterator<Item = &SourceFile> {
    let files = loaded.run.merged.files.values();
    files.filter(|it| it.is_user_code && it.recorded.ends_with(".py"))
}
