//! A part of a recording in the place of the whole: the amounts of lines that its stacks have.

use ledger::{
    Books, DeviceBooks, DeviceKey, Interval, Kernel, KernelClass, KernelKey, Ledger, LineBooks,
    Metric, Ns, Operator, Overview, ThreadKey,
};
use loader::{InputKind, Run, StackBooks};
use metrics::{Period, Scale};
use serde_json::Value as Json;
use stack_books::{FramedLine, StackFrame, StackRow};

use crate::filter::{StackFilter, part_of};
use crate::model::{Level, Note, Summary};
use crate::summary;

/// What is said of a part of a recording.
#[derive(Debug, Clone)]
pub struct RecordingPart {
    /// What the whole recording is, and which part of it is shown.
    pub summary: Summary,
    /// The filter as it is written on the command line.
    pub text: String,
    /// How much of the recording passes: `1.2 ms of 5 ms of thread time`.
    pub extent: String,
    /// The filter as contracts have it, with which lines are shown.
    pub filter: Json,
    /// The steps that it is of.
    pub steps: usize,
    /// The metrics of which the part is known.
    pub metrics: Vec<Metric>,
    /// The books of the whole recording.
    pub whole: Ledger,
}

impl RecordingPart {
    /// Puts what the stacks of a run have, which are those that pass `filter`, in the place of its ledger: what stacks do not
    /// have is not in it. It has the steps that pass if the stacks were loaded by step (`loader::StackOptions::by_step`), else none, so
    /// that all numbers are sums. `whole_filter` is all that was asked for: which lines are shown, too.
    #[must_use]
    pub fn take(run: &mut Run, filter: &StackFilter, whole_filter: &StackFilter) -> Self {
        let none = StackBooks::default();
        let books = run.stacks.as_ref().unwrap_or(&none);
        let mut summary = summary::summary(run, &Scale::new(&run.merged, Period::Mean));
        // What the whole took is not beside the numbers of a part.
        summary.notes.retain(|it| it.level != Level::Plain);
        let extent = part_of(books, &run.merged);
        let text = filter.text();
        summary.notes.push(Note::plain(format!(
            "with {text}: {extent}; numbers are sums of that part, shares are of it"
        )));
        let steps =
            run.merged.steps.keys().filter(|it| has_step(&run.merged, filter, **it)).count();
        // What a snapshot holds of a device is known of all events alone.
        let has_memory =
            filter.events.is_all() || run.inputs.iter().all(|it| it.kind != InputKind::Snapshot);
        let mut metrics = StackBooks::METRICS.to_vec();
        metrics.retain(|it| *it != Metric::Alloc || has_memory);
        let mut part = ledger_of(books, &metrics, &run.merged);
        if books.has_steps() {
            add_steps(&mut part, books, &run.merged, filter);
        }
        let whole = std::mem::replace(&mut run.merged, part);
        Self { summary, text, extent, filter: whole_filter.json(), steps, metrics, whole }
    }

    /// What is said of the findings on the lines of a part.
    pub(crate) const OF_FINDINGS: &str = "findings on its lines are those of the whole recording";

    /// Which part it is, and how much of the recording.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("with {}: {}", self.text, self.extent)
    }
}

