//! The modules of a model.

use crate::amount::Amount;
use crate::{Bytes, Ns};

/// A module, as the recording distinguishes it.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct ModuleKey {
    /// Its path in the model (`layers.3.mlp.up`), where it is recorded; else its class with a number (`Linear_7`).
    pub name: String,
    /// Its class.
    pub class: String,
}

/// What the calls of a module took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ModuleBooks {
    /// Whether the path in the model is known.
    pub is_named: bool,
    /// How many calls.
    pub calls: u64,
    /// Time of its calls without those of other modules in them.
    pub cpu_own: Ns,
    /// Time of its calls. A call within another one of the same module counts once.
    pub cpu_total: Ns,
    /// Device time launched by its calls outside of those of other modules in them.
    pub cuda_own: Ns,
    /// Device time launched by its calls.
    pub cuda_total: Ns,
    /// Time of the backward nodes of operators that ran in its calls.
    pub cpu_backward: Ns,
    /// Device time that these launched.
    pub cuda_backward: Ns,
    /// Number of parameters, those of modules in it included, where it is recorded.
    pub parameters: Option<u64>,
    /// Their bytes.
    pub parameter_bytes: Option<Bytes>,
}

impl ModuleBooks {
    /// Adds the calls on another rank. Parameters are those of the rank that holds most.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            is_named,
            calls,
            cpu_own,
            cpu_total,
            cuda_own,
            cuda_total,
            cpu_backward,
            cuda_backward,
            parameters,
            parameter_bytes,
        } = other;
        self.is_named |= is_named;
        self.calls.gain(*calls);
        self.cpu_own.gain(*cpu_own);
        self.cpu_total.gain(*cpu_total);
        self.cuda_own.gain(*cuda_own);
        self.cuda_total.gain(*cuda_total);
        self.cpu_backward.gain(*cpu_backward);
        self.cuda_backward.gain(*cuda_backward);
        self.parameters = self.parameters.max(*parameters);
        self.parameter_bytes = self.parameter_bytes.max(*parameter_bytes);
    }
}
