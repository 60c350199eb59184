//! What all requests share: the runtime, the client, and what was asked for already.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use object_store::client::HttpClient;
use object_store::path::Path as ObjectPath;
use tokio::runtime::Runtime;

use crate::faults;
use crate::store::{
    FileHead, FolderListing, ObjectPlace, RemoteMetadata, SharedClient, SharedStore,
};
use crate::stores::{key_of, store_of};
use crate::url::{FileUrl, Scheme};

/// How long a connection may take, and how long a server may send nothing.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Threads that wait for the network. What they get is decompressed by others.
const N_WORKERS: usize = 2;

pub(crate) struct Remote {
    runtime: Runtime,
    client: SharedClient,
    /// What was found out stays as long as the process: a command sees one state of what it reads.
    stores: Mutex<BTreeMap<String, SharedStore>>,
    pub(crate) heads: Mutex<HashMap<PathBuf, Arc<FileHead>>>,
    pub(crate) listed: Mutex<HashMap<PathBuf, RemoteMetadata>>,
    pub(crate) folders: Mutex<HashMap<PathBuf, FolderListing>>,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all requests of the process share.
///
/// # Errors
/// If the system gives no threads, or no certificates.
pub(crate) fn remote() -> io::Result<&'static Remote> {
    static REMOTE: OnceLock<Result<Remote, String>> = OnceLock::new();
    let remote = REMOTE.get_or_init(|| Remote::new().map_err(|it| it.to_string()));
    remote.as_ref().map_err(|it| io::Error::other(it.clone()))
}

impl Remote {
    fn new() -> io::Result<Self> {
        // That another one was installed before is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(N_WORKERS)
            .thread_name("remote-files")
            .enable_all()
            .build()?;
        let client = reqwest::Client::builder()
            .user_agent(concat!("perfline/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .build()
            .map_err(|error| io::Error::other(faults::innermost(&error)))?;
        Ok(Self {
            runtime,
            client: SharedClient(HttpClient::new(client)),
            stores: Mutex::default(),
            heads: Mutex::default(),
            listed: Mutex::default(),
            folders: Mutex::default(),
        })
    }

    /// Waits for what a request gives.
    pub(crate) fn wait_for<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Does something beside, until its handle is aborted.
    pub(crate) fn spawn(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        self.runtime.spawn(work)
    }

    /// Where a URL leads to.
    ///
    /// # Errors
    /// If it is none, or what the user configured contradicts itself.
    pub(crate) async fn place(&self, path: &Path) -> io::Result<ObjectPlace> {
        let url = FileUrl::of(path).ok_or(io::ErrorKind::InvalidInput)?;
        let object = match url.scheme {
            Scheme::Http => ObjectPath::default(),
            _ => {
                ObjectPath::parse(&url.key).map_err(|error| io::Error::other(error.to_string()))?
            }
        };
        let key = key_of(&url);
        if let Some(store) = locked(&self.stores).get(&key) {
            return Ok(ObjectPlace { store: Arc::clone(store), object });
        }
        let store = store_of(&url, &self.client).await.map_err(io::Error::other)?;
        let store = Arc::clone(locked(&self.stores).entry(key).or_insert_with(|| Arc::new(store)));
        Ok(ObjectPlace { store, object })
    }
}
