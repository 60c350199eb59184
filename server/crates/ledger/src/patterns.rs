//! Anti-patterns that cost time, as they show in the events.

use crate::amount::Amount;
use crate::{Bytes, Ns};

/// A sequence or nesting of events that stands for an anti-pattern.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum Pattern {
    /// The same operators over and over in one function, each time beginning with `aten::select`.
    ForLoopIndexing,
    /// An optimizer that works on one parameter at a time.
    OptimizerSingleTensor,
    /// Gradients that are set to zero rather than to `None`.
    ZeroGrad,
    /// The main process waits for a batch that workers make.
    DataLoaderWorkers,
    /// The main process makes a batch by itself: there are no workers.
    DataLoaderAlone,
    /// A convolution with a bias, straight before a batch normalization.
    ConvBias,
    /// A copy from pageable host memory.
    PageableCopy,
    /// A tensor that is made in host memory and then copied as a whole.
    ExtraCopy,
    /// An operator that the device lacks, run on the CPU instead.
    CpuFallback,
    /// A function that `torch.compile` compiled in parts.
    GraphBreak,
    /// `torch.compile` at work.
    Compilation,
    /// Tensors that are updated one by one in a loop, outside of the optimizers of PyTorch.
    UpdateOneByOne,
    /// Python between operators: frames and short built-in calls.
    PythonBetween,
    /// Python's garbage collector.
    GarbageCollection,
    /// `nn.DataParallel` handing out parameters and inputs, and collecting results.
    DataParallel,
}

/// What a pattern on a line cost: within the steps, or over the recording where it has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PatternBooks {
    /// How often.
    pub count: u64,
    /// Outermost operators in it.
    pub ops: u64,
    /// Host time.
    pub cpu: Ns,
    /// Of it, time blocked waiting for the device.
    pub wait: Ns,
    /// What at most is won without these waits: the avoidable idle time after them, and the time during which the device did
    /// nothing but what was waited for. 0 where the pattern does not wait.
    pub avoidable: Ns,
    /// Device time.
    pub cuda: Ns,
    /// Host time of what it is a part of: the whole convolution, all that runs after a break.
    pub around: Ns,
    /// Device time of what it is a part of.
    pub around_cuda: Ns,
    /// Bytes moved.
    pub bytes: Bytes,
    /// The most repetitions in a row, or versions of a function.
    pub most: u64,
    /// In how many steps of a rank it occurs.
    pub steps: u64,
}

impl PatternBooks {
    /// Adds more of the same: of another line, or another rank.
    pub fn add(&mut self, other: &Self) {
        let Self {
            count,
            ops,
            cpu,
            wait,
            avoidable,
            cuda,
            around,
            around_cuda,
            bytes,
            most,
            steps,
        } = other;
        self.count.gain(*count);
        self.ops.gain(*ops);
        self.cpu.gain(*cpu);
        self.wait.gain(*wait);
        self.avoidable.gain(*avoidable);
        self.cuda.gain(*cuda);
        self.around.gain(*around);
        self.around_cuda.gain(*around_cuda);
        self.bytes.gain(*bytes);
        self.most = self.most.max(*most);
        self.steps.gain(*steps);
    }
}
