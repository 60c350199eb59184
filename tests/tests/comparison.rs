//! What is said of two runs, on recordings of programs before and after edits that are known.
//!
//! The programs and their traces (torch 2.15, CPU) are in `tests/data/comparison/`: `base` reads the elements of a tensor one by
//! one and was recorded twice, `faster` does not, `moved` is `base` with functions in another file, in another order, with
//! other names and another layout.

#![expect(clippy::expect_used, reason = "a test may fail anywhere")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use comparison::{ComparedLine, ComparedRun, Difference};
use ledger::{LineKey, Ns};
use loader::{LoadOptions, Run, StackBooks, StackChoice, Watch, load};
use metrics::Quantity;
use pysource::MatchStatus;
use report::flame::{self, FlameBase, FlameStacks};
use report::{CodeFilter, Recording, SideLine, SideRow, SourcePair, diff};
use serde_json::Value;
use tests::fixtures::repository;

/// A recording with the texts that it ran.
struct RecordedProgram {
    root: PathBuf,
    run: Run,
    texts: BTreeMap<String, String>,
}

impl RecordedProgram {
    fn new(folder: &str, trace: &str) -> Self {
        let root = repository().join("tests/data/comparison").join(folder);
        let options = LoadOptions {
            stacks: StackChoice::Always,
            ..LoadOptions::new(&root, Some(Vec::new()))
        };
        let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
        let run = load(&[root.join(trace)], &options, &watch).expect("loads");
        let files = run.merged.files.iter().filter(|(_, it)| it.is_user_code);
        let text = |path: &Path| std::fs::read_to_string(path).expect("a text");
        let texts =
            files.filter_map(|(key, it)| Some((key.clone(), text(it.path.as_deref()?)))).collect();
        Self { root, run, texts }
    }

    fn compared(&self) -> ComparedRun<'_> {
        ComparedRun {
            ledger: &self.run.merged,
            names: BTreeMap::new(),
            texts: self.texts.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect(),
        }
    }

    /// The files of which text or times differ in a later run, side by side.
    fn beside(&self, new: &Self) -> Vec<SourcePair> {
        let sources = [self, new].map(|it| loader::source_folders(&it.options()));
        let [base, new] = [(self, &sources[0]), (new, &sources[1])].map(|(it, sources)| {
            let names = loader::display_names(&it.run.merged, &it.root);
            Recording { run: &it.run, names, sources }
        });
        let found = diff::build(&base, &new, 5, &insights::RuleOptions::default());
        diff::source_pairs([&base, &new], &found)
    }

    /// The flame graph of a later run beside this one, with the comparison. Nothing is summed as too small with a share of 0.
    fn flame_of(&self, new: &Self, min_share: f64) -> (Value, Difference) {
        let sources = [self, new].map(|it| loader::source_folders(&it.options()));
        let [base, new] = [(self, &sources[0]), (new, &sources[1])].map(|(it, sources)| {
            let names = loader::display_names(&it.run.merged, &it.root);
            Recording { run: &it.run, names, sources }
        });
        let (difference, _) = diff::compare(&base, &new);
        let [of_base, of_new] = [&base, &new].map(|it| it.run.stacks.as_ref().expect("stacks"));
        let stacks = FlameStacks::new(&new, of_new, CodeFilter::ALL, None);
        let beside =
            FlameBase { recording: &base, title: "base", books: of_base, difference: &difference };
        (flame::flame(&new, &stacks, Some(beside), "new", min_share), difference)
    }

    fn options(&self) -> LoadOptions {
        LoadOptions::new(&self.root, Some(Vec::new()))
    }

    /// The text of a line.
    fn line(&self, line: &LineKey) -> String {
        let text = std::fs::read_to_string(self.root.join(&line.file)).expect("a text");
        text.lines().nth(line.line as usize - 1).expect("a line").trim().to_owned()
    }
}

