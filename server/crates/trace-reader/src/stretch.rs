//! Stretches of a trace that are read ahead, on other cores, and put in their place afterwards.
//!
//! Whether a stretch begins where an event does is not known while it is read: it begins where that is likely. When its
//! turn comes, the [`TraceReader`] has read everything before, and takes the stretch over only if it arrives between two
//! events at exactly that byte. Otherwise, and where anything in the stretch was odd in a way that what came before
//! bears on, it reads the bytes itself. So the result is that of reading the bytes one after the other, whatever they are.

use memchr::memmem;
use profile::{
    DeviceEvents, Flow, HostEvents, HostKind, LaunchShapeId, MemoryEvents, Operators, Profile,
    PythonCalls, RuntimeCalls, StrId, ThreadId, WarningKind,
};

use crate::event::Event;
use crate::gap::Gaps;
use crate::reader::TraceReader;
use crate::tables::{MOST_ROWS, Tables};

/// Reads stretches of traces. Each core has one of its own.
#[derive(Debug)]
pub struct StretchReader {
    /// What was learned from the stretches before; it makes no difference to the result.
    gaps: Gaps,
}

/// The events of a stretch, to be given to [`TraceReader::feed_stretch`].
#[derive(Debug)]
pub struct Stretch {
    /// The bytes that were read, counted from where the piece of input begins.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) tables: Tables,
}

impl Stretch {
    /// Events that were read.
    #[must_use]
    pub fn n_events(&self) -> usize {
        usize::try_from(self.tables.events).unwrap_or(usize::MAX)
    }
}

impl Default for StretchReader {
    fn default() -> Self {
        Self::new()
    }
}

impl StretchReader {
    /// A reader that has learned nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { gaps: Gaps::new() }
    }

    /// Reads the events that are whole in `bytes`, a piece of a trace; `None` if none is seen to begin, or what was
    /// read is better read in its place.
    pub fn read(&mut self, bytes: &[u8]) -> Option<Stretch> {
        let start = first_boundary(bytes)?;
        let gaps = std::mem::replace(&mut self.gaps, Gaps::new());
        let mut reader = TraceReader::among_events(gaps);
        let mut event = Event::new();
        let mut end = start;
        while let Some(next) = reader.next_event(bytes, end, &mut event) {
            end = next;
        }
        let (tables, gaps) = reader.into_tables();
        self.gaps = gaps;
        tables.is_independent().then_some(Stretch { start, end, tables })
    }
}

/// Position behind the first event that is followed by another one, as far as one can tell: only events begin with `ph`.
fn first_boundary(bytes: &[u8]) -> Option<usize> {
    memmem::find_iter(bytes, b"\"ph\"").find_map(|key| {
        let before = |end: usize, expected: u8| {
            let at = bytes[..end].iter().rposition(|it| !it.is_ascii_whitespace())?;
            (bytes[at] == expected).then_some(at)
        };
        let brace = before(key, b'{')?;
        let comma = before(brace, b',')?;
        before(comma, b'}').map(|end| end + 1)
    })
}

impl Tables {
    /// Whether nothing in the tables would be otherwise had other events been read before. Warnings that tell of one
    /// event alone make no difference; of texts, only the first reading of an id of a thread warns.
    fn is_independent(&self) -> bool {
        let of_one_event = |kind| {
            matches!(
                kind,
                WarningKind::UnknownCategory
                    | WarningKind::BareWord
                    | WarningKind::NumberOutOfRange
                    | WarningKind::MissingTime
                    | WarningKind::NegativeDuration
                    | WarningKind::NotCredible
                    | WarningKind::Other
            )
        };
        self.open.values().all(Vec::is_empty)
            && self.warnings.iter().all(|warning| of_one_event(warning.kind))
    }

    /// Puts the rows of `later` behind these, unless there would be too many. `shift` is what its offsets lack.
    pub(crate) fn append(&mut self, later: &Self, shift: u64) -> bool {
        let n_rows = |Self { profile: it, .. }: &Self| {
            it.host.len().max(it.device.len()).max(it.memory.len())
        };
        if n_rows(self) + n_rows(later) >= MOST_ROWS
            || !self.warnings.append(&later.warnings, shift)
        {
            return false;
        }
        self.events += later.events;
        self.phased += later.phased;
        let Profile { strings, meta: _, threads, host, device, memory, flows } = &later.profile;
        // In the order of their first appearance, as they would have been met here.
        let ids: Vec<StrId> =
            strings.iter().map(|(_, text)| self.profile.strings.intern(text)).collect();
        let renamed = Renamed {
            strings: &ids,
            threads: threads
                .iter()
                .map(|it| self.thread_of(string(&ids, it.pid), string(&ids, it.tid)))
                .collect(),
        };
        for (&(pid, tid), &name) in &later.thread_names {
            let key = (string(&ids, pid), string(&ids, tid));
            self.thread_names.insert(key, string(&ids, name));
        }
        let profile = &mut self.profile;
        self.noted.extend(later.noted.iter().map(|it| it.behind(profile, shift)));
        append_host(&mut profile.host, host, &renamed);
        append_device(&mut profile.device, device, &renamed);
        append_memory(&mut profile.memory, memory, &renamed);
        let flow = |it: &Flow| Flow { thread: renamed.thread(it.thread), ..*it };
        profile.flows.extend(flows.iter().map(flow));
        true
    }
}

