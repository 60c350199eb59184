//! A file block by block, on the cores there are: each takes the block that is next (reads it, decompresses it) and works
//! on it while others take theirs; then the blocks are used in their order.

use std::collections::BTreeMap;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use crate::damage::Damage;
use crate::memory_limit::MemoryBudget;
use crate::open::Opened;
use crate::threads::{Condvar, Mutex, MutexGuard, Receiver, Sender, channel, scope};
use crate::unpack::Unpacked;
use crate::{Error, panics};

/// Bytes of a block: so large that what happens once per block costs nothing, so small that it stays in the cache.
pub(crate) const BLOCK: usize = 1 << 20;

/// Blocks that may be taken before the first of them is used, for each worker.
const AHEAD: usize = 2;

/// A block with what was made of it.
struct Block<T> {
    index: usize,
    bytes: Vec<u8>,
    made: T,
}

/// What a worker hands over: a block, or the message of the panic that ended it.
type MadeBlock<T> = Result<Block<T>, String>;

/// Where the blocks come from.
struct BlockSource<R> {
    unpacked: Unpacked<R>,
    n_taken: usize,
    n_used: usize,
    is_over: bool,
    /// Blocks to be filled again: fresh memory costs as much as reading into it.
    spare: Vec<Vec<u8>>,
    spent: Duration,
}

/// The source, and where workers wait until blocks may be taken from it.
struct SharedSource<R> {
    source: Mutex<BlockSource<R>>,
    has_space: Condvar,
}

/// How a file ended, and what taking its blocks cost.
#[derive(Default)]
pub(crate) struct End {
    /// What was damaged.
    pub(crate) damage: Vec<Damage>,
    /// Time in the disk and in decompression.
    pub(crate) spent: Duration,
}

/// Gives every block of `input` to `consume`, in order, with what `work` made of it on one of `n_workers` threads; each
/// thread has a `work` of its own, from `prepare`. Bytes read from the disk are added to `done`. Where `budget` is used up, reading
/// ends, which counts as damage.
///
/// # Errors
/// If `consume` fails or a worker panics, which ends reading.
pub(crate) fn each_block<T: Send, W: FnMut(&[u8]) -> T>(
    input: &Opened,
    done: &AtomicU64,
    budget: &MemoryBudget,
    n_workers: usize,
    prepare: impl Fn() -> W + Sync,
    consume: impl FnMut(&[u8], T) -> Result<(), Error>,
) -> Result<End, Error> {
    let shared = SharedSource {
        source: Mutex::new(BlockSource {
            unpacked: input.unpacked(done),
            n_taken: 0,
            n_used: 0,
            is_over: false,
            spare: Vec::new(),
            spent: Duration::ZERO,
        }),
        has_space: Condvar::new(),
    };
    let cut = scope(|scope| {
        // Whatever ends this, a panic included: the scope waits for its threads, so none of them may wait for space.
        let _end = EndOnDrop(&shared);
        let (sender, receiver) = channel();
        for _ in 0..n_workers.max(1) {
            let sender = sender.clone();
            let (shared, prepare) = (&shared, &prepare);
            scope.spawn(move || {
                let fill = || shared.fill_blocks(n_workers * AHEAD, prepare(), &sender);
                if let Err(panic) = catch_unwind(AssertUnwindSafe(fill)) {
                    // The block that was taken is missing: nothing that comes after it can be used.
                    shared.end();
                    let _ = sender.send(Err(panics::message(&*panic)));
                }
            });
        }
        drop(sender);
        shared.use_in_order(&receiver, &input.path, budget, consume)
    })?;
    let BlockSource { unpacked, spent, .. } =
        shared.source.into_inner().unwrap_or_else(PoisonError::into_inner);
    let damage = match cut {
        // What was taken ahead and not used may have been damaged: that does not matter any more.
        Some(offset) => vec![budget.end_of_reading(offset)],
        None => unpacked.into_damage(),
    };
    Ok(End { damage, spent })
}

