//! What goes beyond the protocol: the commands. `docs/lsp.md` describes them.

/// Loads the newest recording, or those that are named.
pub(crate) const LOAD: &str = "perfline.load";
/// Takes all numbers away.
pub(crate) const UNLOAD: &str = "perfline.unload";
/// Chooses the metric.
pub(crate) const SET_METRIC: &str = "perfline.setMetric";
/// Chooses the step.
pub(crate) const SET_STEP: &str = "perfline.setStep";
/// Chooses the rank.
pub(crate) const SET_RANK: &str = "perfline.setRank";
/// Lists the lines that cost most.
pub(crate) const HOT_LINES: &str = "perfline.hotLines";

/// All commands.
pub(crate) const COMMANDS: [&str; 6] = [LOAD, UNLOAD, SET_METRIC, SET_STEP, SET_RANK, HOT_LINES];
