//! Where a thread went on because something else had happened: a device was done, another thread, a collective.

use ledger::{Direction, Ns};
use profile::{HostEventId, HostKind, Profile};
use recorded::{IdleGaps, KERNEL_GAP, Launches, is_blocking_call, waits_for_backward};
use run_summary::{CollectiveEvent, IntervalParts, RecordedCollective, StepSpan};

use crate::device_orders::DeviceOrders;
use crate::nodes::PathTarget;

/// A thread that recorded nothing for this long began again for another thread, where the recording does not say so.
const SILENCE: Ns = Ns(100_000);

/// From `at` on, the thread went on because `target` had happened then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Join {
    pub(crate) at: Ns,
    pub(crate) target: PathTarget,
}

/// By thread, in order of time.
pub(crate) struct Joins(Vec<Vec<Join>>);

impl Joins {
    /// Looks for what the threads waited for. `threads` are those that the steps `spans` are on.
    pub(crate) fn new(
        profile: &Profile,
        (launches, gaps): (&Launches, &IdleGaps),
        events: &DeviceOrders,
        collectives: &[RecordedCollective],
        spans: &[StepSpan],
        threads: &[Option<usize>],
    ) -> Self {
        let mut joins = Self(vec![Vec::new(); profile.threads.len()]);
        let calls = WaitingCalls::new(profile);
        for &call in &calls.for_devices {
            joins.wait_for_device(profile, events, call);
        }
        joins.wait_for_copies(profile, launches, gaps);
        joins.wait_for_threads(profile, &calls.for_threads, threads);
        joins.wait_for_collectives(collectives, spans, threads);
        for joins in &mut joins.0 {
            joins.sort_by_key(|it| it.at);
        }
        joins
    }

    /// The last one of `thread` before `time`.
    pub(crate) fn before(&self, thread: usize, time: Ns) -> Option<Join> {
        let joins = &self.0[thread];
        let before = joins.partition_point(|it| it.at < time);
        joins[..before].last().copied()
    }

    /// What `call` waited for is what ended last on a device while it waited.
    fn wait_for_device(&mut self, profile: &Profile, events: &DeviceOrders, call: HostEventId) {
        let host = &profile.host;
        let Some(awaited) = events.last_ended(profile, host.end(call)) else { return };
        let at = profile.device.end(awaited);
        if host.start[call.index()] < at {
            let target = PathTarget::Device(awaited);
            self.0[host.thread[call.index()].index()].push(Join { at, target });
        }
    }

    /// Copies from or to pageable memory are done when their call returns, by the clock of the device up to a while later.
    fn wait_for_copies(&mut self, profile: &Profile, launches: &Launches, gaps: &IdleGaps) {
        let (host, device) = (&profile.host, &profile.device);
        for event in device.ids() {
            if !gaps.is_pageable_copy(device.correlation[event.index()]) {
                continue;
            }
            let Some(call) = launches.call(event) else { continue };
            let at = device.end(event);
            if host.start[call.index()] < at && at <= host.end(call).saturating_add(KERNEL_GAP) {
                let target = PathTarget::Device(event);
                self.0[host.thread[call.index()].index()].push(Join { at, target });
            }
        }
    }

    /// The ranks that stood still for a collective of the host went on when it was done. The range of a send lasts until its request is waited for,
    /// however early the message was there: it counts only where nothing else was waited for meanwhile.
    fn wait_for_collectives(
        &mut self,
        collectives: &[RecordedCollective],
        spans: &[StepSpan],
        threads: &[Option<usize>],
    ) {
        let is_send =
            |it: &RecordedCollective| it.message.is_some_and(|it| it.direction == Direction::Send);
        let waits = |it: &RecordedCollective| {
            matches!(it.event, CollectiveEvent::Host(..)) && it.blocked.from < it.blocked.until
        };
        let until = |it: &RecordedCollective| it.start + it.blocked.until;
        let others = collectives.iter().filter(|it| waits(it) && !is_send(it));
        let mut others: Vec<Ns> = others.map(until).collect();
        others.sort_unstable();
        for (row, it) in collectives.iter().enumerate().filter(|(_, it)| waits(it)) {
            let at = until(it);
            let before = others.partition_point(|it| *it <= at).checked_sub(1);
            if is_send(it) && before.is_some_and(|last| it.start < others[last]) {
                continue;
            }
            let span = spans.partition_point(|span| span.start <= at).checked_sub(1);
            if let Some(thread) = span.and_then(|span| threads[span]) {
                self.0[thread].push(Join { at, target: PathTarget::HostCollective(row) });
            }
        }
    }

    /// Threads of the autograd engine work for the one that waits in one of `calls`, which goes on while they do nothing. Other threads begin
    /// for the thread of the step, which does not wait.
    fn wait_for_threads(
        &mut self,
        profile: &Profile,
        calls: &[HostEventId],
        step_threads: &[Option<usize>],
    ) {
        let host = &profile.host;
        let Some(main) = step_threads.iter().find_map(|it| *it) else { return };
        let mut leads = vec![false; profile.threads.len()];
        step_threads.iter().flatten().for_each(|it| leads[*it] = true);
        let mut events: Vec<IntervalParts> = Vec::new();
        events.resize_with(profile.threads.len(), IntervalParts::default);
        for id in host.ids() {
            let thread = host.thread[id.index()].index();
            let is_range = host.kind[id.index()] == HostKind::Annotation;
            if !is_range && !leads[thread] {
                events[thread].add(host.start[id.index()], host.end(id));
            }
        }
        for (thread, events) in events.into_iter().enumerate() {
            let mut silent_since: Option<Ns> = None;
            for (start, end) in events.into_intervals().iter() {
                let begun = calls.partition_point(|it| host.start[it.index()] <= start);
                let waiting = begun.checked_sub(1).map(|it| calls[it]);
                let waiting = waiting.filter(|it| start < host.end(*it));
                let is_after_silence =
                    silent_since.is_none_or(|it| it.saturating_add(SILENCE) < start);
                let caller = match waiting {
                    Some(call) => host.thread[call.index()].index(),
                    None => main,
                };
                if caller != thread && (waiting.is_some() || is_after_silence) {
                    self.0[thread]
                        .push(Join { at: start, target: PathTarget::Host(caller, start) });
                }
                if let Some(call) = waiting.filter(|_| caller != thread) {
                    let at = end.min(host.end(call));
                    self.0[caller].push(Join { at, target: PathTarget::Host(thread, at) });
                }
                silent_since = Some(end);
            }
        }
    }
}

/// The calls of the recording that wait.
struct WaitingCalls {
    for_devices: Vec<HostEventId>,
    /// For the threads of the autograd engine, in order of start.
    for_threads: Vec<HostEventId>,
}

impl WaitingCalls {
    fn new(profile: &Profile) -> Self {
        let host = &profile.host;
        // Names are few, events many.
        let is = |matches: fn(&str) -> bool| -> Vec<bool> {
            profile.strings.iter().map(|(_, text)| matches(text)).collect()
        };
        let is_blocking = is(is_blocking_call);
        let is_backward = is(waits_for_backward);
        let mut calls = Self { for_devices: Vec::new(), for_threads: Vec::new() };
        for id in host.ids() {
            let name = host.name[id.index()].index();
            match host.kind[id.index()] {
                HostKind::Runtime if is_blocking[name] => calls.for_devices.push(id),
                HostKind::Python if is_backward[name] => calls.for_threads.push(id),
                _ => {}
            }
        }
        calls.for_threads.sort_by_key(|it| host.start[it.index()]);
        calls
    }
}
