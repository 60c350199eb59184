//! What goes beyond the protocol: the commands, and a notification. `docs/lsp.md` describes them.

use serde_json::Value;
use tower_lsp::lsp_types::notification::Notification;

/// Loads the newest recording, or those that are named.
pub(crate) const LOAD: &str = "perfline.load";
/// Lists the recordings in the workspace.
pub(crate) const RECORDINGS: &str = "perfline.recordings";
/// Compares what is shown with another recording.
pub(crate) const SET_BASELINE: &str = "perfline.setBaseline";
/// Ends the comparison.
pub(crate) const CLEAR_BASELINE: &str = "perfline.clearBaseline";
/// Takes all numbers away.
pub(crate) const UNLOAD: &str = "perfline.unload";
/// Chooses the metric.
pub(crate) const SET_METRIC: &str = "perfline.setMetric";
/// Chooses the step.
pub(crate) const SET_STEP: &str = "perfline.setStep";
/// Chooses the rank.
pub(crate) const SET_RANK: &str = "perfline.setRank";
/// Chooses of which workspace folder the newest recording is shown.
pub(crate) const SET_FOLDER: &str = "perfline.setFolder";
/// Chooses which lines are shown, and which part of the recording.
pub(crate) const SET_FILTER: &str = "perfline.setFilter";
/// Lists what can be chosen so.
pub(crate) const FILTER_VALUES: &str = "perfline.filterValues";
/// Lists the lines that cost most.
pub(crate) const HOT_LINES: &str = "perfline.hotLines";

/// Returns how hot the lines of a file are.
pub(crate) const HEAT: &str = "perfline.heat";
/// Returns all that is known of a line.
pub(crate) const DETAILS: &str = "perfline.details";
/// Returns what is loaded and shown.
pub(crate) const STATUS: &str = "perfline.status";
/// Returns what a rule says.
pub(crate) const EXPLAIN: &str = "perfline.explain";
/// Lists what the rules found.
pub(crate) const FINDINGS: &str = "perfline.findings";

/// Gives the report of what is loaded.
pub(crate) const REPORT: &str = "perfline.report";
/// Gives the stacks of what is loaded, as a flame graph is drawn from them.
pub(crate) const FLAME: &str = "perfline.flame";
/// Gives what threads and devices did in a range of time, as a timeline is drawn from it.
pub(crate) const TIMELINE: &str = "perfline.timeline";
/// Gives what each line held on a device when, as memory over time is drawn from it.
pub(crate) const MEMORY_TIMELINE: &str = "perfline.memoryTimeline";
/// Gives each rank in each step, as the map of ranks and steps is drawn from them.
pub(crate) const RANK_STEPS: &str = "perfline.rankSteps";
/// Gives the arithmetic of lines and kernels, as the roofline is drawn from it.
pub(crate) const ROOFLINE: &str = "perfline.roofline";
/// Gives the report with its pictures as a page that an editor shows.
pub(crate) const PAGE: &str = "perfline.page";
/// Serves the report with its pictures to a browser.
pub(crate) const VIEW: &str = "perfline.view";
/// Says where a recorded line is now.
pub(crate) const PLACE: &str = "perfline.place";
/// Lists files that were not found, and those that may be several.
pub(crate) const SOURCES: &str = "perfline.sources";
/// Says which mapping leads to a folder.
pub(crate) const LOCATE: &str = "perfline.locate";

/// All commands.
pub(crate) const COMMANDS: [&str; 28] = [
    LOAD,
    RECORDINGS,
    SET_BASELINE,
    CLEAR_BASELINE,
    UNLOAD,
    SET_METRIC,
    SET_STEP,
    SET_RANK,
    SET_FOLDER,
    SET_FILTER,
    FILTER_VALUES,
    HOT_LINES,
    HEAT,
    DETAILS,
    STATUS,
    EXPLAIN,
    FINDINGS,
    REPORT,
    FLAME,
    TIMELINE,
    MEMORY_TIMELINE,
    RANK_STEPS,
    ROOFLINE,
    PAGE,
    VIEW,
    PLACE,
    SOURCES,
    LOCATE,
];

/// `perfline/status`: what [`STATUS`] answers, whenever it changes.
pub(crate) enum StatusChanged {}

impl Notification for StatusChanged {
    type Params = Value;
    const METHOD: &'static str = "perfline/status";
}
