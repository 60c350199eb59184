//! Files behind URLs: `s3://`, `gs://`, `az://`, `http://` and `https://`.
//!
//! *Owns*: which names are URLs, credentials, requests, and what a request that failed means. An object is read in pieces, several
//! of them ahead; nothing of it is written to disk, and no more than these pieces is in memory.
//!
//! *Never*: asks for anything in a bucket, or of a host, that was not named with [`named`]: what a recording or a project says
//! leads to no request. Writes to a store. Knows what a recording is.
//!
//! *The tests that say so*: `server/tests/remote.rs`, against a server that speaks the protocol of S3.

mod aws_profile;
mod faults;
mod folders;
mod heads;
mod remote;
mod remote_file;
mod store;
mod stores;
mod url;

use std::path::{Path, PathBuf};

pub use folders::{below, entries, is_folder, metadata};
pub use heads::look_ahead;
pub use remote_file::RemoteFile;
pub use store::{RemoteEntry, RemoteMetadata};

/// An input as it is called from here on, if the user named it: what is in the bucket, or at the host, of a URL may be asked for
/// from now on. Of a signed URL the part behind `?` is kept aside, so that no output shows it.
#[must_use]
pub fn named(path: PathBuf) -> PathBuf {
    url::named(path)
}

/// Whether a name is a URL in a bucket, or at a host, that the user named.
#[must_use]
pub fn is_url(path: &Path) -> bool {
    url::FileUrl::of(path).is_some()
}
