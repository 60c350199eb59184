//! Recordings of a CUDA device (an H200, PyTorch 2.11) with the programs that were recorded: device time on the right lines, in code
//! that is compiled, that is captured into graphs, and in both.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ledger::{Evidence, LineBooks, Ns};
use loader::{InputKind, LoadOptions, Run, StackChoice, Watch, load};
use tests::fixtures::repository;

fn cuda() -> PathBuf {
    repository().join("fixtures/cuda")
}

fn loaded(inputs: &[PathBuf], root: PathBuf) -> Run {
    let options =
        LoadOptions { stacks: StackChoice::No, ..LoadOptions::new(root, Some(Vec::new())) };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let run = load(inputs, &options, &watch).unwrap();
    assert!(run.merged.adds_up());
    run
}

/// A workload, with its snapshot if `with_memory`.
fn workload(trace: &str, with_memory: bool) -> Run {
    let folder = cuda().join("torch2.11.0");
    let name = Path::new(trace).file_stem().unwrap().to_str().unwrap();
    let mut inputs = vec![folder.join(format!("{trace}.json.gz"))];
    inputs.extend(with_memory.then(|| folder.join(format!("{name}.snapshot.pickle.gz"))));
    loaded(&inputs, repository().join("fixtures/workloads"))
}

/// What `perfline record` wrote of a program, beside the program.
fn recorded(name: &str) -> Run {
    let folder = cuda().join("recorded").join(name);
    loaded(&[folder.join(format!("{name}.pt.trace.json.gz"))], folder)
}

/// The lines of `file`.
fn lines<'a>(run: &'a Run, file: &str) -> BTreeMap<u32, &'a LineBooks> {
    let lines = run.merged.lines_with_books().filter(|(key, _)| key.file.ends_with(file));
    lines.map(|(key, books)| (key.line, books)).collect()
}

