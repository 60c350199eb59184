//! What one event looks like bears on no other: every key may have a value of every type, in any order.

use profile::HostKind;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::dump::{dump, read};

/// Values that may stand anywhere.
const VALUES: [&str; 14] = [
    "null",
    "[]",
    "{}",
    "\"\"",
    "5",
    "-7",
    "2.5",
    "\"12\"",
    "\"text\"",
    r#""a \"b\" c""#,
    "true",
    "NaN",
    "[1, 2, 3]",
    r#"{"External id": 9, "args": {"correlation": 8}}"#,
];

const ARG_KEYS: [&str; 12] = [
    "External id",
    "correlation",
    "Sequence number",
    "Python id",
    "CallFrom",
    "Call stack",
    "Input Dims",
    "grid",
    "stack",
    "device",
    "Bytes",
    "Addr",
];

/// The members of an event; the text of `args` is made of its own members, or is a value of another type.
#[derive(Debug, Clone)]
struct Event {
    members: Vec<(&'static str, String)>,
    args: Result<Vec<(&'static str, &'static str)>, &'static str>,
    /// Where among the members `args` stands.
    place: usize,
}

impl Event {
    /// The event with `space` around everything: how much there is makes it another shape for the reader's memory.
    fn text(&self, space: &str) -> String {
        let members = |them: &[(&str, String)]| {
            let texts = them.iter().map(|(key, value)| format!("{space}\"{key}\":{space}{value}"));
            format!("{{{}{space}}}", texts.collect::<Vec<_>>().join(","))
        };
        let args = match &self.args {
            Ok(args) => {
                members(&args.iter().map(|(key, it)| (*key, (*it).to_owned())).collect::<Vec<_>>())
            }
            Err(value) => (*value).to_owned(),
        };
        let mut all = self.members.clone();
        all.insert(self.place.min(all.len()), ("args", args));
        members(&all)
    }
}

fn any_args() -> impl Strategy<Value = Result<Vec<(&'static str, &'static str)>, &'static str>> {
    let value = prop_oneof![2 => Just("12"), 1 => proptest::sample::select(&VALUES[..])];
    prop_oneof![
        3 => vec((proptest::sample::select(&ARG_KEYS[..]), value), 0..4).prop_map(Ok),
        1 => proptest::sample::select(&VALUES[..]).prop_map(Err),
    ]
}

fn any_event() -> impl Strategy<Value = Event> {
    // Mostly what belongs there, so that most events become rows.
    let or_any = |usual: &'static str| {
        prop_oneof![6 => Just(usual), 1 => proptest::sample::select(&VALUES[..])]
            .prop_map(str::to_owned)
    };
    let category = prop_oneof![
        Just("cpu_op"),
        Just("kernel"),
        Just("python_function"),
        Just("cuda_runtime"),
        Just("user_annotation")
    ];
    let members = (
        prop_oneof![5 => Just("\"X\""), 1 => Just("\"i\"")],
        category,
        or_any("\"[memory]\""),
        or_any("7"),
        or_any("7"),
        or_any("1.5"),
        or_any("2"),
    )
        .prop_map(|(phase, category, name, pid, tid, start, duration)| {
            vec![
                ("ph", phase.to_owned()),
                ("cat", format!("\"{category}\"")),
                ("name", name),
                ("pid", pid),
                ("tid", tid),
                ("ts", start),
                ("dur", duration),
            ]
        });
    // Few orders, so that shapes come again.
    let order = prop_oneof![3 => Just(0_usize), 1 => Just(3), 1 => Just(5)];
    (members, any_args(), order, prop_oneof![3 => Just(7_usize), 1 => 0_usize..8]).prop_map(
        |(mut members, args, order, place)| {
            // `ph` stays first: only so is an event found again behind damage.
            members[1..].rotate_left(order);
            Event { members, args, place }
        },
    )
}

fn trace(events: &[String]) -> Vec<u8> {
    format!("{{\"schemaVersion\": 1, \"traceEvents\": [{}]}}", events.join(",")).into_bytes()
}

/// What was read, without the offsets of warnings.
fn rows(input: &[u8]) -> String {
    let text = dump(&read(input));
    let without_offset = |line: &str| match line.split_once('@') {
        Some((head, tail)) if head.starts_with("warning") => {
            format!("{head}{}", tail.trim_start_matches(|it: char| it.is_ascii_digit()))
        }
        _ => line.to_owned(),
    };
    text.lines().map(|line| without_offset(line) + "\n").collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn events_are_read_as_if_each_were_the_first_of_its_shape(events in vec(any_event(), 1..40)) {
        let alike: Vec<String> = events.iter().map(|it| it.text(" ")).collect();
        let different: Vec<String> =
            events.iter().zip(1..).map(|(it, n_spaces)| it.text(&" ".repeat(n_spaces))).collect();
        prop_assert_eq!(rows(&trace(&alike)), rows(&trace(&different)));
    }
}

/// The args of an event that has none, or something else in their place, are not those of the next ones.
#[test]
fn invalid_args_cost_no_other_event_its_args() {
    for invalid in ["", r#", "args": null"#, r#", "args": []"#, r#", "args": """#, r#", "args": 5"#]
    {
        let event = |name: &str, args: &str| {
            format!(
                r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": 1, "dur": 1{args}}}"#
            )
        };
        let whole = r#", "args": {"External id": 5, "Sequence number": 3}"#;
        let events =
            [event("a", invalid), event("b", whole), event("c", invalid), event("d", whole)];
        let profile = read(&trace(&events)).profile;
        assert!(profile.host.kind.iter().all(|&it| it == HostKind::Operator));
        assert_eq!(profile.host.operators.external_id, [-1, 5, -1, 5], "{invalid}");
        assert_eq!(profile.host.operators.sequence, [-1, 3, -1, 3], "{invalid}");
    }
}