/// The handles here of what a stretch calls otherwise.
struct Renamed<'a> {
    strings: &'a [StrId],
    threads: Vec<ThreadId>,
}

impl Renamed<'_> {
    fn thread(&self, id: ThreadId) -> ThreadId {
        self.threads.get(id.index()).copied().unwrap_or(id)
    }

    fn append_threads(&self, to: &mut Vec<ThreadId>, from: &[ThreadId]) {
        to.extend(from.iter().map(|&id| self.thread(id)));
    }

    fn append_strings(&self, to: &mut Vec<StrId>, from: &[StrId]) {
        to.extend(from.iter().map(|&id| string(self.strings, id)));
    }
}

fn string(ids: &[StrId], id: StrId) -> StrId {
    ids.get(id.index()).copied().unwrap_or(StrId::NONE)
}

// Each of these names all columns of a table, so that a new one cannot be forgotten.

fn append_host(to: &mut HostEvents, from: &HostEvents, renamed: &Renamed<'_>) {
    let HostEvents { kind, thread, name, start, duration, detail, python, operators, runtime } =
        from;
    let base = |rows: usize| u32::try_from(rows).unwrap_or(u32::MAX);
    let (n_python, n_operators, n_runtime) = (
        base(to.python.id.len()),
        base(to.operators.external_id.len()),
        base(to.runtime.correlation.len()),
    );
    to.kind.extend_from_slice(kind);
    renamed.append_threads(&mut to.thread, thread);
    renamed.append_strings(&mut to.name, name);
    to.start.extend_from_slice(start);
    to.duration.extend_from_slice(duration);
    to.detail.extend(kind.iter().zip(detail).map(|(kind, detail)| match kind {
        HostKind::Annotation => *detail,
        HostKind::Python => n_python + detail,
        HostKind::Operator => n_operators + detail,
        HostKind::Runtime => n_runtime + detail,
    }));
    let PythonCalls { id, parent, caller } = python;
    to.python.id.extend_from_slice(id);
    to.python.parent.extend_from_slice(parent);
    renamed.append_strings(&mut to.python.caller, caller);
    let Operators {
        external_id,
        sequence,
        forward_thread,
        call_stack,
        input_dims,
        input_types,
        concrete_inputs,
        line,
    } = operators;
    to.operators.external_id.extend_from_slice(external_id);
    to.operators.sequence.extend_from_slice(sequence);
    to.operators.forward_thread.extend_from_slice(forward_thread);
    renamed.append_strings(&mut to.operators.call_stack, call_stack);
    renamed.append_strings(&mut to.operators.input_dims, input_dims);
    renamed.append_strings(&mut to.operators.input_types, input_types);
    renamed.append_strings(&mut to.operators.concrete_inputs, concrete_inputs);
    renamed.append_strings(&mut to.operators.line, line);
    let RuntimeCalls { correlation, external_id } = runtime;
    to.runtime.correlation.extend_from_slice(correlation);
    to.runtime.external_id.extend_from_slice(external_id);
}

fn append_device(to: &mut DeviceEvents, from: &DeviceEvents, renamed: &Renamed<'_>) {
    let DeviceEvents {
        kind,
        name,
        start,
        duration,
        device,
        stream,
        correlation,
        external_id,
        graph_id,
        graph_node_id,
        bytes,
        shape,
        stack,
        shapes,
    } = from;
    to.kind.extend_from_slice(kind);
    renamed.append_strings(&mut to.name, name);
    to.start.extend_from_slice(start);
    to.duration.extend_from_slice(duration);
    to.device.extend_from_slice(device);
    to.stream.extend_from_slice(stream);
    to.correlation.extend_from_slice(correlation);
    to.external_id.extend_from_slice(external_id);
    to.graph_id.extend_from_slice(graph_id);
    to.graph_node_id.extend_from_slice(graph_node_id);
    to.bytes.extend_from_slice(bytes);
    let ids: Vec<LaunchShapeId> = (0..)
        .map_while(|id| shapes.get(LaunchShapeId(id)))
        .map(|it| to.shapes.intern(*it))
        .collect();
    let shape_of = |id: &LaunchShapeId| ids.get(id.0 as usize).copied();
    to.shape.extend(shape.iter().map(|id| shape_of(id).unwrap_or(LaunchShapeId::NONE)));
    renamed.append_strings(&mut to.stack, stack);
}

fn append_memory(to: &mut MemoryEvents, from: &MemoryEvents, renamed: &Renamed<'_>) {
    let MemoryEvents { at, thread, address, bytes, device, total_allocated, total_reserved } = from;
    to.at.extend_from_slice(at);
    renamed.append_threads(&mut to.thread, thread);
    to.address.extend_from_slice(address);
    to.bytes.extend_from_slice(bytes);
    to.device.extend_from_slice(device);
    to.total_allocated.extend_from_slice(total_allocated);
    to.total_reserved.extend_from_slice(total_reserved);
}
