//! Sources and books for tests, as text.

use std::collections::BTreeMap;

use ledger::{
    Bytes, Evidence, KernelKey, Ledger, LineBooks, LineKey, Ns, PerStep, SourceFile, ThreadKey,
};
use pysource::{LineIndex, LineMap};

use crate::{LazyModule, PlacedSource, read_later};

/// The file that all tests are about.
pub(crate) const FILE: &str = "train.py";

/// A small training script.
pub(crate) const TRAIN: &str = "\
class SlowModel(nn.Module):
    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
            if x.max().item() > 100:
                x = x / 100
        return x

def step(model, x):
    loss = model(x).sum()
    loss.backward()
    opt.step()
";

/// What it costs.
pub(crate) const TRAIN_BOOKS: &str = "\
step 1 41ms
step 2 41ms
thread 82ms
2 function fn=SlowModel.forward cuda=1ms cpu=0.1ms
4 fn=SlowModel.forward cuda=6.3ms cuda_total=6.3ms cuda_backward=11ms cpu=2ms cpu_total=2ms cpu_backward=3ms kernels=40 calls=20 alloc=24MiB caller=10:8ms callee=relu kernel=relu
5 fn=SlowModel.forward wait=4.8ms waits=10 cpu=5ms cpu_total=5ms cuda=0.02ms idle_after=3.1ms waited=4:9ms waited=5:0.01ms op=aten::item
6 inferred fn=SlowModel.forward cuda=1.5ms cpu=0.5ms cpu_total=0.5ms alloc=8MiB
10 fn=step cpu_total=8ms cpu=0.05ms cuda_total=8.8ms
11 fn=step cuda=11ms cpu=12ms cpu_total=12ms
12 fn=step cuda=1.15ms cpu=10ms idle=9.9ms cpu_total=10ms
";

/// A file with its books.
pub(crate) struct Fixture {
    pub(crate) ledger: Ledger,
    pub(crate) text: String,
    pub(crate) index: LineIndex,
    pub(crate) module: LazyModule,
    pub(crate) map: Option<LineMap>,
}

impl Fixture {
    pub(crate) fn new(text: &str, books: &str) -> Self {
        Self {
            ledger: ledger(books),
            text: text.to_owned(),
            index: LineIndex::new(text),
            module: read_later(text.into()),
            map: Some(LineMap::identity(text)),
        }
    }

    pub(crate) fn source(&self) -> PlacedSource<'_> {
        PlacedSource {
            ledger: &self.ledger,
            key: FILE,
            name: FILE,
            text: &self.text,
            index: &self.index,
            module: &self.module,
            map: self.map.as_ref(),
        }
    }

    /// Changes the first `old` to `new`, as an editor would.
    pub(crate) fn edit(&mut self, old: &str, new: &str) {
        let start = self.text.find(old).expect("the text to be changed is there");
        let range = start..start + old.len();
        if let Some(map) = &mut self.map {
            map.edit(&self.text, &self.index, range.clone(), new);
        }
        self.text.replace_range(range, new);
        self.index = LineIndex::new(&self.text);
        self.module = read_later(self.text.as_str().into());
    }
}

/// A ledger of one rank. `step N TIME` is a step. `LINE [inferred|function] NAME=VALUE…` is a line: times, counts and
/// bytes are those of one step (of the recording, where it has none). Totals follow from the lines.
pub(crate) fn ledger(spec: &str) -> Ledger {
    let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
    let file =
        SourceFile { recorded: FILE.to_owned(), is_user_code: true, ..SourceFile::default() };
    ledger.files.insert(FILE.to_owned(), file);
    for line in spec.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["step", number, time] => {
                ledger.steps.insert(number.parse().unwrap(), Ns(amount(time)));
            }
            ["thread", time] => {
                let thread = ThreadKey { rank: 0, thread: "1".to_owned() };
                ledger.threads.insert(thread, Ns(amount(time)));
            }
            [number, ref rest @ ..] => {
                let books = books(&ledger.steps, rest);
                ledger.totals.cpu += books.cpu_own;
                ledger.totals.cuda += books.cuda_own;
                ledger.totals.sync += books.sync;
                ledger.totals.gpu_idle += books.gpu_idle;
                ledger.totals.alloc += books.alloc;
                ledger.in_steps = ledger.totals;
                ledger.lines.insert(key(number), Box::new(books));
            }
            [] => {}
        }
    }
    ledger
}

