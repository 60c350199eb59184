//! `docs/accounting.md`, done slowly and obviously: hold the two side by side, section by section.
//!
//! It reads the JSON text itself, shares nothing with the readers, the tables and the real attribution, and keeps every
//! stack as a list. Sources are never at hand here: a frame's definition line is the line that the recording names.
//!
//! Where the page leaves room, the reading taken here is marked with *Reading:*.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::rc::Rc;

use serde_json::Value;
use serde_json::value::RawValue;

/// Integer nanoseconds: plain numbers, because this shares nothing with what is held against it.
pub type Ns = i64;

/// The accounts of one trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounts {
    /// What the recording holds in all.
    pub totals: Sums,
    /// What no line was charged with, by the stable name of the reason.
    pub unattributed: BTreeMap<&'static str, Sums>,
    /// What each line, by file as recorded and 1-based number, was charged with.
    pub lines: BTreeMap<(String, u32), LineAccount>,
    /// Duration of the steps by number.
    pub steps: BTreeMap<u32, Ns>,
}

/// Amounts that are charged once: nanoseconds, and bytes for `alloc`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the accounting")]
pub struct Sums {
    pub cpu: i64,
    pub cuda: i64,
    pub gpu_idle: i64,
    pub sync: i64,
    pub waiting: i64,
    pub alloc: i64,
}

/// What one line was charged with: counts, nanoseconds and bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the accounting")]
pub struct LineAccount {
    pub calls: u64,
    pub ops: u64,
    pub cpu_self: Ns,
    pub cpu_own: Ns,
    pub cpu_total: Ns,
    pub cpu_in_steps: Ns,
    pub elapsed: Ns,
    pub waiting: Ns,
    pub cpu_backward: Ns,
    pub cuda_self: Ns,
    pub cuda_own: Ns,
    pub cuda_total: Ns,
    pub cuda_backward: Ns,
    pub cpu_recompute: Ns,
    pub cuda_recompute: Ns,
    pub kernels: u64,
    pub sync: Ns,
    pub syncs: u64,
    pub idle_after_sync: Ns,
    pub avoidable_idle: Ns,
    pub avoidable_in_steps: Ns,
    pub gpu_idle: Ns,
    pub idle_host: Ns,
    pub idle_kernel: Ns,
    pub idle_after_wait: Ns,
    pub launches: u64,
    pub launch_time: Ns,
    pub short: u64,
    pub alloc: i64,
    pub allocs: u64,
    pub freed: i64,
    pub peak: i64,
    pub live: i64,
    /// By step number.
    pub steps: BTreeMap<u32, StepAccount>,
    /// Device time that was waited for, by the line it belongs to.
    pub waits: BTreeMap<(String, u32), Ns>,
    /// Parts of `cpu_total`, by the line that called.
    pub callers: BTreeMap<(String, u32), Ns>,
}

/// What one line was charged with during one step (nanoseconds).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the accounting")]
pub struct StepAccount {
    pub cpu: Ns,
    pub cuda: Ns,
    pub sync: Ns,
    pub gpu_idle: Ns,
    pub waiting: Ns,
}

impl fmt::Display for Accounts {
    /// One line for the totals, each reason and each line of source, without what is 0. Times are in microseconds.
    /// `cpu` and `cuda` are self/own/total, `launch_time` is that of `launches`, `backward` and `recompute` are cpu/cuda, `idle_cause` is
    /// host/kernel/after a wait, `step` is cpu/cuda/sync/idle and, if there is any, waiting. `in_steps` is in steps/elapsed
    /// and left out where both are the total.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let microseconds = |ns: Ns| {
            let text = format!(
                "{}{}.{:03}",
                if ns < 0 { "-" } else { "" },
                ns.abs() / 1000,
                ns.abs() % 1000
            );
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        let join = |amounts: &[Ns]| {
            amounts.iter().map(|&it| microseconds(it)).collect::<Vec<_>>().join("/")
        };
        let sums = |it: &Sums| {
            let times = [
                ("cpu", it.cpu),
                ("cuda", it.cuda),
                ("sync", it.sync),
                ("waiting", it.waiting),
                ("gpu_idle", it.gpu_idle),
            ];
            let mut text = String::new();
            for (name, amount) in times.into_iter().filter(|it| it.1 != 0) {
                text += &format!(" {name}={}", microseconds(amount));
            }
            if it.alloc != 0 {
                text += &format!(" alloc={}", it.alloc);
            }
            text
        };
        writeln!(f, "total{}", sums(&self.totals))?;
        for (number, duration) in &self.steps {
            writeln!(f, "step {number} {}", microseconds(*duration))?;
        }
        for (reason, amounts) in &self.unattributed {
            if *amounts != Sums::default() {
                writeln!(f, "{reason}{}", sums(amounts))?;
            }
        }
        for ((file, number), line) in &self.lines {
            let mut text = String::new();
            let in_steps = [line.cpu_in_steps, line.elapsed];
            if in_steps != [line.cpu_total; 2] {
                text += &format!(" in_steps={}", join(&in_steps));
            }
            let mut field = |name: &str, amounts: &[i64], value: String| {
                if amounts.iter().any(|&it| it != 0) {
                    text += &format!(" {name}={value}");
                }
            };
            let count = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
            let times =
                |name: &'static str, amounts: &[Ns]| (name, amounts.to_vec(), join(amounts));
            let plain = |name: &'static str, amount: i64| (name, vec![amount], amount.to_string());
            let fields = [
                plain("calls", count(line.calls)),
                plain("ops", count(line.ops)),
                times("cpu", &[line.cpu_self, line.cpu_own, line.cpu_total]),
                times("cuda", &[line.cuda_self, line.cuda_own, line.cuda_total]),
                plain("kernels", count(line.kernels)),
                plain("launches", count(line.launches)),
                times("launch_time", &[line.launch_time]),
                plain("short", count(line.short)),
                times("backward", &[line.cpu_backward, line.cuda_backward]),
                times("recompute", &[line.cpu_recompute, line.cuda_recompute]),
                times("sync", &[line.sync]),
                times("waiting", &[line.waiting]),
                plain("syncs", count(line.syncs)),
                times("gpu_idle", &[line.gpu_idle]),
                times("idle_cause", &[line.idle_host, line.idle_kernel, line.idle_after_wait]),
                times("idle_after_sync", &[line.idle_after_sync]),
                times("avoidable", &[line.avoidable_idle, line.avoidable_in_steps]),
                plain("alloc", line.alloc),
                plain("allocs", count(line.allocs)),
                plain("freed", line.freed),
                plain("peak", line.peak),
                plain("live", line.live),
            ];
            for (name, amounts, value) in fields {
                field(name, &amounts, value);
            }
            for (step, it) in &line.steps {
                let mut amounts = vec![it.cpu, it.cuda, it.sync, it.gpu_idle];
                amounts.extend((it.waiting != 0).then_some(it.waiting));
                field(&format!("step{step}"), &amounts, join(&amounts));
            }
            for ((file, number), &waited) in &line.waits {
                field(&format!("wait({file}:{number})"), &[waited], microseconds(waited));
            }
            for ((file, number), &time) in &line.callers {
                field(&format!("from({file}:{number})"), &[time], microseconds(time));
            }
            if !text.is_empty() {
                writeln!(f, "{file}:{number}{text}")?;
            }
        }
        Ok(())
    }
}

/// Does the accounts of a whole, well-formed trace. `is_user_code` says of a path as recorded whether the file is yours. `captured`
/// are the lines that the launches of replayed device events were captured with, by place in the file among device events.
///
/// # Errors
/// If `trace` is not JSON, or not a trace.
pub fn account(
    trace: &str,
    ignore_exact: bool,
    captured: &[Option<Vec<(String, u32)>>],
    is_user_code: &dyn Fn(&str) -> bool,
) -> Result<Accounts, serde_json::Error> {
    let recording = Recording::read(trace, ignore_exact)?;
    let stacks = Stacks::of(&recording);
    let mut launches = launches(&recording, &stacks);
    for ((launch, device), lines) in launches.iter_mut().zip(&recording.devices).zip(captured) {
        let lines = lines.iter().flatten().filter(|_| device.stack.is_empty());
        let lines = lines.map(|(file, line)| (Rc::from(file.as_str()), *line));
        launch.stack = Rc::new(launch.stack.iter().cloned().chain(lines).collect());
    }
    let mut accounts = Accountant {
        is_idle: (0..recording.threads.len()).map(|it| is_idle(&recording, it)).collect(),
        is_helper: (0..recording.threads.len()).map(|it| is_helper(&recording, it)).collect(),
        main_thread: main_thread(&recording),
        steps: steps(&recording),
        threads: threads(&recording, &stacks),
        launches,
        stacks: &stacks,
        recording: &recording,
        is_user_code,
        accounts: Accounts::default(),
    };
    accounts.instants();
    accounts.calls_and_operators();
    accounts.device_events();
    let waits = accounts.waits();
    accounts.idle(&waits);
    accounts.backward();
    accounts.memory();
    for &(number, start, end, _) in &accounts.steps {
        *accounts.accounts.steps.entry(number).or_default() += end - start;
    }
    Ok(accounts.accounts)
}

