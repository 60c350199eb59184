//! A file block by block, on the cores there are: each takes the block that is next (reads it, decompresses it) and works
//! on it while others take theirs; then the blocks are used in their order.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{Error, open};

/// Bytes of a block: so large that what happens once per block costs nothing, so small that it stays in the cache.
const BLOCK: usize = 1 << 20;

/// Blocks that may be taken before the first of them is used, for each worker.
const AHEAD: usize = 2;

/// A block with what was made of it.
struct Block<T> {
    index: usize,
    bytes: Vec<u8>,
    made: T,
    /// What broke the file off behind it.
    error: Option<io::Error>,
}

/// Where the blocks come from.
struct Source<'a> {
    reader: Box<dyn Read + Send + 'a>,
    n_taken: usize,
    n_used: usize,
    is_over: bool,
    /// Blocks to be filled again: fresh memory costs as much as reading into it.
    spare: Vec<Vec<u8>>,
    spent: Duration,
}

/// How a file ended, and what taking its blocks cost.
pub(crate) struct End {
    /// What broke it off, if something did.
    pub(crate) error: Option<io::Error>,
    /// Time in the disk and in decompression.
    pub(crate) spent: Duration,
}

/// Gives every block of `path` to `consume`, in order, with what `work` made of it on one of `n_workers` threads; each
/// thread has a `work` of its own, from `prepare`. Bytes read from the disk are added to `done`.
///
/// # Errors
/// If the file cannot be opened, or `consume` fails, which ends reading.
pub(crate) fn each_block<T: Send, W: FnMut(&[u8]) -> T>(
    path: &Path,
    done: &AtomicU64,
    n_workers: usize,
    prepare: impl Fn() -> W + Sync,
    consume: impl FnMut(&[u8], T) -> Result<(), Error>,
) -> Result<End, Error> {
    let reader = open::decompressed(path, done)
        .map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let source = Mutex::new(Source {
        reader,
        n_taken: 0,
        n_used: 0,
        is_over: false,
        spare: Vec::new(),
        spent: Duration::ZERO,
    });
    let room = Condvar::new();
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..n_workers.max(1) {
            let sender = sender.clone();
            let (source, room, prepare) = (&source, &room, &prepare);
            scope.spawn(move || fill_blocks(source, room, n_workers * AHEAD, prepare(), &sender));
        }
        drop(sender);
        let error = use_in_order(&receiver, &source, &room, consume);
        let mut source = lock(&source);
        // Whoever waits for room waits in vain.
        source.is_over = true;
        room.notify_all();
        Ok(End { error: error?, spent: source.spent })
    })
}

fn fill_blocks<T>(
    source: &Mutex<Source<'_>>,
    room: &Condvar,
    most_ahead: usize,
    mut work: impl FnMut(&[u8]) -> T,
    sender: &Sender<Block<T>>,
) {
    while let Some((index, bytes, error)) = take_block(source, room, most_ahead) {
        let made = work(&bytes);
        if sender.send(Block { index, bytes, made, error }).is_err() {
            return;
        }
    }
}

fn take_block(
    source: &Mutex<Source<'_>>,
    room: &Condvar,
    most_ahead: usize,
) -> Option<(usize, Vec<u8>, Option<io::Error>)> {
    let mut source = lock(source);
    while !source.is_over && source.n_taken >= source.n_used + most_ahead {
        source = room.wait(source).unwrap_or_else(PoisonError::into_inner);
    }
    if source.is_over {
        return None;
    }
    let mut bytes = source.spare.pop().unwrap_or_else(|| vec![0; BLOCK]);
    let begin = Instant::now();
    let (filled, error) = open::fill(&mut source.reader, &mut bytes);
    source.spent += begin.elapsed();
    source.is_over = filled < bytes.len();
    bytes.truncate(filled);
    let index = source.n_taken;
    source.n_taken += 1;
    Some((index, bytes, error))
}

fn use_in_order<T>(
    receiver: &Receiver<Block<T>>,
    source: &Mutex<Source<'_>>,
    room: &Condvar,
    mut consume: impl FnMut(&[u8], T) -> Result<(), Error>,
) -> Result<Option<io::Error>, Error> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for block in receiver {
        waiting.insert(block.index, block);
        while let Some(block) = waiting.remove(&next) {
            next += 1;
            consume(&block.bytes, block.made)?;
            if block.error.is_some() {
                return Ok(block.error);
            }
            let mut source = lock(source);
            source.n_used = next;
            if block.bytes.len() == BLOCK {
                source.spare.push(block.bytes);
            }
            room.notify_one();
        }
    }
    Ok(None)
}

fn lock<'a, 'b>(source: &'a Mutex<Source<'b>>) -> MutexGuard<'a, Source<'b>> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}
