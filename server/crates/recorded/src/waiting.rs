//! Python that waits: which built-in calls only wait, and which threads do nothing else.

use ledger::Ns;
use profile::{HostEventId, HostKind, Profile};

use crate::frames::Frame;

/// Share of its traced time, in percent, from which a thread that runs nothing is idle.
const MIN_IDLE_PERCENT: i128 = 90;

/// A frame in which nothing is recorded for this long may be one that waits.
const MIN_SILENCE: Ns = Ns(1_000_000);

/// Built-in functions and methods that return when something else has happened, by what they belong to: the type of a
/// method, with its module as far as that distinguishes it from others, or `""` for a function of a module. `read` is `os.read`,
/// with which pipes are read (by the kernel of a notebook, by `multiprocessing`): files have methods for it.
const WAITING: [(&str, &[&str]); 6] = [
    (
        "",
        &[
            "sleep",
            "select",
            "waitpid",
            "wait4",
            "waitid",
            "sigwait",
            "sigtimedwait",
            "pause",
            "read",
        ],
    ),
    ("_thread.", &["acquire", "join", "__enter__"]),
    ("_multiprocessing.", &["acquire", "__enter__"]),
    ("select.", &["poll", "control"]),
    (
        "socket",
        &[
            "recv",
            "recv_into",
            "recvfrom",
            "recvfrom_into",
            "recvmsg",
            "accept",
            "_accept",
            "connect",
        ],
    ),
    ("_queue.SimpleQueue", &["get"]),
];

/// Whether the Python event `name`, which is not a frame, is a call that waits.
#[must_use]
pub fn is_waiting_call(name: &str) -> bool {
    let Some((function, owner)) = built_in(name) else { return false };
    WAITING.iter().any(|&(prefix, functions)| {
        let is_owner = if prefix.is_empty() { owner.is_empty() } else { owner.starts_with(prefix) };
        is_owner && functions.contains(&function)
    })
}

/// Whether the Python event `name`, which is not a frame, is the entry of the autograd engine, whose threads work for the one that calls it.
#[must_use]
pub fn waits_for_backward(name: &str) -> bool {
    name.contains("run_backward")
}

/// Name and owner of a built-in call, as Python prints it: `<built-in method acquire of _thread.lock object at 0x7f>`,
/// `<built-in function sleep>`, `<method 'recv' of '_socket.socket' objects>`.
pub(crate) fn built_in(name: &str) -> Option<(&str, &str)> {
    let inner = name.strip_prefix('<')?.strip_suffix('>')?;
    if let Some(function) = inner.strip_prefix("built-in function ") {
        return Some((function, ""));
    }
    if let Some(method) = inner.strip_prefix("built-in method ") {
        let (function, owner) = method.split_once(" of ").unwrap_or((method, ""));
        return Some((function, owner.split(" object").next().unwrap_or(owner)));
    }
    let (function, owner) = inner.strip_prefix("method '")?.split_once("' of '")?;
    Some((function, owner.split('\'').next().unwrap_or(owner)))
}

/// Functions of the standard library and of extension modules whose own waiting may leave no event of its own: the call
/// began before recording did, or is one of an extension that Python does not report.
const WAITING_FUNCTIONS: [&str; 14] = [
    "wait",
    "_wait_for_tstate_lock",
    "join",
    "acquire",
    "select",
    "poll",
    "_poll",
    "recv",
    "_recv",
    "recv_into",
    "accept",
    "get",
    "sleep",
    "epoll",
];

/// How many idle threads each thread of the recording stands for, 0 where it is not idle. A thread is idle if it ran no operator, runtime call or range and allocated
/// nothing, and waited for at least nine tenths of its traced time. PyTorch merges the threads that make no call while it
/// records into one; each has its `Thread._bootstrap` there, but for a main thread. `order` holds all host events in the order of `docs/accounting.md`.
///
/// A thread waits while the innermost event is a call that waits. It also waits while nothing is recorded for a millisecond
/// or more in a frame of a function that is named like such a call, or in one that began before any event of the thread
/// had ended, as frames do that were open when recording began.
#[must_use]
pub fn idle_threads(profile: &Profile, order: &[HostEventId]) -> Vec<u64> {
    let host = &profile.host;
    let mut is_candidate = vec![false; profile.threads.len()];
    for id in host.ids() {
        is_candidate[host.thread[id.index()].index()] = true;
    }
    for id in host.ids().filter(|id| host.kind[id.index()] != HostKind::Python) {
        is_candidate[host.thread[id.index()].index()] = false;
    }
    for thread in &profile.memory.thread {
        is_candidate[thread.index()] = false;
    }
    if !is_candidate.contains(&true) {
        return vec![0; profile.threads.len()];
    }
    let mut walks: Vec<WaitingWalk> =
        profile.threads.iter().map(|_| WaitingWalk::default()).collect();
    for id in host.ids() {
        let walk = &mut walks[host.thread[id.index()].index()];
        walk.first_end = walk.first_end.min(host.end(id));
    }
    for &id in order {
        let thread = host.thread[id.index()].index();
        if is_candidate[thread] {
            let name = profile.strings.get(host.name[id.index()]);
            walks[thread].open(host.start[id.index()], host.end(id), name);
        }
    }
    let idle = |(is_candidate, mut walk): (bool, WaitingWalk)| {
        walk.advance(Ns::MAX);
        if is_candidate && walk.mostly_waits() { walk.threads } else { 0 }
    };
    is_candidate.into_iter().zip(walks).map(idle).collect()
}