// ---------------------------------------------------------------------------------------------------------------------
// Host events and their order

/// The order of kinds is that of events which start and end together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Annotation,
    Python,
    Operator,
    Runtime,
}

#[derive(Debug)]
struct Host {
    /// Position in the file.
    position: usize,
    /// Index of process and thread in `Recording::threads`.
    thread: usize,
    kind: Kind,
    name: String,
    start: Ns,
    end: Ns,
    python_id: Option<i64>,
    python_parent: Option<i64>,
    exact_caller: Option<Line>,
    external_id: Option<i64>,
    correlation: Option<i64>,
    sequence: Option<i64>,
    forward_thread: i64,
    /// Call stack, outermost first, with function names.
    call_stack: Option<Vec<(Line, String)>>,
}

#[derive(Debug)]
struct Device {
    kind: DeviceKind,
    name: String,
    device: i64,
    stream: i64,
    start: Ns,
    end: Ns,
    correlation: Option<i64>,
    external_id: Option<i64>,
    graph_id: Option<i64>,
    stack: Stack,
}

#[derive(Debug, PartialEq, Eq)]
enum DeviceKind {
    Kernel,
    Copy,
    Fill,
}

#[derive(Debug)]
struct Memory {
    at: Ns,
    thread: usize,
    bytes: i64,
    address: Option<u64>,
    /// Device type and ordinal.
    memory: (i64, i64),
}

#[derive(Debug)]
struct FlowEnd {
    is_head: bool,
    id: i64,
    thread: usize,
    at: Ns,
}

#[derive(Debug, Default)]
struct Recording {
    /// Process id and thread id as text.
    threads: Vec<(String, String)>,
    /// In the order of the page, taken over all threads: a place in this list is an event's name below.
    hosts: Vec<Host>,
    /// In file order.
    devices: Vec<Device>,
    /// In file order.
    memory: Vec<Memory>,
    /// In file order.
    forward_backward: Vec<FlowEnd>,
    /// Whether the call stacks of operators count: there are no Python events, but call stacks.
    has_call_stacks: bool,
    /// Whether there is a Python event or a call stack.
    has_stacks: bool,
}

/// A line: file as recorded, 1-based number.
type Line = (Rc<str>, u32);

/// A line stack, outermost first.
type Stack = Rc<Vec<Line>>;

impl Recording {
    fn read(trace: &str, ignore_exact: bool) -> Result<Self, serde_json::Error> {
        let events = match trace.trim_start().starts_with('[') {
            true => serde_json::from_str::<Vec<&RawValue>>(trace)?,
            false => {
                let top = serde_json::from_str::<BTreeMap<String, &RawValue>>(trace)?;
                top.get("traceEvents")
                    .map_or_else(|| Ok(Vec::new()), |it| serde_json::from_str(it.get()))?
            }
        };
        let mut recording = Self::default();
        for (position, event) in events.iter().enumerate() {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(event.get())?;
            recording.add(position, &fields, ignore_exact);
        }
        recording.hosts.sort_by_key(Host::order);
        let has_python = recording.hosts.iter().any(|it| it.kind == Kind::Python);
        let has_call_stacks = recording.hosts.iter().any(|it| it.call_stack.is_some());
        recording.has_call_stacks = !has_python && has_call_stacks;
        recording.has_stacks = has_python || has_call_stacks;
        Ok(recording)
    }

    fn add(&mut self, position: usize, fields: &BTreeMap<String, &RawValue>, ignore_exact: bool) {
        let value = |name: &str| fields.get(name).map_or(Value::Null, |it| parse(it.get()));
        let text = |name: &str| value(name).as_str().unwrap_or_default().to_owned();
        let (phase, category, name) = (text("ph"), text("cat"), text("name"));
        let Some(start) = fields.get("ts").and_then(|it| nanoseconds(it.get())) else { return };
        let duration = fields.get("dur").and_then(|it| nanoseconds(it.get())).unwrap_or(0).max(0);
        let end = start.saturating_add(duration);
        let args = value("args");
        let number = |names: &[&str]| {
            names.iter().find_map(|name| integer(&args[*name])).filter(|&it| it != -1)
        };
        // A number that is 0, negative or absent names nothing.
        let positive = |names: &[&str]| number(names).filter(|&it| it > 0);
        let external_id = positive(&["External id", "external id"]);
        let correlation = positive(&["correlation"]);

        if name == "[memory]" {
            let Some(bytes) = integer(&args["Bytes"]) else { return };
            let memory =
                (number(&["Device Type"]).unwrap_or(0), integer(&args["Device Id"]).unwrap_or(-1));
            let address = args["Addr"].as_u64().filter(|&it| it != 0);
            let thread = self.thread(&value("pid"), &value("tid"));
            self.memory.push(Memory { at: start, thread, bytes, address, memory });
            return;
        }
        if category == "fwdbwd" && (phase == "s" || phase == "f") {
            let Some(id) = integer(&value("id")) else { return };
            let thread = self.thread(&value("pid"), &value("tid"));
            self.forward_backward.push(FlowEnd { is_head: phase == "f", id, thread, at: start });
            return;
        }
        if phase != "X" {
            return;
        }
        let device_kind = match category.as_str() {
            "kernel" | "Kernel" | "mtia_ccp_events" => Some(DeviceKind::Kernel),
            "gpu_memcpy" | "Memcpy" => Some(DeviceKind::Copy),
            "gpu_memset" | "Memset" => Some(DeviceKind::Fill),
            _ => None,
        };
        if let Some(kind) = device_kind {
            let device = number(&["device"]).or_else(|| integer(&value("pid"))).unwrap_or(-1);
            let of_thread = || match value("tid") {
                Value::String(tid) => tid.rsplit(' ').next().and_then(|it| it.parse().ok()),
                tid => integer(&tid),
            };
            let stream = number(&["stream"]).or_else(of_thread).unwrap_or(-1);
            let graph_id = positive(&["graph id"]);
            let stack = Rc::new(traceback(&args["stack"]));
            self.devices.push(Device {
                kind,
                name,
                device,
                stream,
                start,
                end,
                correlation,
                external_id,
                graph_id,
                stack,
            });
            return;
        }
        let kind = match category.as_str() {
            "user_annotation" => Kind::Annotation,
            "python_function" => Kind::Python,
            // Reading: torch 1.8–1.10 record steps as operators, but they are annotations.
            "cpu_op" | "Operator" if name.starts_with("ProfilerStep#") => Kind::Annotation,
            "cpu_op" | "Operator" => Kind::Operator,
            "Runtime" => Kind::Runtime,
            other if other.ends_with("_runtime") || other.ends_with("_driver") => Kind::Runtime,
            _ => return,
        };
        let thread = self.thread(&value("pid"), &value("tid"));
        let text = |name: &str| args[name].as_str().unwrap_or_default();
        let exact_caller =
            caller(text("CallFrom")).filter(|_| kind == Kind::Python && !ignore_exact);
        let is_usable = kind == Kind::Operator && !ignore_exact;
        let call_stack = call_stack(text("Call stack")).filter(|_| is_usable);
        self.hosts.push(Host {
            position,
            thread,
            kind,
            name,
            start,
            end,
            python_id: number(&["Python id"]).filter(|_| kind == Kind::Python),
            python_parent: number(&["Python parent id"]).filter(|_| kind == Kind::Python),
            exact_caller,
            external_id,
            correlation,
            sequence: number(&["Sequence number"]),
            forward_thread: number(&["Fwd thread id"]).unwrap_or(0),
            call_stack,
        });
    }

    fn thread(&mut self, pid: &Value, tid: &Value) -> usize {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let key = (text(pid), text(tid));
        self.threads.iter().position(|it| *it == key).unwrap_or_else(|| {
            self.threads.push(key);
            self.threads.len() - 1
        })
    }

