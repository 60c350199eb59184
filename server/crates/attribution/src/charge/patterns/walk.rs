//! The walk: which events are open on each thread, and what is seen when one ends.

use ledger::{Bytes, Ns, Pattern, PatternBooks};
use line_stacks::LineId;
use profile::{HostEventId, HostKind, Profile, StrId};

use super::copies::{PageableCopies, is_upload};
use super::found::PatternCharges;
use super::indexing::{Indexing, Item};
use super::name_classes::{NameClass, name_classes};
use super::own_lines::OwnLines;
use super::updates::Updates;
use crate::event_stacks::EventStacks;
use recorded::{Frame, Launches, Steps};

/// Operators of one step of an optimizer from which it works on one parameter at a time, where no frame says so.
const MIN_OPERATORS: u64 = 10;

/// Built-in calls up to this are Python's own overhead, as `isinstance` and `dict.get` are; longer ones do something.
const MAX_SHORT_CALL: Ns = Ns(100_000);

/// Walks over all host events.
pub(super) fn walk(
    profile: &Profile,
    launches: &Launches,
    steps: &Steps,
    copies: &PageableCopies,
    events: &mut EventStacks<'_>,
    (is_idle, is_recording): (&[bool], &[bool]),
) -> PatternCharges {
    let threads = (0..profile.threads.len()).map(|_| ThreadWalk::default()).collect();
    let order = std::mem::take(&mut events.order);
    let mut walk = PatternWalk {
        profile,
        steps,
        copies,
        is_idle,
        is_recording,
        name_classes: name_classes(profile),
        device: DeviceWork::new(profile, launches),
        has_python: !profile.host.python.id.is_empty(),
        events,
        threads,
        found: PatternCharges::default(),
    };
    for &id in &order {
        walk.open(id);
    }
    for thread in 0..walk.threads.len() {
        while !walk.threads[thread].stack.is_empty() {
            walk.close(thread);
        }
    }
    let PatternWalk { found, .. } = walk;
    events.order = order;
    found
}

/// Device time and bytes from the host, by the host event that launched them. Empty without device events.
struct DeviceWork(Vec<(Ns, Bytes)>);

impl DeviceWork {
    fn new(profile: &Profile, launches: &Launches) -> Self {
        let device = &profile.device;
        let n_events = if device.is_empty() { 0 } else { profile.host.len() };
        let mut work = vec![(Ns::ZERO, Bytes::ZERO); n_events];
        for event in device.ids() {
            if let Some(launch) = launches.launch(event) {
                let (time, bytes) = &mut work[launch.index()];
                *time += device.duration[event.index()];
                if is_upload(profile, event) {
                    *bytes += device.bytes[event.index()].max(Bytes::ZERO);
                }
            }
        }
        Self(work)
    }

    fn of(&self, event: HostEventId) -> (Ns, Bytes) {
        self.0.get(event.index()).copied().unwrap_or_default()
    }
}

/// What an event is inside of, itself included.
#[derive(Debug, Clone, Copy, Default)]
struct Within {
    /// An operator, inside the innermost Python event.
    operator: bool,
    zero_grad: bool,
    data_loader: bool,
    compilation: bool,
    generated: bool,
    data_parallel: bool,
    data_parallel_part: bool,
}

/// An event on the stack of a thread.
struct StackedEvent {
    id: HostEventId,
    start: Ns,
    end: Ns,
    class: NameClass,
    within: Within,
    /// What it was inside of before it began.
    around: Within,
    is_operator: bool,
    is_python: bool,
    is_builtin: bool,
    /// Place on the stack of the innermost frame of your code, itself included.
    user_frame: Option<usize>,
    /// Of such a frame.
    indexing: Option<Box<Indexing>>,
    updates: Option<Box<Updates>>,
    /// Where its lines were logged.
    own_lines: Option<Box<OwnLines>>,
    /// Time of the events directly in it.
    children: Ns,
    /// When it and all that began in it are over: what PyTorch's own ranges are around may end after them.
    all_end: Ns,
    /// Python in it that no function of yours below it is charged with, and the calls that it was.
    python: (Ns, u64),
    /// Device time, and bytes from the host, of what was launched in it.
    cuda: Ns,
    uploaded: Bytes,
    /// Outermost operators in it, whether one of them takes lists, and the line of the last.
    ops: u64,
    has_foreach: bool,
    last_line: LineId,
    /// Host and device time of `aten::add_` in it.
    added: (Ns, Ns),
    /// Whether it asked for copies of its arguments on the CPU.
    falls_back: bool,
}

