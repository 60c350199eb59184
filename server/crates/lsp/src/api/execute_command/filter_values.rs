//! `perfline.filterValues`: what `perfline.setFilter` can be given of the recording that is loaded.

use std::collections::BTreeSet;
use std::sync::Arc;

use report::TrainingPhase;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use crate::loaded::LoadedRecording;
use crate::session::Session;

pub(super) async fn handle(session: &Arc<Session>) -> Result<Value> {
    session
        .background(|snapshot, _| snapshot.loaded.as_ref().map_or(Value::Null, |it| of(it)))
        .await
}

fn of(loaded: &LoadedRecording) -> Value {
    let (ledger, names) = (&loaded.run.merged, loaded.names());
    let is_mine = |file: &str| ledger.files.get(file).is_some_and(|it| it.is_user_code);
    let mine = || ledger.lines.iter().filter(|(key, _)| is_mine(&key.file));
    let name = |file| names.get(file).map_or(file, String::as_str);
    let files: BTreeSet<&str> = mine().map(|(key, _)| name(&*key.file)).collect();
    let functions: BTreeSet<&str> = mine().map(|(_, it)| &*it.function).collect();
    let modules: BTreeSet<&str> =
        ledger.modules.keys().flat_map(|it| [&*it.name, &*it.class]).collect();
    let threads: BTreeSet<&str> = ledger.threads.keys().map(|it| &*it.thread).collect();
    let kernels = ledger.lines.values().flat_map(|it| it.kernel_table.values());
    let streams: BTreeSet<i64> = kernels.flat_map(|it| it.streams.iter().copied()).collect();
    let kinds: BTreeSet<&str> = ledger.step_work.values().map(|it| &*it.kind).collect();
    let steps = ledger.steps.keys().map(|&it| Value::from(it));
    json!({
        "files": files,
        "functions": functions.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>(),
        "modules": modules,
        "steps": kinds.into_iter().map(Value::from).chain(steps).collect::<Vec<_>>(),
        "threads": threads,
        "streams": streams,
        "phases": TrainingPhase::ALL.map(TrainingPhase::name),
    })
}
