//! Tests of `blocks` and `hand_over`, which stand apart because `tests/interleavings.rs` compiles those files, too.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::blocks::{BLOCK, End, each_block};
use crate::hand_over::HandOver;
use crate::memory_limit::MemoryBudget;
use crate::open::Opened;
use crate::{Error, MemoryLimit, open};

/// More blocks than may be taken ahead, each filled with its number.
const N_BLOCKS: usize = 40;

fn input() -> (tempfile::TempDir, Opened) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blocks");
    let blocks: Vec<u8> = (0..N_BLOCKS).flat_map(|it| vec![it as u8; BLOCK]).collect();
    std::fs::write(&path, blocks).unwrap();
    let input = open::named(&path).unwrap();
    (folder, input)
}

fn each_block_of(
    input: &Opened,
    work: impl Fn(&[u8]) -> u8 + Sync,
    consume: impl FnMut(&[u8], u8) -> Result<(), Error>,
) -> Result<End, Error> {
    let budget = MemoryBudget::new(MemoryLimit::Auto);
    each_block(input, &AtomicU64::new(0), &budget, 3, || &work, consume)
}

#[test]
fn blocks_are_used_in_their_order() {
    let (_folder, input) = input();
    let mut seen = Vec::new();
    let note = |block: &[u8], made| {
        seen.extend(block.first().map(|&it| (it, made)));
        Ok(())
    };
    let end = each_block_of(&input, |block| block.first().map_or(0, |it| it + 1), note);
    assert_eq!(end.unwrap().damage, []);
    assert_eq!(seen, (0..N_BLOCKS as u8).map(|it| (it, it + 1)).collect::<Vec<_>>());
}

#[test]
fn a_worker_that_panics_ends_reading_with_an_error_that_says_why() {
    let (_folder, input) = input();
    let mut n_used = 0;
    let work = |block: &[u8]| {
        assert!(block.first() != Some(&17), "block 17 is broken");
        0
    };
    let count = |_: &[u8], _| {
        n_used += 1;
        Ok(())
    };
    let error = each_block_of(&input, work, count).err().unwrap().to_string();
    assert!(error.contains("block 17 is broken") && error.contains("report"), "{error}");
    assert!(error.starts_with(&input.path.display().to_string()), "{error}");
    assert!(n_used <= 17, "{n_used}");
}

#[test]
fn a_consumer_that_panics_or_fails_leaves_no_worker_waiting() {
    let (_folder, input) = input();
    let panics = || each_block_of(&input, |_| 0, |_, _| panic!("too much"));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    let (_folder, input) = self::input();
    let error = each_block_of(&input, |_| 0, |_, _| Err(Error::Cancelled)).err().unwrap();
    assert!(matches!(error, Error::Cancelled));
}

#[test]
fn who_waits_gets_what_is_given_or_nothing() {
    let (one, other) = (HandOver::default(), HandOver::default());
    std::thread::scope(|scope| {
        let waits = [scope.spawn(|| one.wait().is_some()), scope.spawn(|| other.wait().is_some())];
        let giver = one.giver();
        giver.give(Some(Arc::default()));
        drop(giver);
        drop(other.giver());
        assert_eq!(waits.map(|it| it.join().is_ok_and(|it| it)), [true, false]);
    });
    assert!(one.wait().is_some(), "the next one gets it too");
}
