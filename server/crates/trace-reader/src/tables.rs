//! Events to rows.

mod append;

use profile::{
    Bytes, DeviceEventId, DeviceKind, DeviceType, FlowPoint, HostKind, LaunchShape, LaunchShapeId,
    MemoryDevice, Message, MessageId, Ns, Profile, StrId, Thread, ThreadId, WarningKind, Warnings,
};
use rustc_hash::FxHashMap;

use crate::category::{self, EventClass};
use crate::event::Event;
use crate::keys::{Anomaly, EventNumber, Json, Label, Triple};
use crate::number::{self, Parsed};
use crate::scan::RawText;
use crate::set_aside::{self, EventRow, MAX_BYTES, NOTED, Noted, TIMES};
use crate::text;

/// The first version of torch that writes `CallFrom`.
const FIRST_WITH_CALLERS: (u32, u32) = (2, 14);

/// Rows that a table holds at most: its handles have 32 bits, and the last one means "none".
pub(crate) const MAX_ROWS: usize = u32::MAX as usize;

/// The profile under construction.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) profile: Profile,
    pub(crate) warnings: Warnings,
    /// Elements of `traceEvents` that were read.
    pub(crate) events: u64,
    /// Of these, those with a phase.
    pub(crate) phased: u64,
    threads: FxHashMap<(StrId, StrId), ThreadId>,
    recent_threads: Vec<RecentThread>,
    pub(crate) thread_names: FxHashMap<(StrId, StrId), StrId>,
    last_shape: Option<(LaunchShape, LaunchShapeId)>,
    /// Ranges that were begun (`ph` is `B`) and not yet ended, by thread.
    pub(crate) open: FxHashMap<ThreadId, Vec<OpenRange>>,
    /// Rows that may have to be set aside in the end: all device events, and what is large.
    pub(crate) noted: Vec<Noted>,
}

/// Threads alternate between a few.
#[derive(Debug)]
struct RecentThread {
    pid: Box<[u8]>,
    tid: Box<[u8]>,
    id: ThreadId,
}

/// The row of a range that waits for its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenRange {
    /// `None` if the event was not kept.
    row: Option<EventRow>,
    start: Ns,
    /// Offset of its begin.
    offset: u64,
}

impl Tables {
    /// Takes over one event that was read whole. `offset` is where it begins in the input, `buffer_offset` what its
    /// anomalies are counted from.
    #[inline]
    pub(crate) fn add(
        &mut self,
        event: &Event<'_>,
        anomalies: &[Anomaly],
        offset: u64,
        buffer_offset: u64,
    ) {
        self.events += 1;
        for (kind, at, message) in anomalies {
            self.warnings.add(*kind, buffer_offset + *at as u64, message);
        }
        let phase = event.label(Label::Phase).raw.first().copied().unwrap_or(0);
        self.phased += u64::from(phase != 0);
        match phase {
            b'X' => self.complete(event, offset),
            b's' | b'f' => self.flow(event, phase == b'f', offset),
            b'i' | b'I' if event.label(Label::Name).raw == b"[memory]" => {
                self.memory(event, offset)
            }
            b'M' if event.label(Label::Name).raw == b"thread_name" => {
                self.thread_name(event, offset)
            }
            b'B' => self.begin(event, offset),
            b'E' => self.end(event, offset),
            0 => self.warnings.add(
                WarningKind::Malformed,
                offset,
                "an event without a phase was left out",
            ),
            _ => {}
        }
    }

    /// To be called once, after the last event.
    pub(crate) fn finish(&mut self) {
        let mut unended: Vec<u64> = self.open.values().flatten().map(|it| it.offset).collect();
        unended.sort_unstable();
        for offset in unended {
            self.warnings.add(
                WarningKind::MissingTime,
                offset,
                "a range that never ends was taken as lasting 0",
            );
        }
        let noted = std::mem::take(&mut self.noted);
        set_aside::set_aside(&mut self.profile, noted, &mut self.warnings);
        for thread in &mut self.profile.threads {
            if let Some(&name) = self.thread_names.get(&(thread.pid, thread.tid)) {
                thread.name = name;
            }
        }
        if self.profile.host.python.caller.iter().any(|it| it.get().is_some()) {
            self.profile.meta.torch = Some(FIRST_WITH_CALLERS);
        }
    }

    #[inline]
    fn complete(&mut self, event: &Event<'_>, offset: u64) {
        let class = class_of(event);
        if matches!(class, EventClass::Ignored | EventClass::Unknown) {
            if class == EventClass::Unknown {
                self.unknown(event, offset);
            }
            return;
        }
        let Some(start) = self.time(event, offset) else { return };
        let duration = self.duration(event.number(EventNumber::Duration).map(Ns), offset);
        if duration >= TIMES.end - start {
            return self.no_time(offset);
        }
        self.row(class, event, start, duration, offset);
    }

