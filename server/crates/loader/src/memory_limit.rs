//! The memory that a load may take. A few megabytes of a compressed file may unfold to any number of gigabytes, so what is
//! read is held against what the process has, not against the size of the file.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use profile::WarningKind;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use crate::damage::Damage;

/// The most memory that the process may have while it loads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MemoryLimit {
    /// Three quarters of the memory of the machine, of what its control group may have, or of half of what the process may reserve,
    /// whichever is least.
    #[default]
    Auto,
    /// Bytes.
    Bytes(u64),
}

/// Why a text is no [`MemoryLimit`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid memory limit `{0}`, expected `auto` or an amount such as 512M, 8G or 8GiB")]
pub struct InvalidMemoryLimit(String);

/// Percent of the limit at which reading ends. What was read is then charged to lines, which takes 2.3 times as much again where the
/// events are as short as they can be, and a third of it in recordings of programs.
const READING_PERCENT: u64 = 30;

/// What the machine is taken to have where it does not say.
const UNKNOWN_MEMORY: u64 = 8 << 30;

impl MemoryLimit {
    /// In bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Auto => machine_memory().unwrap_or(UNKNOWN_MEMORY) / 4 * 3,
        }
    }
}

impl FromStr for MemoryLimit {
    type Err = InvalidMemoryLimit;

    fn from_str(text: &str) -> Result<Self, InvalidMemoryLimit> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let digits = text.len() - text.trim_start_matches(|it: char| it.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let unit = unit.trim_start().to_ascii_uppercase();
        let unit = unit.strip_suffix("IB").or(unit.strip_suffix('B')).unwrap_or(&unit);
        let shift = ["", "K", "M", "G", "T"].iter().position(|it| *it == unit);
        let bytes = || number.parse::<u64>().ok()?.checked_mul(1 << (10 * shift?));
        let bytes = bytes().filter(|it| *it > 0);
        bytes.map(Self::Bytes).ok_or_else(|| InvalidMemoryLimit(text.to_owned()))
    }
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => write!(f, "auto"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

/// What is left of the memory of a load. It is asked of the system, so that it counts everything: all inputs that are read at
/// the same time, their ledgers, and what the process had before.
pub(crate) struct MemoryBudget {
    limit: u64,
    /// Bytes of the process at which reading ends: [`READING_PERCENT`] of the limit.
    reading: u64,
    process: Option<Mutex<ProcessMemory>>,
}

impl MemoryBudget {
    pub(crate) fn new(limit: MemoryLimit) -> Self {
        let limit = limit.bytes();
        let mut process = ProcessMemory::new();
        // A server has the recording that it shows, too.
        let before = process.as_mut().and_then(ProcessMemory::resident).unwrap_or(0);
        let reading =
            (limit / 100 * READING_PERCENT).max(before.saturating_add(limit / 4)).min(limit);
        Self { limit, reading, process: process.map(Mutex::new) }
    }

    /// Whether there is no memory for reading more.
    pub(crate) fn is_used_up(&self) -> bool {
        let resident = self
            .process
            .as_ref()
            .and_then(|it| it.lock().unwrap_or_else(PoisonError::into_inner).resident());
        resident.is_some_and(|it| self.reading <= it)
    }

    /// Decompressed bytes after which memory is looked at again: some of them take a hundred times as much in memory.
    pub(crate) fn check_every(&self) -> u64 {
        (self.limit / 1024).clamp(1 << 20, 8 << 20)
    }

    /// Bytes that an input may unfold to whose format must be whole to be read.
    pub(crate) fn max_whole(&self) -> u64 {
        self.limit / 16
    }

    /// What is said of an input that was not read behind `offset`.
    pub(crate) fn end_of_reading(&self, offset: u64) -> Damage {
        Damage {
            kind: WarningKind::MemoryLimit,
            message: format!(
                "reading ended here because the memory limit of {} was near, and what came before was read; raise it \
                 (--memory-limit, in editors perfline.memoryLimit), or record fewer steps",
                shown(self.limit)
            ),
            offset: Some(offset),
        }
    }

    /// Why an input that must be whole was refused.
    pub(crate) fn too_large(&self) -> String {
        format!(
            "it unfolds to more than {}, a sixteenth of the memory limit, and can only be read whole; raise the limit \
             (--memory-limit, in editors perfline.memoryLimit), or record fewer steps",
            shown(self.max_whole())
        )
    }
}

fn shown(bytes: u64) -> String {
    match bytes {
        0..1_073_741_824 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

/// The memory of this process, as the system counts it.
struct ProcessMemory {
    system: System,
    id: Pid,
}

impl ProcessMemory {
    /// `None` where the system does not say.
    fn new() -> Option<Self> {
        Some(Self { system: System::new().ok()?, id: sysinfo::get_current_pid().ok()? })
    }

    /// Bytes in physical memory.
    fn resident(&mut self) -> Option<u64> {
        let what = ProcessRefreshKind::nothing().with_memory().without_tasks();
        self.system.refresh_processes_specifics(ProcessesToUpdate::Some(&[self.id]), false, what);
        self.system.process(self.id).map(sysinfo::Process::memory)
    }
}

/// Bytes that this process may have: those of the machine, of its control group, or half of its address space (`ulimit -v`), which
/// batch systems limit. A table that grows reserves up to twice what it fills.
fn machine_memory() -> Option<u64> {
    let mut process = ProcessMemory::new()?;
    process.system.refresh_memory();
    process.resident();
    let total = process.system.total_memory();
    let group = process.system.process(process.id).and_then(sysinfo::Process::cgroup_limits);
    let group = group.or_else(|| process.system.cgroup_limits());
    let limit = group.map_or(total, |it| it.total_memory.min(total));
    let limit = address_space().map_or(limit, |it| (it / 2).min(limit));
    (limit > 0).then_some(limit)
}

/// Bytes that the process may reserve; `None` where that is not limited.
#[cfg(unix)]
fn address_space() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

/// Windows limits it by job objects, which `sysinfo` does not look at.
#[cfg(not(unix))]
const fn address_space() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_the_usual_units() {
        let rows = [
            ("auto", MemoryLimit::Auto),
            ("1000", MemoryLimit::Bytes(1000)),
            ("512M", MemoryLimit::Bytes(512 << 20)),
            ("8 GiB", MemoryLimit::Bytes(8 << 30)),
            ("8gb", MemoryLimit::Bytes(8 << 30)),
            ("1t", MemoryLimit::Bytes(1 << 40)),
        ];
        for (text, expected) in rows {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in ["", "0", "G", "-1G", "1.5G", "8 apples", "99999999999999T"] {
            let error = text.parse::<MemoryLimit>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("invalid memory limit `{text}`, expected")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_budget_counts_what_the_process_has() {
        let budget = MemoryBudget::new(MemoryLimit::Bytes(1 << 30));
        assert!(!budget.is_used_up());
        // Written to, so that the system gives the pages.
        let held = vec![1_u8; 384 << 20];
        assert!(budget.is_used_up());
        assert_eq!(held.last(), Some(&1));
        assert!(MemoryLimit::Auto.bytes() >= 64 << 20);
    }
}
