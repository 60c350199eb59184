//! Why a picture cannot be laid out.

/// Why a picture cannot be laid out.
pub type PlotError = Box<dyn std::error::Error>;
