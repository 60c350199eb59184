//! Kernels of graphs on the lines that they were captured on: pairs of small traces, one of the capture and one of the replays,
//! and real ones where the folder of recordings is there.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use ledger::{Evidence, GraphReplays, LineBooks, LineKey, Ns};
use loader::{InputKind, LoadOptions, Run, Watch, load};
use tests::builder::render;
use tests::fixtures::repository;

/// Two graphs of one program: a warm-up, then the capture of each. `fork` has a second stream.
const CAPTURE: &str = "
py run.py:1 <module> 0..1000
  py run.py:10 capture 10..900 from=run.py:3
    py model.py:5 forward 20..60 from=run.py:11          # runs: no capture
      run hipLaunchKernel 21..22 corr=1 kernel=gemm
    py graphs.py:30 __enter__ 100..110 from=run.py:12
      run hipStreamBeginCapture 101..102 corr=2
    py model.py:5 forward 120..200 from=run.py:13
      call mm 121..130 from=model.py:6
        op aten::mm 122..129 ext=5
          run hipLaunchKernel 123..128 corr=3 ext=5 kernel=gemm
          run cuLaunchKernel 124..125 corr=3 ext=5
      call relu 131..140 from=model.py:7
        run hipLaunchKernel 132..133 corr=4 kernel=relu
      call copy 141..150 from=model.py:8
        run hipMemcpyAsync 142..143 corr=5
      py /env/site-packages/lib/norm.py:1 norm 151..160 from=model.py:9
        run hipLaunchKernel 152..153 corr=6 kernel=_ZN2at6native4normIfEEvPT_
    run hipStreamEndCapture 210..211 corr=7
    run hipStreamBeginCapture 300..301 corr=8
    py model.py:20 fork 310..400 from=run.py:14
      call a 311..320 from=model.py:21
        run hipLaunchKernel 312..313 corr=9 kernel=gemm
      call b 321..330 from=model.py:22
        run hipLaunchKernel 322..323 corr=10 kernel=relu
      call c 331..340 from=model.py:23
        run hipLaunchKernel 332..333 corr=11 kernel=gemm
    run hipStreamEndCapture 410..411 corr=12
kernel gemm 30..40 corr=1
";

/// One replay of the first graph, one of the second on two streams, and again one of the first.
const REPLAY: &str = "
py run.py:1 <module> 0..2000
  py run.py:40 serve 10..1900 from=run.py:4
    call replay 20..40 from=run.py:41
      run hipGraphLaunch 21..39 corr=101
    call replay 50..60 from=run.py:42
      run hipGraphLaunch 51..59 corr=102
    call replay 70..80 from=run.py:41
      run hipGraphLaunch 71..79 corr=103
kernel gemm 100..110 corr=101
kernel relu 110..113 corr=101
copy \"Memcpy DtoD (Device -> Device)\" 113..114 corr=101
kernel \"void at::native::norm<float>(float*)\" 114..118 corr=101
kernel gemm 200..220 corr=102
kernel gemm 220..250 corr=102
kernel relu 205..212 corr=102 stream=8
kernel gemm 300..310 corr=103
kernel relu 310..313 corr=103
copy \"Memcpy DtoD (Device -> Device)\" 313..314 corr=103
kernel \"void at::native::norm<float>(float*)\" 314..318 corr=103
";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = folder.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, render(text).unwrap()).unwrap();
        }
        for name in ["root/run.py", "root/model.py", "root/graphs.py"] {
            let path = folder.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn load(&self, captures: &[&str]) -> Run {
        let captures = captures.iter().map(|it| self.path(it)).collect();
        loaded(&self.path("replay.json"), &self.path("root"), captures, Vec::new())
    }

    /// The replays, with the lines of `without.json`.
    fn load_lines_from(&self) -> Run {
        let lines_from = vec![self.path("without.json")];
        loaded(&self.path("replay.json"), &self.path("root"), Vec::new(), lines_from)
    }
}

fn loaded(input: &Path, root: &Path, captures: Vec<PathBuf>, lines_from: Vec<PathBuf>) -> Run {
    let options = LoadOptions {
        captures,
        lines_from,
        mine: vec!["run.py", "model.py", "vllm"]
            .into_iter()
            .map(|it| it.parse().unwrap())
            .collect(),
        ..LoadOptions::new(root, Some(Vec::new()))
    };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let run = load(&[input.to_owned()], &options, &watch).unwrap();
    assert!(run.merged.adds_up());
    run
}

