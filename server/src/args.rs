//! Options and help.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use loader::{
    EventChoice, MemoryLimit, MinePattern, ModulePattern, Run, SourceMapping, StepChoice,
    StepNumbers,
};
use metrics::Period;
use report::export::{ExportFormat, StackMetric};
use report::tables::{OperatorOrder, StepOrder};
use report::{
    CodeFilter, DataTable, FilePattern, FunctionPattern, Limit, StackFilter, TrainingPhase,
};
use settings::Settings;

const EXAMPLES: &str = "\
Examples:
  The newest recording below this folder, on your source:
    perfline annotate
  A trace that was recorded elsewhere, with its memory snapshot:
    perfline annotate trace.json.gz snapshot.pickle --root ~/project
  Two ranks, added up:
    perfline report rank0.json.gz rank1.json.gz
  Did it help? Two recordings, each with the code that it ran:
    perfline diff before/trace.json.gz after/trace.json.gz --base-root before --root after
  In CI, exit status 1 when a step, a line or a finding exceeds what perfline.toml allows:
    perfline check traces/
  For other programs:
    perfline lines trace.json.gz --format csv | head

Exit status:
  0 good, 1 a stated limit was exceeded, 2 wrong usage or unreadable input (with --strict: or an incomplete one)";

/// PyTorch profiler data on the source line that caused it.
///
/// Reads torch.profiler traces (best recorded with with_stack=True) and CUDA memory snapshots, and charges thread time,
/// device time, waits, device idle time and allocated bytes to the lines of your Python source.
#[derive(Debug, Parser)]
#[command(name = "perfline", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Colours: auto has them on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, hide_default_value = true)]
    pub(crate) color: ColorChoice,

    /// Prints text that is longer than the screen without a pager (PERFLINE_PAGER, PAGER, less)
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    Annotate(AnnotateArgs),
    Lines(LinesArgs),
    Memory(MemoryArgs),
    Ledger(LedgerArgs),
    Ranks(RanksArgs),
    Hang(HangArgs),
    Report(ReportArgs),
    Diff(DiffArgs),
    Check(CheckArgs),
    Show(ShowArgs),
    Ops(OpsArgs),
    Kernels(KernelsArgs),
    Modules(ModulesArgs),
    Steps(StepsArgs),
    Ranges(RangesArgs),
    Comm(CommArgs),
    Compile(CompileArgs),
    Top(TopArgs),
    View(ViewArgs),
    List(ListArgs),
    Export(ExportArgs),
    Explain(ExplainArgs),
    Cache(CacheArgs),
    BugReport(BugReportArgs),
    Record(RecordArgs),
    Lsp(LspArgs),
    Mcp(McpArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Command {
    /// What it reads, if it is to print again when that has changed.
    pub(crate) fn watched(&self) -> Option<WatchedFiles> {
        let of_recording = |it: &RecordingArgs, others: Vec<PathBuf>| {
            let mut inputs = it.inputs.clone();
            // Sources are no recordings.
            if inputs.iter().all(|it| loader::is_source(it)) {
                inputs.push(PathBuf::from("."));
            }
            inputs.extend(others);
            Some(WatchedFiles { inputs, roots: vec![it.root.clone()] })
        };
        match self {
            Self::Annotate(it) if it.watch => of_recording(&it.recording, Vec::new()),
            Self::Report(it) if it.watch => of_recording(&it.recording, Vec::new()),
            Self::Show(it) if it.watch => of_recording(&it.recording, Vec::new()),
            Self::Check(it) if it.watch => {
                let baseline = it.baseline.iter().cloned();
                of_recording(&it.recording, baseline.chain([it.budget()]).collect())
            }
            Self::Diff(it) if it.watch => {
                let named: Vec<PathBuf> = it.base.iter().chain(&it.new).cloned().collect();
                let inputs = if named.is_empty() { vec![PathBuf::from(".")] } else { named };
                let roots = std::iter::once(&it.root).chain(&it.base_root).cloned().collect();
                Some(WatchedFiles { inputs, roots })
            }
            _ => None,
        }
    }

    /// Whether it prints text for people that may be longer than a screen.
    pub(crate) fn is_long(&self) -> bool {
        matches!(
            self,
            Self::Annotate(_)
                | Self::Memory(_)
                | Self::Ranks(_)
                | Self::Hang(_)
                | Self::Report(_)
                | Self::Diff(_)
                | Self::Show(_)
                | Self::Ops(_)
                | Self::Kernels(_)
                | Self::Modules(_)
                | Self::Steps(_)
                | Self::Ranges(_)
                | Self::Comm(_)
                | Self::Compile(_)
                | Self::List(_)
                | Self::Explain(_)
        )
    }

    /// The root whose `perfline.toml` counts, and where what it says goes; `None` of commands that read no recording.
    pub(crate) fn project(&mut self) -> Option<(&Path, &mut Arc<Settings>)> {
        let recording = match self {
            Self::Annotate(it) => &mut it.recording,
            Self::Lines(it) => &mut it.recording,
            Self::Memory(it) => &mut it.recording,
            Self::Ledger(it) => &mut it.recording,
            Self::Ranks(it) => &mut it.recording,
            Self::Report(it) => &mut it.recording,
            Self::Check(it) => &mut it.recording,
            Self::Show(it) => &mut it.recording,
            Self::Ops(it) => &mut it.recording,
            Self::Kernels(it) => &mut it.recording,
            Self::Modules(it) => &mut it.recording,
            Self::Steps(it) => &mut it.recording,
            Self::Ranges(it) => &mut it.recording,
            Self::Comm(it) => &mut it.recording,
            Self::Compile(it) => &mut it.recording,
            Self::Top(it) => &mut it.recording,
            Self::View(it) => &mut it.recording,
            Self::Export(it) => &mut it.recording,
            Self::Diff(it) => return Some((&it.root, &mut it.settings)),
            Self::Mcp(it) => return Some((&it.root, &mut it.settings)),
            Self::List(it) => return Some((Path::new("."), &mut it.settings)),
            Self::Hang(_)
            | Self::Explain(_)
            | Self::Cache(_)
            | Self::BugReport(_)
            | Self::Record(_)
            | Self::Lsp(_)
            | Self::Completions(_)
            | Self::Man(_) => return None,
        };
        Some((&recording.root, &mut recording.settings))
    }
}

/// What the user names to be read: a path, or a URL, which nothing else may be read from.
fn input() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(loader::named_input)
}

