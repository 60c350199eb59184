//! Which launches of a capture follow one another on one stream, as far as the calls between them say.

use profile::{HostEventId, HostKind, Profile, ThreadId};
use recorded::{records_event, waits_for_event};

/// What chooses the stream of the calling thread, without what is around its name: `<built-in function _cuda_setStream>`.
const CHOOSES: [&str; 2] = ["_cuda_setStream", "_accelerator_setStream"];

/// Numbers the chains of a capture: launches of one thread between which no stream was chosen, no event recorded, and none
/// waited for. They are nodes of a graph that follow one another without a branch, and a replay runs them on one stream, which
/// need not be that of the capture. What C++ code chooses, as the engine of autograd does for its threads, is not seen.
pub(crate) struct Chains {
    /// By thread, the chain that goes on.
    of_thread: Vec<Option<u32>>,
    n_begun: u32,
}

impl Chains {
    pub(crate) fn new(profile: &Profile) -> Self {
        Self { of_thread: vec![None; profile.threads.len()], n_begun: 0 }
    }

    /// A capture begins on `thread`. What other threads launch is in no chain until they choose a stream.
    pub(crate) fn begin(&mut self, thread: ThreadId) {
        self.of_thread.fill(None);
        self.n_begun = 0;
        self.begin_chain(thread);
    }

    /// The number of the chain that `thread` is in, from 0 in each capture.
    pub(crate) fn of(&self, thread: ThreadId) -> Option<u32> {
        self.of_thread[thread.index()]
    }

    /// Takes notice of a host event. They must come in the order in which they begin.
    pub(crate) fn see(&mut self, profile: &Profile, event: HostEventId) {
        let host = &profile.host;
        let thread = host.thread[event.index()];
        let name = profile.strings.get(host.name[event.index()]);
        let ends_chain = match host.kind[event.index()] {
            HostKind::Python => {
                name.starts_with("<built-in") && CHOOSES.iter().any(|it| name.contains(it))
            }
            HostKind::Runtime => {
                self.of(thread).is_some() && (records_event(name) || waits_for_event(name))
            }
            _ => false,
        };
        if ends_chain {
            self.begin_chain(thread);
        }
    }

    fn begin_chain(&mut self, thread: ThreadId) {
        self.of_thread[thread.index()] = Some(self.n_begun);
        self.n_begun += 1;
    }
}
