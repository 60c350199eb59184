//! Compiled code on the lines that it was made from: `fixtures/workloads/inductor.py`, recorded with the log of the compiler. What
//! is true was worked out from the text of the workload.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use insights::{CompilerReason, Detail};
use ledger::{Evidence, LineBooks, Metric, RecompileCause};
use loader::{InputKind, LoadOptions, Run, StackChoice, Watch, load};
use stack_books::{StackFrame, StackRow};
use tests::builder::render;
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

/// A graph that Inductor takes from its cache has the lines that it was compiled with. Here these are numbered as if two lines had been
/// added above the perceptron since, and three more above the model.
#[test]
fn lines_are_found_again_after_edits() {
    let elsewhere = tempfile::tempdir().unwrap();
    let edited = elsewhere.path().join("dedicated_log_torch_trace_edited.log");
    let text = String::from_utf8(read_gz(&log()).unwrap()).unwrap();
    let model = line_of("class Model(nn.Module)");
    let mut parts = text.split("inductor.py\\\", line ");
    let mut old = parts.next().unwrap().to_owned();
    for part in parts {
        let (number, rest) = part.split_at(part.find(',').unwrap());
        let line: u32 = number.parse().unwrap();
        let line = line - if line > model { 5 } else { 2 };
        old.push_str(&format!("inductor.py\\\", line {line}{rest}"));
    }
    assert_ne!(old, text);
    std::fs::write(&edited, old).unwrap();
    let alone = elsewhere.path().join("inductor.json.gz");
    copy(&folder().join("inductor.json.gz"), &alone);
    let found_again = loaded(&[alone, edited], false);
    let named = loaded(&[folder().join("inductor.json.gz")], false);
    let own = |run: &Run| -> BTreeMap<u32, (i64, i64, u64)> {
        let amounts = |it: &LineBooks| (it.cpu_own.0, it.cpu_total.0, it.flops());
        lines(run).into_iter().map(|(line, it)| (line, amounts(it))).collect()
    };
    assert_eq!(own(&found_again), own(&named));
    let line = line_of("q = x @ self.query");
    assert_eq!(lines(&found_again)[&line].evidence, Evidence::Inferred);
    assert_eq!(lines(&named)[&line].evidence, Evidence::Exact);
}

/// Where the compiler logged nothing, the graphs that it keeps in its cache say which operations each call computes. What is
/// true is what was logged of the same run.
#[test]
fn the_cache_of_the_compiler_has_the_lines() {
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = elsewhere.path().join("compiled_kept.json.gz");
    copy(&kept().join("compiled_kept.json.gz"), &alone);
    let without = loaded(std::slice::from_ref(&alone), false);
    assert_eq!(without.inputs.len(), 1);
    copy_folder(&kept().join("inductor_cache"), &elsewhere.path().join("inductor_cache"));
    let by_cache = loaded(std::slice::from_ref(&alone), false);
    let kinds: Vec<InputKind> = by_cache.inputs.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [InputKind::Kineto, InputKind::CompileCache]);
    assert_lines_are_as_logged(&by_cache);
    // Evidence is left out of account for the cache, too.
    assert_eq!(loaded(&[alone], true).inputs.len(), 1);
}

#[test]
fn without_the_lines_of_kernels_the_log_has_the_graphs() {
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = elsewhere.path().join("compiled_kept.json.gz");
    copy(&kept().join("compiled_kept.json.gz"), &alone);
    let text = String::from_utf8(read_gz(&log_in(&kept())).unwrap()).unwrap();
    let mut is_hidden = false;
    let is_shown = |line: &&str| {
        if !line.starts_with('\t') {
            is_hidden = line.contains("inductor_provenance_tracking_kernel_stack_traces");
        }
        !is_hidden
    };
    let shown: Vec<&str> = text.lines().filter(is_shown).collect();
    assert!(shown.len() < text.lines().count());
    let hidden = elsewhere.path().join("dedicated_log_torch_trace_hidden.log");
    std::fs::write(&hidden, shown.join("\n")).unwrap();
    assert_lines_are_as_logged(&loaded(&[alone, hidden], false));
}

/// All lines have the time that they have by the log of the compiler, but for kernels of which that also notes what their inputs were
/// made from: the sum over a gradient (`cpp_fused_…_sum_view_7`) only belongs to the line of the bias.
fn assert_lines_are_as_logged(run: &Run) {
    let logged = loaded(&[kept().join("compiled_kept.json.gz")], false);
    assert_eq!(logged.inputs[1].kind, InputKind::CompileLog);
    let own = |run: &Run| -> BTreeMap<u32, i64> {
        let lines = run.merged.lines_with_books();
        let of_file = lines.filter(|(key, _)| key.file == "compiled_kept.py");
        of_file.map(|(key, books)| (key.line, books.cpu_own.0)).collect()
    };
    let (found, truth) = (own(run), own(&logged));
    let of = |lines: &BTreeMap<u32, i64>, line: &u32| lines.get(line).copied().unwrap_or_default();
    let compiled = 23..=41;
    let all: i64 = truth.iter().filter(|(line, _)| compiled.contains(*line)).map(|it| it.1).sum();
    let wrong: i64 = found.iter().map(|(line, own)| (own - of(&truth, line)).max(0)).sum();
    assert!(all > 1_000_000 && wrong * 20 < all, "{wrong} of {all}: {found:?} {truth:?}");
    for line in [23, 24, 25, 26, 27, 40, 41] {
        let key = |it: &&ledger::LineKey| it.file == "compiled_kept.py" && it.line == line;
        let (_, books) = run.merged.lines.iter().find(|(it, _)| key(it)).unwrap();
        assert_eq!(books.evidence, Evidence::Inferred, "{line}");
    }
}

