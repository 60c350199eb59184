//! The language server.
//!
//! *Owns*: the protocol: what the client can do, which documents are open and how they were edited, load jobs and their
//! progress, when to send what. The only crate with `tower-lsp` and its types.
//!
//! *Never*: computes or words anything; holds a lock or a map's guard across an `.await`; awaits the client in a
//! handler; writes to stdout anything but the protocol.
//!
//! *The tests that say so*: the sessions in `tests/`, which speak the protocol over a pipe.
//!
//! A method is served in three steps, one file for each method in `api/`: unpack its parameters (`from_proto.rs`), call
//! `ide` with a snapshot on a thread for blocking work, pack the result (`to_proto.rs`). Notifications change the
//! session, and requests take their snapshot, before their first `.await`: tower-lsp begins handlers in the order of the
//! messages, but promises nothing after that. What else tower-lsp 0.20 needs is in `service.rs` and `incoming.rs`.

mod api;
mod backend;
mod capabilities;
mod carried_lines;
mod config;
mod document;
mod ending;
mod ext;
mod from_proto;
mod incoming;
mod load_failure;
mod loaded;
mod loader;
mod parent;
mod part_books;
mod part_load;
mod paths;
mod progress;
mod project_file;
mod publish;
mod service;
mod session;
mod session_snapshot;
mod shown_code;
mod shown_recording;
mod snapshots;
mod text_notebook;
mod to_proto;

use std::process::ExitCode;

pub use config::{Config, Disk, Recordings};
pub use ending::Ending;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves one client over `input` and `output`, until it leaves. Needs a tokio runtime with I/O, time and blocking threads.
pub async fn serve<I, O>(input: I, output: O, config: Config) -> Ending
where
    I: AsyncRead + Unpin + Send + 'static,
    O: AsyncWrite + Send + 'static,
{
    service::serve(input, output, config).await
}

/// Serves one client over stdin and stdout, until it leaves. The process must end afterwards: a thread still waits for
/// stdin.
#[must_use]
pub fn run_stdio() -> ExitCode {
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                service::write_stderr(&format!("no threads for the server: {error}"));
                return ExitCode::FAILURE;
            }
        };
    let ending =
        runtime.block_on(serve(tokio::io::stdin(), tokio::io::stdout(), Config::default()));
    if matches!(ending, Ending::ParentGone { .. }) {
        service::write_stderr(
            "the process that the client named in `initialize` as processId has ended, so the server ends too; \
             a client on another machine or in another container has to send null",
        );
    }
    // Waiting for the thread that reads stdin would be waiting for the client.
    runtime.shutdown_background();
    ending.exit_code()
}
