//! The formats, on stacks built by hand: each is read again and says what the stacks say.

use std::collections::BTreeMap;

use expect_test::expect;
use insights::RuleOptions;
use serde_json::Value;

use super::pprof::tests::decoded;
use super::*;
use crate::CodeFilter;
use crate::data_tables::{DataColumn, DataValue};
use crate::testing::{recording, sources, training_with_stacks};

fn bytes(format: ExportFormat, metric: Option<&str>, all: bool) -> Vec<u8> {
    let (run, sources) = (training_with_stacks(), sources());
    let metric = metric.map(|it| it.parse().unwrap());
    let mut out = Vec::new();
    let rules = RuleOptions::default();
    let data = DataOptions { code: CodeFilter::ALL, rules: &rules, part: None };
    let options = ExportOptions { format, metric, all, tables: &[DataTable::Stacks], data };
    write(&mut out, &recording(&run, &sources), options).unwrap();
    out
}

fn text(format: ExportFormat, metric: Option<&str>, all: bool) -> String {
    String::from_utf8(bytes(format, metric, all)).unwrap()
}

#[test]
fn collapsed_stacks() {
    expect![[r#"
        train (train.py:25);Model.forward (train.py:17) ~;aten::addmm;void gemm<float: 4>(�[2J) 70000
        [not on a line: no_launch];Memcpy DtoH 5
    "#]].assert_eq(&text(ExportFormat::Folded, None, false));
    expect![[r#"
        train (train.py:25) 100
        train (train.py:25);Model.forward (train.py:17) ~ 20
        train (train.py:25);Model.forward (train.py:17) ~;Linear.forward (torch/nn/modules/linear.py:114) 7
        train (train.py:25);Model.forward (train.py:17) ~;Linear.forward (torch/nn/modules/linear.py:114);aten::addmm 3000
    "#]].assert_eq(&text(ExportFormat::Folded, Some("cpu"), true));
}

#[test]
fn rows_of_all_metrics() {
    expect![[r#"
        stack,leaf,function,file,line,evidence,cpu_us,cuda_us,gpu_idle_us,sync_us,waiting_us,alloc_bytes
        "train (train.py:25);Model.forward (train.py:17) ~;aten::addmm;void gemm<float: 4>(�[2J)","void gemm<float; 4>(�[2J)",Model.forward,/home/me/train.py,17,inferred,0,70,0,0,0,0
        "[not on a line: no_launch];Memcpy DtoH",Memcpy DtoH,,,,,0,0.005,0,0,0,0
        train (train.py:25),,train,/home/me/train.py,25,exact,0.1,0,0,0,0,0
        "train (train.py:25);Model.forward (train.py:17) ~",,Model.forward,/home/me/train.py,17,inferred,0.027,0,0,0,0,0
        "train (train.py:25);Model.forward (train.py:17) ~;aten::addmm",aten::addmm,Model.forward,/home/me/train.py,17,inferred,3,0,0,0,0,64
    "#]].assert_eq(&text(ExportFormat::Csv, None, false));
}

/// By stack, outermost entry first with `;` between them: the amount.
type Amounts = BTreeMap<String, i64>;

/// The profiles of the JSON of speedscope by name, after a look at what its schema
/// (<https://www.speedscope.app/file-format-schema.json>) asks for.
fn speedscope_profiles(text: &str) -> Vec<(String, Amounts)> {
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value["$schema"], "https://www.speedscope.app/file-format-schema.json");
    let known = ["$schema", "name", "exporter", "activeProfileIndex", "shared", "profiles"];
    assert!(value.as_object().unwrap().keys().all(|it| known.contains(&it.as_str())));
    let frames = value["shared"]["frames"].as_array().unwrap();
    for frame in frames.iter().map(|it| it.as_object().unwrap()) {
        assert!(frame["name"].is_string());
        assert!(frame.get("file").is_none_or(Value::is_string));
        assert!(frame.get("line").is_none_or(Value::is_u64));
    }
    let profiles = value["profiles"].as_array().unwrap().iter().map(|profile| {
        let (samples, weights) = (&profile["samples"], &profile["weights"]);
        assert_eq!(profile["type"], "sampled");
        assert!(["nanoseconds", "bytes"].contains(&profile["unit"].as_str().unwrap()));
        assert_eq!(profile["startValue"], 0);
        let weights: Vec<i64> =
            weights.as_array().unwrap().iter().map(|it| it.as_i64().unwrap()).collect();
        assert_eq!(profile["endValue"].as_i64().unwrap(), weights.iter().sum::<i64>());
        let stacks = samples.as_array().unwrap().iter().map(|sample| {
            let entries = sample.as_array().unwrap().iter();
            let names =
                entries.map(|it| frames[it.as_u64().unwrap() as usize]["name"].as_str().unwrap());
            names.collect::<Vec<_>>().join(";")
        });
        (profile["name"].as_str().unwrap().to_owned(), stacks.zip(weights).collect())
    });
    profiles.collect()
}

#[test]
fn speedscope_has_a_profile_for_each_metric_the_chosen_one_first() {
    let text = text(ExportFormat::Speedscope, Some("cpu"), false);
    // What a terminal would obey is escaped.
    assert!(!text.contains('\x1b'));
    let profiles = speedscope_profiles(&text);
    let names: Vec<&str> = profiles.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["thread time", "CUDA time", "allocated bytes"]);
    expect![[r#"
        {
            "train (train.py:25)": 100,
            "train (train.py:25);Model.forward (train.py:17) ~": 27,
            "train (train.py:25);Model.forward (train.py:17) ~;aten::addmm": 3000,
        }
    "#]]
    .assert_debug_eq(&profiles[0].1);
    expect![[r#"
        {
            "[not on a line: no_launch];Memcpy DtoH": 5,
            "train (train.py:25);Model.forward (train.py:17) ~;aten::addmm;void gemm<float; 4>(\u{1b}[2J)": 70000,
        }
    "#]].assert_debug_eq(&profiles[1].1);
}

/// The threads of the JSON of the Firefox Profiler by name, after a look at what its types ask for.
fn firefox_threads(text: &str) -> Vec<(String, Amounts)> {
    let value: Value = serde_json::from_str(text).unwrap();
    let shared = &value["shared"];
    let column = |table: &Value, name: &str| -> Vec<Value> {
        let column = table[name].as_array().unwrap();
        assert_eq!(column.len() as u64, table["length"].as_u64().unwrap(), "{name}");
        column.clone()
    };
    let row = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let texts = shared["stringArray"].as_array().unwrap();
    let (stacks, frames, functions) =
        (&shared["stackTable"], &shared["frameTable"], &shared["funcTable"]);
    let (prefix, frame) = (column(stacks, "prefix"), column(stacks, "frame"));
    let (function, line) = (column(frames, "func"), column(frames, "line"));
    let (name, source) = (column(functions, "name"), column(functions, "source"));
    let files = column(&shared["sources"], "filename");
    for categories in column(frames, "category") {
        assert!(row(&categories) < value["meta"]["categories"].as_array().unwrap().len());
    }
    let label = |stack: usize| {
        let function = row(&function[row(&frame[stack])]);
        let line = &line[row(&frame[stack])];
        let file = source[function].as_u64().map(|it| &texts[row(&files[it as usize])]);
        assert_eq!(line.is_u64(), file.is_some());
        texts[row(&name[function])].as_str().unwrap()
    };
    let path = |stack: usize| {
        let outwards = std::iter::successors(Some(stack), |it| {
            prefix[*it].as_u64().map(|it| usize::try_from(it).unwrap())
        });
        let mut names: Vec<&str> = outwards.map(label).collect();
        names.reverse();
        names.join(";")
    };
    let threads = value["threads"].as_array().unwrap().iter().map(|thread| {
        let samples = &thread["samples"];
        let is_time = samples["weightType"] == "tracing-ms";
        let amount = |weight: &Value| {
            let scale = if is_time { 1e6 } else { 1.0 };
            (weight.as_f64().unwrap() * scale).round() as i64
        };
        let amounts = column(samples, "stack")
            .iter()
            .map(|it| path(row(it)))
            .zip(column(samples, "weight").iter().map(amount))
            .collect();
        assert!(column(samples, "time").is_sorted_by_key(|it| it.as_f64().unwrap()));
        (thread["name"].as_str().unwrap().to_owned(), amounts)
    });
    threads.collect()
}

#[test]
fn firefox_has_a_thread_for_each_metric_with_the_stacks_of_speedscope() {
    let text_of = |format| text(format, Some("cpu"), false);
    let text = text_of(ExportFormat::Firefox);
    assert!(!text.contains('\x1b'));
    let threads = firefox_threads(&text);
    assert_eq!(threads, speedscope_profiles(&text_of(ExportFormat::Speedscope)));
    assert_eq!(threads.len(), 3);
}

/// The rows of a Parquet file as text.
fn parquet_rows(bytes: Vec<u8>) -> Vec<String> {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

#[test]
fn columns_have_the_rows_of_csv() {
    let rows = parquet_rows(bytes(ExportFormat::Parquet, None, false));
    expect![[r#"
        {stack: "train (train.py:25);Model.forward (train.py:17) ~;aten::addmm;void gemm<float: 4>(�[2J)", leaf: "void gemm<float; 4>(�[2J)", function: "Model.forward", file: "/home/me/train.py", line: 17, evidence: "inferred", cpu_ns: 0, cuda_ns: 70000, gpu_idle_ns: 0, sync_ns: 0, waiting_ns: 0, alloc_bytes: 0}
        {stack: "[not on a line: no_launch];Memcpy DtoH", leaf: "Memcpy DtoH", function: null, file: null, line: null, evidence: null, cpu_ns: 0, cuda_ns: 5, gpu_idle_ns: 0, sync_ns: 0, waiting_ns: 0, alloc_bytes: 0}
        {stack: "train (train.py:25)", leaf: null, function: "train", file: "/home/me/train.py", line: 25, evidence: "exact", cpu_ns: 100, cuda_ns: 0, gpu_idle_ns: 0, sync_ns: 0, waiting_ns: 0, alloc_bytes: 0}
        {stack: "train (train.py:25);Model.forward (train.py:17) ~", leaf: null, function: "Model.forward", file: "/home/me/train.py", line: 17, evidence: "inferred", cpu_ns: 27, cuda_ns: 0, gpu_idle_ns: 0, sync_ns: 0, waiting_ns: 0, alloc_bytes: 0}
        {stack: "train (train.py:25);Model.forward (train.py:17) ~;aten::addmm", leaf: "aten::addmm", function: "Model.forward", file: "/home/me/train.py", line: 17, evidence: "inferred", cpu_ns: 3000, cuda_ns: 0, gpu_idle_ns: 0, sync_ns: 0, waiting_ns: 0, alloc_bytes: 64}
    "#]]
    .assert_eq(&(rows.join("\n") + "\n"));
    let csv = text(ExportFormat::Csv, None, false);
    assert_eq!(rows.len(), csv.lines().count() - 1);
}

#[test]
fn amounts_of_stacks_have_the_columns_of_the_metrics() {
    let amounts = stack_table::STACKS.iter().skip(6).map(|it| it.name);
    let unit = |it: Metric| if it.unit() == ledger::Unit::Ns { "ns" } else { "bytes" };
    assert!(amounts.eq(StackBooks::METRICS.map(|it| format!("{}_{}", it.id(), unit(it)))));
}

/// A value as Parquet has it.
fn value(field: &::parquet::record::Field) -> DataValue {
    use ::parquet::record::Field;
    match field {
        Field::Null => DataValue::Null,
        Field::Str(text) => DataValue::text(text),
        Field::Long(number) => DataValue::Integer(*number),
        Field::Double(number) => DataValue::Real(*number),
        Field::Bool(flag) => DataValue::Flag(*flag),
        Field::Group(row) => {
            DataValue::Rows(vec![row.get_column_iter().map(|(_, it)| value(it)).collect()])
        }
        Field::ListInternal(list) => {
            let rows = list.elements().iter().map(value).flat_map(|it| match it {
                DataValue::Rows(rows) => rows,
                other => panic!("a list of {other:?}"),
            });
            DataValue::Rows(rows.collect())
        }
        other => panic!("no table has {other}"),
    }
}

#[test]
fn tables_in_parquet_have_lists_and_nulls() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    const ITEMS: &[DataColumn] =
        &[DataColumn::text("name", "a"), DataColumn::time("time_us", "b").or_null()];
    const COLUMNS: &[DataColumn] = &[
        DataColumn::count("number", "c").or_null(),
        DataColumn::rows("items", ITEMS, "d"),
        DataColumn::flag("flag", "e"),
        DataColumn::rows("perhaps", ITEMS, "f").or_null(),
    ];
    let item = |name: &str, time| vec![DataValue::text(name), time];
    let (none, flag) = (DataValue::Rows(Vec::new()), DataValue::Flag);
    let two = vec![item("a", DataValue::Real(0.5)), item("b", DataValue::Null)];
    let rows = vec![
        vec![DataValue::Integer(1), none.clone(), flag(true), DataValue::Null],
        vec![DataValue::Null, DataValue::Rows(two.clone()), flag(false), none.clone()],
        vec![DataValue::Integer(-3), none, flag(true), DataValue::Rows(two)],
    ];
    let notes = vec![("note", "text".to_owned())];
    let table = TypedTable { name: "lines", columns: COLUMNS, rows, notes };
    let mut out = Vec::new();
    parquet::write(&mut out, &table).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(out)).unwrap();
    let read: Vec<Vec<DataValue>> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().get_column_iter().map(|(_, it)| value(it)).collect())
        .collect();
    assert_eq!(read, table.rows);
    let notes = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(notes.iter().any(|it| it.key == "note" && it.value.as_deref() == Some("text")));
}

#[test]
fn pprof_has_exact_lines_and_every_metric() {
    let profile = decoded(&bytes(ExportFormat::Pprof, None, false));
    let text = |row: i64| profile.string_table[usize::try_from(row).unwrap()].as_str();
    assert_eq!(text(0), "");
    assert_eq!(text(profile.default_sample_type), "cuda");
    let types: Vec<_> =
        profile.sample_type.iter().map(|it| (text(it.r#type), text(it.unit))).collect();
    assert_eq!(types, [("alloc", "bytes"), ("cpu", "nanoseconds"), ("cuda", "nanoseconds")]);
    let place = |id: &u64| {
        let location = &profile.location[usize::try_from(*id).unwrap() - 1];
        assert_eq!(location.id, *id);
        let [line] = &location.line[..] else { panic!("inlined calls are not written") };
        let function = &profile.function[usize::try_from(line.function_id).unwrap() - 1];
        assert_eq!(function.id, line.function_id);
        format!("{} {}:{}", text(function.name), text(function.filename), line.line)
    };
    let samples: Vec<_> = profile
        .sample
        .iter()
        .map(|it| {
            let labels: Vec<_> = it.label.iter().map(|it| (text(it.key), text(it.str))).collect();
            let places: Vec<String> = it.location_id.iter().map(place).collect();
            (places.join(" < "), it.value.clone(), labels)
        })
        .collect();
    expect![[r#"
        [
            (
                "train /home/me/train.py:25",
                [
                    0,
                    100,
                    0,
                ],
                [
                    (
                        "evidence",
                        "exact",
                    ),
                ],
            ),
            (
                "Model.forward /home/me/train.py:17 < train /home/me/train.py:25",
                [
                    0,
                    27,
                    0,
                ],
                [
                    (
                        "evidence",
                        "inferred",
                    ),
                ],
            ),
            (
                "aten::addmm :0 < Model.forward /home/me/train.py:17 < train /home/me/train.py:25",
                [
                    64,
                    3000,
                    0,
                ],
                [
                    (
                        "evidence",
                        "inferred",
                    ),
                ],
            ),
            (
                "void gemm<float; 4>(�[2J) :0 < aten::addmm :0 < Model.forward /home/me/train.py:17 < train /home/me/train.py:25",
                [
                    0,
                    0,
                    70000,
                ],
                [
                    (
                        "evidence",
                        "inferred",
                    ),
                ],
            ),
            (
                "Memcpy DtoH :0 < [not on a line: no_launch] :0",
                [
                    0,
                    0,
                    5,
                ],
                [],
            ),
        ]
    "#]].assert_debug_eq(&samples);
}

#[test]
fn names_that_there_are_not_are_answered_with_those_that_there_are() {
    let error = "svg".parse::<ExportFormat>().unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown format `svg`, expected one of: folded, speedscope, firefox, pprof, csv, parquet, arrow, perfetto"
    );
    let error = "gpu".parse::<StackMetric>().unwrap_err().to_string();
    let expected = "cpu, cuda, gpu_idle, sync, waiting, alloc";
    assert_eq!(error, format!("unknown metric `gpu`, expected one of: {expected}"));
}

#[test]
fn a_recording_without_anything_gives_files_that_are_valid() {
    let (mut run, sources) = (training_with_stacks(), sources());
    run.stacks = Some(StackBooks::default());
    for format in ExportFormat::ALL.into_iter().filter(|it| !it.needs_timeline()) {
        let mut out = Vec::new();
        let rules = RuleOptions::default();
        let data = DataOptions { code: CodeFilter::ALL, rules: &rules, part: None };
        let tables = &[DataTable::Stacks];
        let options = ExportOptions { format, metric: None, all: true, tables, data };
        write(&mut out, &recording(&run, &sources), options).unwrap();
        match format {
            ExportFormat::Folded => assert_eq!(out, b""),
            ExportFormat::Speedscope => {
                speedscope_profiles(std::str::from_utf8(&out).unwrap());
            }
            ExportFormat::Pprof => assert_eq!(decoded(&out).sample, []),
            ExportFormat::Csv => assert_eq!(out.iter().filter(|it| **it == b'\n').count(), 1),
            ExportFormat::Firefox => {
                firefox_threads(std::str::from_utf8(&out).unwrap());
            }
            ExportFormat::Parquet => assert_eq!(parquet_rows(out).len(), 0),
            ExportFormat::Arrow => {
                let reader =
                    arrow_ipc::reader::StreamReader::try_new(out.as_slice(), None).unwrap();
                assert_eq!(reader.schema().fields().len(), stack_table::STACKS.len());
                assert_eq!(reader.count(), 0);
            }
            ExportFormat::Perfetto => unreachable!("it has no stacks"),
        }
    }
}
