//! Loads what lies in `fixtures/`, and what becomes of it when it is compressed otherwise, moved or damaged.

#![allow(clippy::expect_used)] // A test that cannot go on says why.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use ledger::{Balance, Evidence, LineKey, SourceFit};
use loader::{
    Error, InputKind, LoadOptions, Run, Stage, TextOrigin, TextThatRan, Watch, discover, load,
};
use pysource::Carried;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures").join(path)
}

fn options(root: &Path) -> LoadOptions {
    LoadOptions::new(root.to_owned(), Some(Vec::new()))
}

fn try_load(inputs: &[PathBuf], options: &LoadOptions) -> Result<Run, Error> {
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    load(inputs, options, &watch)
}

fn load_at(inputs: &[PathBuf], root: &Path) -> Run {
    let run = try_load(inputs, &options(root)).expect("loads");
    for rank in &run.ranks {
        let balances = run.ledger_of(rank).expect("books can be read").balances();
        assert!(balances.iter().all(Balance::is_balanced), "{balances:?}");
    }
    run
}

fn workloads() -> PathBuf {
    fixture("workloads")
}

fn line<'a>(run: &'a Run, file: &str, line: u32) -> &'a ledger::LineBooks {
    run.merged.lines.get(&LineKey { file: file.to_owned(), line }).expect("the line is charged")
}

#[test]
fn a_side_car_beside_the_trace_is_used() {
    let trace = fixture("cpu/torch2.11.0/slow_model.json.gz");
    let run = load_at(&[trace], &workloads());
    let kinds: Vec<InputKind> = run.inputs.iter().map(|input| input.kind).collect();
    assert_eq!(kinds, [InputKind::Kineto, InputKind::Callers]);
    assert!(
        run.inputs.iter().all(|input| input.complete && input.warnings.is_empty()),
        "{:?}",
        run.inputs
    );
    // `x.max().item()` in the forward loop.
    let item = line(&run, "slow_model.py", 46);
    assert_eq!((item.evidence, item.function.as_str()), (Evidence::Exact, "SlowModel.forward"));
    assert!(item.calls > 0);
}

#[test]
fn without_exact_evidence_lines_are_inferred_from_the_source() {
    let trace = fixture("cpu/torch2.11.0/slow_model.json.gz");
    let load_without_evidence = |root: &Path| {
        let options = LoadOptions { ignore_exact: true, ..options(root) };
        try_load(std::slice::from_ref(&trace), &options).expect("loads")
    };
    let run = load_without_evidence(&workloads());
    let item = line(&run, "slow_model.py", 46);
    assert_eq!((item.evidence, item.function.as_str()), (Evidence::Inferred, "SlowModel.forward"));
    // Without the source only the functions are known.
    let folder = tempfile::tempdir().expect("a folder");
    let run = load_without_evidence(folder.path());
    assert!(run.merged.lines.values().all(|line| line.evidence == Evidence::Function));
}

#[test]
fn ranks_are_distinguished_and_added() {
    let inputs =
        ["0", "1"].map(|rank| fixture(&format!("cpu/torch2.11.0/two_ranks.rank{rank}.json.gz")));
    let run = load_at(&inputs, &workloads());
    let ranks: Vec<u32> = run.ranks.iter().map(|rank| rank.rank).collect();
    assert_eq!(ranks, [0, 1]);
    let sum = run.ranks.iter().map(|rank| run.ledger_of(rank).unwrap().totals.cpu).sum();
    assert_eq!((run.merged.totals.cpu, run.merged.ranks), (sum, 2));
}

#[test]
fn files_of_another_place_are_found_by_their_path_and_functions() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = fs::read_to_string(workloads().join("slow_model.py")).expect("source");
    fs::create_dir_all(folder.path().join("src/models")).expect("a folder");
    let path = folder.path().join("src/models/slow_model.py");
    fs::write(&path, &source).expect("written");
    // It is not newer than the recording.
    let file = fs::File::options().append(true).open(&path).expect("opened");
    file.set_modified(std::time::UNIX_EPOCH).expect("set");
    // A file of the same name with other functions is not the one.
    fs::write(folder.path().join("slow_model.py"), "def other():\n    pass\n").expect("written");
    let run = load_at(&[fixture("cpu/torch2.15.0/slow_model.json.gz")], folder.path());
    let file = run.merged.files.get("src/models/slow_model.py");
    assert!(
        file.is_some_and(|file| file.is_user_code && file.fit == SourceFit::Fits),
        "{:?}",
        run.merged.files.keys()
    );
}

