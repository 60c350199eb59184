//! What the rules find in recordings: each rule has one that makes it speak on the right line, and one in which it
//! must be silent about what is done right.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use insights::Finding;
use ledger::Pattern;
use loader::{LoadOptions, Watch, load};
use tests::fixtures::repository;

/// A rule, a recording below `fixtures/`, and text that only one line of the workload holds.
type Row = (&'static str, &'static str, &'static str);

const ANTI_PATTERNS: &str = "cpu/torch2.15.0/losses_of_time.json.gz";
const PYTHON: &str = "cpu/torch2.15.0/python_losses.json.gz";
const GARBAGE: &str = "cpu/torch2.15.0/garbage.json.gz";
const COMPILING: &str = "cpu/torch2.15.0/recompiling.json.gz";
const UPLOADS: &str = "simulated_cuda/torch2.15.0/uploads.json.gz";
const DEVICES: &str = "cpu/torch2.15.0/two_devices.json.gz";
const TRANSFORMER: &str = "simulated_cuda/torch2.15.0/transformer.json.gz";
const STARVED: &str = "simulated_cuda/torch2.15.0/starved.json.gz";
const TWO_RANKS: &str = "cpu/torch1.13.1/two_ranks.rank0.json.gz";
const LATE_LINE: &str = "cpu/torch2.15.0/late_rank.slow_line";
const LATE_DATA: &str = "cpu/torch2.15.0/late_rank.slow_data";
const BALANCED: &str = "cpu/torch2.15.0/late_rank.balanced";
const SLOW_MODEL: &str = "simulated_cuda/torch2.15.0/slow_model.json.gz";

/// What is found.
const FOUND: [Row; 30] = [
    ("sync", SLOW_MODEL, "if x.max().item() > 100:"),
    ("dataloader", ANTI_PATTERNS, "x, _ = next(source)"),
    ("for-loop-indexing", ANTI_PATTERNS, "out.append(x[i] * 2 + 1)"),
    ("for-loop-indexing", ANTI_PATTERNS, "total = total + (x[i] - y[i]).abs().sum()"),
    ("optimizer-single-tensor", ANTI_PATTERNS, "opt.step()  # one parameter at a time"),
    ("optimizer-single-tensor", UPLOADS, "opt.step()"),
    ("zero-grad", UPLOADS, "opt.zero_grad(set_to_none=False)"),
    ("zero-grad", TWO_RANKS, "opt.zero_grad()"),
    ("conv-bias-before-batchnorm", ANTI_PATTERNS, "x = self.conv(images)"),
    ("h2d-copy", UPLOADS, "return batch.to(DEVICE, copy=True)"),
    ("extra-copy", UPLOADS, "return torch.rand(size, WIDTH).to(DEVICE, copy=True)"),
    ("cpu-fallback", ANTI_PATTERNS, "return Eigenvalues.apply(a)"),
    ("graph-break", ANTI_PATTERNS, "torch._dynamo.graph_break()"),
    ("recompile", COMPILING, "slow_sum(torch.ones(next(sizes)))"),
    ("data-parallel", DEVICES, "return parallel(x).sum()"),
    ("foreach", PYTHON, "average.mul_(0.99).add_(p, alpha=0.01)"),
    ("python-overhead", PYTHON, "meter.log(numbers_of(number))"),
    ("gc-pause", GARBAGE, "made = [[number] for number in range(N_MADE)]"),
    ("hot-loop", TRANSFORMER, "for block in self.blocks:"),
    ("launch-bound", SLOW_MODEL, "opt.step()"),
    ("low-occupancy", SLOW_MODEL, "if x.max().item() > 100:"),
    ("tensor-cores-unused", SLOW_MODEL, "x = torch.relu(layer(x))"),
    ("gpu-idle", STARVED, "text = json.dumps({\"step\": number, \"names\": NAMES})"),
    ("comm-exposed", STARVED, "dist.all_reduce(product)"),
    ("first-step", TWO_RANKS, "loss.backward()"),
    ("straggler", LATE_LINE, "scores = torch.tanh(scores @ scores)"),
    ("straggler", LATE_DATA, "time.sleep(self.delay)"),
    ("dataloader", LATE_LINE, "x, y = next(batches)"),
    ("dataloader", LATE_DATA, "x, y = next(batches)"),
    ("dataloader", BALANCED, "x, y = next(batches)"),
];

/// What is done right beside it, and is not.
const SILENT: [Row; 28] = [
    ("sync", SLOW_MODEL, "x = torch.relu(layer(x))"),
    ("dataloader", ANTI_PATTERNS, "return data[step % len(data)]"),
    ("for-loop-indexing", ANTI_PATTERNS, "h = cell(x[i], h)"),
    ("for-loop-indexing", ANTI_PATTERNS, "return [x[i] * 2 for i in range(4)]"),
    ("optimizer-single-tensor", ANTI_PATTERNS, "opt.step()  # all of them"),
    ("zero-grad", ANTI_PATTERNS, "opt.zero_grad()"),
    ("conv-bias-before-batchnorm", ANTI_PATTERNS, "x = self.conv(pictures)"),
    ("h2d-copy", UPLOADS, "return batch.to(DEVICE, copy=True, non_blocking=True)"),
    ("h2d-copy", UPLOADS, "return torch.rand(size, WIDTH).to(DEVICE, copy=True)"),
    ("extra-copy", UPLOADS, "return torch.rand(size, WIDTH, device=DEVICE)"),
    ("cpu-fallback", ANTI_PATTERNS, "return torch.linalg.eigvalsh(a)"),
    ("graph-break", ANTI_PATTERNS, "x = torch.cos(x) * 2  # in one graph"),
    ("recompile", COMPILING, "fast_sum(torch.ones(64))"),
    ("data-parallel", DEVICES, "return alone(x).sum()"),
    ("foreach", PYTHON, "torch._foreach_lerp_(averages, list(model.parameters()), 0.01)"),
    ("foreach", PYTHON, "x.mul_(0.5)"),
    ("python-overhead", PYTHON, "meter.log({\"loss\": number})"),
    ("gc-pause", GARBAGE, "total += [number][0]"),
    ("hot-loop", SLOW_MODEL, "for layer, gate in zip(self.layers, self.gates):"),
    ("launch-bound", SLOW_MODEL, "x = torch.relu(layer(x))"),
    ("low-occupancy", SLOW_MODEL, "x = torch.relu(layer(x))"),
    ("tensor-cores-unused", SLOW_MODEL, "opt.step()"),
    ("gpu-idle", STARVED, "return (rows * 0.5 + 1.0).sigmoid()"),
    ("comm-exposed", STARVED, "product = weight + 1.0"),
    ("first-step", SLOW_MODEL, "x = torch.relu(layer(x))"),
    ("straggler", BALANCED, "time.sleep(self.delay)"),
    ("straggler", BALANCED, "loss.backward()"),
    ("straggler", LATE_LINE, "loss.backward()"),
];

/// The rules of which everything that they find in these recordings is listed.
const HOST: [&str; 14] = [
    "dataloader",
    "for-loop-indexing",
    "optimizer-single-tensor",
    "zero-grad",
    "conv-bias-before-batchnorm",
    "h2d-copy",
    "extra-copy",
    "cpu-fallback",
    "graph-break",
    "recompile",
    "data-parallel",
    "foreach",
    "python-overhead",
    "gc-pause",
];

/// Rules over what these recordings do not hold: the text of a file alone, half precision, memory that
/// grows or runs out, a second line that is unequal over ranks. Each is held against texts or books made by hand, beside it.
const BY_HAND: [&str; 11] = [
    "replayed-graph",
    "tensor-cores-unaligned",
    "possible-sync",
    "memory-leak",
    "retained-across-steps",
    "memory-peak-line",
    "memory-churn",
    "fragmentation",
    "near-limit",
    "checkpoint-candidate",
    "imbalance",
];

/// The findings in a recording, of a folder those of all ranks in it, and the text of its workload.
fn findings(recording: &str) -> (Vec<Finding>, String) {
    let fixtures = repository().join("fixtures");
    let path = fixtures.join(recording);
    let root = fixtures.join("workloads");
    let options = LoadOptions::new(root, Some(Vec::new()));
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let inputs = match path.is_dir() {
        true => std::fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()).collect(),
        false => vec![path],
    };
    let run = load(&inputs, &options, &watch).unwrap();
    let findings = insights::find(&run.merged, &insights::RuleOptions::default());
    let name = Path::new(recording).file_name().unwrap().to_str().unwrap();
    let workload = name.split_once('.').unwrap().0;
    let text = fixtures.join(format!("workloads/{workload}.py"));
    (findings, std::fs::read_to_string(text).unwrap())
}

