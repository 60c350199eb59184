//! Plain values to the tables of a snapshot, for every layout that torch has written.
//!
//! Layouts: `torch.cuda.memory_snapshot()` is a list of segments. `_dump_snapshot` writes a dict with `segments` and
//! `device_traces`. Up to 2.0 a block has no address, and `history` instead of `frames`. Times came with 2.3.

use std::borrow::Cow;
use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use profile::{
    Bytes, Ns, Snapshot, SnapshotAction, SnapshotAnnotation, SnapshotBlock, SnapshotDevice,
    SnapshotEvent, SnapshotFrame, SnapshotSegment, SnapshotTensor, StackId, StrId, TensorPurpose,
    WarningKind, Warnings,
};
use rustc_hash::{FxHashMap, FxHasher};

use crate::Error;
use crate::values::{Chain, Handle, PickleValue, PickleValues};

/// The snapshot that `root` stands for.
///
/// `bytes` bounds the work: a file can refer to one dict from many places, and its size is no measure of what that
/// comes to, but a real snapshot refers to nothing but frames and stacks more than once.
///
/// # Errors
/// If `root` is no snapshot of any layout.
pub(crate) fn convert(
    values: &PickleValues,
    root: Handle,
    bytes: usize,
    warnings: &mut Warnings,
) -> Result<Snapshot, Error> {
    let mut converter = Converter {
        values,
        keys: values.texts().iter().map(|(_, text)| DictKey::of(text)).collect(),
        names: vec![StrId::NONE; values.texts().len()],
        converted: vec![UNSEEN; values.len()],
        frames: Vec::new(),
        frame_index: FxHashMap::default(),
        shared: FxHashMap::default(),
        scratch: Vec::new(),
        stack_index: HashTable::new(),
        messages: FxHashMap::default(),
        budget: bytes,
        snapshot: Snapshot::default(),
        warnings,
    };
    converter.top(root)?;
    if converter.budget == 0 {
        converter.warnings.add(
            WarningKind::Other,
            None,
            "the file refers to the same parts over and over; only the first were kept",
        );
    }
    Ok(converter.snapshot)
}

/// A dict key that some part of a snapshot has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DictKey {
    Action,
    Addr,
    Address,
    Blocks,
    Category,
    Device,
    DeviceFree,
    DeviceTraces,
    ExternalAnnotations,
    Filename,
    Frames,
    History,
    Line,
    Name,
    /// What Perfline's recorder adds.
    Perfline,
    Purpose,
    RealSize,
    RequestedSize,
    SegmentPoolId,
    SegmentType,
    Segments,
    SinceUs,
    Size,
    Stage,
    State,
    Stream,
    TimeUs,
    TotalSize,
    /// Known, but no table has a column for it.
    Unused,
    Unknown,
}

impl DictKey {
    fn of(text: &str) -> Self {
        match text {
            "action" => Self::Action,
            "addr" => Self::Addr,
            "address" => Self::Address,
            "blocks" => Self::Blocks,
            "category" => Self::Category,
            "device" => Self::Device,
            "device_free" => Self::DeviceFree,
            "device_traces" => Self::DeviceTraces,
            "external_annotations" => Self::ExternalAnnotations,
            "filename" => Self::Filename,
            "frames" => Self::Frames,
            "history" => Self::History,
            "line" => Self::Line,
            "name" => Self::Name,
            "perfline" => Self::Perfline,
            "purpose" => Self::Purpose,
            "real_size" => Self::RealSize,
            "requested_size" => Self::RequestedSize,
            "segment_pool_id" => Self::SegmentPoolId,
            "segment_type" => Self::SegmentType,
            "segments" => Self::Segments,
            "since_us" => Self::SinceUs,
            "size" => Self::Size,
            "stage" => Self::Stage,
            "state" => Self::State,
            "stream" => Self::Stream,
            "time_us" => Self::TimeUs,
            "total_size" => Self::TotalSize,
            "active_size" | "allocated_size" | "allocator_settings" | "categories"
            | "compile_context" | "fx_node_name" | "fx_node_op" | "fx_node_target"
            | "fx_original_trace" | "is_expandable" | "user_metadata" | "version" => Self::Unused,
            _ => Self::Unknown,
        }
    }
}

/// Part of a snapshot, as warnings name it.
type SnapshotPart = &'static str;

