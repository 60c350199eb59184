//! Rules `memory-leak` and `retained-across-steps`: a line that holds more after every step.

use ledger::{Bytes, Held, LineMemory};

use super::detail::MemoryKind;
use super::device::{MemoryDraft, MemoryOfDevice, each};
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Finding, Severity};

/// The rule about much.
pub(super) static LEAK: Rule = Rule {
    id: "memory-leak",
    area: Area::Memory,
    title: "A line holds more after every step",
    summary: "What the line allocates is not given back: it holds more after every step.",
    severity: Severity::Warning,
    trigger: "What the line has in use grows from each step to the next, the first and the last step left aside, and not by small \
              tensors (those are reported by `retained-across-steps`).",
    measure: "From a memory snapshot: bytes of the line in use at the end of each step. Steps come from `ProfilerStep#N` ranges, else from \
              the optimizer.",
    thresholds: &[MIN_STEPS, MIN_SHARE, SMALL],
    remedy: "Look for what keeps it: a list or dict that grows, a tensor that still has its graph (`detach()` it), a hook or closure, a \
             cache without limit.",
    before: "outputs.append(model(x))",
    after: "outputs.append(model(x).detach().cpu())",
    sources: &[],
    limits: "Few steps in the snapshot cannot distinguish a leak from a cache that fills. Without steps nothing is said.",
    find: |ledger, _, limits| each(ledger, limits, leaks),
};

/// The rule about little.
pub(super) static RETAINED: Rule = Rule {
    id: "retained-across-steps",
    area: Area::Memory,
    title: "A tensor of every step is kept",
    summary: "Something keeps a small tensor of every step, and with it the graph that made it if it needs gradients.",
    severity: Severity::Information,
    trigger: "What the line has in use grows from each step to the next, the first and the last step left aside, by small tensors.",
    measure: "From a memory snapshot: bytes and blocks of the line in use at the end of each step.",
    thresholds: &[MIN_STEPS, SMALL],
    remedy: "Keep `loss.detach()`, or add up on the device and call `.item()` now and then.",
    before: "losses.append(loss)",
    after: "losses.append(loss.detach())",
    sources: &[],
    limits: "What is kept on purpose (a curve of losses) is reported, too; it is cheap if it is detached.",
    find: |ledger, _, limits| each(ledger, limits, retained),
};

/// Fewer steps are a warm-up.
const MIN_STEPS: Threshold = Threshold {
    name: "steps",
    unit: ThresholdUnit::Count,
    default: 3.0,
    meaning: "times that it has to grow from one step to the next",
};

const MIN_SHARE: Threshold = Threshold {
    name: "share",
    unit: ThresholdUnit::Percent,
    default: 0.1,
    meaning: "growth per step as a share of the peak from which it is reported",
};

/// A loss, a norm, a counter.
const SMALL: Threshold = Threshold {
    name: "small",
    unit: ThresholdUnit::MiB,
    default: 4.0 / 1024.0,
    meaning: "size up to which a tensor is small",
};

/// Lines that hold clearly more after every step.
fn leaks(device: &MemoryOfDevice<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let (least, small) = (limits.get(&MIN_SHARE), limits.get(&SMALL));
    let growing = growing(device, limits).filter(|(_, _, growth)| {
        !growth.is_of_small_tensors(small) && least <= device.of_peak(growth.per_step())
    });
    growing
        .map(|(place, books, growth)| {
            let draft = MemoryDraft {
                kind: MemoryKind::Leak {
                    per_step: growth.per_step(),
                    steps: growth.steps,
                    held: books.live,
                },
                share: device.of_peak(books.live),
                severity: None,
                remedy: "What is allocated here is not given back. Look for what keeps it: a list or dict that grows, a \
                         tensor that still has its graph (detach() it), a hook or closure, a cache without limit.",
            };
            device.finding(&LEAK, place, draft)
        })
        .collect()
}

/// Lines of which every step keeps a few small tensors.
fn retained(device: &MemoryOfDevice<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let small = limits.get(&SMALL);
    let growing =
        growing(device, limits).filter(|(_, _, growth)| growth.is_of_small_tensors(small));
    growing
        .map(|(place, books, growth)| {
            let draft = MemoryDraft {
                kind: MemoryKind::Retained {
                    tensors_per_step: growth.allocs / growth.steps,
                    steps: growth.steps,
                    held: books.live,
                },
                share: device.of_peak(books.live),
                severity: None,
                remedy: "Something keeps a tensor of every step, such as losses.append(loss), and with it the graph that \
                         made it if it needs gradients. Keep loss.detach(), or add up on the device and call .item() \
                         now and then.",
            };
            device.finding(&RETAINED, place, draft)
        })
        .collect()
}

/// Growth from each step to the next.
struct Growth {
    bytes: Bytes,
    allocs: u64,
    steps: u64,
}

impl Growth {
    fn per_step(&self) -> Bytes {
        self.bytes / self.steps as i64
    }

    /// Of at most `small` bytes each.
    fn is_of_small_tensors(&self, small: f64) -> bool {
        self.steps <= self.allocs && self.bytes.as_f64() <= small * self.allocs as f64
    }
}

fn growing<'a>(
    device: &MemoryOfDevice<'a>,
    limits: &RuleLimits<'_>,
) -> impl Iterator<Item = (&'a ledger::LineKey, &'a LineMemory, Growth)> {
    let least = limits.get(&MIN_STEPS) as u64;
    let lines = device.memory.lines.iter();
    lines.filter_map(move |(place, books)| Some((place, books, growth(books, least)?)))
}

/// `None` unless each of at least `least` steps adds something. The first step warms up (optimizer state, caches), the last may be
/// unfinished.
fn growth(books: &LineMemory, least: u64) -> Option<Growth> {
    let [_, held @ .., _] = &books.live_by_step[..] else { return None };
    let (first, last): (&Held, &Held) = (held.first()?, held.last()?);
    let steps = held.len() as u64 - 1;
    let grows = held.windows(2).all(|pair| pair[0].bytes < pair[1].bytes);
    (grows && least <= steps).then(|| Growth {
        bytes: last.bytes - first.bytes,
        allocs: last.allocs.saturating_sub(first.allocs),
        steps,
    })
}
