//! `perfline.setFolder`: which workspace folder is looked at.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid};
use crate::paths;
use crate::session::Session;

/// Has the newest recording in the workspace folder of a document go before those in others. A document in none changes nothing.
pub(super) fn set(session: &Session, arguments: &CommandArguments) -> Result<Value> {
    let uri = arguments.uri(0, "uri")?.ok_or_else(|| invalid("uri is missing".to_owned()))?;
    let path = paths::of_uri(&uri).map(|it| paths::real(&it)).unwrap_or_default();
    let mut state = session.state();
    let holds = |it: &&PathBuf| Path::new(&path).starts_with(paths::real(it));
    // Of folders within each other, the innermost.
    let holding = state.folders.iter().filter(holds).max_by_key(|it| it.components().count());
    if let Some(folder) = holding.cloned()
        && state.folder.as_ref() != Some(&folder)
    {
        state.folder = Some(folder);
        session.look_for_recordings();
    }
    Ok(json!({"folder": state.folder}))
}
