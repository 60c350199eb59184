//! What a recording is, in a few lines.

use std::collections::BTreeMap;
use std::path::Path;

use insights::{LaunchBoundRun, launch_bound_run};
use ledger::{Balance, Bytes, Ledger, LoaderWorkers, Metric, Ns, Overview, Reason};
use loader::{Input, Run};
use metrics::numbers::{self, count, percent};
use metrics::{Period, Scale, evidence_shares};
use profile::{Warning, WarningKind, WarningSeverity};

use crate::model::{Note, Summary, duration};

/// What opens the annotated source and the report.
pub(crate) fn summary(run: &Run, scale: &Scale<'_>) -> Summary {
    with_balances(run, scale, &run.merged.balances())
}

/// The same with the balances of [`Run::merged`], which take a look at all lines, at hand.
pub(crate) fn with_balances(run: &Run, scale: &Scale<'_>, balances: &[Balance]) -> Summary {
    let ledger = &run.merged;
    let [recording, extent] = recording(run, scale);
    let mut notes: Vec<Note> = command(ledger).map(Note::plain).into_iter().collect();
    notes.extend(devices(ledger, scale).map(Note::plain));
    notes.push(Note::plain(attributed(run, balances)));
    notes.extend(without_frames(ledger).map(Note::plain));
    notes.extend(idle_threads(ledger).map(Note::plain));
    notes.extend(in_flight(ledger).map(Note::plain));
    notes.extend(missing_events(ledger).map(Note::plain));
    notes.extend(recording_cost(ledger, scale).map(Note::plain));
    let overviews =
        run.ranks.iter().filter_map(|it| Some((ledger.overviews.get(&it.rank)?, &it.steps)));
    notes.extend(slowdown(overviews).map(Note::plain));
    notes.extend(loader_workers(ledger.overviews.values()).map(Note::plain));
    notes.extend(launch_bound(ledger).map(Note::plain));
    let incomplete_inputs = run.inputs.iter().filter(|it| !it.complete);
    notes.extend(incomplete_inputs.map(|it| Note::alarm(incomplete(it))));
    let other_run = run.of_other_run();
    notes.extend(other_run.map(|(it, why)| Note::alarm(format!("{}: {}", name(it), warning(why)))));
    if other_run.is_none() && !run.adds_up(balances) {
        notes.push(Note::alarm(
            "internal error: totals do not add up; `perfline report` says which, please report it",
        ));
    }
    Summary { recording, extent, notes }
}

/// A warning in one line.
pub(crate) fn warning(warning: &Warning) -> String {
    let place = match (warning.count, warning.offset) {
        (0 | 1, None) => String::new(),
        (0 | 1, Some(offset)) => format!(" (at byte {offset})"),
        (times, None) => format!(" ({times} times)"),
        (times, Some(offset)) => format!(" ({times} times, first at byte {offset})"),
    };
    format!("{}{place}", warning.message)
}

/// Whether something that was recorded is missing.
pub(crate) fn is_loss(warning: &Warning) -> bool {
    warning.kind.severity() == WarningSeverity::DataLoss
}

/// The first loss; where the text ends too early, what ended it, which was noted behind what the reader of the text saw.
pub(crate) fn first_cause(warnings: &[Warning]) -> Option<&Warning> {
    let first = warnings.iter().find(|it| is_loss(it))?;
    let is_end =
        |it: &&Warning| matches!(it.kind, WarningKind::Truncated | WarningKind::BrokenCompression);
    match first.kind {
        WarningKind::Truncated => warnings.iter().rfind(is_end),
        _ => Some(first),
    }
}

fn incomplete(input: &Input) -> String {
    let name = name(input);
    match first_cause(&input.warnings).or(input.warnings.first()) {
        Some(loss) => format!("{name} is incomplete: {}", warning(loss)),
        None => format!("{name} is incomplete"),
    }
}

/// The name, and what follows it.
fn recording(run: &Run, scale: &Scale<'_>) -> [String; 2] {
    let mut inputs = run.inputs.iter().filter(|it| !it.kind.is_side_car());
    let first = inputs.next().map(name).unwrap_or_default();
    let mut parts = Vec::new();
    match inputs.count() {
        0 => {}
        more => parts.push(format!("and {more} more")),
    }
    if 1 < run.ranks.len() {
        parts.push(format!("{} ranks", run.ranks.len()));
    }
    parts.push(steps(run, scale));
    [first, parts.iter().map(|it| format!(" · {it}")).collect()]
}

fn name(input: &Input) -> String {
    loader::shown(input.path.file_name().map_or(&input.path, Path::new)).into_owned()
}