#[test]
fn an_edited_file_is_reported_as_such() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = fs::read_to_string(workloads().join("slow_model.py")).expect("source");
    fs::write(folder.path().join("slow_model.py"), format!("# a new first line\n{source}"))
        .expect("written");
    let run = load_at(&[fixture("cpu/torch2.15.0/slow_model.json.gz")], folder.path());
    assert_eq!(run.merged.files.get("slow_model.py").map(|file| file.fit), Some(SourceFit::Edited));
    let doubts = run.source_doubts();
    let [edited, missing] = &doubts[..] else { panic!("{doubts:?}") };
    assert!(edited.starts_with("slow_model.py is not the text that ran"), "{edited}");
    assert!(missing.contains("source files were not found"), "{missing}");
}

#[test]
fn lines_are_those_of_the_text_that_ran_where_it_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = fs::read_to_string(workloads().join("slow_model.py")).expect("source");
    let now = format!("# a new first line\n{}", ran.replace("def forward", "def forward_"));
    let trace = fixture("cpu/torch2.11.0/slow_model.json.gz");
    let load = |text: &str| {
        let text = TextThatRan { text: text.into(), origin: TextOrigin::Kept };
        let known_texts = [("slow_model.py".to_owned(), text)].into();
        let options = LoadOptions { ignore_exact: true, known_texts, ..options(folder.path()) };
        try_load(std::slice::from_ref(&trace), &options).expect("loads")
    };
    // The file is gone.
    let run = load(&ran);
    let file = &run.merged.files["slow_model.py"];
    assert_eq!((file.fit, file.is_user_code, &file.path), (SourceFit::Missing, true, &None));
    assert_eq!(line(&run, "slow_model.py", 46).evidence, Evidence::Inferred);
    // It was changed.
    fs::write(folder.path().join("slow_model.py"), &now).expect("written");
    let run = load(&ran);
    let file = &run.merged.files["slow_model.py"];
    assert_eq!((file.fit, file.is_user_code), (SourceFit::Edited, true));
    let item = line(&run, "slow_model.py", 46);
    assert_eq!((item.evidence, item.function.as_str()), (Evidence::Inferred, "SlowModel.forward"));
    assert!(!run.source_doubts().iter().any(|it| it.contains("slow_model.py")));
    let read = |_: &Path| -> Option<String> { panic!("the text is known") };
    let map = run.lines_in("slow_model.py", &now, read).expect("a map");
    assert_eq!(map.current(46), Some(Carried { line: 47, is_edited: false }));
    // What does not fit the recording did not run.
    let run = load(&now);
    assert_eq!(run.texts["slow_model.py"].origin, TextOrigin::ArrangedFile);
}

/// A folder with a trace of `slow_model.py` (PyTorch 2.15 names the callers), the source, and a cache.
fn project() -> (tempfile::TempDir, PathBuf, LoadOptions) {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("run.json.gz");
    fs::copy(fixture("cpu/torch2.15.0/slow_model.json.gz"), &trace).expect("copied");
    fs::copy(workloads().join("slow_model.py"), folder.path().join("slow_model.py"))
        .expect("copied");
    let text_cache = Some(folder.path().join(".cache"));
    let options = LoadOptions { text_cache, ..options(folder.path()) };
    (folder, trace, options)
}

/// The source, with the body of its hottest function changed so that all functions stay where they are.
fn edited(text: &str) -> String {
    let edited = text.replace("    opt.step()\n", "    opt.step(None)\n");
    assert_ne!(edited, text);
    edited
}

