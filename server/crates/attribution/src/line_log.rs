//! Joins the lines that the recorder logged with the trace: the exact line of each operator and call directly in a
//! function of the user (`fixtures/FORMAT.md`).
//!
//! Both go by the same clock, which the trace reads in another way, so that they may be some microseconds apart. How far
//! is found from calls that are in both: a function's first line begins after its call and before what it calls. Where
//! no such difference exists, or lines contradict callers that are known, nothing of the thread is used.
//!
//! Functions whose names a trace does not spell get those that the log has.

use std::ops::RangeInclusive;

use profile::{
    Callers, HostEventId, HostKind, LineLog, Ns, Profile, StrId, ThreadLines, WarningKind, Warnings,
};
use recorded::{
    Frame, MICROSECOND, UNNAMED, function_of, has_whole_microseconds, in_order, is_compiled_range,
    is_left_unnamed, is_path_of, parse_caller,
};
use rustc_hash::FxHashMap;

/// Times of the trace are cut to microseconds up to torch 2.2, so that a function may end up to this much later.
const TOLERANCE: Ns = Ns(2_000);

/// Entries of the log are this close to the calls that they are, but for a difference of the clocks that all share.
const APART: Ns = Ns(20_000);

/// So many calls decide whether one of them is missing in the log or in the trace.
const N_AHEAD: usize = 8;

/// The line of a module where it begins, from Python 3.11 on.
const NO_LINE: u32 = 0;

/// Share of calls and of lines, in percent, on which trace and log may differ.
const MAX_DIFFERENT_PERCENT: usize = 2;

/// Clocks may drift: one more difference for so many calls.
const CALLS_PER_DIFFERENCE: usize = 16;

/// Fills the lines of operators, and of calls without an exact caller, that the log of `callers` knows. What does not fit
/// the trace is not used, and a warning says so.
pub fn join_lines(profile: &mut Profile, callers: &Callers) -> Warnings {
    let mut warnings = Warnings::default();
    let Some(log) = &callers.lines else { return warnings };
    let mut by_tid: FxHashMap<&str, Vec<HostEventId>> = FxHashMap::default();
    let host = &profile.host;
    for id in in_order(profile) {
        if matches!(host.kind[id.index()], HostKind::Python | HostKind::Operator) {
            let tid = profile.threads[host.thread[id.index()].index()].tid;
            by_tid.entry(profile.strings.get(tid)).or_default().push(id);
        }
    }
    let mut codes = Codes::new(callers, log);
    let mut found = Vec::new();
    let (mut n_threads, mut n_refused) = (0, 0);
    let cut = if has_whole_microseconds(profile) { MICROSECOND } else { Ns::ZERO };
    for thread in &log.threads {
        let Some(events) = by_tid.get(thread.tid.as_str()) else { continue };
        let mut calls = calls(profile, &mut codes, events);
        if calls.is_empty() {
            continue;
        }
        n_threads += 1;
        if join_thread(profile, &codes, log.until, cut, thread, &mut calls).is_some() {
            found.extend(calls);
        } else {
            n_refused += 1;
        }
    }
    if n_refused > 0 {
        let message = format!(
            "the lines of {n_refused} of {n_threads} threads do not fit the trace and were not used for operators: they are of another recording, or another tool traced the program too"
        );
        warnings.add(WarningKind::SideCarMismatch, None, message);
    }
    store(profile, &codes, &found);
    warnings
}

/// The functions that were logged.
struct Codes<'a> {
    callers: &'a Callers,
    log: &'a LineLog,
    /// By code: the first that has the same file, name and lines, because a trace does not distinguish them.
    same: Vec<u32>,
    /// By name of a function.
    by_function: FxHashMap<&'a str, Vec<u32>>,
    /// By name of an event.
    by_event: FxHashMap<StrId, Option<u32>>,
    /// By code, whether a trace does not spell its name.
    is_unnamed: Vec<bool>,
}

impl<'a> Codes<'a> {
    fn new(callers: &'a Callers, log: &'a LineLog) -> Self {
        let mut by_function: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
        let mut same = Vec::with_capacity(log.codes.len());
        for (code, number) in log.codes.iter().zip(0..) {
            let named = by_function.entry(function_of(callers.strings.get(code.function)));
            let named = named.or_default();
            let first = named.iter().copied().find(|&it| log.codes[it as usize] == *code);
            same.push(first.unwrap_or(number));
            if first.is_none() {
                named.push(number);
            }
        }
        let names = log.codes.iter().map(|code| [code.file, code.function]);
        let is_unnamed =
            names.map(|it| it.iter().any(|it| is_left_unnamed(callers.strings.get(*it))));
        let is_unnamed = is_unnamed.collect();
        Self { callers, log, same, by_function, by_event: FxHashMap::default(), is_unnamed }
    }