/// How long the steps are, or where there are none, how much was traced.
fn steps(run: &Run, scale: &Scale<'_>) -> String {
    let steps = &run.merged.steps;
    let (Some(shortest), Some(longest)) = (steps.values().min(), steps.values().max()) else {
        if run.merged.totals.cpu == Ns::ZERO {
            return "memory only".to_owned();
        }
        return format!("no steps · {} of thread time", duration(run.merged.totals.cpu));
    };
    let mean = numbers::duration(scale.with_period(Period::Mean).time());
    let kinds = step_kinds(&run.merged);
    match (steps.len(), &kinds[..]) {
        (1, [kind]) => format!("1 {} step of {mean}", kind.name),
        (1, _) => format!("1 step of {mean}"),
        (number, kinds) => {
            let range = format!("{} to {}", duration(*shortest), duration(*longest));
            let of_kind = |it: &StepsOfKind<'_>| {
                format!("{} {} of {}", it.number, it.name, duration(it.time / it.number))
            };
            match kinds {
                [] | [_] => format!("{number} steps of {mean} ({range})"),
                _ => {
                    let kinds: Vec<String> = kinds.iter().map(of_kind).collect();
                    format!("{number} steps of {mean} ({range}): {}", kinds.join(", "))
                }
            }
        }
    }
}

/// The steps that do the same.
struct StepsOfKind<'a> {
    name: &'a str,
    number: i64,
    /// How long they took together.
    time: Ns,
}

/// The kinds of steps that a recording has, those that took most of the time first; none where it does not say what steps do.
fn step_kinds(ledger: &Ledger) -> Vec<StepsOfKind<'_>> {
    let mut kinds: BTreeMap<&str, StepsOfKind<'_>> = BTreeMap::new();
    for (step, work) in &ledger.step_work {
        let name = &*work.kind;
        let kind = kinds.entry(name).or_insert(StepsOfKind { name, number: 0, time: Ns::ZERO });
        kind.number += 1;
        kind.time += ledger.steps.get(step).copied().unwrap_or_default();
    }
    let mut kinds: Vec<_> = kinds.into_values().collect();
    kinds.sort_by_key(|it| std::cmp::Reverse(it.time));
    kinds
}

fn devices(ledger: &Ledger, scale: &Scale<'_>) -> Option<String> {
    let per_step = if scale.period() == Period::Mean { " per step" } else { "" };
    let busy: Ns = ledger.devices.values().map(|it| it.busy).sum();
    let idle: Ns = ledger.devices.values().map(|it| it.idle).sum();
    if busy + idle == Ns::ZERO {
        let allocated = numbers::bytes(scale.total(Metric::Alloc));
        let no_device = if ledger.totals.cpu == Ns::ZERO { "" } else { ", no device time" };
        return (ledger.totals.alloc != Bytes::ZERO)
            .then(|| format!("{allocated} allocated{per_step}{no_device}"));
    }
    let first =
        ledger.devices.values().next().map(|it| it.name.as_str()).filter(|it| !it.is_empty());
    let name = match (ledger.devices.len(), first) {
        (1, Some(name)) => name.to_owned(),
        (1, None) => "device".to_owned(),
        (number, Some(name)) => format!("{} × {name}", count(number as f64)),
        (number, None) => format!("{} devices", count(number as f64)),
    };
    let mut line = format!(
        "{name}: {} busy · {} CUDA · {} idle",
        percent(busy.as_f64() / (busy + idle).as_f64()),
        numbers::duration(scale.total(Metric::Cuda)),
        numbers::duration(scale.total(Metric::GpuIdle)),
    );
    if ledger.totals.sync != Ns::ZERO {
        let waits = numbers::duration(scale.total(Metric::Sync));
        line += &format!(" · CPU waits {waits}");
    }
    Some(line + per_step)
}

/// The threads that are in no other number, and what they did.
fn idle_threads(ledger: &Ledger) -> Option<String> {
    match ledger.idle_threads() {
        0 => None,
        1 => Some("1 idle thread, left out: it only waited".to_owned()),
        number => {
            Some(format!("{} idle threads, left out: they only waited", count(number as f64)))
        }
    }
}

/// Share of thread time from which it is said why it has no line.
const MIN_WITHOUT_FRAMES: f64 = 0.1;

