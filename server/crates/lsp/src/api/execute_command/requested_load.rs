//! A load that a request waits for, and the files that it names.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::Url;

use super::arguments::{CommandArguments, invalid};
use crate::config::Recordings;
use crate::load_failure::LoadFailure;
use crate::loaded::LoadedRecording;
use crate::paths;
use crate::session::Session;
use crate::session_snapshot::SessionSnapshot;

/// Stops a load whose request was cancelled.
pub(super) struct StopOnDrop(pub(super) Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// What is answered where a recording cannot be read.
pub(super) fn refused(failure: LoadFailure) -> Error {
    let (code, message) = match failure {
        LoadFailure::Cancelled => (ErrorCode::RequestCancelled, "loading was stopped".to_owned()),
        LoadFailure::Unusable(message) => (ErrorCode::ServerError(-32803), message),
    };
    Error { code, message: message.into(), data: None }
}

/// What `draw` makes of the recording that is shown, and of how it is shown, in the background; null where there is none. What
/// it loads for that is stopped with the request.
pub(super) async fn picture(
    session: &Arc<Session>,
    draw: impl FnOnce(&LoadedRecording, &SessionSnapshot, &dyn Recordings, &AtomicBool) -> Drawn
    + Send
    + 'static,
) -> Result<Value> {
    let recordings = Arc::clone(&session.config.recordings);
    let cancelled = Arc::new(AtomicBool::new(false));
    let guard = StopOnDrop(Arc::clone(&cancelled));
    let work = session.background(move |snapshot, _| match &snapshot.loaded {
        Some(loaded) => draw(loaded, snapshot, &*recordings, &cancelled),
        None => Ok(Value::Null),
    });
    let drawn = work.await;
    drop(guard);
    drawn?.map_err(refused)
}

/// A picture as data, or why there is none.
pub(super) type Drawn = std::result::Result<Value, LoadFailure>;

/// The files that are named, or none.
pub(super) fn paths(session: &Session, arguments: &CommandArguments) -> Result<Vec<PathBuf>> {
    let named = match arguments.get(0, "paths") {
        None => &[],
        Some(Value::Array(paths)) => &paths[..],
        // Each an argument of its own.
        Some(_) if arguments.0.iter().all(Value::is_string) => &arguments.0[..],
        Some(_) => return Err(invalid("paths: expected a list of paths".to_owned())),
    };
    named.iter().map(|it| path(session, it)).collect()
}

/// The workspace folder that a recording is meant for, where that is not the one in front.
pub(super) fn folder(session: &Session, arguments: &CommandArguments) -> Result<Option<PathBuf>> {
    let Some(value) = arguments.named("folder") else { return Ok(None) };
    let folder = path(session, value)?;
    if session.state().folders.contains(&folder) {
        return Ok(Some(folder));
    }
    Err(invalid(format!("folder: {} is no folder of the workspace", folder.display())))
}

/// A path or `file:` URI; a relative path is one below the first workspace folder.
fn path(session: &Session, value: &Value) -> Result<PathBuf> {
    let text = value.as_str().ok_or_else(|| invalid(format!("{value} is no path")))?;
    if let Some(path) = Url::parse(text).ok().and_then(|uri| paths::of_uri(&uri)) {
        return Ok(path);
    }
    let folder = session.state().folders.first().cloned();
    Ok(folder.map_or_else(|| PathBuf::from(text), |folder| folder.join(text)))
}
