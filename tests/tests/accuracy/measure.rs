//! How often inference finds the right line: the exact evidence of a recording is hidden, and what is inferred is held
//! against it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use attribution::{AttributionOptions, EventLine, event_lines, join_callers, join_lines};
use ledger::{Evidence, Ns};
use profile::{HostEventId, HostKind, Profile};
use recorded::RecordedSources;
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

/// The accuracy on one recording.
#[derive(Debug, Default)]
pub(crate) struct Accuracy {
    /// Calls made from your code.
    pub(crate) own: Score,
    /// Calls made from library code whose source is there.
    pub(crate) library: Score,
    /// Operators directly below a frame of your code.
    pub(crate) operators: Score,
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
    for it in &exact {
        let is_call =
            host.kind[it.event.index()] == HostKind::Python && it.evidence == Evidence::Exact;
        let has_source = sources.has_text(&it.file);
        if !is_call || !has_source {
            continue;
        }
        let score =
            if sources.is_user_code(&it.file) { &mut accuracy.own } else { &mut accuracy.library };
        let assigned = inferred.get(&it.event);
        let before = score.right;
        score.count((&it.file, it.line), assigned, host.duration[it.event.index()]);
        if score.right == before {
            accuracy.mistakes.push(mistake(&profile, it.event, (&it.file, it.line), assigned));
        }
    }
    if let Some(truth) = truth {
        operators(&profile, truth, &sources, &inferred, &mut accuracy);
    }
    accuracy
}

fn operators(
    profile: &Profile,
    truth: &Path,
    sources: &RecordedSources,
    inferred: &HashMap<HostEventId, EventLine>,
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
        let before = accuracy.operators.right;
        accuracy.operators.count((file, line), assigned, host.duration[event.index()]);
        if accuracy.operators.right == before {
            accuracy.mistakes.push(mistake(profile, event, (file, line), assigned));
        }
    }
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
