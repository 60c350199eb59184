//! Which events the books are made of.

use std::collections::BTreeSet;

use ledger::StepWork;

use crate::module_pattern::ModulePattern;
use crate::step_numbers::StepChoice;

/// Which events the books are made of: all, unless threads, streams, modules or steps are named.
#[derive(Debug, Clone, Default)]
pub struct EventChoice {
    /// Threads by id or name as recorded: what happened on them, and what they launched.
    pub threads: Vec<String>,
    /// Streams of devices by number: what ran on them. Of the host then nothing counts.
    pub streams: BTreeSet<i64>,
    /// Modules of the model: what happened in their calls, and what was launched there.
    pub modules: Vec<ModulePattern>,
    /// Steps: what happened on the host during them, and what was launched there.
    pub steps: Vec<StepChoice>,
}

impl EventChoice {
    /// Whether nothing is left out.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.has_all_on_host() && self.streams.is_empty()
    }

    /// Whether nothing is left out by what was done on the host.
    #[must_use]
    pub fn has_all_on_host(&self) -> bool {
        self.threads.is_empty() && self.modules.is_empty() && self.steps.is_empty()
    }

    /// Whether nothing is left out but steps.
    #[must_use]
    pub fn is_by_step_alone(&self) -> bool {
        self.threads.is_empty() && self.modules.is_empty() && self.streams.is_empty()
    }

    /// Whether a thread counts.
    #[must_use]
    pub fn has_thread(&self, id: &str, name: &str) -> bool {
        self.threads.is_empty() || self.threads.iter().any(|it| it == id || it == name)
    }

    /// Whether a stream counts.
    #[must_use]
    pub fn has_stream(&self, stream: i64) -> bool {
        self.streams.is_empty() || self.streams.contains(&stream)
    }

    /// Whether what happens in a step counts that has a number, and works on something if that is known.
    #[must_use]
    pub fn has_step(&self, step: u32, work: Option<&StepWork>) -> bool {
        self.steps.is_empty() || self.steps.iter().any(|it| it.is_match(step, work))
    }

    /// Whether one of the modules that are named is meant.
    #[must_use]
    pub fn has_module(&self, name: &str, class: &str) -> bool {
        self.modules.iter().any(|it| it.is_match(name, class))
    }
}
