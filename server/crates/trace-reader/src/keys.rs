//! The keys of an event and of its `args` that Perfline uses, and what can be wrong with a value.

use profile::WarningKind;

/// The numbers of an event and its `args`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EventNumber {
    /// `ts` and `dur`, in nanoseconds.
    Start,
    Duration,
    ExternalId,
    Correlation,
    PythonId,
    PythonParent,
    Sequence,
    ForwardThread,
    GraphId,
    GraphNode,
    CopiedBytes,
    /// In tenths of a percent.
    Occupancy,
    /// In millionths.
    BlocksPerSm,
    /// Of a `[memory]` instant, like the following.
    Bytes,
    DeviceType,
    DeviceId,
    TotalAllocated,
    TotalReserved,
    /// Of a collective, like the following.
    InputElements,
    OutputElements,
    GroupSize,
    CollectiveSequence,
    SourceRank,
    DestinationRank,
}

/// The texts of an event and its `args`; numbers that may be written as strings, such as ids of threads, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Label {
    Phase,
    Category,
    Name,
    Pid,
    Tid,
    Id,
    CallFrom,
    CallStack,
    /// `name` in `args` of a metadata event.
    ThreadName,
    Device,
    Stream,
    Address,
    /// `Collective name`, and what else is said of one.
    Collective,
    DataType,
    GroupName,
    GroupRanks,
    /// The kernel that a runtime call launches.
    Kernel,
}

/// What is kept as the JSON text of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Json {
    InputDims,
    InputTypes,
    ConcreteInputs,
    Stack,
}

/// Lists of three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Triple {
    Grid,
    Block,
}

/// What stands behind a key of an event or of its `args`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKey {
    Number(EventNumber),
    Label(Label),
    Json(Json),
    Triple(Triple),
    /// Nothing of use here.
    Other,
}

/// What was wrong in an event: what, where in the buffer, and what came of it.
pub(crate) type Anomaly = (WarningKind, usize, &'static str);

impl EventNumber {
    pub(crate) const COUNT: usize = Self::DestinationRank as usize + 1;

    /// The number is kept times ten to this power.
    pub(crate) fn scale(self) -> usize {
        match self {
            Self::Start | Self::Duration => 3,
            Self::Occupancy => 1,
            Self::BlocksPerSm => 6,
            _ => 0,
        }
    }
}

impl Label {
    pub(crate) const COUNT: usize = Self::Kernel as usize + 1;
}

impl Json {
    pub(crate) const COUNT: usize = Self::Stack as usize + 1;
}

impl Triple {
    pub(crate) const COUNT: usize = Self::Block as usize + 1;
}

impl EventKey {
    pub(crate) fn of_event(key: &[u8]) -> Self {
        match key {
            b"ph" => Self::Label(Label::Phase),
            b"cat" => Self::Label(Label::Category),
            b"name" => Self::Label(Label::Name),
            b"pid" => Self::Label(Label::Pid),
            b"tid" => Self::Label(Label::Tid),
            b"ts" => Self::Number(EventNumber::Start),
            b"dur" => Self::Number(EventNumber::Duration),
            b"id" => Self::Label(Label::Id),
            _ => Self::Other,
        }
    }

    pub(crate) fn of_arg(key: &[u8]) -> Self {
        match key {
            // `external id` until PyTorch 1.12, `Input dims` in 1.8.
            b"External id" | b"external id" => Self::Number(EventNumber::ExternalId),
            b"correlation" => Self::Number(EventNumber::Correlation),
            b"Python id" => Self::Number(EventNumber::PythonId),
            b"Python parent id" => Self::Number(EventNumber::PythonParent),
            b"CallFrom" => Self::Label(Label::CallFrom),
            b"Call stack" => Self::Label(Label::CallStack),
            b"Sequence number" => Self::Number(EventNumber::Sequence),
            b"Fwd thread id" => Self::Number(EventNumber::ForwardThread),
            b"Input Dims" | b"Input dims" => Self::Json(Json::InputDims),
            b"Input type" => Self::Json(Json::InputTypes),
            b"Concrete Inputs" => Self::Json(Json::ConcreteInputs),
            b"stack" => Self::Json(Json::Stack),
            b"name" => Self::Label(Label::ThreadName),
            b"device" => Self::Label(Label::Device),
            b"stream" => Self::Label(Label::Stream),
            b"graph id" => Self::Number(EventNumber::GraphId),
            b"graph node id" => Self::Number(EventNumber::GraphNode),
            b"bytes" => Self::Number(EventNumber::CopiedBytes),
            b"grid" => Self::Triple(Triple::Grid),
            b"block" => Self::Triple(Triple::Block),
            b"est. achieved occupancy %" => Self::Number(EventNumber::Occupancy),
            b"blocks per SM" => Self::Number(EventNumber::BlocksPerSm),
            b"Addr" => Self::Label(Label::Address),
            b"Bytes" => Self::Number(EventNumber::Bytes),
            b"Device Type" => Self::Number(EventNumber::DeviceType),
            b"Device Id" => Self::Number(EventNumber::DeviceId),
            b"Total Allocated" => Self::Number(EventNumber::TotalAllocated),
            b"Collective name" => Self::Label(Label::Collective),
            b"dtype" => Self::Label(Label::DataType),
            b"Process Group Name" => Self::Label(Label::GroupName),
            b"Process Group Ranks" => Self::Label(Label::GroupRanks),
            b"In msg nelems" => Self::Number(EventNumber::InputElements),
            b"Out msg nelems" => Self::Number(EventNumber::OutputElements),
            b"Group size" => Self::Number(EventNumber::GroupSize),
            b"Seq" => Self::Number(EventNumber::CollectiveSequence),
            b"Src Rank" => Self::Number(EventNumber::SourceRank),
            b"Dst Rank" => Self::Number(EventNumber::DestinationRank),
            b"kernel" => Self::Label(Label::Kernel),
            b"Total Reserved" => Self::Number(EventNumber::TotalReserved),
            _ => Self::Other,
        }
    }
}
