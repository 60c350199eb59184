//! The run summary of `docs/accounting.md`, worked out by hand on small traces.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use attribution::{AttributionOptions, attribute};
use ledger::{Bytes, Ledger, Ns, Overview, Precision};
use recorded::RecordedSources;
use tests::builder::render;
use trace_reader::TraceReader;

fn ledger(text: &str) -> Ledger {
    ledger_of_json(&render(text).unwrap())
}

fn ledger_of_json(json: &str) -> Ledger {
    let mut reader = TraceReader::new();
    reader.feed(json.as_bytes());
    let ledger = attribute(
        reader.finish().profile,
        &RecordedSources::default(),
        AttributionOptions::default(),
        0,
    );
    assert!(ledger.balances().iter().all(ledger::Balance::is_balanced), "{:?}", ledger.balances());
    ledger
}

fn overview(text: &str) -> Overview {
    ledger(text).overviews.remove(&0).unwrap()
}

/// The parts that there are, in microseconds.
fn parts<const N: usize>(parts: [(&'static str, Ns); N]) -> String {
    let parts = parts.iter().filter(|(_, time)| *time != Ns(0));
    parts
        .map(|(name, time)| format!("{name}={}", time.as_f64() / 1e3))
        .collect::<Vec<_>>()
        .join(" ")
}

const TWO_STEPS: &str = "
step 1 0..100
step 2 100..200
op aten::mm 10..40 ext=1
run cudaLaunchKernel 20..30 corr=1 ext=1
kernel gemm 30..120 corr=1
note \"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\" 110..130
op aten::add 125..140 ext=2
run cudaLaunchKernel 130..135 corr=2 ext=2
kernel add 150..160 corr=2
";

#[test]
fn a_step_lasts_as_long_as_what_it_launched() {
    let it = overview(TWO_STEPS);
    assert_eq!(it.steps.values().map(|it| it.time).collect::<Vec<_>>(), [120_000, 80_000].map(Ns));
    let [first, second] = [1, 2].map(|step| parts(it.steps[&step].breakdown.parts()));
    assert_eq!(first, "kernel=90 runtime=10 cpu=10 other=10");
    // The kernel of the step before has gone to it, so that waiting for data begins at 120.
    assert_eq!(second, "kernel=10 runtime=5 data_loader=10 cpu=5 other=50");
    assert_eq!(
        parts(it.run.breakdown.parts()),
        "kernel=100 runtime=15 data_loader=10 cpu=15 other=60"
    );
    let device = &it.devices[&0];
    assert_eq!(device.utilisation(), Some(0.5));
    assert_eq!((device.launches.count, device.launches.delay), (2, Ns(15_000)));
    assert_eq!((device.span, device.busy), (Ns(130_000), Ns(100_000)));
    assert_eq!(device.idle.keys().collect::<Vec<_>>(), [&7]);
    assert_eq!(parts(device.idle[&7].parts()), "host_wait=30");
}

#[test]
fn a_last_step_that_was_not_recorded_whole_is_left_out() {
    let mut text = "step 1 0..100\nstep 2 100..200\nstep 3 200..300\n".to_owned();
    for (corr, start) in [(1, 10), (2, 20), (3, 30), (4, 110)] {
        text += &format!("run cudaLaunchKernel {start}..{} corr={corr}\n", start + 1);
        text += &format!("kernel k {}..{} corr={corr}\n", start + 2, start + 5);
    }
    assert_eq!(overview(&text).steps.keys().copied().collect::<Vec<_>>(), [1]);
    // On the host alone every step counts.
    let host = "step 1 0..100\nstep 2 100..200\nop aten::mm 10..20\nop aten::mm 110..120\n";
    assert_eq!(overview(host).steps.len(), 2);
}

const COMMUNICATION: &str = "
step 1 0..100
py train.py:1 main 0..100
run cudaLaunchKernel 1..2 corr=1
run cudaLaunchKernel 3..4 corr=2
run cudaLaunchKernel 5..6 corr=3
run cudaMemcpyAsync 7..8 corr=4
kernel gemm 10..30 corr=1
kernel ncclDevKernel_AllReduce_Sum 20..60 corr=2 stream=20
kernel ncclDevKernel_AllGather 50..70 corr=3 stream=21
copy \"Memcpy HtoD (Pinned -> Device)\" 65..80 corr=4 stream=22
";

#[test]
fn communication_is_exposed_where_nothing_computes() {
    let ledger = ledger(COMMUNICATION);
    let it = &ledger.overviews[&0];
    assert_eq!(parts(it.run.overlap.parts()), "compute=10 both=10 communication=40 other=40");
    assert_eq!(
        parts(it.run.breakdown.parts()),
        "kernel=20 memcpy=15 communication=35 runtime=4 other=26"
    );
    let device = &it.devices[&0];
    assert_eq!(
        (device.compute, device.communication, device.overlapped),
        (Ns(20_000), Ns(50_000), Ns(10_000))
    );
    assert_eq!((device.exposed_communication, device.exposed_memory), (Ns(40_000), Ns(10_000)));
    let line = ledger.lines.values().next().unwrap();
    assert_eq!((line.comm, line.comm_exposed), (Ns(60_000), Ns(40_000)));
    assert_eq!((ledger.totals.comm, ledger.totals.comm_exposed), (Ns(60_000), Ns(40_000)));
}

#[test]
fn classes_that_come_when_nothing_is_left_get_nothing() {
    // TensorBoard's plugin starts again with the whole step for each class after the kernel.
    let it = overview(
        "step 1 0..10\nrun cudaLaunchKernel 0..1 corr=1\nkernel k 0..10 corr=1\nop aten::mm 0..9\n",
    );
    assert_eq!(parts(it.run.breakdown.parts()), "kernel=10");
}

#[test]
fn flops_count_once_and_go_to_the_line_of_the_operator() {
    let dims = r#""Input Dims": [[64, 32], [32, 16]], "Input type": ["c10::Half", "c10::Half"]"#;
    let json = format!(
        r#"{{"deviceProperties": [{{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108}}], "traceEvents": [
        {{"ph": "X", "cat": "python_function", "name": "train.py(1): main", "pid": 1, "tid": 1, "ts": 0, "dur": 100, "args": {{"Python id": 1}}}},
        {{"ph": "X", "cat": "cpu_op", "name": "aten::matmul", "pid": 1, "tid": 1, "ts": 5, "dur": 50, "args": {{"External id": 1, {dims}}}}},
        {{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 40, "args": {{"External id": 2, {dims}}}}},
        {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 20, "dur": 5, "args": {{"External id": 2, "correlation": 7}}}},
        {{"ph": "X", "cat": "kernel", "name": "ampere_h16816gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 2, "args": {{"device": 0, "stream": 7, "correlation": 7}}}},
        {{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 60, "dur": 10, "args": {{"External id": 3}}}}
        ]}}"#
    );
    let ledger = ledger_of_json(&json);
    let it = &ledger.overviews[&0];
    let device = &it.devices[&0];
    assert_eq!(device.tensor_core_share(), Some(1.0));
    assert_eq!(device.eligible_share(), Some(1.0));
    assert_eq!(it.operators_without_flops, 1);
    let done = device.arithmetic[&Precision::F16];
    assert_eq!(
        (done.operators, done.flops, done.bytes, done.time),
        (1, 65_536, Bytes(7_168), Ns(2_000))
    );
    let peak = device.peak.unwrap();
    assert_eq!(done.bound(Precision::F16, &peak), Some(ledger::Bound::Memory));
    assert_eq!(done.rate(), Some(65_536.0 / 2e-6));
    assert_eq!(ledger.totals.flops, 65_536);
    assert_eq!(ledger.lines.values().map(|it| it.flops()).collect::<Vec<_>>(), [65_536]);
}
