//! Filters and `--sizes`: a part has the numbers that it has in the whole.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const TRACE: &str = "simulated_cuda/torch2.15.0/slow_model.json.gz";

fn perfline(arguments: &[&str]) -> Output {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
    command.args(arguments).args(["--root", "workloads"]);
    command.env("PERFLINE_CACHE_DIR", "").current_dir(fixtures).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = perfline(&[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{arguments:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A column of a table, of numbers without their unit, of texts as they are; null where there is none.
fn column(arguments: &[&str], name: &str) -> Vec<Value> {
    column_of(&json(arguments)["table"], name)
}

fn column_of(table: &Value, name: &str) -> Vec<Value> {
    let columns = table["columns"].as_array().unwrap();
    let index = columns.iter().position(|it| it["name"] == name).unwrap();
    let rows = table["rows"].as_array().unwrap().iter();
    rows.map(|row| row[index].get("value").unwrap_or(&row[index]["text"]).clone()).collect()
}

/// A column of numbers, added up by operator.
fn by_operator(arguments: &[&str], name: &str) -> BTreeMap<String, i64> {
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    let table = json(arguments)["table"].take();
    let numbers = column_of(&table, name);
    for (operator, number) in column_of(&table, "operator").iter().zip(numbers) {
        *sums.entry(operator.as_str().unwrap().to_owned()).or_default() +=
            number.as_i64().unwrap_or(0);
    }
    sums
}

#[test]
fn lines_of_a_file_and_a_function_are_those_of_the_whole() {
    let all = json(&["lines", TRACE]);
    let part = json(&["lines", TRACE, "--file", "slow_*.py", "--function", "^Gate"]);
    let expected: Vec<&Value> = all["lines"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| {
            it["file"] == "slow_model.py" && it["function"].as_str().unwrap().starts_with("Gate")
        })
        .collect();
    assert!(1 < expected.len());
    assert_eq!(part["lines"].as_array().unwrap().iter().collect::<Vec<_>>(), expected);
    assert_eq!(part["totals"], all["totals"]);
}

#[test]
fn sizes_divide_operators() {
    for name in ["calls", "cpu self", "cuda self", "alloc"] {
        let whole = by_operator(&["ops", TRACE], name);
        assert!(whole.values().any(|it| *it != 0), "{name}");
        assert_eq!(by_operator(&["ops", TRACE, "--sizes"], name), whole, "{name}");
    }
    let sizes = column(&["ops", TRACE, "--sizes"], "input sizes");
    assert!(sizes.contains(&Value::from("[[192, 48], [48, 192]]")));
}

#[test]
fn what_runs_below_a_function_is_what_its_callers_line_has_in_total() {
    // `SlowModel.forward` is called on one line, which does nothing else.
    let below = column(&["kernels", TRACE, "--function", "^SlowModel.forward$"], "time");
    let below: i64 = below.iter().map(|it| it.as_i64().unwrap()).sum();
    let all = json(&["lines", TRACE]);
    let mut lines = all["lines"].as_array().unwrap().iter();
    let call = lines.find(|it| it["file"] == "slow_model.py" && it["line"] == 93).unwrap();
    let total = (call["cuda_total_us"].as_f64().unwrap() * 1e3).round();
    assert_eq!(below as f64, total);
}

#[test]
fn phases_are_parts_of_the_whole() {
    let calls = |phase: &[&str]| by_operator(&[&["ops", TRACE], phase].concat(), "calls");
    let all = calls(&[]);
    let [forward, backward, optimizer] =
        ["forward", "backward", "optimizer"].map(|it| calls(&["--phase", it]));
    // Autograd runs the products without a bias, the optimizer alone interpolates.
    assert_eq!(backward["aten::mm"], all["aten::mm"]);
    assert_eq!(optimizer["aten::lerp_"], all["aten::lerp_"]);
    assert_eq!(forward["aten::addmm"], all["aten::addmm"]);
    assert!(!forward.contains_key("aten::mm"));
}

/// Versions of PyTorch spell calls of modules and `no_grad` differently. Of the two passes each has operators of its own.
#[test]
fn phases_are_the_same_in_all_versions() {
    for version in ["1.13.1", "2.1.2", "2.11.0", "2.15.0"] {
        let trace = format!("cpu/torch{version}/transformer.json.gz");
        let calls = |phase: &str| by_operator(&["ops", &trace, "--phase", phase], "calls");
        let (forward, backward) = (calls("forward"), calls("backward"));
        assert!(forward.contains_key("aten::linear"), "{version}: {forward:?}");
        assert!(!backward.contains_key("aten::linear"), "{version}: {backward:?}");
        assert!(backward.contains_key("MmBackward0"), "{version}: {backward:?}");
        assert!(!forward.contains_key("MmBackward0"), "{version}: {forward:?}");
        assert!(!calls("optimizer").is_empty(), "{version}");
    }
}

#[test]
fn threads_and_streams_are_parts_of_the_whole() {
    const TWO_THREADS: &str = "cpu/torch2.15.0/idle_threads.json.gz";
    let threads = trace_threads(TWO_THREADS);
    assert!(1 < threads.len(), "{threads:?}");
    let whole = by_operator(&["ops", TWO_THREADS], "cpu self");
    let mut sum: BTreeMap<String, i64> = BTreeMap::new();
    for thread in &threads {
        for (name, time) in by_operator(&["ops", TWO_THREADS, "--thread", thread], "cpu self") {
            *sum.entry(name).or_default() += time;
        }
    }
    assert_eq!(sum, whole);

    let on_device = |arguments: &[&str]| -> BTreeMap<String, i64> {
        let all = by_operator(arguments, "cuda self").into_iter();
        all.filter(|(_, time)| *time != 0).collect()
    };
    assert_eq!(on_device(&["ops", TRACE, "--stream", "7"]), on_device(&["ops", TRACE]));
    assert!(by_operator(&["ops", TRACE, "--stream", "7"], "cpu self").values().all(|it| *it == 0));
}

#[test]
fn what_runs_in_a_module_is_what_its_calls_took() {
    const NAMED: &str = "cpu/torch2.15.0/named_modules.json.gz";
    let sum = |arguments: &[&str], name: &str| -> i64 {
        column(arguments, name).iter().map(|it| it.as_i64().unwrap_or(0)).sum()
    };
    let stacks_of = |trace: &str, module: &str, metric: &str| -> i64 {
        let arguments = ["export", trace, "--format", "csv", "--module", module];
        let output = String::from_utf8(perfline(&arguments).stdout).unwrap();
        let mut lines = output.lines();
        let index = lines.next().unwrap().split(',').position(|it| it == metric).unwrap();
        let amount = |line: &str| {
            (line.split(',').nth(index).unwrap().parse::<f64>().unwrap() * 1e3).round()
        };
        lines.map(|it| amount(it) as i64).sum()
    };
    let module =
        |trace: &str, module: &str, name: &str| sum(&["modules", trace, "--module", module], name);
    // By the name of one, of several beside each other, of all in a list, by class.
    for pattern in ["layers.2.up", "layers.*", "layers.*.up", "mix", "LayerNorm"] {
        let expected = module(NAMED, pattern, "cpu total");
        assert_eq!(stacks_of(NAMED, pattern, "cpu_us"), expected, "{pattern}");
        assert!(0 < expected, "{pattern}");
    }
    assert_eq!(stacks_of(NAMED, "layers.**", "cpu_us"), stacks_of(NAMED, "layers.*", "cpu_us"));
    // Without names a module is its class and a number; on a device there is what its calls launched.
    let launched = stacks_of(TRACE, "Linear", "cuda_us");
    assert_eq!(launched, module(TRACE, "Linear_*", "cuda total"));
    assert!(0 < launched);
}

#[test]
fn steps_are_parts_of_the_whole() {
    for name in ["cpu self", "cuda self", "calls"] {
        let of = |steps: &[&str]| by_operator(&[&["ops", TRACE], steps].concat(), name);
        let mut sum: BTreeMap<String, i64> = BTreeMap::new();
        for step in ["1", "2", "3"] {
            for (operator, amount) in of(&["--step", step]) {
                *sum.entry(operator).or_default() += amount;
            }
        }
        assert!(sum.values().any(|it| *it != 0), "{name}");
        assert_eq!(of(&["--step", "1-3"]), sum, "{name}");
        assert_eq!(of(&["--step", "1,2", "--step", "3"]), sum, "{name}");
    }
    // Two of the filters at once: the part of one in the part of the other.
    let forward = |more: &[&str]| {
        let arguments = [&["kernels", TRACE, "--phase", "forward"], more].concat();
        column(&arguments, "calls").iter().map(|it| it.as_i64().unwrap()).sum::<i64>()
    };
    assert!(forward(&["--step", "2"]) < forward(&["--step", "1-3"]));
}

#[test]
fn json_says_which_part_it_is_of() {
    let of = |arguments: &[&str]| json(arguments)["filter"].take();
    assert_eq!(of(&["ops", TRACE]), Value::Null);
    let filter = of(&["ops", TRACE, "--step", "2", "--file", "slow_model.py", "--stream", "7"]);
    assert_eq!(filter["files"], serde_json::json!(["slow_model.py"]));
    assert_eq!(filter["steps"], serde_json::json!(["2"]));
    assert_eq!(filter["streams"], serde_json::json!([7]));
    let filter = of(&["modules", TRACE, "--module", "Gate"]);
    assert_eq!(filter["modules"], serde_json::json!(["Gate"]));
}

/// The lines of a recording, of which amounts in nanoseconds are asked for by name.
fn lines(arguments: &[&str], name: &str) -> BTreeMap<String, i64> {
    let lines = json(&[&["lines"], arguments].concat())["lines"].take();
    let line = |it: &Value| {
        let amount = (it[name].as_f64().unwrap() * 1e3).round() as i64;
        (format!("{}:{}", it["file"].as_str().unwrap(), it["line"]), amount)
    };
    lines.as_array().unwrap().iter().map(line).filter(|it| it.1 != 0).collect()
}

#[test]
fn lines_of_threads_and_steps_add_up_to_the_whole() {
    const TWO_THREADS: &str = "cpu/torch2.15.0/idle_threads.json.gz";
    for name in ["cpu_self_us", "cpu_own_us", "cpu_total_us"] {
        let mut sum: BTreeMap<String, i64> = BTreeMap::new();
        for thread in trace_threads(TWO_THREADS) {
            for (line, time) in lines(&[TWO_THREADS, "--thread", &thread], name) {
                *sum.entry(line).or_default() += time;
            }
        }
        assert_eq!(sum, lines(&[TWO_THREADS], name), "{name}");
    }
    // Of the step in which a line takes longest it has what the whole says of it.
    let whole = json(&["lines", TRACE]);
    for step in 1..=3 {
        let of_step = lines(&[TRACE, "--step", &step.to_string()], "cpu_own_us");
        let mut n = 0;
        for line in whole["lines"].as_array().unwrap() {
            if line["cpu_own_max_step"] == step {
                let key = format!("{}:{}", line["file"].as_str().unwrap(), line["line"]);
                let most = (line["cpu_own_step_max_us"].as_f64().unwrap() * 1e3).round() as i64;
                assert_eq!(of_step[&key], most, "{key}");
                n += 1;
            }
        }
        assert!(0 < n, "{step}");
    }
}

#[test]
fn lines_of_a_part_have_what_stacks_know_of_it() {
    let part = json(&["lines", TRACE, "--module", "Gate", "--function", "^Gate"]);
    assert_eq!(part["books"]["balanced"], true);
    let module = |name: &str| -> i64 {
        let times = column(&["modules", TRACE, "--module", "Gate"], name);
        times.iter().map(|it| it.as_i64().unwrap()).sum()
    };
    let total = |name: &str| (part["totals"][name].as_f64().unwrap() * 1e3).round() as i64;
    assert_eq!(total("cpu_us"), module("cpu total"));
    assert_eq!(total("cuda_us"), module("cuda total"));
    assert_eq!(part["totals"]["flops"], Value::Null);
    let lines = part["lines"].as_array().unwrap();
    assert!(1 < lines.len());
    for line in lines {
        assert!(line["function"].as_str().unwrap().starts_with("Gate"), "{line}");
        assert!(line["calls"].is_null() && line["peak_bytes"].is_null(), "{line}");
        assert!(line["cpu_own_us"].is_number(), "{line}");
    }
    assert_eq!(part["filter"]["functions"], serde_json::json!(["^Gate"]));
    // CSV has the same columns; what is not known is empty.
    let csv = perfline(&["lines", TRACE, "--module", "Gate", "--format", "csv"]).stdout;
    let csv = String::from_utf8(csv).unwrap();
    let whole = perfline(&["lines", TRACE, "--format", "csv"]).stdout;
    let whole = String::from_utf8(whole).unwrap();
    assert_eq!(csv.lines().next(), whole.lines().next());
    assert!(csv.lines().any(|it| it.starts_with("slow_model.py,28,Gate.forward,exact,,,")));
}

#[test]
fn annotated_source_of_a_part_says_which() {
    let text = |more: &[&str]| {
        let arguments = [&["annotate", TRACE, "--context", "0"], more].concat();
        String::from_utf8(perfline(&arguments).stdout).unwrap()
    };
    let part = text(&["--module", "Gate", "--function", "Gate"]);
    assert!(part.contains("with --module 'Gate': 2.07 ms of 58.1 ms of thread time"), "{part}");
    assert!(part.contains("of part") && !part.contains("per step"), "{part}");
    assert!(!part.contains("kernels │") && !part.contains("backward"), "{part}");
    assert!(part.contains("  28    41.3 %  852 µs"), "{part}");
    assert!(!part.contains("gate(x) + residual"), "{part}");
    // The ledger has the numbers of one step; of several, and with another filter, stacks have.
    assert!(text(&["--step", "2"]).contains("of step 2"));
    assert!(text(&["--step", "2-3"]).contains("with --step 2-3: "));
    assert!(
        text(&["--step", "2", "--phase", "backward"]).contains("with --phase backward --step 2: ")
    );
    let output = perfline(&["annotate", TRACE, "--per", "step", "--module", "Gate"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn modules_are_listed_by_pattern() {
    const NAMED: &str = "cpu/torch2.15.0/named_modules.json.gz";
    let names = |pattern: &str| column(&["modules", NAMED, "--module", pattern], "module");
    let mut listed = names("layers.*");
    listed.sort_by_key(|it| it.as_str().unwrap().to_owned());
    assert_eq!(listed, ["layers.0", "layers.1", "layers.2", "layers.3"]);
    assert_eq!(names("head"), ["head"]);
}

/// The ids of the threads that ran operators.
fn trace_threads(trace: &str) -> Vec<String> {
    let output = perfline(&["export", trace, "--format", "perfetto"]);
    let events: Value = serde_json::from_slice(&output.stdout).unwrap();
    let events = events["traceEvents"].as_array().unwrap().iter();
    let names = events.filter(|it| it["name"] == "thread_name" && it["pid"] == 0);
    let names = names.map(|it| it["args"]["name"].as_str().unwrap());
    let id = |name: &str| {
        let digits = name.split(|it: char| !it.is_ascii_digit()).find(|it| !it.is_empty());
        digits.unwrap().to_owned()
    };
    names.filter(|it| !it.ends_with(": annotations")).map(id).collect()
}

#[test]
fn a_filter_that_nothing_passes_says_so() {
    let fixture = |name: &str| TRACE.replace("slow_model", name).replace("simulated_cuda", "cpu");
    let cases: [(&[&str], &str); 18] = [
        (
            &["ops", TRACE, "--thread", "python", "--stream", "99"],
            "perfline: nothing of the recording passes --thread 'python' --stream 99\n",
        ),
        (
            &["lines", &fixture("two_devices"), "--phase", "backward"],
            "perfline: nothing of the recording passes --phase backward; of the phases of training it has forward\n",
        ),
        (
            &["report", &fixture("garbage"), "--phase", "loader"],
            "perfline: nothing of the recording passes --phase loader; it has no phase of training\n",
        ),
        (
            &["report", TRACE, "--function", "nope"],
            "perfline: no line of the recording passes --function 'nope'\n",
        ),
        (
            &["report", TRACE, "--phase", "backward", "--max-step-ms", "5"],
            "perfline: limits (--max-…) are of the whole recording: leave out --phase backward\n",
        ),
        (
            &["show", "slow_model.py:97", TRACE, "--phase", "forward"],
            "perfline: nothing of `slow_model.py:97` passes --phase forward; without it, there is\n",
        ),
        (
            &["show", "forward", TRACE, "--function", "nope"],
            "perfline: nothing that is called `forward` passes --function 'nope'\n",
        ),
        (
            &["ops", TRACE, "--function", "nope"],
            "perfline: nothing of the recording passes --function 'nope'\n",
        ),
        (
            &["kernels", TRACE, "--phase", "loader"],
            "perfline: nothing of the recording passes --phase loader; of the phases of training it has forward, backward, optimizer\n",
        ),
        (
            &["ops", TRACE, "--module", "layers.**"],
            "perfline: nothing of the recording passes --module 'layers.**'\n",
        ),
        (
            &["ops", "cpu/torch2.15.0/starved.json.gz", "--module", "Linear"],
            "perfline: nothing of the recording passes --module 'Linear'. It has no calls of modules (nn.Module).\n",
        ),
        (
            &["ops", TRACE, "--step", "2-9", "--step", "11"],
            "perfline: unknown step `11`, expected one of the 3 steps from 1 to 3\n",
        ),
        (
            &["ops", TRACE, "--step", "2", "--module", "nope"],
            "perfline: nothing of the recording passes --module 'nope' --step 2\n",
        ),
        (
            &["lines", TRACE, "--thread", "nope"],
            "perfline: nothing of the recording passes --thread 'nope'\n",
        ),
        (
            &["annotate", TRACE, "--step", "9", "--phase", "forward"],
            "perfline: unknown step `9`, expected one of the 3 steps from 1 to 3\n",
        ),
        (
            &["modules", TRACE, "--module", "layers.**"],
            "perfline: no module of the recording passes --module 'layers.**'\n",
        ),
        (
            &["lines", TRACE, "--file", "nope.py"],
            "perfline: no line of the recording passes --file 'nope.py'\n",
        ),
        (
            &["annotate", TRACE, "--function", "nope", "--file", "slow_model.py"],
            "perfline: no line of the recording passes --file 'slow_model.py' --function 'nope'\n",
        ),
    ];
    for (arguments, expected) in cases {
        let output = perfline(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
        assert!(output.stdout.is_empty());
    }
}

/// Amounts in nanoseconds or bytes by line, of a section of a report or of what `show` prints.
fn amounts_of_section(json: &Value, id: &str, column: &str) -> BTreeMap<String, i64> {
    let sections = json["sections"].as_array().unwrap();
    let Some(section) = sections.iter().find(|it| it["id"] == id) else { return BTreeMap::new() };
    let columns = section["columns"].as_array().unwrap();
    let at = columns.iter().position(|it| it["name"] == column).unwrap();
    let place = columns.iter().position(|it| it["name"] == "line").unwrap();
    let rows = section["rows"].as_array().unwrap().iter();
    let row = |it: &Value| {
        let amount = it[at]["value"].as_f64().unwrap_or_default().round() as i64;
        (it[place]["text"].as_str().unwrap().to_owned(), amount)
    };
    rows.map(row).filter(|it| it.1 != 0).collect()
}

#[test]
fn reports_of_a_part_have_the_sums_of_its_lines() {
    let threads = trace_threads(TRACE);
    let filters: [&[&str]; 7] = [
        &["--phase", "backward"],
        &["--module", "Gate"],
        &["--stream", "7"],
        &["--thread", &threads[0]],
        &["--step", "2"],
        &["--step", "2-3", "--phase", "forward"],
        &["--module", "Gate", "--file", "slow_model.py", "--function", "^Gate"],
    ];
    for filter in filters {
        let report = json(&[&["report", TRACE, "--top", "999"], filter].concat());
        let tables = [
            ("cpu_own_us", "lines-cpu", "part"),
            ("cuda_own_us", "lines-cuda", "part"),
            ("sync_us", "lines-sync", "part"),
            ("cuda_own_us", "lines", "cuda own"),
            ("gpu_idle_us", "lines", "gpu idle"),
        ];
        let arguments = [&[TRACE], filter].concat();
        for (name, id, column) in tables {
            let mut expected = lines(&arguments, name);
            if id == "lines-cpu" {
                // It is without waiting.
                for (line, waiting) in lines(&arguments, "waiting_us") {
                    *expected.get_mut(&line).unwrap() -= waiting;
                }
                expected.retain(|_, it| *it != 0);
            }
            let mut listed = amounts_of_section(&report, id, column);
            if id == "lines" {
                // Lines are listed for their time.
                expected.retain(|it, _| listed.contains_key(it));
                listed.retain(|it, _| expected.contains_key(it));
            }
            assert_eq!(listed, expected, "{filter:?}: {name}");
        }
        assert_eq!(report["filter"], json(&[&["lines"], &arguments[..]].concat())["filter"]);
        // What the lines have, `show` says of each.
        for (line, time) in lines(&arguments, "cuda_own_us").iter().take(2) {
            let shown = json(&[&["show", line], &arguments[..]].concat());
            let numbers = shown["sections"][0]["rows"].as_array().unwrap();
            let number = numbers.iter().find(|it| it[0]["text"] == "CUDA, own").unwrap();
            assert_eq!(number[1]["value"].as_f64().unwrap().round() as i64, *time, "{filter:?}");
        }
    }
}

#[test]
fn a_report_of_a_part_leaves_out_findings_of_other_lines() {
    let findings = |filter: &[&str]| -> Vec<String> {
        let report = json(&[&["report", TRACE], filter].concat());
        let findings = report["findings"].as_array().unwrap().iter();
        findings.map(|it| format!("{} {}", it["line"], it["rule"].as_str().unwrap())).collect()
    };
    let whole = findings(&[]);
    for filter in [&["--phase", "backward"][..], &["--function", "SlowModel.forward"]] {
        let part = findings(filter);
        assert!(!part.is_empty() && part.len() < whole.len(), "{filter:?}: {part:?}");
        assert!(part.iter().all(|it| whole.contains(it)), "{filter:?}: {part:?}");
    }
    assert!(findings(&["--phase", "backward"]).iter().all(|it| it.starts_with("97 ")));
}

#[test]
fn reports_say_which_part_is_shown() {
    let text = |arguments: &[&str]| String::from_utf8(perfline(arguments).stdout).unwrap();
    let report = text(&["report", TRACE, "--module", "Gate", "--function", "^Gate", "--all"]);
    let head: Vec<&str> = report.lines().take(3).collect();
    assert!(head[1].starts_with("with --module 'Gate': 2.07 ms of 58.1 ms of thread time"));
    assert_eq!(head[2], "only lines and findings with --function '^Gate'");
    assert!(report.contains("of part") && !report.contains("of step"), "{report}");
    let shown = text(&["show", "Gate.forward", TRACE, "--module", "Gate"]);
    assert!(shown.contains("\nwith --module 'Gate': 2.07 ms of 58.1 ms"), "{shown}");
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let page_argument = page.to_str().unwrap();
    let output = perfline(&["report", TRACE, "--phase", "backward", "--html", page_argument]);
    assert!(output.status.success());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("with --phase backward: 20.9 ms of 58.1 ms of thread time"));
    assert!(page.contains("evaluate_function: AddmmBackward0"), "the flame graph is of the part");
    assert!(!page.contains("zero_grad"), "the flame graph is of the part");
}

#[test]
fn lines_of_a_part_say_how_much_they_differ_from_step_to_step() {
    const RANKS: &str = "cpu/torch2.15.0/late_rank.slow_line";
    const NAMES: [&str; 6] = [
        "cpu_own_step_median_us",
        "cpu_own_step_max_us",
        "cpu_own_max_step",
        "cuda_own_step_median_us",
        "cuda_own_step_max_us",
        "cuda_own_max_step",
    ];
    let by_line = |arguments: &[&str]| -> BTreeMap<String, Vec<Value>> {
        let lines = json(&[&["lines"], arguments].concat())["lines"].take();
        let line = |it: &Value| {
            let key = format!("{}:{}", it["file"].as_str().unwrap(), it["line"]);
            (key, NAMES.map(|name| it[name].clone()).to_vec())
        };
        let lines = lines.as_array().unwrap().iter().map(line);
        lines.filter(|it| it.1.iter().any(|it| !it.is_null())).collect()
    };
    for recording in [TRACE, RANKS] {
        let whole = by_line(&[recording]);
        assert!(3 < whole.len());
        assert_eq!(by_line(&[recording, "--step", "0-999"]), whole, "{recording}");
    }
    // Of two steps, the worse is the most, and what both have is the sum.
    let times = |step: &str| lines(&[TRACE, "--step", step, "--phase", "backward"], "cpu_own_us");
    let (second, third) = (times("2"), times("3"));
    let both = by_line(&[TRACE, "--step", "2-3", "--phase", "backward"]);
    let backward = &both["slow_model.py:97"];
    let ns = |it: &Value| (it.as_f64().unwrap() * 1e3).round() as i64;
    let [second, third] = [&second, &third].map(|it| it["slow_model.py:97"]);
    assert_eq!(ns(&backward[1]), second.max(third));
    assert_eq!(backward[2], if third > second { 3 } else { 2 });
    assert!((2 * ns(&backward[0]) - second - third).abs() <= 1);
}

/// Passes of a server of language models, one of them within another, and ranges of the user: name, begin and end in microseconds. In each
/// but the one within another runs `forward` for all but ten microseconds at both ends.
const SERVED: [(&str, u32, u32); 6] = [
    ("step[EXTEND bs=2 toks=512]", 0, 300),
    ("step[DECODE bs=2]", 300, 400),
    ("step[DRAFT bs=2]", 330, 340),
    ("step[DECODE bs=1]", 400, 480),
    ("batch#7", 500, 800),
    ("batch#8", 800, 900),
];

fn served() -> String {
    let event = |name: &str, cat: &str, start: u32, end: u32| {
        serde_json::json!({
            "ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": end - start,
        })
    };
    let mut events = vec![event("run.py(1): <module>", "python_function", 0, 1000)];
    for (name, start, end) in SERVED {
        events.push(event(name, "user_annotation", start, end));
        if !name.contains("DRAFT") {
            events.push(event("run.py(5): forward", "python_function", start + 10, end - 10));
        }
    }
    serde_json::json!({"schemaVersion": 1, "traceEvents": events}).to_string()
}

/// [`SERVED`] in a folder, and what is printed of it there.
struct Served(tempfile::TempDir);

impl Served {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("served.json"), served()).unwrap();
        std::fs::write(folder.path().join("run.py"), "").unwrap();
        Self(folder)
    }

    fn output(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
        command.args(arguments).env("PERFLINE_CACHE_DIR", "").current_dir(self.0.path());
        command.output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.output(&[arguments, &["--format", "json"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn passes_of_a_server_are_steps_that_say_what_they_do() {
    let served = Served::new();
    let table = served.json(&["steps", "served.json"])["table"].take();
    let column = |name: &str| column_of(&table, name);
    assert_eq!(column("step"), [1, 2, 3].map(Value::from));
    assert_eq!(column("kind"), ["prefill", "decode", "decode"]);
    assert_eq!(column("requests"), [2, 2, 1].map(Value::from));
    assert_eq!(column("tokens"), [Value::from(512), Value::Null, Value::Null]);
    // The median is that of the steps that do the same.
    assert_eq!(column("to median"), [Value::Null, Value::from(10_000.0), Value::from(-10_000.0)]);

    let text = served.output(&["report", "served.json"]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains(
            "3 steps of 160 µs (80 µs to 300 µs): 1 prefill of 300 µs, 2 decode of 90 µs"
        ),
        "{text}"
    );

    let own = |arguments: &[&str]| -> f64 {
        let lines = served.json(&[&["lines", "served.json"], arguments].concat());
        let lines = lines["lines"].as_array().unwrap().iter();
        lines.filter(|it| it["line"] == 5).map(|it| it["cpu_own_us"].as_f64().unwrap()).sum()
    };
    assert_eq!(own(&["--step", "decode"]), 140.0);
    assert_eq!(own(&["--step", "1,decode"]), 420.0);
    assert_eq!(own(&["--step", "prefill"]), 280.0);
    let unknown = served.output(&["lines", "served.json", "--step", "verify"]);
    let message = String::from_utf8(unknown.stderr).unwrap();
    let expected =
        "unknown step `verify`, expected one of the 3 steps from 1 to 3, or decode, or prefill";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn ranges_that_are_named_are_the_steps() {
    let served = Served::new();
    let named = ["steps", "served.json", "--step-range", "batch#*"];
    let table = served.json(&named)["table"].take();
    assert_eq!(column_of(&table, "step"), [1, 2].map(Value::from));
    assert_eq!(column_of(&table, "time"), [300_000, 100_000].map(Value::from));
    // All are called the same.
    assert!(table["columns"].as_array().unwrap().iter().all(|it| it["name"] != "kind"));
    std::fs::write(
        served.0.path().join("perfline.toml"),
        "[recordings]\nstepRanges = ['step[[]D*', 'batch*', 'step[D*']\n",
    )
    .unwrap();
    let table = served.json(&["steps", "served.json"])["table"].take();
    assert_eq!(column_of(&table, "kind"), ["decode", "decode", "batch", "batch"]);
}

#[test]
fn steps_that_do_the_same_are_compared() {
    let served = Served::new();
    std::fs::copy(served.0.path().join("served.json"), served.0.path().join("again.json")).unwrap();
    let text = |arguments: &[&str]| {
        let output = served.output(&[&["diff", "served.json", "again.json"], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(text(&[]).contains("3 and 3 steps"));
    let part = text(&["--step", "decode"]);
    assert!(part.contains("2 and 2 steps"), "{part}");
    assert!(part.contains("A step takes 90 µs"), "{part}");
    assert!(part.contains("new with --step decode: 180 µs of 1 ms of thread time"), "{part}");
    let unknown = served.output(&["diff", "served.json", "again.json", "--step", "verify"]);
    assert_eq!(unknown.status.code(), Some(2));
}
