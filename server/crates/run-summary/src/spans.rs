//! The spans of time that the summary is about: steps with the device work that they launched.

use ledger::Ns;
use profile::{HostKind, Profile};
use recorded::{Launches, Steps};

/// A step, from its begin on the host to the end of what it launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepSpan {
    /// `None` for the only span of a recording without steps.
    pub number: Option<u32>,
    /// When it began, relative to the base of the recording.
    pub start: Ns,
    /// When it ended.
    pub end: Ns,
}

/// A last step with less than this share of the device events of the step before was not recorded whole.
const WHOLE: (u64, u64) = (4, 5);

/// The steps in order, without overlap. Steps at the end whose device events were not recorded are left out. Without
/// steps, one span from the first to the last operator, without a number; without operators, of all host events.
#[must_use]
pub fn spans(profile: &Profile, steps: &Steps, launches: &Launches) -> Vec<StepSpan> {
    let mut spans: Vec<StepSpan> = steps
        .0
        .iter()
        .map(|step| StepSpan { number: Some(step.number), start: step.start, end: step.end })
        .collect();
    if spans.is_empty() {
        let is_operator = |kind| kind == HostKind::Operator;
        spans.extend(extent(profile, is_operator).or_else(|| extent(profile, |_| true)));
    }
    extend(profile, launches, &mut spans);
    spans
}

/// From the first to the last event of the kinds wanted.
fn extent(profile: &Profile, is_wanted: impl Fn(HostKind) -> bool) -> Option<StepSpan> {
    let host = &profile.host;
    let events = || host.ids().filter(|id| is_wanted(host.kind[id.index()]));
    let start = events().map(|id| host.start[id.index()]).min()?;
    let end = events().map(|id| host.end(id)).max()?;
    Some(StepSpan { number: None, start, end })
}

/// Moves ends to those of the device events launched within, and drops what was not recorded whole.
fn extend(profile: &Profile, launches: &Launches, spans: &mut Vec<StepSpan>) {
    let (host, device) = (&profile.host, &profile.device);
    // First start, last end and number of the device events launched in each span.
    let mut launched = vec![(Ns::MAX, Ns::MIN, 0_u64); spans.len()];
    let mut outside = Vec::new();
    for event in device.ids() {
        let Some(call) = launches.call(event) else {
            outside.push(event);
            continue;
        };
        let (start, end) = (host.start[call.index()], host.end(call));
        let index = spans.partition_point(|span| span.start <= start);
        match index.checked_sub(1).filter(|&index| end <= spans[index].end) {
            None => outside.push(event),
            Some(index) => {
                let (first, last, count) = &mut launched[index];
                *first = device.start[event.index()].min(*first);
                *last = device.end(event).max(*last);
                *count += 1;
            }
        }
    }
    let Some(last_used) = launched.iter().rposition(|&(_, _, count)| count > 0) else { return };
    // Work of before the first step is none of its time.
    let (first_start, ..) = launched[0];
    let before = outside.into_iter().map(|event| device.end(event));
    let before = before.filter(|&end| first_start != Ns::MAX && end < first_start).max();
    let mut previous_end = before.map_or(spans[0].start, |end| end.max(spans[0].start));
    for (span, &(_, last, _)) in spans.iter_mut().zip(&launched) {
        span.start = span.start.max(previous_end);
        span.end = span.end.max(last).max(span.start);
        previous_end = span.end;
    }
    if spans.len() > 1 {
        let is_cut = last_used > 0 && {
            let (_, _, before) = launched[last_used - 1];
            launched[last_used].2 * WHOLE.1 < before * WHOLE.0
        };
        spans.truncate(if is_cut { last_used } else { last_used + 1 });
    }
}
