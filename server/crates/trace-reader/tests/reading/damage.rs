//! What is left of damaged traces.

use crate::dump::{dump, read, unindent};
use proptest::prelude::*;

fn check(input: &[u8], expected: &str) {
    let actual = dump(&read(input));
    assert_eq!(actual, unindent(expected), "\n{}\n{actual}", String::from_utf8_lossy(input));
}

const HEAD: &str = "{\"schemaVersion\": 1, \"traceEvents\": [\n";
const TAIL: &str = "],\n\"traceName\": \"x\", \"baseTimeNanoseconds\": 5}\n";

fn event(name: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": 1, "dur": 2}}"#
    )
}

/// A trace of three events of which the second one is replaced.
fn with_second(second: &str) -> Vec<u8> {
    format!("{HEAD}{},\n{second},\n{}{TAIL}", event("first"), event("third")).into_bytes()
}

/// Whatever is wrong with an event, the others are read, and what follows them.
#[test]
fn damage_costs_the_damaged() {
    let damaged = [
        // A value is missing; a brace; a quote; a colon; a comma.
        r#"{"ph": "X", "name": , "pid": 1}"#,
        r#"{"ph": "X", "cat": "cpu_op", "name": "a", "args": {"x": [1, 2}, "ts": 1}"#,
        r#"{"ph": "X", "cat": "cpu_op", "name": "a, "pid": 1, "ts": 1, "dur": 1}"#,
        r#"{"ph" "X", "cat": "cpu_op", "name": "a"}"#,
        r#"{"ph": "X" "cat": "cpu_op", "name": "a"}"#,
        // A block of the file is missing: inside a string, a list, the args, between events.
        r#"{"ph": "X", "cat": "cpu_op", "name": "aten::a"#,
        r#"{"ph": "X", "cat": "cpu_op", "name": "aten::a", "args": {"Input Dims": [[1, 2], [3"#,
        r#"{"ph": "X", "cat": "cpu_op", "name": "aten::a", "args": {"x": {"y": "#,
        r#"{"ph": "X", "cat": "cpu_op", "name": "a", "args": {"Input type": ["float, "Scalar"], "x": ["y"]}}"#,
        r#"{"ph": "X", "cat": "cpu_op", "name": "a", "args": {"Input type": [[[["float"]}}"#,
        r#"al id": 5, "Input Dims": [[1]]}}"#,
        r#"}"#,
        // Something else: zeros where the disk was never written, binary, text, a word.
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        "{\"ph\": \"X\", \"cat\": \"cpu_\0\0\0\0",
        "{\"ph\": \"X\", \"args\": {\"Input Dims\": [[1, \0\0\0\0], []]}}",
        "\u{1}\u{80}\u{7f}[[{{\"\u{2}",
        "<html>",
        "undefined: {}",
    ];
    for second in damaged {
        let trace = read(&with_second(second));
        let text = dump(&trace);
        assert!(text.contains("\"first\"") && text.contains("\"third\""), "{second}\n{text}");
        assert!(
            text.contains("base 5\n") && text.contains("warning Malformed @"),
            "{second}\n{text}"
        );
        assert!(trace.lost_bytes > 0 && !trace.complete, "{second}\n{text}");
        assert!(trace.lost_bytes <= second.len() as u64 + 4, "{second}\n{text}");
    }
}

