//! A device's memory, built by hand, to what is printed.

use expect_test::expect;
use std::path::PathBuf;

use ledger::{
    Bytes, DeviceKey, DeviceMemory, Held, Ledger, LineKey, LineMemory, MemoryPurpose,
    MemoryPurposes, Moment, Ns, OutOfMemory, Phase, Sample, StepMemory,
};
use loader::Run;

use super::*;
use crate::html::memory_plot;
use crate::terminal::{Colours, Terminal};
use crate::testing::{TextsInMemory, recording, sources};

const MIB: i64 = 1 << 20;

fn key(line: u32) -> LineKey {
    LineKey { file: "train.py".to_owned(), line }
}

/// Two lines on one device, and a request that failed.
fn run() -> Run {
    let forward = LineMemory {
        function: "forward".to_owned(),
        alloc: Bytes(900 * MIB),
        allocs: 90,
        freed: Bytes(880 * MIB),
        frees: 88,
        peak: Bytes(300 * MIB),
        peak_allocs: 30,
        live: Bytes(20 * MIB),
        live_allocs: 2,
        largest: Bytes(10 * MIB),
        lifetime: Ns(88_000_000),
        timed_frees: 88,
        saved: Bytes(600 * MIB),
        alloc_by_phase: [(Phase::Forward, Bytes(900 * MIB))].into(),
        peak_by_phase: [(Phase::Forward, Bytes(300 * MIB))].into(),
        ..LineMemory::default()
    };
    let state = LineMemory {
        function: "step".to_owned(),
        alloc: Bytes(100 * MIB),
        allocs: 4,
        peak: Bytes(100 * MIB),
        peak_allocs: 4,
        live: Bytes(100 * MIB),
        live_allocs: 4,
        largest: Bytes(25 * MIB),
        alloc_by_phase: [(Phase::Optimizer, Bytes(100 * MIB))].into(),
        peak_by_phase: [(Phase::Optimizer, Bytes(100 * MIB))].into(),
        ..LineMemory::default()
    };
    let failed = OutOfMemory {
        moment: Moment { event: 900, ..Moment::default() },
        line: Some(key(9)),
        requested: Bytes(512 * MIB),
        device_free: Bytes(100 * MIB),
        active: Bytes(700 * MIB),
        reserved: Bytes(800 * MIB),
        largest_free: Bytes(40 * MIB),
        free_elsewhere: Bytes(5 * MIB),
        holders: vec![(key(7), Held { bytes: Bytes(320 * MIB), allocs: 32 })],
        unattributed: Bytes(380 * MIB),
    };
    let sample =
        |at, active| Sample { at, active: Bytes(active * MIB), reserved: Bytes(800 * MIB) };
    let memory = DeviceMemory {
        peak: Bytes(800 * MIB),
        peak_moment: Moment {
            event: 500,
            at: Some(Ns(5_000_000)),
            step: Some(0),
            annotations: vec!["Optimizer.step#Adam.step".to_owned()],
        },
        requested_peak: Bytes(799 * MIB),
        before: Bytes(310 * MIB),
        before_at_peak: Bytes(300 * MIB),
        unattributed_peak: Bytes(400 * MIB),
        unattributed_end: Bytes(0),
        end: Bytes(120 * MIB),
        reserved: Bytes(800 * MIB),
        reserved_peak: Bytes(800 * MIB),
        events: 1000,
        out_of_memory: vec![failed],
        peak_by_phase: [(Phase::Forward, Bytes(300 * MIB)), (Phase::Backward, Bytes(60 * MIB))]
            .into(),
        has_times: true,
        timeline: (0..10)
            .map(|at| {
                sample(
                    at * 1_000_000,
                    [300, 400, 500, 600, 700, 800, 700, 500, 200, 120][at as usize],
                )
            })
            .collect(),
        steps: vec![StepMemory { name: "step 1".to_owned(), ..StepMemory::default() }],
        lines: [(key(7), forward), (key(3), state)].into(),
        ..DeviceMemory::default()
    };
    let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
    ledger.memory.insert(DeviceKey { rank: 0, device: 0 }, memory);
    Run {
        inputs: Vec::new(),
        failures: Vec::new(),
        ranks: Vec::new(),
        merged: ledger,
        texts: loader::TextsByFile::new(),
        commit: None,
        stacks: None,
        timeline: None,
        histories: Vec::new(),
    }
}

fn text_of(run: &Run, sources: &TextsInMemory, width: Option<usize>) -> String {
    let terminal = Terminal { colours: Colours::Plain, width };
    let mut out = Vec::new();
    write_text(&mut out, &build(&recording(run, sources), 15, &Default::default()), &terminal)
        .unwrap();
    String::from_utf8(out).unwrap()
}

