//! How often inference finds the right line: the exact evidence of a recording is hidden, and what is inferred is held
//! against it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use attribution::{AttributionOptions, EventLine, event_lines, join_callers, join_lines};
use ledger::{Evidence, Ns};
use profile::{HostEventId, HostKind, Profile, ThreadId};
use recorded::{Frame, RecordedSources, in_order};
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

/// How much of the thread time of your code stands on the right line: the time of the calls and operators directly below
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
    let callers = beside(trace, ".callers.json.gz");
    if callers.is_file() {
        let (callers, _) = read_callers(&unpacked(&callers)).expect("a side-car");
        join_callers(&mut profile, &callers);
        join_lines(&mut profile, &callers);
    }
    let sources = loader::find_sources(&profile, root, sites);
    let exact = event_lines(&profile, &sources, AttributionOptions::default());
    let hidden = AttributionOptions { ignore_exact, ..AttributionOptions::default() };
    let inferred: HashMap<HostEventId, EventLine> =
        event_lines(&profile, &sources, hidden).into_iter().map(|it| (it.event, it)).collect();
    let mut accuracy = Accuracy::default();
    let host = &profile.host;
    let own_time = own_time(&profile, &sources);
    for it in &exact {
        let is_call =
            host.kind[it.event.index()] == HostKind::Python && it.evidence == Evidence::Exact;
        let has_source = sources.has_text(&it.file);
        if !is_call || !has_source {
            continue;
        }
        let is_own = sources.is_user_code(&it.file);
        let score = if is_own { &mut accuracy.own } else { &mut accuracy.library };
        let (truth, assigned) = ((it.file.as_str(), it.line), inferred.get(&it.event));
        if is_own {
            accuracy.time.count(truth, assigned, own_time[it.event.index()]);
        }
        let before = score.right;
        score.count(truth, assigned, host.duration[it.event.index()]);
        if score.right == before {
            accuracy.mistakes.push(mistake(&profile, it.event, (&it.file, it.line), assigned));
        }
    }
    if let Some(truth) = truth {
        operators(&profile, truth, &sources, &inferred, &own_time, &mut accuracy);
    }
    accuracy
}

fn operators(
    profile: &Profile,
    truth: &Path,
    sources: &RecordedSources,
    inferred: &HashMap<HostEventId, EventLine>,
    own_time: &[Ns],
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
        accuracy.time.count((file, line), assigned, own_time[event.index()]);
        let before = accuracy.operators.right;
        accuracy.operators.count((file, line), assigned, host.duration[event.index()]);
        if accuracy.operators.right == before {
            accuracy.mistakes.push(mistake(profile, event, (file, line), assigned));
        }
    }
}

/// By host event: of one directly below a frame of your code, its time without the frames of your code inside it; of
/// these frames and of all other events, nothing.
fn own_time(profile: &Profile, sources: &RecordedSources) -> Vec<Ns> {
    let host = &profile.host;
    let is_user_frame = |id: HostEventId| {
        let name = profile.strings.get(host.name[id.index()]);
        let frame = (host.kind[id.index()] == HostKind::Python).then(|| Frame::parse(name));
        let source = frame.flatten().and_then(|frame| sources.get(frame.file));
        source.is_some_and(|source| source.is_user_code)
    };
    let mut times = vec![Ns(0); host.len()];
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
                Owner::Event(at)
            }
            Owner::Event(_) | Owner::Library => around,
        };
        stack.push((host.end(id), owner));
    }
    // Whole microseconds may leave more inside an event than it has.
    times.into_iter().map(|it| it.max(Ns(0))).collect()
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
    trace.with_file_name(format!("{}{ending}", name.trim_end_matches(".json.gz")))
}
