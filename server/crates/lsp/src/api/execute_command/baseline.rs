//! `perfline.setBaseline`, `perfline.clearBaseline`: what the recording that is shown is compared with.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid};
use super::requested_load::{StopOnDrop, paths, refused};
use super::status::baseline;
use crate::loader;
use crate::session::{Mode, RunFacts, Session};

/// Loads the named files, or the recording before the one that is shown, and answers when the two are compared.
pub(super) async fn set(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let paths = paths(session, arguments)?;
    session.settings_known().await;
    let target = match paths.is_empty() {
        true => loader::find_before(session).await,
        false => loader::find(session, Mode::Named(paths)).await,
    };
    let Some(target) = target else {
        let message = "there is no recording in the workspace that is older than the one that is shown; name one with paths";
        return Err(invalid(message.to_owned()));
    };
    let cancelled = Arc::new(AtomicBool::new(false));
    let guard = StopOnDrop(Arc::clone(&cancelled));
    let base = loader::load_baseline(session, target, cancelled).await.map_err(refused)?;
    drop(guard);
    {
        let known = (base.signature.clone(), Some(RunFacts::of(&base.run)));
        let mut state = session.state();
        state.known_runs.insert(base.inputs().to_vec(), known);
        state.baseline = Some(Arc::new(base));
        state.comparison = None;
    }
    loader::compare(session).await;
    session.refresh();
    Ok(baseline(&session.snapshot()))
}

pub(super) fn clear(session: &Session) -> Value {
    {
        let mut state = session.state();
        state.baseline = None;
        state.comparison = None;
    }
    session.refresh();
    json!({"baseline": null})
}