fn kept() -> PathBuf {
    repository().join("fixtures/cpu/torch2.15.0/compiled_kept")
}

/// PyTorch 2.9 to 2.13 does not say which line made a call: the generated line is inferred from the text that the log holds.
/// The first of two blocks is checkpointed: its forward pass runs again in the compiled backward pass. Both are of one compiled graph, with
/// the time of the backward pass on the lines of the forward pass.
#[test]
fn passes_of_compiled_lines_stand_apart() {
    let kept = kept();
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("compiled_kept.json.gz");
    copy(&kept.join("compiled_kept.json.gz"), &trace);
    copy_folder(&kept.join("inductor_cache"), &folder.path().join("inductor_cache"));
    for run in [loaded(&[kept.join("compiled_kept.json.gz")], false), loaded(&[trace], false)] {
        let workload = read(&repository().join("fixtures/workloads/compiled_kept.py"));
        let of = |text: &str| -> &LineBooks {
            let at = workload.lines().position(|it| it.contains(text)).unwrap();
            let line = u32::try_from(at + 1).unwrap();
            let key = ledger::LineKey { file: "compiled_kept.py".to_owned(), line };
            &run.merged.lines[&key]
        };
        for (text, is_again) in
            [("h = self.up(h)", true), ("x = x.mean(1)", false), ("return self.head(x)", false)]
        {
            let it = of(text);
            assert_eq!(it.recompute.cpu > ledger::Ns::ZERO, is_again, "{text}");
            assert!(it.own_backward.cpu > ledger::Ns::ZERO, "{text}");
            assert!(it.own_backward.cpu + it.recompute.cpu < it.cpu_own, "{text}");
        }
        // Nothing but generated code runs below these lines.
        for text in ["h = self.up(h)", "h = F.silu(h)", "return self.head(x)"] {
            let it = of(text);
            let generated: ledger::Ns = it.generated.values().map(|it| it.cpu).sum();
            let lost = (it.cpu_own - generated).0.unsigned_abs();
            assert!(lost <= it.generated.len() as u64, "{text}: {lost} ns of {:?}", it.cpu_own);
            assert!(it.generated.keys().all(|it| it.file.ends_with(".py") && it.line > 1));
        }
        let eager = of("optimizer.step()");
        assert!(eager.generated.is_empty() && eager.own_backward.cpu == ledger::Ns::ZERO);
    }
}

#[test]
fn generated_files_are_found_in_caches_that_may_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap();
    let trace = place.join("compiled_kept.json.gz");
    copy(&kept().join("compiled_kept.json.gz"), &trace);
    copy_folder(&kept().join("inductor_cache"), &place.join("inductor_cache"));
    let mut run = loaded(&[trace], false);
    let root = repository().join("fixtures/workloads");
    let generated: BTreeSet<String> = run
        .merged
        .lines_with_books()
        .flat_map(|(_, it)| it.generated.keys().map(|it| it.file.clone()))
        .collect();
    assert!(!generated.is_empty());
    for key in &generated {
        let path = run.merged.files[key].path.as_ref().unwrap();
        assert!(path.starts_with(place.join("inductor_cache")) && path.is_file(), "{path:?}");
    }
    let found: Vec<PathBuf> = loader::compile_caches(&run, &root).into_iter().collect();
    assert_eq!(found, [place.join("inductor_cache")]);
    // A ledger file may name any path.
    let elsewhere = tempfile::tempdir().unwrap();
    copy_folder(&kept().join("inductor_cache"), elsewhere.path());
    for key in &generated {
        let file = run.merged.files.get_mut(key).unwrap();
        let path = file.path.as_ref().unwrap();
        let inside = path.strip_prefix(place.join("inductor_cache")).unwrap();
        file.path = Some(elsewhere.path().join(inside));
    }
    assert!(loader::compile_caches(&run, &root).is_empty());
}

/// A kernel for the CPU leaves no event: it is own time of the generated function.
#[test]
fn generated_code_is_no_python_between_operators() {
    let run = loaded(&[kept().join("compiled_kept.json.gz")], false);
    let between =
        |it: &LineBooks| it.patterns.get(&ledger::Pattern::PythonBetween).map(|it| it.cpu);
    let lines = run.merged.lines_with_books();
    let python: ledger::Ns = lines.clone().filter_map(|it| between(it.1)).sum();
    let generated: ledger::Ns = lines.flat_map(|it| it.1.generated.values()).map(|it| it.cpu).sum();
    assert!(python > ledger::Ns::ZERO);
    assert!(python + generated <= run.merged.totals.cpu, "{python:?} and {generated:?}");
}

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

