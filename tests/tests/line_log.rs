//! Traces joined with the log of the lines that ran: made-up programs, whose lines are known, by clocks that differ.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

mod seeds;

use std::collections::HashMap;
use std::fmt::Write;

use attribution::{AttributionOptions, attribute, join_callers, join_lines};
use ledger::Evidence;
use profile::{
    Callers, HostKind, LineLog, LoggedCode, Ns, Profile, StrId, ThreadCallers, ThreadLines,
};
use proptest::prelude::*;
use recorded::RecordedSources;
use tests::builder::render;
use tests::fixtures::{read_gz, repository};
use trace_reader::TraceReader;
use trace_reader::callers::read_callers;

/// When a made-up trace begins, in microseconds since 1970.
const DAY: i64 = 1_790_000_000_000_000;

/// A log of one thread, in microseconds from the trace's begin: `at code line`, and `until at` for its end.
///
/// Codes are the functions of `model.py`, `f` on lines 1 to 9, `g` on 11 to 19 and `h`, of one line, on 21, `s` for its `σ` on 31 to 39,
/// and `m` for the script `lüs.py`.
fn log(text: &str) -> Callers {
    let mut callers = Callers::default();
    let file = callers.strings.intern("model.py");
    let code = |function: StrId, first_line, last_line| LoggedCode {
        file,
        function,
        first_line,
        last_line,
    };
    let names = ["f", "g", "h", "σ", "<module>"];
    let [f, g, h, s, m] = names.map(|name| callers.strings.intern(name));
    let script = LoggedCode { file: callers.strings.intern("lüs.py"), ..code(m, 1, 9) };
    let codes = vec![code(f, 1, 9), code(g, 11, 19), code(h, 21, 21), code(s, 31, 39), script];
    let mut log = LineLog { codes, until: Ns::MAX, threads: Vec::new() };
    let mut thread = ThreadLines { tid: "101".to_owned(), ..ThreadLines::default() };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = |word: &str| Ns(DAY * 1_000 + (word.parse::<f64>().unwrap() * 1_000.0) as i64);
        match words[..] {
            ["until", time] => log.until = at(time),
            [time, code, line] => {
                thread.time.push(at(time));
                thread.code.push("fghsm".find(code).unwrap() as u32);
                thread.line.push(line.parse().unwrap());
            }
            _ => unreachable!("{line}"),
        }
    }
    log.threads.push(thread);
    callers.lines = Some(log);
    callers
}

/// A trace whose times count from [`DAY`].
fn read(text: &str) -> Profile {
    let mut reader = TraceReader::new();
    let base = format!("{{\"baseTimeNanoseconds\": {}, ", DAY * 1_000);
    reader.feed(render(text).unwrap().replacen('{', &base, 1).as_bytes());
    reader.finish().profile
}

/// The line of each operator and call that has one, and the warnings.
fn joined(trace: &str, lines: &Callers) -> String {
    let mut profile = read(trace);
    let warnings = join_lines(&mut profile, lines);
    let mut out = String::new();
    let host = &profile.host;
    for id in host.ids() {
        let row = host.detail_row(id);
        let line = match host.kind[id.index()] {
            HostKind::Operator => host.operators.line(row),
            HostKind::Python => host.python.caller[row],
            _ => StrId::NONE,
        };
        if line != StrId::NONE {
            let name = profile.strings.get(host.name[id.index()]);
            writeln!(out, "{name} {}", profile.strings.get(line)).unwrap();
        }
    }
    for warning in warnings.iter() {
        writeln!(out, "{}", warning.message).unwrap();
    }
    out
}

/// `f` runs an operator on lines 2 and 3, and calls `g` on line 4, which runs one.
const TRACE: &str = "
    py train.py:1 main 0..200
    py model.py:1 f 10..100 from=train.py:2
    op aten::mm 15..20
    op aten::add 25..30
    op aten::copy_ 26..28
    py model.py:11 g 40..60
    op aten::relu 45..50
    op aten::view 70..75
    py model.py:1 f 110..150 from=train.py:2
    op aten::mm 115..120
";

const LOG: &str = "
    9 f 0
    12 f 2
    22 f 3
    33 f 4
    39 g 0
    42 g 12
    64 f 5
    109 f 0
    112 f 2
";