/// The findings of a rule on the only line of the workload that reads `code`.
fn on_line<'a>(
    rule: &str,
    code: &str,
    (findings, text): &'a (Vec<Finding>, String),
) -> Vec<&'a Finding> {
    let lines = text.lines().enumerate().filter(|(_, line)| line.trim() == code);
    let [(index, _)] = lines.collect::<Vec<_>>()[..] else { panic!("{code} is not on one line") };
    let is_here = |it: &&Finding| it.rule == rule && it.place.line as usize == index + 1;
    findings.iter().filter(is_here).collect()
}

#[test]
fn rules_speak_of_the_right_lines() {
    let mut read = BTreeMap::new();
    let mut of = |recording: &'static str| {
        read.entry(recording).or_insert_with(|| findings(recording)).clone()
    };
    for (rule, recording, code) in FOUND {
        let all = of(recording);
        assert_eq!(
            on_line(rule, code, &all).len(),
            1,
            "{rule} in {recording}: {code}\n{:#?}",
            all.0
        );
    }
    for (rule, recording, code) in SILENT {
        let all = of(recording);
        assert!(on_line(rule, code, &all).is_empty(), "{rule} in {recording}: {code}");
    }
    // What is not listed is not found, whatever else there is.
    for (recording, all) in read.iter().filter(|(it, _)| ![SLOW_MODEL, TRANSFORMER].contains(it)) {
        for it in all.0.iter().filter(|it| HOST.contains(&it.rule)) {
            let is_listed = FOUND.iter().any(|&(rule, listed, code)| {
                (rule, listed) == (it.rule, *recording) && on_line(rule, code, all).contains(&it)
            });
            assert!(is_listed, "{recording}: {it:#?}");
        }
    }
}

