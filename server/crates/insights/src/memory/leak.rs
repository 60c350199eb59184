//! Rules `memory-leak` and `retained-across-steps`: a line that holds more after every step.

use ledger::{Held, LineMemory};

use super::{Device, MemoryKind, Told};
use crate::Finding;

/// Ids of the rules.
pub(super) const LEAK: &str = "memory-leak";
pub(super) const RETAINED: &str = "retained-across-steps";

/// Steps that must show growth: fewer are a warm-up.
const LEAST_STEPS: u64 = 3;

/// Growth per step, of the peak, from which it is a leak.
const LEAST_SHARE: f64 = 0.001;

/// Bytes of a tensor that is small: a loss, a norm, a counter.
const SMALL: i64 = 4096;

/// Lines that hold clearly more after every step.
pub(super) fn leaks(device: &Device<'_>) -> Vec<Finding> {
    let growing = growing(device).filter(|(_, _, growth)| {
        !growth.is_of_small_tensors() && LEAST_SHARE <= device.of_peak(growth.per_step())
    });
    growing
        .map(|(place, books, growth)| {
            let told = Told {
                kind: MemoryKind::Leak {
                    per_step: growth.per_step(),
                    steps: growth.steps,
                    held: books.live,
                },
                share: device.of_peak(books.live),
                is_warning: true,
                remedy: "What is allocated here is not given back. Look for what keeps it: a list or dict that grows, a \
                         tensor that still has its graph (detach() it), a hook or closure, a cache without limit.",
            };
            device.finding(LEAK, place, told)
        })
        .collect()
}

/// Lines of which every step keeps a few small tensors.
pub(super) fn retained(device: &Device<'_>) -> Vec<Finding> {
    let growing = growing(device).filter(|(_, _, growth)| growth.is_of_small_tensors());
    growing
        .map(|(place, books, growth)| {
            let told = Told {
                kind: MemoryKind::Retained {
                    tensors_per_step: growth.allocs / growth.steps,
                    steps: growth.steps,
                    held: books.live,
                },
                share: device.of_peak(books.live),
                is_warning: false,
                remedy: "Something keeps a tensor of every step, such as losses.append(loss), and with it the graph that \
                         made it if it needs gradients. Keep loss.detach(), or add up on the device and call .item() \
                         now and then.",
            };
            device.finding(RETAINED, place, told)
        })
        .collect()
}

/// Growth from each step to the next.
struct Growth {
    bytes: i64,
    allocs: u64,
    steps: u64,
}

impl Growth {
    fn per_step(&self) -> i64 {
        self.bytes / self.steps as i64
    }

    fn is_of_small_tensors(&self) -> bool {
        self.steps <= self.allocs && self.bytes <= SMALL * self.allocs as i64
    }
}

fn growing<'a>(
    device: &Device<'a>,
) -> impl Iterator<Item = (&'a ledger::LineKey, &'a LineMemory, Growth)> {
    device.memory.lines.iter().filter_map(|(place, books)| Some((place, books, growth(books)?)))
}

/// `None` unless every step adds something. The first step warms up (optimizer state, caches), the last may be
/// unfinished.
fn growth(books: &LineMemory) -> Option<Growth> {
    let [_, held @ .., _] = &books.live_by_step[..] else { return None };
    let (first, last): (&Held, &Held) = (held.first()?, held.last()?);
    let steps = held.len() as u64 - 1;
    let grows = held.windows(2).all(|pair| pair[0].bytes < pair[1].bytes);
    (grows && LEAST_STEPS <= steps).then(|| Growth {
        bytes: last.bytes - first.bytes,
        allocs: last.allocs.saturating_sub(first.allocs),
        steps,
    })
}