const LINES: &str = "\
model.py(1): f train.py:2
aten::mm model.py:2
aten::add model.py:3
model.py(11): g model.py:4
aten::relu model.py:12
aten::view model.py:5
model.py(1): f train.py:2
aten::mm model.py:2
";

/// A trace does not spell what is not ASCII: `lüs.py` was running when recording began, `σ` is called twice, and a module whose class
/// is called so is no function.
#[test]
fn functions_get_the_names_that_only_the_log_spells() {
    let trace = "
    call unknown 0..200
    py model.py:1 f 10..100
    call unknown 20..30
    op aten::relu 24..26
    call unknown 40..70
    py model.py:11 g 50..60
    op aten::mm 54..56
    call unknown 80..90
    op aten::mul 84..86
    py model.py:1 f 110..150
    op aten::add 115..120
    ";
    let lines = "
    9 f 0
    12 f 2
    19 s 0
    22 s 32
    32 f 3
    49 g 0
    52 g 12
    72 f 4
    79 s 0
    82 s 33
    102 m 5
    109 f 0
    112 f 2
    ";
    let expected = "\
model.py(31): σ model.py:2
aten::relu model.py:32
unknown model.py:3
aten::mm model.py:12
model.py(31): σ model.py:4
aten::mul model.py:33
model.py(1): f lüs.py:5
aten::add model.py:2
";
    for difference in [0, 7, -3] {
        assert_eq!(joined(trace, &log(&ahead(lines, difference))), expected, "{difference}");
    }
}

/// Before torch 2.14 a side-car has the name of each call, as a trace would spell it.
#[test]
fn functions_get_the_names_that_only_the_callers_spell() {
    let mut profile = read("py model.py:1 f 0..100\ncall unknown 20..60\ncall len 70..80");
    let mut callers = Callers::default();
    let names = ["model.py(1): f", "model.py(31): σ", "len"];
    let file = callers.strings.intern("model.py");
    let thread = ThreadCallers {
        tid: "101".to_owned(),
        name: names.iter().map(|it| callers.strings.intern(it)).collect(),
        start: [0, 20, 70].map(|it| Ns((DAY + it) * 1_000)).to_vec(),
        file: vec![StrId::NONE, file, file],
        line: vec![0, 3, 4],
    };
    callers.threads.push(thread);
    assert_eq!(join_callers(&mut profile, &callers).iter().count(), 0);
    let host = &profile.host;
    let found = host.ids().map(|it| profile.strings.get(host.name[it.index()]));
    assert_eq!(found.collect::<Vec<_>>(), names);
    let found = host.python.caller.iter().map(|it| it.get().map(|it| profile.strings.get(it)));
    assert_eq!(found.collect::<Vec<_>>(), [None, Some("model.py:3"), Some("model.py:4")]);
}

/// Without a log nobody knows which lines of which function an unnamed call ran.
#[test]
fn what_an_unnamed_call_does_is_not_surely_on_its_line() {
    let trace = "
    py model.py:1 f 0..100
    call unknown 20..60 from=model.py:3
    op aten::relu 30..40
    call len 70..80 from=model.py:4
    ";
    let sources = RecordedSources::default();
    let ledger = attribute(read(trace), &sources, AttributionOptions::default(), 0);
    let lines = ledger.lines.iter();
    let found: Vec<_> = lines.map(|(key, it)| (key.line, it.cpu_own.0, it.evidence)).collect();
    let expected = [
        (1, 50_000, Evidence::Function),
        (3, 40_000, Evidence::Function),
        (4, 10_000, Evidence::Exact),
    ];
    assert_eq!(found, expected);
}

/// A log by a clock that is so much ahead, in microseconds.
fn ahead(log: &str, by: i64) -> String {
    let mut out = String::new();
    for line in log.lines().filter(|line| !line.trim().is_empty()) {
        let (time, rest) = line.trim().split_once(' ').unwrap();
        writeln!(out, "{} {rest}", time.parse::<i64>().unwrap() + by).unwrap();
    }
    out
}

#[test]
fn operators_and_calls_get_the_line_that_runs() {
    assert_eq!(joined(TRACE, &log(LOG)), LINES);
}