#[test]
fn every_rule_has_recordings() {
    let of = |rows: &[Row]| rows.iter().map(|&(rule, ..)| rule).collect::<BTreeSet<_>>();
    let (found, silent) = (of(&FOUND), of(&SILENT));
    let without = |rules: &BTreeSet<&str>| {
        let all = insights::rules().map(|it| it.id).filter(|it| !BY_HAND.contains(it));
        all.filter(|it| !rules.contains(it)).collect::<Vec<_>>()
    };
    assert_eq!(without(&found), [""; 0], "no recording makes them speak");
    assert_eq!(without(&silent), [""; 0], "no recording shows them silent");
    for id in found.union(&silent).chain(&BY_HAND) {
        assert!(insights::rule(id).is_some(), "{id} is no rule");
    }
}

/// Ranges last longer than the frames that open them; `Optimizer.step` may be open when recording ends.
#[test]
fn python_between_operators_takes_no_longer_than_its_line() {
    for name in ["step_in_hook", "step_in_loop", "python_losses"] {
        let fixtures = repository().join("fixtures");
        let options = LoadOptions::new(fixtures.join("workloads"), Some(Vec::new()));
        let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
        let trace = fixtures.join(format!("cpu/torch2.15.0/{name}.json.gz"));
        let run = load(&[trace], &options, &watch).unwrap();
        let lines = run.merged.lines.iter();
        let python = lines.filter_map(|(place, it)| {
            Some((place, it.patterns.get(&Pattern::PythonBetween)?.cpu, it.cpu_total))
        });
        let python: Vec<_> = python.collect();
        assert_ne!(python.len(), 0, "{name}");
        for (place, between, total) in python {
            assert!(between <= total, "{name}: {place:?} {between:?} of {total:?}");
        }
    }
}
