//! The first bytes of files, which say what they are.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use object_store::{GetOptions, GetRange, ObjectStoreExt};

use crate::faults::fault;
use crate::remote::{Remote, locked, remote};
use crate::store::{FileHead, RemoteMetadata};
use crate::url::{FileUrl, Scheme};

/// Bytes that are asked for with the first request: enough to see what a file is.
const HEAD_BYTES: u64 = 80 << 10;

/// Files that are looked at at the same time, and bytes of their heads that are kept until they are read.
const MAX_LOOKS: usize = 16;
const MAX_HEAD_BYTES: usize = 64 << 20;

/// The head of a file, which is asked for once.
pub(crate) fn head(path: &Path) -> io::Result<Arc<FileHead>> {
    let remote = remote()?;
    if let Some(head) = locked(&remote.heads).get(path) {
        return Ok(Arc::clone(head));
    }
    let head = Arc::new(remote.wait_for(ask(remote, path))?);
    keep(remote, path, &head);
    Ok(head)
}

/// Asks for the heads of many files at the same time, before they are looked at one by one. What cannot be read says so then.
pub fn look_ahead(paths: &[PathBuf]) {
    let Some(remote) =
        paths.iter().find(|it| FileUrl::of(it).is_some()).and_then(|_| remote().ok())
    else {
        return;
    };
    let is_known = |path: &PathBuf| locked(&remote.heads).contains_key(path);
    let n_kept = locked(&remote.heads).len();
    let may_keep = MAX_HEAD_BYTES / usize::try_from(HEAD_BYTES).unwrap_or(usize::MAX);
    let wanted: Vec<&PathBuf> = paths
        .iter()
        .filter(|it| FileUrl::of(it).is_some_and(|url| !url.names_folder()) && !is_known(it))
        .take(may_keep.saturating_sub(n_kept))
        .collect();
    remote.wait_for(async {
        if let Some(first) = wanted.first() {
            // Credentials are looked for once.
            let _ = remote.place(first).await;
        }
        let looks = stream::iter(wanted).for_each_concurrent(MAX_LOOKS, |path| async move {
            if let Ok(head) = ask(remote, path).await {
                keep(remote, path, &Arc::new(head));
            }
        });
        looks.await;
    });
}

fn keep(remote: &Remote, path: &Path, head: &Arc<FileHead>) {
    let mut heads = locked(&remote.heads);
    if heads.values().map(|it| it.bytes.len()).sum::<usize>() < MAX_HEAD_BYTES {
        heads.insert(path.to_owned(), Arc::clone(head));
    }
}

async fn ask(remote: &Remote, path: &Path) -> io::Result<FileHead> {
    let place = remote.place(path).await?;
    if FileUrl::of(path).is_some_and(|it| it.scheme == Scheme::Http && it.names_folder()) {
        let message = "folders are not listed over HTTP; name each file in it";
        return Err(io::Error::new(io::ErrorKind::IsADirectory, message));
    }
    let options =
        GetOptions { range: Some(GetRange::Bounded(0..HEAD_BYTES)), ..GetOptions::default() };
    let store = &place.store;
    match store.objects.get_opts(&place.object, options).await {
        Ok(got) => {
            let (metadata, tag) = (RemoteMetadata::new(&got.meta), got.meta.e_tag.clone());
            let bytes = got.bytes().await.map_err(|error| fault(&error, store))?;
            Ok(FileHead { place, metadata, tag, bytes, has_ranges: true })
        }
        Err(
            error @ (object_store::Error::NotFound { .. }
            | object_store::Error::PermissionDenied { .. }
            | object_store::Error::Unauthenticated { .. }),
        ) => Err(fault(&error, store)),
        // No part can be given of what is empty, and some servers give no parts at all.
        Err(error) => {
            let got = place.store.objects.get(&place.object).await;
            let got = got.map_err(|_| fault(&error, store))?;
            let (metadata, tag) = (RemoteMetadata::new(&got.meta), got.meta.e_tag.clone());
            Ok(FileHead { place, metadata, tag, bytes: Bytes::new(), has_ranges: false })
        }
    }
}
