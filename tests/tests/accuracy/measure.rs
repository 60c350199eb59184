//! How often inference finds the right line: the exact evidence of a recording is hidden, and what is inferred is held
//! against it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use attribution::{AttributionOptions, EventLine, event_lines, join_callers, join_lines};
use ledger::{Evidence, Ns};
use profile::{HostEventId, HostKind, Profile, ThreadId};
use recorded::{Frame, Launches, RecordedSources, in_order};
use trace_reader::TraceReader;
use trace_reader::callers::read_callers;

/// Counts of one kind of events.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Score {
    /// Events with a known true line.
    pub(crate) events: u64,
    /// Assigned to the right line.
    pub(crate) right: u64,
    /// Assigned to a wrong line.
    pub(crate) wrong: u64,
    /// Thread time of the events.
    pub(crate) time: Ns,
    /// Thread time of those assigned to the right line.
    pub(crate) right_time: Ns,
}

impl Score {
    fn count(&mut self, truth: (&str, u32), assigned: Option<&EventLine>, time: Ns) {
        self.events += 1;
        self.time += time;
        let assigned = assigned.filter(|it| it.evidence != Evidence::Function);
        match assigned {
            Some(it) if (it.file.as_str(), it.line) == truth => {
                self.right += 1;
                self.right_time += time;
            }
            Some(_) => self.wrong += 1,
            None => {}
        }
    }

    /// Adds another recording's counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.right += other.right;
        self.wrong += other.wrong;
        self.time += other.time;
        self.right_time += other.right_time;
    }
}

/// How much of the time of your code stands on the right line: the time of the calls and operators directly below
/// your frames whose true line is known, without your frames inside them, which have lines of their own.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct OwnTime {
    /// On the right line.
    pub(crate) right: Ns,
    /// On a wrong line.
    pub(crate) wrong: Ns,
    /// On the definition of the function, said to be so.
    pub(crate) at_functions: Ns,
}

impl OwnTime {
    fn count(&mut self, truth: (&str, u32), assigned: Option<&EventLine>, time: Ns) {
        let assigned = assigned.filter(|it| it.evidence != Evidence::Function);
        *match assigned {
            Some(it) if (it.file.as_str(), it.line) == truth => &mut self.right,
            Some(_) => &mut self.wrong,
            None => &mut self.at_functions,
        } += time;
    }

    /// Adds another recording's time.
    pub(crate) fn add(&mut self, other: &Self) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.at_functions += other.at_functions;
    }
}

/// The accuracy on one recording.
#[derive(Debug, Default)]
pub(crate) struct Accuracy {
    /// Calls made from your code.
    pub(crate) own: Score,
    /// Calls made from library code whose source is there.
    pub(crate) library: Score,
    /// Operators directly below a frame of your code.
    pub(crate) operators: Score,
    /// Of both of your code, by time.
    pub(crate) time: OwnTime,
    /// Of both of your code, by the device time of what they launch.
    pub(crate) device_time: OwnTime,
    /// Those that were not assigned to the right line, as text.
    pub(crate) mistakes: Vec<String>,
}

/// Measures one recording. `truth` holds the true lines of operators, as `fixtures/record.py --truth` writes them. With
/// `ignore_exact` all lines have to be inferred, else those of operators alone.
pub(crate) fn measure(
    trace: &Path,
    truth: Option<&Path>,
    root: &Path,
    sites: &[PathBuf],
    ignore_exact: bool,
) -> Accuracy {
    let mut profile = read_trace(trace);
    let mut lines = None;
    let callers = beside(trace, ".callers.json.gz");
    if callers.is_file() {
        let (callers, _) = read_callers(&unpacked(&callers)).expect("a side-car");
        join_callers(&mut profile, &callers);
        lines = Some(callers);
    }
    let sources = loader::find_sources(&profile, root, sites);
    // Before the recorder's lines are joined: they are no part of what is hidden by an option.
    let hidden = AttributionOptions { ignore_exact, ..AttributionOptions::default() };
    let inferred: HashMap<HostEventId, EventLine> =
        event_lines(&profile, &sources, hidden).into_iter().map(|it| (it.event, it)).collect();
    if let Some(lines) = lines {
        join_lines(&mut profile, &lines);
    }
    let exact = event_lines(&profile, &sources, AttributionOptions::default());
    let mut accuracy = Accuracy::default();
    let host = &profile.host;
    let own_times = OwnTimes::new(&profile, &sources);
    for it in &exact {
        let is_operator = host.kind[it.event.index()] == HostKind::Operator;
        // The recorder's lines are what operators are held against where no tracer ran.
        let counts = it.evidence == Evidence::Exact
            && sources.has_text(&it.file)
            && match host.kind[it.event.index()] {
                HostKind::Python => true,
                HostKind::Operator => truth.is_none() && own_times.is_direct[it.event.index()],
                _ => false,
            };
        if !counts {
            continue;
        }
        let is_own = sources.is_user_code(&it.file);
        let score = match (is_operator, is_own) {
            (true, _) => &mut accuracy.operators,
            (false, true) => &mut accuracy.own,
            (false, false) => &mut accuracy.library,
        };
        let (truth, assigned) = ((it.file.as_str(), it.line), inferred.get(&it.event));
        if is_own {
            accuracy.time.count(truth, assigned, own_times.thread[it.event.index()]);
            accuracy.device_time.count(truth, assigned, own_times.device[it.event.index()]);
        }
        let before = score.right;
        score.count(truth, assigned, host.duration[it.event.index()]);
        if score.right == before {
            accuracy.mistakes.push(mistake(&profile, it.event, (&it.file, it.line), assigned));
        }
    }
    if let Some(truth) = truth {
        operators(&profile, truth, &sources, &inferred, &own_times, &mut accuracy);
    }
    accuracy
}

