//! `perfline.flame`: the stacks of what is shown, as a flame graph is drawn from them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use report::Recording;
use report::flame::{self, FlameStacks};
use report::terminal::clean;
use serde_json::{Map, Value, json};
use tower_lsp::jsonrpc::Result;

use super::requested_load::{Drawn, picture};
use crate::config::Recordings;
use crate::load_failure::LoadFailure;
use crate::loaded::LoadedRecording;
use crate::session::{Session, SessionSnapshot};

pub(super) async fn handle(session: &Arc<Session>) -> Result<Value> {
    picture(session, graph).await
}

fn graph(
    loaded: &LoadedRecording,
    snapshot: &SessionSnapshot,
    recordings: &dyn Recordings,
    cancelled: &AtomicBool,
) -> Drawn {
    let part = snapshot.books.loaded_part().map_err(LoadFailure::Unusable)?;
    let rank = loaded.of_several(snapshot.books.rank);
    let read = match part {
        None => loaded.stacks(rank, recordings, cancelled)?,
        Some(_) => None,
    };
    let books = read.as_deref().or_else(|| part?.run.stacks.as_ref());
    let missing =
        "a ledger file holds no stacks; load the traces and snapshots that it was written from";
    let books = books.ok_or_else(|| LoadFailure::Unusable(missing.to_owned()))?;
    let recording = loaded.recording();
    let stacks =
        FlameStacks::new(&recording, books, &snapshot.filter.code, part.map(|it| &it.recorded));
    let stacks = stacks.of_rank(rank);
    let mut graph = flame::flame(&recording, &stacks, &recording.title(), flame::EDITOR_MIN_SHARE);
    graph["files"] = files(&recording);
    Ok(graph)
}

/// Names of files as the ledger has them, by those that are shown.
pub(super) fn files(recording: &Recording<'_>) -> Value {
    let files = recording.names.iter().map(|(key, shown)| (clean(shown), json!(key)));
    Value::Object(files.collect::<Map<_, _>>())
}