/// By place, own and total device time in microseconds, and kernels.
fn device_time(run: &Run) -> BTreeMap<String, (i64, i64, u64)> {
    let lines = run.merged.lines.iter().filter(|(_, it)| it.cuda_total.0 > 0);
    let row = |it: &LineBooks| (it.cuda_own.0 / 1000, it.cuda_total.0 / 1000, it.kernels);
    lines.map(|(key, it)| (format!("{}:{}", key.file, key.line), row(it))).collect()
}

fn captured() -> BTreeMap<String, (i64, i64, u64)> {
    let rows = [
        ("run.py:4", (0, 93, 0)),
        ("run.py:41", (0, 36, 0)),
        ("run.py:42", (0, 57, 0)),
        ("run.py:13", (0, 36, 0)),
        ("model.py:6", (20, 20, 2)),
        ("model.py:7", (6, 6, 2)),
        ("model.py:8", (2, 2, 0)),
        ("model.py:9", (8, 8, 2)),
        ("/env/site-packages/lib/norm.py:1", (0, 8, 0)),
        ("run.py:14", (0, 57, 0)),
        ("model.py:21", (20, 20, 1)),
        ("model.py:22", (7, 7, 1)),
        ("model.py:23", (30, 30, 1)),
    ];
    rows.into_iter().map(|(place, row)| (place.to_owned(), row)).collect()
}

#[test]
fn kernels_of_replays_are_on_the_lines_of_the_capture() {
    let folder = Folder::new(&[("replay.json", REPLAY), ("other.json", CAPTURE)]);
    let without = folder.load(&[]);
    let expected =
        [("run.py:4", (0, 93, 0)), ("run.py:41", (36, 36, 6)), ("run.py:42", (57, 57, 3))];
    let expected = expected.into_iter().map(|(place, row)| (place.to_owned(), row)).collect();
    assert_eq!(device_time(&without), expected);
    let run = folder.load(&["other.json"]);
    assert_eq!(device_time(&run), captured());
    let kinds: Vec<InputKind> = run.inputs.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [InputKind::Kineto, InputKind::GraphCapture]);
    assert!(run.inputs.iter().all(|it| it.warnings.is_empty()), "{:?}", run.inputs);
    // The host's part stays where the graphs are launched.
    for (key, books) in &without.merged.lines {
        let now = &run.merged.lines[key];
        assert_eq!((now.cpu_own, now.cpu_total), (books.cpu_own, books.cpu_total), "{key:?}");
    }
    // What a line has of replays, and from where.
    let replayed = |line: u32| -> Vec<(String, u64, i64)> {
        let mut lines = run.merged.lines.iter();
        let (_, books) = lines.find(|(it, _)| it.file == "model.py" && it.line == line).unwrap();
        let row = |(key, it): (&LineKey, &GraphReplays)| {
            (format!("{}:{}", key.file, key.line), it.replays, it.cuda.0 / 1000)
        };
        books.replayed.iter().map(row).collect()
    };
    assert_eq!(replayed(6), [("run.py:41".to_owned(), 2, 20)]);
    assert_eq!(replayed(22), [("run.py:42".to_owned(), 1, 7)]);
    for (key, books) in &run.merged.lines {
        if key.file == "model.py" {
            assert_eq!(books.evidence, Evidence::Exact, "{key:?}");
        }
    }
}

#[test]
fn captures_beside_the_trace_are_found_by_their_names() {
    for name in ["cuda_graph_capture-Runner-TP-0.json", "capture_traces/bs_8_rank0.json"] {
        let folder = Folder::new(&[("replay.json", REPLAY), (name, CAPTURE)]);
        let run = folder.load(&[]);
        assert_eq!(device_time(&run), captured(), "{name}");
        assert_eq!(run.inputs[1].path, folder.path(name));
    }
    // A trace of that name without a capture says nothing, and is no input.
    let folder = Folder::new(&[("replay.json", REPLAY), ("capture.json", REPLAY)]);
    assert_eq!(folder.load(&[]).inputs.len(), 1);
}

/// The replays of a trace that says which node of a graph each kernel is: in the lower half of an id, in a whole id, in one that
/// is the node of the captured graph, in none that is known.
const NODES: &str = "
py run.py:1 <module> 0..2000
  py run.py:40 serve 10..1900 from=run.py:4
    call replay 20..40 from=run.py:41
      run cudaGraphLaunch 21..39 corr=101
kernel gemm 100..110 corr=101 graph=4 node=1
kernel relu 110..113 corr=101 graph=4 node=17179869186
copy \"Memcpy DtoD (Device -> Device)\" 113..114 corr=101 graph=4 node=7
kernel norm 114..118 corr=101 graph=4 node=9
";

