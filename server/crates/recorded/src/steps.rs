//! The ranges that are steps: those of a profiler's schedule, `ProfilerStep#N`; without any, those in which a server of language
//! models runs its model; or those that the user names.

use ledger::Ns;
use profile::{HostKind, Profile, StrId, ThreadId};

use crate::frames::{Frame, PROFILER_FILE, is_path_of};
use crate::launches::Launches;
use crate::step_ranges::{StepRangeKind, is_called, step_range_kind};

/// A last step in which the profiler was stopped is whole if it has this share of the operators of the step before.
const WHOLE: (u64, u64) = (4, 5);

/// One step of the recorded loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The number that the recording gives it; where it gives none, they count from 1.
    pub number: u32,
    /// The name of its range.
    pub name: StrId,
    /// Whether that is `ProfilerStep#` and the number.
    pub is_scheduled: bool,
    /// The thread that its range is on.
    pub thread: ThreadId,
    /// When it began.
    pub start: Ns,
    /// When it, or its part before the next step, ended.
    pub end: Ns,
}

/// The steps in order of start, without overlap.
#[derive(Debug, Default)]
pub struct Steps(pub Vec<Step>);

impl Steps {
    /// Collects the ranges of all threads.
    #[must_use]
    pub fn new(profile: &Profile) -> Self {
        let named = &profile.step_ranges;
        let found = if named.is_empty() {
            let steps = ranges(profile).filter_map(|it| {
                let kind = step_range_kind(profile.strings.get(it.of.0))?;
                Some((kind, it))
            });
            step_ranges(steps, || launches_with_ends(profile))
        } else {
            let is_step = |it: &NumberedRange<(StrId, ThreadId)>| {
                let name = profile.strings.get(it.of.0);
                named.iter().any(|pattern| is_called(name, pattern))
            };
            let steps = one_after_another(ranges(profile).filter(is_step).collect());
            FoundSteps { steps, is_scheduled: false }
        };
        let step = |it: NumberedRange<(StrId, ThreadId)>| Step {
            number: it.number,
            name: it.of.0,
            is_scheduled: found.is_scheduled,
            thread: it.of.1,
            start: it.start,
            end: it.end,
        };
        let mut steps: Vec<Step> = found.steps.into_iter().map(step).collect();
        if let [.., before, last] = &steps[..]
            && last.is_scheduled
            && is_cut(profile, before, last)
        {
            steps.pop();
        }
        Self(steps)
    }

    /// Calls `charge` with the number of each step that `start..end` touches and the shared time. `cursor` is the index of
    /// a step that does not begin after `start`; it moves on with times that grow.
    pub fn split(&self, start: Ns, end: Ns, cursor: &mut usize, mut charge: impl FnMut(u32, Ns)) {
        self.each(start, end, cursor, |step, time| charge(step.number, time));
    }

    fn each(&self, start: Ns, end: Ns, cursor: &mut usize, mut charge: impl FnMut(&Step, Ns)) {
        self.skip_to(start, cursor);
        for step in &self.0[(*cursor).min(self.0.len())..] {
            if step.start >= end {
                break;
            }
            let shared = step.end.min(end) - step.start.max(start);
            if shared > Ns::ZERO {
                charge(step, shared);
            }
        }
    }

    /// Moves `cursor` on to the first step that ends after `start`.
    #[inline]
    fn skip_to(&self, start: Ns, cursor: &mut usize) {
        while self.0.get(*cursor).is_some_and(|step| step.end <= start) {
            *cursor += 1;
        }
    }