/// What a backend of one's own runs between a compiled function and its generated code, as in vLLM 0.8 (`split`) and 0.13 (`cached`). The
/// piece of `mixed` calls a function that is compiled as well, and `single` is in one piece.
const BACKENDS: &str = "
py run.py:1 <module> 0..1000
  py model.py:10 split 0..100 from=run.py:2
    py torch/_dynamo/eval_frame.py:738 _fn 1..99 from=model.py:11
      py <eval_with_key>.1:4 forward 2..98 from=torch/_dynamo/eval_frame.py:740
        py vllm/backends.py:608 __call__ 3..97 from=<eval_with_key>.1:5
          py torch/_inductor/output_code.py:463 __call__ 4..96 from=vllm/backends.py:609
            py /c/ab/cabaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.py:20 call 5..95 from=torch/_inductor/output_code.py:464
              py model.py:40 custom_op 10..20 from=/c/ab/cabaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.py:21
  py model.py:20 cached 100..200 from=run.py:3
    py torch/_dynamo/eval_frame.py:1039 _fn 101..199 from=model.py:21
      py vllm/caching.py:197 __call__ 102..198 from=torch/_dynamo/eval_frame.py:1040
        py <eval_with_key>.2:4 forward 103..197 from=vllm/caching.py:198
          py vllm/piecewise.py:334 __call__ 104..196 from=<eval_with_key>.2:5
            py torch/_inductor/standalone_compile.py:62 __call__ 105..195 from=vllm/piecewise.py:335
              py torch/_dynamo/eval_frame.py:1039 _fn 106..194 from=torch/_inductor/standalone_compile.py:63
                py /c/ab/cabaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.py:20 call 107..193 from=torch/_dynamo/eval_frame.py:1040
  py model.py:30 mixed 200..300 from=run.py:4
    py torch/_dynamo/eval_frame.py:738 _fn 201..299 from=model.py:31
      py <eval_with_key>.3:4 forward 202..298 from=torch/_dynamo/eval_frame.py:740
        py layers.py:5 call_compiled 203..297 from=<eval_with_key>.3:5
          py torch/_dynamo/eval_frame.py:738 _fn 204..296 from=layers.py:6
            py layers.py:8 compiled 205..295 from=torch/_dynamo/eval_frame.py:740
              py torch/_dynamo/eval_frame.py:738 _fn 206..294 from=layers.py:9
                py /c/ab/cabaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.py:20 call 207..293 from=torch/_dynamo/eval_frame.py:740
";

#[test]
fn what_a_backend_runs_is_the_compiled_function_s() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.json");
    std::fs::write(&trace, render(BACKENDS).unwrap()).unwrap();
    for name in ["run.py", "model.py", "layers.py"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let options = LoadOptions {
        mine: ["run.py", "model.py", "layers.py", "vllm"].map(|it| it.parse().unwrap()).to_vec(),
        ..LoadOptions::new(folder.path(), Some(Vec::new()))
    };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let run = load(&[trace], &options, &watch).unwrap();
    assert!(run.merged.adds_up());
    let own = run.merged.lines.iter().map(|(key, books)| ((&*key.file, key.line), books));
    let own: BTreeMap<(&str, u32), (i64, i64)> = own
        .filter(|(_, books)| books.cpu_own.0 > 0)
        .map(|(key, books)| (key, (books.cpu_own.0 / 1_000, books.cpu_total.0 / 1_000)))
        .collect();
    let expected = [
        (("layers.py", 5), (2, 2)),
        (("layers.py", 6), (2, 92)),
        (("layers.py", 8), (2, 2)),
        (("layers.py", 9), (88, 88)),
        (("model.py", 10), (2, 2)),
        (("model.py", 11), (84, 98)),
        (("model.py", 20), (2, 2)),
        (("model.py", 21), (88, 98)),
        (("model.py", 30), (2, 2)),
        (("model.py", 31), (4, 98)),
        (("model.py", 40), (10, 10)),
        (("run.py", 1), (700, 700)),
        (("vllm/backends.py", 608), (2, 2)),
        (("vllm/backends.py", 609), (2, 2)),
        (("vllm/caching.py", 197), (2, 2)),
        (("vllm/caching.py", 198), (2, 8)),
        (("vllm/piecewise.py", 334), (2, 2)),
        (("vllm/piecewise.py", 335), (4, 4)),
    ];
    assert_eq!(own, BTreeMap::from(expected));
}

fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => copy(&entry.path(), &to),
        }
    }
}

fn log() -> PathBuf {
    log_in(&folder())
}

fn log_in(folder: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    entries.find(|it| it.to_string_lossy().ends_with(".log.gz")).unwrap()
}
