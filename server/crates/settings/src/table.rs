//! The table of settings.

use ide::{Charge, ViewMetric};
use serde_json::{Value, json};

/// A row of the table of settings.
#[derive(Debug)]
pub struct Setting {
    /// Name below `perfline`; in a `perfline.toml` the whole name.
    pub name: &'static str,
    /// What may be there.
    pub kind: SettingKind,
    /// What counts where nothing is set, or null, or what cannot be used.
    pub default: fn() -> Value,
    /// What it does: whole sentences of Markdown, for users of any editor.
    pub description: &'static str,
}

/// What a setting may be.
#[derive(Debug, Clone, Copy)]
pub enum SettingKind {
    /// True or false.
    Boolean,
    /// A number from 0 to 100.
    Percent,
    /// One of several names.
    Choice(fn() -> Vec<SettingChoice>),
    /// `auto`, or text with placeholders ([`ide::placeholders`]) in braces.
    Template,
    /// A list of texts, each of which is this.
    List(&'static str),
    /// `auto`, or an amount of memory ([`loader::MemoryLimit`]). A client takes it from no workspace that its user does not trust.
    Memory,
    /// A list of folders, or null. A client takes it from no workspace that its user does not trust.
    Folders,
    /// A list of files, which this option of the command line names, too. A client takes it from no workspace that its user does not trust.
    Paths(&'static str),
    /// An object: where a folder of the recording is, by its path as recorded. A client takes it from no workspace that its user
    /// does not trust.
    Mappings,
    /// An object: the name of a severity, or [`ide::Severities::OFF`], by rule.
    Severities,
    /// An object: numbers by threshold, by rule.
    Thresholds,
}

/// A value of a setting that is one of several.
#[derive(Debug, Clone, Copy)]
pub struct SettingChoice {
    /// What is written in the setting.
    pub name: &'static str,
    /// What it means: a whole sentence.
    pub description: &'static str,
}

macro_rules! settings {
    ($($row:ident: $name:literal, $kind:expr, $default:tt, $description:literal;)*) => {
        $(
            pub(crate) const $row: Setting = Setting {
                name: $name,
                kind: $kind,
                default: || json!($default),
                description: $description,
            };
        )*

        /// Every setting. `lsp/tests/names` holds `package.json` and the documentation against it.
        pub const SETTINGS: &[Setting] = &[$($row),*];
    };
}

// Name, what it may be, default, description.
settings! {
    INCLUDE: "recordings.include", SettingKind::List("globs"), ["**"],
        "Globs of what may be a recording, by path below the workspace folder: `*`, `?`, `**`, `{a,b}`, `[a-z]`, `[!a-z]`. \
         An empty list turns automatic loading off.";
    EXCLUDE: "recordings.exclude", SettingKind::List("globs"), [],
        "Globs of what is never taken for a recording.";
    CAPTURES: "recordings.captures", SettingKind::Paths("--capture"), [],
        "Traces of the capture of the CUDA graphs that recordings replay, by path below the workspace folder or absolute. Those \
         beside a recording whose names say so are found without it.";
    LINES_FROM: "recordings.linesFrom", SettingKind::Paths("--lines-from"), [],
        "Traces of the same programs without CUDA graphs, by path below the workspace folder or absolute: kernels of replays whose \
         capture is not known count to the lines that launch the same kernels there.";
    STEP_RANGES: "recordings.stepRanges", SettingKind::List("names of ranges"), [],
        "What the ranges (`record_function`) are called that are steps, with a `*` for any text: `train_batch*`. Without it those of \
         the profiler's schedule are, else the passes of vLLM and SGLang.";
    SITES: "python.sitePackages", SettingKind::Folders, null,
        "Folders of library code (`site-packages`). `null` finds those of the active Python environment.";
    MINE: "code.mine", SettingKind::List("packages and globs"), [],
        "Library code that counts as yours: names of packages (`vllm`) or patterns of recorded paths \
         (`vllm/model_executor/**`).";
    MAP: "sources.map", SettingKind::Mappings, {},
        "Where folders of the recording are, by their paths as recorded: `{\"/srv/app\": \"services/app\"}`. What is not absolute \
         is below the workspace folder. A single file can be mapped, too.";
    KEEP: "sources.keep", SettingKind::Boolean, true,
        "Keeps a copy of your source files as they ran when a recording is loaded for the first time, in the cache folder of \
         your account, so that numbers stay on their lines when a file is changed later.";
    CACHE: "cache", SettingKind::Boolean, true,
        "Keeps what was read of a large recording in the cache folder of your account, so that it is shown at once when it is \
         opened again. `perfline cache` shows what is kept, `perfline cache clear` deletes it.";
    MEMORY: "memoryLimit", SettingKind::Memory, "auto",
        "How much memory the server may have while it loads a recording, such as `4G`; a recording that needs more is read in \
         part. `auto` is three quarters of the machine's memory, or of what its control group may have.";
    METRIC: "view.metric", SettingKind::Choice(metrics), "auto",
        "What hints, heat and lists show. Choosing a metric by a command changes it until the session ends.";
    CHARGE: "view.charge", SettingKind::Choice(charges), "own",
        "Which line is charged (CPU and CUDA time).";
    PER: "view.per", SettingKind::Choice(periods), "step",
        "Means per step, or sums over the recording. A recording without steps is shown as a whole.";
    THRESHOLD: "view.threshold", SettingKind::Percent, 0.5,
        "Share of the step, in percent, below which a line shows nothing.";
    HINTS: "hints.enabled", SettingKind::Boolean, true,
        "Shows a hint at the end of each line that costs something.";
    FORMAT: "hints.format", SettingKind::Template, "auto",
        "What a hint says: `auto`, or text with placeholders in braces. What stands in square brackets is left out where \
         it has nothing to say: `{share}: {cuda} gpu[ +{backward} bwd][ · {wait} wait ×{waits}]`.";
    LENSES: "lenses.enabled", SettingKind::Boolean, true,
        "Shows above functions and loops what they cost.";
    DIAGNOSTICS: "diagnostics.enabled", SettingKind::Boolean, true,
        "Lists what rules find among the problems of a file, such as lines that make the CPU wait for the device.";
    SEVERITY: "diagnostics.severity", SettingKind::Severities, {},
        "How much the findings of a rule matter: `{\"sync\": \"hint\"}`; `off`, `hint`, `information`, `warning` or `error`. \
         A rule that is not named decides by itself. A comment `# perfline: ignore[sync]` silences one on its line.";
    RULES: "rules", SettingKind::Thresholds, {},
        "When rules fire, by rule and threshold: `{\"sync\": {\"warning\": 10}}`. `perfline explain RULE` lists the \
         thresholds of a rule.";
}

fn metrics() -> Vec<SettingChoice> {
    let auto = SettingChoice {
        name: "auto",
        description: "Idle time of the device where launching kernels limits the run, else device time where the recording has it, else CPU time, else memory.",
    };
    let metrics =
        ViewMetric::ALL.map(|it| SettingChoice { name: it.name(), description: it.description() });
    [auto].into_iter().chain(metrics).collect()
}

fn charges() -> Vec<SettingChoice> {
    Charge::ALL.map(|it| SettingChoice { name: it.name(), description: it.description() }).into()
}

fn periods() -> Vec<SettingChoice> {
    vec![
        SettingChoice { name: "step", description: "Means per step." },
        SettingChoice { name: "run", description: "Sums over the recording." },
    ]
}
