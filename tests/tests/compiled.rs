//! Compiled code on the lines that it was made from: `fixtures/workloads/inductor.py`, recorded with the log of the compiler. What
//! is true was worked out from the text of the workload.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use insights::{CompilerReason, Detail};
use ledger::{Evidence, LineBooks, Metric, RecompileCause};
use loader::{LoadOptions, Run, StackChoice, Watch, load};
use stack_books::{StackFrame, StackRow};
use tests::fixtures::{read_gz, repository};

const FILE: &str = "inductor.py";

fn folder() -> PathBuf {
    repository().join("fixtures/cpu/torch2.15.0/inductor")
}

fn loaded(inputs: &[PathBuf], ignore_exact: bool) -> Run {
    let root = repository().join("fixtures/workloads");
    let options = LoadOptions { ignore_exact, ..LoadOptions::new(root, Some(Vec::new())) };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let run = load(inputs, &options, &watch).unwrap();
    assert!(run.merged.adds_up());
    run
}

/// The lines of the workload.
fn lines(run: &Run) -> BTreeMap<u32, &LineBooks> {
    let lines = run.merged.lines_with_books().filter(|(key, _)| key.file == FILE);
    lines.map(|(key, books)| (key.line, books)).collect()
}

/// The lines of the workload that hold `text`, by number.
fn line_of(text: &str) -> u32 {
    let source = repository().join("fixtures/workloads").join(FILE);
    let source = read(&source);
    let found: Vec<usize> =
        source.lines().enumerate().filter(|(_, it)| it.contains(text)).map(|(at, _)| at).collect();
    assert_eq!(found.len(), 1, "{text}");
    u32::try_from(found[0] + 1).unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

const BRANCH: &str = "Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`)";
const PRINT: &str = "Dynamo does not know how to trace builtin operator `print` with argument types ['str'] (has_kwargs True)";

/// `fixtures/workloads/compile_reasons.py`: a function that is compiled for each size, one whose graph ends twice.
#[test]
fn the_log_says_what_was_compiled_and_why() {
    let run = loaded(
        &[repository().join("fixtures/cpu/torch2.15.0/compile_reasons/compile_reasons.json.gz")],
        false,
    );
    let ledger = &run.merged;
    let functions: Vec<(u32, &str, u64)> =
        ledger.compiled.iter().map(|(key, it)| (key.line, it.name.as_str(), it.compiles)).collect();
    // Three warm steps, one to warm up the profiler, one that is recorded; the rests of `gated` count as it.
    assert_eq!(functions, [(10, "scaled", 5), (15, "gated", 3)]);
    let scaled = ledger.compiled.values().next().unwrap();
    let cause = RecompileCause::Dimension("size of 'x' at index 0".to_owned());
    let size = &scaled.reasons[&cause];
    assert_eq!(size.values, (8..=12).collect());
    assert_eq!(
        (size.count, size.lines.iter().map(|it| it.line).collect::<Vec<_>>()),
        (4, vec![28])
    );
    assert!(ledger.compiled.values().all(|it| it.time.0 > 0));

    let limits = insights::RuleOptions { threshold: 0.0, ..insights::RuleOptions::default() };
    let findings = insights::find(ledger, &limits);
    let reasons: Vec<(&str, u32, &[CompilerReason])> = findings
        .iter()
        .filter_map(|it| match &it.detail {
            Detail::Compiler(_, _, reasons) => Some((it.rule, it.place.line, reasons.as_slice())),
            _ => None,
        })
        .collect();
    let function = "scaled".to_owned();
    let again = CompilerReason::Recompiled { function, cause, values: (8..=12).collect() };
    let ends = |text: &str| CompilerReason::GraphBreak(text.to_owned());
    let expected: [(&str, u32, &[CompilerReason]); 3] = [
        ("recompile", 28, &[again]),
        ("graph-break", 20, &[ends(PRINT)]),
        ("graph-break", 18, &[ends(BRANCH)]),
    ];
    assert_eq!(reasons, expected);
}

/// Batches of 8 and 12, sequences of 64, 96 features, two steps. A product counts once forward and once for each of its inputs
/// that a gradient is asked for.
#[test]
fn products_of_matrices_are_on_the_line_that_asks_for_them() {
    let run = loaded(&[folder().join("inductor.json.gz")], false);
    let lines = lines(&run);
    let rows = 64 * (8 + 12);
    let expected = [
        ("q = x @ self.query", 2 * rows * 96 * 96 * 2),
        ("k = x @ self.key", 2 * rows * 96 * 96 * 2),
        ("scores = torch.bmm(", 2 * rows * 64 * 96 * 3),
        ("return x + torch.bmm(weights, x)", 2 * rows * 64 * 96 * 2),
        ("h = self.up(h)", 2 * rows * 96 * 192 * 3),
        ("return x + self.down(h)", 2 * rows * 96 * 192 * 3),
        ("return self.head(x)", 2 * (8 + 12) * 96 * 10 * 3),
    ];
    let expected: BTreeMap<u32, u64> =
        expected.iter().map(|(text, flops)| (line_of(text), 2 * flops)).collect();
    let found: BTreeMap<u32, u64> =
        lines.iter().map(|(&line, it)| (line, it.flops())).filter(|it| it.1 > 0).collect();
    assert_eq!(found, expected);
}

#[test]
fn fused_lines_share_and_what_calls_them_has_the_sum() {
    let run = loaded(&[folder().join("inductor.json.gz")], false);
    let lines = lines(&run);
    let own = |text: &str| lines[&line_of(text)].cpu_own.0;
    let total = |text: &str| lines[&line_of(text)].cpu_total.0;
    // relu, its square and the gate are one kernel, forward and backward.
    let parts = ["y = F.relu(x)", "return y * y", "h = h * self.gate"].map(own);
    assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() <= 64, "{parts:?}");
    assert!(parts[0] > 0);
    assert_eq!(total("h = squared_relu(h)"), parts[0] + parts[1]);
    assert_eq!(own("h = squared_relu(h)"), 0);
    for text in parts_of_model() {
        assert_eq!(lines[&line_of(text)].evidence, Evidence::Exact, "{text}");
        assert!(own(text) <= total(text), "{text}");
    }
    // All of the forward pass is below the call of the model, the backward pass below that of `backward`.
    let (model, backward) = (total("logits = model(x)"), total("loss.backward()"));
    let compiled: i64 = parts_of_model().iter().map(|it| own(it)).sum();
    assert!(compiled < model + backward && model + backward < compiled * 3 / 2);
}

