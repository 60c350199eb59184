//! What cannot be true is set aside and reported, whatever else is in the file; what is only long is not.

use profile::Bytes;

use crate::dump::{dump, read, unindent};

/// Microseconds of a day and of a year.
const DAY: u64 = 86_400_000_000;
const YEAR: u64 = 365 * DAY;

fn trace(events: &[String]) -> String {
    format!("{{\"traceEvents\": [\n{}\n]}}", events.join(",\n"))
}

fn range(category: &str, name: &str, start: i64, duration: u64) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 0, "tid": 7, "ts": {start}, "dur": {duration}}}"#
    )
}

fn memory(bytes: i64) -> String {
    format!(
        r#"{{"ph": "i", "name": "[memory]", "pid": 0, "tid": 7, "ts": 5, "args": {{"Bytes": {bytes}, "Addr": 1}}}}"#
    )
}

/// Names of the events that are left, and sizes of the allocations; then what was said, with the number of the event.
fn left(events: &[String]) -> String {
    let text = trace(events);
    let trace = read(text.as_bytes());
    let profile = &trace.profile;
    let mut words: Vec<String> = profile
        .host
        .name
        .iter()
        .chain(&profile.device.name)
        .map(|&it| profile.strings.get(it).to_owned())
        .collect();
    words.extend(profile.memory.bytes.iter().map(|it| format!("{:+}", it.0)));
    for warning in trace.warnings.iter() {
        let before = &text[..usize::try_from(warning.offset.unwrap()).unwrap()];
        let event = before.matches("\"ph\"").count();
        words.push(format!("{:?} {event} x{}", warning.kind, warning.count));
    }
    words.join(", ")
}