    /// What of `start..end` lies in steps, and what of this in steps of `thread`; with `cursor` as in [`Self::split`].
    #[must_use]
    #[inline]
    pub fn within(&self, start: Ns, end: Ns, thread: usize, cursor: &mut usize) -> (Ns, Ns) {
        self.skip_to(start, cursor);
        let Some(step) = self.0.get(*cursor) else { return (Ns::ZERO, Ns::ZERO) };
        if step.start <= start && end <= step.end {
            // Most times are short and lie in one step.
            let time = end - start;
            return (time, if step.thread.index() == thread { time } else { Ns::ZERO });
        }
        let (mut sum, mut of_thread) = (Ns::ZERO, Ns::ZERO);
        self.each(start, end, cursor, |step, time| {
            sum += time;
            of_thread += if step.thread.index() == thread { time } else { Ns::ZERO };
        });
        (sum, of_thread)
    }

    /// The number of the step that holds `at`.
    #[must_use]
    pub fn at(&self, at: Ns) -> Option<u32> {
        let index = self.0.partition_point(|step| step.start <= at);
        let step = self.0[..index].last()?;
        (at < step.end).then_some(step.number)
    }
}

/// A range that may be a step, and what else is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberedRange<T> {
    /// As in [`Step::number`].
    pub number: u32,
    /// When it began.
    pub start: Ns,
    /// When it ended.
    pub end: Ns,
    /// What else is known of it.
    pub of: T,
}

/// What is found to be a step.
#[derive(Debug)]
pub struct FoundSteps<T> {
    /// In order of start, without overlap.
    pub steps: Vec<NumberedRange<T>>,
    /// As in [`Step::is_scheduled`].
    pub is_scheduled: bool,
}

/// The steps among the ranges of a recording that are called like some ([`step_range_kind`]),: those of
/// a profiler's schedule, which have its numbers; without any, the passes of a server. `launches` are the times of the calls that launched
/// something on a device, each with the end of that.
pub fn step_ranges<T, L: IntoIterator<Item = (Ns, Ns)>>(
    ranges: impl IntoIterator<Item = (StepRangeKind, NumberedRange<T>)>,
    launches: impl FnOnce() -> L,
) -> FoundSteps<T> {
    let (mut scheduled, mut passes) = (Vec::new(), Vec::new());
    for (kind, range) in ranges {
        match kind {
            StepRangeKind::Scheduled(number) => scheduled.push(NumberedRange { number, ..range }),
            StepRangeKind::OfServer(_) => passes.push(range),
        }
    }
    if scheduled.is_empty() {
        let mut passes = one_after_another(passes);
        if !passes.is_empty() {
            last_until_devices_are_done(&mut passes, launches());
        }
        return FoundSteps { steps: passes, is_scheduled: false };
    }
    scheduled.sort_by_key(|step| (step.start, step.end));
    for index in 1..scheduled.len() {
        scheduled[index - 1].end = scheduled[index - 1].end.min(scheduled[index].start);
    }
    FoundSteps { steps: scheduled, is_scheduled: true }
}

/// The ranges but for those that begin in another, numbered from 1.
fn one_after_another<T>(mut ranges: Vec<NumberedRange<T>>) -> Vec<NumberedRange<T>> {
    ranges.sort_by_key(|step| (step.start, std::cmp::Reverse(step.end)));
    let mut steps: Vec<NumberedRange<T>> = Vec::with_capacity(ranges.len());
    for step in ranges {
        if steps.last().is_none_or(|before| before.end <= step.start) {
            steps.push(step);
        }
    }
    for (step, number) in steps.iter_mut().zip(1..) {
        step.number = number;
    }
    steps
}

/// Lets each step last until devices have done what was launched in it, or until the next begins: a server launches a pass and
/// waits for its results after the range.
fn last_until_devices_are_done<T>(
    steps: &mut [NumberedRange<T>],
    launches: impl IntoIterator<Item = (Ns, Ns)>,
) {
    let mut ends: Vec<Ns> = steps.iter().map(|it| it.end).collect();
    for (launched, end) in launches {
        let index = steps.partition_point(|it| it.start <= launched);
        if let Some(at) = index.checked_sub(1).filter(|&at| launched < steps[at].end) {
            ends[at] = ends[at].max(end);
        }
    }
    for (at, end) in ends.into_iter().enumerate() {
        let next = steps.get(at + 1).map_or(Ns::MAX, |it| it.start);
        steps[at].end = end.min(next);
    }
}