#[test]
fn what_a_function_does_itself_is_on_the_line_that_runs() {
    let mut profile = read(TRACE);
    join_lines(&mut profile, &log(LOG));
    let sources = RecordedSources::default();
    let ledger = attribute(profile, &sources, AttributionOptions::default(), 0);
    let of_lines: Vec<_> = ledger
        .lines
        .iter()
        .map(|(key, it)| format!("{}:{} {} {:?}", key.file, key.line, it.cpu_self.0, it.evidence))
        .collect();
    // A line has what runs until the next one begins, operators included; to enter the function is on its definition. Of
    // `main`, nothing was logged.
    let expected = [
        "model.py:1 4000 Exact",
        "model.py:2 48000 Exact",
        "model.py:3 11000 Exact",
        "model.py:4 11000 Exact",
        "model.py:5 36000 Exact",
        "model.py:11 2000 Exact",
        "model.py:12 18000 Exact",
        "train.py:1 70000 Function",
        "train.py:2 0 Exact",
    ];
    assert_eq!(of_lines, expected);
}

#[test]
fn clocks_may_be_apart() {
    for by in [-300, -40, -4, 4, 40, 300] {
        assert_eq!(joined(TRACE, &log(&ahead(LOG, by))), LINES, "{by}");
    }
}

/// The clocks are 20 ns to 2 µs apart, as far as the calls show.
#[test]
fn what_takes_nanoseconds_is_on_the_line_that_began_just_before() {
    let trace = "
        py train.py:1 main 0..200
        py model.py:1 f 10..100 from=train.py:2
        op aten::mm 12..20
        py list.py:1 append 30..30.1 from=model.py:3
        op aten::add 30.2..30.3
    ";
    let log = "
        9.9 f 0
        9.98 f 2
        29.9 f 3
        30.15 f 4
    ";
    assert_eq!(
        joined(trace, &self::log(log)),
        "model.py(1): f train.py:2\naten::mm model.py:2\nlist.py(1): append model.py:3\naten::add model.py:4\n"
    );
}

#[test]
fn a_log_that_contradicts_what_is_known_is_not_used() {
    // The call of `g` is known to be on another line than the log says.
    let trace = TRACE.replace("g 40..60", "g 40..60 from=model.py:5");
    let found = joined(&trace, &log(LOG));
    assert!(found.contains("the lines of 1 of 1 threads do not fit the trace"), "{found}");
    assert!(!found.contains("aten"), "{found}");
}

#[test]
fn what_a_call_of_no_duration_made_says_nothing_of_the_lines_around_it() {
    // Of whole microseconds, a library's function is over when what it calls begins, which then seems to be called by `f`.
    let trace = TRACE.replace(
        "op aten::view 70..75",
        "py torch/container.py:300 values 70..70\n    py torch/ops.py:7 iter 70..72 from=torch/container.py:315",
    );
    let found = joined(&trace, &log(LOG));
    assert!(found.contains("torch/ops.py(7): iter torch/container.py:315"), "{found}");
    assert!(found.contains("aten::add model.py:3\n"), "{found}");
    assert!(!found.contains("do not fit"), "{found}");
}

#[test]
fn a_log_of_another_run_is_not_used() {
    let other = "
        9 f 0
        12 f 2
        13 g 0
        14 g 12
        16 f 2
        17 g 0
        18 g 12
        22 g 13
        26 f 3
        90 g 0
        91 g 12
        109 f 0
        112 f 2
    ";
    let found = joined(TRACE, &log(other));
    assert!(found.contains("the lines of 1 of 1 threads do not fit the trace"), "{found}");
}

#[test]
fn nothing_is_known_after_logging_ended() {
    let log = log(&format!("{}until 65\n", LOG.split("109").next().unwrap()));
    // The rest of the first call may be on any line, and the second call was not logged.
    let (before, _) = LINES.split_once("aten::view").unwrap();
    assert_eq!(joined(TRACE, &log), format!("{before}model.py(1): f train.py:2\n"));
}

