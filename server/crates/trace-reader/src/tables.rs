//! Events to rows.

use profile::{
    DeviceKind, DeviceType, Flow, FlowKind, HostEventId, HostKind, LaunchShape, LaunchShapeId,
    MemoryDevice, Ns, Profile, StrId, Thread, ThreadId, WarningKind, Warnings,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::category::{self, Class};
use crate::event::{Event, Oddity};
use crate::number::{self, Parsed};
use crate::scan::Text;
use crate::text;

/// Rows that a table holds at most: its handles have 32 bits, and the last one means "none".
const MOST_ROWS: usize = u32::MAX as usize;

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
    thread_names: FxHashMap<(StrId, StrId), StrId>,
    last_shape: Option<(LaunchShape, LaunchShapeId)>,
    /// Interned strings that were odd, to count their further appearances.
    loose: FxHashSet<StrId>,
    /// Ranges that were begun (`ph` is `B`) and not yet ended, by thread.
    open: FxHashMap<ThreadId, Vec<Open>>,
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
struct Open {
    row: Row,
    start: Ns,
    /// Offset of its begin.
    offset: u64,
}

#[derive(Debug, Clone, Copy)]
enum Row {
    Host(HostEventId),
    /// Index in [`profile::DeviceEvents`].
    Device(usize),
    /// The event was not kept.
    None,
}

impl Tables {
    /// Takes over one event that was read whole. `offset` is where it begins in the input, `buffer_offset` what its
    /// oddities are counted from.
    #[inline]
    pub(crate) fn add(
        &mut self,
        event: &Event<'_>,
        oddities: &[Oddity],
        offset: u64,
        buffer_offset: u64,
    ) {
        self.events += 1;
        for (kind, at, message) in oddities {
            self.warnings.add(*kind, buffer_offset + *at as u64, message);
        }
        self.phased += u64::from(event.phase != 0);
        match event.phase {
            b'X' => self.complete(event, offset),
            b's' | b'f' => self.flow(event, offset),
            b'i' | b'I' if event.name.raw == b"[memory]" => self.memory(event, offset),
            b'M' if event.name.raw == b"thread_name" => self.thread_name(event, offset),
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
        for thread in &mut self.profile.threads {
            if let Some(&name) = self.thread_names.get(&(thread.pid, thread.tid)) {
                thread.name = name;
            }
        }
    }

    #[inline]
    fn complete(&mut self, event: &Event<'_>, offset: u64) {
        let class = category::classify(event.category, event.name.raw, event.tid.raw);
        if matches!(class, Class::Ignored | Class::Unknown) {
            if class == Class::Unknown {
                self.unknown(event, offset);
            }
            return;
        }
        let Some(start) = event.start else { return self.no_start(offset) };
        let duration = self.duration(event, offset);
        self.row(class, event, start, duration, offset);
    }

    #[cold]
    fn unknown(&mut self, event: &Event<'_>, offset: u64) {
        let category = String::from_utf8_lossy(event.category);
        let message = format!(
            "events of the category \"{category}\" were left out: this version does not know it"
        );
        self.warnings.add(WarningKind::UnknownCategory, offset, message);
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
    fn duration(&mut self, event: &Event<'_>, offset: u64) -> Ns {
        match event.duration {
            Some(duration @ 0..) => duration,
            Some(_) => {
                let message = "an event with a negative duration was taken as lasting 0";
                self.warnings.add(WarningKind::NegativeDuration, offset, message);
                0
            }
            None => {
                let message = "an event without a duration was taken as lasting 0";
                self.warnings.add(WarningKind::MissingTime, offset, message);
                0
            }
        }
    }

    #[inline]
    fn row(
        &mut self,
        class: Class,
        event: &Event<'_>,
        start: Ns,
        duration: Ns,
        offset: u64,
    ) -> Row {
        match class {
            Class::Host(kind) => self.host(kind, event, start, duration, offset),
            Class::Device(kind) => self.device(kind, event, start, duration, offset),
            Class::Ignored | Class::Unknown => Row::None,
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
    ) -> Row {
        if self.profile.host.len() >= MOST_ROWS {
            self.too_many(offset);
            return Row::None;
        }
        let thread = self.thread(event, offset);
        let name = self.text(&event.name, offset);
        let args = &event.args;
        match kind {
            HostKind::Annotation => {}
            HostKind::Python => {
                let caller = self.text_or_none(&args.call_from, offset);
                let python = &mut self.profile.host.python;
                python.id.push(args.python_id);
                python.parent.push(args.python_parent);
                python.caller.push(caller);
            }
            HostKind::Operator => {
                let call_stack = self.text_or_none(&args.call_stack, offset);
                let input_dims = self.json_or_none(args.input_dims);
                let input_types = self.json_or_none(args.input_types);
                let forward_thread = self.narrow(args.forward_thread, offset).unwrap_or(0);
                let operators = &mut self.profile.host.operators;
                operators.external_id.push(args.external_id);
                operators.sequence.push(args.sequence);
                operators.forward_thread.push(forward_thread);
                operators.call_stack.push(call_stack);
                operators.input_dims.push(input_dims);
                operators.input_types.push(input_types);
            }
            HostKind::Runtime => {
                let runtime = &mut self.profile.host.runtime;
                runtime.correlation.push(args.correlation);
                runtime.external_id.push(args.external_id);
            }
        }
        Row::Host(self.profile.host.push(kind, thread, name, start, duration))
    }

    fn device(
        &mut self,
        kind: DeviceKind,
        event: &Event<'_>,
        start: Ns,
        duration: Ns,
        offset: u64,
    ) -> Row {
        if self.profile.device.len() >= MOST_ROWS {
            self.too_many(offset);
            return Row::None;
        }
        let args = &event.args;
        let name = self.text(&event.name, offset);
        let stack = self.json_or_none(args.stack);
        let shape = self.shape(event, offset);
        let ordinal = ordinal(&args.device).or_else(|| ordinal(&event.pid));
        let stream = ordinal_of_stream(&args.stream).or_else(|| ordinal_of_stream(&event.tid));
        let ordinal = ordinal.and_then(|it| self.narrow(it, offset)).unwrap_or(-1);
        let device = &mut self.profile.device;
        device.kind.push(kind);
        device.name.push(name);
        device.start.push(start);
        device.duration.push(duration);
        device.device.push(ordinal);
        device.stream.push(stream.unwrap_or(-1));
        device.correlation.push(args.correlation);
        device.external_id.push(args.external_id);
        device.graph_id.push(args.graph_id);
        device.graph_node_id.push(args.graph_node_id);
        device.bytes.push(args.bytes);
        device.shape.push(shape);
        device.stack.push(stack);
        Row::Device(device.len() - 1)
    }

    fn shape(&mut self, event: &Event<'_>, offset: u64) -> LaunchShapeId {
        let args = &event.args;
        let is_absent = args.grid == [0; 3]
            && args.block == [0; 3]
            && args.registers == 0
            && args.shared_memory == 0
            && args.occupancy < 0;
        if is_absent {
            return LaunchShapeId::NONE;
        }
        let shape = LaunchShape {
            grid: args.grid.map(|it| self.narrow(it, offset).unwrap_or(0)),
            block: args.block.map(|it| self.narrow(it, offset).unwrap_or(0)),
            registers: self.narrow(args.registers, offset).unwrap_or(0),
            shared_memory: self.narrow(args.shared_memory, offset).unwrap_or(0),
            occupancy_permille: self.narrow(args.occupancy, offset).unwrap_or(-1),
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
        let class = category::classify(event.category, event.name.raw, event.tid.raw);
        if class == Class::Unknown {
            self.unknown(event, offset);
        }
        let thread = self.thread(event, offset);
        let (row, start) = match event.start {
            Some(start) => (self.row(class, event, start, 0, offset), start),
            None => {
                self.no_start(offset);
                (Row::None, 0)
            }
        };
        self.open.entry(thread).or_default().push(Open { row, start, offset });
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
        let duration = event.start.map(|end| end.saturating_sub(open.start));
        let duration = self.duration(&Event { duration, ..event.clone() }, offset);
        match open.row {
            Row::Host(id) => self.profile.host.duration[id.index()] = duration,
            Row::Device(index) => self.profile.device.duration[index] = duration,
            Row::None => {}
        }
    }

    fn flow(&mut self, event: &Event<'_>, offset: u64) {
        let kind = match event.category {
            b"fwdbwd" => FlowKind::ForwardBackward,
            // `async` is PyTorch 1.8 – 1.10, `async_npu` and `HostToDevice` are CANN's.
            b"ac2g" | b"HostToDevice" => FlowKind::Launch,
            category if category.starts_with(b"async") => FlowKind::Launch,
            _ => return,
        };
        let Some(at) = event.start else { return self.no_start(offset) };
        let Parsed::Number(id) = number::parse(event.id.raw, 0) else {
            return self.warnings.add(
                WarningKind::Malformed,
                offset,
                "a flow without a number was left out",
            );
        };
        let thread = self.thread(event, offset);
        self.profile.flows.push(Flow { kind, is_finish: event.phase == b'f', id, thread, at });
    }

    fn memory(&mut self, event: &Event<'_>, offset: u64) {
        let Some(at) = event.start else { return self.no_start(offset) };
        let args = &event.args.memory;
        let Some(bytes) = args.bytes else {
            return self.warnings.add(
                WarningKind::Malformed,
                offset,
                "a [memory] event without bytes was left out",
            );
        };
        let thread = self.thread(event, offset);
        let address = self.address(&args.address, offset);
        let kind = self.narrow(args.device_type, offset).map_or(DeviceType::CPU, DeviceType);
        let ordinal = self.narrow(args.device_id, offset).unwrap_or(-1);
        let memory = &mut self.profile.memory;
        memory.at.push(at);
        memory.thread.push(thread);
        memory.address.push(address);
        memory.bytes.push(bytes);
        memory.device.push(MemoryDevice { kind, ordinal });
        memory.total_allocated.push(args.total_allocated);
        memory.total_reserved.push(args.total_reserved);
    }

    /// An address uses all 64 bits, with or without a sign.
    fn address(&mut self, address: &Text<'_>, offset: u64) -> u64 {
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
        let key = (self.text(&event.pid, offset), self.text(&event.tid, offset));
        let name = self.text_or_none(&event.args.name, offset);
        self.thread_names.insert(key, name);
    }

    #[inline]
    fn thread(&mut self, event: &Event<'_>, offset: u64) -> ThreadId {
        let (pid, tid) = (event.pid.raw, event.tid.raw);
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
        const MOST_RECENT: usize = 8;
        let (pid, tid) = (self.text(&event.pid, offset), self.text(&event.tid, offset));
        let next = ThreadId::from_index(self.profile.threads.len());
        let id = *self.threads.entry((pid, tid)).or_insert(next);
        if id == next {
            self.profile.threads.push(Thread { pid, tid, name: StrId::NONE });
        }
        self.recent_threads.truncate(MOST_RECENT - 1);
        self.recent_threads
            .insert(0, RecentThread { pid: event.pid.raw.into(), tid: event.tid.raw.into(), id });
        id
    }

    #[inline]
    fn text_or_none(&mut self, text: &Text<'_>, offset: u64) -> StrId {
        if text.raw.is_empty() { StrId::NONE } else { self.text(text, offset) }
    }

    /// JSON as it stands in the file; line breaks between its values are nothing odd.
    #[inline]
    fn json_or_none(&mut self, raw: &[u8]) -> StrId {
        if raw.is_empty() {
            return StrId::NONE;
        }
        let strings = &mut self.profile.strings;
        strings.find_bytes(raw).unwrap_or_else(|| strings.intern(&String::from_utf8_lossy(raw)))
    }

    #[inline]
    fn text(&mut self, text: &Text<'_>, offset: u64) -> StrId {
        if !text.is_escaped
            && let Some(id) = self.profile.strings.find_bytes(text.raw)
            && (self.loose.is_empty() || !self.loose.contains(&id))
        {
            return id;
        }
        self.new_text(text, offset)
    }

    #[cold]
    fn new_text(&mut self, text: &Text<'_>, offset: u64) -> StrId {
        let decoded = text::decode(text);
        let id = self.profile.strings.intern(&decoded.text);
        if decoded.is_loose {
            let message =
                "a raw control character or an escape that JSON does not have was taken literally";
            self.warnings.add(WarningKind::LooseString, offset, message);
            self.loose.insert(id);
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

    /// A number in the width of its column.
    #[inline]
    fn narrow<T: TryFrom<i64>>(&mut self, number: i64, offset: u64) -> Option<T> {
        let narrow = T::try_from(number).ok();
        if narrow.is_none() {
            let message = "a number too large for its column was ignored";
            self.warnings.add(WarningKind::NumberOutOfRange, offset, message);
        }
        narrow
    }

    #[cold]
    fn too_many(&mut self, offset: u64) {
        let message = "there are more events than a table holds; the later ones were left out";
        self.warnings.add(WarningKind::TooManyEvents, offset, message);
    }
}

fn ordinal(text: &Text<'_>) -> Option<i64> {
    match number::parse(text.raw, 0) {
        Parsed::Number(ordinal) => Some(ordinal),
        Parsed::OutOfRange | Parsed::NotANumber => None,
    }
}

/// `7`, `stream 7`.
fn ordinal_of_stream(text: &Text<'_>) -> Option<i64> {
    let words = text.raw.rsplit(|it| *it == b' ').next()?;
    ordinal(&Text { raw: words, is_escaped: false })
}