    #[cold]
    fn unknown(&mut self, event: &Event<'_>, offset: u64) {
        let category = String::from_utf8_lossy(event.label(Label::Category).raw);
        let message = format!(
            "events of the category \"{category}\" were left out: this version does not know it"
        );
        self.warnings.add(WarningKind::UnknownCategory, offset, message);
    }

    /// When an event starts, or takes place.
    #[inline]
    fn time(&mut self, event: &Event<'_>, offset: u64) -> Option<Ns> {
        match event.number(EventNumber::Start).map(Ns) {
            Some(at) if TIMES.contains(&at) => Some(at),
            Some(_) => {
                self.no_time(offset);
                None
            }
            None => {
                self.no_start(offset);
                None
            }
        }
    }

    #[cold]
    fn no_time(&mut self, offset: u64) {
        self.warnings.add(
            WarningKind::NotCredible,
            offset,
            "an event was set aside: it begins or ends more than 73 years before, or 146 years after, time 0",
        );
    }

    #[cold]
    fn no_start(&mut self, offset: u64) {
        self.warnings.add(
            WarningKind::MissingTime,
            offset,
            "an event without a start was left out",
        );
    }

    #[inline]
    fn duration(&mut self, duration: Option<Ns>, offset: u64) -> Ns {
        match duration {
            Some(duration) if Ns::ZERO <= duration => duration,
            Some(_) => {
                let message = "an event with a negative duration was taken as lasting 0";
                self.warnings.add(WarningKind::NegativeDuration, offset, message);
                Ns::ZERO
            }
            None => {
                let message = "an event without a duration was taken as lasting 0";
                self.warnings.add(WarningKind::MissingTime, offset, message);
                Ns::ZERO
            }
        }
    }

    #[inline]
    fn row(
        &mut self,
        class: EventClass,
        event: &Event<'_>,
        start: Ns,
        duration: Ns,
        offset: u64,
    ) -> Option<EventRow> {
        match class {
            EventClass::Host(kind) => self.host(kind, event, start, duration, offset),
            EventClass::Device(kind) => self.device(kind, event, start, duration, offset),
            EventClass::Ignored | EventClass::Unknown => None,
        }
    }

    #[inline]
    fn host(
        &mut self,
        kind: HostKind,
        event: &Event<'_>,
        start: Ns,
        duration: Ns,
        offset: u64,
    ) -> Option<EventRow> {
        if self.profile.host.len() >= MAX_ROWS {
            self.too_many(offset);
            return None;
        }
        let thread = self.thread(event, offset);
        let name = self.text(&event.label(Label::Name), offset);
        match kind {
            HostKind::Annotation => {
                let input_dims = self.json_or_none(event.json(Json::InputDims));
                let input_types = self.json_or_none(event.json(Json::InputTypes));
                let annotations = &mut self.profile.host.annotations;
                annotations.input_dims.push(input_dims);
                annotations.input_types.push(input_types);
            }
            HostKind::Python => {
                let caller = self.text_or_none(&event.label(Label::CallFrom), offset);
                let python = &mut self.profile.host.python;
                python.id.push(event.id(EventNumber::PythonId));
                python.parent.push(event.id(EventNumber::PythonParent));
                python.caller.push(caller);
            }
            HostKind::Operator => {
                let call_stack = self.text_or_none(&event.label(Label::CallStack), offset);
                let input_dims = self.json_or_none(event.json(Json::InputDims));
                let input_types = self.json_or_none(event.json(Json::InputTypes));
                let concrete_inputs = self.json_or_none(event.json(Json::ConcreteInputs));
                let message = self.message(event, offset);
                let forward_thread =
                    self.narrow_or(0, event.number(EventNumber::ForwardThread), offset);
                let operators = &mut self.profile.host.operators;
                operators.external_id.push(event.id(EventNumber::ExternalId));
                operators.sequence.push(event.id(EventNumber::Sequence));
                operators.forward_thread.push(forward_thread);
                operators.call_stack.push(call_stack);
                operators.input_dims.push(input_dims);
                operators.input_types.push(input_types);
                operators.concrete_inputs.push(concrete_inputs);
                operators.message.push(message);
            }
            HostKind::Runtime => {
                let kernel = self.text_or_none(&event.label(Label::Kernel), offset);
                let runtime = &mut self.profile.host.runtime;
                runtime.correlation.push(event.id(EventNumber::Correlation));
                runtime.external_id.push(event.id(EventNumber::ExternalId));
                runtime.kernel.push(kernel);
            }
        }
        let row = EventRow::Host(self.profile.host.push(kind, thread, name, start, duration));
        if duration.0 >= NOTED {
            self.noted.push(Noted { row, offset });
        }
        Some(row)
    }