    fn on_thread(&self, thread: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.hosts.len()).filter(move |&it| self.hosts[it].thread == thread)
    }
}

impl Host {
    /// Start, ascending; end, descending; kind; `Python id`, ascending; position in the file.
    fn order(&self) -> (Ns, Reverse<Ns>, Kind, i64, usize) {
        (self.start, Reverse(self.end), self.kind, self.python_id.unwrap_or(-1), self.position)
    }

    fn is_open_at(&self, t: Ns) -> bool {
        self.start <= t && t < self.end
    }

    fn has_frames(&self) -> bool {
        self.call_stack.as_ref().is_some_and(|it| !it.is_empty())
    }

    /// File and line of a frame's own definition.
    fn definition(&self) -> Option<Line> {
        (self.kind == Kind::Python).then(|| frame(&self.name)).flatten().map(|(line, _)| line)
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// Nanoseconds from the text of a number of microseconds, exactly; digits below the nanosecond are rounded.
fn nanoseconds(text: &str) -> Option<Ns> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    // Digits of the mantissa that stand before the point once it is moved to nanoseconds.
    let kept = i64::try_from(whole.len()).ok()? + exponent.parse::<i64>().ok()? + 3;
    if !digits.bytes().all(|it| it.is_ascii_digit()) || !(-30..30).contains(&kept) {
        return None;
    }
    let digit = |at: i64| {
        usize::try_from(at).ok().and_then(|at| digits.as_bytes().get(at)).map_or(0, |it| it - b'0')
    };
    let mut amount: i128 = (0..kept).fold(0, |sum, at| sum * 10 + i128::from(digit(at)));
    amount += i128::from(digit(kept) >= 5);
    i64::try_from(if negative { -amount } else { amount }).ok()
}

// ---------------------------------------------------------------------------------------------------------------------
// Lines and line stacks

/// Line and function of `file(line): function`; `None` for every other name.
fn frame(name: &str) -> Option<(Line, &str)> {
    let candidates: Vec<_> = name.match_indices("): ").map(|(at, _)| at).collect();
    candidates.into_iter().rev().find_map(|close| {
        let open = name[..close].rfind('(')?;
        let digits = &name[open + 1..close];
        let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
        let line = digits.parse().ok().filter(|_| is_number && open > 0)?;
        Some(((Rc::from(&name[..open]), line), &name[close + 3..]))
    })
}

/// The line that `file:line` names.
fn caller(text: &str) -> Option<Line> {
    let (file, line) = text.rsplit_once(':')?;
    let line = line.parse().ok().filter(|&it: &u32| it > 0 && !file.is_empty())?;
    Some((Rc::from(file), line))
}

/// The frames of a `Call stack` (leaf first, `;` between), outermost first.
fn call_stack(text: &str) -> Option<Vec<(Line, String)>> {
    let frames = text.split(';').filter_map(|it| frame(it.trim()));
    let mut frames: Vec<_> = frames.map(|(line, function)| (line, function.to_owned())).collect();
    frames.reverse();
    (!text.is_empty()).then_some(frames)
}

/// The lines of a Python traceback (`File "…", line N, in …`), outermost first; of several, the first that has one.
fn traceback(value: &Value) -> Vec<Line> {
    match value {
        Value::String(text) => text
            .split("File \"")
            .skip(1)
            .filter_map(|it| {
                let (file, rest) = it.split_once("\", line ")?;
                let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
                Some((Rc::from(file), digits.parse().ok()?))
            })
            .collect(),
        Value::Array(items) => {
            items.iter().map(traceback).find(|it| !it.is_empty()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// What is known of each host event.
struct Stacks {
    /// The events that are open at its start and come before it in the order, on its thread.
    below: Vec<Vec<usize>>,
    base: Vec<Stack>,
    inside: Vec<Stack>,
    /// Whether it computes again what the forward pass has computed.
    is_recomputed: Vec<bool>,
    /// By call that waits for the autograd engine, when events of other threads worked for it.
    handed_over: HashMap<usize, Vec<(Ns, Ns)>>,
}

/// Whether an event is a call, not a frame, that waits for the autograd engine.
fn is_backward_call(host: &Host) -> bool {
    host.kind == Kind::Python && host.name.contains("run_backward") && frame(&host.name).is_none()
}

impl Stacks {
    fn of(recording: &Recording) -> Self {
        let Recording { hosts, threads, .. } = recording;
        let mut below = vec![Vec::new(); hosts.len()];
        for thread in 0..threads.len() {
            let mut open: Vec<usize> = Vec::new();
            for event in recording.on_thread(thread) {
                open.retain(|&it| hosts[it].is_open_at(hosts[event].start));
                below[event].clone_from(&open);
                open.push(event);
            }
        }
        let adopters = Adopters::of(recording);
        let mut stacks = Self {
            below,
            base: Vec::new(),
            inside: Vec::new(),
            is_recomputed: Vec::new(),
            handed_over: HashMap::new(),
        };
        // An event's stack follows from those of events that come before it in the order.
        for (event, host) in hosts.iter().enumerate() {
            let below = stacks.innermost(recording, &stacks.below[event]);
            let adopted = if below.is_none() { adopters.adopted(recording, event) } else { None };
            let from = below.or(adopted);
            if let Some(waiting) = adopted.filter(|&it| is_backward_call(&hosts[it])) {
                stacks.handed_over.entry(waiting).or_default().push((host.start, host.end));
            }
            let base = from.map_or_else(Stack::default, |it| stacks.inside[it].clone());
            let is_recomputed = stacks.is_recomputed(recording, event, from);
            stacks.is_recomputed.push(is_recomputed);
            let inside = match host.kind {
                Kind::Python => {
                    let mut call = stacks.call(recording, event, &base);
                    call.extend(host.definition());
                    Rc::new(call)
                }
                // Reading: a call stack in which there is no frame counts as none.
                Kind::Operator if recording.has_call_stacks && host.has_frames() => Rc::new(
                    host.call_stack.iter().flatten().map(|(line, _)| line.clone()).collect(),
                ),
                _ => base.clone(),
            };
            stacks.base.push(base);
            stacks.inside.push(inside);
        }
        stacks
    }

    /// The innermost of `open` that is not an annotation.
    fn innermost(&self, recording: &Recording, open: &[usize]) -> Option<usize> {
        open.iter().rev().copied().find(|&it| recording.hosts[it].kind != Kind::Annotation)
    }

    /// The event whose line stack is that of an instant at which `open` are open.
    fn innermost_at(&self, recording: &Recording, open: &[usize]) -> Option<usize> {
        let is_bare = |&it: &usize| self.innermost(recording, &self.below[it]).is_none();
        self.innermost(recording, open).or_else(|| open.iter().rev().copied().find(is_bare))
    }

    /// Whether an event is recomputed that has its line stack from `from`.
    fn is_recomputed(&self, recording: &Recording, event: usize, from: Option<usize>) -> bool {
        let hosts = &recording.hosts;
        let python_below =
            self.below[event].iter().rev().find(|&&it| hosts[it].kind == Kind::Python);
        let is_called_by_node = python_below.is_some_and(|&it| is_checkpoint_node(&hosts[it]));
        if is_checkpoint_node(&hosts[event]) || is_recomputation(&hosts[event]) {
            return true;
        }
        let is_backward_pass =
            is_frame_of(&hosts[event], "torch/autograd/__init__.py", &["backward"]);
        let is_node_done = is_called_by_node && is_backward_pass;
        !is_node_done && from.is_some_and(|it| self.is_recomputed[it])
    }

    /// `call(e)` of a Python event.
    fn call(&self, recording: &Recording, event: usize, base: &Stack) -> Vec<Line> {
        let mut call = base.to_vec();
        let python_below =
            self.below[event].iter().rev().find(|&&it| recording.hosts[it].kind == Kind::Python);
        if let (Some(&python_below), Some(caller)) =
            (python_below, &recording.hosts[event].exact_caller)
        {
            if recording.hosts[python_below].definition().is_some() {
                call.pop();
                call.push(caller.clone());
            } else if call.last() != Some(caller) {
                call.push(caller.clone());
            }
        }
        call
    }
}

/// Whether a host event is the frame of one of some functions of a file.
fn is_frame_of(host: &Host, file: &str, functions: &[&str]) -> bool {
    let frame = (host.kind == Kind::Python).then(|| frame(&host.name)).flatten();
    frame.is_some_and(|((path, _), function)| {
        path.replace('\\', "/").ends_with(file) && functions.contains(&function)
    })
}

/// Whether a host event computes again for a node of the backward pass.
fn is_recomputation(host: &Host) -> bool {
    is_frame_of(host, "torch/utils/checkpoint.py", &["recompute_fn", "unpack"])
}

/// Whether a host event is itself a node of the backward pass that computes again.
fn is_checkpoint_node(host: &Host) -> bool {
    is_frame_of(host, "torch/utils/checkpoint.py", &["backward"])
}

/// The lines of a stack, each once.
fn distinct(stack: &Stack) -> BTreeSet<&Line> {
    stack.iter().collect()
}

// ---------------------------------------------------------------------------------------------------------------------
// Autograd threads

/// Whose line stack an outermost event may adopt.
struct Adopters {
    /// Whether a thread is an autograd thread.
    is_autograd: Vec<bool>,
    /// Events that run the backward pass, and until when they count as open.
    backward_runs: Vec<(usize, Until)>,
    /// The first event in the file with a Python id.
    by_python_id: HashMap<i64, usize>,
}

impl Adopters {
    fn of(recording: &Recording) -> Self {
        let hosts = &recording.hosts;
        let mut is_autograd = vec![false; recording.threads.len()];
        for host in hosts.iter().filter(|it| it.kind == Kind::Operator) {
            is_autograd[host.thread] |= host.forward_thread != 0
                || host.name.starts_with("autograd::engine::")
                || host.name.starts_with("torch::autograd::");
        }
        let backward_runs = match recording.has_call_stacks {
            true => exact_backward_runs(recording),
            false => (0..hosts.len())
                .filter(|&it| {
                    hosts[it].kind == Kind::Python && hosts[it].name.contains("run_backward")
                })
                .map(|it| (it, Until::Time(hosts[it].end)))
                .collect(),
        };
        let mut by_python_id = HashMap::new();
        let mut in_file_order: Vec<usize> = (0..hosts.len()).collect();
        in_file_order.sort_by_key(|&it| hosts[it].position);
        for event in in_file_order {
            if let Some(id) = hosts[event].python_id {
                by_python_id.entry(id).or_insert(event);
            }
        }
        Self { is_autograd, backward_runs, by_python_id }
    }

    /// The event whose `inside` the outermost event `event` adopts.
    ///
    /// *Reading:* the stack of an event is fixed when it starts, so only an event that comes before it in the order
    /// (taken over all threads) can be adopted; this also rules out circles. A Python event with a parent on another
    /// thread adopts that one rather than the backward pass.
    fn adopted(&self, recording: &Recording, event: usize) -> Option<usize> {
        let hosts = &recording.hosts;
        let host = &hosts[event];
        let parent = host.python_parent.and_then(|id| self.by_python_id.get(&id)).copied();
        if let Some(parent) = parent.filter(|&it| hosts[it].thread != host.thread && it < event) {
            return Some(parent);
        }
        let process = |event: &Host| &recording.threads[event.thread].0;
        let latest = self.backward_runs.iter().filter(|&&(it, until)| {
            let w = &hosts[it];
            it < event
                && w.thread != host.thread
                && process(w) == process(host)
                && until.is_after(event, host.start)
        });
        latest.map(|&(it, _)| it).max().filter(|_| self.is_autograd[host.thread])
    }
}

/// What ends a backward run.
#[derive(Clone, Copy)]
enum Until {
    Time(Ns),
    /// Position in the order of all threads.
    Event(usize),
}

impl Until {
    fn is_after(self, event: usize, start: Ns) -> bool {
        match self {
            Self::Time(end) => start < end,
            Self::Event(end) => event < end,
        }
    }
}

/// Operators called from `backward` or `grad` of `torch/autograd/__init__.py`, with the event in the order of all threads
/// before which they count as open: the next operator on the thread that has a call stack without such a frame.
fn exact_backward_runs(recording: &Recording) -> Vec<(usize, Until)> {
    let hosts = &recording.hosts;
    let runs_backward = |event: usize| {
        hosts[event].call_stack.iter().flatten().any(|((file, _), function)| {
            file.ends_with("torch/autograd/__init__.py")
                && (function == "backward" || function == "grad")
        })
    };
    let mut runs = Vec::new();
    for event in (0..hosts.len()).filter(|&it| runs_backward(it)) {
        let next = recording
            .on_thread(hosts[event].thread)
            .find(|&it| it > event && hosts[it].has_frames() && !runs_backward(it));
        runs.push((event, next.map_or(Until::Time(Ns::MAX), Until::Event)));
    }
    runs
}

// ---------------------------------------------------------------------------------------------------------------------
// Who did what when

/// Time during which nothing starts or ends on a thread, while at least one event is open.
struct Interval {
    start: Ns,
    end: Ns,
    innermost: usize,
    /// Whether the outermost of what hands on a line stack adopted its own.
    is_adopted: bool,
}

/// For each thread its traced time, in order.
fn threads(recording: &Recording, stacks: &Stacks) -> Vec<Vec<Interval>> {
    let hosts = &recording.hosts;
    let intervals = |thread: usize| {
        let mut starting = recording.on_thread(thread).peekable();
        let boundaries: BTreeSet<Ns> =
            recording.on_thread(thread).flat_map(|it| [hosts[it].start, hosts[it].end]).collect();
        let boundaries: Vec<Ns> = boundaries.into_iter().collect();
        let mut open: Vec<usize> = Vec::new();
        let mut intervals = Vec::new();
        // Whether the latest event that began without another below it, but for annotations, adopted a line stack.
        let mut is_adopted = false;
        for pair in boundaries.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            while let Some(event) = starting.next_if(|&it| hosts[it].start <= start) {
                open.push(event);
                if stacks.innermost(recording, &stacks.below[event]).is_none() {
                    is_adopted = !stacks.base[event].is_empty();
                }
            }
            open.retain(|&it| hosts[it].is_open_at(start));
            if let Some(innermost) = stacks.innermost_at(recording, &open) {
                intervals.push(Interval { start, end, innermost, is_adopted });
            }
        }
        intervals
    };
    (0..recording.threads.len()).map(intervals).collect()
}

/// Whether a Python event is a call that waits.
fn is_waiting(host: &Host) -> bool {
    let functions = ["sleep", "select", "waitpid", "sigwait", "read"];
    let methods = [
        "acquire of _thread.",
        "__enter__ of _thread.",
        "join of _thread.",
        "acquire of _multiprocessing.",
        "__enter__ of _multiprocessing.",
        "poll of select.",
        "recv of socket ",
        "recv_into of socket ",
        "recvfrom of socket ",
        "recvmsg of socket ",
        "_accept of socket ",
        "connect of socket ",
        "get of _queue.SimpleQueue ",
    ];
    let is_function = |it: &&str| host.name == format!("<built-in function {it}>");
    let is_method = |it: &&str| host.name.contains(&format!("<built-in method {it}"));
    host.kind == Kind::Python
        && (functions.iter().any(is_function) || methods.iter().any(is_method))
}

/// Whether a thread ran no operator, runtime call or range, allocated nothing, and waited for nine tenths of its time.
fn is_idle(recording: &Recording, thread: usize) -> bool {
    let hosts = &recording.hosts;
    let works = recording.on_thread(thread).any(|it| hosts[it].kind != Kind::Python)
        || recording.memory.iter().any(|it| it.thread == thread);
    let first_return = recording.on_thread(thread).map(|it| hosts[it].end).min();
    let is_silent = |event: usize, from: Ns, to: Ns| {
        let function = frame(&hosts[event].name).map(|(_, function)| function);
        let waits = ["wait", "select", "poll", "get", "recv", "sleep", "join", "acquire"];
        // Reading: what starts when the first event ends does not come before that.
        let began_first = first_return.is_some_and(|it| hosts[event].start < it);
        let may_wait = function.is_some_and(|it| began_first || waits.contains(&it));
        to - from >= 1_000_000 && may_wait
    };
    let boundaries: BTreeSet<Ns> =
        recording.on_thread(thread).flat_map(|it| [hosts[it].start, hosts[it].end]).collect();
    let boundaries: Vec<Ns> = boundaries.into_iter().collect();
    // Spans of time during which one event is innermost and none starts.
    let mut spans: Vec<(usize, Ns, Ns)> = Vec::new();
    for pair in boundaries.windows(2).filter(|_| !works) {
        let open = recording.on_thread(thread).filter(|&it| hosts[it].is_open_at(pair[0]));
        let Some(event) = open.last() else { continue };
        let starts = recording.on_thread(thread).any(|it| hosts[it].start == pair[0]);
        match spans.last_mut() {
            Some((same, _, end)) if *same == event && *end == pair[0] && !starts => *end = pair[1],
            _ => spans.push((event, pair[0], pair[1])),
        }
    }
    let (mut traced, mut waited) = (0, 0);
    for (event, from, to) in spans {
        traced += to - from;
        if is_waiting(&hosts[event]) || is_silent(event, from, to) {
            waited += to - from;
        }
    }
    !works && traced > 0 && waited * 10 >= traced * 9
}

/// Whether a thread that runs no step, and is not the main thread where there are none, was for nine tenths of its time in calls that
/// wait. Annotations are no part of its time.
fn is_helper(recording: &Recording, thread: usize) -> bool {
    let hosts = &recording.hosts;
    let steps = steps(recording);
    let leads = match steps.is_empty() {
        true => main_thread(recording) == Some(thread),
        false => steps.iter().any(|it| it.3 == thread),
    };
    let events = || recording.on_thread(thread).filter(|&it| hosts[it].kind != Kind::Annotation);
    if leads || !events().any(|it| is_waiting(&hosts[it])) {
        return false;
    }
    let boundaries: BTreeSet<Ns> =
        events().flat_map(|it| [hosts[it].start, hosts[it].end]).collect();
    let boundaries: Vec<Ns> = boundaries.into_iter().collect();
    let (mut traced, mut waited) = (0, 0);
    let mut starting = events().peekable();
    let mut open: Vec<usize> = Vec::new();
    for pair in boundaries.windows(2) {
        while let Some(event) = starting.next_if(|&it| hosts[it].start <= pair[0]) {
            open.push(event);
        }
        open.retain(|&it| hosts[it].is_open_at(pair[0]));
        if let Some(&innermost) = open.last() {
            traced += pair[1] - pair[0];
            waited += if is_waiting(&hosts[innermost]) { pair[1] - pair[0] } else { 0 };
        }
    }
    traced > 0 && waited * 10 >= traced * 9
}

/// The thread with the most Python events, or else with the most host events.
fn main_thread(recording: &Recording) -> Option<usize> {
    let python = |thread: usize| {
        recording.on_thread(thread).filter(|&it| recording.hosts[it].kind == Kind::Python).count()
    };
    (0..recording.threads.len())
        .max_by_key(|&it| (python(it), recording.on_thread(it).count(), Reverse(it)))
}

fn overlap(a: (Ns, Ns), b: (Ns, Ns)) -> Ns {
    (a.1.min(b.1) - a.0.max(b.0)).max(0)
}

/// The part of a thread's traced time that may overlap `span`.
fn around(intervals: &[Interval], span: (Ns, Ns)) -> &[Interval] {
    let first = intervals.partition_point(|it| it.end <= span.0);
    let last = intervals.partition_point(|it| it.start < span.1);
    intervals.get(first..last).unwrap_or_default()
}

/// How a device event came to run.
struct Launch {
    /// Its line stack.
    stack: Stack,
    /// Whether any of the events that could show it is in the recording.
    is_known: bool,
    /// The runtime call or operator that launched it.
    event: Option<usize>,
}

/// For each device event the runtime call with its number, the operator around that, and the operator with its number.
fn launchers(recording: &Recording) -> Vec<[Option<usize>; 3]> {
    let hosts = &recording.hosts;
    let first_in_file = |kind: Kind, number: Option<i64>, of: fn(&Host) -> Option<i64>| {
        let same = (0..hosts.len())
            .filter(|&it| hosts[it].kind == kind && number.is_some() && of(&hosts[it]) == number);
        same.min_by_key(|&it| hosts[it].position)
    };
    let mut known: HashMap<(Join, i64), Option<usize>> = HashMap::new();
    let mut find = |kind: Join, number: Option<i64>| {
        let found = known.entry((kind, number?)).or_insert_with(|| match kind {
            Join::Correlation => first_in_file(Kind::Runtime, number, |it| it.correlation),
            Join::ExternalId => first_in_file(Kind::Operator, number, |it| it.external_id),
        });
        *found
    };
    let of_device = |device: &Device| {
        let runtime = find(Join::Correlation, device.correlation);
        let operator_of_runtime =
            find(Join::ExternalId, runtime.and_then(|it| hosts[it].external_id));
        [runtime, operator_of_runtime, find(Join::ExternalId, device.external_id)]
    };
    recording.devices.iter().map(of_device).collect()
}

/// For each device event how it came to run: the section *Device events*.
fn launches(recording: &Recording, stacks: &Stacks) -> Vec<Launch> {
    let mut launches: Vec<Launch> = Vec::new();
    let launchers = launchers(recording);
    for (position, device) in recording.devices.iter().enumerate() {
        let [runtime, operator_of_runtime, operator] = launchers[position];
        let before = (0..position)
            .rev()
            .find(|&it| {
                device.graph_id.is_some() && recording.devices[it].graph_id == device.graph_id
            })
            .map(|it| &launches[it]);
        let mut candidates = vec![device.stack.clone()];
        for host in [runtime, operator_of_runtime, operator].into_iter().flatten() {
            candidates.push(stacks.inside[host].clone());
        }
        candidates.extend(before.map(|it| it.stack.clone()));
        let launch = Launch {
            stack: candidates.into_iter().find(|it| !it.is_empty()).unwrap_or_default(),
            // Reading: an event before it with its graph id says nothing if its own launch is not in the recording.
            is_known: runtime.is_some()
                || operator.is_some()
                || before.is_some_and(|it| it.is_known),
            event: runtime.or(operator).or(before.and_then(|it| it.event)),
        };
        launches.push(launch);
    }
    launches
}

/// Which number joins a device event with a host event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Join {
    Correlation,
    ExternalId,
}

/// `ProfilerStep#N` with start, end and thread, by start: the section *Steps*.
fn steps(recording: &Recording) -> Vec<(u32, Ns, Ns, usize)> {
    let number = |host: &Host| host.name.strip_prefix("ProfilerStep#")?.parse().ok();
    let step = |it: &Host| Some((number(it)?, it.start, it.end, it.thread));
    let mut steps: Vec<_> = recording.hosts.iter().filter_map(step).collect();
    if steps.is_empty() {
        return passes_of_server(recording);
    }
    for step in 1..steps.len() {
        steps[step - 1].2 = steps[step - 1].2.min(steps[step].1);
    }
    if let [.., before, last] = steps[..]
        && is_cut(recording, before, last)
    {
        steps.pop();
    }
    steps
}

/// Whether the profiler was stopped in the last step, before its end.
fn is_cut(recording: &Recording, before: (u32, Ns, Ns, usize), last: (u32, Ns, Ns, usize)) -> bool {
    let begun = |kind: Kind, from: Ns, until: Ns| {
        let hosts = recording.hosts.iter();
        hosts.filter(move |it| it.kind == kind && (from..until).contains(&it.start))
    };
    let n_before = begun(Kind::Operator, before.1, before.2).count();
    let n_last = begun(Kind::Operator, last.1, last.2).count();
    if begun(Kind::Python, before.1, last.2).next().is_none() {
        return n_before > 0 && n_last == 0;
    }
    let is_stopped = begun(Kind::Python, last.1, last.2).any(|it| {
        let is_stop =
            it.name.contains("torch/profiler/profiler.py(") && it.name.ends_with("): stop");
        is_stop && it.thread == last.3 && last.2 <= it.end
    });
    is_stopped && n_last * 5 < n_before * 4
}

/// The ranges of vLLM and SGLang that begin in no other, numbered from 1, until what was launched in them is done or the next begins.
fn passes_of_server(recording: &Recording) -> Vec<(u32, Ns, Ns, usize)> {
    let is_pass = |name: &str| {
        let is_vllm = name.starts_with("execute_")
            && (name.contains("_generation_") || name.contains("_cached_"));
        is_vllm || name.starts_with("step[")
    };
    let mut passes: Vec<&Host> = recording.hosts.iter().filter(|it| is_pass(&it.name)).collect();
    passes.sort_by_key(|it| (it.start, std::cmp::Reverse(it.end)));
    let mut steps: Vec<(u32, Ns, Ns, usize)> = Vec::new();
    for it in passes {
        if steps.last().is_none_or(|before| before.2 <= it.start) {
            let number = steps.len() as u32 + 1;
            steps.push((number, it.start, it.end, it.thread));
        }
    }
    let ranges = steps.clone();
    let mut launched: Vec<Option<usize>> = Vec::new();
    for (position, [runtime, _, operator]) in launchers(recording).into_iter().enumerate() {
        let device = &recording.devices[position];
        let mut before = (0..position).rev();
        let of_graph = before.find(|&it| {
            device.graph_id.is_some() && recording.devices[it].graph_id == device.graph_id
        });
        launched.push(runtime.or(operator).or_else(|| launched[of_graph?]));
        let Some(at) = launched[position].map(|it| recording.hosts[it].start) else { continue };
        if let Some(step) = ranges.iter().position(|it| it.1 <= at && at < it.2) {
            let next = ranges.get(step + 1).map_or(Ns::MAX, |it| it.1);
            steps[step].2 = steps[step].2.max(device.end).min(next);
        }
    }
    steps
}

/// The syncs that count as one wait.
type Wait = Vec<usize>;

/// The last sync of a wait during which, or at whose end, `at` is.
fn last_sync(hosts: &[Host], wait: &Wait, at: Ns) -> Option<usize> {
    wait.iter().rev().copied().find(|&it| hosts[it].start <= at && at <= hosts[it].end)
}

/// Whether a file is one whose functions start, step and stop a recording.
fn is_profiler(path: &str) -> bool {
    let path = path.replace('\\', "/");
    path.ends_with("torch/profiler/profiler.py") || path.ends_with("perfline/recorder.py")
}

/// cudaMemcpy, hipMemcpyDtoH, cuMemcpyHtoDAsync_v2: a copy is named so after the prefix of its library.
fn is_copy(host: &Host) -> bool {
    host.name.trim_start_matches(|c: char| c.is_ascii_lowercase()).starts_with("Memcpy")
}

struct Accountant<'a> {
    recording: &'a Recording,
    /// By thread, whether it only waits.
    is_idle: Vec<bool>,
    /// By thread, whether it mostly waits, and is none of those that lead.
    is_helper: Vec<bool>,
    /// The thread whose time counts as elapsed where there are no steps.
    main_thread: Option<usize>,
    stacks: &'a Stacks,
    threads: Vec<Vec<Interval>>,
    launches: Vec<Launch>,
    steps: Vec<(u32, Ns, Ns, usize)>,
    is_user_code: &'a dyn Fn(&str) -> bool,
    accounts: Accounts,
}

impl Accountant<'_> {
    /// The last line in a file of yours; if there is none, the first line.
    fn own(&self, stack: &Stack) -> Option<Line> {
        stack.iter().rev().find(|(file, _)| (self.is_user_code)(file)).or(stack.first()).cloned()
    }

    /// Of a line of yours the last line of yours around it, else the last.
    fn caller(&self, (file, _): &Line, around: &[Line]) -> Option<Line> {
        let is_yours = |file: &str| (self.is_user_code)(file);
        around.iter().rev().find(|(it, _)| !is_yours(file) || is_yours(it)).cloned()
    }

    fn line(&mut self, (file, line): &Line) -> &mut LineAccount {
        self.accounts.lines.entry((file.to_string(), *line)).or_default()
    }

    /// The account that is charged where there is no line.
    fn unattributed(&mut self, reason: &'static str) -> &mut Sums {
        self.accounts.unattributed.entry(reason).or_default()
    }

    fn no_line(&self) -> &'static str {
        if self.recording.has_stacks { "no_python_frame" } else { "no_stacks" }
    }