/// Stacks as `dump_kernel_py_stacks` writes them. The program captured below the line of `<module>` that replays, too; what is of
/// another graph has the same nodes.
const NODE_STACKS: &str = r#"{
"17179869185": "ROOT/model.py:6:forward\nROOT/run.py:13:capture\nROOT/run.py:4:<module>",
"17179869186": "ROOT/model.py:7:forward\nROOT/run.py:13:capture\nROOT/run.py:4:<module>",
"7": "ROOT/model.py:8:forward\nROOT/run.py:5:<module>",
"21474836489": "ROOT/model.py:99:forward"}"#;

#[test]
fn nodes_of_graphs_are_on_the_lines_that_created_them() {
    for (name, named) in [("stacks.json", &["stacks.json"][..]), ("rank0_py_stacks.json", &[])] {
        let folder = Folder::new(&[("replay.json", NODES)]);
        let root = folder.path("root");
        let text = NODE_STACKS.replace("ROOT", root.to_str().unwrap());
        fs::write(folder.path(name), &text).unwrap();
        let run = folder.load(named);
        let expected = [
            ("run.py:4", (0, 18, 0)),
            ("run.py:41", (4, 18, 1)),
            ("run.py:13", (0, 13, 0)),
            ("run.py:5", (0, 1, 0)),
            ("model.py:6", (10, 10, 1)),
            ("model.py:7", (3, 3, 1)),
            ("model.py:8", (1, 1, 0)),
        ];
        let expected = expected.into_iter().map(|(place, row)| (place.to_owned(), row)).collect();
        assert_eq!(device_time(&run), expected, "{name}");
        let input = &run.inputs[1];
        assert_eq!((input.kind, input.events), (InputKind::GraphCapture, 4));
        assert!(input.warnings.is_empty(), "{:?}", input.warnings);
        let of_model = run.merged.lines.iter().filter(|(key, _)| key.file == "model.py");
        assert!(of_model.into_iter().all(|(_, it)| it.evidence == Evidence::Exact));
        // A part of the file is not trusted.
        fs::write(folder.path(name), &text[..text.len() - 9]).unwrap();
        let run = folder.load(&[name]);
        assert_eq!(device_time(&run)["run.py:41"], (18, 18, 3));
        assert!(run.inputs[1].warnings[0].message.contains("dump_kernel_py_stacks"));
    }
}

#[test]
fn stacks_of_nodes_that_were_not_replayed_say_so() {
    let stacks = r#"{"3": "/w/model.py:6:forward"}"#;
    for (trace, expected) in [(NODES, "no node of it"), (REPLAY, "graph node id")] {
        let folder = Folder::new(&[("replay.json", trace)]);
        fs::write(folder.path("stacks.json"), stacks).unwrap();
        let run = folder.load(&["stacks.json"]);
        let message = &run.inputs[1].warnings[0].message;
        assert!(message.contains(expected), "{message}");
    }
    let folder = Folder::new(&[("replay.json", NODES)]);
    fs::write(folder.path("stacks.json"), stacks).unwrap();
    let options = LoadOptions::new(folder.path("root"), Some(Vec::new()));
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let error = load(&[folder.path("stacks.json")], &options, &watch).err().unwrap().to_string();
    assert!(error.contains("--capture"), "{error}");
}

#[test]
fn each_replay_takes_the_capture_that_it_fits() {
    // One trace for each size of a batch. The kernels of the smaller one have other names.
    let small = CAPTURE.replace("kernel=gemm", "kernel=gemv").replace("model.py:6", "model.py:60");
    let files = [("replay.json", REPLAY), ("bs_1.json", &small), ("bs_8.json", CAPTURE)];
    let folder = Folder::new(&files);
    let run = folder.load(&["bs_1.json", "bs_8.json"]);
    assert_eq!(device_time(&run), captured());
    // Two that fit and differ in a line: the order decides, which is not certain.
    let moved = CAPTURE.replace("from=model.py:7", "from=model.py:70");
    let folder = Folder::new(&[("replay.json", REPLAY), ("a.json", CAPTURE), ("b.json", &moved)]);
    let run = folder.load(&["a.json", "b.json"]);
    let evidence = |line: u32| {
        let mut lines = run.merged.lines.iter();
        lines.find(|(it, _)| it.file == "model.py" && it.line == line).map(|(_, it)| it.evidence)
    };
    assert_eq!(evidence(6), Some(Evidence::Exact));
    assert!([evidence(7), evidence(70)].contains(&Some(Evidence::Inferred)));
}