    fn device(
        &mut self,
        kind: DeviceKind,
        event: &Event<'_>,
        start: Ns,
        duration: Ns,
        offset: u64,
    ) -> Option<EventRow> {
        if self.profile.device.len() >= MAX_ROWS {
            self.too_many(offset);
            return None;
        }
        let name = self.text(&event.label(Label::Name), offset);
        let stack = self.json_or_none(event.json(Json::Stack));
        let shape = self.shape(event, offset);
        let message = self.message(event, offset);
        let ordinal =
            ordinal(&event.label(Label::Device)).or_else(|| ordinal(&event.label(Label::Pid)));
        let stream = ordinal_of_stream(&event.label(Label::Stream));
        let stream = stream.or_else(|| ordinal_of_stream(&event.label(Label::Tid)));
        let ordinal = self.narrow_or(-1, ordinal, offset);
        let bytes = self.size(event, EventNumber::CopiedBytes, offset);
        let device = &mut self.profile.device;
        device.kind.push(kind);
        device.name.push(name);
        device.start.push(start);
        device.duration.push(duration);
        device.device.push(ordinal);
        device.stream.push(stream.unwrap_or(-1));
        device.correlation.push(event.id(EventNumber::Correlation));
        device.external_id.push(event.id(EventNumber::ExternalId));
        device.graph_id.push(event.id(EventNumber::GraphId));
        device.graph_node.push(event.id(EventNumber::GraphNode));
        device.bytes.push(bytes);
        device.shape.push(shape);
        device.stack.push(stack);
        device.message.push(message);
        let row = EventRow::Device(DeviceEventId::from_index(device.len() - 1));
        self.noted.push(Noted { row, offset });
        Some(row)
    }

    /// A size in bytes; -1 if there is none that can be true.
    #[inline]
    fn size(&mut self, event: &Event<'_>, number: EventNumber, offset: u64) -> Bytes {
        let size = Bytes(event.id(number));
        if size <= MAX_BYTES {
            return size;
        }
        let message = "a size of more than 1 PiB was ignored";
        self.warnings.add(WarningKind::NotCredible, offset, message);
        Bytes(-1)
    }

    /// What a collective communicates.
    #[inline]
    fn message(&mut self, event: &Event<'_>, offset: u64) -> MessageId {
        if event.label(Label::Collective).raw.is_empty() {
            return MessageId::NONE;
        }
        let message = Message {
            collective: self.text_or_none(&event.label(Label::Collective), offset),
            data_type: self.text_or_none(&event.label(Label::DataType), offset),
            input_elements: event.id(EventNumber::InputElements),
            output_elements: event.id(EventNumber::OutputElements),
            group: self.text_or_none(&event.label(Label::GroupName), offset),
            group_ranks: self.text_or_none(&event.label(Label::GroupRanks), offset),
            group_size: event.id(EventNumber::GroupSize),
            sequence: event.id(EventNumber::CollectiveSequence),
            source: event.id(EventNumber::SourceRank),
            destination: event.id(EventNumber::DestinationRank),
        };
        let messages = &mut self.profile.device.messages;
        messages.push(message);
        MessageId(u32::try_from(messages.len() - 1).unwrap_or(u32::MAX))
    }

    fn shape(&mut self, event: &Event<'_>, offset: u64) -> LaunchShapeId {
        let (grid, block) = (event.triple(Triple::Grid), event.triple(Triple::Block));
        let occupancy = event.number(EventNumber::Occupancy);
        let blocks = event.number(EventNumber::BlocksPerSm);
        if grid == [0; 3] && block == [0; 3] && occupancy.is_none() && blocks.is_none() {
            return LaunchShapeId::NONE;
        }
        let shape = LaunchShape {
            grid: grid.map(|it| self.narrow_or(0, Some(it), offset)),
            block: block.map(|it| self.narrow_or(0, Some(it), offset)),
            occupancy_permille: self.narrow_or(-1, occupancy, offset),
            blocks_per_multiprocessor: blocks.unwrap_or(-1),
        };
        match self.last_shape {
            Some((last, id)) if last == shape => id,
            _ => {
                let id = self.profile.device.shapes.intern(shape);
                self.last_shape = Some((shape, id));
                id
            }
        }
    }