/// Why much thread time has no line, where it passed outside of Python.
fn without_frames(ledger: &Ledger) -> Option<String> {
    let outside = ledger.unattributed.of(Reason::NoPythonFrame)?.cpu;
    let share = outside.as_f64() / ledger.totals.cpu.as_f64();
    (MIN_WITHOUT_FRAMES <= share).then(|| {
        format!(
            "{} of thread time is on no line: no Python frame was open on its thread, nor on one that waited for it",
            percent(share)
        )
    })
}

/// Device time of what was launched before recording began, where it is a hundredth or more.
fn in_flight(ledger: &Ledger) -> Option<String> {
    let in_flight = ledger.unattributed.of(Reason::InFlight)?.cuda;
    let share = in_flight.as_f64() / ledger.totals.cuda.as_f64();
    (share >= 0.01).then(|| {
        format!(
            "{} of the CUDA time was launched before recording began and is on no line: call torch.cuda.synchronize() \
             before recording, or record a step later",
            percent(share)
        )
    })
}

/// How many kernels were launched and are not in the recording.
fn missing_events(ledger: &Ledger) -> Option<String> {
    let missing: u64 = ledger.overviews.values().map(|it| it.launches_without_event).sum();
    let launches = match missing {
        0 => return None,
        1 => "1 kernel launch has".to_owned(),
        more => format!("{} kernel launches have", count(more as f64)),
    };
    Some(format!(
        "{launches} no device event in the recording, so that its device time is missing here: the profiler lost events, \
         record again with fewer steps"
    ))
}

/// That the run as a whole is launch-bound, in numbers.
pub(crate) fn launch_bound(ledger: &Ledger) -> Option<String> {
    let LaunchBoundRun { kernels, host, launches, shorter_than_call } = launch_bound_run(ledger)?;
    Some(format!(
        "launch-bound: kernels run {} of the time, and the CPU takes {} for each of {} launches ({} of what was launched is over sooner \
         than the call); fewer and larger kernels help: torch.compile, CUDA graphs, larger batches",
        percent(kernels),
        numbers::duration(host),
        count(launches as f64),
        percent(shorter_than_call as f64 / launches as f64),
    ))
}

/// What the profiler itself did, where it is a hundredth of the step (of the recording, where it has no steps) or more.
fn recording_cost(ledger: &Ledger, scale: &Scale<'_>) -> Option<String> {
    let scale = scale.with_period(Period::Mean);
    let time: Ns = ledger.lines.values().map(|it| it.recording.in_steps).sum();
    let time = scale.mean(time.as_f64());
    let share = time / scale.time();
    let per_step = if scale.n_steps() == 0 { "" } else { " per step" };
    (share.is_finite() && share >= 0.01).then(|| {
        format!(
            "the profiler itself (prof.step(), start and end of recording) takes {}{per_step} ({}); a run without it does not, and \
             it is in no finding",
            numbers::duration(time),
            percent(share)
        )
    })
}

/// What was run, where the recording says so and all ranks ran the same.
fn command(ledger: &Ledger) -> Option<String> {
    let mut commands = ledger.overviews.values().filter_map(|it| it.command.as_ref());
    let first = commands.next()?;
    commands.all(|it| it == first).then(|| format!("run as {first}"))
}

/// How much the workers of data loaders worked, where it was measured.
fn loader_workers<'a>(ranks: impl Iterator<Item = &'a Overview>) -> Option<String> {
    let mut workers = LoaderWorkers::default();
    ranks.for_each(|it| workers.merge(&it.loader_workers));
    let share = percent(workers.share()?);
    Some(match workers.count {
        1 => format!("the worker of the data loader was on a processor {share} of the time"),
        count => format!("{count} workers of data loaders were on a processor {share} of the time"),
    })
}

/// Recording alone hardly makes a step this many times as long.
const FAR: f64 = 3.0;

/// How much longer a step took while it was recorded, where steps were measured without the profiler too. `ranks` have their
/// recorded steps.
fn slowdown<'a>(
    ranks: impl Iterator<Item = (&'a Overview, &'a BTreeMap<u32, Ns>)>,
) -> Option<String> {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for (overview, steps) in ranks.filter(|(overview, _)| !overview.plain_steps.is_empty()) {
        without.extend(&overview.plain_steps);
        with.extend(steps.values());
    }
    let without = typical(without)?;
    let Some(with) = typical(with.clone()) else { return untypical(without, with) };
    let (ratio, without, with) =
        (with.as_f64() / without.as_f64(), duration(without), duration(with));
    Some(match ratio {
        ..0.95 => format!(
            "what recording cost is not known: steps before it took {without}, recorded ones {with}"
        ),
        0.95..1.05 => format!("recording made steps no longer: {without} without, {with} with"),
        _ => format!("recording made a step {ratio:.2} × as long: {without} without, {with} with"),
    })
}