#[test]
fn what_does_not_fit_stays_and_says_why() {
    let renamed = CAPTURE.replace("kernel=relu", "kernel=gelu");
    let folder = Folder::new(&[("replay.json", REPLAY), ("other.json", &renamed)]);
    let run = folder.load(&["other.json"]);
    assert_eq!(device_time(&run)["run.py:41"], (36, 36, 6));
    let warning = |run: &Run| run.inputs[1].warnings[0].message.clone();
    let expected = "3 of 3 replays stay on the line that replays them: no capture fits the replay of 4 kernels that begins with gemm; \
                    a capture with as many launches differs at number 2 (gelu was launched, relu ran)";
    assert_eq!(warning(&run), expected);
    let shorter = REPLAY.replace("kernel relu 110..113 corr=101\n", "");
    let folder = Folder::new(&[("replay.json", &shorter), ("other.json", CAPTURE)]);
    let run = folder.load(&["other.json"]);
    assert!(warning(&run).starts_with("1 of 3 replays stay on the line"), "{}", warning(&run));
    assert_eq!(device_time(&run)["model.py:7"], (3, 3, 1));
    let nothing = REPLAY.replace("GraphLaunch", "LaunchKernel");
    let folder = Folder::new(&[("replay.json", &nothing), ("other.json", CAPTURE)]);
    assert_eq!(warning(&folder.load(&["other.json"])), "not used: the trace replays no graph");
    let folder = Folder::new(&[("replay.json", REPLAY), ("other.json", REPLAY)]);
    assert!(warning(&folder.load(&["other.json"])).starts_with("holds no capture of a graph"));
    let absent = warning(&folder.load(&["absent.json"]));
    assert!(
        absent.starts_with("not used: ") && absent.contains("there is no such file"),
        "{absent}"
    );
    let junk = Folder::new(&[("replay.json", REPLAY), ("other.json", CAPTURE)]);
    std::fs::write(junk.path("junk.txt"), "no trace").unwrap();
    let message = warning(&junk.load(&["junk.txt"]));
    assert!(message.contains("neither a torch.profiler trace nor"), "{message}");
    let calls = CAPTURE.lines().filter(|it| !it.contains("py ") && !it.contains("call "));
    let bare: String = calls.map(|it| format!("{it}\n")).collect();
    let folder = Folder::new(&[("replay.json", REPLAY), ("other.json", &bare)]);
    let expected = "not used: the capture was recorded without Python stacks";
    assert!(warning(&folder.load(&["other.json"])).starts_with(expected));
}

/// The program of [`REPLAY`] without graphs: a kernel of another size, one that is two here, a fill of which graphs do not say
/// where it is.
const WITHOUT: &str = "
py run.py:1 <module> 0..2000
  py run.py:40 serve 10..1900 from=run.py:4
    py model.py:5 forward 20..200 from=run.py:44
      call mm 21..30 from=model.py:6
        run cudaLaunchKernel 22..23 corr=1
      call relu 31..40 from=model.py:7
        run cudaLaunchKernel 32..33 corr=2
      call copy 41..50 from=model.py:8
        run cudaMemcpyAsync 42..43 corr=3
      py norm.py:1 norm 51..80 from=model.py:9
        call mean 52..60 from=norm.py:2
          run cudaLaunchKernel 53..54 corr=4
        call mul 61..70 from=norm.py:3
          run cudaLaunchKernel 62..63 corr=5
      call zero_ 81..90 from=model.py:10
        run cudaMemsetAsync 82..83 corr=6
      call sin 91..100 from=model.py:11
        run cudaLaunchKernel 92..93 corr=7
      call exp 101..110 from=model.py:12
        run cudaLaunchKernel 102..103 corr=8
      call tanh 111..120 from=model.py:13
        run cudaLaunchKernel 112..113 corr=9
      call cos 121..130 from=model.py:14
        run cudaLaunchKernel 122..123 corr=10
      call log 131..140 from=model.py:15
        run cudaLaunchKernel 132..133 corr=11
      call erf 141..150 from=model.py:16
        run cudaLaunchKernel 142..143 corr=12
      call abs 151..160 from=model.py:17
        run cudaLaunchKernel 152..153 corr=13