    /// The code of a row of a thread's log.
    fn of_row(&self, thread: &ThreadLines, row: usize) -> u32 {
        self.same[thread.code[row] as usize]
    }

    /// Whether an event of this name may be the call of a function whose name the trace does not spell.
    fn is_of_unnamed(&self, profile: &Profile, event: StrId) -> bool {
        profile.strings.get(event) == UNNAMED && self.is_unnamed.contains(&true)
    }

    /// The path of a function's file.
    fn file(&self, code: u32) -> &'a str {
        self.callers.strings.get(self.log.codes[code as usize].file)
    }

    /// What the call of a function is named in a trace that spells it.
    fn event_name(&self, code: u32) -> String {
        let it = &self.log.codes[code as usize];
        let function = self.callers.strings.get(it.function);
        format!("{}({}): {function}", self.file(code), it.first_line)
    }

    /// The function of the Python event called `name`, if it was logged. One that was running when recording began, or
    /// is resumed, is called by the line where it is.
    fn of_event(&mut self, profile: &Profile, name: StrId) -> Option<u32> {
        if let Some(&known) = self.by_event.get(&name) {
            return known;
        }
        let of_frame = |frame: Frame<'_>| {
            let named = self.by_function.get(frame.function)?;
            let code = |it: u32| &self.log.codes[it as usize];
            let here = named.iter().copied().filter(|&it| {
                let path = self.file(it);
                let lines = code(it).first_line..=code(it).last_line.max(code(it).first_line);
                (lines.contains(&frame.line) || frame.line == NO_LINE)
                    && (is_path_of(path, frame.file) || is_path_of(frame.file, path))
            });
            here.max_by_key(|&it| code(it).first_line)
        };
        let found = Frame::parse(profile.strings.get(name)).and_then(of_frame);
        self.by_event.insert(name, found);
        found
    }
}

/// A call of a logged function, as the trace shows it. Times count from the Unix epoch.
struct LoggedCall {
    event: HostEventId,
    /// `None` until it is known of which function, because the trace does not spell its name.
    code: Option<u32>,
    start: Ns,
    end: Ns,
    /// Calls and operators that are made by its lines.
    children: Vec<HostEventId>,
    /// The lines that began in it, in order, with their times by the trace's clock; line 0 where it is not known.
    lines: Vec<(Ns, u32)>,
    /// Whether the log has this call too, so that no line of it is missing.
    is_logged: bool,
}

impl LoggedCall {
    /// The line that a call of this name is on when it begins: that of its definition says nothing.
    fn first_line(&self, profile: &Profile, codes: &Codes<'_>) -> u32 {
        let name = profile.strings.get(profile.host.name[self.event.index()]);
        let code = self.code.map(|it| &codes.log.codes[it as usize]);
        let Some((frame, code)) = Frame::parse(name).zip(code) else { return 0 };
        let line = frame.line;
        if line != code.first_line || code.first_line == code.last_line { line } else { 0 }
    }

    /// The file that the function is in, as the trace spells it, if it does.
    fn file<'a>(&self, profile: &'a Profile, codes: &Codes<'a>) -> Option<&'a str> {
        let name = profile.strings.get(profile.host.name[self.event.index()]);
        let spelled = Frame::parse(name).map(|frame| frame.file);
        spelled.or_else(|| Some(codes.file(self.code?)))
    }
}

/// A time of the trace since the Unix epoch, within what sums of a few cannot overflow, whatever a file claims.
fn since_epoch(profile: &Profile, at: Ns) -> Ns {
    profile.meta.base.saturating_add(at).clamp(Ns::ZERO, Ns(1 << 61))
}