/// The lines of the model that compute.
fn parts_of_model() -> [&'static str; 13] {
    [
        "y = F.relu(x)",
        "return y * y",
        "h = self.norm(x)",
        "h = self.up(h)",
        "h = h * self.gate",
        "return x + self.down(h)",
        "q = x @ self.query",
        "k = x @ self.key",
        "scores = torch.bmm(",
        "scores = scores / ",
        "weights = scores.softmax(-1)",
        "return x + torch.bmm(weights, x)",
        "x = x.mean(1)",
    ]
}

#[test]
fn compiled_time_is_on_user_lines() {
    let run = loaded(&[folder().join("inductor.json.gz")], false);
    let of_user: i64 = lines(&run).values().map(|it| it.cpu_own.0).sum();
    let generated = |key: &ledger::LineKey| key.file.contains("inductor_cache");
    let own = |is: &dyn Fn(&ledger::LineKey) -> bool| -> i64 {
        let found = run.merged.lines.iter().filter(|(key, _)| is(key));
        found.map(|(_, books)| books.cpu_own.0).sum()
    };
    assert_eq!(own(&generated), 0, "generated code is nobody's");
    let compiled: i64 = parts_of_model().iter().map(|it| lines(&run)[&line_of(it)].cpu_own.0).sum();
    assert!(compiled * 10 > of_user * 9, "{compiled} of {of_user}");
}