#[test]
fn the_recording_holds_the_text_that_ran() {
    let (folder, trace, options) = project();
    let source = folder.path().join("slow_model.py");
    let ran = fs::read_to_string(&source).expect("source");
    let side_car = |text: &str| {
        let text = text.replace('\n', "\\n").replace('"', "\\\"");
        let side_car = format!(
            r#"{{"schema": "perfline.callers/1", "strings": ["slow_model.py", "gone.py"], "threads": [],
            "sources": {{"git": null, "files": [{{"file": 1, "sha256": "0", "text": null}},
            {{"file": 0, "sha256": "0", "text": "{text}"}}, {{"file": 7, "text": "x"}}]}}}}"#
        );
        fs::write(folder.path().join("run.callers.json"), side_car).expect("written");
    };
    fs::write(&source, edited(&ran)).expect("written");
    side_car(&ran);
    let run = try_load(std::slice::from_ref(&trace), &options).expect("loads");
    assert!(run.inputs.iter().all(|it| it.complete), "{:?}", run.inputs);
    let text = &run.texts["slow_model.py"];
    assert_eq!((text.origin, &*text.text), (TextOrigin::Recorded, &*ran));
    assert_eq!(run.merged.files["slow_model.py"].fit, SourceFit::Edited);
    // What was read when recording began need not be what Python had read.
    side_car("def other():\n    pass\n");
    let run = try_load(&[trace], &options).expect("loads");
    assert_eq!(run.texts["slow_model.py"].origin, TextOrigin::File);
}

#[test]
fn a_copy_of_the_text_that_ran_is_kept() {
    let (folder, trace, options) = project();
    let source = folder.path().join("slow_model.py");
    let ran = fs::read_to_string(&source).expect("source");
    let load = |options: &LoadOptions, trace: &Path| {
        let run = try_load(&[trace.to_owned()], options).expect("loads");
        let text = &run.texts["slow_model.py"];
        (text.origin, *text.text == *ran, run.merged.files["slow_model.py"].fit)
    };
    assert_eq!(load(&options, &trace), (TextOrigin::File, true, SourceFit::Fits));
    fs::write(&source, edited(&ran)).expect("written");
    // Whatever the recording is called by now.
    let renamed = folder.path().join("other.json.gz");
    fs::rename(&trace, &renamed).expect("renamed");
    assert_eq!(load(&options, &renamed), (TextOrigin::Kept, true, SourceFit::Edited));
    fs::write(&source, &ran).expect("written");
    assert_eq!(load(&options, &renamed), (TextOrigin::Kept, true, SourceFit::Fits));
    let none = LoadOptions { text_cache: None, ..options };
    assert_eq!(load(&none, &renamed), (TextOrigin::File, true, SourceFit::Fits));
}

#[test]
fn no_copy_is_kept_of_a_file_that_is_newer_than_the_recording() {
    let (folder, trace, options) = project();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let file = fs::File::options().append(true).open(&trace).expect("opened");
    file.set_modified(long_ago).expect("set");
    let run = try_load(&[trace], &options).expect("loads");
    assert!(!folder.path().join(".cache").exists());
    // Its functions are where they were, and its lines need not be.
    assert_eq!(run.texts["slow_model.py"].origin, TextOrigin::NewerFile);
    assert_eq!(run.merged.files["slow_model.py"].fit, SourceFit::Edited);
    let now = fs::read_to_string(folder.path().join("slow_model.py")).expect("source");
    let map = run.lines_in("slow_model.py", &now, |_| None).expect("a map");
    assert_eq!(map.current(46), Some(Carried { line: 46, is_edited: true }));
    let doubts = run.source_doubts();
    assert!(doubts[0].starts_with("slow_model.py was changed after the recording"), "{doubts:?}");
}

#[test]
fn when_nothing_is_found_all_but_libraries_is_yours() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = load_at(&[fixture("cpu/torch2.15.0/slow_model.json.gz")], folder.path());
    let own: Vec<&str> = run
        .merged
        .files
        .iter()
        .filter(|(_, file)| file.is_user_code)
        .map(|(key, _)| key.as_str())
        .collect();
    assert!(own.contains(&"slow_model.py"), "{own:?}");
    assert!(!own.iter().any(|key| key.starts_with("torch/") || *key == "contextlib.py"), "{own:?}");
}