    /// The parts of a span that lie in steps.
    fn in_steps(&self, span: (Ns, Ns)) -> Vec<(u32, Ns)> {
        let parts =
            self.steps.iter().map(|&(number, start, end, _)| (number, overlap(span, (start, end))));
        parts.filter(|&(_, part)| part > 0).collect()
    }

    /// Thread time, instant by instant.
    fn instants(&mut self) {
        for thread in 0..self.threads.len() {
            for at in 0..self.threads[thread].len() {
                let Interval { start, end, innermost, is_adopted } = self.threads[thread][at];
                // The time in which another thread works for a call is none of this thread.
                let handed = self.stacks.handed_over.get(&innermost).cloned().unwrap_or_default();
                let inner = handed.iter().flat_map(|it| [it.0, it.1]);
                let inner = inner.filter(|it| start < *it && *it < end);
                let bounds: BTreeSet<Ns> = inner.chain([start, end]).collect();
                let bounds: Vec<Ns> = bounds.into_iter().collect();
                for part in bounds.windows(2) {
                    let is_handed = handed.iter().any(|it| it.0 <= part[0] && part[1] <= it.1);
                    let thread_time = if is_handed { 0 } else { part[1] - part[0] };
                    let span = (part[0], part[1]);
                    self.instant(thread, span, thread_time, innermost, is_adopted);
                }
            }
        }
    }

