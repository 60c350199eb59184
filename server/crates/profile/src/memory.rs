//! `[memory]` instants: one row per allocation or release.

use crate::{Bytes, Ns, ThreadId, keep_rows};

/// `Device Type` of a memory event (`c10::DeviceType`): 0 CPU, 1 CUDA, 6 HIP, others as numbered there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceType(pub i8);

impl DeviceType {
    /// Host memory.
    pub const CPU: Self = Self(0);
    /// The memory of an NVIDIA GPU.
    pub const CUDA: Self = Self(1);
}

/// A memory that bytes are allocated from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryDevice {
    /// What kind of device it is.
    pub kind: DeviceType,
    /// Its ordinal; -1 for the host.
    pub ordinal: i32,
}

/// All memory events, in file order.
#[derive(Debug, Default)]
pub struct MemoryEvents {
    /// When.
    pub at: Vec<Ns>,
    /// The thread that allocated or released.
    pub thread: Vec<ThreadId>,
    /// `Addr`; 0 when absent (torch 1.9).
    pub address: Vec<u64>,
    /// `Bytes`: positive for an allocation, negative for a release.
    pub bytes: Vec<Bytes>,
    /// Where the bytes are.
    pub device: Vec<MemoryDevice>,
    /// `Total Allocated` after the event; -1 when absent.
    pub total_allocated: Vec<Bytes>,
    /// `Total Reserved` after the event; -1 when absent.
    pub total_reserved: Vec<Bytes>,
}

impl MemoryEvents {
    /// Number of memory events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Takes out the rows `gone`; the rows behind them move up.
    pub fn remove(&mut self, gone: &[usize]) {
        let mut is_kept = vec![true; self.len()];
        gone.iter().for_each(|&row| is_kept[row] = false);
        let Self { at, thread, address, bytes, device, total_allocated, total_reserved } = self;
        keep_rows(at, &is_kept);
        keep_rows(thread, &is_kept);
        keep_rows(address, &is_kept);
        keep_rows(bytes, &is_kept);
        keep_rows(device, &is_kept);
        keep_rows(total_allocated, &is_kept);
        keep_rows(total_reserved, &is_kept);
    }
}