#[test]
fn plain_gzip_and_zstd_are_the_same() {
    let packed = fixture("cpu/torch2.15.0/scheduled.0.json.gz");
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = Vec::new();
    let file = fs::File::open(&packed).expect("opens");
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut text)
        .expect("unpacks");
    let plain = folder.path().join("scheduled.0.json");
    fs::write(&plain, &text).expect("written");
    let zstd = folder.path().join("scheduled.0.json.zst");
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    // Two frames, one after the other, as parallel compressors write them.
    let (first, second) = text.split_at(text.len() / 2);
    let frames = [first, second].map(|part| ruzstd::encoding::compress_to_vec(part, level));
    fs::write(&zstd, frames.concat()).expect("written");
    let ledgers = [packed, plain, zstd].map(|path| {
        let run = load_at(&[path], folder.path());
        assert!(run.inputs[0].complete, "{:?}", run.inputs[0]);
        (run.inputs[0].events, run.merged.totals)
    });
    assert_eq!(ledgers[0], ledgers[1]);
    assert_eq!(ledgers[0], ledgers[2]);
}

#[test]
fn a_cut_file_gives_what_it_holds() {
    let packed = fs::read(fixture("cpu/torch2.15.0/slow_model.json.gz")).expect("reads");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cut.json.gz");
    fs::write(&path, &packed[..packed.len() / 2]).expect("written");
    let run = load_at(&[path], &workloads());
    let input = &run.inputs[0];
    assert!(!input.complete && !input.warnings.is_empty() && input.events > 100, "{input:?}");
}

#[test]
fn what_is_no_recording_is_reported_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in
        [("empty.json", ""), ("other.json", "{\"name\": \"x\"}"), ("text.json", "hello")]
    {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        let error = try_load(std::slice::from_ref(&path), &options(folder.path()))
            .expect_err("cannot be loaded");
        let message = error.to_string();
        assert!(
            message.starts_with(&path.display().to_string()) && message.lines().count() == 1,
            "{message}"
        );
    }
    let missing = try_load(&[folder.path().join("missing.json")], &options(folder.path()))
        .expect_err("is missing");
    assert!(
        missing
            .to_string()
            .ends_with("missing.json: there is no such file or folder; check the path"),
        "{missing}"
    );
}

#[test]
fn one_bad_input_does_not_take_the_others_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = folder.path().join("bad.json");
    fs::write(&bad, "hello").expect("written");
    let run = load_at(&[bad, fixture("cpu/torch2.15.0/scheduled.0.json.gz")], &workloads());
    assert_eq!((run.failures.len(), run.ranks.len()), (1, 1));
}

#[test]
fn loading_can_be_watched_and_cancelled() {
    let input = [fixture("cpu/torch2.15.0/slow_model.json.gz")];
    let seen = Mutex::new(Vec::new());
    let watch = Watch {
        progress: &|progress| {
            seen.lock().expect("unpoisoned").push((progress.stage, progress.done, progress.total))
        },
        cancelled: &AtomicBool::new(false),
    };
    load(&input, &options(&workloads()), &watch).expect("loads");
    let seen = seen.into_inner().expect("unpoisoned");
    assert_eq!(seen.last().map(|(stage, ..)| *stage), Some(Stage::Attributing));
    assert!(seen.iter().all(|(_, done, total)| done <= total));
    let cancelled = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(true) };
    assert!(matches!(load(&input, &options(&workloads()), &cancelled), Err(Error::Cancelled)));
}

#[test]
fn the_log_of_the_compiler_that_bears_the_name_of_a_trace_is_the_one_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let recorded = fixture("cpu/torch2.15.0/inductor");
    let log = "dedicated_log_torch_trace_kymd4kbh.log.gz";
    fs::copy(recorded.join("inductor.json.gz"), at("host_1.1700000000000000000.pt.trace.json.gz"))
        .expect("copied");
    // What other runs left in the folder.
    fs::copy(recorded.join(log), at(log)).expect("copied");
    let logs = || -> Vec<String> {
        let trace = at("host_1.1700000000000000000.pt.trace.json.gz");
        let run = load_at(&[trace], &workloads());
        let logs = run.inputs.iter().filter(|it| it.kind == InputKind::CompileLog);
        logs.map(|it| it.path.file_name().expect("a name").to_string_lossy().into_owned()).collect()
    };
    assert_eq!(logs(), [log]);
    let own = "host_1.1700000000000000000.torch_trace.log.gz";
    fs::copy(recorded.join(log), at(own)).expect("copied");
    assert_eq!(logs(), [own]);
}