/// The offset is where the file cannot be read on, and the loss reaches to the next event.
#[test]
fn damage_is_reported_where_it_is() {
    check(
        &with_second(r#"{"ph": "X", oops "name": "second"}"#),
        r#"
        base 5
        thread 1/1
        Operator "first" 1000+2000 on 0
        Operator "third" 1000+2000 on 0
        warning Malformed @136 x1: bytes that cannot be read were skipped
        2 events, incomplete, 36 bytes lost
        "#,
    );
}

/// A trace may begin with damage, or in the middle of an event.
#[test]
fn a_missing_head_costs_the_head() {
    check(
        format!("ame\": \"half\", \"ts\": 5}},\n{},\n{}{TAIL}", event("a"), event("b")).as_bytes(),
        r#"
        base 5
        thread 1/1
        Operator "a" 1000+2000 on 0
        Operator "b" 1000+2000 on 0
        warning Malformed @0 x1: bytes that cannot be read were skipped
        2 events, incomplete, 24 bytes lost
        "#,
    );
}

/// A value without an end does not swallow what follows.
#[test]
fn an_unfinished_value_does_not_swallow_the_rest() {
    check(
        format!("{HEAD}{},\n{{\"name\": \"x\", \"args\": [[[,\n{{\"name\": \"inner\", \"ph\": \"X\", \"cat\": \"kernel\", \"ts\": 1, \"dur\": 1}},\n", event("a")).as_bytes(),
        r#"
        thread 1/1
        Operator "a" 1000+2000 on 0
        Kernel "inner" 1000+1000 on -1:-1
        warning Malformed @120 x1: a value without an end was skipped
        warning Truncated @213 x1: the file ends before the trace does; everything before was read
        2 events, incomplete, 27 bytes lost
        "#,
    );
}

/// Cut at any byte, all events before the cut are read, and the reader says what is missing.
#[test]
fn cut_off_anywhere() {
    let names = ["aten::mm", "naïve", r"C:\\dir\\", "{["];
    let events: Vec<String> = names.iter().map(|it| event(it)).collect();
    let text = format!("{HEAD}{}{TAIL}", events.join(",\n")).into_bytes();
    let mut ends = Vec::new();
    let mut end = HEAD.len();
    for event in &events {
        ends.push(end + event.len());
        end += event.len() + 2;
    }
    for len in 0..text.len() {
        let trace = read(&text[..len]);
        let n_whole = ends.iter().filter(|&&it| it <= len).count();
        assert_eq!(trace.events, n_whole as u64, "{}", String::from_utf8_lossy(&text[..len]));
        assert_eq!(trace.bytes, len as u64);
        // What follows the last brace is only a line break.
        let is_whole = len >= text.len() - 1;
        assert_eq!(trace.complete, is_whole, "{}", String::from_utf8_lossy(&text[..len]));
        let kinds: Vec<String> = trace.warnings.iter().map(|it| format!("{:?}", it.kind)).collect();
        let expected: &[&str] = if is_whole || len == 0 { &[] } else { &["Truncated"] };
        assert_eq!(kinds, expected, "{}", String::from_utf8_lossy(&text[..len]));
        let read_to = trace.warnings.iter().find_map(|it| it.offset).unwrap_or(len as u64);
        assert_eq!(
            trace.lost_bytes,
            len as u64 - read_to,
            "{}",
            String::from_utf8_lossy(&text[..len])
        );
    }
}

/// A file that makes the reader go back as often as possible is still read in linear time.
#[test]
fn going_back_is_bounded() {
    let malformed = [
        r#"{"name":["#.repeat(100_000),
        r#"{"name":[{"a":"#.repeat(70_000) + "x",
        r#"{"name":"\"#.repeat(100_000),
        r#"{"ph":{"#.repeat(100_000),
        "[".repeat(1_000_000),
        "{\"a\":".repeat(200_000),
        "\"".repeat(1_000_000),
        "\\\"".repeat(500_000),
        "{".repeat(1_000_000),
    ];
    for text in malformed {
        let text = format!("{HEAD}{text}");
        let start = std::time::Instant::now();
        let trace = read(text.as_bytes());
        assert!(!trace.complete);
        // Unoptimised it takes well under a second; quadratic time would be minutes.
        assert!(start.elapsed().as_secs() < 20, "{}", &text[..100]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Nothing makes the reader panic, and what it says about lengths is true.
    #[test]
    fn any_damage_is_survived(
        changes in proptest::collection::vec((0_usize..600, any::<u8>()), 1..20),
        removed in 0_usize..600,
        n_removed in 0_usize..100,
    ) {
        let mut text = with_second(r#"{"ph": "X", "cat": "kernel", "name": "a\n\\é", "ts": 1.5, "args": {"grid": [1, 2, 3], "x": {"y": []}}}"#);
        for (at, byte) in changes {
            let at = at % text.len();
            text[at] = byte;
        }
        let start = removed % text.len();
        let end = text.len().min(start + n_removed);
        text.drain(start..end);
        let trace = read(&text);
        prop_assert_eq!(trace.bytes, text.len() as u64);
        prop_assert!(trace.lost_bytes <= trace.bytes);
        prop_assert!(trace.warnings.iter().all(|it| it.offset.is_some_and(|it| it <= trace.bytes)));
        prop_assert!(trace.complete || !trace.warnings.is_empty() || text.is_empty());
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(prop_oneof![Just(b'{'), Just(b'"'), Just(b'['), Just(b'\\'), Just(b','), Just(b':'), any::<u8>()], 0..200)) {
        let trace = read(&[HEAD.as_bytes(), bytes.as_slice()].concat());
        prop_assert!(trace.lost_bytes <= trace.bytes);
        prop_assert!(read(&bytes).lost_bytes <= bytes.len() as u64);
    }
}
