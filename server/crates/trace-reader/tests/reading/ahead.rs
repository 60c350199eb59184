//! Reading chunks ahead makes no difference to the result, wherever they are cut and whatever is in them.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use proptest::prelude::*;
use trace_reader::{SpeculativeReader, Trace, TraceReader};

use crate::dump::{dump, read};

/// Everything that can be observed of a trace, handles and their order included.
fn whole(trace: &Trace) -> (String, String) {
    let profile = &trace.profile;
    let strings: Vec<&str> = profile.strings.iter().map(|(_, text)| text).collect();
    let rows = (&profile.threads, &profile.host, &profile.memory, &profile.flows);
    let handles = (&profile.device.name, &profile.device.shape, &profile.device.stack);
    (dump(trace), format!("{strings:?} {rows:?} {handles:?} {}", trace.bytes))
}

/// Reads `pieces` as several cores do, each piece with what a core of `readers` reads of it ahead. Gives how many events
/// were read ahead too.
fn read_ahead(pieces: &[&[u8]], n_readers: usize) -> (Trace, usize) {
    let mut readers: Vec<SpeculativeReader> =
        (0..n_readers).map(|_| SpeculativeReader::new()).collect();
    let mut reader = TraceReader::new();
    let mut n_ahead = 0;
    for (index, piece) in pieces.iter().enumerate() {
        let chunk = readers[index % n_readers].read(piece);
        n_ahead += chunk.as_ref().map_or(0, |it| it.n_events());
        reader.feed_chunk(piece, chunk.as_ref());
    }
    (reader.finish(), n_ahead)
}

/// Elements of a trace: what reads well, what warns, what depends on what came before, what is damaged, and what looks
/// like the beginning of an event where none is.
const ELEMENTS: [&str; 33] = [
    r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 1.5, "dur": 9.031, "args": {"External id": 1, "Input Dims": [[2, 3], []]}}"#,
    r#"{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 8, "ts": 2, "dur": 1, "args": {"External id": 2, "Concrete Inputs": ["", "1"]}}"#,
    r#"{
    "ph": "X", "cat": "python_function", "name": "train.py(3): step", "pid": 7, "tid": 7, "ts": 1, "dur": 10,
    "args": {"Python id": 1, "CallFrom": "train.py:9"}
  }"#,
    r#"{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 9, "ts": 3, "dur": 1, "args": {"correlation": 4}}"#,
    r#"{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": {"grid": [1, 2, 3], "correlation": 4}}"#,
    r#"{"ph": "X", "cat": "kernel", "name": "k2", "pid": 1, "tid": 7, "ts": 5, "dur": 1, "args": {"grid": [4, 2, 3], "stack": ["a"]}}"#,
    r#"{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 7, "tid": 7, "ts": 0, "dur": 99}"#,
    r#"{"ph": "i", "name": "[memory]", "pid": 7, "tid": 7, "ts": 6, "args": {"Bytes": 64, "Addr": 512, "Device Type": 1}}"#,
    r#"{"ph": "s", "id": 3, "cat": "fwdbwd", "pid": 7, "tid": 7, "ts": 2}"#,
    r#"{"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "ts": 0, "args": {"name": "main"}}"#,
    r#"{"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "ts": 0, "args": {"name": "other"}}"#,
    r#"{"ph": "X", "cat": "from_the_future", "name": "x", "pid": 7, "tid": 7, "ts": 0, "dur": 1}"#,
    r#"{"ph": "X", "cat": "cpu_op", "name": "x", "pid": 7, "tid": 7, "ts": NaN, "dur": -1}"#,
    r#"{"ph": "X", "cat": "cpu_op", "name": "x", "pid": 7, "tid": 7, "ts": 4, "dur": -1}"#,
    r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 1.5, "dur": 9.031, "args": null}"#,
    r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 1.5, "dur": 9.031, "args": []}"#,
    r#"{"ph": "i", "name": "[memory]", "pid": 7, "tid": 7, "ts": 6, "args": ""}"#,
    r#"{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": 5}"#,
    r#"{"ph": "X", "cat": "kernel", "name": "never ended", "pid": 0, "tid": 7, "ts": 5, "dur": 9223372036854775, "args": {"bytes": 9223372036854775807}}"#,
    r#"{"ph": "X", "cat": "kernel", "name": "a year", "pid": 0, "tid": 7, "ts": 5, "dur": 31536000000000, "args": {"bytes": 1125899906842624}}"#,
    r#"{"ph": "X", "cat": "cpu_op", "name": "two years", "pid": 7, "tid": 7, "ts": 5, "dur": 63072000000000}"#,
    r#"{"ph": "X", "cat": "kernel", "name": "far", "pid": 0, "tid": 7, "ts": 1790857026000000, "dur": 1}"#,
    r#"{"ph": "i", "name": "[memory]", "pid": 7, "tid": 7, "ts": 6, "args": {"Bytes": 1125899906842624}}"#,
    r#"{"ph": "X", "cat": "cpu_op", "name": "C:\dir\", "pid": 7, "tid": 7, "ts": 1, "dur": 1}"#,
    r#"{"ph": "X", "cat": "cpu_op", "name": "x", "pid": "a\qb", "tid": 7, "ts": 1, "dur": 1}"#,
    r#"{"ph": "B", "cat": "cpu_op", "name": "begun", "pid": 7, "tid": 7, "ts": 1}"#,
    r#"{"ph": "E", "pid": 7, "tid": 7, "ts": 8}"#,
    r#"{"ph": "X", "name": , "pid": 7}"#,
    r#"{"ph": "X", "cat": "cpu_op", "name": "lost, "pid": 7, "tid": 7, "ts": 1, "dur": 1}"#,
    r#"{"ph": "X", "cat": "cpu_op", "name": "nested", "pid": 7, "tid": 7, "ts": 1, "dur": 1, "args": {"list": [{}, {"ph": "X", "cat": "cpu_op", "name": "inside", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}}"#,
    r#"{"ph": "X", "cat": "cpu_op", "name": "}, {\"ph\": 1", "pid": 7, "tid": 7, "ts": 1, "dur": 1}"#,
    "12",
    "],",
];

