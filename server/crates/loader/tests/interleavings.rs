//! The hand-over of blocks and of snapshots between threads, in orders of their steps that seldom happen: shuttle takes the place of the
//! locks and threads, and lets one thread go on at a time, which one by chance. A thread that waits for ever fails the test, and so
//! does an order in which a block is lost, doubled or out of its place.
//!
//! The files of the crate are compiled into this program as they are, with what they use besides made smaller: a file is a list of
//! blocks. A failure prints the schedule that led to it, for `shuttle::replay`.

#![allow(dead_code, reason = "what the files of the crate offer others")]
#![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

#[path = "../src/blocks.rs"]
mod blocks;
#[path = "../src/hand_over.rs"]
mod hand_over;
#[path = "../src/panics.rs"]
mod panics;

mod threads {
    pub(crate) use shuttle::sync::mpsc::{Receiver, Sender, channel};
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use shuttle::thread::scope;
}

mod damage {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Damage(pub(crate) &'static str);
}

mod memory_limit {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::damage::Damage;

    /// A limit that is reached when it was asked for so many times.
    pub(crate) struct MemoryBudget(pub(crate) AtomicUsize);

    impl MemoryBudget {
        pub(crate) fn is_used_up(&self) -> bool {
            self.0
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1))
                .is_err()
        }

        pub(crate) fn check_every(&self) -> u64 {
            0
        }

        pub(crate) fn max_whole(&self) -> u64 {
            u64::MAX
        }

        pub(crate) fn end_of_reading(&self, _: u64) -> Damage {
            Damage("cut")
        }

        pub(crate) fn too_large(&self) -> String {
            String::new()
        }
    }
}

mod unpack {
    use crate::damage::Damage;

    /// Blocks filled with their numbers, of which the last is not full.
    pub(crate) struct Unpacked<R> {
        pub(crate) rest: std::ops::Range<u8>,
        pub(crate) damage: Vec<Damage>,
        pub(crate) _file: std::marker::PhantomData<R>,
    }

    impl<R> Unpacked<R> {
        pub(crate) fn fill(&mut self, block: &mut [u8]) -> usize {
            let Some(number) = self.rest.next() else { return 0 };
            block[0] = number;
            if self.rest.is_empty() { 1 } else { block.len() }
        }

        pub(crate) fn into_damage(self) -> Vec<Damage> {
            self.damage
        }
    }
}

mod open {
    use std::marker::PhantomData;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicU64;

    use crate::damage::Damage;
    use crate::unpack::Unpacked;

    pub(crate) struct Opened {
        pub(crate) path: PathBuf,
        pub(crate) n_blocks: u8,
        pub(crate) is_damaged: bool,
    }

    impl Opened {
        pub(crate) fn unpacked(&self, _: &AtomicU64) -> Unpacked<&'static [u8]> {
            let damage = if self.is_damaged { vec![Damage("damaged")] } else { Vec::new() };
            Unpacked { rest: 0..self.n_blocks, damage, _file: PhantomData }
        }
    }
}

/// Why a file cannot be read.
#[derive(Debug)]
pub(crate) enum Error {
    Cancelled,
    Panicked(String),
    Unreadable { path: std::path::PathBuf, message: String, offset: u64 },
}

impl Error {
    pub(crate) fn panicked(_: &std::path::Path, message: String) -> Self {
        Self::Panicked(message)
    }
}

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use blocks::each_block;
use hand_over::HandOver;
use memory_limit::MemoryBudget;
use open::Opened;

/// Schedules that are tried of each case: by chance, and with few changes of the thread at chosen places.
const SCHEDULES: usize = 400;

fn check(case: impl Fn() + Send + Sync + 'static) {
    let case = Arc::new(case);
    let again = Arc::clone(&case);
    shuttle::check_random(move || case(), SCHEDULES);
    shuttle::check_pct(move || again(), SCHEDULES, 3);
}

fn input(n_blocks: u8) -> Opened {
    Opened { path: "blocks".into(), n_blocks, is_damaged: false }
}

fn budget(blocks: usize) -> MemoryBudget {
    MemoryBudget(AtomicUsize::new(blocks))
}

/// The numbers of the blocks that were used, and how it ended, where the consumer fails at `fails_at`.
fn used(
    input: &Opened,
    budget: &MemoryBudget,
    n_workers: usize,
    fails_at: Option<u8>,
) -> (Vec<u8>, Result<blocks::End, Error>) {
    let mut seen = Vec::new();
    let work = || |block: &[u8]| block.first().map_or(u8::MAX, |it| it + 1);
    let end = each_block(input, &AtomicU64::new(0), budget, n_workers, work, |block, made| {
        if let Some(&number) = block.first() {
            assert_eq!(made, number + 1, "a block has what was made of another");
            if fails_at == Some(number) {
                return Err(Error::Cancelled);
            }
            seen.push(number);
        }
        Ok(())
    });
    (seen, end)
}

#[test]
fn blocks_are_used_each_once_in_their_order() {
    check(|| {
        for (n_blocks, n_workers) in [(0, 2), (1, 3), (7, 1), (9, 2), (11, 3)] {
            let (seen, end) = used(&input(n_blocks), &budget(usize::MAX), n_workers, None);
            assert_eq!(seen, (0..n_blocks).collect::<Vec<_>>());
            assert_eq!(end.unwrap().damage, []);
        }
    });
}

#[test]
fn damage_is_said_when_all_blocks_before_it_were_used() {
    check(|| {
        let input = Opened { is_damaged: true, ..input(5) };
        let (seen, end) = used(&input, &budget(usize::MAX), 2, None);
        assert_eq!((seen.len(), end.unwrap().damage.len()), (5, 1));
    });
}

#[test]
fn a_consumer_that_fails_leaves_no_worker_waiting() {
    check(|| {
        let (seen, end) = used(&input(12), &budget(usize::MAX), 3, Some(2));
        assert_eq!(seen, [0, 1]);
        assert!(matches!(end, Err(Error::Cancelled)));
    });
}

#[test]
fn where_memory_ends_reading_ends_and_what_came_before_counts() {
    check(|| {
        let (seen, end) = used(&input(12), &budget(3), 3, None);
        assert_eq!(seen, [0, 1, 2]);
        assert_eq!(end.unwrap().damage, [damage::Damage("cut")]);
    });
}

#[test]
fn a_snapshot_is_given_to_all_who_wait_and_nothing_where_its_reader_fails() {
    check(|| {
        for gives in [true, false] {
            let over = Arc::new(HandOver::default());
            let waits: Vec<_> = (0..2)
                .map(|_| {
                    let over = Arc::clone(&over);
                    shuttle::thread::spawn(move || over.wait().is_some())
                })
                .collect();
            let giver = Arc::clone(&over);
            let gives_it = shuttle::thread::spawn(move || {
                let giver = giver.giver();
                if gives {
                    giver.give(Some(Arc::default()));
                    // The first counts.
                    giver.give(None);
                }
            });
            gives_it.join().unwrap();
            waits.into_iter().for_each(|it| assert_eq!(it.join().unwrap(), gives));
        }
    });
}