/// What a command reads.
#[derive(Debug)]
pub(crate) struct WatchedFiles {
    /// Files, and folders that stand for the newest recordings below them.
    pub(crate) inputs: Vec<PathBuf>,
    /// Folders of code.
    pub(crate) roots: Vec<PathBuf>,
}

/// What to load, and against which source.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RecordingArgs {
    /// Traces and memory snapshots of one run, added up; a folder stands for the newest recording below it, - for the
    /// standard input; URLs are read too (s3://, gs://, az://, https://) [default: the current folder]
    #[arg(value_name = "INPUT", value_parser = input())]
    pub(crate) inputs: Vec<PathBuf>,

    /// Folder of your code: lines in it are yours, all others are a library's
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,

    /// Folder of library code (site-packages), repeatable [default: those of the active Python environment]
    #[arg(long = "site", value_name = "DIR")]
    pub(crate) sites: Vec<PathBuf>,

    /// Package or pattern of recorded paths whose lines count as yours although a library folder holds them (vllm,
    /// 'vllm/model_executor/**'), repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) mine: Vec<MinePattern>,

    /// Where a folder of the recording is, repeatable: --map /srv/app=services/app. What is not absolute is below the root
    #[arg(long = "map", value_name = "RECORDED=FOLDER")]
    pub(crate) mappings: Vec<SourceMapping>,

    /// Trace of the capture of the CUDA graphs that the recording replays, or the stacks of their nodes, repeatable: their kernels
    /// count to the lines that launched them there [default: files with "capture", "cuda_graph" or "py_stacks" in their names
    /// beside the recording]
    #[arg(long = "capture", value_name = "FILE", value_parser = input())]
    pub(crate) captures: Vec<PathBuf>,

    /// Trace of the same program without CUDA graphs, repeatable: kernels of replays whose capture is not known count to the lines that
    /// launch the same kernels there
    #[arg(long, value_name = "FILE", value_parser = input())]
    pub(crate) lines_from: Vec<PathBuf>,

    /// What the ranges (record_function) are called that are steps, with a * for any text ('train_batch*'), repeatable [default: the
    /// steps of the profiler's schedule, else the passes of vLLM and SGLang]
    #[arg(long = "step-range", value_name = "NAME")]
    pub(crate) step_ranges: Vec<String>,

    /// Memory that may be used while reading, such as 4G; what does not fit is left out [default: three quarters of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<MemoryLimit>,

    /// Exit with status 2 unless every input was read to its end without loss
    #[arg(long)]
    pub(crate) strict: bool,

    /// Pretend that the recording names no line exactly, to measure how well lines are inferred
    #[arg(long)]
    pub(crate) ignore_exact: bool,

    /// Read these ranks alone: 0,3,7, repeatable
    #[arg(long = "rank", value_name = "N", value_delimiter = ',')]
    pub(crate) ranks: Vec<u32>,

    /// Read the ranks of this process group alone, by its name or description as recorded, repeatable
    #[arg(long = "group", value_name = "NAME")]
    pub(crate) groups: Vec<String>,

    /// What the `perfline.toml` in the root says.
    #[arg(skip)]
    pub(crate) settings: Arc<Settings>,
}

impl RecordingArgs {
    /// The files of a run: those that were named, also where they could not be read, and those that were found.
    pub(crate) fn paths<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = &'a Path> {
        self.inputs.iter().chain(run.inputs.iter().map(|it| &it.path)).map(PathBuf::as_path)
    }

    /// What to load of another recording, against the source in `root`; all else is the same.
    pub(crate) fn of_other(&self, inputs: Vec<PathBuf>, root: &Path) -> Self {
        Self { inputs, root: root.to_owned(), ..self.clone() }
    }
}

