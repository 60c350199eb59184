//! The server of the Model Context Protocol, through which coding agents ask what a recording says.
//!
//! *Owns*: the protocol; the tools with their arguments; which recording a request means, and the recordings that are kept in
//! memory. The only crate with `rmcp`.
//!
//! *Never*: computes or words what a recording says (that is `report`'s and `ide`'s); opens a recording that a request names
//! outside of the root; writes to stdout anything but the protocol.
//!
//! *The tests that say so*: `server/tests/mcp.rs`, which speaks the protocol with the program and compares its answers with the
//! output of the commands; `tests/mcp/`, with the client library of the protocol's makers.

mod arguments;
mod prompt;
mod server;
mod tools;
mod workspace;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use loader::LoadOptions;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use settings::Settings;

use server::AgentServer;
use workspace::Workspace;

/// Serves one client over stdin and stdout, until it leaves. Without `inputs`, a request that names no recording means the newest
/// below the root of `options` that the settings do not leave out. The process must end afterwards: a thread may still wait for stdin, another may still read a
/// recording.
///
/// # Errors
/// If the root is not there, no thread can be started, or the client does not speak the protocol.
pub fn run_stdio(
    options: LoadOptions,
    inputs: Vec<PathBuf>,
    settings: Arc<Settings>,
) -> io::Result<()> {
    let workspace = Workspace::new(options, inputs, settings)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let ended = runtime.block_on(async {
        let transport = (tokio::io::stdin(), tokio::io::stdout());
        match AgentServer::new(workspace).serve(transport).await {
            Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
            // A client that leaves at once has seen enough.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    });
    runtime.shutdown_background();
    ended
}
