use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::{Error, FlightDump, GroupDiagnosis, GroupState, looks_like_dump, read_dump};

fn diagnose(dumps: &[(u32, FlightDump)]) -> Vec<GroupDiagnosis<'_>> {
    let dumps: Vec<_> = dumps.iter().map(|(rank, dump)| (*rank, dump)).collect();
    crate::diagnose(&dumps, &is_library)
}

fn bytes(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/flight_recorder");
    let file = std::fs::File::open(folder.join(name)).unwrap();
    let mut bytes = Vec::new();
    let mut reader: Box<dyn Read> =
        if name.ends_with(".gz") { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
    reader.read_to_end(&mut bytes).unwrap();
    bytes
}

fn recorded(folder: &str, ending: &str, ranks: &[u32]) -> Vec<(u32, FlightDump)> {
    let read = |rank: &u32| {
        let bytes = bytes(&format!("{folder}/nccl_trace_rank_{rank}{ending}"));
        assert!(looks_like_dump(&bytes[..bytes.len().min(4096)]));
        (*rank, read_dump(&bytes).unwrap())
    };
    ranks.iter().map(read).collect()
}

fn is_library(file: &str) -> bool {
    file.contains("site-packages") || file.starts_with('<')
}

/// `all_reduce 0,2 hanging.py:13 ← hanging.py:29`.
fn shown(calls: &[crate::SharedCall<'_>]) -> Vec<String> {
    let place =
        |it: &&crate::FlightFrame| format!("{}:{}", it.file.rsplit('/').next().unwrap(), it.line);
    let line = |it: &crate::SharedCall<'_>| {
        let ranks: Vec<String> = it.ranks.iter().map(u32::to_string).collect();
        let stack: Vec<String> = it.stack.iter().take(2).map(place).collect();
        format!("{} {} {}", it.entry.kind, ranks.join(","), stack.join(" ← "))
    };
    calls.iter().map(line).collect()
}

/// The line of `hanging.py` with this text.
fn line_of(text: &str) -> usize {
    let program = include_str!("../../../../fixtures/flight_recorder/hanging.py");
    program.lines().position(|it| it.contains(text)).unwrap() + 1
}

#[test]
fn a_rank_that_left_the_loop_called_something_else() {
    for (folder, ending) in [("skipping", ".gz"), ("skipping_json", ".json")] {
        let dumps = recorded(folder, ending, &[0, 1, 2]);
        let groups = diagnose(&dumps);
        let [group] = groups.as_slice() else { panic!("{groups:?}") };
        assert_eq!((group.description, group.state), ("default_pg", GroupState::Mismatch));
        assert_eq!((group.ranks.as_slice(), group.sequence), ([0, 1, 2].as_slice(), 6));
        let expected = match ending {
            ".gz" => {
                let (inner, outer) =
                    (line_of("dist.all_reduce"), line_of("        average(gradient)"));
                let barrier = line_of("dist.barrier()");
                vec![
                    format!("all_reduce 0,2 hanging.py:{inner} ← hanging.py:{outer}"),
                    format!(
                        "barrier 1 hanging.py:{barrier} ← hanging.py:{}",
                        line_of("PROGRAMS[sys")
                    ),
                ]
            }
            // Without stacks.
            _ => vec!["all_reduce 0,2 ".to_owned(), "barrier 1 ".to_owned()],
        };
        assert_eq!(shown(&group.calls), expected);
    }
}

#[test]
fn a_rank_that_is_late_has_not_called_what_others_wait_in() {
    let dumps = recorded("late", ".gz", &[0, 1, 2]);
    let groups = diagnose(&dumps);
    let [group] = groups.as_slice() else { panic!("{groups:?}") };
    assert_eq!((group.state, group.sequence), (GroupState::NotCalled, 4));
    assert_eq!(group.calls[0].ranks, [0, 1]);
    assert_eq!(group.behind[0].ranks, [2]);
    assert_eq!(group.behind[0].entry.sequence, 3);
    assert!(group.silent.is_empty() && group.without_dump.is_empty());
    // Gloo does not say what has begun.
    assert!(group.not_started.is_empty());
}

#[test]
fn ranks_in_different_branches_call_different_collectives() {
    let dumps = recorded("branching", ".gz", &[0, 1, 2]);
    let groups = diagnose(&dumps);
    assert_eq!((groups[0].state, groups[0].sequence), (GroupState::Mismatch, 3));
    let kinds: Vec<_> = groups[0].calls.iter().map(|it| it.entry.kind.as_str()).collect();
    assert_eq!(kinds, ["all_reduce", "broadcast"]);
}

#[test]
fn a_rank_that_died_left_no_dump() {
    let dumps = recorded("uneven", ".gz", &[0, 1]);
    let groups = diagnose(&dumps);
    assert_eq!(groups[0].without_dump, [2]);
    assert_eq!((groups[0].state, groups[0].sequence), (GroupState::Ended, 6));
}

#[test]
fn what_has_ended_is_not_accused() {
    let dumps = recorded("finished", ".gz", &[0, 1, 2]);
    let groups = diagnose(&dumps);
    assert_eq!((groups[0].state, groups[0].sequence), (GroupState::Ended, 6));
    assert_eq!(groups[0].calls[0].ranks, [0, 1, 2]);
}

/// An entry as NCCL's watchdog writes it.
fn entry(group: &str, sequence: u64, kind: &str, state: &str) -> Value {
    json!({
        "pg_id": group.parse::<u32>().unwrap(), "process_group": [group, "TP"], "collective_seq_id": sequence, "p2p_seq_id": 0,
        "is_p2p": false, "profiling_name": format!("nccl:{kind}"), "state": state, "retired": state == "completed",
        "input_sizes": [[8]], "input_dtypes": ["Float"], "output_sizes": [[8]], "time_created_ns": 100 + sequence,
        "time_discovered_started_ns": if state == "scheduled" { Value::Null } else { json!(200) },
        "frames": [{"name": "f", "filename": "/p/train.py", "line": sequence}],
    })
}

fn dump(entries: &[Value], ranks: &str) -> FlightDump {
    let text = json!({
        "version": "2.5", "pg_config": {"0": {"ranks": ranks}, "7": {"ranks": ranks}}, "entries": entries,
    });
    read_dump(text.to_string().as_bytes()).unwrap()
}

fn state_of(dumps: &[(u32, FlightDump)]) -> (GroupState, u64, Vec<u32>, Vec<u32>, Vec<u32>) {
    let groups = diagnose(dumps);
    let GroupDiagnosis { state, sequence, not_started, ended, silent, .. } = &groups[0];
    (*state, *sequence, not_started.clone(), ended.clone(), silent.clone())
}

#[test]
fn a_device_that_has_not_begun_is_named() {
    let done = entry("0", 1, "all_reduce", "completed");
    let with = |state: &str| dump(&[done.clone(), entry("0", 2, "all_reduce", state)], "[0, 1]");
    let dumps = [(0, with("started")), (1, with("scheduled"))];
    assert_eq!(state_of(&dumps), (GroupState::Running, 2, vec![1], vec![], vec![]));
    // Without timing, nobody says what has begun.
    let mut silent = done.clone();
    silent["time_discovered_started_ns"] = Value::Null;
    let dumps = [
        (0, with("started")),
        (1, dump(&[silent, entry("0", 2, "all_reduce", "scheduled")], "[0, 1]")),
    ];
    assert_eq!(state_of(&dumps), (GroupState::Running, 2, vec![], vec![], vec![]));
    let dumps = [(0, with("started")), (1, with("completed"))];
    assert_eq!(state_of(&dumps), (GroupState::Running, 2, vec![], vec![1], vec![]));
}

#[test]
fn a_rank_without_any_call_in_a_group_is_silent() {
    let waiting = dump(&[entry("7", 1, "all_reduce", "started")], "[0, 1]");
    let elsewhere = dump(&[], "[0, 1]");
    let dumps = [(0, waiting), (1, elsewhere)];
    assert_eq!(state_of(&dumps), (GroupState::NotCalled, 1, vec![], vec![], vec![1]));
}

#[test]
fn sizes_count_where_they_have_to_be_equal() {
    let other = |kind: &str, sizes: Value| {
        let mut entry = entry("0", 1, kind, "scheduled");
        entry["input_sizes"] = sizes;
        dump(&[entry], "[0, 1]")
    };
    for (kind, sizes, expected) in [
        ("all_reduce", json!([[9]]), GroupState::Mismatch),
        ("all_reduce", json!([[2, 4]]), GroupState::Running),
        ("all_reduce", json!([[2], [6]]), GroupState::Running),
        ("all_to_all", json!([[9]]), GroupState::Running),
    ] {
        let usual = dump(&[entry("0", 1, kind, "scheduled")], "[0, 1]");
        let dumps = [(0, usual), (1, other(kind, sizes))];
        assert_eq!(state_of(&dumps).0, expected, "{kind}");
    }
}

#[test]
fn calls_that_left_the_ring_say_nothing() {
    let status = |called: u64, ended: u64| json!({"7": {"last_enqueued_collective": called, "last_started_collective": called, "last_completed_collective": ended}});
    let of = |sequences: &[u64], status: Value| {
        let entries: Vec<Value> =
            sequences.iter().map(|it| entry("7", *it, "all_reduce", "scheduled")).collect();
        let text = json!({"entries": entries, "pg_config": {"7": {"ranks": "[0, 1]"}}, "pg_status": status});
        read_dump(text.to_string().as_bytes()).unwrap()
    };
    let dumps = [(0, of(&[8, 9, 10], status(10, 8))), (1, of(&[9, 10, 11], status(11, 9)))];
    assert_eq!(state_of(&dumps), (GroupState::Running, 9, vec![], vec![1], vec![]));
}

#[test]
fn sends_that_nobody_receives_are_pending() {
    let mut send = entry("0", 0, "send 0->1", "scheduled");
    (send["is_p2p"], send["p2p_seq_id"]) = (json!(true), json!(4));
    let dumps = [(0, dump(&[send], "[0, 1]")), (1, dump(&[], "[0, 1]"))];
    let groups = diagnose(&dumps);
    assert_eq!(shown(&groups[0].pending), ["send 0->1 0 train.py:0"]);
    assert_eq!(groups[0].pending[0].entry.sequence, 4);
    assert_eq!(groups[0].state, GroupState::Ended);
}

#[test]
fn traces_and_snapshots_are_no_dumps() {
    assert!(!looks_like_dump(
        br#"{"distributedInfo": {"pg_config": []}, "traceEvents": [{"collective_seq_id": 1}"#
    ));
    assert!(!looks_like_dump(b"\x80\x02}q\x00(X\x08\x00\x00\x00segmentsq\x01]"));
    assert!(!looks_like_dump(b"pg_config"));
}

#[test]
fn damage_costs_what_is_behind_it() {
    let whole = bytes("skipping/nccl_trace_rank_0.gz");
    let all = read_dump(&whole).unwrap();
    let cut = read_dump(&whole[..whole.len() - 300]).unwrap();
    assert!(!cut.entries.is_empty() && cut.entries.len() < all.entries.len());
    assert!(cut.warnings[0].starts_with("the pickle is damaged at byte"), "{:?}", cut.warnings);
    assert!(matches!(read_dump(b"{\"entries\": [").unwrap_err(), Error::Json(_)));
    assert_eq!(read_dump(b"{\"version\": \"2.5\"}").unwrap_err(), Error::Other);
    assert_eq!(read_dump(b"\x80\x02cos\nsystem\n.").unwrap_err(), Error::Code(2));
    for end in 0..whole.len() {
        // No prefix does harm.
        let _ = read_dump(&whole[..end]);
    }
}