#[test]
fn recordings_are_found_and_grouped_by_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = |from: &str, to: &str| {
        let to = folder.path().join(to);
        fs::create_dir_all(to.parent().expect("a parent")).expect("a folder");
        fs::copy(fixture(from), to).expect("copied");
    };
    copy("cpu/torch2.11.0/two_ranks.rank0.json.gz", "runs/two_ranks.rank0.json.gz");
    copy("cpu/torch2.11.0/two_ranks.rank1.json.gz", "runs/two_ranks.rank1.json.gz");
    copy("cpu/torch2.11.0/two_ranks.rank1.callers.json.gz", "runs/two_ranks.rank1.callers.json.gz");
    copy("cpu/torch2.11.0/slow_model.json.gz", ".venv/slow_model.json.gz");
    fs::write(folder.path().join("package.json"), "{\"name\": \"x\"}").expect("written");
    let found = discover(folder.path());
    let names: Vec<Vec<String>> = found
        .iter()
        .map(|recording| {
            recording
                .inputs
                .iter()
                .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
                .collect()
        })
        .collect();
    assert_eq!(names, [["two_ranks.rank0.json.gz", "two_ranks.rank1.json.gz"]]);
    let described = loader::describe(&found[0].inputs);
    let side_car = folder.path().join("runs/two_ranks.rank1.callers.json.gz");
    let size = |it: &PathBuf| it.metadata().expect("a file").len();
    let bytes = found[0].inputs.iter().chain([&side_car]).map(size).sum::<u64>();
    assert_eq!((described.kinds, described.ranks), (vec![InputKind::Kineto], 2));
    assert_eq!((described.beside, described.bytes), (vec![side_car], bytes));
}

/// The files of each run that is found, by their names up to the first point.
fn found_names(folder: &std::path::Path) -> Vec<Vec<String>> {
    let name = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        name.trim_end_matches(".pt.trace.json.gz").to_owned()
    };
    discover(folder).iter().map(|it| it.inputs.iter().map(name).collect()).collect()
}

