//! What the reader wants to see.

use std::fmt;
use std::sync::Arc;

use insights::{Finding, RuleOptions, Severities, Thresholds, launch_bound_run};
use ledger::{Ledger, Ns};
use metrics::{Period, Quantity};

use crate::shown::ShownQuantity;
use crate::{Baseline, HintFormat};

/// What is shown, and of what it is a share.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The metric; `None` takes what [`Self::effective_metric`] says.
    pub metric: Option<ViewMetric>,
    /// Own or total.
    pub charge: Charge,
    /// A step or the whole recording.
    pub period: Period,
    /// Least share (of 1) of the step that is shown.
    pub threshold: f64,
    /// What a hint says.
    pub format: HintFormat,
    /// What the reader thinks of the rules.
    pub severities: Severities,
    /// What the reader set of the thresholds of the rules.
    pub thresholds: Thresholds,
    /// What lines cost in the recording that this one is compared with, if there is one.
    pub baseline: Option<Arc<Baseline>>,
    /// The part of the recording whose amounts the books have, if they are not those of the whole.
    pub part: Option<Arc<ViewPart>>,
    /// How much of the recording was read, if that is not all of it yet: `first 30 steps, 3.8 % of the recording`.
    pub so_far: Option<Arc<str>>,
}

/// A part of a recording in the place of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewPart {
    /// Which part, as it is written on the command line: `--phase backward`.
    pub filter: String,
    /// How much of the recording: `1.2 ms of 5 ms of thread time`.
    pub extent: String,
}

impl Default for View {
    /// The metric that fits, own, per step, from 0.5 % of the step.
    fn default() -> Self {
        Self {
            metric: None,
            charge: Charge::Own,
            period: Period::Mean,
            threshold: 0.005,
            format: HintFormat::default(),
            severities: Severities::default(),
            thresholds: Thresholds::default(),
            baseline: None,
            part: None,
            so_far: None,
        }
    }
}

impl View {
    /// The metric that is shown: the chosen one, else the one that fits the recording.
    #[must_use]
    pub fn effective_metric(&self, ledger: &Ledger) -> ViewMetric {
        let fitting = || match (ledger.totals.cpu, ledger.totals.cuda) {
            (Ns::ZERO, Ns::ZERO) => ViewMetric::Memory,
            (_, Ns::ZERO) => ViewMetric::Cpu,
            _ if self.charge == Charge::Own && launch_bound_run(ledger).is_some() => {
                ViewMetric::Idle
            }
            _ => ViewMetric::Cuda,
        };
        self.metric.unwrap_or_else(fitting)
    }

    /// What there is to find in the books.
    #[must_use]
    pub fn findings(&self, ledger: &Ledger) -> Vec<Finding> {
        insights::find(ledger, &self.rules())
    }

    /// When rules fire.
    #[must_use]
    pub fn rules(&self) -> RuleOptions {
        RuleOptions {
            threshold: self.threshold,
            severities: self.severities.clone(),
            thresholds: self.thresholds.clone(),
        }
    }
}

macro_rules! metrics {
    ($($(#[doc = $doc:literal])* $metric:ident: $name:literal, $shown:expr, $description:literal;)*) => {
        /// A metric of a line, as people choose it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ViewMetric {
            $($(#[doc = $doc])* $metric,)*
        }

        impl ViewMetric {
            /// All of them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$metric),*];

            /// Stable name, as in settings and commands.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$metric => $name,)*
                }
            }

            /// What it shows, for those who choose: a whole sentence.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$metric => $description,)*
                }
            }

            /// The quantities that it shows.
            pub(crate) fn shown(self) -> ShownQuantity {
                match self {
                    $(Self::$metric => $shown,)*
                }
            }
        }
    };
}

// Metric: name, what is shown, description.
metrics! {
    /// Thread time; own, it is that without calls that wait.
    Cpu: "cpu", ShownQuantity::CPU,
        "Thread time.";
    /// Device time.
    Cuda: "cuda", ShownQuantity::CUDA,
        "Device time of what the line launched.";
    /// Time of the backward nodes that the line created: device time where the recording has any, else host time.
    Backward: "backward", ShownQuantity::Backward,
        "Time of the backward pass that the line caused.";
    /// Thread time in waits for a device and in calls that wait for something else.
    Wait: "wait", ShownQuantity::Always(Quantity::AllWaits),
        "Time in which threads waited, for the device or for something else.";
    /// Device idle time while the launching thread was here.
    Idle: "idle", ShownQuantity::Always(Quantity::Idle),
        "Time in which the device had nothing to do because of the line.";
    /// Device time of collectives.
    Communication: "comm", ShownQuantity::Always(Quantity::Comm),
        "Device time of collectives.";
    /// Bytes alive at the peak where the recording says, else allocated bytes.
    Memory: "memory", ShownQuantity::Memory,
        "Bytes alive at the peak, or allocated where the peak is not known.";
}

impl ViewMetric {
    /// The metric of a name; `auto` is the one that fits the recording.
    ///
    /// # Errors
    /// If the name is none; the message lists those that are.
    pub fn parse(name: &str) -> Result<Option<Self>, UnknownName> {
        if name == "auto" {
            return Ok(None);
        }
        let names = || ["auto"].into_iter().chain(Self::ALL.map(Self::name));
        let found = Self::ALL.into_iter().find(|metric| metric.name() == name);
        found.map(Some).ok_or_else(|| UnknownName::new("metric", name, names()))
    }
}

/// Which lines of a stack are charged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Charge {
    /// The innermost line of your code.
    #[default]
    Own,
    /// Every line on the stack.
    Total,
}

impl Charge {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Own, Self::Total];

    /// Stable name, as in settings and commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Total => "total",
        }
    }

    /// What it means, for those who choose: a whole sentence.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Own => {
                "The innermost line of your code; time in libraries counts to the line that called them."
            }
            Self::Total => "Every line on the stack.",
        }
    }

    /// The charge of a name.
    ///
    /// # Errors
    /// If the name is none; the message lists those that are.
    pub fn parse(name: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|charge| charge.name() == name);
        found.ok_or_else(|| UnknownName::new("charge", name, Self::ALL.map(Self::name)))
    }
}

/// A name that means nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    allowed: String,
}

impl UnknownName {
    /// `name` is none of those that are `allowed` as a `what`: a metric, a format.
    pub fn new<'a>(
        what: &'static str,
        name: &str,
        allowed: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let allowed: Vec<&str> = allowed.into_iter().collect();
        Self { what, name: name.to_owned(), allowed: allowed.join(", ") }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} `{}`, expected one of: {}", self.what, self.name, self.allowed)
    }
}

impl std::error::Error for UnknownName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_again() {
        for metric in ViewMetric::ALL {
            assert_eq!(ViewMetric::parse(metric.name()), Ok(Some(metric)));
        }
        assert_eq!(ViewMetric::parse("auto"), Ok(None));
        for charge in Charge::ALL {
            assert_eq!(Charge::parse(charge.name()), Ok(charge));
        }
    }

    #[test]
    fn an_unknown_name_is_reported_with_those_that_are_known() {
        let error = ViewMetric::parse("gpu").map_err(|error| error.to_string());
        let expected = "unknown metric `gpu`, expected one of: auto, cpu, cuda, backward, wait, idle, comm, memory";
        assert_eq!(error, Err(expected.to_owned()));
        let error = Charge::parse("").map_err(|error| error.to_string());
        assert_eq!(error, Err("unknown charge ``, expected one of: own, total".to_owned()));
    }
}