/// The calls of logged functions on one thread, whose events are in order.
fn calls(profile: &Profile, codes: &mut Codes<'_>, events: &[HostEventId]) -> Vec<LoggedCall> {
    let host = &profile.host;
    let mut calls: Vec<LoggedCall> = Vec::new();
    let mut open: Vec<(HostEventId, Option<usize>)> = Vec::new();
    for &id in events {
        let start = host.start[id.index()];
        while open.last().is_some_and(|(it, _)| host.end(*it) <= start) {
            open.pop();
        }
        let is_python = host.kind[id.index()] == HostKind::Python;
        let mut around = open.iter().rev().filter(|(it, _)| host.end(*it) > start);
        let parent = around.find(|(it, _)| !is_python || host.kind[it.index()] == HostKind::Python);
        let name = profile.strings.get(host.name[id.index()]);
        if let Some(call) = parent.and_then(|(_, call)| *call)
            && !is_compiled_range(name)
        {
            calls[call].children.push(id);
        }
        let code = if is_python { codes.of_event(profile, host.name[id.index()]) } else { None };
        let is_unnamed = is_python && codes.is_of_unnamed(profile, host.name[id.index()]);
        let call = (code.is_some() || is_unnamed).then(|| {
            calls.push(LoggedCall {
                event: id,
                code,
                start: since_epoch(profile, start),
                end: since_epoch(profile, host.end(id)),
                children: Vec::new(),
                lines: Vec::new(),
                is_logged: false,
            });
            calls.len() - 1
        });
        open.push((id, call));
    }
    calls
}

/// Gives each call its lines; `None` where the log does not fit the trace, whose times may be `cut` by up to that much.
fn join_thread(
    profile: &Profile,
    codes: &Codes<'_>,
    until: Ns,
    cut: Ns,
    thread: &ThreadLines,
    calls: &mut Vec<LoggedCall>,
) -> Option<()> {
    let differences = differences(profile, codes, cut, thread, calls)?;
    assign(codes, until, thread, &differences, calls)?;
    // Held against the callers that are known anyway.
    let (mut n_same, mut n_different) = (0, 0);
    calls.retain_mut(|call| {
        let first_line = call.first_line(profile, codes);
        let file = call.file(profile, codes);
        let (mut is_same, mut is_different) = (false, false);
        for &child in &call.children {
            let Some((known_file, known)) = known_caller(profile, child) else { continue };
            if file != Some(known_file) {
                // Made by a call in this one that took less than a microsecond, where traces have whole ones.
                continue;
            }
            match line_at(profile, call, first_line, child) {
                Some(line) if line == known => (is_same, n_same) = (true, n_same + 1),
                Some(_) => (is_different, n_different) = (true, n_different + 1),
                None => {}
            }
        }
        call.is_logged |= is_same;
        if first_line != 0 {
            call.lines.insert(0, (Ns::MIN, first_line));
        }
        call.is_logged && !is_different
    });
    (n_different * 100 <= (n_same + n_different) * MAX_DIFFERENT_PERCENT).then_some(())
}

/// The file and line of the caller of a Python call, where the recording says it.
fn known_caller(profile: &Profile, event: HostEventId) -> Option<(&str, u32)> {
    if profile.host.kind[event.index()] != HostKind::Python {
        return None;
    }
    let caller = profile.host.python.caller[profile.host.detail_row(event)].get()?;
    parse_caller(profile.strings.get(caller))
}

/// The line that `call` was on when it made the call, or ran the operator, `child`. No line begins while that runs, so
/// that its middle shows best what came before it.
fn line_at(
    profile: &Profile,
    call: &LoggedCall,
    first_line: u32,
    child: HostEventId,
) -> Option<u32> {
    let host = &profile.host;
    let middle = host.start[child.index()] + host.duration[child.index()] / 2;
    let middle = since_epoch(profile, middle);
    let n_begun = call.lines.partition_point(|&(at, _)| at <= middle);
    let line = n_begun.checked_sub(1).map_or(first_line, |last| call.lines[last].1);
    (line != 0).then_some(line)
}