/// Your source with what each line costs beside it, hottest file first
///
/// Shows the lines that have something to say, with their surroundings and the
/// head of their function. Columns, where the recording has them:
///
///   share      of the step: computing on the host, on the device, or waiting,
///              whichever is largest (of the peak, where a memory snapshot is
///              all there is)
///   cpu own    thread time while this was the innermost line of your code,
///              without waiting
///   cpu total  thread time while the line was anywhere on the stack
///   cuda own   time of the kernels and copies launched from the line
///   recompute  of cuda own, or cpu own where no line has any, what
///              torch.utils.checkpoint computed again in the backward pass
///   backward   time of the backward pass that this forward line caused
///   gpu wait   thread time blocked, waiting for the device
///   waiting    thread time blocked, waiting for locks, queues, sockets, sleep
///   gpu idle   device idle time while the launching thread was on the line
///   exposed comm  time of collectives that no compute hides
///   alloc      bytes allocated
///   peak       bytes of the line that were alive at the peak of their memory
///   calls      Python and built-in calls made from the line
///   kernels    kernels launched from the line
///
/// A mark before the numbers shows how the line is known:
///
///   none       the recording names it
///   ~          inferred from the source and the order of events
///   fn         only the function is known: the numbers on its def line are the
///              part that could not be put on one of its lines
///
/// Among the inputs, sources and notebooks (train.py, run.ipynb) are not read as
/// recordings: they alone are shown.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AnnotateArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// Mean per step, or the sum over the recording [default: step where the recording has steps]
    #[arg(long, value_enum, conflicts_with_all = ["steps", "phase", "threads", "streams", "modules"])]
    pub(crate) per: Option<Per>,

    /// Lines of source shown around each line that has something to say
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) context: u32,

    /// Least share, in percent, that a line needs to be shown [default: 0.5]
    #[arg(long, value_name = "PCT", value_parser = percent)]
    pub(crate) threshold: Option<f64>,

    /// Library files too
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// Prints again whenever the recording, a newer one in the folder, or a source has changed, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
}

impl AnnotateArgs {
    /// What to load: the inputs that are no sources.
    pub(crate) fn recording(&self) -> RecordingArgs {
        let inputs =
            self.recording.inputs.iter().filter(|it| !loader::is_source(it)).cloned().collect();
        RecordingArgs { inputs, ..self.recording.clone() }
    }

    /// What is shown.
    pub(crate) fn options(&self) -> report::annotate::AnnotateOptions {
        let files = self.recording.inputs.iter().filter(|it| loader::is_source(it));
        let files = files.map(|it| it.canonicalize().unwrap_or_else(|_| it.clone())).collect();
        let view = &self.recording.settings.view;
        report::annotate::AnnotateOptions {
            period: match (self.filter.only_step(), self.per) {
                (Some(step), _) => Period::Step(step),
                (None, Some(Per::Run)) => Period::Run,
                // A recording without steps is shown as a whole.
                (None, Some(Per::Step)) => Period::Mean,
                (None, None) => view.period,
            },
            context: self.context,
            threshold: self.threshold.unwrap_or(100.0 * view.threshold),
            all: self.all,
            files,
            code: self.filter.code.filter(),
            root: self.recording.root.display().to_string(),
        }
    }
}

/// What numbers stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Per {
    /// Mean per step and rank.
    Step,
    /// Sum over the recording.
    Run,
}

/// Every line with everything it was charged with, for other programs (perfline.lines/1)
#[derive(Debug, Clone, Args)]
pub(crate) struct LinesArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// JSON has totals and inputs too; CSV has the lines alone
    #[arg(long, value_enum, default_value_t = TableFormat::Json)]
    pub(crate) format: TableFormat,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    Json,
    Csv,
}

/// What holds device memory: the peak by line, memory over time, failed requests, findings
///
/// Reads memory snapshots (torch.cuda.memory._dump_snapshot). A trace of the same
/// run beside it shows how much memory the device has.
///
///   peak      bytes of the line in use when the most bytes were in use
///   end       bytes of the line still in use at the end
///   alloc     bytes allocated in all, and how often
///   largest   the largest single allocation
///   lifetime  mean time from allocation to release
///   saved     bytes kept from the forward for the backward pass
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct MemoryArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// Text for people, JSON for programs (perfline.memory/1)
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,

    /// Lines listed of each device
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) top: usize,

    /// Write a picture of memory over time to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// Who the output is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Text,
    Json,
}

/// Write what was read and charged to lines as a small file that is read as the traces are
///
/// Every command and the editors take the file instead of the recordings: one of
/// each rank, or one of all. docs/ledger.md has the format.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LedgerArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// The file to write (rank0.perfline)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Whole stacks for flame graph viewers, pprof and tables, tables of lines, kernels and more, and a trace for Perfetto
///
/// A stack goes from the outermost line of your code to the line that is charged,
/// each as annotate names it; below it are the calls, operators and kernels. The
/// sums are those of perfline lines. docs/export.md says how to open each format.
///
///   folded      a line of text for each stack: flamegraph.pl, inferno
///   speedscope  JSON for the speedscope viewer, all metrics
///   firefox     JSON for profiler.firefox.com, all metrics
///   pprof       for go tool pprof, all metrics
///   csv         a row for each stack, all metrics
///   parquet     the same, or another --table, for pandas, polars, DuckDB, Spark
///   arrow       as parquet, a stream of Arrow's IPC format for each --table
///   perfetto    what threads and devices of one rank did when, with your lines:
///               ui.perfetto.dev, chrome://tracing
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// folded, speedscope, firefox, pprof, csv, parquet, arrow or perfetto
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: ExportFormat,

    /// What parquet and arrow have: stacks, lines, kernels, operators, modules, steps, ranks or findings; of arrow several, one
    /// stream behind the other [default: stacks]
    #[arg(long = "table", value_name = "NAME", value_delimiter = ',')]
    pub(crate) tables: Vec<DataTable>,

    /// What stacks are weighed by: cpu, cuda, gpu_idle, sync, waiting or alloc; of a format with all metrics, the one that
    /// is shown first [default: cuda where the recording has device time, else cpu]
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<StackMetric>,

    /// Library lines too
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// The file to write [default: the standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl ExportArgs {
    /// The tables of a format that has some.
    pub(crate) fn tables(&self) -> &[DataTable] {
        if self.tables.is_empty() { &[DataTable::Stacks] } else { &self.tables }
    }
}