/// Elements at the beginning of [`ELEMENTS`] that cost no other element anything.
const N_CLEAN: usize = 23;

fn trace_of(elements: &[usize]) -> Vec<u8> {
    let events: Vec<&str> = elements.iter().map(|&it| ELEMENTS[it]).collect();
    format!(
        "{{\"schemaVersion\": 1, \"traceEvents\": [\n  {}\n], \"with_stack\": 1}}",
        events.join(",\n  ")
    )
    .into_bytes()
}

#[test]
fn events_that_look_into_each_other_are_distinguished() {
    // In each, something other than an event begins like one.
    for element in [29, 30] {
        let trace = trace_of(&[0, element, 1, element, element, 2]);
        let expected = whole(&read(&trace));
        for at in 0..trace.len() {
            let (head, tail) = trace.split_at(at);
            assert_eq!(whole(&read_ahead(&[head, tail], 1).0), expected, "cut at {at}");
        }
    }
}

#[test]
fn recordings_are_read_ahead_almost_whole() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    for name in [
        "cpu/torch1.13.1/two_ranks.rank0.json.gz",
        "cpu/torch2.15.0/scheduled.0.json.gz",
        "simulated_cuda/torch2.15.0/slow_model.json.gz",
    ] {
        let mut trace = Vec::new();
        let file = std::fs::File::open(fixtures.join(name)).unwrap();
        GzDecoder::new(file).read_to_end(&mut trace).unwrap();
        let pieces: Vec<&[u8]> = trace.chunks(100_000).collect();
        let (ahead, n_ahead) = read_ahead(&pieces, 2);
        assert_eq!(whole(&ahead), whole(&read(&trace)), "{name}");
        let n_events = usize::try_from(ahead.events).unwrap();
        assert!(n_ahead + 4 * pieces.len() > n_events, "{name}: {n_ahead} of {n_events}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn reading_ahead_makes_no_difference(
        elements in proptest::collection::vec(0..ELEMENTS.len(), 1..60),
        is_clean in any::<bool>(),
        cuts in proptest::collection::vec(0_usize..8000, 0..12),
        n_readers in 1_usize..4,
    ) {
        // Where much is damaged, little is read ahead: both kinds of traces matter.
        let elements: Vec<usize> = elements.iter().map(|it| if is_clean { it % N_CLEAN } else { *it }).collect();
        let trace = trace_of(&elements);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|it| it % trace.len()).collect();
        cuts.extend([0, trace.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|it| &trace[it[0]..it[1]]).collect();
        let (ahead, _) = read_ahead(&pieces, n_readers);
        prop_assert_eq!(whole(&ahead), whole(&read(&trace)));
    }
}