/// That recorded steps, which are few or not alike, are no steps like those before, where the least of them is far from these.
fn untypical(without: Ns, with: Vec<Ns>) -> Option<String> {
    let least = with.iter().copied().min()?;
    let ratio = least.as_f64() / without.as_f64();
    (FAR <= ratio).then(|| {
        let (recorded, without) = (duration(least), duration(without));
        let (steps, they) = match with.len() {
            1 => ("the recorded step took", "it"),
            _ => ("each recorded step took at least", "they"),
        };
        format!(
            "{steps} {recorded}, {ratio:.1} × as long as those before ({without}): {they} did more, or the machine was busy"
        )
    })
}

/// The median of steps that are alike: at least three, of which two thirds differ from it by a quarter at most.
fn typical(mut steps: Vec<Ns>) -> Option<Ns> {
    steps.sort_unstable();
    let median = *steps.get(steps.len() / 2)?;
    let is_near = |it: &&Ns| (**it - median).abs().as_f64() <= 0.25 * median.as_f64();
    let near = steps.iter().filter(is_near).count();
    (3 <= steps.len() && 2 * steps.len() <= 3 * near).then_some(median)
}

/// How much of the recording has a line, and how that is known.
fn attributed(run: &Run, balances: &[Balance]) -> String {
    let ledger = &run.merged;
    let share = |metric: Metric, name: &str| {
        let it = balances.iter().find(|it| it.metric == metric && it.total != 0)?;
        Some(format!("{} of {name}", percent(it.lines as f64 / it.total as f64)))
    };
    let mut shares: Vec<_> = [share(Metric::Cpu, "thread time"), share(Metric::Cuda, "CUDA time")]
        .into_iter()
        .flatten()
        .collect();
    if shares.is_empty() {
        // A memory snapshot alone.
        shares.extend(share(Metric::Alloc, "allocated bytes"));
    }
    if shares.is_empty() {
        return "nothing was measured".to_owned();
    }
    let mut known = evidence_shares(ledger.lines.values().map(|it| &**it), ledger);
    if ledger.unattributed.of(Reason::NoStacks).is_some() {
        // The profiler writes Python events behind all others, so a file that was cut may have lost them.
        known = match run.inputs.iter().all(|it| it.complete) {
            true => "recorded without Python stacks (with_stack=True gives them)".to_owned(),
            false => "no Python stacks in what could be read of the damaged input".to_owned(),
        };
    }
    let evidence = if known.is_empty() { known } else { format!(" · {known}") };
    format!("on lines: {}{evidence}", shares.join(", "))
}

#[cfg(test)]
mod tests {
    use profile::WarningKind;

    use super::*;

    /// A recording of 1 µs, on a thread and on a device, of which so many nanoseconds have no line.
    fn without_line(reason: Reason, metric: Metric, time: i64) -> Ledger {
        let mut ledger = Ledger::default();
        (ledger.totals.cpu, ledger.totals.cuda) = (Ns(1000), Ns(1000));
        ledger.unattributed.charge(reason, metric, time);
        ledger
    }

    #[test]
    fn work_launched_before_recording_began_is_named() {
        let with = |time| in_flight(&without_line(Reason::InFlight, Metric::Cuda, time));
        let said = with(302).unwrap_or_default();
        assert!(said.starts_with("30.2 % of the CUDA time was launched before"), "{said}");
        assert_eq!(with(9), None);
        assert_eq!(with(0), None);
    }

    #[test]
    fn that_time_passed_outside_of_python_is_said_of_a_tenth() {
        let with = |time| without_frames(&without_line(Reason::NoPythonFrame, Metric::Cpu, time));
        let said = with(315).unwrap_or_default();
        assert!(said.starts_with("31.5 % of thread time is on no line: no Python"), "{said}");
        assert_eq!(with(99), None);
        assert_eq!(with(0), None);
    }

    #[test]
    fn what_was_run_is_said_where_it_is_the_same() {
        let said = |commands: &[Option<&str>]| {
            let mut ledger = Ledger::default();
            for (rank, it) in (0..).zip(commands) {
                let command = it.map(str::to_owned);
                ledger.overviews.insert(rank, Overview { command, ..Default::default() });
            }
            command(&ledger).unwrap_or_default()
        };
        assert_eq!(
            said(&[Some("train.py -b 4"), None, Some("train.py -b 4")]),
            "run as train.py -b 4"
        );
        assert_eq!(said(&[Some("train.py"), Some("evaluate.py")]), "");
        assert_eq!(said(&[None]), "");
    }

