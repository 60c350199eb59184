//! `perfline.setBaseline`, `perfline.clearBaseline`: what the recording that is shown is compared with.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid};
use super::requested_load::{StopOnDrop, folder, paths, refused};
use super::status::baseline;
use crate::loader;
use crate::session::{RunFacts, Session};

/// Loads the named files, or the recording before the one that is shown, and answers when the two are compared.
pub(super) async fn set(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let (paths, folder) = (paths(session, arguments)?, folder(session, arguments)?);
    session.settings_known().await;
    let front = || session.state().in_front().map(|it| it.folder.clone());
    let folder = folder.or_else(front);
    let target = match paths.is_empty() {
        true => {
            let of_folder = |it| session.state().shown_of(it).and_then(|it| it.loaded.clone());
            match folder.as_deref().and_then(of_folder) {
                Some(loaded) => loader::find_before(session, loaded).await,
                None => None,
            }
        }
        false => loader::find(session, paths, folder.clone()).await,
    };
    let Some(target) = target else {
        let message = "there is no recording in the workspace that is older than the one that is shown; name one with paths";
        return Err(invalid(message.to_owned()));
    };
    let cancelled = Arc::new(AtomicBool::new(false));
    let guard = StopOnDrop(Arc::clone(&cancelled));
    let folder = folder.unwrap_or_else(|| target.root.clone());
    let base = loader::load_baseline(session, target, cancelled).await.map_err(refused)?;
    drop(guard);
    {
        let known = (base.signature.clone(), Some(RunFacts::of(&base.run)));
        let values = session.abilities().settings;
        let mut state = session.state();
        state.known_runs.insert(base.inputs().to_vec(), known);
        let shown = state.shown_of_mut(&folder, values);
        (shown.baseline, shown.comparison) = (Some(Arc::new(base)), None);
    }
    loader::compare(session, &folder).await;
    session.refresh();
    let snapshots = session.snapshots();
    let of_folder = snapshots.all().find(|it| it.folder.as_ref() == Some(&folder));
    Ok(of_folder.map(baseline).unwrap_or_default())
}

pub(super) fn clear(session: &Session) -> Value {
    session.change_front(|it| (it.baseline, it.comparison) = (None, None));
    session.refresh();
    json!({"baseline": null})
}
