//! Recordings with times in whole microseconds, as of torch up to 2.2: there a call may last no time at all, and then
//! does not hold by time what it ran.

use profile::{HostEventId, HostKind, Ns, Profile};
use recorded::{MICROSECOND, has_whole_microseconds};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::keys::is_operator_of;

/// What of such a recording says which call ran what.
pub(crate) struct MicrosecondTimes {
    /// Python calls by `Python id`.
    calls: FxHashMap<i64, HostEventId>,
    /// Calls of built-ins by thread, in order of their start.
    builtins: Vec<Vec<(Ns, HostEventId)>>,
    /// Built-ins that hold an operator of their name by time.
    complete: FxHashSet<HostEventId>,
}

impl MicrosecondTimes {
    /// `None` for a recording with finer times.
    pub(crate) fn new(profile: &Profile) -> Option<Self> {
        if !has_whole_microseconds(profile) {
            return None;
        }
        let host = &profile.host;
        let calls = host.ids().filter(|id| host.kind[id.index()] == HostKind::Python);
        let mut times = Self {
            calls: FxHashMap::default(),
            builtins: vec![Vec::new(); profile.threads.len()],
            complete: FxHashSet::default(),
        };
        for id in calls {
            times.calls.insert(python_id(profile, id), id);
            if profile.strings.get(host.name[id.index()]).starts_with('<') {
                times.builtins[host.thread[id.index()].index()].push((host.start[id.index()], id));
            }
        }
        times.builtins.iter_mut().for_each(|row| row.sort_by_key(|&(start, _)| start));
        Some(times)
    }

    /// The parent of a call by `Python parent id`; of an operator, and where there is no such id, the call `below` it by
    /// time.
    pub(crate) fn parent(
        &mut self,
        profile: &Profile,
        id: HostEventId,
        below: Option<HostEventId>,
    ) -> Option<HostEventId> {
        let host = &profile.host;
        if host.kind[id.index()] != HostKind::Python {
            if let Some(below) = below
                && is_run_by(profile, id, below)
            {
                self.complete.insert(below);
            }
            return below;
        }
        let parent = self.calls.get(&host.python.parent[host.detail_row(id)]).copied();
        parent.filter(|it| host.thread[it.index()] == host.thread[id.index()]).or(below)
    }

    /// Puts siblings into the order in which they began: by `Python id`, because many begin in the same microsecond.
    /// `pairs` are events with a number for their parent, sorted by that. Operators that another call ran than the
    /// one that holds them by time are taken out, and returned with that call.
    pub(crate) fn reorder(
        &self,
        profile: &Profile,
        pairs: &mut Vec<(u32, HostEventId)>,
    ) -> Vec<(HostEventId, HostEventId)> {
        let host = &profile.host;
        let mut run_by: Vec<(HostEventId, HostEventId)> = Vec::new();
        let time = |id: HostEventId| (host.start[id.index()], host.end(id));
        let is_call = |id: HostEventId| host.kind[id.index()] == HostKind::Python;
        let mut ordered = Vec::with_capacity(pairs.len());
        for siblings in pairs.chunk_by(|one, other| one.0 == other.0) {
            let (mut calls, operators): (Vec<_>, Vec<_>) =
                siblings.iter().copied().partition(|&(_, id)| is_call(id));
            calls.sort_by_key(|&(_, id)| python_id(profile, id));
            let mut calls = calls.into_iter().peekable();
            // The operator before, if another call ran it, with that call.
            let mut open: Option<(HostEventId, HostEventId)> = None;
            for (rank, operator) in operators {
                while let Some(call) = calls.next_if(|&(_, call)| time(call) <= time(operator)) {
                    ordered.push(call);
                }
                let touches = |it: HostEventId| time(operator).0 <= time(it).1;
                let before = open.filter(|&(before, _)| touches(before)).map(|(_, call)| call);
                open = before.or_else(|| self.runner(profile, operator)).map(|it| (operator, it));
                match open {
                    Some(pair) => run_by.push(pair),
                    None => ordered.push((rank, operator)),
                }
            }
            ordered.extend(calls);
        }
        *pairs = ordered;
        run_by
    }

    /// The call of a built-in of the operator's name that begins in the same microsecond, or the one before, and holds no
    /// such operator itself.
    fn runner(&self, profile: &Profile, operator: HostEventId) -> Option<HostEventId> {
        let host = &profile.host;
        let row = &self.builtins[host.thread[operator.index()].index()];
        let start = host.start[operator.index()];
        let end = row.partition_point(|&(it, _)| it <= start);
        let near = row[..end].iter().rev().take_while(|&&(it, _)| it >= start - MICROSECOND);
        let mut near = near.map(|&(_, id)| id).filter(|id| !self.complete.contains(id));
        near.find(|&id| host.end(id) + MICROSECOND >= start && is_run_by(profile, operator, id))
    }
}

fn python_id(profile: &Profile, call: HostEventId) -> i64 {
    profile.host.python.id[profile.host.detail_row(call)]
}

fn is_run_by(profile: &Profile, operator: HostEventId, call: HostEventId) -> bool {
    let name = |id: HostEventId| profile.strings.get(profile.host.name[id.index()]);
    is_operator_of(name(call), name(operator))
}
