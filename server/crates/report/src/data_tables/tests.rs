//! The tables of a run built by hand: what is read from a stream of Arrow is what the table has.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use ledger::{LineKey, Ns, RankShare};
use loader::Run;

use super::*;
use crate::testing::{recording, sources, training_with_stacks};

/// On three ranks, of which two spend time on a line, with a line in a notebook.
fn on_three_ranks() -> Run {
    let mut run = training_with_stacks();
    for rank in 0..3 {
        run.merged.overviews.entry(rank).or_default();
    }
    let key = LineKey { file: "train.py".to_owned(), line: 17 };
    let books = run.merged.lines.get_mut(&key).unwrap();
    let shares = [(0, 1_000_001), (1, 4_500_000)];
    books.by_rank =
        shares.into_iter().map(|(rank, ns)| RankShare::of_thread(rank, Ns(ns))).collect();
    let notebook = LineKey { file: "run.ipynb:cell 4".to_owned(), line: 2 };
    let books = run.merged.lines[&key].clone();
    run.merged.lines.insert(notebook, books);
    run
}

fn table(run: &Run, table: DataTable) -> TypedTable {
    let (sources, rules) = (sources(), RuleOptions::default());
    let options = DataOptions { code: CodeFilter::ALL, rules: &rules, part: None };
    build(&recording(run, &sources), table, options).unwrap().unwrap()
}

fn tables(run: &Run) -> Vec<TypedTable> {
    let made = DataTable::ALL.into_iter().filter(|it| *it != DataTable::Stacks);
    made.map(|it| table(run, it)).collect()
}

fn stream(table: &TypedTable) -> Vec<u8> {
    let mut out = Vec::new();
    write_arrow(&mut out, table).unwrap();
    out
}

fn rows_of(batch: &RecordBatch) -> Vec<Vec<DataValue>> {
    in_rows(batch.columns(), batch.num_rows())
}

fn in_rows(columns: &[ArrayRef], count: usize) -> Vec<Vec<DataValue>> {
    let row = |at: usize| columns.iter().map(|it| value(it, at)).collect();
    (0..count).map(row).collect()
}

fn value(array: &ArrayRef, at: usize) -> DataValue {
    if array.is_null(at) {
        return DataValue::Null;
    }
    if let Some(texts) = array.as_string_opt::<i32>() {
        return DataValue::text(texts.value(at));
    }
    if let Some(numbers) = array.as_primitive_opt::<Int64Type>() {
        return DataValue::Integer(numbers.value(at));
    }
    if let Some(numbers) = array.as_primitive_opt::<Float64Type>() {
        return DataValue::Real(numbers.value(at));
    }
    if let Some(flags) = array.as_boolean_opt() {
        return DataValue::Flag(flags.value(at));
    }
    let items = array.as_list::<i32>().value(at);
    DataValue::Rows(in_rows(items.as_struct().columns(), items.len()))
}

#[test]
fn a_stream_has_the_rows_of_the_table() {
    for run in [on_three_ranks(), training_with_stacks()] {
        for table in tables(&run) {
            let bytes = stream(&table);
            assert!(bytes == stream(&table), "{} differs when written again", table.name);
            let reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
            let schema = reader.schema();
            assert_eq!(schema.metadata()["perfline.table"], table.name);
            let names: Vec<&str> = schema.fields().iter().map(|it| it.name().as_str()).collect();
            assert_eq!(names, table.columns.iter().map(|it| it.name).collect::<Vec<_>>());
            let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
            let rows: Vec<_> = batches.iter().flat_map(rows_of).collect();
            assert_eq!(rows, table.rows, "{}", table.name);
        }
    }
}

#[test]
fn tables_follow_one_another_in_a_stream() {
    let run = on_three_ranks();
    let mut bytes = Vec::new();
    for table in tables(&run) {
        write_arrow(&mut bytes, &table).unwrap();
    }
    let mut rest = bytes.as_slice();
    for table in tables(&run) {
        let mut reader = StreamReader::try_new(&mut rest, None).unwrap();
        assert_eq!(reader.schema().metadata()["perfline.table"], table.name);
        assert!(reader.by_ref().all(|it| it.is_ok()));
    }
    assert!(rest.is_empty());
}