/// What is to be added to the times of the log to get those of the trace: from when on, and how much.
///
/// As few differences as the calls that are in both allow. `None` if that takes too many.
fn differences(
    profile: &Profile,
    codes: &Codes<'_>,
    cut: Ns,
    thread: &ThreadLines,
    calls: &mut [LoggedCall],
) -> Option<Vec<(Ns, Ns)>> {
    let pairs = pair(codes, thread, calls);
    let host = &profile.host;
    let mut bounds: Vec<(Ns, Ns, Ns)> = Vec::with_capacity(pairs.len());
    for (row, call) in pairs {
        let call = &mut calls[call];
        call.is_logged = true;
        call.code = Some(codes.of_row(thread, row));
        let is_line_of = |row: usize, is_same: bool| {
            thread.line.get(row).is_some_and(|&line| line > 0)
                && (Some(codes.of_row(thread, row)) == call.code) == is_same
        };
        // A generator that goes on need not begin a line.
        if !is_begun(profile, codes, call) || !is_line_of(row + 1, true) {
            continue;
        }
        let at = thread.time[row + 1];
        let child = call.children.first();
        let child = child.map(|it| since_epoch(profile, host.start[it.index()]) + cut);
        let mut least = call.start - at;
        let mut most = child.unwrap_or(call.end).min(call.end) - at;
        if let Some(before) = row.checked_sub(1) {
            // What begins with the call is the call's.
            most = most.min(call.start + cut - Ns(1) - thread.time[before]);
        }
        let after = (row + 1..).find(|&it| !is_line_of(it, true)).unwrap_or(row);
        if is_line_of(after, false) {
            // Of its caller.
            least = least.max(call.end - thread.time[after]);
        }
        bounds.push((at, least, most));
    }
    bounds.sort_unstable();
    // From when on, at least and at most how much, and how many calls say so.
    let mut found: Vec<(Ns, Ns, Ns, usize)> = Vec::new();
    for &(at, least, most) in &bounds {
        match found.last_mut() {
            Some((_, low, high, n_calls)) if least.max(*low) <= most.min(*high) => {
                (*low, *high) = (least.max(*low), most.min(*high));
                *n_calls += 1;
            }
            _ => found.push((at, least, most, 1)),
        }
    }
    if found.len() > 1 + bounds.len() / CALLS_PER_DIFFERENCE {
        return None;
    }
    // A call that is alone with its difference was taken for another one.
    let is_sure = found.iter().any(|it| it.3 > 1);
    found.retain(|it| it.3 > 1 || !is_sure);
    let differences =
        found.iter().map(|&(from, low, high, _)| ClockDifference::new(from, low, high));
    let mut differences: Vec<ClockDifference> = differences.collect();
    exclude(&mut differences, &waits(profile, cut, calls), thread);
    Some(differences.into_iter().map(|it| (it.from, it.most_possible())).collect())
}

/// What may be added to the times of the log from some time on.
struct ClockDifference {
    from: Ns,
    /// What it is if no line is against it.
    likely: Ns,
    /// What is possible and not far from that.
    range: RangeInclusive<Ns>,
    /// With what is between the two of a pair, a line would begin while its function waits.
    excluded: Vec<(Ns, Ns)>,
}

impl ClockDifference {
    fn new(from: Ns, low: Ns, high: Ns) -> Self {
        let likely = between(low, high);
        let range = low.max(likely - TOLERANCE)..=high.min(likely + TOLERANCE);
        Self { from, likely, range, excluded: Vec::new() }
    }

    /// What the fewest pairs exclude; of that what is nearest to what is likely.
    fn most_possible(&self) -> Ns {
        let (mut from, mut to): (Vec<Ns>, Vec<Ns>) = self.excluded.iter().copied().unzip();
        from.sort_unstable();
        to.sort_unstable();
        let n_against =
            |it: Ns| from.partition_point(|from| *from < it) - to.partition_point(|to| *to <= it);
        let others = from.iter().chain(&to).copied().filter(|it| self.range.contains(it));
        let all = others.chain([self.likely]);
        let best = all.min_by_key(|&it| (n_against(it), (it - self.likely).abs()));
        best.unwrap_or(self.likely)
    }
}

/// When calls waited for a call or an operator that has no line of the log in it, from begin to end, in order.
fn waits(profile: &Profile, cut: Ns, calls: &[LoggedCall]) -> Vec<(Ns, Ns)> {
    let host = &profile.host;
    let mut waits = Vec::new();
    for child in calls.iter().flat_map(|call| &call.children) {
        let [start, end] = [host.start[child.index()], host.end(*child)];
        let [start, end] = [start, end].map(|it| since_epoch(profile, it));
        let next = calls.partition_point(|call| call.start < start);
        if start + cut < end && calls.get(next).is_none_or(|call| call.start >= end) {
            waits.push((start + cut, end));
        }
    }
    waits.sort_unstable();
    // Of events that overlap, which those of one thread do not, the first.
    waits.dedup_by(|next, wait| next.0 < wait.1);
    waits
}

