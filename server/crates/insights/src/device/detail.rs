//! What the rules about the device find.

use ledger::{Ns, ProductSizes};

/// What a rule about the device found. Amounts are of the whole recording, means over the devices of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceDetail {
    /// `hot-loop`: a loop that feeds the device too slowly.
    HotLoop {
        /// How often its body ran.
        iterations: u64,
        /// Thread time in it.
        time: Ns,
        /// Of it, time blocked waiting for the device.
        sync: Ns,
        /// Kernels launched from it, those of graphs left out.
        kernels: u64,
        /// Device time of as many, by the mean of all that was launched from it.
        cuda: Ns,
        /// Time in the calls that launched them.
        launch_time: Ns,
        /// How many calls that were.
        launches: u64,
        /// Device idle time while it ran.
        idle: Ns,
    },
    /// `launch-bound`: kernels of a line that take longer to launch than to run.
    LaunchBound {
        /// Kernels launched.
        kernels: u64,
        /// Time of these kernels.
        cuda: Ns,
        /// Thread time of the line, waits left out.
        host: Ns,
        /// Kernels that ran shorter than the call that launched them.
        short: u64,
    },
    /// `gpu-idle`: the device had nothing to do while the line ran.
    GpuIdle {
        /// Nothing had been launched.
        host: Ns,
        /// Short gaps between kernels.
        kernel: Ns,
        /// Launched work waited for something else.
        other: Ns,
    },
    /// `low-occupancy`: kernels that do not fill the device.
    LowOccupancy {
        /// The kernel with most time, as recorded.
        kernel: String,
        /// Its blocks.
        blocks: u64,
        /// Multiprocessors of the device; 0 where the recording does not say.
        multiprocessors: u32,
        /// Its estimated occupancy in tenths of a percent.
        occupancy: u32,
    },
    /// `tensor-cores-unused`, `tensor-cores-unaligned`: matrix products that are slower than tensor cores can be.
    TensorCores {
        /// The kernel with most time, as recorded.
        kernel: String,
        /// What is wrong with it.
        product: Product,
        /// What of the cost is of this line.
        here: Ns,
        /// Sizes of the line's longest product of which one is no multiple of 8, where they are what is wrong and are
        /// recorded.
        sizes: Option<ProductSizes>,
    },
    /// `comm-exposed`: collectives that nothing hides.
    CommExposed {
        /// Device time of the collectives.
        comm: Ns,
        /// Of it, waiting for other ranks; `None` where too few ranks are recorded to know.
        wait: Option<Ns>,
    },
    /// `first-step`: a step that warms up is among the measured ones.
    FirstStep {
        /// Its number.
        number: u32,
        /// How long it took.
        first: Ns,
        /// The median of the others.
        median: Ns,
        /// What of the difference is thread time of the line.
        here: Ns,
    },
    /// `replayed-graph`: graphs of which nothing says which lines launched their kernels.
    ReplayedGraph,
}

/// Why a product is not where it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// In float32, without TF32.
    Float32,
    /// In half precision, without tensor cores.
    Half,
    /// In half precision on tensor cores, but with operands that are not aligned.
    Misaligned,
}
