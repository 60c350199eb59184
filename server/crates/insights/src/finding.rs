//! What a rule finds.

use ledger::{Evidence, LineKey, Ns, Pattern, PatternBooks, RecompileCause};

use crate::{DeviceDetail, MemoryDetail, RankDetail, Severity};

/// Something that costs more than it has to.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Id of the rule, stable.
    pub rule: &'static str,
    /// The line that costs.
    pub place: LineKey,
    /// The function that the line is in.
    pub function: String,
    /// How the line is known.
    pub evidence: Evidence,
    /// How much it matters.
    pub severity: Severity,
    /// What is won at most if it is mended, over the whole recording, all ranks together.
    pub cost: Ns,
    /// The same in the mean step of a rank; `None` where the recording has no steps.
    pub cost_per_step: Option<Ns>,
    /// How often it happens over the whole recording.
    pub count: u64,
    /// The steps of all ranks, to give means of what is reported for the whole recording; 0 where it has none.
    pub steps: u64,
    /// `cost` as a share (of 1) of the step, or of the recording where it has no steps.
    pub share: f64,
    /// What only this rule knows.
    pub detail: Detail,
    /// Other lines that have to do with it.
    pub related: Vec<Related>,
    /// What to do about it: a sentence or two, without numbers.
    pub remedy: &'static str,
}

impl Finding {
    /// Adds what the log of the compiler says of the line, and the remedy for it; nothing changes where it says nothing.
    pub(crate) fn with_reasons(
        mut self,
        reasons: Vec<CompilerReason>,
        remedy: impl FnOnce(&[CompilerReason]) -> &'static str,
    ) -> Self {
        if let (Detail::Pattern(pattern, books), false) = (&self.detail, reasons.is_empty()) {
            self.remedy = remedy(&reasons);
            self.detail = Detail::Compiler(*pattern, books.clone(), reasons);
        }
        self
    }
}

/// What only one rule knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// Rule `sync`: the line waits for the device.
    Sync {
        /// The line whose kernels ran longest during the waits; `None` where nothing ran.
        waited_for: Option<LineKey>,
        /// Time spent waiting in steps, or over the whole recording where it has none.
        waited: Ns,
    },
    /// The rules over anti-patterns of the host: the pattern, and what it cost on the line.
    Pattern(Pattern, PatternBooks),
    /// The rules `recompile` and `graph-break`, where the log of the compiler says why: the pattern, what it cost on the line, and
    /// the reasons, of which there is one at least.
    Compiler(Pattern, PatternBooks, Vec<CompilerReason>),
    /// The rules about what the device does.
    Device(DeviceDetail),
    /// The rules over the memory of devices. They cost no time; `share` is of the peak, or as the rule says.
    Memory(MemoryDetail),
    /// The rules over several ranks.
    Ranks(RankDetail),
}

/// Why `torch.compile` compiles again, or ends a graph, as its log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompilerReason {
    /// No version of the function fitted any more.
    Recompiled {
        /// Name of the function.
        function: String,
        /// What changed.
        cause: RecompileCause,
        /// The whole numbers that it was, ascending.
        values: Vec<u64>,
    },
    /// The line cannot be compiled, as the text says.
    GraphBreak(String),
}

/// A line that has to do with a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Which line.
    pub place: LineKey,
    /// What it has to do with it: part of a sentence, with `{time}` where `time` is to stand.
    pub text: &'static str,
    /// How much, over the whole recording.
    pub time: Ns,
}