kernel gemm 300..310 corr=1
kernel relu 310..313 corr=2
copy \"Memcpy DtoD (Device -> Device)\" 313..314 corr=3
kernel mean 314..318 corr=4
kernel mul 318..320 corr=5
fill \"Memset (Device)\" 320..321 corr=6
kernel sin 321..322 corr=7
kernel exp 322..323 corr=8
kernel tanh 323..324 corr=9
kernel cos 324..325 corr=10
kernel log 325..326 corr=11
kernel erf 326..327 corr=12
kernel abs 327..328 corr=13
";

/// One replay with the norm in one kernel.
const FUSED: &str = "
py run.py:1 <module> 0..2000
  py run.py:40 serve 10..1900 from=run.py:4
    call replay 20..40 from=run.py:41
      run cudaGraphLaunch 21..39 corr=101
kernel gemm 100..110 corr=101
kernel relu 110..113 corr=101
copy \"Memcpy DtoD (Device -> Device)\" 113..114 corr=101
kernel fused_norm 114..118 corr=101
fill \"Memset (Unknown)\" 120..121 corr=101
kernel sin 121..122 corr=101
kernel exp 122..123 corr=101
kernel tanh 123..124 corr=101
kernel cos 124..125 corr=101
kernel log 125..126 corr=101
kernel erf 126..127 corr=101
kernel abs 127..128 corr=101
";

/// A kernel that stands for several has the lines that these have in common: the call of `norm`.
#[test]
fn kernels_of_replays_are_on_the_lines_that_launch_them_without_graphs() {
    let folder = Folder::new(&[("replay.json", FUSED), ("without.json", WITHOUT)]);
    let run = folder.load_lines_from();
    let expected = [
        ("run.py:4", (0, 26, 0)),
        ("run.py:41", (0, 26, 0)),
        // It is in the same function as the replay, and ran in its place.
        ("run.py:44", (0, 26, 0)),
        ("model.py:6", (10, 10, 1)),
        ("model.py:7", (3, 3, 1)),
        ("model.py:8", (1, 1, 0)),
        ("model.py:9", (4, 4, 1)),
        ("model.py:10", (1, 1, 0)),
        ("model.py:11", (1, 1, 1)),
        ("model.py:12", (1, 1, 1)),
        ("model.py:13", (1, 1, 1)),
        ("model.py:14", (1, 1, 1)),
        ("model.py:15", (1, 1, 1)),
        ("model.py:16", (1, 1, 1)),
        ("model.py:17", (1, 1, 1)),
    ];
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(place, row)| (place.to_owned(), row)).collect();
    assert_eq!(device_time(&run), expected);
    let books = |file: &str, line| &run.merged.lines[&LineKey { file: file.to_owned(), line }];
    assert_eq!(books("model.py", 6).evidence, Evidence::Inferred);
    assert_eq!(books("run.py", 41).evidence, Evidence::Exact);
    let replaying = LineKey { file: "run.py".to_owned(), line: 41 };
    assert_eq!(books("model.py", 6).replayed[&replaying].cuda, Ns(10_000));
    assert_eq!(
        (run.inputs[1].kind, &run.inputs[1].warnings[..]),
        (InputKind::GraphlessRun, &[][..])
    );
}

/// Two runs that are equally like the replay, with other lines: what they have in common counts.
#[test]
fn of_runs_that_differ_the_common_lines_count() {
    let elsewhere = WITHOUT.replace("model.py", "other.py");
    let files = [("replay.json", FUSED), ("without.json", WITHOUT), ("other.json", &elsewhere)];
    let folder = Folder::new(&files);
    let runs = vec![folder.path("without.json"), folder.path("other.json")];
    let run = loaded(&folder.path("replay.json"), &folder.path("root"), Vec::new(), runs);
    assert_eq!(device_time(&run)["run.py:44"], (26, 26, 10));
}

/// A kernel that a thread without Python frames launches stays on the line that replays it.
#[test]
fn a_launch_without_a_stack_has_no_line_to_give() {
    const LAUNCH: &str = "        run cudaLaunchKernel 112..113 corr=9\n";
    assert!(WITHOUT.contains(LAUNCH));
    let without = format!("{}thread other\n{LAUNCH}", WITHOUT.replace(LAUNCH, ""));
    let folder = Folder::new(&[("replay.json", FUSED), ("without.json", &without)]);
    let run = folder.load_lines_from();
    assert_eq!(device_time(&run)["run.py:41"], (1, 26, 1));
    let key = LineKey { file: "run.py".to_owned(), line: 41 };
    assert_eq!(run.merged.lines[&key].launching.replayed, Ns(1_000));
}