/// A convolution with a bias that nothing followed yet.
struct Conv {
    line: LineId,
    at: Ns,
    books: PatternBooks,
}

/// A tensor that was just made in host memory.
#[derive(Clone, Copy)]
struct MadeTensor {
    frame: Option<HostEventId>,
    line: LineId,
    /// Its sizes, where they were recorded.
    sizes: Option<StrId>,
}

#[derive(Default)]
struct ThreadWalk {
    stack: Vec<StackedEvent>,
    conv: Option<Conv>,
    made: Option<MadeTensor>,
    /// Arguments of the last operator that filled a tensor.
    filled: Option<StrId>,
    /// The last look for compiled code.
    lookup: Ns,
}

struct PatternWalk<'a, 'b, 'c> {
    profile: &'a Profile,
    steps: &'b Steps,
    copies: &'b PageableCopies,
    /// By thread, whether it only waits.
    is_idle: &'b [bool],
    /// By node, whether the profiler itself works there.
    is_recording: &'b [bool],
    name_classes: Vec<NameClass>,
    device: DeviceWork,
    has_python: bool,
    events: &'b mut EventStacks<'c>,
    threads: Vec<ThreadWalk>,
    found: PatternCharges,
}

impl PatternWalk<'_, '_, '_> {
    fn open(&mut self, id: HostEventId) {
        let host = &self.profile.host;
        let (start, thread) = (host.start[id.index()], host.thread[id.index()].index());
        while self.threads[thread].stack.last().is_some_and(|open| open.end <= start) {
            self.close(thread);
        }
        let (kind, name) = (host.kind[id.index()], host.name[id.index()]);
        let class = self.name_classes[name.index()];
        // A range lasts longer than the frame that opens it (`__enter__`): that frame is in the range then.
        let (mut begin, mut end) = (start, host.end(id));
        let mut row = self.threads[thread].stack.len();
        if kind == HostKind::Annotation {
            let stack = &self.threads[thread].stack;
            let last = stack.iter().map(|it| it.end).max();
            // One that is open when recording ends lasts as long as stopping.
            end = last.map_or(end, |it| end.min(it));
            row = stack.iter().rposition(|it| end <= it.end).map_or(0, |it| it + 1);
            begin = stack.get(row).map_or(start, |it| it.start.min(start));
        }
        let stack = &mut self.threads[thread].stack;
        let (around, above) = row
            .checked_sub(1)
            .map_or((Within::default(), None), |it| (stack[it].within, stack[it].user_frame));
        let is_python = kind == HostKind::Python;
        // Up to torch 1.9 ranges were recorded as operators.
        let is_range = matches!(
            class,
            NameClass::ZeroGrad | NameClass::OptimizerStep | NameClass::DataLoader { .. }
        );
        let is_operator = kind == HostKind::Operator && !is_range;
        let is_user_code = is_python && self.is_user_frame(id, class);
        let own_lines = self.own_lines(id, is_user_code);
        if kind != HostKind::Annotation {
            self.ran_until(thread, start);
        }
        let stack = &mut self.threads[thread].stack;
        if let Some(row) = above.filter(|_| is_user_code || class == NameClass::Module)
            && let Some(indexing) = &mut stack[row].indexing
        {
            indexing.call();
        }
        let mut within = around;
        match kind {
            HostKind::Python => within.operator = false,
            HostKind::Operator => within.operator |= is_operator,
            HostKind::Annotation | HostKind::Runtime => {}
        }
        match class {
            NameClass::ZeroGrad => within.zero_grad = true,
            NameClass::DataLoader { .. } => within.data_loader = true,
            NameClass::Compilation => within.compilation = true,
            NameClass::Generated => within.generated = true,
            NameClass::DataParallel => within.data_parallel = true,
            NameClass::DataParallelPart => within.data_parallel_part = true,
            _ => {}
        }
        let (cuda, uploaded) = self.device.of(id);
        let user_frame = if is_user_code { Some(row) } else { above };
        for it in &mut stack[row..] {
            it.user_frame = it.user_frame.map(|at| if row <= at { at + 1 } else { at });
        }
        let opened = StackedEvent {
            id,
            start: begin,
            end,
            class,
            within,
            around,
            is_operator,
            is_python,
            is_builtin: is_python && class == NameClass::Other,
            user_frame,
            indexing: None,
            updates: None,
            own_lines,
            children: Ns::ZERO,
            all_end: end,
            python: (Ns::ZERO, 0),
            cuda,
            uploaded,
            ops: 0,
            has_foreach: false,
            last_line: LineId::NONE,
            added: (Ns::ZERO, Ns::ZERO),
            falls_back: false,
        };
        stack.insert(row, opened);
    }

    fn is_user_frame(&self, id: HostEventId, class: NameClass) -> bool {
        let stacks = &self.events.stacks;
        let line = stacks.line(self.events.stack_of[id.index()]);
        matches!(class, NameClass::Frame | NameClass::Resumed | NameClass::ZeroGrad)
            && line != LineId::NONE
            && stacks.lines.is_user_code(line)
    }

    /// What is to be known of a function of yours by line.
    fn own_lines(&self, id: HostEventId, is_user_code: bool) -> Option<Box<OwnLines>> {
        let start = self.profile.host.start[id.index()];
        let is_logged = is_user_code && self.profile.frame_lines.place(id, start).is_some();
        let definition = self.events.stacks.line(self.events.stack_of[id.index()]);
        is_logged.then(|| Box::new(OwnLines::new(id, definition, start)))
    }

    /// The innermost event of a thread, ranges left out, ran by itself up to `until`.
    fn ran_until(&mut self, thread: usize, until: Ns) {
        let Self { profile, threads, events, .. } = self;
        if let Some(own) = innermost_own_lines(profile, &mut threads[thread].stack) {
            own.ran(until, &profile.frame_lines, &mut events.stacks.lines);
        }
    }

    /// The line that an event is charged to.
    fn line(&self, id: HostEventId) -> LineId {
        self.events.charged_line(id)
    }

    fn charge(&mut self, open: &StackedEvent, line: LineId, pattern: Pattern, books: PatternBooks) {
        self.found.charge(self.steps, line, pattern, open.start, &books);
    }

    /// Takes the last event off the stack of a thread, and looks at it.
    fn close(&mut self, thread: usize) {
        let profile = self.profile;
        let is_range =
            |open: &StackedEvent| profile.host.kind[open.id.index()] == HostKind::Annotation;
        if let Some(end) =
            self.threads[thread].stack.last().filter(|it| !is_range(it)).map(|it| it.end)
        {
            self.ran_until(thread, end);
        }
        let Some(mut open) = self.threads[thread].stack.pop() else { return };
        let is_outermost = open.is_operator && !open.around.operator;
        if let Some(indexing) = open.indexing.take() {
            for (line, at, books) in indexing.runs() {
                self.found.charge(self.steps, line, Pattern::ForLoopIndexing, at, &books);
            }
        }
        if let Some(updates) = open.updates.take() {
            for (line, at, books) in updates.runs() {
                self.found.charge(self.steps, line, Pattern::UpdateOneByOne, at, &books);
            }
        }
        if open.is_operator {
            self.operator(thread, &mut open, is_outermost);
        }
        self.python(thread, &mut open);
        self.range(thread, &open);
        let stack = &mut self.threads[thread].stack;
        if !is_range(&open)
            && let Some(own) = innermost_own_lines(profile, stack)
        {
            own.called_until(open.end);
        }
        if open.class == NameClass::ToCpu
            && let Some(operator) = stack.iter_mut().rfind(|it| it.is_operator)
        {
            operator.falls_back = true;
        }
        if let Some(parent) = stack.last_mut() {
            parent.children += open.all_end - open.start;
            parent.all_end = parent.all_end.max(open.all_end);
            parent.cuda += open.cuda;
            parent.uploaded += open.uploaded;
            parent.ops += open.ops + u64::from(is_outermost);
            parent.has_foreach |= open.has_foreach;
            parent.added = (parent.added.0 + open.added.0, parent.added.1 + open.added.1);
            if open.last_line != LineId::NONE {
                parent.last_line = open.last_line;
            }
        }
    }

    /// What an event itself spent in Python, rather than in the events in it: charged to the line that called it in the
    /// innermost function of yours, and what that spends itself to that function.
    fn python(&mut self, thread: usize, open: &mut StackedEvent) {
        if self.is_left_out(thread, open) {
            return;
        }
        let time = (open.end - open.start - open.children).max(Ns::ZERO);
        let kind = self.profile.host.kind[open.id.index()];
        let is_frame = matches!(
            open.class,
            NameClass::Frame | NameClass::Resumed | NameClass::Module | NameClass::ZeroGrad
        );
        // A long built-in call works, or waits for something.
        let is_python = is_frame
            || kind == HostKind::Annotation
            || (kind == HostKind::Python && time <= MAX_SHORT_CALL);
        // What is known by line is not charged to the function as a whole, and that the range lasts says nothing new.
        let is_by_line = match kind {
            HostKind::Annotation => {
                innermost_own_lines(self.profile, &mut self.threads[thread].stack).is_some()
            }
            _ => open.own_lines.is_some(),
        };
        if is_python && !is_by_line {
            open.python.0 += time;
            open.python.1 += u64::from(kind == HostKind::Python);
        }
        for (line, books) in open.own_lines.take().into_iter().flat_map(|it| it.by_line()) {
            self.charge(open, line, Pattern::PythonBetween, books);
        }
        let stack = &mut self.threads[thread].stack;
        let row = stack.len();
        let is_of_yours = open.user_frame == Some(row);
        let (spent, calls) = open.python;
        match stack.last_mut() {
            // In a function of yours, but not directly; or in a range, which says when something happened, not where.
            Some(parent)
                if kind == HostKind::Annotation
                    || (!is_of_yours && parent.user_frame.is_some_and(|it| it + 1 < row)) =>
            {
                parent.python.0 += spent;
                parent.python.1 += calls;
            }
            _ if spent > Ns::ZERO && open.user_frame.is_some() && kind != HostKind::Annotation => {
                let line = self.line(open.id);
                let books = PatternBooks { count: calls, cpu: spent, ..PatternBooks::default() };
                self.charge(open, line, Pattern::PythonBetween, books);
            }
            _ => {}
        }
    }

    /// Whether what an event does itself is no Python between operators: the thread only waits, the profiler is at work,
    /// generated code runs kernels, which leave no event on a CPU, or a rule that knows better reports it.
    fn is_left_out(&self, thread: usize, open: &StackedEvent) -> bool {
        let within = open.within;
        self.is_idle[thread]
            || within.data_loader
            || within.compilation
            || within.generated
            || open.class == NameClass::GarbageCollection
            || self.is_recording[self.events.stack_of[open.id.index()].index()]
    }

    /// Frames, ranges, and operators that stand for more than themselves.
    fn range(&mut self, thread: usize, open: &StackedEvent) {
        let time = open.end - open.start;
        let one = PatternBooks {
            count: 1,
            ops: open.ops,
            cpu: time,
            cuda: open.cuda,
            ..PatternBooks::default()
        };
        let line = self.line(open.id);
        match open.class {
            NameClass::SingleTensor => self.charge(open, line, Pattern::OptimizerSingleTensor, one),
            NameClass::OptimizerStep
                if !self.has_python && !open.has_foreach && MIN_OPERATORS <= open.ops =>
            {
                self.charge(open, open.last_line, Pattern::OptimizerSingleTensor, one);
            }
            NameClass::DataLoader { has_workers } if !open.around.data_loader => {
                let pattern = match has_workers {
                    true => Pattern::DataLoaderWorkers,
                    false => Pattern::DataLoaderAlone,
                };
                self.charge(open, line, pattern, one);
            }
            NameClass::GarbageCollection => {
                self.charge(open, line, Pattern::GarbageCollection, one);
            }
            NameClass::Compilation if !open.around.compilation => {
                self.charge(open, line, Pattern::Compilation, one);
            }
            NameClass::CompiledRegion { frame, version } => {
                if !self.profile.compiles.is_empty() {
                    self.found.regions.insert((line, frame));
                }
                if let Some(books) = self.found.books.get_mut(&(line, Pattern::Compilation)) {
                    books.most = books.most.max(u64::from(version) + 1);
                }
            }
            NameClass::CacheLookup => self.threads[thread].lookup = time,
            NameClass::Resumed => self.resumed(thread, open),
            NameClass::DataParallelPart
                if open.around.data_parallel && !open.around.data_parallel_part =>
            {
                let books = PatternBooks { count: 0, ..one };
                self.charge(open, line, Pattern::DataParallel, books);
            }
            NameClass::DataParallel => {
                let books = PatternBooks {
                    count: 1,
                    around: time,
                    around_cuda: open.cuda,
                    ..PatternBooks::default()
                };
                self.charge(open, line, Pattern::DataParallel, books);
            }
            _ => {}
        }
    }

    /// The rest of a function after what could not be compiled: charged to the line that could not.
    fn resumed(&mut self, thread: usize, open: &StackedEvent) {
        let name = self.profile.strings.get(self.profile.host.name[open.id.index()]);
        let Some(frame) = Frame::parse(name) else { return };
        let EventStacks { names, stacks, stack_of, .. } = &mut *self.events;
        let file = names.file(frame.file, &mut stacks.lines);
        let mut at = stacks.lines.line(file, frame.line);
        if !stacks.lines.is_user_code(at) {
            at = stacks.charged_line(stack_of[open.id.index()]);
        }
        let books = PatternBooks {
            count: 1,
            cpu: std::mem::take(&mut self.threads[thread].lookup),
            around: open.end - open.start,
            around_cuda: open.cuda,
            ..PatternBooks::default()
        };
        self.charge(open, at, Pattern::GraphBreak, books);
    }

    fn operator(&mut self, thread: usize, open: &mut StackedEvent, is_outermost: bool) {
        let time = open.end - open.start;
        match open.class {
            NameClass::Foreach => open.has_foreach = true,
            NameClass::AddInPlace => open.added = (time, open.cuda),
            NameClass::Fill | NameClass::Zero => {
                self.threads[thread].filled = self.arguments(open.id)
            }
            _ => {}
        }
        if open.falls_back {
            let books =
                PatternBooks { count: 1, cpu: time, cuda: open.cuda, ..PatternBooks::default() };
            self.charge(open, self.line(open.id), Pattern::CpuFallback, books);
        }
        if !is_outermost {
            return;
        }
        open.last_line = self.line(open.id);
        if open.class == NameClass::Zero && open.within.zero_grad {
            let books = PatternBooks {
                count: 1,
                ops: 1,
                cpu: time,
                cuda: open.cuda,
                ..PatternBooks::default()
            };
            self.charge(open, open.last_line, Pattern::ZeroGrad, books);
        }
        self.convolution(thread, open);
        self.upload(thread, open);
        self.index(thread, open);
        self.update(thread, open);
    }

    /// An operator that changes a tensor in place, directly in a function of yours.
    fn update(&mut self, thread: usize, open: &StackedEvent) {
        let is_update = match open.class {
            NameClass::Update | NameClass::AddInPlace => true,
            NameClass::Zero => !open.within.zero_grad,
            _ => false,
        };
        let Some(sizes) = self.arguments(open.id).filter(|_| is_update) else { return };
        let stack = &mut self.threads[thread].stack;
        let Some(row) = open.user_frame else { return };
        if stack.iter().rposition(|it| it.is_python && !it.is_builtin) != Some(row) {
            return;
        }
        let name = self.profile.host.name[open.id.index()];
        if let Some(frame) = stack.get_mut(row) {
            let updates = frame.updates.get_or_insert_default();
            let span = (open.start, open.end);
            updates.operator((open.last_line, name), sizes, span, open.cuda);
        }
    }

    /// Text of the sizes of the arguments of an operator.
    fn arguments(&self, id: HostEventId) -> Option<StrId> {
        let host = &self.profile.host;
        host.operators.input_dims[host.detail_row(id)].get()
    }

    /// A convolution with a bias, and what comes straight after it.
    fn convolution(&mut self, thread: usize, open: &StackedEvent) {
        match open.class {
            NameClass::Convolution => {
                let host = &self.profile.host;
                let types = host.operators.input_types[host.detail_row(open.id)];
                let types = types.get().map_or("", |id| self.profile.strings.get(id));
                let has_bias = has_third(types);
                self.threads[thread].conv = has_bias.then(|| Conv {
                    line: open.last_line,
                    at: open.start,
                    books: PatternBooks {
                        count: 1,
                        cpu: open.added.0,
                        cuda: open.added.1,
                        around: open.end - open.start,
                        around_cuda: open.cuda,
                        ..PatternBooks::default()
                    },
                });
            }
            NameClass::BatchNorm => {
                if let Some(Conv { line, at, books }) = self.threads[thread].conv.take() {
                    self.found.charge(self.steps, line, Pattern::ConvBias, at, &books);
                }
            }
            // A batch normalization counts its batches first.
            NameClass::AddInPlace => {}
            _ => self.threads[thread].conv = None,
        }
    }

    /// A tensor that was made in host memory, and its copy straight after.
    fn upload(&mut self, thread: usize, open: &StackedEvent) {
        let frame_of =
            |stack: &[StackedEvent]| open.user_frame.and_then(|row| Some(stack.get(row)?.id));
        let state = &mut self.threads[thread];
        let frame = frame_of(&state.stack);
        if open.class == NameClass::Factory {
            let sizes = state.filled.take();
            state.made = Some(MadeTensor { frame, line: open.last_line, sizes });
            return;
        }
        let Some(made) = state.made.take() else { return };
        if open.class != NameClass::To || open.uploaded == Bytes::ZERO || made.frame != frame {
            return;
        }
        let first = |id: Option<StrId>| first_sizes(self.profile.strings.get(id?));
        let is_same = match (first(made.sizes), first(self.arguments(open.id))) {
            (Some(made), Some(copied)) => made == copied,
            _ => made.line == open.last_line,
        };
        if is_same {
            let (wait, avoidable) = self.copies.of(open.id);
            let books = PatternBooks {
                count: 1,
                cpu: open.end - open.start,
                wait,
                avoidable,
                cuda: open.cuda,
                bytes: open.uploaded,
                ..PatternBooks::default()
            };
            self.charge(open, open.last_line, Pattern::ExtraCopy, books);
        }
    }

    /// What ran in a function of yours from one row of a tensor to the next.
    fn index(&mut self, thread: usize, open: &StackedEvent) {
        let stack = &mut self.threads[thread].stack;
        let Some(row) = open.user_frame else { return };
        let is_direct = stack.iter().rposition(|it| it.is_python) == Some(row);
        let host = &self.profile.host;
        let item = Item {
            name: host.name[open.id.index()],
            line: open.last_line,
            start: open.start,
            end: open.end,
            cuda: open.cuda,
        };
        let Some(frame) = stack.get_mut(row) else { return };
        if open.class == NameClass::Select && is_direct {
            frame.indexing.get_or_insert_default().select(item);
        } else if let Some(indexing) = &mut frame.indexing {
            indexing.operator(item);
        }
    }
}

