//! The order of host events that `docs/accounting.md` defines.

use std::cmp::Reverse;

use profile::{HostEventId, HostKind, Ns, Profile};

/// What host events are ordered by: start, the longer one first, kind, Python's number. Position in the file, the last
/// key, is left to a stable sort.
#[must_use]
pub fn order_key(profile: &Profile, id: HostEventId) -> (Ns, Reverse<Ns>, HostKind, i64) {
    let host = &profile.host;
    let kind = host.kind[id.index()];
    let python_id = match kind {
        HostKind::Python => host.python.id[host.detail_row(id)],
        HostKind::Annotation | HostKind::Operator | HostKind::Runtime => 0,
    };
    (host.start[id.index()], Reverse(host.end(id)), kind, python_id)
}

/// All host events in order.
#[must_use]
pub fn in_order(profile: &Profile) -> Vec<HostEventId> {
    let host = &profile.host;
    let mut order: Vec<HostEventId> = host.ids().collect();
    // A file is a few long runs in time order, which the stable sort merges in linear time.
    order.sort_by(|&one, &other| {
        let by_start = host.start[one.index()].cmp(&host.start[other.index()]);
        by_start.then_with(|| order_key(profile, one).cmp(&order_key(profile, other)))
    });
    order
}