/// Lines whose time on the host differs by more than the noise.
fn differing(difference: &Difference) -> Vec<&ComparedLine> {
    let is_significant = |it: &&ComparedLine| {
        let time = it.amounts.iter().find(|it| it.quantity == Quantity::CpuBusy);
        time.is_some_and(|it| it.significant == Some(true))
    };
    difference.lines.iter().filter(is_significant).collect()
}

#[test]
fn the_line_that_was_made_faster_is_named() {
    let (base, new) = (
        RecordedProgram::new("base", "trace.json.gz"),
        RecordedProgram::new("faster", "trace.json.gz"),
    );
    let difference = Difference::new(&base.compared(), &new.compared());
    let found = differing(&difference);
    // What could not be put on one of its lines stands on the `def`.
    assert!(found.iter().all(|it| it.function == "correct"), "{found:#?}");
    let changed = found.iter().find(|it| it.status == MatchStatus::Changed).expect("the line");
    let line = base.line(changed.base.as_ref().expect("a line"));
    assert!(line.starts_with("if best[row].item()"), "{line}");
    assert!(changed.amounts[0].delta() < 0.0);
    assert_eq!(found[0].amounts[0].significant, Some(true));
}

#[test]
fn nothing_differs_between_two_recordings_of_one_program() {
    let (base, new) = (
        RecordedProgram::new("base", "trace.json.gz"),
        RecordedProgram::new("base", "again.json.gz"),
    );
    let difference = Difference::new(&base.compared(), &new.compared());
    assert_eq!(differing(&difference).len(), 0, "{:#?}", differing(&difference));
    assert_eq!(difference.edits, []);
    assert!(difference.operators.iter().all(|it| it.significant == Some(false)));
}

#[test]
fn code_that_was_moved_renamed_and_reformatted_is_compared_with_itself() {
    let (base, new) = (
        RecordedProgram::new("base", "trace.json.gz"),
        RecordedProgram::new("moved", "trace.json.gz"),
    );
    let difference = Difference::new(&base.compared(), &new.compared());
    assert_eq!(differing(&difference).len(), 0, "{:#?}", differing(&difference));
    // All of the time in `correct` has its counterpart in the other file.
    let hot = |it: &&ComparedLine| {
        it.base.as_ref().is_some_and(|line| base.line(line).starts_with("if best[row].item()"))
    };
    let hot = difference.lines.iter().find(hot).expect("the line");
    let now = hot.new.as_ref().expect("its counterpart");
    assert_eq!((now.file.as_str(), hot.function.as_str()), ("helpers.py", "count_hits"));
    let gone = difference.lines.iter().filter(|it| it.new.is_none() && it.base.is_some());
    let time: f64 = gone.filter_map(|it| it.amounts.first()).map(|it| it.base).sum();
    assert!(time < 0.01 * difference.step.mean[0], "{time} of {:?}", difference.step.mean);
    assert!(base.run.merged.totals.cpu > Ns::ZERO);
}

#[test]
fn recordings_of_two_programs_are_recognised() {
    let base = RecordedProgram::new("base", "trace.json.gz");
    let moved = RecordedProgram::new("moved", "trace.json.gz");
    let folder = repository().join("fixtures/workloads");
    let options = LoadOptions::new(&folder, Some(Vec::new()));
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let trace = repository().join("fixtures/cpu/torch2.15.0/uploads.json.gz");
    let other = load(&[trace], &options, &watch).expect("loads");
    let other =
        ComparedRun { ledger: &other.merged, names: BTreeMap::new(), texts: BTreeMap::new() };
    assert!(Difference::new(&base.compared(), &other).are_strangers);
    assert!(Difference::new(&other, &base.compared()).are_strangers);
    assert!(!Difference::new(&base.compared(), &moved.compared()).are_strangers);
    assert!(!Difference::new(&other, &other).are_strangers);
}