/// Whether the third of the types in `["float", "float", "float", …]` is there.
fn has_third(types: &str) -> bool {
    let mut types = types.trim_start_matches('[').split(',');
    types.nth(2).is_some_and(|it| it.trim().trim_matches('"').len() > 1)
}

/// The sizes of the first tensor of `[[2, 3], [], …]`.
fn first_sizes(sizes: &str) -> Option<&str> {
    let (first, _) = sizes.trim_start().strip_prefix('[')?.split_once(']')?;
    Some(first.trim())
}

/// What the innermost event on a stack did by line, ranges left out, if that is known.
fn innermost_own_lines<'a>(
    profile: &Profile,
    stack: &'a mut [StackedEvent],
) -> Option<&'a mut OwnLines> {
    if profile.frame_lines.is_empty() {
        return None;
    }
    let is_range = |it: &StackedEvent| profile.host.kind[it.id.index()] == HostKind::Annotation;
    let innermost = stack.iter_mut().rev().find(|it| !is_range(it))?;
    innermost.own_lines.as_deref_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        assert!(has_third(r#"["float", "float", "float", "", "Scalar"]"#));
        assert!(!has_third(r#"["float", "float", "", "", "Scalar"]"#));
        assert!(!has_third(""));
        assert_eq!(first_sizes("[[2, 3], []]"), Some("[2, 3"));
        assert_eq!(first_sizes("[]"), Some(""));
        assert_eq!(first_sizes(""), None);
    }
}
