//! Joins the recorder's side-car with its trace: the exact caller of each Python event (`fixtures/FORMAT.md`).

use profile::{
    Callers, HostEventId, HostKind, Ns, Profile, StrId, ThreadCallers, WarningKind, Warnings,
};
use recorded::{UNNAMED, is_left_unnamed};
use rustc_hash::FxHashMap;

/// Start times of one event differ at most by this much: traces up to torch 2.2 are cut to microseconds.
const TOLERANCE: Ns = Ns(2_000);

/// Share of a side-car's rows, in percent, that must be found in the trace; else it belongs to another recording.
const MIN_MATCHED_PERCENT: usize = 50;

/// Fills the callers of `profile` that `callers` knows. Where it does not fit the trace, nothing is changed.
pub fn join_callers(profile: &mut Profile, callers: &Callers) -> Warnings {
    let mut warnings = Warnings::default();
    let mut by_tid: FxHashMap<String, Vec<HostEventId>> = FxHashMap::default();
    let host = &profile.host;
    // A run of the garbage collector is no call.
    let collection = profile.strings.find("Python GC");
    let is_call = |id: &HostEventId| {
        host.kind[id.index()] == HostKind::Python && Some(host.name[id.index()]) != collection
    };
    for id in host.ids().filter(is_call) {
        let tid = profile.strings.get(profile.threads[host.thread[id.index()].index()].tid);
        match by_tid.get_mut(tid) {
            Some(events) => events.push(id),
            None => {
                by_tid.insert(tid.to_owned(), vec![id]);
            }
        }
    }
    for events in by_tid.values_mut() {
        events.sort_by_key(|&id| (host.start[id.index()], host.python.id[host.detail_row(id)]));
    }
    if callers.threads.is_empty() && callers.has_more_than_calls() {
        // The trace names the callers itself.
        profile.meta.torch = callers.torch.or(profile.meta.torch);
        return warnings;
    }
    let n_rows: usize = callers.threads.iter().map(|thread| thread.name.len()).sum();
    let mut found = Vec::new();
    for thread in &callers.threads {
        let events = by_tid
            .get(&thread.tid)
            .or_else(|| thread_of_first_row(profile, callers, thread, &by_tid));
        if let Some(events) = events {
            match_thread(profile, callers, thread, events, &mut found);
        }
    }
    if found.len() * 100 < n_rows * MIN_MATCHED_PERCENT {
        let message = format!(
            "only {} of the side-car's {n_rows} calls are in the trace: it belongs to another recording and was not used",
            found.len()
        );
        warnings.add(WarningKind::SideCarMismatch, None, message);
        return warnings;
    }
    let n_events: usize = by_tid.values().map(Vec::len).sum();
    if found.len() < n_events {
        let message = format!(
            "{} of {n_events} Python calls have no exact caller in the side-car",
            n_events - found.len()
        );
        warnings.add(WarningKind::SideCarMismatch, None, message);
    }
    profile.meta.torch = callers.torch.or(profile.meta.torch);
    let mut interned = FxHashMap::default();
    for RowOfEvent { event, name, file, line } in found {
        if profile.strings.get(profile.host.name[event.index()]) == UNNAMED {
            profile.host.name[event.index()] = profile.strings.intern(callers.strings.get(name));
        }
        let row = profile.host.detail_row(event);
        if line > 0 && file.get().is_some() {
            profile.host.python.caller[row] = *interned.entry((file, line)).or_insert_with(|| {
                profile.strings.intern(&format!("{}:{line}", callers.strings.get(file)))
            });
        }
    }
    warnings
}

/// Where PyTorch does not show the thread of a row: the thread whose first event is the first row.
fn thread_of_first_row<'a>(
    profile: &Profile,
    callers: &Callers,
    thread: &ThreadCallers,
    by_tid: &'a FxHashMap<String, Vec<HostEventId>>,
) -> Option<&'a Vec<HostEventId>> {
    let (&name, &start) = (thread.name.first()?, thread.start.first()?);
    by_tid.values().find(|events| {
        events.first().is_some_and(|&event| {
            profile.strings.get(profile.host.name[event.index()]) == callers.strings.get(name)
                && (profile.meta.base + profile.host.start[event.index()] - start).abs()
                    <= TOLERANCE
        })
    })
}

/// What the side-car says of an event.
struct RowOfEvent {
    event: HostEventId,
    name: StrId,
    /// Of the caller, or [`StrId::NONE`].
    file: StrId,
    line: u32,
}

/// Pairs events and rows, both in order of start: the next row with the event's name and start, looked for from the
/// first row that is not too early.
fn match_thread(
    profile: &Profile,
    callers: &Callers,
    thread: &ThreadCallers,
    events: &[HostEventId],
    found: &mut Vec<RowOfEvent>,
) {
    let n_rows =
        thread.name.len().min(thread.start.len()).min(thread.file.len()).min(thread.line.len());
    let mut is_used = vec![false; n_rows];
    let mut first = 0;
    for &event in events {
        let start = profile.meta.base + profile.host.start[event.index()];
        let name = profile.strings.get(profile.host.name[event.index()]);
        while first < n_rows && (is_used[first] || thread.start[first] < start - TOLERANCE) {
            first += 1;
        }
        let near = (first..n_rows).take_while(|&row| thread.start[row] <= start + TOLERANCE);
        let is_name = |it: &str| it == name || name == UNNAMED && is_left_unnamed(it);
        let row = near
            .into_iter()
            .find(|&row| !is_used[row] && is_name(callers.strings.get(thread.name[row])));
        if let Some(row) = row {
            is_used[row] = true;
            let (name, file, line) = (thread.name[row], thread.file[row], thread.line[row]);
            found.push(RowOfEvent { event, name, file, line });
        }
    }
}
