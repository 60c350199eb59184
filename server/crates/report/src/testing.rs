//! A small training run, built by hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ledger::{
    Arithmetic, Books, Breakdown, Bytes, Copies, DeviceBooks, DeviceKey, DeviceOverview,
    DevicePeak, Evidence, IdleClasses, IdleThread, Interval, LaunchSummary, Ledger, LineBooks,
    LineKey, LoaderWorkers, Metric, Ns, Overlap, Overview, PerStep, Precision, Reason, SourceFile,
    SourceFit, ThreadKey,
};
use loader::{Input, InputKind, Rank, Run, StackBooks};
use profile::{Warning, WarningKind};
use stack_books::{FramedLine, StackFrame, StackRow};

use crate::recording::{Recording, SourceTexts};

/// The source of `train.py`.
pub(crate) const TRAIN: &str = "\
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(10))

    def unused(self):
        return None

    def also_unused(self):
        return None

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        if x.max().item() > 100:
            x = x / 100
        return x


def train(model, data):
    for batch in data:
        model(batch).sum().backward()
";

/// Sources as a table.
pub(crate) struct TextsInMemory(pub(crate) BTreeMap<PathBuf, String>);

impl SourceTexts for TextsInMemory {
    fn read(&self, path: &Path) -> Option<String> {
        self.0.get(path).cloned()
    }
}

/// The sources of [`training`].
pub(crate) fn sources() -> TextsInMemory {
    TextsInMemory(BTreeMap::from([(PathBuf::from("/home/me/train.py"), TRAIN.to_owned())]))
}

/// A run with the names of its files relative to `/home/me`.
pub(crate) fn recording<'a>(run: &'a Run, sources: &'a dyn SourceTexts) -> Recording<'a> {
    let names = loader::display_names(&run.merged, Path::new("/home/me"));
    Recording { run, names, sources }
}

/// The arithmetic of line 17: a product of matrices, far below what the device could do.
const DONE: Arithmetic =
    Arithmetic { operators: 20, flops: 6_000_000, time: Ns(2_000_000), bytes: Bytes(60_000) };

/// What the two steps went to.
fn overview() -> Overview {
    let breakdown = |ms: i64| Breakdown {
        kernel: Ns(ms * 600_000),
        cpu: Ns(ms * 400_000),
        ..Breakdown::default()
    };
    let overlap = |ms: i64| Overlap {
        compute: Ns(ms * 550_000),
        both: Ns(ms * 50_000),
        other: Ns(ms * 400_000),
        ..Overlap::default()
    };
    let step =
        |ms| Interval { time: Ns(ms * 1_000_000), breakdown: breakdown(ms), overlap: overlap(ms) };
    let device = DeviceOverview {
        peak: Some(DevicePeak {
            f16: 30_000_000_000,
            bandwidth: 1_000_000_000,
            ..DevicePeak::default()
        }),
        steps_span: Ns(20_000_000),
        steps_kernel: Ns(12_000_000),
        multiprocessor_time: 8_000_000 * 1_000_000,
        multiprocessor_known: Ns(12_000_000),
        occupancy_time: 12_000_000 * 455,
        occupancy_known: Ns(12_000_000),
        kernels: 84,
        kernel_time: Ns(24_000_000),
        tensor_core_time: Ns(6_000_000),
        eligible_time: Ns(12_000_000),
        span: Ns(16_000_000),
        busy: Ns(12_000_000),
        exposed_communication: Ns(400_000),
        idle: [(
            7,
            IdleClasses { host_wait: Ns(3_000_000), kernel_wait: Ns(1_000_000), other: Ns(0) },
        )]
        .into(),
        launches: LaunchSummary {
            count: 84,
            delay: Ns(8_400_000),
            longest_delay: Ns(300_000),
            call: Ns(420_000),
            short: 7,
            ..LaunchSummary::default()
        },
        copies: BTreeMap::from([(
            "Memcpy HtoD (Pinned -> Device)".to_owned(),
            Copies { count: 2, bytes: Bytes(1 << 20), time: Ns(100_000) },
        )]),
        arithmetic: BTreeMap::from([(Precision::F16, DONE)]),
        ..DeviceOverview::default()
    };
    Overview {
        run: step(20),
        steps: BTreeMap::from([(2, step(9)), (3, step(11))]),
        devices: BTreeMap::from([(0, device)]),
        operators_without_flops: 3,
        launches_without_event: 0,
        plain_steps: Vec::new(),
        loader_workers: LoaderWorkers::default(),
        command: None,
        recorded: None,
    }
}

