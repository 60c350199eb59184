//! The run summary against what TensorBoard's PyTorch plugin and HTA compute from the same traces, as
//! `tests/overview_peers/peers.py` wrote it down in `expected.json`. Traces under `data/` lie in `../shared/data`; where
//! they are not at hand, the fixtures alone are compared.
//!
//! `PERFLINE_COMPARE=1` prints every number beside theirs.

#![allow(clippy::expect_used, clippy::print_stdout)] // A test that cannot go on says why, and prints what it skips.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ledger::{DeviceOverview, IdleClasses, Interval, Ns, Overview};
use loader::{LoadOptions, Watch, load};
use serde_json::Value;
use tests::fixtures::repository;

/// Where the peers are known to be wrong, or to define something else: part of the trace's name, what, and why.
const KNOWN: &[(&str, &str, &str)] = &[
    ("b200_", "kernel", CUSTOM),
    ("b200_", "compute", CUSTOM),
    ("b200_", "communication", CUSTOM),
    ("b200_", "non_compute", CUSTOM),
    ("b200_", "idle kernel_wait", OVERLAPPING),
    ("h100_torch2.6_vllm", "kernel", CUSTOM),
    ("h100_torch2.6_vllm", "compute", CUSTOM),
    ("h100_torch2.6_vllm", "communication", CUSTOM),
    ("h100_torch2.6_vllm", "both", CUSTOM),
    ("h100_torch2.6_vllm", "non_compute", CUSTOM),
    ("h100_torch2.6_vllm", "idle kernel_wait", OVERLAPPING),
    ("vllm_piecewise_", "idle kernel_wait", OVERLAPPING),
    ("xdit_", "idle kernel_wait", OVERLAPPING),
    ("torch1.8_", "idle host_wait", NO_LAUNCH),
    ("torch1.8_", "idle kernel_wait", NO_LAUNCH),
    ("torch1.8_", "idle other", NO_LAUNCH),
    ("dlrm_worker1", "idle host_wait", NO_LAUNCH),
    ("dlrm_worker1", "idle other", NO_LAUNCH),
    ("dlrm_worker3", "idle host_wait", NO_LAUNCH),
    ("dlrm_worker3", "idle other", NO_LAUNCH),
    ("resnet_ddp_", "idle host_wait", NO_LAUNCH),
    ("resnet_ddp_", "idle kernel_wait", NO_LAUNCH),
    ("resnet_ddp_", "idle other", NO_LAUNCH),
    ("b200_", "tensor_core_share", NAMES),
    ("gh200_", "tensor_core_share", NAMES),
    ("h100_", "tensor_core_share", NAMES),
    ("torch_compile_triton", "tensor_core_share", NAMES),
    ("vllm_", "tensor_core_share", NAMES),
    ("xdit_", "tensor_core_share", NAMES),
    ("mi250_", "tensor_core_share", NAMES),
    ("mi300_", "tensor_core_share", NAMES),
    ("nccl_data", "tensor_core_share", NAMES),
    ("a100_switch", "eligible_share", OPERATORS),
    ("b200_", "eligible_share", OPERATORS),
    ("h100_", "eligible_share", OPERATORS),
    ("xdit_", "eligible_share", OPERATORS),
    ("mi300_", "eligible_share", OPERATORS),
    ("nccl_data", "eligible_share", OPERATORS),
    ("rank-0.Apr_03", "eligible_share", OPERATORS),
];
/// The plugin knows kernels on tensor cores up to Ampere (`nvjet_`, CUTLASS, FlashAttention and AMD's are missing), and counts
/// `xmma_gemm_…_ffma` among them, which run on FP32 units.
const NAMES: &str = "names of kernels";
/// The plugin's operators are those of torch 1.9: `aten::convolution_backward` and attention are missing.
const OPERATORS: &str = "names of operators";
/// vLLM's own all-reduce does not begin with `nccl`.
const CUSTOM: &str = "collectives of others";
/// HTA counts the overlap of two kernels of a stream as negative idle time.
const OVERLAPPING: &str = "negative gaps";
/// HTA charges gaps before kernels whose launch is not in the recording to any of its classes; here they are "other".
const NO_LAUNCH: &str = "launches that were not recorded";