/// All that is known of a line, a function, an operator or a kernel
///
/// PLACE is a line (train.py:41), a function (forward, Model.forward), an operator
/// that Python calls (aten::linear) or a part of the name of a kernel. Of lines and
/// functions: amounts, findings, kernels, operators, callers, what is called, what is
/// waited for, allocations, steps. Of operators and kernels: the lines that run them.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ShowArgs {
    /// What to show
    #[arg(value_name = "PLACE")]
    pub(crate) place: String,

    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// Text for people, JSON for programs (perfline.show/1)
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,

    /// Prints again whenever the recording, a newer one in the folder, or a source has changed, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
}

/// Operators over the whole recording: calls, thread and device time with and without what is below, your lines
///
///   cpu self    thread time of the operator without the operators that it calls
///   cpu total   with them; an operator that calls itself counts once
///   cuda self   time of the kernels and copies that it launched itself
///   cuda total  with those of the operators that it calls
///   share       of all of what the rows are sorted by
///   lines       your lines with most of it
///
/// Needs no stacks: without them, the lines are missing.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct OpsArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// cpu_self, cpu_total, cuda_self, cuda_total, alloc or calls [default: cuda_self where the recording has device time,
    /// else cpu_self]
    #[arg(long, value_name = "ORDER")]
    pub(crate) sort: Option<OperatorOrder>,

    /// A row for each combination of the sizes of the inputs, where the recording has them (record_shapes=True)
    #[arg(long)]
    pub(crate) sizes: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// Kernels, copies and fills over the whole recording: calls, times, launch sizes, occupancy, your lines
///
///   so far        share of the row and of all rows above it
///   occupancy     estimated achieved occupancy, as recorded
///   tensor cores  whether it runs on them, by its name
///   grid × block  blocks and threads per block, or how many of such sizes there are
///   lines         your lines that launched most of it
///
/// Needs no stacks: without them, lines and what is known by line are missing.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct KernelsArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// Modules of the model over the whole recording: calls, thread and device time, parameters
///
///   cpu own        time of the calls without those of other modules in them
///   cpu total      with them
///   cpu backward   backward nodes of the operators that ran in the calls
///   cuda …         device time that was launched there
///   share          of all device time where the recording has some, else of thread time
///   modules        modules whose names differ by numbers alone are one row
///
/// Names as layers.3.mlp.up need a recording of perfline record or perfline.profile(); without,
/// modules are distinguished by class and number.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ModulesArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// A row for each module; as JSON there always is
    #[arg(long)]
    pub(crate) all: bool,

    /// Only these modules, by name ('layers.*', 'model.layers.3.mlp.**') or class (Linear), repeatable
    #[arg(long = "module", value_name = "GLOB")]
    pub(crate) modules: Vec<ModulePattern>,

    #[command(flatten)]
    pub(crate) table: TableArgs,
}

impl ModulesArgs {
    /// Which modules are listed.
    pub(crate) fn filter(&self) -> StackFilter {
        let events = EventChoice { modules: self.modules.clone(), ..EventChoice::default() };
        StackFilter { events, ..StackFilter::default() }
    }
}

/// The steps one by one: how long each took, what it went to, which lines made the longer ones longer
///
///   to median          what the step is longer (+) or shorter (-) than the median
///                      of its rank
///   longer on threads  the lines that took more thread time than in the median of
///                      the steps, and how much, of steps at least 2 % longer
///   longer on devices  the same of device time, by the step that launched it
///
/// The columns between them are what report calls "What the steps went to".
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StepsArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// number or time, the longest first
    #[arg(long, value_name = "ORDER", default_value = StepOrder::Number.name())]
    pub(crate) sort: StepOrder,

    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// Annotations (record_function, steps, ranges of libraries) of one rank: calls, times, device time, your lines