#[test]
fn a_function_that_goes_on_is_on_the_line_of_its_name() {
    let trace = "
        py model.py:5 f 0..100
        op aten::mm 10..20
        py model.py:14 g 30..60
        op aten::add 40..50
        call <lambda> 70..80
        py model.py:21 h 71..79
        op aten::relu 72..78
    ";
    let log = log("
        25 f 6
        29 g 0
        65 f 7
        70 h 0
    ");
    assert_eq!(
        joined(trace, &log),
        "aten::mm model.py:5\nmodel.py(14): g model.py:6\naten::add model.py:14\n<lambda> model.py:7\naten::relu model.py:21\n"
    );
}

#[test]
fn a_module_begins_on_no_line() {
    let trace = "
        py model.py:0 f 0..100
        op aten::mm 10..20
    ";
    assert_eq!(joined(trace, &log("1 f 0\n 5 f 2\n")), "aten::mm model.py:2\n");
}

#[test]
fn recursion_has_lines_of_its_own() {
    let trace = "
        py model.py:1 f 0..100
        op aten::mm 10..20
        py model.py:1 f 30..60
        op aten::mm 35..40
        op aten::add 70..80
    ";
    let log = log("
        0 f 0
        5 f 2
        25 f 3
        29 f 0
        32 f 2
        65 f 4
    ");
    assert_eq!(
        joined(trace, &log),
        "aten::mm model.py:2\nmodel.py(1): f model.py:3\naten::mm model.py:2\naten::add model.py:4\n"
    );
}

#[test]
fn whole_microseconds_are_enough() {
    // As torch 2.2 and older write them: cut, so that a line seems to begin within the operator before it.
    let trace = "
        py model.py:1 f 10..21
        op aten::mm 12..13
        op aten::add 13..14
        op aten::relu 15..16
        py model.py:11 g 17..20
        op aten::view 18..19
    ";
    let log = log("
        9.9 f 0
        11.2 f 2
        13.4 f 3
        15.1 f 4
        16.9 f 5
        17.2 g 0
        17.9 g 12
    ");
    assert_eq!(
        joined(trace, &log),
        "aten::mm model.py:2\naten::add model.py:3\naten::relu model.py:4\nmodel.py(11): g model.py:5\naten::view model.py:12\n"
    );
}

/// A program as it runs: what a line of a function does.
#[derive(Debug, Clone)]
enum Does {
    Operator,
    /// A call of the function, whose lines do this.
    Call(u8, Vec<Does>),
    /// A line without an event.
    Nothing,
}

fn does() -> impl Strategy<Value = Vec<Does>> {
    let leaf = prop_oneof![3 => Just(Does::Operator), 1 => Just(Does::Nothing)];
    let nested = leaf.prop_recursive(4, 60, 6, |inner| {
        (0_u8..2, prop::collection::vec(inner, 1..6))
            .prop_map(|(code, lines)| Does::Call(code, lines))
    });
    prop::collection::vec(nested, 1..12)
}

/// Runs made-up programs: the trace and the log as real ones come about, and the true lines.
struct Run {
    now: i64,
    dice: u64,
    trace: String,
    log: ThreadLines,
    truth: String,
    n_operators: u32,
    /// Nanoseconds that the log's clock is ahead, and of a million how many more it counts.
    ahead: (i64, i64),
}

impl Run {
    /// Lets up to 2.7 microseconds more pass.
    fn pass(&mut self, least: i64) {
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.now += least + i64::try_from((self.dice >> 33) % 2_700).unwrap();
    }

    fn note(&mut self, code: u8, line: u32) {
        let (ahead, drift) = self.ahead;
        self.log.time.push(Ns(DAY * 1_000 + self.now + ahead + self.now * drift / 1_000_000));
        self.log.code.push(u32::from(code));
        self.log.line.push(line);
    }

    fn call(&mut self, code: u8, lines: &[Does]) {
        let first = if code == 0 { 1 } else { 11 };
        let name = if code == 0 { "f" } else { "g" };
        self.note(code, 0);
        self.pass(300);
        let (start, place) = (self.now, self.trace.len());
        for (does, line) in lines.iter().zip((first + 1..first + 9).cycle()) {
            self.pass(300);
            self.note(code, line);
            // Reading the clock and going on takes as long.
            self.pass(1_500);
            match does {
                Does::Nothing => {}
                Does::Operator => {
                    let start = self.now;
                    self.pass(1_000);
                    self.n_operators += 1;
                    let name = format!("aten::{}", self.n_operators);
                    self.trace += &format!("op {name} {}\n", span(start, self.now));
                    self.truth += &format!("{name} model.py:{line}\n");
                }
                Does::Call(callee, lines) => {
                    let first = if *callee == 0 { 1 } else { 11 };
                    let name = if *callee == 0 { "f" } else { "g" };
                    self.truth += &format!("model.py({first}): {name} model.py:{line}\n");
                    self.call(*callee, lines);
                }
            }
        }
        self.pass(300);
        let event = format!("py model.py:{first} {name} {}\n", span(start, self.now));
        self.trace.insert_str(place, &event);
        self.pass(300);
    }
}

fn span(start: i64, end: i64) -> String {
    let time = |ns: i64| format!("{}.{:03}", ns / 1_000, ns % 1_000);
    format!("{}..{}", time(start), time(end))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..seeds::kept() })]
    #[test]
    fn every_line_of_any_program_is_right(
        lines in does(),
        dice in any::<u64>(),
        ahead in prop_oneof![-300_i64..300, -50_000_i64..50_000],
        drift in -100_i64..100,
    ) {
        let log = ThreadLines { tid: "101".to_owned(), ..ThreadLines::default() };
        let mut run = Run { now: 1_000_000, dice, trace: String::new(), log, truth: String::new(), n_operators: 0, ahead: (ahead, drift) };
        // The more calls, the better it shows how far the clocks are apart.
        for _ in 0..if ahead.abs() <= 300 { 1 } else { 12 } {
            run.call(0, &lines);
        }
        let mut callers = log_of(run.log);
        callers.lines.as_mut().unwrap().until = Ns::MAX;
        let found = joined(&run.trace, &callers);
        // A line may be missing, but is never wrong.
        let mut truth = run.truth.lines();
        for line in found.lines() {
            prop_assert!(truth.any(|it| it == line), "{line}");
        }
        prop_assert!(run.truth.lines().count() * 98 <= found.lines().count() * 100, "{found}");
    }
}