fn operators(
    profile: &Profile,
    truth: &Path,
    sources: &RecordedSources,
    inferred: &HashMap<HostEventId, EventLine>,
    own_times: &OwnTimes,
    accuracy: &mut Accuracy,
) {
    let host = &profile.host;
    let is_operator = |id: &HostEventId| host.kind[id.index()] == HostKind::Operator;
    let by_external_id: HashMap<i64, HostEventId> = host
        .ids()
        .filter(is_operator)
        .map(|id| (host.operators.external_id[host.detail_row(id)], id))
        .collect();
    let rows: Vec<(i64, String, String, u32)> =
        serde_json::from_slice(&std::fs::read(truth).expect("truth")).expect("rows");
    for (external_id, _, frame, line) in rows {
        let Some(&event) = by_external_id.get(&external_id) else { continue };
        let recorded = frame.rsplit_once('(').and_then(|_| frame.split('(').next()).unwrap_or("");
        let file = sources.get(recorded).map_or(recorded, |source| source.key.as_str());
        let assigned = inferred.get(&event);
        accuracy.time.count((file, line), assigned, own_times.thread[event.index()]);
        accuracy.device_time.count((file, line), assigned, own_times.device[event.index()]);
        let before = accuracy.operators.right;
        accuracy.operators.count((file, line), assigned, host.duration[event.index()]);
        if accuracy.operators.right == before {
            accuracy.mistakes.push(mistake(profile, event, (file, line), assigned));
        }
    }
}

/// By host event: of one directly below a frame of your code, its time without the frames of your code inside it; of
/// these frames and of all other events, nothing.
struct OwnTimes {
    /// On the thread of the event.
    thread: Vec<Ns>,
    /// On devices, of what was launched in that time.
    device: Vec<Ns>,
    /// Whether it is directly below a frame of your code.
    is_direct: Vec<bool>,
}

impl OwnTimes {
    fn new(profile: &Profile, sources: &RecordedSources) -> Self {
        let host = &profile.host;
        let is_user_frame = |id: HostEventId| {
            let name = profile.strings.get(host.name[id.index()]);
            let frame = (host.kind[id.index()] == HostKind::Python).then(|| Frame::parse(name));
            let source = frame.flatten().and_then(|frame| sources.get(frame.file));
            source.is_some_and(|source| source.is_user_code)
        };
        let mut times = vec![Ns(0); host.len()];
        let mut is_direct = vec![false; host.len()];
        let mut owner_of: HashMap<HostEventId, usize> = HashMap::new();
        // By thread, the open events: their end, and what has the time inside them, none inside frames of your code that
        // nothing else has called; outside of all of your code, time has no owner at all.
        let mut open: HashMap<ThreadId, Vec<(Ns, Owner)>> = HashMap::new();
        for id in in_order(profile) {
            let at = id.index();
            let stack = open.entry(host.thread[at]).or_default();
            while stack.last().is_some_and(|&(end, _)| end <= host.start[at]) {
                stack.pop();
            }
            let around = stack.last().map_or(Owner::Library, |&(_, owner)| owner);
            let owner = match around {
                _ if is_user_frame(id) => {
                    if let Owner::Event(owner) = around {
                        times[owner] -= host.duration[at];
                    }
                    Owner::UserFrame
                }
                Owner::UserFrame => {
                    times[at] = host.duration[at];
                    is_direct[at] = true;
                    Owner::Event(at)
                }
                Owner::Event(_) | Owner::Library => around,
            };
            if let (HostKind::Runtime, Owner::Event(owner)) = (host.kind[at], owner) {
                owner_of.insert(id, owner);
            }
            stack.push((host.end(id), owner));
        }
        // Whole microseconds may leave more inside an event than it has.
        let thread = times.into_iter().map(|it| it.max(Ns(0))).collect();
        let mut device = vec![Ns(0); host.len()];
        let launches = Launches::new(profile);
        for id in profile.device.ids() {
            if let Some(&owner) = launches.call(id).and_then(|it| owner_of.get(&it)) {
                device[owner] += profile.device.duration[id.index()];
            }
        }
        Self { thread, device, is_direct }
    }
}

/// What the time inside an event belongs to.
#[derive(Clone, Copy)]
enum Owner {
    /// A frame of your code: what runs directly in it owns its time.
    UserFrame,
    /// A call or an operator directly below such a frame.
    Event(usize),
    /// A library that none of your code called.
    Library,
}

fn mistake(
    profile: &Profile,
    event: HostEventId,
    truth: (&str, u32),
    assigned: Option<&EventLine>,
) -> String {
    let name = profile.strings.get(profile.host.name[event.index()]);
    let assigned = assigned.filter(|it| it.evidence != Evidence::Function);
    let assigned = assigned.map_or("none".to_owned(), |it| format!("{}:{}", it.file, it.line));
    // Addresses differ from run to run, and numbers of modules from instance to instance.
    let name = name.split(" at 0x").next().unwrap_or(name);
    format!("{}:{} assigned {assigned}: {name}", truth.0, truth.1)
}

fn read_trace(path: &Path) -> Profile {
    let mut reader = TraceReader::new();
    reader.feed(&unpacked(path));
    reader.finish().profile
}

fn unpacked(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = File::open(path).expect("opens");
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes).expect("unpacks");
    bytes
}

/// The file beside `trace` that has its stem and another ending.
pub(crate) fn beside(trace: &Path, ending: &str) -> PathBuf {
    let name = trace.file_name().expect("a name").to_string_lossy();
    trace.with_file_name(format!(
        "{}{ending}",
        name.trim_end_matches(".json.gz").trim_end_matches(".pt.trace")
    ))
}
