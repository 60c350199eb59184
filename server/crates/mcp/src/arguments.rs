//! The arguments of the tools. The comments of the fields are what agents read of them.

use std::str::FromStr;

use ide::{Charge, ViewMetric};
use loader::EventChoice;
use report::tables::OperatorOrder;
use report::{CodeFilter, StackFilter};
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Rows that a table has at most.
const MAX_ROWS: usize = 200;

/// The arguments of a tool.
///
/// # Errors
/// If one is missing, unknown or of the wrong type.
pub(crate) fn parse<T: DeserializeOwned>(tool: &str, arguments: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        format!("the arguments of {tool} are not what its schema asks for: {error}")
    })
}

/// Where recordings are looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FolderArguments {
    /// Folder below the root to look in; the root, if it is not given.
    pub(crate) folder: Option<String>,
    /// Recordings listed, the newest first.
    #[serde(default = "twenty")]
    pub(crate) top: Top,
}

/// The summary or the findings of a recording.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportArguments {
    /// Path below the root of a trace, memory snapshot or ledger, or of a folder, which stands for the newest recording in it. A
    /// file stands for the whole recording that it is part of. If it is not given: the recording that the server was started
    /// with, else the newest below the root.
    pub(crate) recording: Option<String>,
    /// Only findings on lines of these files and functions, and on those that have something of a part of the recording (the
    /// others). What findings cost is that of the whole recording; what lines cost, that of the part.
    #[serde(default)]
    pub(crate) filter: FilterArguments,
    /// Rows of the answer; it says how many are left out.
    #[serde(default = "ten")]
    pub(crate) top: Top,
    /// text: as people read it. json: with the exact numbers, three times as long.
    #[serde(default)]
    pub(crate) format: AnswerFormat,
}

/// Which part of a recording is asked about. Of several values of one field one must fit, of different fields all.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct FilterArguments {
    /// Files of code, as patterns of what they are called in answers: model.py, models/**.
    pub(crate) files: Vec<String>,
    /// Functions, as regular expressions that are found in their qualified names: ^Model\\., forward$.
    pub(crate) functions: Vec<String>,
    /// Modules of the model, by name (layers.*, model.layers.3.mlp.**, as the table `modules` lists them) or class (Linear).
    pub(crate) modules: Vec<String>,
    /// Steps, by number, range or kind: 3, 3-7, decode.
    pub(crate) steps: Vec<String>,
    /// Threads, by id or name as recorded.
    pub(crate) threads: Vec<String>,
    /// Streams of devices, by number; of the host then nothing counts.
    pub(crate) streams: Vec<i64>,
    /// A phase of training: forward, backward, recompute, optimizer or loader.
    pub(crate) phase: Option<String>,
}

impl FilterArguments {
    /// The filter.
    ///
    /// # Errors
    /// If a pattern, a step or the phase cannot be read.
    pub(crate) fn filter(&self) -> Result<StackFilter, String> {
        Ok(StackFilter {
            code: CodeFilter { files: each(&self.files)?, functions: each(&self.functions)? },
            phase: self.phase.as_deref().map(str::parse).transpose()?,
            events: EventChoice {
                threads: self.threads.clone(),
                streams: self.streams.iter().copied().collect(),
                modules: each(&self.modules)?,
                steps: each(&self.steps)?,
            },
        })
    }
}

/// Texts, each as what it means.
pub(crate) fn each<T: FromStr<Err = String>>(texts: &[String]) -> Result<Vec<T>, String> {
    texts.iter().map(|it| it.parse()).collect()
}

/// What is printed as text alone, of a recording.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordingArguments {
    /// Path below the root of a trace, memory snapshot or ledger, or of a folder, which stands for the newest recording in it. A
    /// file stands for the whole recording that it is part of. If it is not given: the recording that the server was started
    /// with, else the newest below the root.
    pub(crate) recording: Option<String>,
    /// Lines listed of each device.
    #[serde(default = "ten")]
    pub(crate) top: Top,
}