/// Two steps of 10 ms on one device: `train.py` was found, `helper.py` was not, `torch/nn/functional.py` is a library's.
pub(crate) fn training() -> Run {
    let mut ledger = Ledger {
        steps: BTreeMap::from([(2, Ns(9_000_000)), (3, Ns(11_000_000))]),
        ranks: 1,
        overviews: BTreeMap::from([(0, overview())]),
        devices: BTreeMap::from([(
            DeviceKey { rank: 0, device: 0 },
            DeviceBooks {
                name: "H100".to_owned(),
                time: Ns(24_000_500),
                busy: Ns(12_000_000),
                idle: Ns(4_000_000),
                total_memory: Bytes(0),
            },
        )]),
        threads: BTreeMap::from([(ThreadKey { rank: 0, thread: "7".to_owned() }, Ns(20_500_000))]),
        totals: Books {
            cpu: Ns(20_500_000),
            cuda: Ns(24_000_500),
            gpu_idle: Ns(4_000_000),
            sync: Ns(5_000_000),
            alloc: Bytes(3 << 20),
            comm: Ns(1_000_000),
            comm_exposed: Ns(400_000),
            flops: 6_000_000,
            waiting: Ns(700_000),
        },
        in_steps: Books {
            cpu: Ns(20_000_000),
            cuda: Ns(24_000_500),
            gpu_idle: Ns(4_000_000),
            sync: Ns(5_000_000),
            alloc: Bytes(3 << 20),
            comm: Ns(1_000_000),
            comm_exposed: Ns(400_000),
            flops: 6_000_000,
            waiting: Ns(400_000),
        },
        idle_threads: BTreeMap::from([(
            ThreadKey { rank: 0, thread: "8".to_owned() },
            IdleThread { time: Ns(300_000), threads: 2 },
        )]),
        ..Ledger::default()
    };
    for (name, path, is_user_code, fit) in [
        ("train.py", Some("/home/me/train.py"), true, SourceFit::Fits),
        ("helper.py", None, true, SourceFit::Missing),
        ("torch/nn/functional.py", None, false, SourceFit::Missing),
    ] {
        let file = SourceFile {
            recorded: name.to_owned(),
            path: path.map(PathBuf::from),
            is_user_code,
            fit,
            ..SourceFile::default()
        };
        ledger.files.insert(name.to_owned(), file);
    }
    let mut line = |file: &str, line, function: &str, evidence, books: LineBooks| {
        let halves = PerStep {
            cpu: books.cpu_own / 2,
            cuda: books.cuda_own / 2,
            sync: books.sync / 2,
            gpu_idle: books.gpu_idle / 2,
            waiting: books.waiting / 2,
        };
        let books = LineBooks {
            function: function.to_owned(),
            evidence,
            steps: BTreeMap::from([(2, halves), (3, halves)]),
            cpu_in_steps: books.cpu_total,
            elapsed: books.cpu_total,
            ..books
        };
        ledger.lines.insert(LineKey { file: file.to_owned(), line }, Box::new(books));
    };
    line(
        "train.py",
        15,
        "Model.forward",
        Evidence::Function,
        LineBooks { cpu_own: Ns(300_000), ..LineBooks::default() },
    );
    line(
        "train.py",
        17,
        "Model.forward",
        Evidence::Exact,
        LineBooks {
            calls: 40,
            ops: 20,
            cpu_self: Ns(2_000_000),
            cpu_own: Ns(6_000_000),
            cpu_total: Ns(6_000_000),
            cpu_backward: Ns(3_000_000),
            cuda_own: Ns(12_000_500),
            cuda_total: Ns(12_000_500),
            cuda_backward: Ns(8_000_000),
            kernels: 84,
            gpu_idle: Ns(1_000_000),
            alloc: Bytes(2 << 20),
            allocs: 20,
            freed: Bytes(1 << 20),
            peak: Bytes(1 << 20),
            comm: Ns(1_000_000),
            comm_exposed: Ns(400_000),
            arithmetic: BTreeMap::from([(Precision::F16, DONE)]),
            ..LineBooks::default()
        },
    );
    line(
        "train.py",
        18,
        "Model.forward",
        Evidence::Inferred,
        LineBooks {
            calls: 4,
            ops: 4,
            cpu_own: Ns(5_200_000),
            cpu_total: Ns(5_200_000),
            kernels: 2,
            sync: Ns(5_000_000),
            syncs: 2,
            idle_after_sync: Ns(3_000_000),
            avoidable_idle: Ns(3_000_000),
            avoidable_in_steps: Ns(3_000_000),
            gpu_idle: Ns(3_000_000),
            alloc: Bytes(1 << 20),
            waits: BTreeMap::from([(
                LineKey { file: "train.py".to_owned(), line: 17 },
                Ns(4_500_000),
            )]),
            ..LineBooks::default()
        },
    );
    line(
        "train.py",
        25,
        "train",
        Evidence::Exact,
        LineBooks {
            calls: 6,
            cpu_own: Ns(8_000_000),
            cpu_total: Ns(19_800_000),
            cuda_own: Ns(12_000_000),
            cuda_total: Ns(24_000_500),
            ..LineBooks::default()
        },
    );
    line(
        "helper.py",
        4,
        "load, \"fast\"",
        Evidence::Function,
        LineBooks {
            cpu_own: Ns(400_000),
            cpu_total: Ns(400_000),
            waiting: Ns(400_000),
            ..LineBooks::default()
        },
    );
    line(
        "torch/nn/functional.py",
        1700,
        "relu",
        Evidence::Exact,
        LineBooks { cpu_self: Ns(3_999_999), cpu_total: Ns(4_000_000), ..LineBooks::default() },
    );
    ledger.unattributed.charge(Reason::NoPythonFrame, Metric::Cpu, 600_000);
    ledger.unattributed.charge(Reason::IdleThread, Metric::Waiting, 300_000);
    let warning = Warning {
        kind: WarningKind::Truncated,
        message: "the file ends inside an event; everything before was read".to_owned(),
        offset: Some(12_345),
        count: 1,
    };
    let input = Input {
        path: PathBuf::from("trace.json.gz"),
        kind: InputKind::Kineto,
        rank: 0,
        events: 1234,
        bytes: 567_890,
        complete: false,
        warnings: vec![warning],
    };
    Run {
        inputs: vec![input],
        failures: Vec::new(),
        ranks: vec![Rank::only(0, &ledger)],
        merged: ledger,
        texts: loader::TextsByFile::new(),
        commit: None,
        stacks: None,
        timeline: None,
        histories: Vec::new(),
    }
}