///
///   time   from start to end; one within another of the same name counts once
///   self   without that of annotations within it
///   cuda   device time that the thread launched meanwhile, or autograd's for it
///   share  time of the time from the first event to the last
///   lines  your lines that opened them
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RangesArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// What ranks communicated: calls, times, sizes and bandwidths by kind, process group and size, your lines
///
///   time       from start to end of the calls, all ranks together, waiting included
///   wait       of it, before all ranks had begun: where their recordings are read too
///   message    as nccl-tests counts it: of all-gather the output, else the input
///   algorithm  the message by the time after all ranks had begun
///   bus        the same, times the factor of the kind (nccl-tests)
///   lines      your lines that launched most of it
///
/// perfline ranks says who is late, and who waits.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CommArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// What torch.compile compiled since the program began: how long that took, and why it compiled again
///
///   time                all phases together, backward passes included, as the log says
///   compiles            versions of the function, and of its parts behind graph breaks
///   why                 again for: what changed, so that no version fitted any more;
///                       graph ends at: lines that cannot be compiled, and the reason
///
/// Needs the log of the compiler beside the trace: perfline record writes it, else set TORCH_TRACE
/// to a folder before the program starts.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// Functions of libraries too; as JSON they always are there
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// A screen to look around in: hot lines and findings, the source, what is known of each line
///
/// The arrow keys choose a line; ? shows all keys. Needs a terminal.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// The report in a browser, with timeline, flame graph and memory over time; its lines open in your editor
///
/// The page is served on a port of this machine, to whoever has its address. Pictures show more when you zoom in. Lines open in
/// the editor of VISUAL or EDITOR if it has a window of its own (code, cursor, zed, subl, gvim, emacsclient). Ends with
/// Ctrl-C.
#[derive(Debug, Clone, Args)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// The port; 0 is one that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,

    /// Prints the address and opens no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
}

/// The recordings below a folder, the newest first, with what is known of them without reading them
///
///   age    since the newest of its files was written
///   step   the mean step, and how many there are: of recordings that were looked at before
///
/// Each is what the other commands read for one of its files; for the folder they read the newest.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ListArgs {
    /// Where to look
    #[arg(value_name = "FOLDER", default_value = ".", value_parser = input())]
    pub(crate) folder: PathBuf,

    /// The files of all recordings, one a line, for programs
    #[arg(long, conflicts_with_all = ["format", "top"])]
    pub(crate) files: bool,

    #[command(flatten)]
    pub(crate) table: TableArgs,

    /// What the `perfline.toml` in the root says.
    #[arg(skip)]
    pub(crate) settings: Arc<Settings>,
}

/// Writes a small part of a recording without your names, to be sent with a report of a fault
///
/// Names of your files, folders, functions, classes, operators, annotations, kernels and modules,
/// hosts, and all other texts are replaced, each always by the same one. Times, lines, nesting,
/// sizes, numbers of processes and threads, and the names of PyTorch and of the standard library stay.
/// Exact callers beside the trace are cut alike, into a file of their own.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct BugReportArgs {
    /// A trace of one rank
    #[arg(value_name = "RECORDING", value_parser = input())]
    pub(crate) recording: PathBuf,

    /// Where it goes, a new file; in an ending .gz it is compressed
    #[arg(short, long, value_name = "FILE", default_value = "perfline-report.json.gz")]
    pub(crate) output: PathBuf,

    /// Steps to keep: 3, 3-5, repeatable [default: the step of median duration behind the first; without steps, the first 20,000
    /// events]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) steps: Vec<StepNumbers>,
}

/// Which code is shown.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CodeArgs {
    /// Only lines of these files and what ran below them: model.py, 'models/**', repeatable
    #[arg(long = "file", value_name = "GLOB")]
    pub(crate) files: Vec<FilePattern>,

    /// Only lines of functions in whose qualified name (Model.forward) this regular expression is found, and what ran below
    /// them, repeatable
    #[arg(long = "function", value_name = "REGEX")]
    pub(crate) functions: Vec<FunctionPattern>,
}

impl CodeArgs {
    pub(crate) fn filter(&self) -> CodeFilter {
        CodeFilter { files: self.files.clone(), functions: self.functions.clone() }
    }
}

/// Which stacks count.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FilterArgs {
    #[command(flatten)]
    pub(crate) code: CodeArgs,

    /// Only what ran in this phase of training: forward (calls of modules), backward, recompute (what torch.utils.checkpoint
    /// computes again), optimizer or loader; of several on a stack the outermost
    #[arg(long, value_name = "PHASE")]
    pub(crate) phase: Option<TrainingPhase>,

    /// Only what happened on this thread, by its id or name as recorded, and what it launched, repeatable
    #[arg(long = "thread", value_name = "NAME")]
    pub(crate) threads: Vec<String>,

    /// Only what ran on these streams of devices: 7,20, repeatable
    #[arg(long = "stream", value_name = "N", value_delimiter = ',')]
    pub(crate) streams: Vec<i64>,

    /// Only what ran in calls of these modules, and what they launched, by the name that perfline modules lists ('layers.*',
    /// 'model.layers.3.mlp.**') or the class (Linear), repeatable
    #[arg(long = "module", value_name = "GLOB")]
    pub(crate) modules: Vec<ModulePattern>,

    /// Only what happened on the host during these steps, and what was launched there: 3, 3-7, or a kind that perfline steps lists
    /// (decode), repeatable
    #[arg(long = "step", value_name = "N|KIND", value_delimiter = ',')]
    pub(crate) steps: Vec<StepChoice>,
}

impl FilterArgs {
    /// What the numbers of lines are of; which lines are shown is another matter.
    pub(crate) fn part(&self) -> StackFilter {
        self.filter().part()
    }

