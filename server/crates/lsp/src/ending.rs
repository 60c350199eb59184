//! How a session ends.

use std::process::ExitCode;

/// How a session came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The client sent `exit`.
    Exit {
        /// Whether it had sent `shutdown` before.
        after_shutdown: bool,
    },
    /// The client closed its end: it vanished, or left `exit` out.
    EndOfInput {
        /// Whether it had sent `shutdown` before.
        after_shutdown: bool,
    },
    /// The process that `initialize` named as the one that started the server has ended; the input is still open.
    ParentGone {
        /// Whether the client had sent `shutdown` before.
        after_shutdown: bool,
    },
}

impl Ending {
    /// The exit status that the protocol asks for: 0 after `shutdown`, else 1.
    #[must_use]
    pub fn exit_code(self) -> ExitCode {
        let (Self::Exit { after_shutdown }
        | Self::EndOfInput { after_shutdown }
        | Self::ParentGone { after_shutdown }) = self;
        if after_shutdown { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
