//! `perfline.setFolder`: which workspace folder is looked at.

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid};
use crate::paths;
use crate::session::Session;
use crate::shown_recording::ShownRecording;

/// Has the recording of the workspace folder of a document be what commands and views are about. A document in none changes
/// nothing.
pub(super) fn set(session: &Session, arguments: &CommandArguments) -> Result<Value> {
    let uri = arguments.uri(0, "uri")?.ok_or_else(|| invalid("uri is missing".to_owned()))?;
    let path = paths::of_document(&uri).unwrap_or_default();
    let folders = session.state().folders.clone();
    let holding = paths::holding(&folders, &path).cloned();
    let mut state = session.state();
    if let Some(folder) = holding
        && state.looked_at.as_ref() != Some(&folder)
    {
        if state.shown_of(&folder).is_some_and(ShownRecording::shows) {
            state.front = Some(folder.clone());
            session.refresh();
        }
        state.looked_at = Some(folder);
        session.look_for_recordings();
    }
    Ok(json!({"folder": state.looked_at}))
}