#[test]
fn replays_that_are_like_nothing_without_graphs_say_so() {
    let warning = |run: &Run| run.inputs[1].warnings[0].message.clone();
    let without = |text: &str| {
        Folder::new(&[("replay.json", FUSED), ("without.json", text)]).load_lines_from()
    };
    let other = WITHOUT.replace("kernel sin", "kernel asin").replace("kernel exp", "kernel expm1");
    let run = without(&other);
    let expected = "1 of 1 replays stay on the line that replays them: of the replay of 12 kernels that begins with gemm, at most 9 are \
                    launched in this order without graphs; 11 would have to be";
    assert_eq!(warning(&run), expected);
    assert_eq!(device_time(&run)["run.py:41"], (26, 26, 10));
    let expected = "not used: it launches no kernel outside of graphs";
    assert!(warning(&without(FUSED)).starts_with(expected));
    let calls = WITHOUT.lines().filter(|it| !it.contains("py ") && !it.contains("call "));
    let bare: String = calls.map(|it| format!("{it}\n")).collect();
    assert!(
        warning(&without(&bare)).starts_with("not used: it was recorded without Python stacks")
    );
    let folder = Folder::new(&[("replay.json", WITHOUT), ("without.json", WITHOUT)]);
    assert_eq!(warning(&folder.load_lines_from()), "not used: the trace replays no graph");
}

/// CUDA names no kernel in a call of the runtime: one stream, and the number and kind of the launches, must do; and captures that
/// are alike must agree.
#[test]
fn without_names_the_order_of_one_stream_counts() {
    let unnamed: String = CAPTURE
        .lines()
        .map(|line| {
            let end = line.find(" kernel=").unwrap_or(line.len());
            format!("{}\n", &line[..end].replace("hip", "cuda"))
        })
        .collect();
    let replay = REPLAY.replace("hip", "cuda");
    let folder = Folder::new(&[("replay.json", &replay), ("other.json", &unnamed)]);
    let found = device_time(&folder.load(&["other.json"]));
    assert_eq!(found["model.py:6"], (20, 20, 2));
    assert_eq!(
        found["run.py:42"],
        (57, 57, 3),
        "two streams, and nothing says which launch is on which"
    );
    let moved = unnamed.replace("from=model.py:7", "from=model.py:70");
    let files = [("replay.json", &*replay), ("a.json", &unnamed), ("b.json", &moved)];
    let run = Folder::new(&files).load(&["a.json", "b.json"]);
    assert_eq!(
        device_time(&run)["run.py:41"],
        (36, 36, 6),
        "the two differ, and nothing says which it is"
    );
}

/// A capture of one graph on two streams, without names of kernels: a launch, then two on a stream that Python chooses and leaves
/// again, which the last waits for.
const FORK: &str = r#"
py run.py:1 <module> 0..1000
  py run.py:10 capture 10..900 from=run.py:3
    run cudaStreamBeginCapture 20..21 corr=8
    py model.py:20 fork 30..400 from=run.py:14
      call a 31..37 from=model.py:21
        op aten::addmm 31..36 ext=1
          run cudaLaunchKernel 32..33 corr=9 ext=1
      run cudaEventRecordWithFlags 38..39 corr=20
      run cudaStreamWaitEvent 39..40 corr=21
      py torch/cuda/__init__.py:700 __enter__ 41..50 from=model.py:22
        py torch/cuda/__init__.py:730 set_stream 42..49 from=torch/cuda/__init__.py:715
          call "<built-in function _cuda_setStream>" 43..48 from=torch/cuda/__init__.py:735
      call b 51..60 from=model.py:23
        op aten::sin 51..60 ext=2
          run cudaLaunchKernel 52..53 corr=10 ext=2
      call c 61..70 from=model.py:24
        op aten::cos_ 61..70 ext=3
          run cudaLaunchKernel 62..63 corr=11 ext=3
      py torch/cuda/__init__.py:720 __exit__ 71..80 from=model.py:22
        py torch/cuda/__init__.py:730 set_stream 72..79 from=torch/cuda/__init__.py:725
          call "<built-in function _cuda_setStream>" 73..78 from=torch/cuda/__init__.py:735
      call d 81..90 from=model.py:25
        op aten::relu 81..90 ext=4
          run cudaLaunchKernel 82..83 corr=12 ext=4
      run cudaEventRecordWithFlags 91..92 corr=22
      run cudaStreamWaitEvent 92..93 corr=23
      call e 94..99 from=model.py:26
        op aten::add 94..99 ext=5
          run cudaLaunchKernel 95..96 corr=13 ext=5
    run cudaStreamEndCapture 410..411 corr=14
"#;

