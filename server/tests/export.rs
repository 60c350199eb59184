//! What `perfline export` writes says what `perfline lines` says, in every format and for every metric.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_ipc::reader::StreamReader;
use serde_json::Value;

const METRICS: [&str; 6] = ["cpu", "cuda", "gpu_idle", "sync", "waiting", "alloc"];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").canonicalize().unwrap()
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let workloads = fixtures().join("workloads");
    let workloads = workloads.to_str().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
    command
        .current_dir(fixtures())
        .args(arguments)
        .args(["--root", workloads, "--site", workloads])
        .env("PERFLINE_CACHE_DIR", "")
        .stdin(Stdio::null());
    command
}

fn output(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn error(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

/// Decimal microseconds as nanoseconds, and bytes as they are.
fn amount(text: &str, unit: &str) -> i64 {
    if unit == "bytes" {
        return text.parse().unwrap();
    }
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{decimals:0<3}").parse().unwrap()
}

#[test]
fn every_format_has_the_totals_of_the_lines() {
    for input in [
        "cpu/torch2.15.0/idle_threads.json.gz",
        "simulated_cuda/torch2.15.0/slow_model.json.gz",
        "simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz",
    ] {
        let lines: Value = serde_json::from_str(&output(&["lines", input])).unwrap();
        let csv = output(&["export", input, "--format", "csv"]);
        let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        let json = output(&["export", input, "--format", "speedscope", "--all"]);
        let json: Value = serde_json::from_str(&json).unwrap();
        for metric in METRICS {
            let unit = if metric == "alloc" { "bytes" } else { "us" };
            let total = lines["totals"][format!("{metric}_{unit}")].to_string();
            let total = amount(&total, unit);
            let what = format!("{metric} of {input}");

            let folded = ["export", input, "--format", "folded", "--metric", metric];
            for options in [&folded[..], &[&folded[..], &["--all"]].concat()] {
                let stacks = output(options);
                let last = stacks.lines().map(|it| it.rsplit_once(' ').unwrap().1);
                assert_eq!(last.map(|it| it.parse::<i64>().unwrap()).sum::<i64>(), total, "{what}");
            }

            // The columns of amounts are the last ones, after texts with commas.
            let column = header.iter().rev().position(|it| *it == format!("{metric}_{unit}"));
            let column = column.unwrap();
            let rows = csv.lines().skip(1).map(|it| it.rsplit(',').nth(column).unwrap());
            assert_eq!(rows.map(|it| amount(it, unit)).sum::<i64>(), total, "{what}");

            let label = match metric {
                "cpu" => "thread time",
                "cuda" => "CUDA time",
                "gpu_idle" => "GPU idle time",
                "sync" => "waits for devices",
                "alloc" => "allocated bytes",
                other => other,
            };
            let profiles = json["profiles"].as_array().unwrap();
            let profile = profiles.iter().find(|it| it["name"] == label);
            let end = profile.map_or(0, |it| it["endValue"].as_i64().unwrap());
            assert_eq!(end, total, "{what}");
        }
    }
}

/// When a slice begins and ends, in nanoseconds; in order, of those that begin together the longest is the first.
type StartAndEnd = (i64, Reverse<i64>);

/// Decimal thousandths as thousand times as many.
fn thousandths(value: &Value) -> i64 {
    (value.as_f64().unwrap() * 1e3).round() as i64
}

/// Slices of a track lie within each other, and arrows begin and end at slices. The outermost slices of the tracks of threads,
/// of idle time and of streams add up to the totals of the lines.
#[test]
fn a_trace_for_perfetto_has_slices_within_each_other_that_add_up() {
    for input in [
        "cpu/torch2.15.0/slow_model.json.gz",
        "simulated_cuda/torch2.15.0/slow_model.json.gz",
        "simulated_cuda/torch2.15.0/uploads.json.gz",
    ] {
        let trace: Value =
            serde_json::from_str(&output(&["export", input, "--format", "perfetto"])).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let track = |it: &Value| (it["pid"].as_i64().unwrap(), it["tid"].as_i64().unwrap());
        let of_phase = |phase: &'static str| events.iter().filter(move |it| it["ph"] == phase);
        let names: BTreeMap<(i64, i64), &str> = of_phase("M")
            .filter(|it| it["name"] == "thread_name")
            .map(|it| (track(it), it["args"]["name"].as_str().unwrap()))
            .collect();
        let mut slices: BTreeMap<(i64, i64), Vec<StartAndEnd>> = BTreeMap::new();
        for it in of_phase("X") {
            let start = thousandths(&it["ts"]);
            let end = start + thousandths(&it["dur"]);
            slices.entry(track(it)).or_default().push((start, Reverse(end)));
        }
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        for (track, slices) in &mut slices {
            slices.sort_unstable();
            let mut open: Vec<i64> = Vec::new();
            let kind = match names[track] {
                "idle" => "gpu_idle_us",
                it if it.starts_with("stream ") => "cuda_us",
                it if it.ends_with(": annotations") => continue,
                _ => "cpu_us",
            };
            for &(start, Reverse(end)) in &*slices {
                open.retain(|until| start < *until);
                assert!(open.last().is_none_or(|until| end <= *until), "{input} {track:?}");
                // What runs on a stream overlaps with nothing there.
                assert!(open.is_empty() || kind == "cpu_us", "{input} {track:?}");
                if open.is_empty() {
                    *sums.entry(kind).or_default() += end - start;
                }
                open.push(end);
            }
        }
        let lines: Value = serde_json::from_str(&output(&["lines", input])).unwrap();
        for kind in ["cpu_us", "cuda_us", "gpu_idle_us"] {
            let total = thousandths(&lines["totals"][kind]);
            assert_eq!(sums.get(kind).copied().unwrap_or(0), total, "{kind} of {input}");
        }
        for it in of_phase("s").chain(of_phase("f")) {
            let at = thousandths(&it["ts"]);
            let is_there =
                slices[&track(it)].iter().any(|(start, end)| *start <= at && at <= end.0);
            assert!(is_there, "{it}");
        }
        let on_device = of_phase("X").filter(|it| it["cat"] == "device");
        let with_line = on_device.clone().filter(|it| it["args"]["line"].is_u64()).count();
        assert_eq!(with_line, on_device.count());
    }
}

/// What stands below a line on the track of a thread has that line in its arguments: operators, calls, those of the runtime.
#[test]
fn a_trace_for_perfetto_has_the_line_of_each_operator_and_call() {
    let input = "simulated_cuda/torch2.15.0/slow_model.json.gz";
    let trace: Value =
        serde_json::from_str(&output(&["export", input, "--format", "perfetto"])).unwrap();
    let of_threads = ["your code", "library", "not on a line", "call", "operator", "runtime"];
    let mut slices: Vec<_> = trace["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        // The tracks of devices belong to other processes than 0.
        .filter(|(_, it)| it["ph"] == "X" && it["pid"] == 0)
        .filter(|(_, it)| of_threads.contains(&it["cat"].as_str().unwrap()))
        .map(|(index, it)| {
            let start = thousandths(&it["ts"]);
            let end = start + thousandths(&it["dur"]);
            // A slice is written when it ends, after those within it.
            (it["tid"].as_i64().unwrap(), start, Reverse(end), Reverse(index), it)
        })
        .collect();
    slices.sort_unstable_by_key(|&(thread, start, end, index, _)| (thread, start, end, index));
    let mut open: Vec<(i64, i64, Value, Value)> = Vec::new();
    let mut below_lines: BTreeMap<&str, usize> = BTreeMap::new();
    for (thread, start, Reverse(end), _, slice) in slices {
        let (category, args) = (slice["cat"].as_str().unwrap(), &slice["args"]);
        open.retain(|(of, until, ..)| *of == thread && start < *until);
        if ["your code", "library"].contains(&category) {
            assert!(args["line"].is_u64(), "{slice}");
        } else {
            let null = (Value::Null, Value::Null);
            let expected =
                open.last().map_or(null, |(.., file, line)| (file.clone(), line.clone()));
            assert_eq!((args["file"].clone(), args["line"].clone()), expected, "{slice}");
            *below_lines.entry(category).or_default() += usize::from(args["line"].is_u64());
        }
        open.push((thread, end, args["file"].clone(), args["line"].clone()));
    }
    for category in ["call", "operator", "runtime"] {
        assert!(below_lines[category] > 0, "{category}");
    }
}

/// A column of a table in a stream of Arrow.
fn column(batches: &[RecordBatch], name: &str) -> Vec<f64> {
    let values = batches.iter().flat_map(|it| {
        let column = it.column_by_name(name).unwrap();
        let real = column.as_primitive_opt::<Float64Type>().map(|it| it.values().to_vec());
        let whole = || column.as_primitive::<Int64Type>().iter().map(|it| it.unwrap_or(0) as f64);
        real.unwrap_or_else(|| whole().collect())
    });
    values.collect()
}

/// The tables of a recording by name, read at once.
fn tables(arguments: &[&str], names: &[&str]) -> BTreeMap<String, Vec<RecordBatch>> {
    let table = names.join(",");
    let output = run(&[arguments, &["--format", "arrow", "--table", &table]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut rest = output.stdout.as_slice();
    let mut tables = BTreeMap::new();
    for name in names {
        let mut reader = StreamReader::try_new(&mut rest, None).unwrap();
        assert_eq!(reader.schema().metadata()["perfline.table"], **name);
        let batches = reader.by_ref().collect::<Result<_, _>>().unwrap();
        tables.insert((*name).to_owned(), batches);
    }
    assert!(rest.is_empty());
    tables
}

#[test]
fn tables_have_the_numbers_of_the_lines_and_their_sums() {
    for input in [
        "cpu/torch2.15.0/slow_model.json.gz",
        "simulated_cuda/torch2.15.0/slow_model.json.gz",
        "simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz",
    ] {
        let lines: Value = serde_json::from_str(&output(&["lines", input])).unwrap();
        let names = ["lines", "kernels", "operators", "modules", "steps", "findings", "stacks"];
        let tables = tables(&["export", input], &names);
        let expected = lines["lines"].as_array().unwrap();
        for name in ["line", "calls", "cpu_own_us", "cuda_total_us", "alloc_bytes", "flops"] {
            let expected: Vec<f64> = expected.iter().map(|it| it[name].as_f64().unwrap()).collect();
            assert_eq!(column(&tables["lines"], name), expected, "{name} of {input}");
        }
        let ns = |name: &str, column_name: &str| -> i64 {
            column(&tables[name], column_name).iter().map(|it| (it * 1e3).round() as i64).sum()
        };
        let total = |name: &str| thousandths(&lines["totals"][name]);
        for name in ["cpu", "cuda", "sync"] {
            let (us, total) = (format!("{name}_us"), total(&format!("{name}_us")));
            let column = if name == "sync" { us } else { format!("{name}_own_us") };
            let without = thousandths(&lines["unattributed"][format!("{name}_us")]);
            assert_eq!(ns("lines", &column) + without, total, "{name} of {input}");
            let stacks = column_sum(&tables["stacks"], &format!("{name}_ns"));
            assert_eq!(stacks, total, "{name} of {input}");
        }
        assert_eq!(ns("kernels", "time_us"), total("cuda_us"), "{input}");
        let steps = column(&tables["steps"], "step");
        assert_eq!(steps.len() as u64, lines["steps"].as_u64().unwrap(), "{input}");
        let time = ns("steps", "time_us");
        let of_parts = ["kernel", "memcpy", "memset", "comm", "runtime", "loader", "ops", "other"];
        let sum: i64 = of_parts.iter().map(|it| ns("steps", &format!("{it}_us"))).sum();
        assert_eq!(sum, time, "{input}");
    }
}

/// Of whole numbers.
fn column_sum(batches: &[RecordBatch], name: &str) -> i64 {
    let columns = batches.iter().map(|it| it.column_by_name(name).unwrap());
    columns.map(|it| it.as_primitive::<Int64Type>().values().iter().sum::<i64>()).sum()
}

#[test]
fn tables_of_a_part_have_the_numbers_of_the_part() {
    let input = "simulated_cuda/torch2.15.0/slow_model.json.gz";
    let phase = ["--phase", "backward"];
    let json = output(&[&["lines", input][..], &phase].concat());
    let lines: Value = serde_json::from_str(&json).unwrap();
    let export = [&["export", input][..], &phase].concat();
    let of_lines = tables(&export, &["lines", "findings"]);
    let expected = lines["lines"].as_array().unwrap().iter();
    let expected: Vec<f64> = expected.map(|it| it["cuda_own_us"].as_f64().unwrap()).collect();
    assert!(!expected.is_empty());
    assert_eq!(column(&of_lines["lines"], "cuda_own_us"), expected);
    assert!(of_lines["lines"][0].column_by_name("kernels").unwrap().null_count() > 0);
    let time = column(&tables(&export, &["kernels"])["kernels"], "time_us");
    let time: i64 = time.iter().map(|it| (it * 1e3).round() as i64).sum();
    assert_eq!(time, thousandths(&lines["totals"]["cuda_us"]));
}

#[test]
fn a_ledger_has_the_tables_that_need_no_stacks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.perfline");
    let ledger = path.to_str().unwrap();
    let trace = "simulated_cuda/torch2.15.0/slow_model.json.gz";
    assert!(run(&["ledger", trace, "--output", ledger]).status.success());
    let names = ["lines", "findings", "modules", "steps", "ranks"];
    let (of_trace, of_ledger) =
        (tables(&["export", trace], &names), tables(&["export", ledger], &names));
    for name in names {
        assert!(
            of_trace[name]
                .iter()
                .map(|it| it.columns())
                .eq(of_ledger[name].iter().map(|it| it.columns())),
            "{name}"
        );
    }
    let message = error(&["export", ledger, "--format", "arrow", "--table", "lines,kernels"]);
    assert!(message.contains("a ledger holds no stacks"), "{message}");
}

#[test]
fn a_file_is_written_and_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stacks.pb.gz");
    let trace = "simulated_cuda/torch2.15.0/slow_model.json.gz";
    let file = path.to_str().unwrap();
    let written = run(&["export", trace, "--format", "pprof", "-o", file]);
    assert!(written.status.success() && written.stdout.is_empty());
    let message = String::from_utf8(written.stderr).unwrap();
    assert!(message.contains("stacks.pb.gz: "), "{message}");
    assert!(message.contains(" stacks, ") && message.contains(" CUDA time, "), "{message}");
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes[..2], [0x1f, 0x8b]);
    let again = run(&["export", trace, "--format", "pprof"]);
    assert!(again.stdout == bytes, "the same recording gives the same bytes");
}

/// A kept ledger holds no stacks: an export reads the recording, whatever was loaded of it before.
#[test]
fn a_recording_that_was_opened_before_is_exported_all_the_same() {
    let cache = tempfile::tempdir().unwrap();
    let trace = "simulated_cuda/torch2.15.0/slow_model.json.gz";
    let with_cache = |arguments: &[&str]| {
        let output = command(arguments).env("PERFLINE_CACHE_DIR", cache.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let export = ["export", trace, "--format", "folded"];
    let expected = output(&export);
    assert!(!expected.is_empty());
    with_cache(&["lines", trace]);
    with_cache(&["lines", trace]);
    assert!(with_cache(&export) == expected);
}

#[test]
fn what_cannot_be_exported_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.perfline");
    let ledger = path.to_str().unwrap();
    let trace = "simulated_cuda/torch2.15.0/slow_model.json.gz";
    assert!(run(&["ledger", trace, "--output", ledger]).status.success());
    let message = error(&["export", ledger, "--format", "folded"]);
    let expected =
        "a ledger holds no stacks; name the traces and snapshots that it was written from";
    assert!(message.trim_end().ends_with(expected), "{message}");
    let message = error(&["export", trace, "--format", "svg"]);
    let expected = "unknown format `svg`, expected one of: folded, speedscope, firefox, pprof, csv, parquet, arrow, perfetto";
    assert!(message.contains(expected), "{message}");
    let message = error(&["export", trace, "--format", "perfetto", "--phase", "forward"]);
    let expected = "perfetto has all events of the recording: leave out --phase forward";
    assert!(message.contains(expected), "{message}");
    let snapshot = "simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz";
    let message = error(&["export", snapshot, "--format", "perfetto"]);
    let expected = "none of the inputs has events with times; name a trace of torch.profiler";
    assert_eq!(message.trim_end(), format!("perfline: {expected}"));
    for input in [ledger, snapshot] {
        let message = error(&["ranges", input]);
        assert_eq!(message.trim_end(), format!("perfline: {expected}"));
    }
    let message = error(&["export", trace, "--format", "csv", "--table", "lines"]);
    let expected = "csv has stacks alone: leave out --table, or name parquet or arrow as format";
    assert_eq!(message.trim_end(), format!("perfline: {expected}"));
    let message = error(&["export", trace, "--format", "parquet", "--table", "lines,steps"]);
    let expected = "a file of parquet has one table: name one with --table, or arrow as format";
    assert_eq!(message.trim_end(), format!("perfline: {expected}"));
    let arrow = ["export", trace, "--format", "arrow", "--phase", "forward", "--table"];
    let message = error(&[&arrow[..], &["lines,steps"]].concat());
    let expected = "the table of steps is of the whole recording: leave out --phase forward";
    assert_eq!(message.trim_end(), format!("perfline: {expected}"));
    let message = error(&[&arrow[..], &["lines,kernels"]].concat());
    let expected = "with --phase forward, kernels have what is on stacks and lines what is on lines: export each by itself";
    assert_eq!(message.trim_end(), format!("perfline: {expected}"));
    let message = error(&["export", trace, "--format", "folded", "--metric", "gpu"]);
    let expected =
        "unknown metric `gpu`, expected one of: cpu, cuda, gpu_idle, sync, waiting, alloc";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_recording_that_is_cut_off_is_reported_and_refused_with_strict() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(fixtures().join("cpu/torch2.15.0/idle_threads.json.gz")).unwrap();
    let cut = folder.path().join("cut.json.gz");
    fs::write(&cut, &whole[..whole.len() * 3 / 4]).unwrap();
    let cut = cut.to_str().unwrap();
    for command in [&["export", cut, "--format", "folded"][..], &["lines", cut, "--format", "csv"]]
    {
        let output = run(command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(!output.stdout.is_empty());
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.starts_with(&format!("perfline: warning: {cut} is incomplete: ")), "{said}");
        assert!(said.contains("the gzip data breaks off"), "{said}");
        let output = run(&[command, &["--strict"]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(!output.stdout.is_empty());
    }
    let whole = "cpu/torch2.15.0/idle_threads.json.gz";
    let output = run(&["export", whole, "--format", "folded", "--strict"]);
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    let output = run(&["diff", cut, whole, "--strict"]);
    assert_eq!(output.status.code(), Some(2));
}