/// Which threads only help: those that are not in `lead` and were in calls that wait for at least nine tenths of their traced time,
/// annotations aside, as threads that pin memory or load ahead are. `order` holds all host events in the order of `docs/accounting.md`.
#[must_use]
pub fn helper_threads(profile: &Profile, order: &[HostEventId], lead: &[bool]) -> Vec<bool> {
    let host = &profile.host;
    let mut has_calls = vec![false; profile.threads.len()];
    let mut waits: Vec<Option<bool>> = vec![None; profile.strings.len()];
    let mut walks: Vec<WaitingWalk> =
        profile.threads.iter().map(|_| WaitingWalk::default()).collect();
    for &id in order {
        let thread = host.thread[id.index()].index();
        if lead[thread] || host.kind[id.index()] == HostKind::Annotation {
            continue;
        }
        let name = host.name[id.index()];
        let is_python = host.kind[id.index()] == HostKind::Python;
        let waits = is_python
            && *waits[name.index()]
                .get_or_insert_with(|| is_waiting_call(profile.strings.get(name)));
        has_calls[thread] |= waits;
        let waits_from = if waits { Ns::ZERO } else { Ns::MAX };
        walks[thread].push(host.start[id.index()], host.end(id), waits_from);
    }
    let mostly_waits = |(has_calls, mut walk): (bool, WaitingWalk)| {
        walk.advance(Ns::MAX);
        has_calls && walk.mostly_waits()
    };
    has_calls.into_iter().zip(walks).map(mostly_waits).collect()
}

/// The walk over the events of one thread.
struct WaitingWalk {
    /// Open events, outermost first: their end, and how long they must be innermost at a time for the thread to wait.
    stack: Vec<(Ns, Ns)>,
    clock: Ns,
    /// When the first event of the thread ends.
    first_end: Ns,
    traced: Ns,
    waited: Ns,
    /// How many threads began here.
    threads: u64,
}

impl Default for WaitingWalk {
    fn default() -> Self {
        Self {
            stack: Vec::new(),
            clock: Ns::MIN,
            first_end: Ns::MAX,
            traced: Ns::ZERO,
            waited: Ns::ZERO,
            threads: 0,
        }
    }
}

impl WaitingWalk {
    fn mostly_waits(&self) -> bool {
        Ns::ZERO < self.traced
            && MIN_IDLE_PERCENT * i128::from(self.traced) <= 100 * i128::from(self.waited)
    }

    fn push(&mut self, start: Ns, end: Ns, waits_from: Ns) {
        self.advance(start);
        self.stack.push((end, waits_from));
    }

    fn open(&mut self, start: Ns, end: Ns, name: &str) {
        let may_wait = |frame: Frame<'_>| {
            start < self.first_end || WAITING_FUNCTIONS.contains(&frame.function)
        };
        let waits_from = match Frame::parse(name) {
            Some(frame) if may_wait(frame) => MIN_SILENCE,
            None if is_waiting_call(name) => Ns::ZERO,
            _ => Ns::MAX,
        };
        let is_first = self.threads == 0;
        self.threads += u64::from(is_first || name.ends_with("): _bootstrap"));
        self.push(start, end, waits_from);
    }

    fn advance(&mut self, until: Ns) {
        while let Some(&(end, waits_from)) = self.stack.last() {
            let to = end.min(until);
            if self.clock < to {
                let time = to - self.clock;
                self.traced += time;
                self.waited += if waits_from <= time { time } else { Ns::ZERO };
                self.clock = to;
            }
            if until < end {
                return;
            }
            self.stack.pop();
        }
        self.clock = self.clock.max(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_wait_are_distinguished_from_others_of_the_same_name() {
        let waiting = [
            "<built-in method acquire of _thread.lock object at 0x7fa25ce12f40>",
            "<built-in method acquire of _thread.RLock object at 0x7fa25ce12f40>",
            "<built-in method acquire of _multiprocessing.SemLock object at 0x7f>",
            "<method 'acquire' of '_thread.lock' objects>",
            "<built-in function sleep>",
            "<built-in function sigwait>",
            "<built-in method poll of select.epoll object at 0x7f>",
            "<built-in method poll of select.poll object at 0x7f>",
            "<built-in function select>",
            "<built-in method recv of socket object at 0x7f>",
            "<built-in method get of _queue.SimpleQueue object at 0x7f>",
            "<built-in method join of _thread._ThreadHandle object at 0x7f>",
        ];
        let others = [
            "<built-in method release of _thread.lock object at 0x7f>",
            "<built-in method join of str object at 0x7f>",
            "<built-in method get of dict object at 0x7f>",
            "<built-in method put of _queue.SimpleQueue object at 0x7f>",
            "<built-in method register of select.poll object at 0x7f>",
            "<built-in function poll>",
            "<built-in method select of Tensor object at 0x7f>",
            "<built-in method wait of PyCapsule object at 0x7f>",
            "<method 'get' of 'dict' objects>",
            "<built-in function len>",
            "nn.Module: Linear_0",
        ];
        assert_eq!(waiting.map(is_waiting_call), [true; 12]);
        assert_eq!(others.map(is_waiting_call), [false; 11]);
    }
}