#[test]
fn the_summary_is_what_the_peers_say() {
    let text = std::fs::read_to_string(repository().join("tests/overview_peers/expected.json"));
    let expected: Value = serde_json::from_str(&text.expect("expected.json")).expect("JSON");
    let mut wrong = Vec::new();
    let (mut compared, mut skipped) = (0, 0);
    for (name, peers) in expected.as_object().expect("an object") {
        let path = path(name);
        if !path.is_file() {
            skipped += 1;
            continue;
        }
        let mut check = Check { name, wrong: &mut wrong, compared: &mut compared };
        check.overview(&overview(path), peers);
    }
    println!("{compared} numbers compared; {skipped} traces are not at hand");
    assert!(compared > 100 && wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn path(name: &str) -> PathBuf {
    match name.strip_prefix("data/") {
        Some(rest) => repository().join("../shared/data").join(rest),
        None => repository().join(name),
    }
}

fn overview(trace: PathBuf) -> Overview {
    let mut options =
        LoadOptions { ignore_exact: true, ..LoadOptions::new(repository(), Some(Vec::new())) };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let mut run = load(std::slice::from_ref(&trace), &options, &watch).expect("loads");
    if !run.merged.step_work.is_empty() {
        // The peers know no steps but these.
        options.step_ranges = vec!["ProfilerStep#*".to_owned()];
        run = load(&[trace], &options, &watch).expect("loads");
    }
    let (_, overview) = run.merged.overviews.pop_first().expect("a trace");
    overview
}

/// Compares the numbers of one trace.
struct Check<'a> {
    name: &'a str,
    wrong: &'a mut Vec<String>,
    compared: &'a mut u64,
}

impl Check<'_> {
    fn overview(&mut self, ours: &Overview, peers: &Value) {
        let plugin = &peers["plugin"];
        if plugin.get("failed").is_none() {
            self.steps(ours, plugin);
            let all = sum(ours);
            self.share("tensor_core_share", all.tensor_core_share(), plugin);
            self.share("eligible_share", all.eligible_share(), plugin);
            for (ordinal, theirs) in plugin["devices"].as_object().into_iter().flatten() {
                let device = device(ours, ordinal);
                self.share("utilisation", device.utilisation(), theirs);
                let efficiency = device.multiprocessor_efficiency();
                self.share("multiprocessor_efficiency", efficiency, theirs);
                self.share("occupancy", device.occupancy().map(|it| it * 100.0), theirs);
            }
        }
        let hta = &peers["hta"];
        for (ordinal, theirs) in hta.as_object().into_iter().flatten().filter(|it| it.0 != "failed")
        {
            self.hta(&device(ours, ordinal), theirs);
        }
    }

    fn steps(&mut self, ours: &Overview, plugin: &Value) {
        let theirs = plugin["steps"].as_array().expect("steps");
        let intervals: Vec<&Interval> = match ours.steps.len() {
            0 => vec![&ours.run],
            _ => ours.steps.values().collect(),
        };
        self.equal("steps", Some(intervals.len() as f64), theirs.len() as f64, 0.0);
        for (ours, theirs) in intervals.into_iter().zip(theirs) {
            self.time("time", ours.time, theirs);
            for (part, time) in ours.breakdown.parts() {
                self.time(part, time, theirs);
            }
            for (part, time) in ours.overlap.parts() {
                self.time(part, time, &theirs["overlap"]);
            }
        }
    }

    fn hta(&mut self, ours: &DeviceOverview, theirs: &Value) {
        self.time("span", ours.span, theirs);
        self.time("idle", ours.idle_time(), theirs);
        self.time("compute", ours.compute, theirs);
        self.time("non_compute", ours.non_compute(), theirs);
        if let Some(percent) = theirs["overlap_percent"].as_f64() {
            let share = ours.overlap_share().map(|it| it * 100.0);
            self.equal("overlap_percent", share, percent, 0.0051);
        }
        self.idle_classes(ours, &theirs["idle_classes"]);
        let (launches, theirs) = (&ours.launches, &theirs["launches"]);
        self.time("delay", launches.delay, theirs);
        self.time("call", launches.call, theirs);
        let counts = [
            ("count", launches.count),
            ("long_delays", launches.long_delays),
            ("long_calls", launches.long_calls),
            ("shorter_than_call", launches.shorter_than_call),
        ];
        for (what, count) in counts {
            self.equal(what, Some(count as f64), theirs[what].as_f64().expect("a number"), 0.0);
        }
    }

    /// What streams waited for, and that no other stream waited.
    fn idle_classes(&mut self, ours: &DeviceOverview, theirs: &Value) {
        let theirs = theirs.as_object().expect("streams");
        let number = |it: &Value| it.as_f64().expect("a number");
        for (stream, idle) in &ours.idle {
            let theirs = &theirs.get(&stream.to_string()).unwrap_or(&Value::Null);
            for (class, time) in idle.parts() {
                let theirs = theirs.get(class).map_or(0.0, number);
                self.equal(&format!("idle {class}"), Some(time.as_f64() / 1e3), theirs, 0.5);
            }
        }
        let classes =
            |it: &Value| it.as_object().expect("classes").values().map(number).sum::<f64>();
        let theirs_in_all: f64 = theirs.values().map(classes).sum();
        let ours_in_all: Ns = ours.idle.values().map(IdleClasses::sum).sum();
        // HTA's sums are of floats with few digits, and have the negative gaps.
        self.equal("all classes", Some(ours_in_all.as_f64() / 1e3), theirs_in_all, 100.0);
    }

    /// A time in nanoseconds against microseconds that went through floats.
    fn time(&mut self, what: &str, ours: Ns, theirs: &Value) {
        let theirs = theirs[what].as_f64().expect("a number");
        self.equal(what, Some(ours.as_f64() / 1e3), theirs, 0.05 + theirs.abs() * 1e-6);
    }

    fn share(&mut self, what: &str, ours: Option<f64>, theirs: &Value) {
        match theirs[what].as_f64() {
            Some(theirs) => self.equal(what, ours, theirs, 1e-4 + theirs.abs() * 1e-4),
            None => self.equal(what, Some(f64::from(u8::from(ours.is_some()))), 0.0, 0.0),
        }
    }

    fn equal(&mut self, what: &str, ours: Option<f64>, theirs: f64, tolerance: f64) {
        *self.compared += 1;
        if std::env::var_os("PERFLINE_COMPARE").is_some() {
            println!("{} | {what} | {ours:?} | {theirs}", self.name);
        }
        let is_known = |(name, it, _): &(&str, &str, &str)| self.name.contains(name) && *it == what;
        let is_equal = ours.is_some_and(|ours| (ours - theirs).abs() <= tolerance);
        if !is_equal && !KNOWN.iter().any(is_known) {
            self.wrong.push(format!("{}: {what}: {ours:?}, theirs {theirs}", self.name));
        }
    }
}

fn device(ours: &Overview, ordinal: &str) -> DeviceOverview {
    let ordinal: i32 = ordinal.parse().expect("an ordinal");
    ours.devices.get(&ordinal).cloned().unwrap_or_default()
}

/// All devices as one, as far as their kernels go.
fn sum(ours: &Overview) -> DeviceOverview {
    let mut sum = DeviceOverview::default();
    for device in ours.devices.values() {
        sum.kernel_time += device.kernel_time;
        sum.tensor_core_time += device.tensor_core_time;
        sum.eligible_time += device.eligible_time;
    }
    sum
}