    #[test]
    fn how_much_workers_work_is_said_where_it_was_measured() {
        let said = |ranks: &[(u64, i64, i64)]| {
            let overviews: Vec<Overview> = ranks
                .iter()
                .map(|&(count, worked, time)| Overview {
                    loader_workers: LoaderWorkers { count, worked: Ns(worked), time: Ns(time) },
                    ..Default::default()
                })
                .collect();
            loader_workers(overviews.iter()).unwrap_or_default()
        };
        assert_eq!(
            said(&[(2, 90, 100), (2, 10, 100)]),
            "4 workers of data loaders were on a processor 50 % of the time"
        );
        assert_eq!(
            said(&[(0, 0, 0), (1, 97, 100)]),
            "the worker of the data loader was on a processor 97 % of the time"
        );
        assert_eq!(said(&[(0, 0, 0)]), "");
    }

    #[test]
    fn what_recording_costs_is_said_where_steps_are_alike() {
        let said = |plain: &[i64], recorded: &[i64]| {
            let overview = Overview {
                plain_steps: plain.iter().map(|&it| Ns(it * 1_000_000)).collect(),
                ..Default::default()
            };
            let steps = recorded.iter().map(|&it| Ns(it * 1_000_000));
            let steps = (0..).zip(steps).collect();
            slowdown([(&overview, &steps)].into_iter()).unwrap_or_default()
        };
        assert_eq!(
            said(&[90, 10, 10], &[14, 15, 30]),
            "recording made a step 1.50 × as long: 10 ms without, 15 ms with"
        );
        assert_eq!(
            said(&[100, 100, 101, 99], &[100, 102, 103]),
            "recording made steps no longer: 100 ms without, 102 ms with"
        );
        assert_eq!(
            said(&[20, 20, 20], &[10, 10, 10]),
            "what recording cost is not known: steps before it took 20 ms, recorded ones 10 ms"
        );
        assert_eq!(said(&[], &[14, 15, 16]), "");
        assert_eq!(said(&[10, 10], &[14, 15, 16]), "", "too few");
        assert_eq!(said(&[10, 20, 40], &[14, 15, 16]), "", "not alike");
        assert_eq!(said(&[10, 10, 10], &[5, 15, 45]), "", "not alike");
        assert_eq!(
            said(&[10, 10, 11], &[550]),
            "the recorded step took 550 ms, 55.0 × as long as those before (10 ms): it did more, or the machine was busy"
        );
        assert_eq!(
            said(&[10, 10, 11], &[31, 90, 200]),
            "each recorded step took at least 31 ms, 3.1 × as long as those before (10 ms): they did more, or the machine was busy"
        );
        assert_eq!(said(&[10, 10, 11], &[29]), "");
    }

    #[test]
    fn lost_events_are_counted() {
        let with = |launches_without_event| {
            let mut ledger = Ledger::default();
            let overview = ledger::Overview { launches_without_event, ..Default::default() };
            ledger.overviews.insert(0, overview);
            missing_events(&ledger).unwrap_or_default()
        };
        assert!(with(3).starts_with("3 kernel launches have no device event"));
        assert!(with(1).starts_with("1 kernel launch has no device event"));
        assert_eq!(with(0), "");
    }

    #[test]
    fn what_the_profiler_does_itself_is_named() {
        let with = |time| {
            let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
            ledger.steps.extend([(1, Ns(1_000_000)), (2, Ns(1_000_000))]);
            let recording = ledger::RecordingCost { in_steps: Ns(time), ..Default::default() };
            let line = ledger::LineKey { file: "train.py".to_owned(), line: 9 };
            let books = ledger::LineBooks { recording, ..Default::default() };
            ledger.lines.insert(line, Box::new(books));
            recording_cost(&ledger, &Scale::new(&ledger, Period::Mean))
        };
        let text = with(100_000).unwrap_or_default();
        assert!(text.contains("recording) takes 50 µs per step (5 %)"), "{text}");
        assert_eq!(with(19_000), None);
    }

    #[test]
    fn a_warning_names_a_byte_only_where_it_is_about_one() {
        let text = |offset, count| {
            let message = "unusual".to_owned();
            warning(&Warning { kind: WarningKind::Other, message, offset, count })
        };
        assert_eq!(text(Some(0), 1), "unusual (at byte 0)");
        assert_eq!(text(None, 1), "unusual");
        assert_eq!(text(Some(7), 2), "unusual (2 times, first at byte 7)");
        assert_eq!(text(None, 2), "unusual (2 times)");
    }
}