fn log_of(thread: ThreadLines) -> Callers {
    let mut callers = log("");
    callers.lines.as_mut().unwrap().threads = vec![thread];
    callers
}

/// Real recordings, with the lines that the recorder noted and, by a tracer beside it, the true line of each operator.
#[test]
fn recordings_have_the_true_line_of_every_operator_and_call() {
    for workload in ["slow_model", "transformer"] {
        let folder = repository().join("fixtures/lines/torch2.15.0-python3.13");
        let read = |ending: &str| read_gz(&folder.join(format!("{workload}{ending}"))).unwrap();
        let mut reader = TraceReader::new();
        reader.feed(&read(".json.gz"));
        let mut profile = reader.finish().profile;
        let known = profile.host.python.caller.clone();
        let (callers, _) = read_callers(&read(".callers.json.gz")).unwrap();
        // Once with the callers that the trace knows to hold the lines against, once without.
        for is_known in [true, false] {
            profile.host.operators.line.clear();
            if !is_known {
                profile.host.python.caller.fill(StrId::NONE);
            }
            assert!(join_lines(&mut profile, &callers).is_empty());
            let truth = std::fs::read(folder.join(format!("{workload}.truth.json"))).unwrap();
            let truth: Vec<(i64, String, String, u32)> = serde_json::from_slice(&truth).unwrap();
            let operators = &profile.host.operators;
            let rows: HashMap<i64, usize> =
                operators.external_id.iter().copied().zip(0..).collect();
            for (id, operator, frame, line) in &truth {
                let found = profile.strings.get(operators.line(rows[id]));
                let file = frame.split('(').next().unwrap();
                assert_eq!(found, format!("{file}:{line}"), "{workload}: {operator} in {frame}");
            }
            assert!(truth.len() > 90);
        }
        let found = profile.host.python.caller.iter().zip(&known).filter(|it| it.0.get().is_some());
        let of_workload = format!("{workload}.py:");
        let mut n_calls = 0;
        for (found, known) in found {
            let [found, known] = [*found, *known].map(|it| profile.strings.get(it));
            assert_eq!(found, known, "{workload}");
            n_calls += usize::from(known.starts_with(&of_workload));
        }
        // All but those that are made by a built-in function.
        let callers = known.iter().map(|it| profile.strings.get(*it));
        let all = callers.filter(|it| it.starts_with(&of_workload)).count();
        assert!(all * 95 <= n_calls * 100, "{workload}: {n_calls} of {all} calls");
    }
}
