//! Folders of object stores: what the names of objects have in common up to a `/`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::TryStreamExt;
use object_store::{ListResult, ObjectMeta};

use crate::faults::fault;
use crate::heads::head;
use crate::remote::{Remote, locked, remote};
use crate::store::{RemoteEntry, RemoteMetadata};
use crate::url::{FileUrl, Scheme};

/// What is in a folder. It is asked for once.
///
/// # Errors
/// If it cannot be listed. The message says why, and what to do.
pub fn entries(folder: &Path) -> io::Result<Arc<Vec<RemoteEntry>>> {
    let remote = remote()?;
    let known = locked(&remote.folders).get(folder).cloned();
    let listing = match known {
        Some(known) => known,
        None => {
            let listed = remote.wait_for(list(remote, folder)).map(Arc::new);
            let listing = listed.map_err(|error| error.to_string());
            locked(&remote.folders).insert(folder.to_owned(), listing.clone());
            listing
        }
    };
    listing.map_err(io::Error::other)
}

async fn list(remote: &Remote, folder: &Path) -> io::Result<Vec<RemoteEntry>> {
    let url = listable(folder)?;
    let place = remote.place(folder).await?;
    let listed = place.store.objects.list_with_delimiter(Some(&place.object)).await;
    let ListResult { common_prefixes, objects, .. } =
        listed.map_err(|error| fault(&error, &place.store))?;
    let folders = common_prefixes.iter().map(|it| (url.name_of(it.as_ref()), true));
    let files = objects.iter().map(|it| (note(remote, &url, it), false));
    let mut entries: Vec<RemoteEntry> =
        folders.chain(files).map(|(path, is_folder)| RemoteEntry { path, is_folder }).collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

/// Files below a folder, at any depth, of which `is_wanted` accepts the name from the folder on; no more than `max` are looked at.
///
/// # Errors
/// If it cannot be listed. The message says why, and what to do.
pub fn below(
    folder: &Path,
    max: usize,
    mut is_wanted: impl FnMut(&str) -> bool,
) -> io::Result<Vec<PathBuf>> {
    let remote = remote()?;
    let url = listable(folder)?;
    remote.wait_for(async {
        let place = remote.place(folder).await?;
        let mut objects = place.store.objects.list(Some(&place.object));
        let mut found = Vec::new();
        let mut n_seen = 0;
        while n_seen < max
            && let Some(object) =
                objects.try_next().await.map_err(|error| fault(&error, &place.store))?
        {
            n_seen += 1;
            let name: &str = object.location.as_ref();
            let name = name.strip_prefix(place.object.as_ref()).unwrap_or(name);
            if is_wanted(name.trim_start_matches('/')) {
                found.push(note(remote, &url, &object));
            }
        }
        found.sort();
        Ok(found)
    })
}

/// Keeps what a list says of an object; its name.
fn note(remote: &Remote, url: &FileUrl, object: &ObjectMeta) -> PathBuf {
    let path = url.name_of(object.location.as_ref());
    locked(&remote.listed).insert(path.clone(), RemoteMetadata::new(object));
    path
}

fn listable(folder: &Path) -> io::Result<FileUrl> {
    let url = FileUrl::of(folder).filter(|it| it.scheme != Scheme::Http);
    url.ok_or_else(|| io::Error::other("folders are not listed over HTTP; name each file in it"))
}

/// Of a URL that can name nothing but a folder, whether something is in it.
pub(crate) fn named_folder(path: &Path) -> Option<io::Result<bool>> {
    listable(path).ok().filter(FileUrl::names_folder)?;
    Some(entries(path).map(|it| !it.is_empty()))
}

/// Whether a URL is that of a folder in which something is. One that cannot be asked for is none.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    if listable(path).is_err() {
        return false;
    }
    named_folder(path)
        .unwrap_or_else(|| {
            // Inputs are asked for in any case, and are files but for a few.
            let is_missing = head(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            Ok(is_missing && entries(path).is_ok_and(|it| !it.is_empty()))
        })
        .unwrap_or(false)
}

/// What is known of a file; `None` where there is none, or it cannot be found out.
#[must_use]
pub fn metadata(path: &Path) -> Option<RemoteMetadata> {
    let remote = remote().ok()?;
    if let Some(head) = locked(&remote.heads).get(path) {
        return Some(head.metadata);
    }
    // One list says of all files beside a recording whether they are there. Who may not list may still read.
    match path.parent().map(entries) {
        Some(Ok(_)) => locked(&remote.listed).get(path).copied(),
        _ => head(path).ok().map(|it| it.metadata),
    }
}
