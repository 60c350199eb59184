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
use loader::{LoadOptions, Run, Watch, load};
use metrics::Quantity;
use pysource::MatchStatus;
use report::{Recording, SideLine, SideRow, SourcePair, diff};
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
        let options = LoadOptions::new(&root, Some(Vec::new()));
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
