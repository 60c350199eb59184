//! A store, what is known of its files, and of folders in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use object_store::client::{HttpClient, HttpConnector};
use object_store::path::Path as ObjectPath;
use object_store::{ClientOptions, ObjectStore};

use crate::url::Scheme;

/// A bucket, container, or a file over HTTP.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) objects: Box<dyn ObjectStore>,
    pub(crate) scheme: Scheme,
    /// Whether no credentials were found, so that requests are not signed: what is public can be read so.
    pub(crate) is_anonymous: bool,
}

/// All stores share one client, with its connections.
#[derive(Debug, Clone)]
pub(crate) struct SharedClient(pub(crate) HttpClient);

impl HttpConnector for SharedClient {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.0.clone())
    }
}

/// A store that several files share.
pub(crate) type SharedStore = Arc<Store>;

/// A file in its store.
#[derive(Debug, Clone)]
pub(crate) struct ObjectPlace {
    pub(crate) store: SharedStore,
    pub(crate) object: ObjectPath,
}

/// What is known of an object without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteMetadata {
    /// Bytes.
    pub size: u64,
    /// When it was written, in whole seconds, as all answers of a server have it; `None` where the server does not say.
    pub modified: Option<SystemTime>,
    /// A hash of its entity tag; `None` where the server gives none. Another content has another one.
    pub version: Option<u64>,
}

impl RemoteMetadata {
    pub(crate) fn new(of: &object_store::ObjectMeta) -> Self {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let seconds = u64::try_from(of.last_modified.timestamp()).ok().filter(|it| 0 < *it);
        let version = of.e_tag.as_ref().map(|tag| {
            let mut hasher = DefaultHasher::new();
            tag.hash(&mut hasher);
            hasher.finish()
        });
        Self {
            size: of.size,
            modified: seconds.map(|it| SystemTime::UNIX_EPOCH + Duration::from_secs(it)),
            version,
        }
    }
}

/// The first bytes of a file, with what the server said of it.
#[derive(Debug)]
pub(crate) struct FileHead {
    pub(crate) place: ObjectPlace,
    pub(crate) metadata: RemoteMetadata,
    pub(crate) tag: Option<String>,
    /// Empty where the server gives no parts of files.
    pub(crate) bytes: Bytes,
    pub(crate) has_ranges: bool,
}

impl FileHead {
    /// What is known of the bytes from `at` on.
    pub(crate) fn from(&self, at: u64) -> Bytes {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        if at < self.bytes.len() { self.bytes.slice(at..) } else { Bytes::new() }
    }
}

/// A file or a folder in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteEntry {
    /// Its URL.
    pub path: PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// What is in a folder; why that is not known.
pub(crate) type FolderListing = Result<Arc<Vec<RemoteEntry>>, String>;