fn json_of(run: &Run) -> String {
    let mut out = Vec::new();
    write_json(&mut out, &recording(run, &sources())).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn what_memory_is_for() {
    let mut run = run();
    let memory = run.merged.memory.values_mut().next().unwrap();
    let bytes = [
        (MemoryPurpose::Parameter, Bytes(300 * MIB)),
        (MemoryPurpose::OptimizerState, Bytes(500 * MIB)),
    ];
    memory.purposes =
        Some(MemoryPurposes { moment: memory.peak_moment.clone(), bytes: bytes.into() });
    let at_peak = "at the peak: parameters 300 MiB · optimizer state 500 MiB\n";
    assert!(
        text_of(&run, &sources(), None).contains(at_peak),
        "{}",
        text_of(&run, &sources(), None)
    );
    let json = json_of(&run);
    assert!(
        json.contains(r#""bytes": {"parameter": 314572800, "optimizer_state": 524288000}"#),
        "{json}"
    );
    let memory = run.merged.memory.values_mut().next().unwrap();
    memory.purposes.as_mut().unwrap().moment.event += 1;
    assert!(
        text_of(&run, &sources(), None)
            .contains("800 MiB in use at the highest moment of the last step: parameters")
    );
}

#[test]
fn text() {
    expect![[r#"
 · memory only

cuda:0 · peak 800 MiB after 5 ms (event 500 of 1000), in step 1, in Optimizer.step#Adam.step
reserved 800 MiB · 120 MiB in use at the end

  800 MiB │                                    ▂▂▂▂▂▂▂▂▂█████████▂▂▂▂▂▂▂▂▂
          │                           ▄▄▄▄▄▄▄▄▄███████████████████████████
          │                  ▆▆▆▆▆▆▆▆▆████████████████████████████████████▆▆▆▆▆▆▆▆▆
          │▂▂▂▂▂▂▂▂▂███████████████████████████████████████████████████████████████
          │████████████████████████████████████████████████████████████████████████▄▄▄▄▄▄▄▄▄
          │█████████████████████████████████████████████████████████████████████████████████▇▇▇▇▇▇▇▇
        0 └─────────────────────────────────────────────────────────────────────────────────────────
                                                        ▲ peak                                 10 ms

     peak   share  line                             function  tensors      end    alloc  allocs  largest  lifetime    saved  phase
  300 MiB  37.5 %  train.py:7                       forward        30   20 MiB  900 MiB      90   10 MiB      1 ms  600 MiB
  100 MiB  12.5 %  train.py:3                       step            4  100 MiB  100 MiB       4   25 MiB                     optimizer
  300 MiB  37.5 %  before recording began
   60 MiB   7.5 %  backward pass, no Python frames
   40 MiB     5 %  no Python frame

out of memory: 512 MiB asked for by train.py:9 after event 900
  100 MiB left on the device, 95 MiB reserved and free (largest piece 40 MiB), 700 MiB in use
  5 MiB more are free, but serve other streams or private pools alone
  317 MiB were missing; lines that held at least that much are marked
     held  tensors          line
  320 MiB       32  enough  train.py:7
  380 MiB                   without a line

Findings
  train.py:7 memory-peak-line: 37.5 % of the peak of 800 MiB (300 MiB) in 30 tensors on cuda:0
    A smaller peak begins here: smaller batches, a narrower dtype, in-place or fused operators,
    freeing what is no longer needed before this point.
"#]]
    .assert_eq(&text_of(&run(), &sources(), None));
}

#[test]
fn json_begins_with_the_contract() {
    let text = json_of(&run());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], "perfline.memory/1");
    let device = &value["devices"][0];
    let number = |value: &serde_json::Value| value.as_i64().unwrap();
    let names = [
        "device",
        "peak_bytes",
        "before_bytes",
        "end_bytes",
        "reserved_bytes",
        "unattributed_peak_bytes",
    ];
    let numbers = names.map(|name| number(&device[name]));
    assert_eq!(numbers, [0, 800 * MIB, 310 * MIB, 120 * MIB, 800 * MIB, 400 * MIB]);
    let lines = device["lines"].as_array().unwrap();
    let on_lines: i64 = lines.iter().map(|line| number(&line["peak_bytes"])).sum();
    assert_eq!(on_lines + numbers[5], numbers[1]);
    let first = &lines[0];
    assert_eq!(
        (&first["file"], &first["line"], &first["function"]),
        (&"train.py".into(), &7.into(), &"forward".into())
    );
    let names = ["peak_bytes", "alloc_bytes", "allocs", "live_bytes"];
    assert_eq!(names.map(|name| number(&first[name])), [300 * MIB, 900 * MIB, 90, 20 * MIB]);
    assert_eq!(first["mean_lifetime_us"], 1000);
    assert_eq!(lines[1]["mean_lifetime_us"], serde_json::Value::Null);
    assert_eq!(device["out_of_memory"][0]["holders"][0]["bytes"], 320 * MIB);
    assert_eq!(device["timeline"][1], serde_json::json!([1000, 400 * MIB, 800 * MIB]));
}

#[test]
fn without_a_snapshot_it_says_how_to_get_one() {
    let mut none = run();
    none.merged.memory.clear();
    assert!(text_of(&none, &sources(), None).contains("_dump_snapshot"));
    let value: serde_json::Value = serde_json::from_str(&json_of(&none)).unwrap();
    assert_eq!(value["devices"], serde_json::json!([]));
}

#[test]
fn the_picture_has_the_curve_and_the_peak() {
    let svg = memory_plot(&run().merged).unwrap();
    assert!(svg.starts_with("<svg"));
    assert!(svg.contains("peak 800 MiB"), "{svg}");
    assert!(svg.contains("<polygon") && svg.contains("<circle"), "{svg}");
}

#[test]
fn a_comment_silences_a_finding() {
    use ledger::{SourceFile, SourceFit};

    let mut run = run();
    let path = PathBuf::from("/home/me/train.py");
    let file = SourceFile {
        recorded: "train.py".to_owned(),
        path: Some(path.clone()),
        is_user_code: true,
        fit: SourceFit::Fits,
        ..SourceFile::default()
    };
    run.merged.files.insert("train.py".to_owned(), file);
    let text = format!("{}x = make()  # perfline: ignore[memory-peak-line]\n", "y = 1\n".repeat(6));
    let sources = TextsInMemory([(path, text)].into());
    // As narrow as a terminal can be.
    assert!(!text_of(&run, &sources, Some(1)).contains("Findings"));
}