/// The ledger that has what these stacks have of `metrics`. `whole` says what is known of files and lines.
fn ledger_of(books: &StackBooks, metrics: &[Metric], whole: &Ledger) -> Ledger {
    let mut part = Ledger {
        files: whole.files.clone(),
        torch: whole.torch.clone(),
        ranks: whole.ranks,
        ..Ledger::default()
    };
    let folded = books.of_user_code();
    for &metric in metrics {
        *part.totals.get_mut(metric) = books.total(metric);
        for stack in folded.stacks() {
            let amount = folded.amount(metric, stack);
            if amount == 0 {
                continue;
            }
            match innermost_line(&folded, stack) {
                Some(line) => {
                    if let Some(own) = own(books_of(&mut part, line, whole), metric) {
                        gain(own, amount);
                    }
                }
                None => {
                    let outermost = folded.outwards(stack).last();
                    if let Some(StackFrame::NoLine(reason)) =
                        outermost.map(|it| folded.frame_of(it))
                    {
                        part.unattributed.charge(*reason, metric, amount);
                    }
                }
            }
        }
    }
    add_launched(&mut part, &folded, whole);
    for metric in [Metric::Cpu, Metric::Cuda] {
        let inclusive = books.inclusive(metric);
        for stack in books.stacks() {
            let amount = books.amount(metric, stack);
            if let Some(line) = innermost_line(books, stack).filter(|_| amount != 0) {
                let line = books_of(&mut part, line, whole);
                gain(&mut if_cpu(metric, &mut line.cpu_self, &mut line.cuda_self).0, amount);
            }
            // A line that is on a stack twice has what is on it once.
            let StackFrame::Line(line) = books.frame_of(stack) else { continue };
            let total = inclusive[stack.index()];
            if total != 0 && !is_around(books, stack, line) {
                let of_user = line.is_user_code;
                let line = books_of(&mut part, line, whole);
                gain(&mut if_cpu(metric, &mut line.cpu_total, &mut line.cuda_total).0, total);
                let caller = caller(books, of_user, books.parent(stack));
                if let Some(caller) = caller.filter(|_| metric == Metric::Cpu) {
                    gain(&mut line.callers.entry(caller.key.clone()).or_default().0, total);
                }
            }
        }
    }
    part.in_steps = part.totals;
    // Shares are of what the part has most of.
    let thread = ThreadKey { rank: 0, thread: String::new() };
    part.threads.insert(thread, part.totals.cpu);
    let device = DeviceBooks { busy: part.totals.cuda, ..DeviceBooks::default() };
    part.devices.insert(DeviceKey { rank: 0, device: 0 }, device);
    part
}

/// Whether a step of the whole passes `filter`.
fn has_step(whole: &Ledger, filter: &StackFilter, step: u32) -> bool {
    filter.events.has_step(step, whole.step_work.get(&step))
}

/// Adds the steps that pass `filter`, and what lines have in them.
fn add_steps(part: &mut Ledger, books: &StackBooks, whole: &Ledger, filter: &StackFilter) {
    let passes = |step: &u32| has_step(whole, filter, *step);
    part.steps = whole.steps.iter().filter(|(it, _)| passes(it)).map(|(k, v)| (*k, *v)).collect();
    let work = whole.step_work.iter().filter(|(step, _)| passes(step));
    part.step_work = work.map(|(step, it)| (*step, it.clone())).collect();
    // Ranks may have recorded different steps.
    for (&rank, overview) in &whole.overviews {
        let steps = overview.steps.keys().filter(|it| passes(it));
        let steps = steps.map(|it| (*it, Interval::default())).collect();
        part.overviews.insert(rank, Overview { steps, ..Overview::default() });
    }
    part.in_steps = Books { alloc: part.totals.alloc, ..Books::default() };
    let (folded, rows) = books.of_user_code_with_rows();
    let mut host = vec![0; books.len()];
    for (step, metric, stack, amount) in books.in_steps() {
        gain(part.in_steps.get_mut(metric), amount);
        if metric == Metric::Cpu {
            gain(&mut host[stack.index()], amount);
        }
        let Some(line) = innermost_line(&folded, rows[stack.index()]) else { continue };
        let it = books_of(part, line, whole).steps.entry(step).or_default();
        let of_step = match metric {
            Metric::Cpu => &mut it.cpu,
            Metric::Cuda => &mut it.cuda,
            Metric::GpuIdle => &mut it.gpu_idle,
            Metric::Sync => &mut it.sync,
            Metric::Waiting => &mut it.waiting,
            Metric::Alloc | Metric::Comm | Metric::CommExposed | Metric::Flops => continue,
        };
        gain(&mut of_step.0, amount);
    }
    // What is on a stack and below it.
    for stack in books.stacks().rev() {
        let amount = host[stack.index()];
        gain(&mut host[books.parent(stack).index()], amount);
        if let (StackFrame::Line(line), true) = (books.frame_of(stack), amount != 0)
            && !is_around(books, stack, line)
        {
            gain(&mut books_of(part, line, whole).cpu_in_steps.0, amount);
        }
    }
}

