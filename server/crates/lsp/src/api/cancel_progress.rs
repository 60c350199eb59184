//! `window/workDoneProgress/cancel`: the user stops a load.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use tower_lsp::lsp_types::WorkDoneProgressCancelParams;

use crate::backend::Backend;

pub(crate) async fn handle(backend: &Backend, params: WorkDoneProgressCancelParams) {
    let progress = backend.session.progress.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(cancelled) = progress.get(&params.token) {
        cancelled.store(true, Ordering::SeqCst);
    }
}