    fn begin(&mut self, event: &Event<'_>, offset: u64) {
        let class = class_of(event);
        if class == EventClass::Unknown {
            self.unknown(event, offset);
        }
        let thread = self.thread(event, offset);
        let (row, start) = match self.time(event, offset) {
            Some(start) => (self.row(class, event, start, Ns::ZERO, offset), start),
            None => (None, Ns::ZERO),
        };
        self.open.entry(thread).or_default().push(OpenRange { row, start, offset });
    }

    fn end(&mut self, event: &Event<'_>, offset: u64) {
        let thread = self.thread(event, offset);
        let Some(open) = self.open.get_mut(&thread).and_then(Vec::pop) else {
            return self.warnings.add(
                WarningKind::Malformed,
                offset,
                "the end of a range that never began was ignored",
            );
        };
        let end = event.number(EventNumber::Start).map(Ns).filter(|it| TIMES.contains(it));
        let duration = self.duration(end.map(|end| end - open.start), offset);
        let Some(row) = open.row else { return };
        match row {
            EventRow::Host(id) => {
                self.profile.host.duration[id.index()] = duration;
                if duration.0 >= NOTED {
                    self.noted.push(Noted { row, offset: open.offset });
                }
            }
            EventRow::Device(id) => self.profile.device.duration[id.index()] = duration,
            EventRow::Memory(_) => {}
        }
    }

    fn flow(&mut self, event: &Event<'_>, is_finish: bool, offset: u64) {
        // Launches have flows too (`ac2g`, `async`, `HostToDevice`); their calls are found by `correlation`.
        if event.label(Label::Category).raw != b"fwdbwd" {
            return;
        }
        let Some(at) = self.time(event, offset) else { return };
        let Parsed::Number(id) = number::parse(event.label(Label::Id).raw, 0) else {
            return self.warnings.add(
                WarningKind::Malformed,
                offset,
                "a flow without a number was left out",
            );
        };
        let thread = self.thread(event, offset);
        self.profile.flows.push(FlowPoint { is_finish, id, thread, at });
    }

    fn memory(&mut self, event: &Event<'_>, offset: u64) {
        if self.profile.memory.len() >= MAX_ROWS {
            return self.too_many(offset);
        }
        let Some(at) = self.time(event, offset) else { return };
        let Some(bytes) = event.number(EventNumber::Bytes).map(Bytes) else {
            return self.warnings.add(
                WarningKind::Malformed,
                offset,
                "a [memory] event without bytes was left out",
            );
        };
        if !(-MAX_BYTES..=MAX_BYTES).contains(&bytes) {
            return self.warnings.add(
                WarningKind::NotCredible,
                offset,
                "a [memory] event of more than 1 PiB was set aside",
            );
        }
        let thread = self.thread(event, offset);
        let address = self.address(&event.label(Label::Address), offset);
        let kind = DeviceType(self.narrow_or(
            DeviceType::CPU.0,
            event.number(EventNumber::DeviceType),
            offset,
        ));
        let ordinal = self.narrow_or(-1, event.number(EventNumber::DeviceId), offset);
        let total_allocated = self.size(event, EventNumber::TotalAllocated, offset);
        let total_reserved = self.size(event, EventNumber::TotalReserved, offset);
        let memory = &mut self.profile.memory;
        if bytes.abs().0 >= NOTED {
            let row = EventRow::Memory(set_aside::memory_row(memory.len()));
            self.noted.push(Noted { row, offset });
        }
        memory.at.push(at);
        memory.thread.push(thread);
        memory.address.push(address);
        memory.bytes.push(bytes);
        memory.device.push(MemoryDevice { kind, ordinal });
        memory.total_allocated.push(total_allocated);
        memory.total_reserved.push(total_reserved);
    }

    /// An address uses all 64 bits, with or without a sign.
    fn address(&mut self, address: &RawText<'_>, offset: u64) -> u64 {
        if let Some(address) = std::str::from_utf8(address.raw).ok().and_then(|it| it.parse().ok())
        {
            return address;
        }
        match number::parse(address.raw, 0) {
            Parsed::Number(address) => address.cast_unsigned(),
            _ if address.raw.is_empty() => 0,
            _ => {
                self.warnings.add(
                    WarningKind::NumberOutOfRange,
                    offset,
                    "an address that is no number was ignored",
                );
                0
            }
        }
    }

    fn thread_name(&mut self, event: &Event<'_>, offset: u64) {
        let key = (
            self.text(&event.label(Label::Pid), offset),
            self.text(&event.label(Label::Tid), offset),
        );
        let name = self.text_or_none(&event.label(Label::ThreadName), offset);
        self.thread_names.insert(key, name);
    }

