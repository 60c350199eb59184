//! `perfline.flame`: the stacks of what is loaded, as a flame graph is drawn from them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use report::terminal::clean;
use report::{Recording, flame};
use serde_json::{Map, Value, json};
use tower_lsp::jsonrpc::Result;

use super::requested_load::{Drawn, picture};
use crate::config::Recordings;
use crate::loaded::LoadedRecording;
use crate::loader::LoadFailure;
use crate::session::Session;

pub(super) async fn handle(session: &Arc<Session>) -> Result<Value> {
    picture(session, graph).await
}

fn graph(loaded: &LoadedRecording, recordings: &dyn Recordings, cancelled: &AtomicBool) -> Drawn {
    let books = loaded.stacks(recordings, cancelled)?;
    let missing =
        "a ledger file holds no stacks; load the traces and snapshots that it was written from";
    let books = books.ok_or_else(|| LoadFailure::Unusable(missing.to_owned()))?;
    let recording = loaded.recording();
    let title = title(loaded);
    let mut graph = flame::flame(&recording, &books, &title, flame::EDITOR_MIN_SHARE);
    graph["files"] = files(&recording);
    Ok(graph)
}

/// The names of what was loaded.
pub(super) fn title(loaded: &LoadedRecording) -> String {
    let names = loaded.run.inputs.iter().filter_map(|it| it.path.file_name());
    let names: BTreeSet<_> = names.map(|it| it.to_string_lossy()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Names of files as the ledger has them, by those that are shown.
pub(super) fn files(recording: &Recording<'_>) -> Value {
    let files = recording.names.iter().map(|(key, shown)| (clean(shown), json!(key)));
    Value::Object(files.collect::<Map<_, _>>())
}