/// In [`Converter::converted`]: a value that was not converted yet.
const UNSEEN: u32 = u32::MAX;
/// In [`Converter::converted`]: a frame that could not be converted.
const UNUSABLE: u32 = u32::MAX - 1;
/// In [`Converter::converted`]: set for a frame, clear for a stack. There are fewer than 2³¹ of either.
const FRAME: u32 = 1 << 31;

struct Converter<'a> {
    values: &'a PickleValues,
    /// What each distinct text means as a key.
    keys: Vec<DictKey>,
    /// Handle in the snapshot of each distinct text; `NONE` until it is used.
    names: Vec<StrId>,
    /// For the row of a frame: [`FRAME`] and its place in `frames`. For the row of a list of frames: its stack.
    converted: Vec<u32>,
    /// Distinct frames.
    frames: Vec<SnapshotFrame>,
    frame_index: FxHashMap<SnapshotFrame, u32>,
    /// The stack of items that lists share, where all of them are frames.
    shared: FxHashMap<u32, StackId>,
    /// Buffer of [`Converter::stack`].
    scratch: Vec<u32>,
    /// Distinct stacks, by content.
    stack_index: HashTable<StackId>,
    /// Messages about keys, built once.
    messages: FxHashMap<(SnapshotPart, Handle), String>,
    /// How many more items may be looked at.
    budget: usize,
    snapshot: Snapshot,
    warnings: &'a mut Warnings,
}

/// `None` of a purpose that this version does not know.
fn purpose(text: &str) -> Option<TensorPurpose> {
    match text {
        "parameter" => Some(TensorPurpose::Parameter),
        "gradient" => Some(TensorPurpose::Gradient),
        "optimizer state" => Some(TensorPurpose::OptimizerState),
        "buffer" => Some(TensorPurpose::Buffer),
        _ => None,
    }
}