/// Notes which differences cannot be, because a line would begin while its function waits.
fn exclude(differences: &mut [ClockDifference], waits: &[(Ns, Ns)], thread: &ThreadLines) {
    let mut now = 0;
    for (&at, _) in thread.time.iter().zip(&thread.line).filter(|(_, line)| **line > 0) {
        while differences.get(now + 1).is_some_and(|it| it.from <= at) {
            now += 1;
        }
        let Some(it) = differences.get_mut(now) else { return };
        let first = waits.partition_point(|wait| wait.1 - at <= *it.range.start());
        let near = waits[first..].iter().map(|wait| (wait.0 - at, wait.1 - at));
        it.excluded.extend(near.take_while(|wait| wait.0 < *it.range.end()));
    }
}

/// Whether a call begins a function, and is not one that was running or is resumed.
fn is_begun(profile: &Profile, codes: &Codes<'_>, call: &LoggedCall) -> bool {
    let name = profile.strings.get(profile.host.name[call.event.index()]);
    let first_line = call.code.map_or(NO_LINE, |it| codes.log.codes[it as usize].first_line);
    match Frame::parse(name) {
        Some(frame) => [first_line, NO_LINE].contains(&frame.line),
        // The log knows the call by its beginning.
        None => true,
    }
}

/// A difference within bounds: none if that is possible, else the smallest of clocks that agree but for how long it takes to read them,
/// so that a line begins before what takes a few nanoseconds on it.
fn between(low: Ns, high: Ns) -> Ns {
    let smallest = if low > Ns::ZERO { low } else { high.min(Ns::ZERO) };
    if smallest.abs() <= TOLERANCE {
        smallest
    } else {
        low + (high - low).clamp(Ns::ZERO, TOLERANCE) / 2
    }
}

/// Entries of the log with the calls of the trace that they are, by position.
fn pair(codes: &Codes<'_>, thread: &ThreadLines, calls: &[LoggedCall]) -> Vec<(usize, usize)> {
    // All functions whose names the trace does not spell are one.
    let mut by_code: FxHashMap<Option<u32>, (Vec<usize>, Vec<usize>)> = FxHashMap::default();
    for row in (0..thread.line.len()).filter(|&row| thread.line[row] == 0) {
        let code = codes.of_row(thread, row);
        let code = (!codes.is_unnamed[code as usize]).then_some(code);
        by_code.entry(code).or_default().0.push(row);
    }
    for (position, call) in calls.iter().enumerate() {
        by_code.entry(call.code).or_default().1.push(position);
    }
    let groups: Vec<&(Vec<usize>, Vec<usize>)> = by_code.values().collect();
    let difference = |row: usize, call: usize| calls[call].start - thread.time[row];
    // Mostly the clocks agree. Else functions that both have equally often show how far they are apart.
    let equal = groups.iter().filter(|(rows, calls)| rows.len() == calls.len());
    let pairs = equal.flat_map(|(rows, calls)| rows.iter().zip(calls));
    let mut apart: Vec<Ns> = pairs.map(|(&row, &call)| difference(row, call)).collect();
    apart.sort_unstable();
    let apart = [Ns::ZERO, apart.get(apart.len() / 2).copied().unwrap_or(Ns::ZERO)];
    let [one, other] = apart.map(|apart| {
        // Together with how far they are from it.
        let (mut pairs, mut cost) = (Vec::new(), Ns::ZERO);
        for (rows, calls) in &groups {
            let (mut row, mut call) = (0, 0);
            while row < rows.len() && call < calls.len() {
                let distance = |row: usize, call: usize| {
                    let both = rows.get(row).zip(calls.get(call));
                    both.map_or(Ns::MAX, |(&row, &call)| (difference(row, call) - apart).abs())
                };
                // A call of a function in itself begins as close to the one as to the other: what follows decides.
                let ahead = |row: usize, call: usize| {
                    (0..N_AHEAD).map(|n| distance(row + n, call + n).min(APART)).sum::<Ns>()
                };
                let here = distance(row, call);
                let is_nearer = |row_then: usize, call_then: usize| {
                    distance(row_then, call_then) < here
                        && ahead(row_then, call_then) < ahead(row, call)
                };
                if is_nearer(row + 1, call) {
                    row += 1;
                    cost += APART;
                } else if is_nearer(row, call + 1) {
                    call += 1;
                    cost += APART;
                } else {
                    cost += here.min(APART);
                    if here <= APART {
                        pairs.push((rows[row], calls[call]));
                    }
                    (row, call) = (row + 1, call + 1);
                }
            }
        }
        (pairs, cost)
    });
    if one.1 <= other.1 { one.0 } else { other.0 }
}

