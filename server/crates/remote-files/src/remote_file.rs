//! Reads a file behind a URL, in pieces of which several are on their way at the same time.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{GetOptions, GetRange, GetResult};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::faults::fault;
use crate::folders;
use crate::heads::head;
use crate::remote::{Remote, locked, remote};
use crate::store::{FileHead, ObjectPlace, RemoteMetadata};

/// Bytes of a piece, and how many are on their way, or wait to be read, at once: one connection alone is slower than a network.
const PIECE_BYTES: u64 = 4 << 20;
const MAX_PIECES: usize = 4;

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
    coming: Option<FilePieces>,
}

/// The pieces of a file from some place on.
#[derive(Debug)]
struct FilePieces {
    came: mpsc::Receiver<io::Result<Bytes>>,
    task: JoinHandle<()>,
}

impl Drop for FilePieces {
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
                none => none.insert(FilePieces::begin(remote()?, &self.head, at)),
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

impl FilePieces {
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

async fn get(place: &ObjectPlace, options: GetOptions) -> io::Result<GetResult> {
    let got = place.store.objects.get_opts(&place.object, options).await;
    got.map_err(|error| fault(&error, &place.store))
}