/// Beyond what a clock shows; what begins and ends such a range too, and flows.
#[test]
fn times_out_of_range() {
    let centuries = i64::MAX / 1000;
    let events = [
        range("cpu_op", "a", 1, 2),
        range("kernel", "never ended", 1, centuries.unsigned_abs()),
        range("kernel", "late", centuries, 1),
        range("cpu_op", "early", -centuries, 1),
        memory(8).replace("\"ts\": 5", &format!("\"ts\": {centuries}")),
        format!(
            r#"{{"ph": "s", "cat": "fwdbwd", "id": 1, "pid": 0, "tid": 7, "ts": {centuries}}}"#
        ),
        range("cpu_op", "b", 5, 2),
    ];
    assert_eq!(left(&events), "a, b, NotCredible 1 x5");
    let begin = |at: i64| {
        format!(r#"{{"ph": "B", "cat": "nvtx", "name": "n", "pid": 0, "tid": 7, "ts": {at}}}"#)
    };
    let end = |at: i64| format!(r#"{{"ph": "E", "pid": 0, "tid": 7, "ts": {at}}}"#);
    assert_eq!(left(&[begin(centuries), end(7)]), "NotCredible 0 x1");
    assert_eq!(left(&[begin(1), end(centuries)]), "n, MissingTime 1 x1");
    assert_eq!(
        dump(&read(br#"{"traceEvents": [], "baseTimeNanoseconds": 9223372036854775807}"#)),
        unindent(
            "
            warning NotCredible @43 x1: a base time before 1970 or after 2116 was ignored
            0 events, complete
            "
        )
    );
}

/// An event that outlasts everything else.
#[test]
fn what_lasts_too_long() {
    let short = |name: &str, at: i64| range("cpu_op", name, at, 1000);
    let events = [
        short("a", 0),
        range("kernel", "k", 10, 54 * YEAR),
        short("b", 500_000),
        range("cpu_op", "c", 20, 2 * DAY),
    ];
    assert_eq!(left(&events), "a, b, NotCredible 1 x2");
    // Two that never ended do not vouch for each other.
    let twice = [events[1].clone(), short("a", 0), events[1].clone()];
    assert_eq!(left(&twice), "a, NotCredible 0 x2");
    let ranges = [
        short("a", 0),
        r#"{"ph": "B", "cat": "nvtx", "name": "n", "pid": 0, "tid": 7, "ts": 1}"#.to_owned(),
        format!(r#"{{"ph": "E", "pid": 0, "tid": 7, "ts": {YEAR}}}"#),
    ];
    assert_eq!(left(&ranges), "a, NotCredible 1 x1");
}

/// Long events of valid recordings.
#[test]
fn what_is_only_long_stays() {
    let short = |at: u64| range("cpu_op", "s", i64::try_from(at).unwrap(), 1);
    // Alone.
    assert_eq!(left(&[range("kernel", "k", 0, YEAR)]), "k");
    // Around a few short ones.
    let around = |duration| [range("python_function", "main", 0, duration), short(5), short(9)];
    assert_eq!(left(&around(DAY)), "main, s, s");
    // A recording of a year, with its root frame and its step.
    let year = [
        range("python_function", "main", 0, YEAR),
        range("user_annotation", "ProfilerStep#1", 0, YEAR),
        short(5),
        short(YEAR - 1),
    ];
    assert_eq!(left(&year), "main, ProfilerStep#1, s, s");
    // At the edges of the clock.
    let (first, last) = (-2_305_843_009_213_693, 4_611_686_018_427_386);
    assert_eq!(left(&[range("cpu_op", "first", first, 1)]), "first");
    assert_eq!(left(&[range("cpu_op", "last", last, 1)]), "last");
}

/// Sums stay within 2^56: the longest and the largest go first.
#[test]
fn what_is_too_much_together() {
    let mut events =
        vec![range("cpu_op", "a", 0, 1), range("cpu_op", "b", 2_000_000_000_000_000, 1)];
    events.push(range("kernel", "one", 0, YEAR));
    events.push(range("python_function", "more", 0, YEAR + 1));
    assert_eq!(left(&events), "a, b, more, one");
    events.push(range("kernel", "half", 0, YEAR / 2));
    assert_eq!(left(&events), "a, b, one, half, NotCredible 3 x1");

    let pebibyte = 1 << 50;
    assert_eq!(
        left(&[memory(pebibyte), memory(pebibyte + 1), memory(i64::MIN)]),
        format!("{pebibyte:+}, NotCredible 1 x2")
    );
    let mut events = vec![memory(pebibyte - 1); 63];
    events.extend([memory(-pebibyte), memory(7)]);
    assert_eq!(left(&events).matches("NotCredible").count(), 0);
    events.push(memory(64));
    assert!(left(&events).ends_with("+7, +64, NotCredible 63 x1"), "{}", left(&events));

    let copy = |bytes: i64| {
        format!(
            r#"{{"ph": "X", "cat": "gpu_memcpy", "name": "m", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": {{"bytes": {bytes}}}}}"#
        )
    };
    let sizes = |events: &[String]| {
        let trace = read(trace(events).as_bytes());
        (trace.profile.device.bytes, trace.warnings.iter().map(|it| it.count).sum::<u64>())
    };
    assert_eq!(
        sizes(&[copy(9), copy(pebibyte), copy(pebibyte + 1)]),
        (vec![Bytes(9), Bytes(pebibyte), Bytes(-1)], 1)
    );
    let mut copies = vec![copy(pebibyte - 1); 64];
    copies.extend([copy(pebibyte), copy(3)]);
    let (left, n_reported) = sizes(&copies);
    assert_eq!(
        (left[0], left[64], left[65], n_reported),
        (Bytes(pebibyte - 1), Bytes(-1), Bytes(3), 1)
    );
}

/// A device is not idle for years because one of its events has another clock.
#[test]
fn what_is_far_from_the_others_of_its_device() {
    let since_1970 = 1_790_857_026_000_000;
    let kernel = |device: u32, at: i64| {
        range("kernel", &format!("k{device}"), at, 5)
            .replace("\"pid\": 0", &format!("\"pid\": {device}"))
    };
    let events: Vec<String> =
        [0, since_1970, since_1970 + 9, since_1970 + 30].map(|at| kernel(0, at)).into();
    assert_eq!(left(&events), "k0, k0, k0, NotCredible 0 x1");
    // Devices with clocks of their own are both kept.
    let clocks: Vec<String> =
        events[1..].iter().cloned().chain([kernel(1, 5), kernel(1, 9)]).collect();
    assert_eq!(left(&clocks), "k0, k0, k0, k1, k1");
    // Two recordings of the same device in one file, a week apart.
    let week = i64::try_from(7 * DAY).unwrap();
    let twice: Vec<String> = [0, 9, week, week + 9].map(|at| kernel(0, since_1970 + at)).into();
    assert_eq!(left(&twice), "k0, k0, k0, k0");
}
