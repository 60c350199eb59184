//! One thread for each input that is read at the same time.
//!
//! These threads are not rayon's, which inference uses: a trace may wait for what is read from a snapshot (`hand_over`), and
//! rayon neither begins work in order nor allows work to wait for other work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The results of `work` for each item, in the order of the items.
///
/// Items are begun in their order, on as many threads as there are cores, so an item may wait for one that stands before it.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let n_workers = n_cores().min(items.len());
    if n_workers <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        let mut mine = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            mine.push((index, work(item)));
        }
        results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(mine);
    };
    std::thread::scope(|scope| {
        (1..n_workers).for_each(|_| drop(scope.spawn(run)));
        run();
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_unstable_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The cores that this process may use; 1 where the system does not say.
pub(crate) fn n_cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        let items: Vec<u64> = (0..1000).collect();
        let squares = map(&items, |it| it * it);
        assert!(items.iter().zip(&squares).all(|(it, square)| it * it == *square));
        assert_eq!(squares.len(), items.len());
        assert!(map(&items[..0], |it| *it).is_empty());
    }
}