fn text(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

fn text_of_workload(name: &str) -> Vec<String> {
    text(&repository().join("fixtures/workloads").join(name))
}

/// The device time of the lines whose text holds `text`, as a share of that of all.
fn share_on(run: &Run, name: &str, holds: &[&str]) -> f64 {
    let text = text_of_workload(name);
    let on = |line: u32| holds.iter().any(|it| text[line as usize - 1].contains(it));
    let lines = lines(run, name);
    let time: Ns = lines.iter().filter(|(line, _)| on(**line)).map(|(_, it)| it.cuda_own).sum();
    time.as_f64() / run.merged.totals.cuda.as_f64()
}

const COMPILED: [&str; 10] = [
    "compiled_attention",
    "compiled_breaks",
    "compiled_checkpoint",
    "compiled_conv",
    "compiled_dynamic",
    "compiled_function",
    "compiled_mixed",
    "compiled_mlp",
    "compiled_optimizer",
    "compiled_triton",
];

/// All device time is on lines of the program, and next to nothing of it on a `def`, where compiled code stands whose lines are not
/// known. What is not exact is launched by code that is not compiled.
#[test]
fn kernels_of_compiled_code_stand_on_the_lines_that_they_were_made_from() {
    for name in COMPILED {
        let run = workload(&format!("{name}/{name}"), false);
        let (file, totals) = (format!("{name}.py"), run.merged.totals);
        let text = text_of_workload(&file);
        let on_lines: Ns = lines(&run, &file).values().map(|it| it.cuda_own).sum();
        assert_eq!(on_lines, totals.cuda, "{name}: all of it is on lines of the program");
        let is_definition = |line: u32| text[line as usize - 1].trim_start().starts_with("def ");
        let at_definitions: Ns = lines(&run, &file)
            .iter()
            .filter(|it| is_definition(*it.0))
            .map(|it| it.1.cuda_own)
            .sum();
        assert!(
            at_definitions.as_f64() <= 0.01 * totals.cuda.as_f64(),
            "{name}: {at_definitions:?} of {:?} at definitions",
            totals.cuda
        );
        let inferred = lines(&run, &file).into_values().filter(|it| it.evidence != Evidence::Exact);
        let inferred: Ns = inferred.map(|it| it.cuda_own).sum();
        assert!(inferred.as_f64() <= 0.35 * totals.cuda.as_f64(), "{name}: {inferred:?} not exact");
    }
}

/// Convolutions are on the four lines that call one, forward and backward, and on no line that made their inputs.
#[test]
fn kernels_of_libraries_stand_on_the_line_that_asked_for_them() {
    let run = workload("compiled_conv/compiled_conv", false);
    let text = text_of_workload("compiled_conv.py");
    let asks = ["self.stem(", "self.first(", "self.second(", "self.head("];
    let mut seen = BTreeSet::new();
    for (line, books) in lines(&run, "compiled_conv.py") {
        let is_convolution = |it: &str| {
            ["fprop", "dgrad", "wgrad", "convolve", "implicit_gemm"]
                .iter()
                .any(|part| it.contains(part))
        };
        if books.kernel_table.keys().any(|it| is_convolution(&it.name)) {
            let text = &text[line as usize - 1];
            assert!(asks.iter().any(|it| text.contains(it)), "{line}: {text}");
            seen.insert(line);
        }
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
    let run = workload("compiled_attention/compiled_attention", false);
    let attention = share_on(&run, "compiled_attention.py", &["F.scaled_dot_product_attention("]);
    assert!(attention > 0.2, "{attention}");
}

/// What the same program launches from which line without graphs was seen by a tracer (`fixtures/kernel_truth.py`): the decoder for
/// each size of a batch, and the forward pass of a training step.
#[test]
fn kernels_of_graphs_stand_on_the_lines_that_launch_them_without_graphs() {
    let run = workload("graphs", false);
    let truth = cuda().join("torch2.11.0/graphs.kernels.json");
    let truth: Vec<(u32, String, String, u64)> =
        serde_json::from_str(&std::fs::read_to_string(truth).unwrap()).unwrap();
    let mut expected: BTreeMap<(u32, String), u64> = BTreeMap::new();
    for (line, _, kernel, count) in truth.into_iter().filter(|it| it.1 == "forward") {
        *expected.entry((line, kernel)).or_default() += count;
    }
    let mut found: BTreeMap<(u32, String), u64> = BTreeMap::new();
    let of_forward: BTreeSet<u32> = expected.keys().map(|it| it.0).collect();
    for (line, books) in
        lines(&run, "graphs.py").into_iter().filter(|it| of_forward.contains(&it.0))
    {
        for (key, kernel) in &books.kernel_table {
            *found.entry((line, key.name.clone())).or_default() += kernel.calls;
        }
    }
    assert_eq!(found, expected);
    let captures = run.inputs.iter().filter(|it| it.kind == InputKind::GraphCapture).count();
    assert_eq!(captures, 1);
}

/// `perfline record` recorded what was captured, with exact lines.
#[test]
fn recorded_captures_give_replays_exact_lines() {
    let run = recorded("graph_server");
    let forward: Vec<u32> = (13..=16).collect();
    let lines_of_server = lines(&run, "graph_server.py");
    let captured: Ns = forward.iter().map(|it| lines_of_server[it].cuda_own).sum();
    assert!(captured.as_f64() > 0.75 * run.merged.totals.cuda.as_f64(), "{captured:?}");
    assert!(forward.iter().all(|it| lines_of_server[it].evidence == Evidence::Exact));
    let captures = run.inputs.iter().filter(|it| it.kind == InputKind::GraphCapture).count();
    assert_eq!(captures, 3, "one for each size of a batch");
}

/// Branches on up to three streams, in graphs that `perfline record` saw captured before it recorded, beside the same program
/// without graphs: each line has as many kernels. A graph of the last model was captured again between the steps, which
/// changes how often its lines run.
#[test]
fn kernels_of_branches_on_several_streams_are_on_the_lines_that_launch_them_without_graphs() {
    let folder = cuda().join("recorded/branches_in_graph");
    let without = "branches_without_graph/branches_without_graph.pt.trace.json.gz";
    let without = loaded(&[cuda().join("recorded").join(without)], folder.clone());
    let run = recorded("branches_in_graph");
    let kernels = |run: &Run| -> BTreeMap<u32, (u64, Evidence)> {
        let lines = lines(run, "branches_in_graph.py").into_iter();
        let launching = lines.filter(|(line, it)| *line < 80 && it.kernels > 0);
        launching.map(|(line, it)| (line, (it.kernels, it.evidence))).collect()
    };
    let found = kernels(&run);
    assert_eq!(found, kernels(&without));
    assert_eq!(found.values().map(|it| it.0).sum::<u64>(), 399);
    assert!(found.values().all(|it| it.1 == Evidence::Exact));
    // What of a branch runs after it was waited for, and what joins the two.
    let lines = lines(&run, "branches_in_graph.py");
    let of_overlap = [(84, 3), (85, 3), (86, 3), (87, 9), (88, 3), (91, 3), (93, 6)];
    assert!(of_overlap.iter().all(|(line, n)| lines[line].kernels == *n));
    // Of each line: the graph was replayed three times, however many kernels the line has in it.
    for (line, _) in of_overlap {
        let replays: Vec<u64> = lines[&line].replayed.values().map(|it| it.replays).collect();
        assert_eq!(replays, [3], "line {line}");
    }
    let name_of = |line: u32| lines[&line].kernel_table.keys().next().unwrap().name.clone();
    assert!(name_of(85).contains("sin_kernel") && name_of(91).contains("reduce_kernel"));
    assert!(run.inputs.iter().all(|it| it.warnings.is_empty()), "no replay was refused");
}

/// The same with the captures hidden: each line has the kernels that it has with them, from the run without graphs.
#[test]
fn kernels_of_branches_have_their_lines_from_the_run_without_graphs() {
    let folder = cuda().join("recorded");
    let hidden = tempfile::tempdir().unwrap();
    for ending in ["pt.trace.json.gz", "callers.json.gz"] {
        let name = format!("branches_in_graph.{ending}");
        std::fs::copy(folder.join("branches_in_graph").join(&name), hidden.path().join(&name))
            .unwrap();
    }
    let without = "branches_without_graph/branches_without_graph.pt.trace.json.gz";
    let options = LoadOptions {
        lines_from: vec![folder.join(without)],
        ..LoadOptions::new(folder.join("branches_in_graph"), Some(Vec::new()))
    };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let trace = hidden.path().join("branches_in_graph.pt.trace.json.gz");
    let run = load(&[trace], &options, &watch).unwrap();
    assert!(run.merged.adds_up());
    let captured = recorded("branches_in_graph");
    let kernels = |run: &Run| -> BTreeMap<u32, (u64, Ns)> {
        let lines = lines(run, "branches_in_graph.py").into_iter();
        lines.map(|(line, it)| (line, (it.kernels, it.cuda_own))).filter(|it| it.1.0 > 0).collect()
    };
    assert_eq!(kernels(&run), kernels(&captured));
    let lines = lines(&run, "branches_in_graph.py");
    assert!((20..=22).all(|it| lines[&it].evidence == Evidence::Inferred));
}

/// `torch.compile(mode="reduce-overhead")`: from the kernel of a graph to the generated line, and from that to the line of the user.
#[test]
fn compiled_graphs_reach_the_lines_of_the_user() {
    let run = recorded("reduce_own");
    let lines = lines(&run, "reduce_own.py");
    // Two steps; forward, and backward in which a line has a kernel for each of its gradients at most.
    let kernels: Vec<(u32, u64)> =
        (11..=15).filter_map(|it| lines.get(&it).map(|books| (it, books.kernels))).collect();
    assert_eq!(kernels, [(11, 2), (12, 5), (13, 3), (14, 9), (15, 3)]);
    assert!((12..=15).all(|it| lines[&it].evidence == Evidence::Exact));
    // Twice the graph of the forward pass and twice that of the backward pass, also of lines that share their kernels.
    for line in 12..=15 {
        let replays: Vec<u64> = lines[&line].replayed.values().map(|it| it.replays).collect();
        assert_eq!(replays, [2, 2], "line {line}");
    }
}

/// A capture that was recorded by another run, or another part of it, has the log of the compiler beside it.
#[test]
fn a_log_beside_a_capture_is_read() {
    let from = cuda().join("torch2.11.0/compiled_graphs");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["replays", "captures"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    let mut log = None;
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_of_replays =
            ["compiled_graphs.json.gz", "compiled_graphs.callers.json.gz"].contains(&name);
        let to = at(if is_of_replays { "replays" } else { "captures" }).join(name);
        std::fs::copy(&path, &to).unwrap();
        log = log.or(name.ends_with(".log.gz").then_some(to));
    }
    let options = LoadOptions {
        captures: vec![at("captures/compiled_graphs.capture.json.gz")],
        stacks: StackChoice::No,
        ..LoadOptions::new(repository().join("fixtures/workloads"), Some(Vec::new()))
    };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let kernels = |run: &Run| -> BTreeMap<u32, (u64, Ns)> {
        let lines = lines(run, "compiled_graphs.py").into_iter();
        lines
            .map(|(line, it)| (line, (it.kernels, it.cuda_own)))
            .filter(|it| it.1.1.0 > 0)
            .collect()
    };
    let apart =
        || kernels(&load(&[at("replays/compiled_graphs.json.gz")], &options, &watch).unwrap());
    let together = kernels(&workload("compiled_graphs/compiled_graphs", false));
    assert_eq!(apart(), together);
    std::fs::remove_file(log.unwrap()).unwrap();
    assert_ne!(apart(), together);
}

/// A backward pass on a device has a thread of its own: the one that waits for it is not charged with the same time again.
#[test]
fn a_line_takes_no_longer_than_its_step_though_two_threads_run_its_backward_pass() {
    for name in ["slow_model", "compiled_mlp/compiled_mlp", "compiled_attention/compiled_attention"]
    {
        let run = workload(name, false);
        let steps: Ns = run.merged.steps.values().copied().sum();
        for (key, books) in &run.merged.lines {
            assert!(
                books.cpu_in_steps <= steps,
                "{name} {key:?}: {:?} of {steps:?}",
                books.cpu_in_steps
            );
        }
    }
}

/// The snapshot of a run also has what was allocated before and between the recorded steps. What a line allocates is what the trace
/// saw; what it holds is what the snapshot saw.
#[test]
fn a_snapshot_beside_a_trace_does_not_change_what_was_allocated() {
    let name = "compiled_mlp/compiled_mlp";
    let (alone, both) = (workload(name, false).merged, workload(name, true).merged);
    assert_eq!(
        (alone.totals.alloc, alone.in_steps.alloc),
        (both.totals.alloc, both.in_steps.alloc)
    );
    assert!(both.lines.values().any(|it| it.peak.0 > 0));
    let alloc =
        |ledger: &ledger::Ledger| -> i64 { ledger.lines.values().map(|it| it.alloc.0).sum() };
    assert_eq!(alloc(&alone), alloc(&both), "all of it is on lines with the one and the other");
}

/// A capture that was recorded belongs to its trace: that it is damaged is said of that file, and the others are used.
#[test]
fn a_damaged_capture_is_named() {
    let from = cuda().join("recorded/reduce_own");
    let folder = tempfile::tempdir().unwrap();
    let copy = |name: &str| {
        let to = folder.path().join(name);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from.join(name), &to).unwrap();
        to
    };
    let trace = copy("reduce_own.pt.trace.json.gz");
    copy("reduce_own.py");
    copy("reduce_own.captures/03.json.gz");
    let damaged = copy("reduce_own.captures/02.json.gz");
    for (bytes, expected) in [
        (std::fs::read(&damaged).unwrap()[..5000].to_vec(), "the gzip data breaks off"),
        (b"hello".to_vec(), "not used: "),
    ] {
        std::fs::write(&damaged, bytes).unwrap();
        let run = loaded(std::slice::from_ref(&trace), folder.path().to_owned());
        let captures = run.inputs.iter().filter(|it| it.kind == InputKind::GraphCapture);
        let captures: BTreeMap<String, String> = captures
            .map(|it| {
                let warnings: Vec<String> =
                    it.warnings.iter().map(|it| it.message.to_string()).collect();
                (it.path.file_name().unwrap().to_string_lossy().into_owned(), warnings.join("; "))
            })
            .collect();
        assert_eq!(captures.keys().collect::<Vec<_>>(), ["02.json.gz", "03.json.gz"]);
        assert!(captures["02.json.gz"].contains(expected), "{captures:?}");
    }
}