/// A replay of it. What joins the two runs on the stream of either.
const FORK_REPLAY: &str = "
py run.py:1 <module> 2000..3000
  py run.py:40 serve 2010..2900 from=run.py:4
    call replay 2020..2040 from=run.py:41
      run cudaGraphLaunch 2021..2039 corr=101
kernel sgemm_nn 2100..2101 corr=101
kernel sin_kernel 2102..2110 corr=101
kernel cos_kernel 2110..2126 corr=101
kernel add_kernel 2130..2134 corr=101
kernel relu_kernel 2103..2105 corr=101 stream=8
";

#[test]
fn calls_of_the_capture_show_which_launch_is_on_which_stream() {
    let captured = |run: &Run| {
        let found = device_time(run);
        [21, 23, 24, 25, 26].map(|line| found.get(&format!("model.py:{line}")).map(|it| it.0))
    };
    let evidence = |run: &Run| {
        let lines = run.merged.lines.iter().filter(|(it, _)| it.file == "model.py");
        lines.map(|(key, it)| (key.line, it.evidence)).collect::<BTreeMap<_, _>>()
    };
    let expected = [1, 8, 16, 2, 4].map(Some);
    let folder = Folder::new(&[("replay.json", FORK_REPLAY), ("fork.json", FORK)]);
    let run = folder.load(&["fork.json"]);
    assert_eq!(captured(&run), expected);
    assert!(evidence(&run).values().all(|it| *it == Evidence::Exact), "{:?}", evidence(&run));

    // The recording of the steps holds the capture.
    let both = format!("{FORK}{FORK_REPLAY}");
    let run = Folder::new(&[("replay.json", &both)]).load(&[]);
    assert_eq!(captured(&run), expected);

    // Names of kernels that say nothing leave two ways, of which the one that starts earliest is taken.
    let unclear = ["sin", "cos", "relu", "add"]
        .iter()
        .fold(FORK_REPLAY.to_owned(), |text, it| text.replace(&format!("{it}_kernel"), "k"));
    let two = unclear.replace("kernel k 2110..2126 corr=101\n", "");
    let without =
        |it: &&str| !it.contains("corr=11") && !it.contains("call c") && !it.contains("cos_");
    let capture: String = FORK.lines().filter(without).map(|it| format!("{it}\n")).collect();
    let run = Folder::new(&[("replay.json", &two), ("fork.json", &capture)]).load(&["fork.json"]);
    assert_eq!(captured(&run), [Some(1), Some(8), None, Some(2), Some(4)]);
    let inferred = evidence(&run);
    assert_eq!(inferred[&21], Evidence::Exact, "{inferred:?}");
    assert!([23, 25].iter().all(|it| inferred[it] == Evidence::Inferred), "{inferred:?}");

    // A stream that C++ code chose leaves too many launches in one chain.
    let is_seen = |it: &&str| {
        ["Event", "__enter__", "set_stream", "_cuda_setStream", "__exit__"]
            .iter()
            .any(|part| it.contains(part))
    };
    let unseen: String =
        FORK.lines().filter(|it| !is_seen(it)).map(|it| format!("{it}\n")).collect();
    let run =
        Folder::new(&[("replay.json", FORK_REPLAY), ("fork.json", &unseen)]).load(&["fork.json"]);
    assert_eq!(device_time(&run)["run.py:41"], (31, 31, 5));
}

/// Forty times two branches that are alike have 2^40 ways, but few states: the lines of the branches are one, so all is certain.
#[test]
fn many_branches_that_are_alike_are_placed() {
    let mut capture =
        String::from("py run.py:1 <module> 0..100000\n  run cudaStreamBeginCapture 1..2 corr=1\n");
    let mut replay = String::from(
        "py run.py:1 <module> 0..100000\n  call replay 10..20 from=run.py:41\n    run cudaGraphLaunch 11..19 corr=500\n",
    );
    let mut kernels = String::new();
    for layer in 0..40 {
        let at = 100 + layer * 100;
        for branch in 0..2 {
            let (begin, corr) = (at + branch * 40, 2 + layer * 2 + branch);
            capture += &format!(
                "  run cudaEventRecord {begin}..{} corr={}\n  call f {}..{} from=model.py:5\n    run cudaLaunchKernel {}..{} corr={corr}\n",
                begin + 1,
                1000 + corr,
                begin + 2,
                begin + 20,
                begin + 3,
                begin + 4
            );
            let stream = 7 + branch;
            kernels += &format!("kernel k {at}..{} corr=500 stream={stream}\n", at + 2);
        }
    }
    capture += "  run cudaStreamEndCapture 90000..90001 corr=300\n";
    replay += &kernels;
    let folder = Folder::new(&[("replay.json", &replay), ("a.json", &capture)]);
    let run = folder.load(&["a.json"]);
    assert_eq!(device_time(&run)["model.py:5"], (160, 160, 80));
    let line = run.merged.lines.iter().find(|(it, _)| it.file == "model.py");
    assert_eq!(line.unwrap().1.evidence, Evidence::Exact);
}