/// The lines with most of a metric.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HotLinesArguments {
    /// As in `summary`.
    pub(crate) recording: Option<String>,
    /// What lines are sorted by: cpu (thread time), cuda (device time of what the line launched), backward (time of the backward
    /// pass that the line caused), wait (time blocked), idle (time in which the device had nothing to do because of the line),
    /// comm (device time of collectives), memory (bytes). auto is cuda where there is a device, else cpu, else memory.
    #[serde(default = "auto")]
    #[schemars(schema_with = "metrics")]
    pub(crate) metric: String,
    /// own: time in libraries counts to the innermost line of your code that called them. total: time while the line was
    /// anywhere on the stack.
    #[serde(default = "own")]
    #[schemars(schema_with = "charges")]
    pub(crate) charge: String,
    /// step: nanoseconds or bytes of the mean step of a rank, where the recording has steps. run: the sum over the recording and
    /// all ranks.
    #[serde(default)]
    pub(crate) per: PerChoice,
    /// Lines of libraries, too.
    #[serde(default)]
    pub(crate) all: bool,
    /// Only these lines (files, functions), and what they cost in a part of the recording alone (the others): then as the sum of
    /// that part, of cpu, cuda, wait, idle or memory.
    #[serde(default)]
    pub(crate) filter: FilterArguments,
    /// Lines listed; the answer says how many are left out.
    #[serde(default = "fifteen")]
    pub(crate) top: Top,
    /// As in `summary`.
    #[serde(default)]
    pub(crate) format: AnswerFormat,
}

/// Who an answer is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum AnswerFormat {
    #[default]
    Text,
    Json,
}

/// What numbers stand for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum PerChoice {
    #[default]
    Step,
    Run,
}

/// Something that has a place or a name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowArguments {
    /// A line (train.py:41), a function (forward, Model.forward), an operator that Python calls (aten::linear) or a part of the name of a kernel.
    pub(crate) place: String,
    /// As in `summary`.
    pub(crate) recording: Option<String>,
    /// Only these lines (files, functions), and what they, or an operator or kernel, cost in a part of the recording alone (the
    /// others): then as the sum of that part, and findings are those of the whole recording.
    #[serde(default)]
    pub(crate) filter: FilterArguments,
    /// Rows of each table; the answer says how many are left out.
    #[serde(default = "six")]
    pub(crate) top: Top,
    /// As in `summary`.
    #[serde(default)]
    pub(crate) format: AnswerFormat,
}

/// The operators of a recording.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperatorsArguments {
    /// As in `summary`.
    pub(crate) recording: Option<String>,
    /// What operators are sorted by; cuda_self where the recording has device time, else cpu_self, if it is not given.
    #[schemars(schema_with = "orders")]
    pub(crate) sort: Option<String>,
    /// Only what ran there: below code of these files and functions, in these modules, steps and the like. Shares are of that part.
    #[serde(default)]
    pub(crate) filter: FilterArguments,
    /// Rows of the answer; it says how many are left out.
    #[serde(default = "ten")]
    pub(crate) top: Top,
    /// As in `summary`.
    #[serde(default)]
    pub(crate) format: AnswerFormat,
}

/// The kernels of a recording.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KernelsArguments {
    /// As in `summary`.
    pub(crate) recording: Option<String>,
    /// As in `operators`. Of a part, launch sizes, occupancy and tensor cores are not known.
    #[serde(default)]
    pub(crate) filter: FilterArguments,
    /// Rows of the answer; it says how many are left out.
    #[serde(default = "ten")]
    pub(crate) top: Top,
    /// As in `summary`.
    #[serde(default)]
    pub(crate) format: AnswerFormat,
}

