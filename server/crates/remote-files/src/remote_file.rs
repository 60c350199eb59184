//! Reads a file behind a URL, in pieces of which several are on their way at the same time.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{GetOptions, GetRange, GetResult, ObjectStoreExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::faults::fault;
use crate::remote::{Place, Remote, locked, remote};
use crate::url::{FileUrl, Scheme};
use crate::{RemoteMetadata, folders, is_url};

/// Bytes that are asked for with the first request: enough to see what a file is.
const HEAD_BYTES: u64 = 80 << 10;

/// Bytes of a piece, and how many are on their way, or wait to be read, at once: one connection alone is slower than a network.
const PIECE_BYTES: u64 = 4 << 20;
const MAX_PIECES: usize = 4;

/// Files that are looked at at the same time, and bytes of their heads that are kept until they are read.
const MAX_LOOKS: usize = 16;
const MAX_HEAD_BYTES: usize = 64 << 20;

/// The first bytes of a file, with what the server said of it.
#[derive(Debug)]
pub(crate) struct FileHead {
    place: Place,
    pub(crate) metadata: RemoteMetadata,
    tag: Option<String>,
    /// Empty where the server gives no parts of files.
    bytes: Bytes,
    has_ranges: bool,
}

/// A file behind a URL that can be read from any place.
#[derive(Debug)]
pub struct RemoteFile {
    head: Arc<FileHead>,
    reader: Mutex<Reader>,
}

#[derive(Debug, Default)]
struct Reader {
    /// Where the next byte is.
    at: u64,
    /// What came of the file from there on.
    came: Bytes,
    coming: Option<Pieces>,
}

/// The pieces of a file from some place on.
#[derive(Debug)]
struct Pieces {
    came: mpsc::Receiver<io::Result<Bytes>>,
    task: JoinHandle<()>,
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RemoteFile {
    /// Asks for a file and its first bytes.
    ///
    /// # Errors
    /// If it cannot be read. The message says why, and what to do.
    pub fn open(path: &Path) -> io::Result<Self> {
        if let Some(is_folder) = folders::named_folder(path) {
            return Err(match is_folder? {
                true => {
                    io::Error::new(io::ErrorKind::IsADirectory, "is a folder; name a file in it")
                }
                false => io::ErrorKind::NotFound.into(),
            });
        }
        Ok(Self { head: head(path)?, reader: Mutex::default() })
    }

    /// What the server says of it.
    #[must_use]
    pub fn metadata(&self) -> RemoteMetadata {
        self.head.metadata
    }
}

impl Read for &RemoteFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut reader = locked(&self.reader);
        if buffer.is_empty() || self.head.metadata.size <= reader.at {
            return Ok(0);
        }
        if reader.came.is_empty() {
            reader.came = self.head.from(reader.at);
        }
        if reader.came.is_empty() {
            let at = reader.at;
            let coming = match &mut reader.coming {
                Some(coming) => coming,
                none => none.insert(Pieces::begin(remote()?, &self.head, at)),
            };
            let piece = coming.came.blocking_recv().unwrap_or_else(|| {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the transfer ended too early"))
            });
            reader.came = piece.inspect_err(|_| reader.coming = None)?;
        }
        let n = reader.came.len().min(buffer.len());
        buffer[..n].copy_from_slice(&reader.came.split_to(n));
        reader.at += n as u64;
        Ok(n)
    }
}

impl Seek for &RemoteFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut reader = locked(&self.reader);
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => reader.at.checked_add_signed(by),
            SeekFrom::End(by) => self.head.metadata.size.checked_add_signed(by),
        };
        let at = at.ok_or(io::ErrorKind::InvalidInput)?;
        if at != reader.at {
            *reader = Reader { at, ..Reader::default() };
        }
        Ok(at)
    }
}

impl FileHead {
    /// What is known of the bytes from `at` on.
    fn from(&self, at: u64) -> Bytes {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        if at < self.bytes.len() { self.bytes.slice(at..) } else { Bytes::new() }
    }
}

impl Pieces {
    fn begin(remote: &Remote, head: &Arc<FileHead>, at: u64) -> Self {
        let (to, came) = mpsc::channel(1);
        let head = Arc::clone(head);
        let task = remote.spawn(async move {
            let sent = match head.has_ranges {
                true => send_ranges(&head, at, &to).await,
                false => send_all(&head, at, &to).await,
            };
            if let Err(error) = sent {
                // Whoever reads no more needs no error.
                let _ = to.send(Err(error)).await;
            }
        });
        Self { came, task }
    }
}

async fn send_ranges(
    head: &FileHead,
    at: u64,
    to: &mpsc::Sender<io::Result<Bytes>>,
) -> io::Result<()> {
    let size = head.metadata.size;
    let starts = (at..size).step_by(usize::try_from(PIECE_BYTES).unwrap_or(usize::MAX));
    let piece = |start: u64| async move {
        let range = start..size.min(start + PIECE_BYTES);
        let n = range.end - range.start;
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            // What is put together from pieces must be of one file.
            if_match: head.tag.clone(),
            ..GetOptions::default()
        };
        let bytes = get(&head.place, options).await?.bytes().await;
        let bytes = bytes.map_err(|error| fault(&error, &head.place.store))?;
        match bytes.len() as u64 == n {
            true => Ok::<_, io::Error>(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    };
    let mut pieces = stream::iter(starts).map(piece).buffered(MAX_PIECES);
    while let Some(piece) = pieces.try_next().await? {
        if to.send(Ok(piece)).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// Of a server that gives no parts of files.
async fn send_all(
    head: &FileHead,
    at: u64,
    to: &mpsc::Sender<io::Result<Bytes>>,
) -> io::Result<()> {
    let mut skipped = at;
    let mut bytes = get(&head.place, GetOptions::default()).await?.into_stream();
    while let Some(mut piece) =
        bytes.next().await.transpose().map_err(|it| fault(&it, &head.place.store))?
    {
        let skip = usize::try_from(skipped).unwrap_or(usize::MAX).min(piece.len());
        skipped -= skip as u64;
        let piece = piece.split_off(skip);
        if !piece.is_empty() && to.send(Ok(piece)).await.is_err() {
            break;
        }
    }
    Ok(())
}

async fn get(place: &Place, options: GetOptions) -> io::Result<GetResult> {
    let got = place.store.objects.get_opts(&place.object, options).await;
    got.map_err(|error| fault(&error, &place.store))
}

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
    let Some(remote) = paths.iter().find(|it| is_url(it)).and_then(|_| remote().ok()) else {
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