/// Of a server, where nothing is the user's, the packages that it runs are. A package that its capture alone names changes
/// nothing of that.
#[test]
fn what_was_captured_does_not_change_whose_lines_the_others_are() {
    let server =
        |text: &str| text.replace("run.py", "vllm/run.py").replace("model.py", "fast_kernels.py");
    let (replay, capture) = (server(REPLAY), server(CAPTURE));
    let folder = Folder::new(&[("replay.json", &replay), ("other.json", &capture)]);
    let load_with = |captures: Vec<PathBuf>| {
        let options =
            LoadOptions { captures, ..LoadOptions::new(folder.path("empty"), Some(Vec::new())) };
        let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
        load(&[folder.path("replay.json")], &options, &watch).unwrap()
    };
    let host = |run: &Run| -> BTreeMap<LineKey, Ns> {
        let lines = run.merged.lines.iter().filter(|(_, it)| it.cpu_own.0 > 0);
        lines.map(|(key, it)| (key.clone(), it.cpu_own)).collect()
    };
    let (without, with) = (load_with(Vec::new()), load_with(vec![folder.path("other.json")]));
    assert!(host(&without).keys().all(|it| it.file.ends_with("vllm/run.py")));
    assert_eq!(host(&with), host(&without));
    assert!(device_time(&with)["fast_kernels.py:6"].0 > 0);
}

/// vLLM on an MI300X: one graph of 421 kernels, and 25 graphs of 361.
#[test]
fn kernels_of_real_replays_are_on_the_lines_of_the_capture() {
    let data = repository().join("../shared/data");
    let pairs = [
        (
            "graphs/vllm_mi300x_decode_full.replay.json.gz",
            "graphs/vllm_mi300x_decode_full.capture.json.gz",
            421,
        ),
        ("cuda/vllm_piecewise_graph.json.gz", "graphs/vllm_mi300x_piecewise.capture.json.gz", 361),
    ];
    for (replay, capture, expected) in pairs {
        let (replay, capture) = (data.join(replay), data.join(capture));
        if !replay.is_file() || !capture.is_file() {
            continue;
        }
        let root = tempfile::tempdir().unwrap();
        let kernels = |run: &Run| -> u64 {
            let of_replay = |file: &str| {
                file.ends_with("gpu_model_runner.py") || file.ends_with("cuda_graph.py")
            };
            let lines = run.merged.lines.iter().filter(|(key, _)| !of_replay(&key.file));
            lines.map(|(_, it)| it.kernels).sum()
        };
        let elsewhere = root.path().join("replay.json.gz");
        fs::copy(&replay, &elsewhere).unwrap();
        let without = loaded(&elsewhere, root.path(), Vec::new(), Vec::new());
        let run = loaded(&elsewhere, root.path(), vec![capture], Vec::new());
        assert_eq!(kernels(&run) - kernels(&without), expected);
        assert!(run.inputs.iter().all(|it| it.warnings.is_empty()));
    }
}

#[test]
fn a_capture_is_no_newer_recording_than_what_replays_it() {
    let names =
        ["old/trace.json", "run/replay.json", "run/capture_traces/a.json", "new/capture.json"];
    let folder = Folder::new(&names.map(|name| (name, CAPTURE)));
    let found = || -> Vec<String> {
        let runs = loader::discover(folder.0.path());
        let name = |path: &Path| path.strip_prefix(folder.0.path()).unwrap().display().to_string();
        runs.iter().map(|it| name(&it.inputs[0])).collect()
    };
    let written = |name: &str, seconds| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        fs::File::options()
            .write(true)
            .open(folder.path(name))
            .unwrap()
            .set_modified(time)
            .unwrap();
    };
    for (seconds, name) in (1..).zip(names) {
        written(name, seconds * 1_000_000);
    }
    // Nothing replays the last one, so it is what was recorded last.
    assert_eq!(
        found(),
        ["new/capture.json", "run/replay.json", "run/capture_traces/a.json", "old/trace.json"]
    );
    written("old/trace.json", 9_000_000);
    assert_eq!(found()[0], "old/trace.json");
}