fn line(file: &str, line: u32, function: &str, is_user_code: bool) -> StackFrame {
    let key = LineKey { file: file.to_owned(), line };
    StackFrame::Line(FramedLine { key, function: function.to_owned(), is_user_code })
}

/// A training run with stacks: a kernel below an operator, a library, a name with the separator of stacks and a command to a
/// terminal, and time without a line.
pub(crate) fn training_with_stacks() -> Run {
    let mut books = StackBooks::default();
    let mut add = |frames: &[(StackFrame, Evidence)], amounts: &[(Metric, i64)]| {
        let stack = frames.iter().fold(StackRow::ROOT, |parent, (frame, evidence)| {
            let frame = books.frame(frame.clone());
            books.add_evidence(frame, *evidence);
            books.push(parent, frame)
        });
        for &(metric, amount) in amounts {
            books.add(metric, stack, amount);
        }
    };
    let train = || (line("train.py", 25, "train", true), Evidence::Exact);
    let linear =
        || (line("torch/nn/modules/linear.py", 114, "Linear.forward", false), Evidence::Exact);
    let forward = || (line("train.py", 17, "Model.forward", true), Evidence::Inferred);
    let operator = |name: &str| (StackFrame::Operator(name.to_owned()), Evidence::Exact);
    let kernel = |name: &str| (StackFrame::Device(name.to_owned()), Evidence::Exact);
    add(&[train()], &[(Metric::Cpu, 100)]);
    add(&[train(), forward()], &[(Metric::Cpu, 20)]);
    add(&[train(), forward(), linear()], &[(Metric::Cpu, 7)]);
    let mm = || [train(), forward(), linear(), operator("aten::addmm")];
    add(&mm(), &[(Metric::Cpu, 3_000), (Metric::Alloc, 64)]);
    let with = |name| [&mm()[..], &[kernel(name)]].concat();
    add(&with("void gemm<float; 4>(\x1b[2J)"), &[(Metric::Cuda, 70_000)]);
    let no_line = (StackFrame::NoLine(Reason::NoLaunch), Evidence::Exact);
    add(&[no_line, kernel("Memcpy DtoH")], &[(Metric::Cuda, 5)]);
    let mut run = training();
    run.stacks = Some(books);
    run
}
