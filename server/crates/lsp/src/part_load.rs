//! Reads the part of a recording that a filter chooses.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use report::StackFilter;
use tower_lsp::lsp_types::MessageType;

use crate::load_failure::{LoadFailure, fault};
use crate::loaded::LoadedRecording;
use crate::part_books::{PartBooks, PartKey};
use crate::session::Session;

/// Shows the part of a rank of the recording in front that passes a filter, once it and the books of the rank were read.
///
/// # Errors
/// If nothing passes, or the recording cannot be read; what was shown stays.
pub(crate) async fn show(
    session: &Session,
    filter: Arc<StackFilter>,
    rank: Option<u32>,
    cancelled: Arc<AtomicBool>,
) -> Result<(), LoadFailure> {
    let values = session.abilities().settings;
    let (folder, loaded, key) = {
        let mut state = session.state();
        let front = state.in_front_mut(values);
        (front.folder.clone(), front.loaded.clone(), front.part_key(&filter, rank))
    };
    if let Some((loaded, rank)) = loaded.clone().zip(rank) {
        let read =
            tokio::task::spawn_blocking(move || loaded.read_rank(Some(rank)).map(|_| ())).await;
        read.map_err(|error| fault(&error))??;
    }
    let part = match loaded.zip(key) {
        Some((loaded, key)) => Some(Arc::new(read(session, loaded, key, cancelled).await?)),
        None => None,
    };
    let mut state = session.state();
    let shown = state.shown_of_mut(&folder, values);
    (shown.filter, shown.rank, shown.part) = (filter, rank, part);
    Ok(())
}

/// Reads the part of a folder's recording that was loaded meanwhile; where it has none, nothing is shown, and that is said.
pub(crate) async fn follow(session: &Session, folder: &Path) {
    let wanted = session
        .state()
        .shown_of(folder)
        .and_then(|it| Some((it.loaded.clone()?, it.part_key(&it.filter, it.rank)?)));
    let Some((loaded, key)) = wanted else { return };
    let part = match read(session, loaded, key.clone(), Arc::default()).await {
        Ok(part) => part,
        Err(LoadFailure::Cancelled) => return,
        Err(LoadFailure::Unusable(message)) => {
            session.client.show_message(MessageType::WARNING, format!("Perfline: {message}")).await;
            PartBooks::new(key, Err(message.into()))
        }
    };
    let mut state = session.state();
    if let Some(shown) = state.shown.iter_mut().find(|it| it.folder == folder) {
        shown.part = Some(Arc::new(part));
    }
}

/// Reads the recording once more, on a blocking thread.
async fn read(
    session: &Session,
    loaded: Arc<LoadedRecording>,
    key: PartKey,
    cancelled: Arc<AtomicBool>,
) -> Result<PartBooks, LoadFailure> {
    let recordings = Arc::clone(&session.config.recordings);
    let work = move || {
        let part = loaded.part(&key.filter, key.rank, &*recordings, &cancelled)?;
        Ok(PartBooks::new(key, Ok(part)))
    };
    let task = tokio::task::spawn_blocking(work).await;
    task.unwrap_or_else(|error| Err(fault(&error)))
}
