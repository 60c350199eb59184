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
mod document;
mod ext;
mod from_proto;
mod globs;
mod incoming;
mod loaded;
mod loader;
mod parent;
mod paths;
mod progress;
mod publish;
mod service;
mod session;
mod settings;
mod to_proto;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ::loader::{Error, Options, Recording, Run, Watch};
pub use settings::{Choice, Kind, SETTINGS, Setting};
use tokio::io::{AsyncRead, AsyncWrite};

/// How a server works, for those who run it elsewhere than on stdin and stdout.
#[derive(Clone)]
pub struct Config {
    /// Where recordings come from.
    pub recordings: Arc<dyn Recordings>,
    /// How often recordings are looked for where the client does not watch files. A search that takes long is repeated
    /// less often: twenty times its own time passes in between.
    pub poll: Duration,
    /// The same where the client watches files: it does not see all of them.
    pub poll_watched: Duration,
    /// How long a recording must not have changed before it is read: it may still be being written.
    pub quiet_period: Duration,
    /// How long changes are gathered before diagnostics and refresh requests follow them.
    pub gather: Duration,
    /// How often the process that `initialize` names is looked at: the session ends with it.
    pub poll_parent: Duration,
}

impl Default for Config {
    /// Recordings on disk, looked for every 2 s (10 s where the client watches, too) and read 1 s after their last change;
    /// the process that started the server is looked at every 3 s.
    fn default() -> Self {
        Self {
            recordings: Arc::new(Disk),
            poll: Duration::from_secs(2),
            poll_watched: Duration::from_secs(10),
            quiet_period: Duration::from_secs(1),
            gather: Duration::from_millis(100),
            poll_parent: Duration::from_secs(3),
        }
    }
}

/// Where recordings come from.
pub trait Recordings: Send + Sync {
    /// The recordings below a folder, newest first.
    fn discover(&self, folder: &Path) -> Vec<Recording>;

    /// Reads the files of one run.
    ///
    /// # Errors
    /// As [`::loader::load`].
    fn load(&self, inputs: &[PathBuf], options: &Options, watch: &Watch<'_>) -> Result<Run, Error>;
}

/// Recordings on disk.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

impl Recordings for Disk {
    fn discover(&self, folder: &Path) -> Vec<Recording> {
        ::loader::discover(folder)
    }

    fn load(&self, inputs: &[PathBuf], options: &Options, watch: &Watch<'_>) -> Result<Run, Error> {
        ::loader::load(inputs, options, watch)
    }
}

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

/// Serves one client over `input` and `output`, until it leaves. Needs a tokio runtime with time and blocking threads.
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
        match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build() {
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
