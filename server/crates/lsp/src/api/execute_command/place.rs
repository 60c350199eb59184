//! `perfline.place`: where a recorded line is now.

use std::sync::Arc;

use ledger::LineKey;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid, text};
use super::current_files::CurrentFiles;
use crate::session::Session;

pub(super) async fn handle(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let missing = |name: &str| invalid(format!("{name} is missing"));
    let file = arguments.get(0, "file").map(text).ok_or_else(|| missing("file"))?;
    let line = arguments.number(1, "line")?.ok_or_else(|| missing("line"))?;
    let documents = session.documents();
    let work = session.background(move |snapshot, token| {
        let loaded = snapshot.loaded.as_ref().filter(|_| !token.is_cancelled())?;
        // Pages and pictures show shorter names.
        let is_key = loaded.run.merged.files.contains_key(&file);
        let file = if is_key { file } else { loaded.recording().key_of(&file)?.to_owned() };
        CurrentFiles::new(snapshot, loaded, &documents, None).of([LineKey { file, line }]).pop()
    });
    Ok(work.await?.unwrap_or_default())
}