    #[inline]
    fn thread(&mut self, event: &Event<'_>, offset: u64) -> ThreadId {
        let (pid, tid) = (event.label(Label::Pid).raw, event.label(Label::Tid).raw);
        let found = self.recent_threads.iter().position(|it| *it.tid == *tid && *it.pid == *pid);
        match found {
            Some(0) => self.recent_threads[0].id,
            Some(index) => {
                self.recent_threads.swap(0, index);
                self.recent_threads[0].id
            }
            None => self.other_thread(event, offset),
        }
    }

    #[cold]
    fn other_thread(&mut self, event: &Event<'_>, offset: u64) -> ThreadId {
        /// Threads that are compared one by one.
        const MAX_RECENT: usize = 8;
        let (pid, tid) = (
            self.text(&event.label(Label::Pid), offset),
            self.text(&event.label(Label::Tid), offset),
        );
        let id = self.thread_of(pid, tid);
        self.recent_threads.truncate(MAX_RECENT - 1);
        self.recent_threads.insert(
            0,
            RecentThread {
                pid: event.label(Label::Pid).raw.into(),
                tid: event.label(Label::Tid).raw.into(),
                id,
            },
        );
        id
    }

    pub(crate) fn thread_of(&mut self, pid: StrId, tid: StrId) -> ThreadId {
        let next = ThreadId::from_index(self.profile.threads.len());
        let id = *self.threads.entry((pid, tid)).or_insert(next);
        if id == next {
            self.profile.threads.push(Thread { pid, tid, name: StrId::NONE });
        }
        id
    }

    #[inline]
    fn text_or_none(&mut self, text: &RawText<'_>, offset: u64) -> StrId {
        if text.raw.is_empty() { StrId::NONE } else { self.text(text, offset) }
    }

    /// JSON as it stands in the file; line breaks between its values are no anomaly.
    #[inline]
    fn json_or_none(&mut self, raw: &[u8]) -> StrId {
        if raw.is_empty() {
            return StrId::NONE;
        }
        let strings = &mut self.profile.strings;
        strings.find_bytes(raw).unwrap_or_else(|| strings.intern(&String::from_utf8_lossy(raw)))
    }

    #[inline]
    fn text(&mut self, text: &RawText<'_>, offset: u64) -> StrId {
        if !text.needs_unescape
            && let Some(id) = self.profile.strings.find_bytes(text.raw)
        {
            return id;
        }
        self.new_text(text, offset)
    }

    #[cold]
    fn new_text(&mut self, text: &RawText<'_>, offset: u64) -> StrId {
        let decoded = text::decode(text);
        let id = self.profile.strings.intern(&decoded.text);
        if decoded.is_loose {
            let message =
                "a raw control character or an escape that JSON does not have was taken literally";
            self.warnings.add(WarningKind::LooseString, offset, message);
        }
        if decoded.is_invalid {
            self.warnings.add(
                WarningKind::InvalidUtf8,
                offset,
                "bytes that are not UTF-8 were replaced by U+FFFD",
            );
        }
        id
    }

    /// A number in the width of its column; `absent` if there is none.
    #[inline]
    fn narrow_or<T: TryFrom<i64>>(&mut self, absent: T, number: Option<i64>, offset: u64) -> T {
        let Some(number) = number else { return absent };
        T::try_from(number).unwrap_or_else(|_| {
            let message = "a number too large for its column was ignored";
            self.warnings.add(WarningKind::NumberOutOfRange, offset, message);
            absent
        })
    }

    #[cold]
    fn too_many(&mut self, offset: u64) {
        let message = "there are more events than a table holds; the later ones were left out";
        self.warnings.add(WarningKind::TooManyEvents, offset, message);
    }
}

#[inline]
fn class_of(event: &Event<'_>) -> EventClass {
    let [category, name, tid] =
        [Label::Category, Label::Name, Label::Tid].map(|it| event.label(it).raw);
    category::classify(category, name, tid)
}

fn ordinal(text: &RawText<'_>) -> Option<i64> {
    match number::parse(text.raw, 0) {
        Parsed::Number(ordinal) => Some(ordinal),
        Parsed::OutOfRange | Parsed::NotANumber => None,
    }
}

/// `7`, `stream 7`.
fn ordinal_of_stream(text: &RawText<'_>) -> Option<i64> {
    let words = text.raw.rsplit(|it| *it == b' ').next()?;
    ordinal(&RawText { raw: words, needs_unescape: false })
}
