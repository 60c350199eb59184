//! What stands between tower-lsp 0.20 and the pipes.
//!
//! tower-lsp 0.20 has these hazards, each with a session in `tests/lifecycle.rs` or `tests/malformed_messages.rs`:
//! - After `exit` it goes on waiting for stdin (its issues 399 and 424): [`Gate`] sees `exit` pass.
//! - It refuses `shutdown` with `"params": null`: [`Gate`] takes the parameters away.
//! - A panic in a handler, or a client that no longer reads, ends all of it: handlers work on blocking threads
//!   (`session.rs`), and it runs in a task of its own.
//! - Handlers run on one task and in no order after their first `.await` (issue 284): they change and copy state before.
//! - Four handlers at a time stop even cancellation: [`CONCURRENCY`] is high, and no handler awaits the client.
//! - One malformed message ends it: it only gets well-formed ones (`incoming.rs`).
//!
//! And it makes a JSON value of every result, also of one that is a JSON value: [`hand_over`] takes those of commands past it.

use std::cell::Cell;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tower_lsp::jsonrpc::{Request, Response};
use tower_lsp::{LspService, Server};
use tower_service::Service;

use crate::backend::Backend;
use crate::{Config, Ending, api, incoming, parent};

/// Handlers at a time. A client has some ten requests in flight; each holds little.
const CONCURRENCY: usize = 256;

/// How long replies that are under way have to get out after `exit`.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// How much waits between the reader of messages and tower-lsp, in bytes.
const PIPE: usize = 64 << 10;

pub(crate) async fn serve<I, O>(input: I, output: O, config: Config) -> Ending
where
    I: AsyncRead + Unpin + Send + 'static,
    O: AsyncWrite + Send + 'static,
{
    let (service, socket) = LspService::build(|client| Backend::new(client, config))
        .custom_method("window/workDoneProgress/cancel", api::cancel_progress::handle)
        .finish();
    let session = Arc::clone(&service.inner().session);
    let signs = Arc::new(Signs::default());
    let service = Gate { inner: service, signs: Arc::clone(&signs) };
    let (sender, receiver) = tokio::io::duplex(PIPE);
    let passing_on = tokio::spawn(incoming::pass_on(input, sender));
    let server = Server::new(receiver, output, socket).concurrency_level(CONCURRENCY);
    // A task of its own: tower-lsp panics when it cannot write.
    let mut task = tokio::spawn(server.serve(service));
    let after_shutdown = || signs.shutdown_seen.load(Ordering::SeqCst);
    let ending = tokio::select! {
        // Where `exit` was not seen the input ended, or the output is no longer read.
        _ = &mut task => match signs.exit_seen.load(Ordering::SeqCst) {
            true => Ending::Exit { after_shutdown: after_shutdown() },
            false => Ending::EndOfInput { after_shutdown: after_shutdown() },
        },
        () = signs.exit.notified() => {
            let _ = tokio::time::timeout(LAST_WORDS, &mut task).await;
            Ending::Exit { after_shutdown: after_shutdown() }
        }
        () = parent::gone(&session) => {
            Ending::ParentGone { after_shutdown: after_shutdown() }
        }
    };
    passing_on.abort();
    task.abort();
    session.stop();
    ending
}

/// Says something on stderr, where the client may show or log it.
pub(crate) fn write_stderr(message: &str) {
    // If even this cannot be said, there is no other place to report it.
    let _ = writeln!(std::io::stderr(), "perfline: {message}");
}

tokio::task_local! {
    /// The result of the request that is being handled, if the handler has left it here.
    static RESULT: Cell<Option<Value>>;
}

/// Answers the request that is being handled with `value`, whatever its handler returns: tower-lsp would copy the value. Gives it
/// back outside of a request.
pub(crate) fn hand_over(value: Value) -> Option<Value> {
    let mut value = Some(value);
    // An error says that nobody waits for it.
    let _ = RESULT.try_with(|it| it.set(value.take()));
    value
}

/// What passed by.
#[derive(Default)]
struct Signs {
    exit: Notify,
    exit_seen: AtomicBool,
    shutdown_seen: AtomicBool,
}

/// Sees `shutdown` and `exit` pass by, and answers what stands for refused messages.
struct Gate {
    inner: LspService<Backend>,
    signs: Arc<Signs>,
}

impl Service<Request> for Gate {
    type Response = <LspService<Backend> as Service<Request>>::Response;
    type Error = <LspService<Backend> as Service<Request>>::Error;
    type Future = <LspService<Backend> as Service<Request>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let request = match (request.method(), request.id()) {
            ("shutdown", Some(id)) => {
                self.signs.shutdown_seen.store(true, Ordering::SeqCst);
                Request::build("shutdown").id(id.clone()).finish()
            }
            (incoming::REFUSED, Some(_)) => {
                let answer = incoming::answer(request);
                return Box::pin(std::future::ready(Ok(answer)));
            }
            _ => request,
        };
        let is_exit = request.method() == "exit";
        let reply = self.inner.call(request);
        if is_exit {
            self.signs.exit_seen.store(true, Ordering::SeqCst);
            self.signs.exit.notify_one();
        }
        Box::pin(RESULT.scope(Cell::default(), async {
            let reply = reply.await?;
            let handed_over = RESULT.with(Cell::take);
            Ok(match (reply.map(Response::into_parts), handed_over) {
                (Some((id, Ok(_))), Some(value)) => Some(Response::from_ok(id, value)),
                (reply, _) => reply.map(|(id, result)| Response::from_parts(id, result)),
            })
        }))
    }
}