/// Rows as text: base, new, change.
fn rows(pair: &SourcePair) -> String {
    let side = |line: Option<&SideLine>| {
        line.map_or_else(String::new, |it| {
            let costs: String = it.costs.iter().map(|cost| format!("{}{cost}", it.mark)).collect();
            format!("{} {costs:>9} {}", it.number, it.text)
        })
    };
    let mut text = format!("{} {:?}\n", pair.name, pair.columns);
    for row in &pair.rows {
        let row = match row {
            SideRow::Gap(function) => format!("... {function}"),
            SideRow::Lines(it) => {
                let edited = if it.is_edited() { "*" } else { " " };
                let (base, new) = (side(it.base.as_ref()), side(it.new.as_ref()));
                format!("{edited} {base:<68} | {new:<66} | {}", it.change.text)
            }
        };
        text += row.trim_end();
        text.push('\n');
    }
    text
}

#[test]
fn sources_stand_side_by_side_where_they_or_their_times_differ() {
    let base = RecordedProgram::new("base", "trace.json.gz");
    let again = RecordedProgram::new("base", "again.json.gz");
    let faster = RecordedProgram::new("faster", "trace.json.gz");
    assert_eq!(base.beside(&again), []);
    let pairs = base.beside(&faster);
    expect_test::expect![[r#"
        train.py ["cpu own"]
        ...
          6           from torch.profiler import ProfilerActivity, profile, schedule | 6           from torch.profiler import ProfilerActivity, profile, schedule |
          7                                                                    | 7                                                                  |
          8                                                                    | 8                                                                  |
          9  fn472 µs def correct(logits, target):                             | 9 fn47.8 µs def correct(logits, target):                           | -425 µs
        * 10               hits = 0                                            |                                                                    |
          11    202 µs     best = logits.argmax(dim=-1)                        | 10    191 µs     best = logits.argmax(dim=-1)                      |
        * 12               for row in range(0, best.shape[0], 8):              | 11   ~124 µs     return (best[::8] == target[::8]).sum().item()    | -597 µs
        * 13   ~720 µs         if best[row].item() == target[row].item():      |                                                                    |
        * 14                       hits += 1                                   |                                                                    |
        * 15               return hits                                         |                                                                    |
          16                                                                   | 12                                                                 |
          17                                                                   | 13                                                                 |
          18 fn39.4 µs def norms(model):                                       | 14   fn38 µs def norms(model):                                     |
    "#]].assert_eq(&pairs.iter().map(rows).collect::<String>());
}

/// A column of whole numbers.
fn numbers(column: &Value) -> Vec<usize> {
    let rows = column.as_array().expect("a column").iter();
    rows.map(|it| usize::try_from(it.as_u64().expect("a number")).expect("fits")).collect()
}

/// By node, the frame that what is on it is charged to: the innermost line, with its place.
fn lines_of(graph: &Value) -> Vec<Option<(usize, String)>> {
    let column = |table: &str, name: &str| numbers(&graph[table][name]);
    let (parents, frames) = (column("nodes", "parent"), column("nodes", "frame"));
    let (files, lines) = (column("frames", "file"), column("frames", "line"));
    let of_node = |mut node: usize| {
        while node != 0 && files[frames[node]] == 0 {
            node = parents[node];
        }
        let frame = (node != 0).then(|| frames[node])?;
        let file = graph["strings"][files[frame]].as_str().expect("a text");
        Some((frame, format!("{file}:{}", lines[frame])))
    };
    (0..parents.len()).map(of_node).collect()
}

/// The exclusive thread time of each frame that is a line, of the new run or of its base, by its place.
fn times(graph: &Value, is_base: bool) -> BTreeMap<String, i64> {
    let metric = graph["metrics"].as_array().expect("metrics").iter().find(|it| it["id"] == "cpu");
    let metric = metric.expect("thread time");
    let column = if is_base { &metric["base"] } else { metric };
    let lines = lines_of(graph);
    let mut sums = BTreeMap::new();
    let amounts = numbers(&column["node"]).into_iter().zip(numbers(&column["amount"]));
    for (node, amount) in amounts {
        if let Some((_, place)) = &lines[node] {
            *sums.entry(place.clone()).or_default() += i64::try_from(amount).expect("fits");
        }
    }
    sums
}

/// What `perfline lines` has of each line of the new run or of its base, by the place that the line goes by beside the other run.
fn expected(
    programs: [&RecordedProgram; 2],
    difference: &Difference,
    is_new: bool,
) -> BTreeMap<String, i64> {
    let names = programs.map(|it| loader::display_names(&it.run.merged, &it.root));
    let side = usize::from(is_new);
    let mut sums = BTreeMap::new();
    let lines = programs[side].run.merged.lines.iter();
    for (key, books) in lines.filter(|(_, it)| it.cpu_self != Ns::ZERO) {
        let (named_by, shown) = match difference.shown_as(key, is_new) {
            Some(shown) => (1, shown),
            None => (side, key),
        };
        let file = &names[named_by][shown.file.as_str()];
        *sums.entry(format!("{file}:{}", shown.line)).or_default() += books.cpu_self.0;
    }
    sums
}

#[test]
fn the_flame_graph_of_two_runs_has_the_sums_of_both() {
    let base = RecordedProgram::new("base", "trace.json.gz");
    for (folder, trace) in
        [("faster", "trace.json.gz"), ("moved", "trace.json.gz"), ("base", "again.json.gz")]
    {
        let new = RecordedProgram::new(folder, trace);
        for min_share in [0.0, 0.01] {
            let (graph, _) = base.flame_of(&new, min_share);
            for metric in graph["metrics"].as_array().expect("metrics") {
                let kept = StackBooks::METRICS.into_iter().find(|it| metric["id"] == it.id());
                for (column, run) in [(metric, &new.run), (&metric["base"], &base.run)] {
                    let sum: usize = numbers(&column["amount"]).into_iter().sum();
                    let total = run.merged.totals.get(kept.expect("a metric"));
                    assert_eq!(i64::try_from(sum).expect("fits"), total, "{folder}");
                    assert_eq!(column["total"], total, "{folder}");
                }
            }
        }
        let (graph, difference) = base.flame_of(&new, 0.0);
        assert_eq!(times(&graph, false), expected([&base, &new], &difference, true), "{folder}");
        assert_eq!(times(&graph, true), expected([&base, &new], &difference, false), "{folder}");
    }
}

#[test]
fn the_flame_graph_marks_what_the_comparison_names() {
    let base = RecordedProgram::new("base", "trace.json.gz");
    let faster = RecordedProgram::new("faster", "trace.json.gz");
    let (graph, _) = base.flame_of(&faster, 0.0);
    let metric = graph["metrics"].as_array().expect("metrics").iter().find(|it| it["id"] == "cpu");
    let compared = &metric.expect("thread time")["base"];
    let lines = lines_of(&graph);
    let nodes = numbers(&compared["differs"]).into_iter();
    let mut marked: Vec<_> = nodes.filter_map(|it| lines[it].clone()).collect();
    marked.sort();
    marked.dedup();
    let gone = numbers(&graph["base"]["gone"]);
    let marked: Vec<_> =
        marked.into_iter().map(|(frame, place)| (place, gone.contains(&frame))).collect();
    expect_test::expect![[r#"[("train.py:9", false), ("train.py:11", false)]"#]]
        .assert_eq(&format!("{marked:?}"));
    // Where the line was that is compared with it.
    let was = &graph["base"]["was"];
    let places = numbers(&was["frame"]).into_iter().zip(numbers(&was["line"]));
    let lines = numbers(&graph["frames"]["line"]);
    assert!(places.map(|(frame, line)| (lines[frame], line)).any(|it| it == (11, 13)));
    // Nothing but chance differs between two recordings of one program.
    let again = RecordedProgram::new("base", "again.json.gz");
    let (graph, _) = base.flame_of(&again, 0.0);
    let of_nodes = lines_of(&graph);
    for metric in graph["metrics"].as_array().expect("metrics") {
        let nodes = numbers(&metric["base"]["differs"]);
        let lines: Vec<_> = nodes.into_iter().filter_map(|it| of_nodes[it].clone()).collect();
        assert_eq!(lines, [], "{}", metric["id"]);
    }
    assert_eq!(graph["base"]["steps"], serde_json::json!([8, 8]));
    assert_eq!(graph["base"]["isTested"], true);
}