    /// The step, if one is all that is asked for: ledgers have its numbers.
    pub(crate) fn only_step(&self) -> Option<u32> {
        let Self { code: _, phase: None, threads, streams, modules, steps } = self else {
            return None;
        };
        let is_all = threads.is_empty() && streams.is_empty() && modules.is_empty();
        steps.first().filter(|_| is_all && steps.len() == 1)?.single()
    }

    pub(crate) fn filter(&self) -> StackFilter {
        StackFilter {
            code: self.code.filter(),
            phase: self.phase,
            events: EventChoice {
                threads: self.threads.clone(),
                streams: self.streams.iter().copied().collect(),
                modules: self.modules.clone(),
                steps: self.steps.clone(),
            },
        }
    }
}

/// How a table is printed.
#[derive(Debug, Clone, Args)]
pub(crate) struct TableArgs {
    /// Rows listed
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,

    /// Text for people, JSON with all rows for programs (perfline.table/1)
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,
}

/// Several ranks beside each other: who is late, who waits for whom, and at which line
///
/// Reads the traces of several ranks of one run: name them, or the folder that
/// holds them. Times are of the mean step.
///
///   compute        kernels that do not communicate, or operators on a CPU
///   comm wait      in collectives, before all ranks had begun
///   comm transfer  in collectives, after that
///   waited for     how long others waited in collectives that it began last
///   late at, of    collectives that it began last, of all that it took part in
///
/// Bandwidths are those of nccl-tests.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RanksArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// Text for people, JSON for programs (perfline.ranks/1); CSV has each step of each rank
    #[arg(long, value_enum, default_value_t = RanksFormat::Text)]
    pub(crate) format: RanksFormat,

    /// Lines listed
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,

    /// Also list the lines that rank A spends more or less time on than rank B, the largest difference first
    #[arg(long, value_name = "A,B", value_parser = two_ranks)]
    pub(crate) between: Option<(u32, u32)>,

    /// Also list each step of each rank
    #[arg(long)]
    pub(crate) steps: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RanksFormat {
    Text,
    Json,
    Csv,
}

/// Where the ranks of a job stood that hangs: who waits in which collective, at which line, and who did not call it
///
/// Reads the dumps of PyTorch's flight recorder: one file for each rank, such as
/// nccl_trace_rank_0, as a pickle or as JSON. PyTorch writes them when a collective
/// takes too long; docs/hang.md says how to have them.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HangArgs {
    /// Dumps, or folders that hold them [default: the current folder]
    #[arg(value_name = "INPUT", value_parser = input())]
    pub(crate) inputs: Vec<PathBuf>,

    /// Text for people, JSON for programs (perfline.hang/1)
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,
}

fn two_ranks(text: &str) -> Result<(u32, u32), String> {
    let ranks = text
        .split_once(',')
        .and_then(|(one, other)| Some((one.trim().parse().ok()?, other.trim().parse().ok()?)));
    match ranks {
        Some((one, other)) if one != other => Ok((one, other)),
        _ => Err("two different ranks are needed, as in 0,1".to_owned()),
    }
}

/// What limits the step, what can be won, which lines cost most; all tables; limits for CI
///
/// Without --all or --section, what fits a screen. The rest: totals, steps, ranks,
/// what the steps went to, how devices were used, lines by time, waits, FLOPs and
/// bytes, what was read, and whether its amounts add up.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// Findings, and lines in each table
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,

    /// All findings and tables in place of the first screen
    #[arg(long, conflicts_with = "sections")]
    pub(crate) all: bool,

    /// Only these parts: findings,lines,totals; the first screen lists their names. Of JSON, all other parts are left out
    #[arg(long = "section", value_name = "NAMES", value_delimiter = ',')]
    pub(crate) sections: Vec<String>,

    /// Text for people, JSON for programs (perfline.report/1)
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,

    /// Also write the report as a page with plots and findings that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Also say what the time of loading went to
    #[arg(long)]
    pub(crate) timing: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Prints again whenever the recording, a newer one in the folder, or a source has changed, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
}

impl ReportArgs {
    /// What the report contains.
    pub(crate) fn options(&self) -> report::ReportOptions {
        report::ReportOptions {
            top: self.top,
            rules: self.recording.settings.view.rules(),
            limits: self.limits.given(),
            code: self.filter.code.filter(),
        }
    }
}