/// Adds what was launched and the outermost operators of lines, from stacks of user code. Of kernels, names, calls and times are
/// known.
fn add_launched(part: &mut Ledger, folded: &StackBooks, whole: &Ledger) {
    let [cpu, cuda] = [Metric::Cpu, Metric::Cuda].map(|it| folded.inclusive(it));
    for stack in folded.stacks() {
        let frame = folded.frame_of(stack);
        let Some(line) = innermost_line(folded, stack) else { continue };
        match frame {
            StackFrame::Device(name) => {
                let key = KernelKey { name: name.clone(), grid: [0; 3], block: [0; 3] };
                let class = class(whole, line, &key);
                let line = books_of(part, line, whole);
                let kernel: &mut Kernel = line.kernel_table.entry(key).or_default();
                kernel.class = class;
                kernel.calls = kernel.calls.saturating_add(folded.events(stack));
                gain(&mut kernel.total.0, folded.amount(Metric::Cuda, stack));
            }
            StackFrame::Operator(name) if is_outermost_operator(folded, stack) => {
                let line = books_of(part, line, whole);
                let operator: &mut Operator = line.operators.entry(name.clone()).or_default();
                operator.calls = operator.calls.saturating_add(folded.events(stack));
                gain(&mut operator.cpu.0, cpu[stack.index()]);
                gain(&mut operator.cuda.0, cuda[stack.index()]);
            }
            _ => {}
        }
    }
}

/// What a kernel is for, as the line that launched it knows of the whole recording.
fn class(whole: &Ledger, line: &FramedLine, key: &KernelKey) -> KernelClass {
    // No key of the name is before the one without sizes.
    let known = whole.lines.get(&line.key).and_then(|it| it.kernel_table.range(key..).next());
    known.filter(|(it, _)| it.name == key.name).map(|(_, it)| it.class).unwrap_or_default()
}

/// Whether no operator is around the innermost entry of a stack, on the line that it is on.
fn is_outermost_operator(books: &StackBooks, stack: StackRow) -> bool {
    let around = books.outwards(stack).skip(1).map(|it| books.frame_of(it));
    let mut on_line = around.take_while(|it| !matches!(it, StackFrame::Line(_)));
    !on_line.any(|it| matches!(it, StackFrame::Operator(_)))
}

/// What a line is charged with of a metric that stacks have.
fn own(line: &mut LineBooks, metric: Metric) -> Option<&mut i64> {
    match metric {
        Metric::Cpu => Some(&mut line.cpu_own.0),
        Metric::Cuda => Some(&mut line.cuda_own.0),
        Metric::GpuIdle => Some(&mut line.gpu_idle.0),
        Metric::Sync => Some(&mut line.sync.0),
        Metric::Waiting => Some(&mut line.waiting.0),
        Metric::Alloc => Some(&mut line.alloc.0),
        Metric::Comm | Metric::CommExposed | Metric::Flops => None,
    }
}

fn if_cpu<'a>(metric: Metric, cpu: &'a mut Ns, cuda: &'a mut Ns) -> &'a mut Ns {
    if metric == Metric::Cpu { cpu } else { cuda }
}

fn gain(sum: &mut i64, amount: i64) {
    *sum = sum.saturating_add(amount);
}

/// Whether a line is around the innermost entry of a stack.
fn is_around(books: &StackBooks, stack: StackRow, line: &FramedLine) -> bool {
    let mut around = books.outwards(stack).skip(1).map(|it| books.frame_of(it));
    around.any(|it| matches!(it, StackFrame::Line(it) if it.key == line.key))
}

/// The innermost line around a line: where that is of user code, the innermost of user code, as in the ledger.
fn caller(books: &StackBooks, of_user: bool, around: StackRow) -> Option<&FramedLine> {
    books.outwards(around).find_map(|it| match books.frame_of(it) {
        StackFrame::Line(line) if !of_user || line.is_user_code => Some(line),
        _ => None,
    })
}

/// The innermost line of a stack.
fn innermost_line(books: &StackBooks, stack: StackRow) -> Option<&FramedLine> {
    books.outwards(stack).find_map(|it| match books.frame_of(it) {
        StackFrame::Line(line) => Some(line),
        _ => None,
    })
}

/// The books of a line of the part.
fn books_of<'a>(part: &'a mut Ledger, line: &FramedLine, whole: &Ledger) -> &'a mut LineBooks {
    part.lines.entry(line.key.clone()).or_insert_with(|| {
        let known = whole.lines.get(&line.key);
        Box::new(LineBooks {
            function: known.map_or(&line.function, |it| &it.function).clone(),
            evidence: known.map(|it| it.evidence).unwrap_or_default(),
            ..LineBooks::default()
        })
    })
}
