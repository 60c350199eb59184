//! Putting the rows of one set of tables behind those of another.

use profile::{
    Annotations, DeviceEvents, FlowPoint, HostEvents, HostKind, LaunchShapeId, MemoryEvents,
    Message, MessageId, Operators, Profile, PythonCalls, RuntimeCalls, StrId, ThreadId,
};

use super::{MAX_ROWS, Tables};

impl Tables {
    /// Puts the rows of `later` behind these, unless there would be too many. `shift` is what its offsets lack.
    pub(crate) fn append(&mut self, later: &Self, shift: u64) -> bool {
        let n_rows = |Self { profile: it, .. }: &Self| {
            it.host.len().max(it.device.len()).max(it.memory.len())
        };
        if n_rows(self) + n_rows(later) >= MAX_ROWS || !self.warnings.append(&later.warnings, shift)
        {
            return false;
        }
        self.events += later.events;
        self.phased += later.phased;
        // A log of `torch.compile` is joined when the trace is whole.
        let Profile {
            strings,
            meta: _,
            threads,
            host,
            device,
            memory,
            flows,
            generated: _,
            compiles: _,
            graph_breaks: _,
            captured: _,
            modules: _,
            plain_steps: _,
            frame_lines: _,
            loader_workers: _,
            command: _,
            step_ranges: _,
        } = &later.profile;
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
        let n_messages = u32::try_from(profile.device.messages.len()).unwrap_or(u32::MAX);
        append_host(&mut profile.host, host, n_messages, &renamed);
        append_device(&mut profile.device, device, &renamed);
        append_memory(&mut profile.memory, memory, &renamed);
        let flow = |it: &FlowPoint| FlowPoint { thread: renamed.thread(it.thread), ..*it };
        profile.flows.extend(flows.iter().map(flow));
        true
    }
}

/// The handles here of what a chunk calls otherwise.
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

/// `n_messages` are the messages before those of `from`.
fn append_host(to: &mut HostEvents, from: &HostEvents, n_messages: u32, renamed: &Renamed<'_>) {
    let HostEvents {
        kind,
        thread,
        name,
        start,
        duration,
        detail,
        annotations,
        python,
        operators,
        runtime,
    } = from;
    let base = |rows: usize| u32::try_from(rows).unwrap_or(u32::MAX);
    let (n_annotations, n_python, n_operators, n_runtime) = (
        base(to.annotations.input_dims.len()),
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
        HostKind::Annotation => n_annotations + detail,
        HostKind::Python => n_python + detail,
        HostKind::Operator => n_operators + detail,
        HostKind::Runtime => n_runtime + detail,
    }));
    let Annotations { input_dims, input_types } = annotations;
    renamed.append_strings(&mut to.annotations.input_dims, input_dims);
    renamed.append_strings(&mut to.annotations.input_types, input_types);
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
        message,
        line,
    } = operators;
    to.operators.external_id.extend_from_slice(external_id);
    to.operators.sequence.extend_from_slice(sequence);
    to.operators.forward_thread.extend_from_slice(forward_thread);
    renamed.append_strings(&mut to.operators.call_stack, call_stack);
    renamed.append_strings(&mut to.operators.input_dims, input_dims);
    renamed.append_strings(&mut to.operators.input_types, input_types);
    renamed.append_strings(&mut to.operators.concrete_inputs, concrete_inputs);
    append_messages(&mut to.operators.message, message, n_messages);
    renamed.append_strings(&mut to.operators.line, line);
    let RuntimeCalls { correlation, external_id, kernel } = runtime;
    to.runtime.correlation.extend_from_slice(correlation);
    to.runtime.external_id.extend_from_slice(external_id);
    renamed.append_strings(&mut to.runtime.kernel, kernel);
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
        graph_node,
        bytes,
        shape,
        stack,
        message,
        shapes,
        messages,
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
    to.graph_node.extend_from_slice(graph_node);
    to.bytes.extend_from_slice(bytes);
    let ids: Vec<LaunchShapeId> = (0..)
        .map_while(|id| shapes.get(LaunchShapeId(id)))
        .map(|it| to.shapes.intern(*it))
        .collect();
    let shape_of = |id: &LaunchShapeId| ids.get(id.0 as usize).copied();
    to.shape.extend(shape.iter().map(|id| shape_of(id).unwrap_or(LaunchShapeId::NONE)));
    renamed.append_strings(&mut to.stack, stack);
    let n_messages = u32::try_from(to.messages.len()).unwrap_or(u32::MAX);
    append_messages(&mut to.message, message, n_messages);
    to.messages.extend(messages.iter().map(|it| Message {
        collective: string(renamed.strings, it.collective),
        data_type: string(renamed.strings, it.data_type),
        group: string(renamed.strings, it.group),
        group_ranks: string(renamed.strings, it.group_ranks),
        ..*it
    }));
}

/// Appends rows of messages of which there are `n_messages` before them.
fn append_messages(to: &mut Vec<MessageId>, from: &[MessageId], n_messages: u32) {
    to.extend(from.iter().map(|&id| match id {
        MessageId::NONE => id,
        MessageId(row) => MessageId(n_messages.saturating_add(row)),
    }));
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
