//! What ran on devices, as columns.

use rustc_hash::FxHashMap;

use crate::{Bytes, DeviceEventId, Ns, StrId, keep_rows};

/// What a device event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DeviceKind {
    /// A kernel, or any other work of a device without a category of its own.
    Kernel,
    /// A copy (`gpu_memcpy`).
    Memcpy,
    /// A fill (`gpu_memset`).
    Memset,
}

/// All device events, in file order.
#[derive(Debug, Default)]
pub struct DeviceEvents {
    /// What the event is.
    pub kind: Vec<DeviceKind>,
    /// Name as recorded.
    pub name: Vec<StrId>,
    /// Start, relative to [`Meta::base`](crate::Meta::base).
    pub start: Vec<Ns>,
    /// Duration, not negative.
    pub duration: Vec<Ns>,
    /// Device ordinal (`args.device`, else the process id); -1 when neither is a number.
    pub device: Vec<i32>,
    /// Stream (`args.stream`, else the thread id, `stream 7` read as 7); -1 when neither is a number.
    pub stream: Vec<i64>,
    /// `correlation`; -1 when absent.
    pub correlation: Vec<i64>,
    /// `External id`; -1 when absent.
    pub external_id: Vec<i64>,
    /// `graph id` of a CUDA-graph replay; -1 when absent.
    pub graph_id: Vec<i64>,
    /// `graph node id`: the node of that graph, in some traces with the id of the graph in the upper half; -1 when absent.
    pub graph_node: Vec<i64>,
    /// `bytes` of a copy or fill; -1 when absent.
    pub bytes: Vec<Bytes>,
    /// Launch shape, or [`LaunchShapeId::NONE`].
    pub shape: Vec<LaunchShapeId>,
    /// `args.stack` as the JSON text of the file (Inductor provenance), or [`StrId::NONE`].
    pub stack: Vec<StrId>,
    /// What a collective communicates, or [`MessageId::NONE`].
    pub message: Vec<MessageId>,
    /// The distinct launch shapes.
    pub shapes: LaunchShapes,
    /// The messages of collectives, and those that operators name.
    pub messages: Vec<Message>,
}

impl DeviceEvents {
    /// Number of device events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Handles of all device events in file order.
    pub fn ids(&self) -> impl Iterator<Item = DeviceEventId> + use<> {
        (0..self.len()).map(DeviceEventId::from_index)
    }

    /// End of an event, saturating.
    #[must_use]
    pub fn end(&self, id: DeviceEventId) -> Ns {
        self.start[id.index()].saturating_add(self.duration[id.index()])
    }

    /// What the collective `id` communicates, where its arguments are recorded.
    #[must_use]
    pub fn message_of(&self, id: DeviceEventId) -> Option<&Message> {
        self.message(*self.message.get(id.index())?)
    }

    /// The row of [`Self::messages`] behind a handle; `None` for [`MessageId::NONE`].
    #[must_use]
    pub fn message(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(id.0 as usize)
    }

    /// Takes out the rows `gone`; the rows behind them move up, so that their handles change.
    pub fn remove(&mut self, gone: &[DeviceEventId]) {
        let mut is_kept = vec![true; self.len()];
        gone.iter().for_each(|id| is_kept[id.index()] = false);
        let Self {
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
            shapes: _,
            messages: _,
        } = self;
        keep_rows(kind, &is_kept);
        keep_rows(name, &is_kept);
        keep_rows(start, &is_kept);
        keep_rows(duration, &is_kept);
        keep_rows(device, &is_kept);
        keep_rows(stream, &is_kept);
        keep_rows(correlation, &is_kept);
        keep_rows(external_id, &is_kept);
        keep_rows(graph_id, &is_kept);
        keep_rows(graph_node, &is_kept);
        keep_rows(bytes, &is_kept);
        keep_rows(shape, &is_kept);
        keep_rows(stack, &is_kept);
        keep_rows(message, &is_kept);
    }
}

/// What a collective communicates, as the arguments of its kernel, or of the `record_param_comms` around its launch, say. -1 and [`StrId::NONE`] stand for what is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// `Collective name`.
    pub collective: StrId,
    /// `dtype`.
    pub data_type: StrId,
    /// `In msg nelems`.
    pub input_elements: i64,
    /// `Out msg nelems`.
    pub output_elements: i64,
    /// `Process Group Name`.
    pub group: StrId,
    /// `Process Group Ranks`.
    pub group_ranks: StrId,
    /// `Group size`.
    pub group_size: i64,
    /// `Seq`: the number of the collective in its process group.
    pub sequence: i64,
    /// `Src Rank` of a `recv`: the rank that sends, by its number in the job.
    pub source: i64,
    /// `Dst Rank` of a `send`: the rank that receives, by its number in the job.
    pub destination: i64,
}

/// A row of [`DeviceEvents::messages`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageId(pub u32);

impl MessageId {
    /// The event is no collective, or the recording does not say more of it.
    pub const NONE: Self = Self(u32::MAX);
}

/// How a kernel was launched. Missing values are 0; `occupancy_permille` and `blocks_per_multiprocessor` are -1 when
/// absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LaunchShape {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
    /// `est. achieved occupancy %` in tenths of a percent.
    pub occupancy_permille: i32,
    /// `blocks per SM` in millionths.
    pub blocks_per_multiprocessor: i64,
}

/// A row of [`LaunchShapes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaunchShapeId(pub u32);

impl LaunchShapeId {
    /// The recording names no shape.
    pub const NONE: Self = Self(u32::MAX);
}

/// The distinct launch shapes: a training loop has some hundred of them, and millions of kernels.
#[derive(Debug, Default)]
pub struct LaunchShapes {
    rows: Vec<LaunchShape>,
    index: FxHashMap<LaunchShape, LaunchShapeId>,
}

impl LaunchShapes {
    /// The handle of `shape`, stored if it was not seen before.
    pub fn intern(&mut self, shape: LaunchShape) -> LaunchShapeId {
        let rows = &mut self.rows;
        *self.index.entry(shape).or_insert_with(|| {
            rows.push(shape);
            LaunchShapeId(u32::try_from(rows.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// The shape behind `id`, or `None` for [`LaunchShapeId::NONE`].
    #[must_use]
    pub fn get(&self, id: LaunchShapeId) -> Option<&LaunchShape> {
        self.rows.get(id.0 as usize)
    }
}