#[test]
fn without_the_log_the_compiled_function_has_all() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("inductor.json.gz");
    copy(&self::folder().join("inductor.json.gz"), &alone);
    let without = loaded(std::slice::from_ref(&alone), false);
    assert_eq!(without.inputs.len(), 1);
    assert!(!lines(&without).contains_key(&line_of("q = x @ self.query")));
    let ignored = loaded(&[self::folder().join("inductor.json.gz")], true);
    assert_eq!(ignored.inputs.len(), 1);
    assert!(!lines(&ignored).contains_key(&line_of("q = x @ self.query")));
    // Named, the log may lie anywhere, and belongs to the trace whoever wrote it.
    let log = log();
    let named = loaded(&[alone, log.clone()], false);
    let beside = loaded(&[self::folder().join("inductor.json.gz")], false);
    assert!(named.merged == beside.merged);
    assert_eq!(named.inputs[1].path, log);
}

/// PyTorch 2.9 to 2.13 does not say which line made a call: the generated line is inferred from the text that the log holds.
#[test]
fn without_callers_the_generated_line_is_inferred() {
    let elsewhere = tempfile::tempdir().unwrap();
    let hidden = elsewhere.path().join("inductor.json");
    let trace = String::from_utf8(read_gz(&folder().join("inductor.json.gz")).unwrap()).unwrap();
    std::fs::write(&hidden, trace.replace("\"CallFrom\"", "\"Hidden\"")).unwrap();
    let inferred = loaded(&[hidden, log()], false);
    let exact = loaded(&[folder().join("inductor.json.gz")], false);
    let (mut all, mut right, mut wrong) = (0, 0, 0);
    for text in parts_of_model() {
        let line = line_of(text);
        let own = |run: &Run| lines(run).get(&line).map_or(0, |it| it.cpu_own.0);
        let (found, truth) = (own(&inferred), own(&exact));
        all += truth;
        right += found.min(truth);
        wrong += (found - truth).max(0);
        let evidence = lines(&inferred).get(&line).map(|it| it.evidence);
        assert!(evidence.is_none_or(|it| it == Evidence::Inferred), "{text}");
    }
    assert!(
        all * 99 < right * 100 && wrong * 100 < all,
        "{right} right and {wrong} wrong of {all}"
    );
}

/// Stacks that are exported name the lines as the ledger does.
#[test]
fn exported_stacks_are_divided_likewise() {
    let root = repository().join("fixtures/workloads");
    let options =
        LoadOptions { stacks: StackChoice::Always, ..LoadOptions::new(root, Some(Vec::new())) };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let run = load(&[folder().join("inductor.json.gz")], &options, &watch).unwrap();
    let stacks = run.stacks.as_ref().unwrap();
    let total = run.merged.totals.cpu.0;
    let mut sums: BTreeMap<u32, i64> = BTreeMap::new();
    for stack in stacks.stacks() {
        let outwards = std::iter::successors(Some(stack), |&it| Some(stacks.parent(it)));
        let mut inside = outwards.take_while(|&it| it != StackRow::ROOT);
        let of_user = inside.find_map(|it| match stacks.frame_of(it) {
            StackFrame::Line(line) if line.is_user_code => Some(&line.key),
            _ => None,
        });
        if let Some(key) = of_user.filter(|it| it.file == FILE) {
            *sums.entry(key.line).or_default() += stacks.amount(Metric::Cpu, stack);
        }
    }
    assert_eq!(stacks.total(Metric::Cpu), total);
    for (line, books) in lines(&run) {
        let found = sums.get(&line).copied().unwrap_or_default();
        assert!((found - books.cpu_own.0).abs() <= 64, "{line}: {found} {}", books.cpu_own.0);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
}

fn log() -> PathBuf {
    let mut entries = std::fs::read_dir(folder()).unwrap().map(|it| it.unwrap().path());
    entries.find(|it| it.to_string_lossy().ends_with(".log.gz")).unwrap()
}
