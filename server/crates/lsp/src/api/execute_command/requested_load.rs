//! A load that a request waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tower_lsp::jsonrpc::{Error, ErrorCode};

use crate::loader::LoadFailure;

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