fn books(steps: &BTreeMap<u32, Ns>, words: &[&str]) -> LineBooks {
    let mut books = LineBooks::default();
    let mut step = PerStep::default();
    let n = steps.len().max(1) as i64;
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            books.evidence = match *word {
                "inferred" => Evidence::Inferred,
                "function" => Evidence::Function,
                _ => panic!("{word}"),
            };
            continue;
        };
        let pair = || value.split_once(':').unwrap();
        let (each, sum) = (|| Ns(amount(value)), || Ns(n * amount(value)));
        match name {
            "fn" => books.function = value.to_owned(),
            "cpu" => (books.cpu_own, books.cpu_self, step.cpu) = (sum(), sum(), each()),
            "cuda" => (books.cuda_own, step.cuda) = (sum(), each()),
            "wait" => {
                (books.sync, step.sync) = (sum(), each());
                (books.avoidable_idle, books.avoidable_in_steps) = (sum(), sum());
            }
            "idle" => (books.gpu_idle, step.gpu_idle) = (sum(), each()),
            "comm" => books.comm = sum(),
            "exposed" => books.comm_exposed = sum(),
            "cpu_total" => {
                books.cpu_total = sum();
                (books.cpu_in_steps, books.elapsed) = (books.cpu_total, books.cpu_total);
            }
            "elsewhere" => books.elapsed -= sum(),
            "waiting" => (books.waiting, step.waiting) = (sum(), each()),
            "cuda_total" => books.cuda_total = sum(),
            "cpu_backward" => books.cpu_backward = sum(),
            "cuda_backward" => books.cuda_backward = sum(),
            "cpu_again" => books.recompute.cpu = sum(),
            "cuda_again" => books.recompute.cuda = sum(),
            "idle_after" => {
                books.idle_after_sync = sum();
                (books.avoidable_idle, books.avoidable_in_steps) = (sum(), sum());
            }
            "alloc" => books.alloc = Bytes(n * amount(value)),
            "peak" => books.peak = Bytes(amount(value)),
            "waits" => books.syncs = (n * amount(value)) as u64,
            "kernels" => books.kernels = (n * amount(value)) as u64,
            "calls" => books.calls = (n * amount(value)) as u64,
            "waited" => {
                books.waits.insert(key(pair().0), Ns(n * amount(pair().1)));
            }
            "caller" => {
                books.callers.insert(key(pair().0), Ns(n * amount(pair().1)));
            }
            "callee" => {
                let call = ledger::Call { calls: books.calls, cpu: books.cpu_own };
                books.callees.insert(value.to_owned(), call);
            }
            "op" => {
                let operator =
                    ledger::Operator { calls: books.syncs, cpu: books.cpu_own, cuda: Ns(0) };
                books.operators.insert(value.to_owned(), operator);
            }
            "kernel" => {
                let key =
                    KernelKey { name: value.to_owned(), grid: [64, 1, 1], block: [128, 1, 1] };
                let kernel = ledger::Kernel {
                    calls: books.kernels,
                    total: books.cuda_own,
                    min: Ns(1_000),
                    max: Ns(200_000),
                    occupancy_time: i128::from(books.cuda_own) * 625,
                    ..ledger::Kernel::default()
                };
                books.kernel_table.insert(key, kernel);
            }
            _ => panic!("{name}"),
        }
    }
    books.steps = steps.keys().map(|&number| (number, step)).collect();
    books
}

fn key(line: &str) -> LineKey {
    LineKey { file: FILE.to_owned(), line: line.parse().unwrap() }
}

/// `6.3ms`, `24MiB`, `10`.
fn amount(text: &str) -> i64 {
    let units = [("ms", 1e6), ("us", 1e3), ("MiB", 1_048_576.0)];
    let unit = units.iter().find(|(unit, _)| text.ends_with(unit)).unwrap_or(&("", 1.0));
    (text.strip_suffix(unit.0).unwrap().parse::<f64>().unwrap() * unit.1).round() as i64
}

/// Compares with text that is indented to fit in with the test.
#[track_caller]
pub(crate) fn check_text(actual: &str, expected: &str) {
    let expected = expected.strip_prefix('\n').unwrap_or(expected);
    let indent = expected.len() - expected.trim_start_matches(' ').len();
    let expected: String = expected
        .trim_end_matches(' ')
        .lines()
        .map(|line| line.get(indent..).unwrap_or("").to_owned() + "\n")
        .collect();
    assert!(actual == expected, "it is:\n{actual}\nexpected:\n{expected}");
}
