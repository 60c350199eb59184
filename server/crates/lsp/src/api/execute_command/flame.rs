//! `perfline.flame`: the stacks of what is shown, as a flame graph is drawn from them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loader::StackBooks;
use report::Recording;
use report::diff::Difference;
use report::flame::{self, FlameBase, FlameStacks};
use report::terminal::clean;
use serde_json::{Map, Value, json};
use tower_lsp::jsonrpc::Result;

use super::requested_load::{Drawn, picture};
use crate::config::Recordings;
use crate::load_failure::LoadFailure;
use crate::loaded::LoadedRecording;
use crate::session::Session;
use crate::session_snapshot::SessionSnapshot;

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
    let base = base(snapshot, recordings, cancelled)?;
    let base = base.as_ref().map(ReadBase::flame_base);
    let title = recording.title();
    let mut graph = flame::flame(&recording, &stacks, base, &title, flame::EDITOR_MIN_SHARE);
    graph["files"] = files(&recording);
    Ok(graph)
}

/// The baseline with its stacks.
pub(super) struct ReadBase<'a> {
    recording: Recording<'a>,
    title: String,
    books: Arc<StackBooks>,
    difference: &'a Difference,
}

impl ReadBase<'_> {
    /// What a flame graph compares with.
    pub(super) fn flame_base(&self) -> FlameBase<'_> {
        let Self { recording, title, books, difference } = self;
        FlameBase { recording, title, books, difference }
    }
}

/// What all of the recording that is shown is compared with; `None` where it is not, or where the stacks of the baseline are not known.
pub(super) fn base<'a>(
    snapshot: &'a SessionSnapshot,
    recordings: &dyn Recordings,
    cancelled: &AtomicBool,
) -> std::result::Result<Option<ReadBase<'a>>, LoadFailure> {
    let Some((base, difference)) = snapshot.base() else { return Ok(None) };
    let books = base.stacks(None, recordings, cancelled)?;
    Ok(books.map(|books| {
        let recording = base.recording();
        ReadBase { title: recording.title(), recording, books, difference }
    }))
}

/// Names of files as the ledger has them, by those that are shown.
pub(super) fn files(recording: &Recording<'_>) -> Value {
    let files = recording.names.iter().map(|(key, shown)| (clean(shown), json!(key)));
    Value::Object(files.collect::<Map<_, _>>())
}
