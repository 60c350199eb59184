//! The pictures of a recording in a browser: a server on a loopback port, for `perfline view` and the language server.
//!
//! *Owns*: who may ask (`access.rs`), what can be asked (`request.rs`), and the answers over HTTP.
//!
//! *Never*: reads a recording, or draws; opens a file: what is shown, and where a line is opened, is its [`ViewSource`]'s.
//!
//! *The tests that say so*: those in `src/tests.rs`, which speak HTTP over a socket.
//!
//! Only this machine can connect, and only who knows the key in the address gets an answer: other users of the machine,
//! and pages of other sites in the same browser, do not.

mod access;
mod answer;
mod request;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

pub use request::{Picture, PicturePart, ViewPlace};

/// How long a client may take to send the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// How long nothing is accepted after that failed: where no file can be opened, one may be closed meanwhile.
const PAUSE: Duration = Duration::from_millis(100);

/// What is shown. A message says why something cannot be, in a sentence for the user.
pub trait ViewSource: Send + Sync + 'static {
    /// The number of what is shown now: another one is another recording.
    fn version(&self) -> u64;

    /// The page, which asks for parts of its pictures with relative addresses. It has the number of what it shows.
    fn page(&self) -> impl Future<Output = Result<String, String>> + Send;

    /// A part of a picture in JSON, as docs/pictures.md describes it.
    fn picture(
        &self,
        picture: Picture,
        part: PicturePart,
    ) -> impl Future<Output = Result<String, String>> + Send;

    /// Opens a line in the user's editor.
    fn open(&self, place: ViewPlace) -> impl Future<Output = Result<(), String>> + Send;

    /// Waits until something else is shown than what had this number.
    fn changed(&self, version: u64) -> impl Future<Output = ()> + Send;
}

/// A server that listens.
#[derive(Debug)]
pub struct ViewServer {
    listener: TcpListener,
    address: SocketAddr,
    key: String,
}

impl ViewServer {
    /// Listens on a port of 127.0.0.1; 0 is one that is free. Needs a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// If the port is taken, or the system gives no random numbers.
    pub async fn bind(port: u16) -> io::Result<Self> {
        let key = access::new_key()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, key })
    }

    /// The address of the page, with the key.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.key)
    }

    /// Answers until the future is dropped.
    pub async fn serve<S: ViewSource>(self, source: Arc<S>) {
        let key: Arc<str> = self.key.into();
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let (source, key) = (Arc::clone(&source), Arc::clone(&key));
            tokio::spawn(async move {
                let service = service_fn(|request| answer::answer(request, &key, &*source));
                let mut connection = http1::Builder::new();
                connection.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
                // A browser that goes away is no fault.
                drop(connection.serve_connection(TokioIo::new(stream), service).await);
            });
        }
    }
}

/// Serves `source` until the process ends, once `ready` has got the address.
///
/// # Errors
/// If there are no threads, or as [`ViewServer::bind`].
pub fn run<S: ViewSource>(source: S, port: u16, ready: impl FnOnce(&str)) -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build()?.block_on(async {
        let server = ViewServer::bind(port).await?;
        ready(&server.url());
        server.serve(Arc::new(source)).await;
        Ok(())
    })
}
