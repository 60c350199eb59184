//! What stands between tower-lsp 0.20 and the pipes.
//!
//! tower-lsp 0.20 has these hazards, each with a session in `tests/lifecycle.rs`:
//! - After `exit` it goes on waiting for stdin (its issues 399 and 424): [`ExitWatch`] sees `exit` pass.
//! - It refuses `shutdown` with `"params": null`: [`ExitWatch`] takes the parameters away.
//! - A panic in a handler, or a client that no longer reads, ends all of it: handlers work on blocking threads
//!   (`session.rs`), and it runs in a task of its own.
//! - Handlers run on one task and in no order after their first `.await` (issue 284): they change and copy state before.
//! - Four handlers at a time stop even cancellation: [`CONCURRENCY`] is high, and no handler awaits the client.
//! - One malformed message ends it: so it ends the session, which says so ([`Ending::Malformed`]).

use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tower_lsp::jsonrpc::Request;
use tower_lsp::{LspService, Server};
use tower_service::Service;

use crate::backend::Backend;
use crate::{Config, Ending, api};

/// Handlers at a time. A client has some ten requests in flight; each holds little.
const CONCURRENCY: usize = 256;

/// How long replies that are under way have to get out after `exit`.
const LAST_WORDS: Duration = Duration::from_millis(50);

pub(crate) async fn serve<I, O>(input: I, output: O, config: Config) -> Ending
where
    I: AsyncRead + Unpin + Send + 'static,
    O: AsyncWrite + Send + 'static,
{
    let mut session = None;
    let (service, socket) = LspService::build(|client| {
        let backend = Backend::new(client, config);
        session = Some(Arc::clone(&backend.session));
        backend
    })
    .custom_method("window/workDoneProgress/cancel", api::cancel_progress::handle)
    .finish();
    let signs = Arc::new(Signs::default());
    let service = ExitWatch { inner: service, signs: Arc::clone(&signs) };
    let input = EndWatch { inner: input, signs: Arc::clone(&signs) };
    let server = Server::new(input, output, socket).concurrency_level(CONCURRENCY);
    // A task of its own: tower-lsp panics when it cannot write.
    let mut task = tokio::spawn(server.serve(service));
    let is_exit = tokio::select! {
        result = &mut task => {
            if result.is_err() {
                // It could not write: nobody listens any more, even if the input is still open.
                signs.input_ended.store(true, Ordering::SeqCst);
            }
            signs.exit_seen.load(Ordering::SeqCst)
        }
        () = signs.exit.notified() => {
            let _ = tokio::time::timeout(LAST_WORDS, &mut task).await;
            true
        }
    };
    task.abort();
    if let Some(session) = session {
        session.stop();
    }
    let after_shutdown = signs.shutdown_seen.load(Ordering::SeqCst);
    match (is_exit, signs.input_ended.load(Ordering::SeqCst)) {
        (true, _) => Ending::Exit { after_shutdown },
        (false, true) => Ending::EndOfInput { after_shutdown },
        (false, false) => Ending::Malformed,
    }
}

/// Says something on stderr, where the client may show or log it.
pub(crate) fn tell_stderr(message: &str) {
    // If even this cannot be said, there is nobody to say it to.
    let _ = writeln!(std::io::stderr(), "perfline: {message}");
}

/// What passed by.
#[derive(Default)]
struct Signs {
    exit: Notify,
    exit_seen: AtomicBool,
    shutdown_seen: AtomicBool,
    input_ended: AtomicBool,
}

/// Sees `shutdown` and `exit` pass by.
struct ExitWatch<S> {
    inner: S,
    signs: Arc<Signs>,
}

impl<S: Service<Request>> Service<Request> for ExitWatch<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let request = match (request.method(), request.id()) {
            ("shutdown", Some(id)) => {
                self.signs.shutdown_seen.store(true, Ordering::SeqCst);
                Request::build("shutdown").id(id.clone()).finish()
            }
            _ => request,
        };
        let is_exit = request.method() == "exit";
        let reply = self.inner.call(request);
        if is_exit {
            self.signs.exit_seen.store(true, Ordering::SeqCst);
            self.signs.exit.notify_one();
        }
        reply
    }
}

/// Sees the input end, to tell that from a message that cannot be read.
struct EndWatch<R> {
    inner: R,
    signs: Arc<Signs>,
}

impl<R: AsyncRead + Unpin> AsyncRead for EndWatch<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        if let Poll::Ready(read) = &polled
            && (read.is_err() || buffer.filled().len() == before)
        {
            self.signs.input_ended.store(true, Ordering::SeqCst);
        }
        polled
    }
}
