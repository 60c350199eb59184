//! Floating-point operations, and what held them back.

use std::collections::BTreeMap;

use super::share;
use crate::{Bytes, Ns};

/// The arithmetic that an operator ran in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum Precision {
    /// float64.
    F64,
    /// float32 on vector units.
    F32,
    /// float32 inputs on tensor cores.
    Tf32,
    /// float16 or bfloat16.
    F16,
    /// 8-bit floats.
    F8,
}

/// What operators with known FLOPs did, in one precision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Arithmetic {
    /// How many operators.
    pub operators: u64,
    /// Floating-point operations, a multiply-add as two.
    pub flops: u64,
    /// Device time that they launched; in recordings without device events, their host time.
    pub time: Ns,
    /// Bytes that they read and write at least: each input and output once, from dims and types.
    pub bytes: Bytes,
}

/// What a device can do at most, in its data sheet: dense, without sparsity. 0 where it cannot or the sheet is silent.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct DevicePeak {
    /// FLOP/s of float64 on tensor (matrix) cores where it has such, else on its vector units.
    pub f64: u64,
    /// FLOP/s of float32 on vector units.
    pub f32: u64,
    /// FLOP/s of float32 rounded to TF32 on tensor cores.
    pub tf32: u64,
    /// FLOP/s of float16 and bfloat16 on tensor cores.
    pub f16: u64,
    /// FLOP/s of 8-bit floats on tensor cores.
    pub f8: u64,
    /// Bytes per second of device memory.
    pub bandwidth: u64,
}

/// What holds arithmetic back on a device: the side of its roofline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// More FLOPs per byte than the device's balance: arithmetic is the limit.
    Compute,
    /// Fewer: memory is the limit.
    Memory,
}

impl Precision {
    /// Stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::Tf32 => "tf32",
            Self::F16 => "f16",
            Self::F8 => "f8",
        }
    }
}

impl DevicePeak {
    /// FLOP/s at most in `precision`; `None` where the table has none.
    #[must_use]
    pub fn flops(&self, precision: Precision) -> Option<u64> {
        let rate = match precision {
            Precision::F64 => self.f64,
            Precision::F32 => self.f32,
            Precision::Tf32 => self.tf32,
            Precision::F16 => self.f16,
            Precision::F8 => self.f8,
        };
        (rate != 0).then_some(rate)
    }
}

impl Bound {
    /// Stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
        }
    }
}

impl Arithmetic {
    /// Achieved FLOP/s.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        share(self.flops, self.time).map(|per_ns| per_ns * 1e9)
    }

    /// FLOPs per byte of memory traffic at least.
    #[must_use]
    pub fn intensity(&self) -> Option<f64> {
        share(self.flops, self.bytes)
    }

    /// The share of what `peak` allows in `precision`.
    #[must_use]
    pub fn peak_share(&self, precision: Precision, peak: &DevicePeak) -> Option<f64> {
        Some(self.rate()? / peak.flops(precision)? as f64)
    }

    /// The share of what the roof allows in `precision` at this intensity: the peak, or what memory can bring if that is less
    /// (Williams, Waterman, Patterson: Roofline, 2009).
    #[must_use]
    pub fn roof_share(&self, precision: Precision, peak: &DevicePeak) -> Option<f64> {
        let highest = peak.flops(precision)? as f64;
        let from_memory = self.intensity().filter(|_| peak.bandwidth != 0);
        let roof = from_memory.map_or(highest, |it| highest.min(it * peak.bandwidth as f64));
        Some(self.rate()? / roof)
    }

    /// The side of `peak`'s roofline.
    #[must_use]
    pub fn bound(&self, precision: Precision, peak: &DevicePeak) -> Option<Bound> {
        let balance = peak.flops(precision)? as f64 / peak.bandwidth as f64;
        let intensity = self.intensity().filter(|_| peak.bandwidth != 0)?;
        Some(if intensity < balance { Bound::Memory } else { Bound::Compute })
    }

    /// Everything in all precisions.
    #[must_use]
    pub fn sum(arithmetic: &BTreeMap<Precision, Self>) -> Self {
        let mut sum = Self::default();
        arithmetic.values().for_each(|it| sum.merge(it));
        sum
    }
}
