//! How to attribute.

use device_memory::TracedDevices;
use stack_books::EventChoice;

/// Which parts of a recording are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttributionOptions {
    /// Pretends that the recording holds no exact evidence (CallFrom, side-car, Call stack), which is how inference is
    /// measured against truth.
    pub ignore_exact: bool,
    /// What of the memory of devices is taken from the trace.
    pub device_memory: TracedDevices,
}

/// How the books of stacks are made.
#[derive(Debug, Clone, Default)]
pub struct StackOptions {
    /// Whether operators with inputs of different sizes are different entries.
    pub operator_sizes: bool,
    /// Which events they are made of; of others nothing is in them.
    pub events: EventChoice,
    /// Whether they also say what stacks have in each step.
    pub by_step: bool,
}
