//! Reads the part of a recording that a filter chooses.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use report::StackFilter;
use tower_lsp::lsp_types::MessageType;

use crate::load_failure::{LoadFailure, fault};
use crate::part_books::{PartBooks, PartKey};
use crate::session::Session;

/// Shows the part of a rank that passes a filter, once it was read.
///
/// # Errors
/// If nothing passes, or the recording cannot be read; what was shown stays.
pub(crate) async fn show(
    session: &Session,
    filter: Arc<StackFilter>,
    rank: Option<u32>,
    cancelled: Arc<AtomicBool>,
) -> Result<(), LoadFailure> {
    let key = session.state().part_key(&filter, rank);
    let part = match key {
        Some(key) => Some(Arc::new(read(session, key, cancelled).await?)),
        None => None,
    };
    let mut state = session.state();
    (state.filter, state.choice.rank, state.part) = (filter, rank, part);
    Ok(())
}

/// Reads the part of a recording that was loaded meanwhile; where it has none, nothing is shown, and that is said.
pub(crate) async fn follow(session: &Session) {
    let key = {
        let state = session.state();
        state.part_key(&state.filter, state.choice.rank)
    };
    let Some(key) = key else { return };
    let part = match read(session, key.clone(), Arc::default()).await {
        Ok(part) => part,
        Err(LoadFailure::Cancelled) => return,
        Err(LoadFailure::Unusable(message)) => {
            session.client.show_message(MessageType::WARNING, format!("Perfline: {message}")).await;
            PartBooks::new(key, Err(message.into()))
        }
    };
    session.state().part = Some(Arc::new(part));
}

/// Reads the recording once more, on a blocking thread.
async fn read(
    session: &Session,
    key: PartKey,
    cancelled: Arc<AtomicBool>,
) -> Result<PartBooks, LoadFailure> {
    let loaded = session.state().loaded.clone().ok_or(LoadFailure::Cancelled)?;
    let recordings = Arc::clone(&session.config.recordings);
    let work = move || {
        let part = loaded.part(&key.filter, key.rank, &*recordings, &cancelled)?;
        Ok(PartBooks::new(key, Ok(part)))
    };
    let task = tokio::task::spawn_blocking(work).await;
    task.unwrap_or_else(|error| Err(fault(&error)))
}