/// Two recordings beside each other: what is faster, what is slower, and by more than the noise
///
/// Lines are matched through the edits between the two sources, so that code that
/// was moved, renamed or reformatted is compared with itself. A difference counts
/// if the steps of both recordings say so with a confidence of 99 %, and if it is
/// larger than what all other lines differ by. Times are of the mean step.
///
///   change  what the new recording takes more (+) or less (-)
///   of      which time: on the host (cpu own), on the device (cuda own), waits
///
/// Without BASE and NEW, the newest recording below the current folder is compared
/// with the one before it.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DiffArgs {
    /// The recording that is compared with: a file, or a folder that stands for the newest recording below it
    #[arg(value_name = "BASE", requires = "new", value_parser = input())]
    pub(crate) base: Option<PathBuf>,

    /// The recording that is looked at
    #[arg(value_name = "NEW", value_parser = input())]
    pub(crate) new: Option<PathBuf>,

    /// Folder of the code as BASE ran it [default: that of --root]
    #[arg(long, value_name = "DIR")]
    pub(crate) base_root: Option<PathBuf>,

    /// Folder of the code as NEW ran it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,

    /// Folder of library code (site-packages), repeatable [default: those of the active Python environment]
    #[arg(long = "site", value_name = "DIR")]
    pub(crate) sites: Vec<PathBuf>,

    /// Package or pattern of recorded paths whose lines count as yours although a library folder holds them, repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) mine: Vec<MinePattern>,

    /// Where a folder of the recording is, repeatable: --map /srv/app=services/app. What is not absolute is below the root
    #[arg(long = "map", value_name = "RECORDED=FOLDER")]
    pub(crate) mappings: Vec<SourceMapping>,

    /// What the ranges (record_function) are called that are steps, with a * for any text ('train_batch*'), repeatable [default: the
    /// steps of the profiler's schedule, else the passes of vLLM and SGLang]
    #[arg(long = "step-range", value_name = "NAME")]
    pub(crate) step_ranges: Vec<String>,

    /// Memory that may be used while reading, such as 4G; what does not fit is left out [default: three quarters of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<MemoryLimit>,

    /// Exit with status 2 unless both recordings were read to their end without loss
    #[arg(long)]
    pub(crate) strict: bool,

    /// Text for people, Markdown for a comment on a pull request, JSON for programs (perfline.diff/1)
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub(crate) format: DiffFormat,

    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) top: usize,

    /// Only what happened on the host during these steps of both, and what was launched there: 3, 3-7, or a kind that perfline steps
    /// lists (decode), repeatable
    #[arg(long = "step", value_name = "N|KIND", value_delimiter = ',')]
    pub(crate) steps: Vec<StepChoice>,

    /// Also write the comparison as a page that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Prints again whenever the recording, a newer one in the folder, or a source has changed, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    /// What the `perfline.toml` in the root says.
    #[arg(skip)]
    pub(crate) settings: Arc<Settings>,
}

impl DiffArgs {
    /// Which part of both is compared.
    pub(crate) fn filter(&self) -> StackFilter {
        let events = EventChoice { steps: self.steps.clone(), ..EventChoice::default() };
        StackFilter { events, ..StackFilter::default() }
    }

    /// What to load of one side.
    pub(crate) fn recording(&self, inputs: Vec<PathBuf>, root: &Path) -> RecordingArgs {
        RecordingArgs {
            inputs,
            root: root.to_owned(),
            sites: self.sites.clone(),
            mine: self.mine.clone(),
            mappings: self.mappings.clone(),
            step_ranges: self.step_ranges.clone(),
            memory_limit: self.memory_limit,
            strict: self.strict,
            settings: Arc::clone(&self.settings),
            ..RecordingArgs::default()
        }
    }
}

/// A recording held against the limits of a perfline.toml, for CI: exit status 1 if one is exceeded
///
/// Limits are of the mean step: of the run, of files, functions and lines, of
/// findings, and of what may be worse than in a baseline by more than the noise.
/// Each limit that is exceeded is a line of output, the place in the code first.
/// docs/budgets.md says what can be limited, and how to run it in CI.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,

    /// The limits [default: perfline.toml in the folder of --root]
    #[arg(long, value_name = "FILE")]
    pub(crate) budget: Option<PathBuf>,

    /// The recording to compare with, in place of the one that the budget names: a file, or a folder that stands for the
    /// newest recording below it
    #[arg(long, value_name = "INPUT", value_parser = input())]
    pub(crate) baseline: Option<PathBuf>,

    /// Folder of the code as the baseline ran it [default: what the budget names, else that of --root]
    #[arg(long, value_name = "DIR")]
    pub(crate) baseline_root: Option<PathBuf>,

    /// Also write what exceeds the limits for code review tools (SARIF 2.1.0)
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,

    /// Prints again whenever the recording, a newer one in the folder, or a source has changed, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
}

impl CheckArgs {
    /// The file with the limits.
    pub(crate) fn budget(&self) -> PathBuf {
        self.budget.clone().unwrap_or_else(|| project_file(&self.recording.root))
    }
}

/// The `perfline.toml` of a root, as messages name it.
pub(crate) fn project_file(root: &Path) -> PathBuf {
    match root.to_str() {
        Some(".") => PathBuf::from(loader::PROJECT_FILE),
        _ => root.join(loader::PROJECT_FILE),
    }
}

/// Who a comparison is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    Text,
    Markdown,
    Json,
}

/// What a rule of the findings says: when it speaks, how it measures, what to do; without RULE, the list
#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainArgs {
    /// Id of the rule
    #[arg(value_name = "RULE", value_parser = rule)]
    pub(crate) rule: Option<&'static insights::Rule>,
}

fn rule(id: &str) -> Result<&'static insights::Rule, String> {
    insights::rule(id).ok_or_else(|| {
        let ids: Vec<&str> = insights::rules().map(|it| it.id).collect();
        format!("there are: {}", ids.join(", "))
    })
}