/// A table of a recording.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableArguments {
    /// steps: how long each took, what it went to, the lines that made the longer ones longer. modules: calls, times and parameters
    /// of the modules of the model. communication: collectives by kind, process group and size, with waits and bandwidths. compile:
    /// what torch.compile compiled, how long that took, why again, where graphs end.
    pub(crate) name: TableName,
    /// As in `summary`.
    pub(crate) recording: Option<String>,
    /// Of `modules`, only these, by name (layers.*, model.layers.3.mlp.**) or class (Linear).
    #[serde(default)]
    pub(crate) modules: Vec<String>,
    /// Rows of the answer; it says how many are left out.
    #[serde(default = "ten")]
    pub(crate) top: Top,
    /// As in `summary`.
    #[serde(default)]
    pub(crate) format: AnswerFormat,
}

/// A table that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum TableName {
    Steps,
    Modules,
    Communication,
    Compile,
    #[serde(rename = "critical-path")]
    CriticalPath,
}

/// Two recordings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiffArguments {
    /// The recording before the change, as in `summary`; if it is not given, the one before `recording` below the root.
    pub(crate) base: Option<String>,
    /// The recording after the change, as in `summary`.
    pub(crate) recording: Option<String>,
    /// Rows of each table.
    #[serde(default = "five")]
    pub(crate) top: Top,
}

/// A rule of the findings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainArguments {
    /// Id of the rule, as findings name it: sync, tensor-cores-unused.
    pub(crate) rule: String,
}

/// Source text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceArguments {
    /// Path of the source file or notebook, below the root.
    pub(crate) file: String,
    /// Line of the file as it is now that the text is shown around; without it, the lines of the file that cost something, with
    /// their surroundings.
    pub(crate) line: Option<u32>,
    /// Lines of text before and after.
    #[serde(default = "twelve")]
    pub(crate) context: LinesAround,
    /// As in `summary`.
    pub(crate) recording: Option<String>,
    /// What numbers stand for: the mean step, or the whole recording.
    #[serde(default)]
    pub(crate) per: PerChoice,
}

/// How many rows an answer has at most: 1 to 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(try_from = "u64")]
pub(crate) struct Top(pub(crate) usize);

impl TryFrom<u64> for Top {
    type Error = String;

    fn try_from(rows: u64) -> Result<Self, String> {
        match usize::try_from(rows) {
            Ok(rows @ 1..=MAX_ROWS) => Ok(Self(rows)),
            _ => Err(format!("top is {rows}; 1 to {MAX_ROWS} are possible")),
        }
    }
}

impl JsonSchema for Top {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Top".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 1, "maximum": MAX_ROWS})
    }
}

/// How many lines of text stand before and after a line: at most 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(try_from = "u32")]
pub(crate) struct LinesAround(pub(crate) u32);

impl TryFrom<u32> for LinesAround {
    type Error = String;

    fn try_from(lines: u32) -> Result<Self, String> {
        if lines as usize <= MAX_ROWS {
            Ok(Self(lines))
        } else {
            Err(format!("context is {lines}; 0 to {MAX_ROWS} are possible"))
        }
    }
}

impl JsonSchema for LinesAround {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LinesAround".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 0, "maximum": MAX_ROWS})
    }
}

fn five() -> Top {
    Top(5)
}

fn six() -> Top {
    Top(6)
}

fn ten() -> Top {
    Top(10)
}

fn fifteen() -> Top {
    Top(15)
}

fn twenty() -> Top {
    Top(20)
}

fn twelve() -> LinesAround {
    LinesAround(12)
}

fn auto() -> String {
    "auto".to_owned()
}

fn own() -> String {
    Charge::Own.name().to_owned()
}

fn metrics(_: &mut SchemaGenerator) -> Schema {
    names(["auto"].into_iter().chain(ViewMetric::ALL.map(ViewMetric::name)))
}

fn charges(_: &mut SchemaGenerator) -> Schema {
    names(Charge::ALL.map(Charge::name))
}

fn orders(_: &mut SchemaGenerator) -> Schema {
    names(OperatorOrder::ALL.map(OperatorOrder::name))
}

/// One of these.
fn names(names: impl IntoIterator<Item = &'static str>) -> Schema {
    let names: Vec<&str> = names.into_iter().collect();
    json_schema!({"type": "string", "enum": names})
}
