//! What the names in settings stand for, in quantities of the table of `metrics`.

use metrics::Quantity;

/// What a metric or a placeholder shows of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ShownQuantity {
    /// The same in every view.
    Always(Quantity),
    /// By the charge of the view.
    Charged {
        /// Of the innermost line of your code.
        own: Quantity,
        /// Of every line on the stack.
        total: Quantity,
    },
    /// Time of the backward pass, on the device or on the host.
    Backward,
    /// Bytes alive at the peak, or allocated bytes.
    Memory,
}

impl ShownQuantity {
    /// Thread time.
    pub(crate) const CPU: Self =
        Self::Charged { own: Quantity::CpuBusy, total: Quantity::CpuTotal };
    /// Device time.
    pub(crate) const CUDA: Self =
        Self::Charged { own: Quantity::CudaOwn, total: Quantity::CudaTotal };
}