    /// What elapses during `span`, and the `duration` that is time of the thread: all of it, or nothing.
    fn instant(
        &mut self,
        thread: usize,
        span: (Ns, Ns),
        duration: Ns,
        innermost: usize,
        is_adopted: bool,
    ) {
        let waits = is_waiting(&self.recording.hosts[innermost]);
        if self.is_idle[thread] || (self.is_helper[thread] && waits) {
            self.accounts.totals.waiting += span.1 - span.0;
            self.unattributed("idle_thread").waiting += span.1 - span.0;
            return;
        }
        let stack = self.stacks.inside[innermost].clone();
        let waiting = if waits { duration } else { 0 };
        self.accounts.totals.cpu += duration;
        self.accounts.totals.waiting += waiting;
        let (Some(own), Some(last)) = (self.own(&stack), stack.last()) else {
            let reason = self.no_line();
            self.unattributed(reason).cpu += duration;
            self.unattributed(reason).waiting += waiting;
            return;
        };
        self.line(last).cpu_self += duration;
        self.line(&own).cpu_own += duration;
        self.line(&own).waiting += waiting;
        if self.stacks.is_recomputed[innermost] {
            self.line(&own).cpu_recompute += duration;
        }
        let is_handed_over = duration == 0;
        let of_steps = self.in_steps(span);
        let (in_steps, elapsed) = match self.steps.is_empty() {
            true => {
                let elapsed = span.1 - span.0;
                (duration, if self.main_thread == Some(thread) { elapsed } else { 0 })
            }
            false => {
                let own = self.steps.iter().filter(|it| it.3 == thread);
                let own = own.map(|&(_, start, end, _)| overlap(span, (start, end))).sum();
                let all = of_steps.iter().map(|&(_, part)| part).sum();
                (if is_handed_over { 0 } else { all }, own)
            }
        };
        for line in distinct(&stack) {
            let line = self.line(line);
            line.cpu_total += duration;
            line.cpu_in_steps += in_steps;
            line.elapsed += if is_adopted { 0 } else { elapsed };
        }
        if is_handed_over {
            return;
        }
        for (at, line) in stack.iter().enumerate().filter(|&(at, it)| !stack[..at].contains(it)) {
            if let Some((file, number)) = self.caller(line, &stack[..at]) {
                let callers = &mut self.line(line).callers;
                *callers.entry((file.to_string(), number)).or_default() += duration;
            }
        }
        for (step, part) in of_steps {
            let step = self.line(&own).steps.entry(step).or_default();
            step.cpu += part;
            step.waiting += if waits { part } else { 0 };
        }
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Calls and operators

    fn calls_and_operators(&mut self) {
        let Recording { hosts, .. } = self.recording;
        for (event, host) in hosts.iter().enumerate() {
            let kind = |&&it: &&usize| hosts[it].kind;
            if host.kind == Kind::Python && !self.is_idle[host.thread] {
                let caller =
                    host.exact_caller.clone().or_else(|| self.stacks.base[event].last().cloned());
                if let Some(caller) = caller {
                    self.line(&caller).calls += 1;
                }
            }
            let below = self.stacks.below[event].iter().rev();
            let is_outermost = below
                .take_while(|it| kind(it) != Kind::Python)
                .all(|it| kind(&it) != Kind::Operator);
            if host.kind == Kind::Operator
                && is_outermost
                && let Some(line) = self.stacks.inside[event].last()
            {
                self.line(line).ops += 1;
            }
        }
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Device events

    /// Whether the event comes before all events of its stream whose launch is in the recording, and there are some.
    fn is_in_flight(&self, event: &Device) -> bool {
        let events = self.recording.devices.iter().zip(&self.launches);
        let launched = events.filter(|(it, launch)| {
            launch.event.is_some() && (it.device, it.stream) == (event.device, event.stream)
        });
        launched.map(|(it, _)| it.start).min().is_some_and(|first| event.start < first)
    }

    fn device_events(&mut self) {
        for (index, device) in self.recording.devices.iter().enumerate() {
            let duration = device.end - device.start;
            let Launch { stack, is_known, event } = &self.launches[index];
            let (stack, is_known, event) = (stack.clone(), *is_known, *event);
            self.accounts.totals.cuda += duration;
            let (Some(own), Some(last)) = (self.own(&stack), stack.last()) else {
                let reason = match is_known {
                    true => self.no_line(),
                    false if self.is_in_flight(device) => "in_flight",
                    false => "no_launch",
                };
                self.unattributed(reason).cuda += duration;
                continue;
            };
            self.line(last).cuda_self += duration;
            self.line(&own).cuda_own += duration;
            if event.is_some_and(|it| self.stacks.is_recomputed[it]) {
                self.line(&own).cuda_recompute += duration;
            }
            if device.kind == DeviceKind::Kernel {
                self.line(&own).kernels += 1;
                self.launching(&own, index);
            }
            for line in distinct(&stack) {
                self.line(line).cuda_total += duration;
            }
            // Device time counts to the step in which it was launched.
            let launched = event.map(|it| self.recording.hosts[it].start);
            let steps = self
                .steps
                .iter()
                .find(|(_, start, end, _)| launched.is_some_and(|it| *start <= it && it < *end));
            if let Some(&(step, ..)) = steps
                && duration > 0
            {
                self.line(&own).steps.entry(step).or_default().cuda += duration;
            }
        }
    }

    /// How a kernel was launched that is not of a graph.
    fn launching(&mut self, own: &Line, index: usize) {
        let (hosts, device) = (&self.recording.hosts, &self.recording.devices[index]);
        let is_call = |&it: &usize| hosts[it].kind == Kind::Runtime;
        let calls = (0..hosts.len()).filter(is_call).filter(|&it| {
            device.correlation.is_some() && hosts[it].correlation == device.correlation
        });
        let call = calls.min_by_key(|&it| hosts[it].position).map(|it| &hosts[it]);
        let is_of_graph =
            |call: &Host| device.graph_id.is_some() || call.name.contains("GraphLaunch");
        if let Some(call) = call.filter(|call| !is_of_graph(call)) {
            let line = self.line(own);
            line.launches += 1;
            line.launch_time += call.end - call.start;
            line.short += u64::from(device.end - device.start < call.end - call.start);
        }
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Waits

    fn waits(&mut self) -> Vec<Wait> {
        let hosts = &self.recording.hosts;
        let mut waits: Vec<Wait> = Vec::new();
        let syncs: Vec<usize> = (0..hosts.len())
            .filter(|&it| self.is_sync(&hosts[it]))
            .filter(|&it| !self.stacks.below[it].iter().any(|&it| self.is_sync(&hosts[it])))
            .collect();
        for (index, &event) in syncs.iter().enumerate() {
            let host = &hosts[event];
            let before = syncs[..index].iter().rev().find(|&&it| hosts[it].thread == host.thread);
            let copy =
                before.filter(|&&it| is_copy(&hosts[it]) && hosts[it].name.contains("Async"));
            let operator = self.outermost_operator(event);
            let wait = copy
                .filter(|&&copy| operator.is_some() && operator == self.outermost_operator(copy))
                .and_then(|copy| waits.iter_mut().find(|it| it.contains(copy)));
            let is_another = wait.is_none();
            match wait {
                Some(wait) => wait.push(event),
                None => waits.push(vec![event]),
            }

            let duration = host.end - host.start;
            self.accounts.totals.sync += duration;
            let Some(own) = self.own(&self.stacks.inside[event]) else {
                let reason = self.no_line();
                self.unattributed(reason).sync += duration;
                continue;
            };
            self.line(&own).sync += duration;
            self.line(&own).syncs += u64::from(is_another);
            for (step, part) in self.in_steps((host.start, host.end)) {
                self.line(&own).steps.entry(step).or_default().sync += part;
            }
            for (index, device) in self.recording.devices.iter().enumerate() {
                let waited = overlap((host.start, host.end), (device.start, device.end));
                if let Some((file, line)) = self.own(&self.launches[index].stack)
                    && waited > 0
                {
                    *self.line(&own).waits.entry((file.to_string(), line)).or_default() += waited;
                }
            }
        }
        waits
    }

    /// The outermost operator (as in *Calls and operators*) around an event, above the innermost Python event.
    fn outermost_operator(&self, event: usize) -> Option<usize> {
        let kind = |it: usize| self.recording.hosts[it].kind;
        let above_python =
            self.stacks.below[event].iter().rev().take_while(|&&it| kind(it) != Kind::Python);
        above_python.filter(|&&it| kind(it) == Kind::Operator).last().copied()
    }

    fn is_sync(&self, host: &Host) -> bool {
        // Reading: of several device events one that is such a copy is enough.
        let is_pageable = || {
            self.recording.devices.iter().any(|it| {
                it.correlation.is_some()
                    && it.correlation == host.correlation
                    && it.kind == DeviceKind::Copy
                    && it.name.contains("Pageable")
            })
        };
        host.kind == Kind::Runtime
            && (host.name.contains("Synchronize")
                || is_copy(host) && (!host.name.contains("Async") || is_pageable()))
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Device idle time

    fn idle(&mut self, waits: &[Wait]) {
        let devices: BTreeSet<i64> = self.recording.devices.iter().map(|it| it.device).collect();
        for device in devices {
            // What of each sync no gap of the device took yet.
            let mut slacks = BTreeMap::new();
            for gap in self.gaps(device) {
                self.charge_gap(device, gap, waits, &mut slacks);
                self.after_sync(gap, waits);
                self.avoidable(device, gap, waits);
            }
        }
    }

    /// The longest spans between the first start and the last end during which no event of the device runs.
    /// *Reading:* an event that lasts no time ends a gap, too, and begins another.
    fn gaps(&self, device: i64) -> Vec<(Ns, Ns)> {
        let events = self.recording.devices.iter().filter(|it| it.device == device);
        let mut busy: Vec<(Ns, Ns)> = events.map(|it| (it.start, it.end)).collect();
        busy.sort_unstable();
        let mut free = busy[0].0;
        let mut gaps = Vec::new();
        for (start, end) in busy {
            if start > free {
                gaps.push((free, start));
            }
            free = free.max(end);
        }
        gaps
    }

    fn charge_gap(
        &mut self,
        device: i64,
        gap: (Ns, Ns),
        waits: &[Wait],
        slacks: &mut BTreeMap<usize, Ns>,
    ) {
        self.accounts.totals.gpu_idle += gap.1 - gap.0;
        let mut devices = self.recording.devices.iter();
        let ending = devices.position(|it| it.device == device && it.start == gap.1);
        let Some(launch) = ending.and_then(|it| self.launches[it].event) else {
            self.unattributed("no_launch").gpu_idle += gap.1 - gap.0;
            return;
        };
        let mut idle = gap.1 - gap.0;
        let hosts = &self.recording.hosts;
        let thread = hosts[launch].thread;
        let is_host = hosts[launch].start > gap.0;
        let caused = gap.0 + if is_host { self.explained(gap, thread, waits, slacks) } else { 0 };
        let doing: Vec<(Ns, Ns, usize)> = around(&self.threads[thread], gap)
            .iter()
            .map(|it| (it.start.max(gap.0), it.end.min(gap.1), it.innermost))
            .collect();
        for (start, end, innermost) in doing {
            idle -= end - start;
            let Some(own) = self.own(&self.stacks.inside[innermost]) else {
                let reason = self.no_line();
                self.unattributed(reason).gpu_idle += end - start;
                continue;
            };
            self.line(&own).gpu_idle += end - start;
            if is_host {
                self.line(&own).idle_host += end - start;
            } else if gap.1 - gap.0 < 30_000 {
                self.line(&own).idle_kernel += end - start;
            }
            self.line(&own).idle_after_wait += (caused.min(end) - start).max(0);
            for (step, part) in self.in_steps((start, end)) {
                self.line(&own).steps.entry(step).or_default().gpu_idle += part;
            }
        }
        if idle > 0 {
            self.unattributed("idle_thread").gpu_idle += idle;
        }
    }

    /// *Reading:* every wait during which, or at whose end, the gap begins is followed by it, on whatever thread.
    fn after_sync(&mut self, gap: (Ns, Ns), waits: &[Wait]) {
        let hosts = &self.recording.hosts;
        for wait in waits {
            let last = last_sync(hosts, wait, gap.0);
            if let Some(own) = last.and_then(|it| self.own(&self.stacks.inside[it])) {
                self.line(&own).idle_after_sync += gap.1 - gap.0;
            }
        }
    }

    /// What of a gap that `thread` ended its waits explain: those that began until the gap did, back to the last on another line,
    /// the latest first, each for no longer than it lasted in all.
    fn explained(
        &mut self,
        gap: (Ns, Ns),
        thread: usize,
        waits: &[Wait],
        slacks: &mut BTreeMap<usize, Ns>,
    ) -> Ns {
        let hosts = &self.recording.hosts;
        let mut syncs: Vec<usize> = waits.iter().flatten().copied().collect();
        syncs.retain(|&it| hosts[it].thread == thread && hosts[it].start <= gap.0);
        syncs.sort_unstable();
        let line = |it: usize| self.own(&self.stacks.inside[it]);
        let last = syncs.last().map(|&it| line(it));
        let of_line: Vec<usize> =
            syncs.into_iter().rev().take_while(|&it| Some(line(it)) == last).collect();
        let mut rest = gap.1 - gap.0;
        for sync in of_line {
            let duration = self.recording.hosts[sync].end - self.recording.hosts[sync].start;
            let left = slacks.entry(sync).or_insert(duration);
            let taken = rest.min(*left);
            *left -= taken;
            rest -= taken;
            self.avoid(sync, taken);
        }
        gap.1 - gap.0 - rest
    }

    /// What of a gap that another thread ended would not be without the waits that it follows.
    fn avoidable(&mut self, device: i64, gap: (Ns, Ns), waits: &[Wait]) {
        let mut devices = self.recording.devices.iter();
        let ending = devices.position(|it| it.device == device && it.start == gap.1);
        let Some(launch) = ending.and_then(|it| self.launches[it].event) else { return };
        let (thread, launched) =
            (self.recording.hosts[launch].thread, self.recording.hosts[launch].start);
        for &sync in waits.iter().flatten().filter(|_| launched > gap.0) {
            let host = &self.recording.hosts[sync];
            if host.thread != thread && host.start <= gap.0 && gap.0 <= host.end && host.end < gap.1
            {
                self.avoid(sync, (gap.1 - gap.0).min(host.end - host.start));
            }
        }
    }

    fn avoid(&mut self, sync: usize, time: Ns) {
        let stack = &self.stacks.inside[sync];
        let is_profiler = stack.iter().any(|it| is_profiler(&it.0));
        let Some(own) = self.own(stack).filter(|_| !is_profiler) else { return };
        let start = self.recording.hosts[sync].start;
        let is_in_step =
            self.steps.is_empty() || self.steps.iter().any(|it| it.1 <= start && start < it.2);
        self.line(&own).avoidable_idle += time;
        self.line(&own).avoidable_in_steps += if is_in_step { time } else { 0 };
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Backward by cause

    fn backward(&mut self) {
        let mut spent: Vec<(usize, Ns, bool)> = Vec::new();
        for interval in self.threads.iter().flatten() {
            let node = self.backward_node(interval.innermost);
            let node = node.filter(|&it| self.recording.hosts[it].is_open_at(interval.start));
            spent.extend(node.map(|it| (it, interval.end - interval.start, false)));
        }
        for (device, launch) in self.recording.devices.iter().zip(&self.launches) {
            let node = launch.event.and_then(|it| self.backward_node(it));
            spent.extend(node.map(|it| (it, device.end - device.start, true)));
        }
        for (node, time, is_on_device) in spent {
            let forward = self.forward_by_flow(node).or_else(|| self.forward_by_sequence(node));
            if let Some(own) = forward.and_then(|it| self.own(&self.stacks.inside[it])) {
                let line = self.line(&own);
                *(if is_on_device { &mut line.cuda_backward } else { &mut line.cpu_backward }) +=
                    time;
            }
        }
    }

    /// The backward node that an event belongs to: itself, or one that is open when it starts.
    fn backward_node(&self, event: usize) -> Option<usize> {
        let hosts = &self.recording.hosts;
        let start = hosts[event].start;
        if self.stacks.is_recomputed[event] {
            return None;
        }
        let of_pass = self.of_backward_pass(event).iter().copied().chain([event]);
        let mut nodes =
            of_pass.filter(|&it| hosts[it].is_open_at(start) && self.is_backward_node(it));
        nodes.next_back()
    }

    fn is_backward_node(&self, event: usize) -> bool {
        let is_backward = |it: usize| {
            let host = &self.recording.hosts[it];
            host.kind == Kind::Operator
                && host.forward_thread != 0
                && host.sequence.is_some()
                && !self.stacks.is_recomputed[it]
        };
        is_backward(event) && !self.of_backward_pass(event).iter().any(|&it| is_backward(it))
    }

    /// What is open below an event, from the last backward pass on that a checkpoint runs.
    fn of_backward_pass(&self, event: usize) -> &[usize] {
        let below = &self.stacks.below[event];
        let runs = |&it: &usize| is_checkpoint_node(&self.recording.hosts[it]);
        &below[below.iter().rposition(runs).map_or(0, |it| it + 1)..]
    }

    fn forward_by_flow(&self, node: usize) -> Option<usize> {
        let hosts = &self.recording.hosts;
        let flows = &self.recording.forward_backward;
        let thread = hosts[node].thread;
        // Nodes contain others where checkpoints run backward passes.
        let is_in_inner = |at: Ns| {
            let mut inner = self.recording.on_thread(thread).filter(|&it| node < it);
            inner.any(|it| hosts[it].start <= at && self.is_backward_node(it))
        };
        let node = &hosts[node];
        let heads = flows.iter().filter(|it| it.is_head && it.thread == thread);
        let earliest = heads
            .filter(|it| node.start == it.at || node.is_open_at(it.at))
            .filter(|it| !is_in_inner(it.at))
            .min_by_key(|it| it.at)?;
        let tail = flows.iter().find(|it| !it.is_head && it.id == earliest.id)?;
        let mut starting = (0..hosts.len())
            .filter(|&it| hosts[it].thread == tail.thread && hosts[it].start == tail.at);
        starting.find(|&it| hosts[it].kind == Kind::Operator)
    }

    fn forward_by_sequence(&self, node: usize) -> Option<usize> {
        let hosts = &self.recording.hosts;
        let is_forward = |it: &Host| it.kind == Kind::Operator && it.forward_thread == 0;
        (0..hosts.len())
            .find(|&it| is_forward(&hosts[it]) && hosts[it].sequence == hosts[node].sequence)
    }

    // -----------------------------------------------------------------------------------------------------------------
    // Memory

    fn memory(&mut self) {
        let memory = &self.recording.memory;
        let memories: BTreeSet<(i64, i64)> = memory.iter().map(|it| it.memory).collect();
        for of in memories {
            let mut events: Vec<&Memory> = memory.iter().filter(|it| it.memory == of).collect();
            events.sort_by_key(|it| it.at);
            self.one_memory(&events);
        }
    }

    /// The events of one memory in order.
    fn one_memory(&mut self, events: &[&Memory]) {
        let sums = events.iter().scan(0, |sum, it| {
            *sum += it.bytes;
            Some(*sum)
        });
        let peak = sums
            .enumerate()
            .max_by_key(|&(index, sum)| (sum, Reverse(index)))
            .map_or(0, |(index, _)| index);
        for (index, event) in events.iter().enumerate().filter(|(_, it)| it.bytes > 0) {
            self.accounts.totals.alloc += event.bytes;
            let Some(own) = self.own(&self.stack_at(event.thread, event.at)) else {
                let reason = self.no_line();
                self.unattributed(reason).alloc += event.bytes;
                continue;
            };
            let line = self.line(&own);
            line.alloc += event.bytes;
            line.allocs += 1;
            // Without addresses nothing is said about what was freed.
            if event.address.is_none() {
                continue;
            }
            // A release frees it, and so does an allocation at the address that is still taken.
            let next = events[index + 1..]
                .iter()
                .position(|it| it.bytes != 0 && it.address == event.address);
            match next {
                Some(_) => line.freed += event.bytes,
                None => line.live += event.bytes,
            }
            if index <= peak && next.is_none_or(|it| peak < index + 1 + it) {
                line.peak += event.bytes;
            }
        }
    }

    fn stack_at(&self, thread: usize, at: Ns) -> Stack {
        let open = around(&self.threads[thread], (at, at.saturating_add(1)));
        open.first().map_or_else(Stack::default, |it| self.stacks.inside[it.innermost].clone())
    }
}