/// When each device event was launched, and when it ended.
fn launches_with_ends(profile: &Profile) -> Vec<(Ns, Ns)> {
    let launches = Launches::new(profile);
    let device = &profile.device;
    let of = |event| Some((profile.host.start[launches.launch(event)?.index()], device.end(event)));
    device.ids().filter_map(of).collect()
}

/// Whether the profiler was stopped in the last step, and not at its end: the step has less than [`WHOLE`] of the operators of the one
/// before. Where no Python calls were recorded, nothing says what ended it, and only a step without operators is none.
fn is_cut(profile: &Profile, before: &Step, last: &Step) -> bool {
    let host = &profile.host;
    let (mut n_before, mut n_last) = (0, 0);
    let (mut has_python, mut is_stopped) = (false, false);
    for id in host.ids() {
        let start = host.start[id.index()];
        if start < before.start || last.end <= start {
            continue;
        }
        match host.kind[id.index()] {
            HostKind::Operator if start < before.end => n_before += 1,
            HostKind::Operator if last.start <= start => n_last += 1,
            HostKind::Python => {
                has_python = true;
                let is_open = last.start <= start && last.end <= host.end(id);
                is_stopped |= is_open
                    && host.thread[id.index()] == last.thread
                    && stops_profiler(profile.strings.get(host.name[id.index()]));
            }
            _ => {}
        }
    }
    let is_whole = if has_python { n_before * WHOLE.0 <= n_last * WHOLE.1 } else { n_last > 0 };
    (is_stopped || !has_python) && !is_whole && n_before > 0
}

/// Whether a Python call is that of `torch.profiler.profile.stop`. A step that ends by itself ends in `step` of the same file.
fn stops_profiler(name: &str) -> bool {
    Frame::parse(name)
        .is_some_and(|frame| frame.function == "stop" && is_path_of(frame.file, PROFILER_FILE))
}

/// All annotations as ranges without a number, in no order.
fn ranges(profile: &Profile) -> impl Iterator<Item = NumberedRange<(StrId, ThreadId)>> {
    let host = &profile.host;
    host.ids().filter(|id| host.kind[id.index()] == HostKind::Annotation).map(|id| NumberedRange {
        number: 0,
        start: host.start[id.index()],
        end: host.end(id),
        of: (host.name[id.index()], host.thread[id.index()]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(ranges: &[(u32, Ns, Ns)]) -> Steps {
        let step = |&(number, start, end)| Step {
            number,
            name: StrId::NONE,
            is_scheduled: true,
            thread: ThreadId(0),
            start,
            end,
        };
        Steps(ranges.iter().map(step).collect())
    }

    #[test]
    fn time_is_split_between_the_steps_it_touches() {
        let steps = steps(&[(3, Ns(0), Ns(10)), (4, Ns(10), Ns(20)), (5, Ns(25), Ns(30))]);
        let mut cursor = 0;
        let mut shares = Vec::new();
        for (start, end) in [(2, 4), (4, 12), (15, 27), (29, 40), (50, 60)] {
            steps.split(Ns(start), Ns(end), &mut cursor, |step, time| shares.push((step, time)));
        }
        assert_eq!(
            shares,
            [(3, Ns(2)), (3, Ns(6)), (4, Ns(2)), (4, Ns(5)), (5, Ns(2)), (5, Ns(1))]
        );
    }

    #[test]
    fn a_time_belongs_to_the_step_that_holds_it() {
        let steps = steps(&[(3, Ns(0), Ns(10)), (4, Ns(10), Ns(20)), (5, Ns(25), Ns(30))]);
        let found = [-1, 0, 9, 10, 20, 24, 25, 30].map(|at| steps.at(Ns(at)));
        assert_eq!(found, [None, Some(3), Some(3), Some(4), None, None, Some(5), None]);
    }
}
