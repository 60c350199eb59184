//! Why a load came to nothing.

use loader::Error;

/// Why nothing was loaded.
#[derive(Debug, Clone)]
pub(crate) enum LoadFailure {
    /// It was stopped, or something newer came.
    Cancelled,
    /// One line: what is wrong, and where.
    Unusable(String),
}

impl From<Error> for LoadFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::Cancelled => Self::Cancelled,
            error => Self::Unusable(error.to_string()),
        }
    }
}

/// What a task says that panicked.
pub(crate) fn fault(error: &tokio::task::JoinError) -> LoadFailure {
    let message = "internal error while loading, a fault of Perfline: please report it";
    LoadFailure::Unusable(format!("{message} ({error})"))
}