#[test]
fn ranks_whose_names_do_not_say_so_are_one_run() {
    let recorded = fixture("cpu/torch2.15.0/late_rank.slow_data");
    let mut ranks: Vec<PathBuf> =
        fs::read_dir(&recorded).expect("a folder").map(|it| it.expect("an entry").path()).collect();
    ranks.sort();
    let folder = tempfile::tempdir().expect("a folder");
    let copy = |rank: usize, name: &str| {
        let to = folder.path().join(format!("{name}.pt.trace.json.gz"));
        fs::copy(&ranks[rank], to).expect("copied");
    };
    // Two machines, two cycles of a schedule on each, far apart; and an earlier run of other processes.
    copy(0, "a_10.1795342000000000000");
    copy(1, "b_77.1795342000100000000");
    copy(0, "a_10.1795342500000000000");
    copy(1, "b_77.1795342500100000000");
    copy(0, "a_8.1795341990000000000");
    copy(1, "b_9.1795341990100000000");
    let mut found = found_names(folder.path());
    found.sort();
    assert_eq!(
        found,
        [
            vec![
                "a_10.1795342000000000000",
                "a_10.1795342500000000000",
                "b_77.1795342000100000000",
                "b_77.1795342500100000000",
            ],
            vec!["a_8.1795341990000000000", "b_9.1795341990100000000"],
        ]
    );
    assert_eq!(found_names(&recorded).len(), 1);
    let run = load_at(&discover(&recorded)[0].inputs, &workloads());
    assert_eq!(run.ranks.iter().map(|it| it.rank).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn cycles_of_one_process_are_one_rank() {
    let folder = tempfile::tempdir().expect("a folder");
    for (cycle, name) in [
        (0, "vm_10.1795342000000000000"),
        (1, "vm_10.1795342500000000000"),
        (0, "vm_8.1795341000000000000"),
    ] {
        let from = fixture(&format!("cpu/torch2.11.0/scheduled.{cycle}.json.gz"));
        let to = folder.path().join(format!("{name}.pt.trace.json.gz"));
        fs::copy(from, to).expect("copied");
    }
    let mut found = found_names(folder.path());
    found.sort();
    assert_eq!(
        found,
        [
            vec!["vm_10.1795342000000000000", "vm_10.1795342500000000000"],
            vec!["vm_8.1795341000000000000"],
        ]
    );
    let cycles = [0, 1].map(|it| fixture(&format!("cpu/torch2.11.0/scheduled.{it}.json.gz")));
    let n_steps = |inputs: &[PathBuf]| load_at(inputs, &workloads()).merged.steps.len();
    let all = discover(folder.path());
    let run = all.iter().find(|it| it.inputs.len() == 2).expect("both cycles");
    let loaded = load_at(&run.inputs, &workloads());
    assert_eq!(loaded.ranks.iter().map(|it| it.rank).collect::<Vec<_>>(), [0]);
    let each: usize = cycles.iter().map(|it| n_steps(std::slice::from_ref(it))).sum();
    assert_eq!(loaded.merged.steps.len(), each);
}

/// Traces in a folder, by name, and the recordings that are found in it.
fn recordings_of(traces: &[(&str, &[u8])]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in traces {
        fs::write(folder.path().join(format!("{name}.pt.trace.json.gz")), bytes).expect("written");
    }
    let mut found = found_names(folder.path());
    found.sort();
    found
}

#[test]
fn cycles_that_a_program_named_by_their_steps_are_one_recording() {
    let read = |name: &str| {
        let packed = fs::read(fixture(&format!("cpu/torch2.11.0/{name}.json.gz"))).expect("read");
        let mut text = String::new();
        let mut reader = flate2::read::GzDecoder::new(&*packed);
        reader.read_to_string(&mut text).expect("UTF-8");
        text
    };
    let [one, two, other] = ["scheduled.0", "scheduled.1", "slow_model"].map(read);
    let traces = [("trace_4", &one), ("trace_8", &two), ("trace_12", &other)];
    let found = recordings_of(&traces.map(|(name, text)| (name, text.as_bytes())));
    assert_eq!(found, [vec!["trace_12"], vec!["trace_4", "trace_8"]]);
    // Of several ranks.
    let names = ["rank0_step4", "rank0_step8", "rank1_step4", "rank1_step8"];
    let of_ranks = [&one, &two, &one, &two].map(|it| it.as_bytes());
    let traces: Vec<_> = names.into_iter().zip(of_ranks).collect();
    assert_eq!(recordings_of(&traces), [names]);
    // An earlier run left a trace of later steps.
    let left = one.replace("ProfilerStep#", "ProfilerStep#9");
    let found = recordings_of(&[("trace_8", left.as_bytes()), ("trace_4", two.as_bytes())]);
    assert_eq!(found, [["trace_4"], ["trace_8"]]);
}

#[cfg(unix)]
#[test]
fn recordings_and_side_cars_are_found_by_links_that_stay_in_the_folder() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in ["opened/runs", "outside"] {
        fs::create_dir_all(at(name)).expect("a folder");
        for ending in ["json.gz", "callers.json.gz"] {
            let from = fixture(&format!("cpu/torch2.11.0/slow_model.{ending}"));
            fs::copy(from, at(name).join(format!("slow_model.{ending}"))).expect("copied");
        }
    }
    let link = |to: &str, name: &str| symlink(to, at(name)).expect("linked");
    link("runs/slow_model.json.gz", "opened/inside.json.gz");
    link("runs/slow_model.callers.json.gz", "opened/inside.callers.json.gz");
    link("../outside/slow_model.json.gz", "opened/outside.json.gz");
    let mut found: Vec<PathBuf> =
        discover(&at("opened")).into_iter().flat_map(|it| it.inputs).collect();
    found.sort();
    assert_eq!(found, [at("opened/inside.json.gz"), at("opened/runs/slow_model.json.gz")]);
    let kinds = |name: &str| -> Vec<InputKind> {
        load_at(&[at(name)], &workloads()).inputs.iter().map(|input| input.kind).collect()
    };
    assert_eq!(kinds("opened/inside.json.gz"), [InputKind::Kineto, InputKind::Callers]);
    // A trace that is named is read wherever it lies; a side-car that is found is not.
    fs::remove_file(at("opened/inside.callers.json.gz")).expect("removed");
    link("../outside/slow_model.callers.json.gz", "opened/inside.callers.json.gz");
    assert_eq!(kinds("opened/inside.json.gz"), [InputKind::Kineto]);
    assert_eq!(kinds("opened/outside.json.gz"), [InputKind::Kineto]);
}