/// Exit status 1 if one of them is exceeded. A recording without steps counts as one step.
#[derive(Debug, Clone, Default, Args)]
#[command(
    next_help_heading = "Limits (exit status 1 when exceeded; a recording without steps counts as one)"
)]
pub(crate) struct LimitArgs {
    /// Longest mean step
    #[arg(long, value_name = "MS", value_parser = not_negative)]
    pub(crate) max_step_ms: Option<f64>,

    /// Longest time blocked waiting for the device, per step and rank
    #[arg(long, value_name = "MS", value_parser = not_negative)]
    pub(crate) max_sync_ms_per_step: Option<f64>,

    /// Largest share of the devices' time without work
    #[arg(long, value_name = "PCT", value_parser = percent)]
    pub(crate) max_gpu_idle_pct: Option<f64>,

    /// Largest share of thread time, and of CUDA time, that has no line
    #[arg(long, value_name = "PCT", value_parser = percent)]
    pub(crate) max_unattributed_pct: Option<f64>,
}

impl LimitArgs {
    /// Whether one was given.
    pub(crate) fn is_any(&self) -> bool {
        !self.given().is_empty()
    }

    /// Those that were given.
    fn given(&self) -> Vec<(Limit, f64)> {
        let limits = [
            (Limit::Step, self.max_step_ms),
            (Limit::Sync, self.max_sync_ms_per_step),
            (Limit::GpuIdle, self.max_gpu_idle_pct),
            (Limit::Unattributed, self.max_unattributed_pct),
        ];
        limits.into_iter().filter_map(|(limit, allowed)| Some((limit, allowed?))).collect()
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let value = not_negative(text)?;
    if value <= 100.0 { Ok(value) } else { Err("a percentage is at most 100".to_owned()) }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(value) if value.is_finite() && 0.0 <= value => Ok(value),
        _ => Err("a number that is not negative is needed".to_owned()),
    }
}

/// What is kept of recordings that were read, so that the next time is faster: its folder, files and size
///
///   ledgers  what was charged to lines, of recordings that take time to read
///   texts    your source files as they ran, so that numbers keep their lines
///
/// PERFLINE_CACHE_DIR names another folder; if it is empty, nothing is kept.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) action: Option<CacheAction>,
}

/// What is done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub(crate) enum CacheAction {
    /// Delete ledgers and texts; texts of files that were edited since cannot be had again
    Clear,
}

/// Run a program and record a few of its steps, with the source line of every call
///
/// `perfline record train.py --epochs 1`; `perfline record --help` lists the options. Needs the Python package.
#[derive(Debug, Clone, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct RecordArgs {
    /// Options of the Python package's command, then the program with its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// The language server, on standard input and output; editors start it
#[derive(Debug, Clone, Args)]
pub(crate) struct LspArgs {
    /// Accepted because some editors pass it; there is no other transport
    #[arg(long)]
    pub(crate) stdio: bool,
}

/// The server for coding agents (Model Context Protocol), on standard input and output; agents start it
///
/// Its tools say what limits the step, which lines cost most and why, and whether a
/// change helped. Recordings and sources are read below --root alone, but for the
/// inputs that are named here. docs/agents.md says how to add it to an agent.
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct McpArgs {
    /// The recording that is meant where an agent names none [default: the newest below --root]
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Folder of your code and of the recordings: nothing outside is read as either
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,

    /// Folder of library code (site-packages), repeatable [default: those of the active Python environment]
    #[arg(long = "site", value_name = "DIR")]
    pub(crate) sites: Vec<PathBuf>,

    /// Package or pattern of recorded paths whose lines count as yours although a library folder holds them, repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) mine: Vec<MinePattern>,

    /// Where a folder of the recording is, repeatable: --map /srv/app=services/app. What is not absolute is below the root
    #[arg(long = "map", value_name = "RECORDED=FOLDER")]
    pub(crate) mappings: Vec<SourceMapping>,

    /// Memory that may be used while reading, such as 4G; what does not fit is left out [default: three quarters of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<MemoryLimit>,

    /// What the `perfline.toml` in the root says.
    #[arg(skip)]
    pub(crate) settings: Arc<Settings>,
}

impl McpArgs {
    /// What to load, and how.
    pub(crate) fn recording(&self) -> RecordingArgs {
        RecordingArgs {
            inputs: self.inputs.clone(),
            root: self.root.clone(),
            sites: self.sites.clone(),
            mine: self.mine.clone(),
            mappings: self.mappings.clone(),
            memory_limit: self.memory_limit,
            settings: Arc::clone(&self.settings),
            ..RecordingArgs::default()
        }
    }
}

/// Print what completes commands and options in a shell
///
/// `perfline completions bash > ~/.local/share/bash-completion/completions/perfline`; docs/cli.md has the places of other shells.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Print a manual page: `perfline man report | man -l -`
#[derive(Debug, Clone, Args)]
pub(crate) struct ManArgs {
    /// Of which command [default: that of perfline itself, which lists the commands]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn numbers_are_checked() {
        assert_eq!(percent("0.5"), Ok(0.5));
        assert_eq!(percent("5%"), Ok(5.0));
        assert!(percent("101").is_err());
        assert!(percent("NaN").is_err());
        assert!(not_negative("-1").is_err());
    }
}
