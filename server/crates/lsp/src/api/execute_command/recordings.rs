//! `perfline.recordings`: the recordings in the workspace, with what is known of them without reading them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use loader::{InputKind, LoadOptions, Signature, Watch};
use metrics::numbers::{bytes, duration};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::arguments::CommandArguments;
use crate::Recordings;
use crate::loader::{WorkspaceRecording, all, load_options};
use crate::session::{RunFacts, Session};
use crate::session_snapshot::SessionSnapshot;

/// Recordings that are listed if it is not said how many: each is looked at.
const LIMIT: u32 = 100;

pub(super) async fn handle(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let limit = arguments.number(0, "limit")?.unwrap_or(LIMIT) as usize;
    session.settings_known().await;
    let of_session = Arc::clone(session);
    let work = session.background_of_all(move |snapshots, token| {
        let recordings = &*of_session.config.recordings;
        let mut found = all(recordings, &of_session.folders());
        let left_out = found.len().saturating_sub(limit);
        found.truncate(limit);
        let described = found.iter().map_while(|it| {
            let is_it = |shown: &&SessionSnapshot| {
                shown.loaded.as_ref().is_some_and(|loaded| loaded.inputs() == it.run.inputs)
            };
            let shown = snapshots.all().find(is_it);
            (!token.is_cancelled()).then(|| described(&of_session, recordings, it, shown))
        });
        let described: Vec<Value> = described.collect();
        let mode = if of_session.state().is_off {
            "off"
        } else if snapshots.front.pinned.is_some() {
            "named"
        } else {
            "newest"
        };
        json!({"mode": mode, "recordings": described, "leftOut": left_out})
    });
    work.await
}

fn described(
    session: &Session,
    recordings: &dyn Recordings,
    WorkspaceRecording { run, folder }: &WorkspaceRecording,
    shown: Option<&SessionSnapshot>,
) -> Value {
    let description = loader::describe(&run.inputs);
    let kinds: Vec<&str> = description.kinds.iter().map(|it: &InputKind| it.name()).collect();
    let facts = facts(session, recordings, &run.inputs, folder);
    let commit = facts.and_then(|it| it.commit);
    let modified = run.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    json!({
        "paths": run.inputs,
        "beside": description.beside,
        "folder": folder,
        "name": name(run.inputs.first().map_or(Path::new(""), PathBuf::as_path), folder),
        "modified": u64::try_from(modified.as_millis()).unwrap_or(u64::MAX),
        "bytes": description.bytes,
        "bytesText": bytes(description.bytes as f64),
        "kinds": kinds,
        "ranks": description.ranks,
        "steps": facts.map(|it| it.steps),
        "timeText": facts.filter(|it| 0.0 < it.time).map(|it| duration(it.time)),
        "commit": commit.map(|it| it.id.to_string()),
        "dirty": commit.map(|it| it.is_dirty),
        "loaded": shown.is_some(),
        "pinned": shown.is_some_and(|it| it.pinned.is_some()),
    })
}

/// The path below the workspace folder.
fn name(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

/// What is known of a recording from an earlier load, of this session or another one.
fn facts(
    session: &Session,
    recordings: &dyn Recordings,
    inputs: &[PathBuf],
    folder: &Path,
) -> Option<RunFacts> {
    let signature = Signature::of(inputs);
    let known = session.state().known_runs.get(inputs).cloned();
    if let Some((_, facts)) = known.filter(|(it, _)| *it == signature) {
        return facts;
    }
    let options: LoadOptions = load_options(session, folder.to_owned());
    let watch = Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    let facts = recordings.load_kept(inputs, &options, &watch).map(|it| RunFacts::of(&it));
    session.state().known_runs.insert(inputs.to_vec(), (signature, facts));
    facts
}