impl Converter<'_> {
    fn top(&mut self, root: Handle) -> Result<(), Error> {
        let (found, offset) = match self.values.get(root) {
            PickleValue::List(chain) => {
                self.segments(root);
                if chain.is_empty() || !self.snapshot.segments.is_empty() {
                    return Ok(());
                }
                ("a list without segments", chain.offset())
            }
            PickleValue::Dict(chain) if chain.is_empty() => ("an empty dict", chain.offset()),
            PickleValue::Dict(chain) => {
                if self.top_dict(chain) {
                    return Ok(());
                }
                ("a dict without segments and device_traces", chain.offset())
            }
            PickleValue::Tuple(chain) => ("a tuple", chain.offset()),
            PickleValue::Text(_) => ("a text", 0),
            _ => ("a single value", 0),
        };
        Err(Error::NotSnapshot { found, offset })
    }

    /// Whether the dict is a snapshot's.
    fn top_dict(&mut self, chain: Chain) -> bool {
        const PLACE: SnapshotPart = "the snapshot";
        let mut is_snapshot = false;
        for (key, value) in self.values.pairs(chain) {
            if !self.spend(1) {
                break;
            }
            match self.key(key) {
                DictKey::Segments => {
                    is_snapshot = true;
                    self.segments(value);
                }
                DictKey::DeviceTraces => {
                    is_snapshot = true;
                    self.device_traces(value);
                }
                DictKey::ExternalAnnotations => self.annotations(value),
                DictKey::Perfline => self.purposes(value, chain),
                DictKey::Category | DictKey::Unused => {}
                _ => self.unknown_key(PLACE, key, chain),
            }
        }
        is_snapshot
    }

    fn segments(&mut self, list: Handle) {
        let Some(chain) = self.list(list, "the segments") else { return };
        for &item in self.values.runs(chain).flatten() {
            if !self.spend(1) {
                break;
            }
            if let Some(dict) = self.dict(item, "a segment", chain) {
                self.segment(dict);
            }
        }
    }

    fn segment(&mut self, dict: Chain) {
        const PLACE: SnapshotPart = "a segment";
        let mut segment =
            SnapshotSegment { requested_size: Bytes(-1), ..SnapshotSegment::default() };
        let (mut address, mut total_size, mut blocks) = (None, None, None);
        for (key, value) in self.values.pairs(dict) {
            if !self.spend(1) {
                return;
            }
            match self.key(key) {
                DictKey::Device => segment.device = self.ordinal(value, PLACE, key, dict),
                DictKey::Address => address = self.address(value, PLACE, key, dict),
                DictKey::TotalSize => total_size = self.size(value, PLACE, key, dict),
                DictKey::RequestedSize => {
                    segment.requested_size =
                        self.size(value, PLACE, key, dict).unwrap_or(Bytes(-1));
                }
                DictKey::Stream => segment.stream = self.int(value, PLACE, key, dict).unwrap_or(0),
                DictKey::SegmentType => {
                    segment.is_large = match self.text(value) {
                        Some("large") => Some(true),
                        Some("small") => Some(false),
                        _ => {
                            self.unusable(PLACE, key, dict);
                            None
                        }
                    };
                }
                DictKey::SegmentPoolId => segment.pool = self.pool(value, PLACE, key, dict),
                DictKey::Frames => segment.stack = self.stack(value),
                DictKey::Blocks => blocks = Some(value),
                DictKey::Category | DictKey::Unused => {}
                _ => self.unknown_key(PLACE, key, dict),
            }
        }
        let (Some(address), Some(total_size)) = (address, total_size) else {
            self.left_out("a segment without address or total_size was left out", dict);
            return;
        };
        segment.address = address;
        segment.total_size = total_size;
        if let Some(blocks) = blocks {
            segment.blocks = self.blocks(blocks, address);
        }
        self.snapshot.segments.push(segment);
    }

    fn blocks(&mut self, list: Handle, mut address: u64) -> Vec<SnapshotBlock> {
        let mut blocks = Vec::new();
        let Some(chain) = self.list(list, "the blocks of a segment") else { return blocks };
        for &item in self.values.runs(chain).flatten() {
            if !self.spend(1) {
                break;
            }
            let block =
                self.dict(item, "a block", chain).and_then(|dict| self.block(dict, address));
            if let Some(block) = block {
                address = block.address.wrapping_add(block.size.0.cast_unsigned());
                blocks.push(block);
            }
        }
        blocks
    }

    /// `follows`: where the block before it ends.
    fn block(&mut self, dict: Chain, follows: u64) -> Option<SnapshotBlock> {
        const PLACE: SnapshotPart = "a block";
        let mut block = SnapshotBlock {
            address: follows,
            requested_size: Bytes(-1),
            ..SnapshotBlock::default()
        };
        let (mut size, mut history) = (None, None);
        for (key, value) in self.values.pairs(dict) {
            if !self.spend(1) {
                return None;
            }
            match self.key(key) {
                DictKey::Address => {
                    block.address = self.address(value, PLACE, key, dict).unwrap_or(follows);
                }
                DictKey::Size => size = self.size(value, PLACE, key, dict),
                DictKey::RequestedSize => {
                    block.requested_size = self.size(value, PLACE, key, dict).unwrap_or(Bytes(-1));
                }
                DictKey::State => match self.text(value) {
                    Some("active_allocated") => block.is_allocated = true,
                    Some("active_pending_free" | "active_awaiting_free") => {
                        block.is_pending_free = true;
                    }
                    Some("inactive") => {}
                    _ => self.unusable(PLACE, key, dict),
                },
                DictKey::Frames => block.stack = self.stack(value),
                DictKey::History => history = Some(value),
                DictKey::Category | DictKey::Unused => {}
                _ => self.unknown_key(PLACE, key, dict),
            }
        }
        let Some(size) = size else {
            self.left_out("a block without size was left out", dict);
            return None;
        };
        block.size = size;
        if let Some(history) = history {
            self.history(history, &mut block);
        }
        Some(block)
    }

    /// Torch 2.0 and earlier: who allocated parts of the block, the last one first. The first entry of a block in use is
    /// the one that it serves.
    fn history(&mut self, list: Handle, block: &mut SnapshotBlock) {
        const PLACE: SnapshotPart = "the history of a block";
        let Some(chain) = self.list(list, PLACE) else { return };
        let is_used = block.is_allocated || block.is_pending_free;
        let mut is_first = true;
        for &item in self.values.runs(chain).flatten() {
            if !self.spend(1) {
                return;
            }
            let Some(dict) = self.dict(item, PLACE, chain) else { continue };
            let (mut stack, mut size) = (StackId::NONE, None);
            for (key, value) in self.values.pairs(dict) {
                if !self.spend(1) {
                    return;
                }
                match self.key(key) {
                    DictKey::Frames => stack = self.stack(value),
                    DictKey::RealSize => size = self.size(value, PLACE, key, dict),
                    DictKey::Addr | DictKey::Unused => {}
                    _ => self.unknown_key(PLACE, key, dict),
                }
            }
            if is_first {
                block.stack = stack;
                if block.requested_size < Bytes::ZERO {
                    block.requested_size = size.unwrap_or(Bytes(-1));
                }
            }
            if !(is_first && is_used) {
                block.former.extend(size.map(|size| (stack, size)));
            }
            is_first = false;
        }
    }

    fn device_traces(&mut self, list: Handle) {
        let Some(chain) = self.list(list, "the device traces") else { return };
        for (ordinal, &trace) in self.values.runs(chain).flatten().enumerate() {
            if !self.spend(1) {
                break;
            }
            let mut device = SnapshotDevice {
                device: i32::try_from(ordinal).unwrap_or(i32::MAX),
                events: Vec::new(),
            };
            if let Some(events) = self.list(trace, "the trace of a device") {
                for &item in self.values.runs(events).flatten() {
                    if !self.spend(1) {
                        break;
                    }
                    let dict = self.dict(item, "an event", events);
                    device.events.extend(dict.and_then(|dict| self.event(dict)));
                }
            }
            self.snapshot.devices.push(device);
        }
    }

    fn event(&mut self, dict: Chain) -> Option<SnapshotEvent> {
        const PLACE: SnapshotPart = "an event";
        let mut event = SnapshotEvent::default();
        let (mut action, mut address, mut size) = (None, None, None);
        for (key, value) in self.values.pairs(dict) {
            if !self.spend(1) {
                return None;
            }
            match self.key(key) {
                DictKey::Action => action = Some(self.action(value, dict)),
                DictKey::Addr | DictKey::DeviceFree => {
                    address = self.address(value, PLACE, key, dict)
                }
                DictKey::Size => size = self.size(value, PLACE, key, dict),
                DictKey::Stream => event.stream = self.int(value, PLACE, key, dict).unwrap_or(0),
                DictKey::TimeUs => event.at = self.time(value, PLACE, key, dict),
                DictKey::Frames => event.stack = self.stack(value),
                DictKey::Category | DictKey::Unused => {}
                _ => self.unknown_key(PLACE, key, dict),
            }
        }
        let Some(action) = action else {
            self.left_out("an event without action was left out", dict);
            return None;
        };
        let moves_memory = !matches!(
            action,
            SnapshotAction::Snapshot | SnapshotAction::Annotation | SnapshotAction::Other
        );
        if moves_memory && (address.is_none() || size.is_none()) {
            self.left_out("an event without address or size was left out", dict);
            return None;
        }
        event.action = action;
        event.address = address.unwrap_or(0);
        event.size = size.unwrap_or(Bytes::ZERO);
        Some(event)
    }

    fn action(&mut self, value: Handle, dict: Chain) -> SnapshotAction {
        match self.text(value) {
            Some("alloc") => SnapshotAction::Alloc,
            Some("free_requested") => SnapshotAction::FreeRequested,
            Some("free_completed") => SnapshotAction::FreeCompleted,
            Some("segment_alloc") => SnapshotAction::SegmentAlloc,
            Some("segment_free") => SnapshotAction::SegmentFree,
            Some("segment_map") => SnapshotAction::SegmentMap,
            Some("segment_unmap") => SnapshotAction::SegmentUnmap,
            Some("oom") => SnapshotAction::OutOfMemory,
            Some("snapshot") => SnapshotAction::Snapshot,
            Some("annotate" | "user_defined") => SnapshotAction::Annotation,
            _ => {
                self.complain("an action", value, dict, |name| {
                    format!("the action {name} is not known; its events say what they can")
                });
                SnapshotAction::Other
            }
        }
    }

    fn annotations(&mut self, list: Handle) {
        const PLACE: SnapshotPart = "an annotation";
        let Some(chain) = self.list(list, "the external annotations") else { return };
        for &item in self.values.runs(chain).flatten() {
            if !self.spend(1) {
                break;
            }
            let Some(dict) = self.dict(item, PLACE, chain) else { continue };
            let mut annotation =
                SnapshotAnnotation { name: StrId::NONE, is_start: false, device: 0, at: Ns(-1) };
            let mut is_end = false;
            for (key, value) in self.values.pairs(dict) {
                if !self.spend(1) {
                    return;
                }
                match self.key(key) {
                    DictKey::Name => annotation.name = self.name(value, PLACE, key, dict),
                    DictKey::Stage => match self.text(value) {
                        Some("START") => annotation.is_start = true,
                        Some("END") => is_end = true,
                        _ => self.unusable(PLACE, key, dict),
                    },
                    DictKey::Device => annotation.device = self.ordinal(value, PLACE, key, dict),
                    DictKey::TimeUs => annotation.at = self.time(value, PLACE, key, dict),
                    DictKey::Category | DictKey::Unused => {}
                    _ => self.unknown_key(PLACE, key, dict),
                }
            }
            if annotation.name == StrId::NONE || annotation.is_start == is_end {
                self.left_out("an annotation without name or stage was left out", dict);
            } else {
                self.snapshot.annotations.push(annotation);
            }
        }
    }

    /// What tensors are for: columns of addresses, purposes and times.
    fn purposes(&mut self, value: Handle, parent: Chain) {
        const PLACE: SnapshotPart = "what tensors are for";
        let Some(dict) = self.dict(value, PLACE, parent) else { return };
        let (mut addresses, mut purposes, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for (key, value) in self.values.pairs(dict) {
            if !self.spend(1) {
                return;
            }
            let column = match self.key(key) {
                DictKey::SinceUs => {
                    self.snapshot.purposes.since = self.time(value, PLACE, key, dict).max(Ns(0));
                    continue;
                }
                column @ (DictKey::Address | DictKey::Purpose | DictKey::TimeUs) => column,
                _ => {
                    self.unknown_key(PLACE, key, dict);
                    continue;
                }
            };
            let Some(chain) = self.list(value, PLACE) else { continue };
            for &item in self.values.runs(chain).flatten() {
                if !self.spend(1) {
                    return;
                }
                match column {
                    DictKey::Address => addresses.push(self.address(item, PLACE, key, dict)),
                    DictKey::TimeUs => times.push(self.time(item, PLACE, key, dict)),
                    _ => purposes.push(self.text(item).and_then(purpose)),
                }
            }
        }
        let rows = addresses.into_iter().zip(purposes).zip(times);
        self.snapshot.purposes.tensors.extend(rows.filter_map(|((address, purpose), at)| {
            Some(SnapshotTensor { address: address?, purpose: purpose?, at })
        }));
    }

    // Stacks.

    /// The stack of a list of frames. Lists that say the same are the same stack.
    fn stack(&mut self, list: Handle) -> StackId {
        let Some(chain) = self.list(list, "the frames of a stack") else { return StackId::NONE };
        let Some(row) = list.row() else { return StackId::NONE };
        if self.converted[row] != UNSEEN {
            return StackId(self.converted[row]);
        }
        let values = self.values;
        let shared = values.shared(chain);
        if let Some(&stack) = shared.and_then(|shared| self.shared.get(&shared))
            && self.spend(self.n_frames(stack))
        {
            self.converted[row] = stack.0;
            return stack;
        }
        let mut frames = std::mem::take(&mut self.scratch);
        frames.clear();
        let mut is_whole = true;
        for run in values.runs(chain) {
            if !self.spend(run.len()) {
                is_whole = false;
                break;
            }
            frames.extend(run.iter().filter_map(|&item| self.frame(item, chain)));
            is_whole &= frames.len() == run.len();
        }
        let stack = self.intern_stack(&frames);
        // Where something is not a frame, each list has its warning.
        if let Some(shared) = shared.filter(|_| is_whole) {
            self.shared.insert(shared, stack);
        }
        self.scratch = frames;
        // An empty stack stays unseen: it is NONE, and as quick to find again.
        self.converted[row] = stack.0;
        stack
    }

    fn n_frames(&self, stack: StackId) -> usize {
        self.snapshot.frames(stack).len()
    }

    fn intern_stack(&mut self, frames: &[u32]) -> StackId {
        if frames.is_empty() {
            return StackId::NONE;
        }
        let hasher = BuildHasherDefault::<FxHasher>::default();
        let rows = &self.frames;
        let of = |frames: &[u32]| hasher.hash_one(frames);
        let hash = of(frames);
        let stacks = &mut self.snapshot.stacks;
        let same = |stack: &StackId| {
            let known = &stacks[stack.0 as usize];
            known.len() == frames.len()
                && known.iter().zip(frames).all(|(known, &frame)| *known == rows[frame as usize])
        };
        if let Some(&known) = self.stack_index.find(hash, same) {
            return known;
        }
        let stack = StackId(u32::try_from(stacks.len()).unwrap_or(u32::MAX));
        stacks.push(frames.iter().map(|&frame| rows[frame as usize]).collect());
        let index = &self.frame_index;
        self.stack_index.insert_unique(hash, stack, |stack| {
            let frames: Vec<u32> =
                stacks[stack.0 as usize].iter().map(|frame| index[frame]).collect();
            of(&frames)
        });
        stack
    }

    /// The place of a frame in `frames`.
    fn frame(&mut self, item: Handle, stack: Chain) -> Option<u32> {
        const PLACE: SnapshotPart = "a frame";
        match item.row().map(|row| self.converted[row]) {
            Some(UNUSABLE) => return None,
            Some(known) if known != UNSEEN && known & FRAME != 0 => return Some(known & !FRAME),
            _ => {}
        }
        let dict = self.dict(item, PLACE, stack)?;
        let row = item.row()?;
        let mut frame = SnapshotFrame { file: StrId::NONE, line: 0, function: StrId::NONE };
        for (key, value) in self.values.pairs(dict) {
            if !self.spend(1) {
                return None;
            }
            match self.key(key) {
                DictKey::Filename => frame.file = self.name(value, PLACE, key, dict),
                DictKey::Name => frame.function = self.name(value, PLACE, key, dict),
                DictKey::Line => {
                    let line = self.int(value, PLACE, key, dict).map(u32::try_from);
                    frame.line = match line {
                        Some(Ok(line)) => line,
                        Some(Err(_)) => {
                            self.unusable(PLACE, key, dict);
                            0
                        }
                        None => 0,
                    };
                }
                DictKey::Category | DictKey::Unused => {}
                _ => self.unknown_key(PLACE, key, dict),
            }
        }
        if frame.file == StrId::NONE && frame.function == StrId::NONE {
            self.left_out("a frame without file and name was left out", dict);
            self.converted[row] = UNUSABLE;
            return None;
        }
        let frames = &mut self.frames;
        let place = *self.frame_index.entry(frame).or_insert_with(|| {
            frames.push(frame);
            u32::try_from(frames.len() - 1).unwrap_or(0)
        });
        self.converted[row] = FRAME | place;
        Some(place)
    }

    // Values.

    /// Whether `items` more may be looked at.
    fn spend(&mut self, items: usize) -> bool {
        self.budget = self.budget.saturating_sub(items);
        self.budget > 0
    }

    fn key(&self, key: Handle) -> DictKey {
        match self.values.get(key) {
            PickleValue::Text(text) => self.keys[text.index()],
            _ => DictKey::Unknown,
        }
    }

    fn text(&self, value: Handle) -> Option<&str> {
        match self.values.get(value) {
            PickleValue::Text(text) => Some(self.values.texts().get(text)),
            _ => None,
        }
    }

    /// The items of a list; `None` where there is no list.
    fn list(&mut self, value: Handle, place: SnapshotPart) -> Option<Chain> {
        match self.values.get(value) {
            PickleValue::List(chain) | PickleValue::Tuple(chain) => Some(chain),
            PickleValue::None => None,
            other => {
                let message = format!("{place} are no list and were left out");
                self.warnings.add(WarningKind::Malformed, offset(other).unwrap_or(0), message);
                None
            }
        }
    }

    fn dict(&mut self, value: Handle, place: SnapshotPart, parent: Chain) -> Option<Chain> {
        match self.values.get(value) {
            PickleValue::Dict(chain) => Some(chain),
            other => {
                let message = format!("{place} is no dict and was left out");
                let at = offset(other).unwrap_or(parent.offset());
                self.warnings.add(WarningKind::Malformed, at, message);
                None
            }
        }
    }

    fn int(&mut self, value: Handle, place: SnapshotPart, key: Handle, dict: Chain) -> Option<i64> {
        match self.values.get(value) {
            PickleValue::Int(int) => Some(int),
            PickleValue::None => None,
            _ => {
                self.unusable(place, key, dict);
                None
            }
        }
    }

    fn size(
        &mut self,
        value: Handle,
        place: SnapshotPart,
        key: Handle,
        dict: Chain,
    ) -> Option<Bytes> {
        let size = Bytes(self.int(value, place, key, dict)?);
        if size < Bytes::ZERO {
            self.unusable(place, key, dict);
        }
        (size >= Bytes::ZERO).then_some(size)
    }

    /// C++ writes addresses as signed integers.
    fn address(
        &mut self,
        value: Handle,
        place: SnapshotPart,
        key: Handle,
        dict: Chain,
    ) -> Option<u64> {
        match self.values.get(value) {
            PickleValue::Unsigned(address) => Some(address),
            _ => self.int(value, place, key, dict).map(i64::cast_unsigned),
        }
    }

    fn ordinal(&mut self, value: Handle, place: SnapshotPart, key: Handle, dict: Chain) -> i32 {
        let Some(int) = self.int(value, place, key, dict) else { return 0 };
        i32::try_from(int).unwrap_or_else(|_| {
            self.unusable(place, key, dict);
            0
        })
    }

    fn time(&mut self, value: Handle, place: SnapshotPart, key: Handle, dict: Chain) -> Ns {
        let Some(us) = self.int(value, place, key, dict) else { return Ns(-1) };
        match us.checked_mul(1000) {
            Some(ns) if ns >= 0 => Ns(ns),
            _ => {
                self.unusable(place, key, dict);
                Ns(-1)
            }
        }
    }

    fn pool(&mut self, value: Handle, place: SnapshotPart, key: Handle, dict: Chain) -> (i64, i64) {
        if let PickleValue::Tuple(chain) | PickleValue::List(chain) = self.values.get(value) {
            let mut items = self.values.runs(chain).flatten().map(|&item| self.values.get(item));
            if let (Some(PickleValue::Int(first)), Some(PickleValue::Int(second)), None) =
                (items.next(), items.next(), items.next())
            {
                return (first, second);
            }
        }
        self.unusable(place, key, dict);
        (0, 0)
    }

    fn name(&mut self, value: Handle, place: SnapshotPart, key: Handle, dict: Chain) -> StrId {
        match self.values.get(value) {
            PickleValue::Text(text) => {
                let known = self.names[text.index()];
                if known != StrId::NONE {
                    return known;
                }
                let name = self.snapshot.strings.intern(self.values.texts().get(text));
                self.names[text.index()] = name;
                name
            }
            PickleValue::None => StrId::NONE,
            _ => {
                self.unusable(place, key, dict);
                StrId::NONE
            }
        }
    }

    // Warnings.

    fn unknown_key(&mut self, place: SnapshotPart, key: Handle, dict: Chain) {
        self.complain(place, key, dict, |name| {
            format!("the key {name} of {place} is not known and was passed over")
        });
    }

    /// A known key with a value that its column cannot hold.
    fn unusable(&mut self, place: SnapshotPart, key: Handle, dict: Chain) {
        let name = self.shown(key);
        let message =
            format!("the value of {name} of {place} is not usable and was taken as absent");
        self.warnings.add(WarningKind::NumberOutOfRange, dict.offset(), message);
    }

    fn left_out(&mut self, message: &str, dict: Chain) {
        self.warnings.add(WarningKind::Malformed, dict.offset(), message);
    }

    /// Warns about `text`, with a message that is built the first time only: a new version of torch may give every
    /// event a new key.
    fn complain(
        &mut self,
        place: SnapshotPart,
        text: Handle,
        dict: Chain,
        message: impl FnOnce(&str) -> String,
    ) {
        let shown = match self.messages.get(&(place, text)) {
            Some(_) => Cow::Borrowed(""),
            None => self.shown(text),
        };
        let message = self.messages.entry((place, text)).or_insert_with(|| message(&shown));
        self.warnings.add(WarningKind::Other, dict.offset(), &*message);
    }

    /// A text as a warning shows it: quoted, escaped and short.
    fn shown(&self, value: Handle) -> Cow<'static, str> {
        const MAX_CHARS: usize = 40;
        match self.text(value) {
            Some(text) => {
                let short: String = text.chars().take(MAX_CHARS).collect();
                Cow::Owned(format!("{short:?}"))
            }
            None => Cow::Borrowed("that is no text"),
        }
    }
}

/// Where a container begins in the file.
fn offset(value: PickleValue) -> Option<u64> {
    match value {
        PickleValue::List(chain) | PickleValue::Tuple(chain) | PickleValue::Dict(chain) => {
            Some(chain.offset())
        }
        _ => None,
    }
}
