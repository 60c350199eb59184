//! What happened to one memory of a trace, event by event.

use ledger::Bytes;
use line_stacks::LineId;
use rustc_hash::FxHashMap;

/// The allocations and releases of one memory.
#[derive(Debug, Default)]
pub(crate) struct TraceReplay {
    /// Number of the next event.
    clock: u64,
    used: Bytes,
    peak: Bytes,
    /// Number of the event after which the most bytes were in use.
    pub(crate) peak_at: Option<u64>,
    /// Releases of what was not allocated here: the event and the bytes.
    pub(crate) older: Vec<(u64, Bytes)>,
    /// The bytes of these, and how many of them before the peak.
    pub(crate) older_freed: Bytes,
    pub(crate) older_freed_at_peak: Bytes,
    pub(crate) allocations: Vec<Traced>,
    by_address: FxHashMap<u64, usize>,
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Traced {
    pub(crate) line: LineId,
    /// Place in `TraceMemory::rows`.
    pub(crate) event: usize,
    pub(crate) bytes: Bytes,
    pub(crate) alloc_at: u64,
    /// Number of the event that released it; `None` while it is alive.
    pub(crate) freed_at: Option<u64>,
    /// Where it begins; 0 where the event has no address, and its release cannot be seen.
    pub(crate) address: u64,
}

impl Traced {
    /// Whether its release could be seen.
    pub(crate) fn is_tracked(&self) -> bool {
        self.address != 0
    }
}

impl TraceReplay {
    /// `bytes` are allocated at `address` (0: unknown) by a line, in the event at this place.
    pub(crate) fn alloc(&mut self, address: u64, bytes: Bytes, (line, event): (LineId, usize)) {
        if address != 0
            && let Some(earlier) = self.by_address.insert(address, self.allocations.len())
        {
            // The address was handed out again, so its release was not recorded.
            self.allocations[earlier].freed_at = Some(self.clock);
        }
        self.allocations.push(Traced {
            line,
            event,
            bytes,
            alloc_at: self.clock,
            freed_at: None,
            address,
        });
        self.tick(bytes);
    }

    /// `bytes` at `address` are released.
    pub(crate) fn free(&mut self, address: u64, bytes: Bytes) {
        if let Some(allocation) = self.by_address.remove(&address) {
            self.allocations[allocation].freed_at = Some(self.clock);
        } else {
            self.older.push((self.clock, bytes));
            self.older_freed = self.older_freed.saturating_add(bytes);
        }
        self.tick(-bytes);
    }

    fn tick(&mut self, bytes: Bytes) {
        self.used += bytes;
        if self.peak_at.is_none() || self.used > self.peak {
            (self.peak, self.peak_at) = (self.used, Some(self.clock));
            self.older_freed_at_peak = self.older_freed;
        }
        self.clock += 1;
    }
}