/// Gives each line of the log to the innermost call that is open when it begins. `None` if that is too often one of
/// another function.
fn assign(
    codes: &Codes<'_>,
    until: Ns,
    thread: &ThreadLines,
    differences: &[(Ns, Ns)],
    calls: &mut [LoggedCall],
) -> Option<()> {
    let first = calls.first()?.start;
    let last = calls.iter().map(|call| call.end).max()?;
    let mut differences = differences.iter().peekable();
    let mut difference = differences.peek().map_or(Ns::ZERO, |it| it.1);
    let mut clock = Ns::MIN;
    let (mut next, mut open, mut ended): (usize, Vec<usize>, Option<usize>) = (0, Vec::new(), None);
    let (mut n_rows, mut n_lost) = (0, 0);
    for row in (0..thread.line.len()).filter(|&row| thread.line[row] > 0) {
        if thread.time[row] > until {
            break;
        }
        while let Some(it) = differences.next_if(|it| it.0 <= thread.time[row]) {
            difference = it.1;
        }
        clock = clock.max(thread.time[row].saturating_add(difference));
        if !(first..last).contains(&clock) {
            // Before or after recording.
            continue;
        }
        while calls.get(next).is_some_and(|call| call.start <= clock) {
            let start = calls[next].start;
            while open.last().is_some_and(|&it| calls[it].end <= start) {
                ended = open.pop();
            }
            open.push(next);
            next += 1;
        }
        while open.last().is_some_and(|&it| calls[it].end <= clock) {
            ended = open.pop();
        }
        let code = codes.of_row(thread, row);
        let innermost = open.last().copied();
        if let Some(it) = innermost.filter(|_| codes.is_unnamed[code as usize]) {
            // It was running when recording began, or was resumed.
            calls[it].code.get_or_insert(code);
        }
        let code = Some(code);
        let has_ended = |it: usize| calls[it].code == code && clock - calls[it].end <= TOLERANCE;
        n_rows += 1;
        if let Some(it) = innermost.filter(|&it| calls[it].code == code) {
            calls[it].lines.push((clock, thread.line[row]));
        } else if let Some(it) = ended.filter(|&it| has_ended(it)) {
            calls[it].lines.push((clock, thread.line[row]));
        } else {
            n_lost += 1;
            // It is on another line now, if this is it.
            if let Some(&it) = open.iter().rev().find(|&&it| calls[it].code == code) {
                calls[it].lines.push((clock, 0));
            }
        }
    }
    // Logging ended before the trace did.
    for &it in &open {
        calls[it].lines.push((until.saturating_add(difference).max(clock), 0));
    }
    for call in &mut *calls {
        call.is_logged |= !call.lines.is_empty();
    }
    (n_lost * 100 <= n_rows * MAX_DIFFERENT_PERCENT).then_some(())
}

/// Writes the lines into the trace: of what each call made and ran, and of what it did itself.
fn store(profile: &mut Profile, codes: &Codes<'_>, calls: &[LoggedCall]) {
    let n_operators = profile.host.operators.external_id.len();
    profile.host.operators.line.resize(n_operators, StrId::NONE);
    for call in calls {
        let name = profile.host.name[call.event.index()];
        if let Some(code) = call.code.filter(|_| codes.is_of_unnamed(profile, name)) {
            profile.host.name[call.event.index()] = profile.strings.intern(&codes.event_name(code));
        }
        let by_trace = |at: Ns| if at == Ns::MIN { at } else { at - profile.meta.base };
        let lines = call.lines.iter().map(|&(at, line)| (by_trace(at), line));
        profile.frame_lines.push(call.event, lines);
        let Some(file) = call.file(profile, codes).map(str::to_owned) else { continue };
        for &child in &call.children {
            let Some(line) = line_at(profile, call, 0, child) else { continue };
            let host = &mut profile.host;
            let row = host.detail_row(child);
            let place = match host.kind[child.index()] {
                HostKind::Operator => &mut host.operators.line[row],
                _ => &mut host.python.caller[row],
            };
            if *place == StrId::NONE {
                *place = profile.strings.intern(&format!("{file}:{line}"));
            }
        }
    }
}