/// All bytes of a small file, with what was damaged. Bytes read from the disk count into no progress.
///
/// # Errors
/// If it is too large for `budget`.
pub(crate) fn whole(
    input: &Opened,
    budget: &MemoryBudget,
) -> Result<(Vec<u8>, Vec<Damage>), Error> {
    let mut bytes = Vec::new();
    let done = AtomicU64::new(0);
    let prepare = || |_: &[u8]| ();
    let keep = |block: &[u8], ()| {
        let length = bytes.len() + block.len();
        if budget.max_whole() < length as u64 {
            let (path, message) = (input.path.clone(), budget.too_large());
            return Err(Error::Unreadable { path, message, offset: 0 });
        }
        bytes.extend_from_slice(block);
        Ok(())
    };
    let damage = each_block(input, &done, budget, 1, prepare, keep)?.damage;
    Ok((bytes, damage))
}

/// Ends the taking of blocks when it goes away.
struct EndOnDrop<'a, R: Read>(&'a SharedSource<R>);

impl<R: Read> Drop for EndOnDrop<'_, R> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<R: Read> SharedSource<R> {
    fn lock(&self) -> MutexGuard<'_, BlockSource<R>> {
        self.source.lock().unwrap_or_else(|poisoned| {
            // What panicked while it read a block cannot read another.
            let mut source = poisoned.into_inner();
            source.is_over = true;
            source
        })
    }

    /// No more blocks are taken; wakes the threads that wait to take one, so that they end.
    fn end(&self) {
        self.lock().is_over = true;
        self.has_space.notify_all();
    }

    fn fill_blocks<T>(
        &self,
        max_ahead: usize,
        mut work: impl FnMut(&[u8]) -> T,
        sender: &Sender<MadeBlock<T>>,
    ) {
        while let Some((index, bytes)) = self.take_block(max_ahead) {
            let made = work(&bytes);
            if sender.send(Ok(Block { index, bytes, made })).is_err() {
                return;
            }
        }
    }

    fn take_block(&self, max_ahead: usize) -> Option<(usize, Vec<u8>)> {
        let mut source = self.lock();
        while !source.is_over && source.n_taken >= source.n_used + max_ahead {
            source = self.has_space.wait(source).unwrap_or_else(PoisonError::into_inner);
        }
        if source.is_over {
            return None;
        }
        let mut bytes = source.spare.pop().unwrap_or_else(|| vec![0; BLOCK]);
        let begin = Instant::now();
        let filled = source.unpacked.fill(&mut bytes);
        source.spent += begin.elapsed();
        source.is_over = filled < bytes.len();
        bytes.truncate(filled);
        let index = source.n_taken;
        source.n_taken += 1;
        Some((index, bytes))
    }

    /// The bytes that were used, if the rest was left out for lack of memory.
    fn use_in_order<T>(
        &self,
        receiver: &Receiver<MadeBlock<T>>,
        path: &Path,
        budget: &MemoryBudget,
        mut consume: impl FnMut(&[u8], T) -> Result<(), Error>,
    ) -> Result<Option<u64>, Error> {
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        let (mut used, mut check_at) = (0, 0);
        for made in receiver {
            let block = made.map_err(|message| Error::panicked(path, message))?;
            waiting.insert(block.index, block);
            while let Some(block) = waiting.remove(&next) {
                if check_at <= used && !block.bytes.is_empty() {
                    if budget.is_used_up() {
                        return Ok(Some(used));
                    }
                    check_at = used + budget.check_every();
                }
                used += block.bytes.len() as u64;
                next += 1;
                consume(&block.bytes, block.made)?;
                let mut source = self.lock();
                source.n_used = next;
                if block.bytes.len() == BLOCK {
                    source.spare.push(block.bytes);
                }
                self.has_space.notify_one();
            }
        }
        Ok(None)
    }
}