#[test]
fn lines_have_the_fields_of_the_contract_in_their_order() {
    let (run, sources) = (on_three_ranks(), sources());
    let table = table(&run, DataTable::Lines);
    let mut n = 0;
    crate::lines::for_each_line(
        &recording(&run, &sources),
        CodeFilter::ALL,
        None,
        |fields, ranks| {
            let names = fields.iter().map(|it| it.0).chain(["ranks"]);
            assert!(names.eq(table.columns.iter().map(|it| it.name)));
            let DataKind::Rows(of_rank) = table.columns.last().unwrap().kind else {
                panic!("lines have no ranks")
            };
            for rank in ranks.unwrap() {
                assert!(rank.iter().map(|it| it.0).eq(of_rank.iter().map(|it| it.name)));
            }
            n += 1;
            Ok(())
        },
    )
    .unwrap();
    assert_eq!(n, table.rows.len());
    crate::ranks::of_each_rank(&recording(&run, &sources), |fields| {
        assert!(fields.iter().map(|it| it.0).eq(run::RANKS.iter().map(|it| it.name)));
    });
}

/// The row of a line by column.
fn line(run: &Run, file: &str, number: i64) -> BTreeMap<&'static str, DataValue> {
    let table = table(run, DataTable::Lines);
    let names = table.columns.iter().map(|it| it.name);
    let rows = table.rows.into_iter().map(|it| names.clone().zip(it).collect::<BTreeMap<_, _>>());
    let is_it = |it: &BTreeMap<_, _>| {
        it["file"] == DataValue::text(file) && it["line"] == DataValue::Integer(number)
    };
    rows.into_iter().find(is_it).unwrap()
}

#[test]
fn what_is_not_known_is_null_and_ranks_are_listed() {
    let run = on_three_ranks();
    let row = line(&run, "train.py", 17);
    assert_eq!(row["cell"], DataValue::Null);
    assert_eq!(row["cpu_own_us"], DataValue::Real(6_000.0));
    assert_eq!(row["cuda_own_us"], DataValue::Real(12_000.5));
    assert_eq!(row["cpu_own_step_p99_us"], DataValue::Null);
    assert_eq!(row["stale"], DataValue::Flag(false));
    let of_rank = |rank, us| {
        let zero = DataValue::Real(0.0);
        vec![DataValue::Integer(rank), DataValue::Real(us), zero.clone(), zero.clone(), zero]
    };
    let ranks = DataValue::Rows(vec![of_rank(0, 1_000.001), of_rank(1, 4_500.0)]);
    assert_eq!(row["ranks"], ranks);
    assert_eq!(line(&run, "run.ipynb", 2)["cell"], DataValue::Integer(3));
    assert_eq!(line(&training_with_stacks(), "train.py", 17)["ranks"], DataValue::Null);
}

#[test]
fn columns_say_what_they_mean_and_in_which_unit() {
    let run = on_three_ranks();
    for table in tables(&run) {
        let names: BTreeSet<&str> = table.columns.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), table.columns.len(), "{}", table.name);
        for it in table.columns {
            let place = format!("{} of {}", it.name, table.name);
            assert!(!it.about.is_empty() && !it.about.ends_with('.'), "{place}");
            assert_eq!(it.name.ends_with("_us"), it.unit == "us", "{place}");
            assert_eq!(it.name.ends_with("bytes"), it.unit == "bytes", "{place}");
        }
    }
}

#[test]
fn a_value_that_is_missing_where_there_must_be_one_is_an_error() {
    let run = on_three_ranks();
    let mut table = table(&run, DataTable::Lines);
    table.rows[0][0] = DataValue::Null;
    let error = write_arrow(&mut Vec::new(), &table).unwrap_err().to_string();
    assert!(error.contains("file"), "{error}");
}

#[test]
fn a_table_that_there_is_not_is_answered_with_those_that_there_are() {
    let error = "line".parse::<DataTable>().unwrap_err().to_string();
    let expected = "stacks, lines, kernels, operators, modules, steps, ranks, findings";
    assert_eq!(error, format!("unknown table `line`, expected one of: {expected}"));
}
