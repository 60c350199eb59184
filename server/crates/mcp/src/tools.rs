//! The tools: what each is for, and how it is answered from what the commands print.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use ide::{Charge, Period, View, ViewMetric};
use report::annotate::{self, AnnotateOptions, AnnotatedRow};
use report::show::ShowOptions;
use report::tables::{self, NamedTable, StepOrder};
use report::terminal::{Colours, Terminal};
use report::{
    CodeFilter, Recording, RecordingPart, ReportOptions, StackFilter, diff, json, memory, show,
    text,
};
use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde_json::json;

use crate::arguments::{
    AnswerFormat, DiffArguments, ExplainArguments, FolderArguments, HotLinesArguments,
    KernelsArguments, OperatorsArguments, PerChoice, RecordingArguments, ReportArguments,
    ShowArguments, SourceArguments, TableArguments, TableName, Top, each, parse,
};
use crate::workspace::{KeptRecording, StackNeed, Workspace};

/// Bytes of an answer at most: what is longer fills the context of an agent and helps it no more.
const MAX_BYTES: usize = 64 << 10;

/// Findings in a summary.
const SUMMARY_FINDINGS: usize = 3;

/// Files that are named of a recording.
const MAX_FILES: usize = 8;

/// Least share, in percent, of a line that is shown where no line was asked for.
const SOURCE_THRESHOLD: f64 = 0.5;

/// Text as it is, its lines as long as they are.
const PLAIN: Terminal = Terminal { colours: Colours::Plain, width: None };

/// What a tool is asked.
pub(crate) struct ToolRequest<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) arguments: JsonObject,
    pub(crate) cancelled: &'a AtomicBool,
}

/// A tool.
pub(crate) struct ToolEntry {
    name: &'static str,
    title: &'static str,
    /// When to use it, and what it answers; for agents.
    description: &'static str,
    schema: fn() -> Arc<JsonObject>,
    answer: fn(ToolRequest<'_>) -> Result<Vec<u8>, String>,
}

/// All of them, in the order in which they are of use.
const TOOLS: [ToolEntry; 12] = [
    ToolEntry {
        name: "recordings",
        title: "List recordings",
        description: "What was recorded: the traces, memory snapshots and ledgers below the root, the newest first, each with its \
                      path for the argument `recording` of the other tools, its files and their kinds, ranks, bytes on disk and age in seconds. Not \
                      needed to look at the newest.",
        schema: schema::<FolderArguments>,
        answer: recordings,
    },
    ToolEntry {
        name: "summary",
        title: "What limits the step",
        description: "Begin here. What limits the step (with the shares of its parts), the three findings that can win most, each with \
                      file, line and remedy, and the lines that take most of the step. Times are of the mean step of a rank, or \
                      of the recording where it has no steps. As JSON: perfline.report/1, nanoseconds, shares of 1.",
        schema: schema::<ReportArguments>,
        answer: summary,
    },
    ToolEntry {
        name: "findings",
        title: "What can be won",
        description: "What rules found, the costliest first: file and line, what is wrong, what it costs (per mean step where there are \
                      steps), share of the step, remedy. `explain` says more of a rule. As JSON: perfline.report/1.",
        schema: schema::<ReportArguments>,
        answer: findings,
    },
    ToolEntry {
        name: "hot_lines",
        title: "Lines that cost most",
        description: "The lines of your code with most of a metric, the largest first, with share, amount, function and statement. \
                      Before the place of a line: nothing, it was recorded exactly; ~, it is inferred; fn, only the function is \
                      known. Use it to find where time, waits, device idle time, communication or memory go; then `show`. As \
                      JSON: perfline.table/1, nanoseconds or bytes.",
        schema: schema::<HotLinesArguments>,
        answer: hot_lines,
    },
    ToolEntry {
        name: "show",
        title: "All about a line, function, operator or kernel",
        description: "Use it before a change, to see why something is slow. Of a line or function: its amounts, findings, kernels with \
                      launch sizes and occupancy, operators, callers, callees, what it waits for, allocations, steps. Of a \
                      kernel, or an operator that your code calls: the lines that run it. Times are of the mean step where the \
                      recording has steps. As JSON: perfline.show/1, nanoseconds.",
        schema: schema::<ShowArguments>,
        answer: show,
    },
    ToolEntry {
        name: "source",
        title: "Source with costs",
        description: "The text of a file with what each line costs beside it, around a line or where it costs most, as `perfline \
                      annotate` prints it. Numbers follow lines that were moved since; ≈ marks lines that were changed.",
        schema: schema::<SourceArguments>,
        answer: source,
    },
    ToolEntry {
        name: "operators",
        title: "Operators",
        description: "PyTorch operators over the whole recording: calls, thread time and device time without (self) and with (total) \
                      operators below, bytes allocated, your lines with most of it. As JSON: perfline.table/1, nanoseconds.",
        schema: schema::<OperatorsArguments>,
        answer: operators,
    },
    ToolEntry {
        name: "kernels",
        title: "Kernels",
        description: "Device kernels, copies and fills over the whole recording, the one that ran longest first: share, share so far, \
                      time, calls, launch sizes, occupancy, tensor cores, your lines that launched it. As JSON: perfline.table/1, \
                      nanoseconds.",
        schema: schema::<KernelsArguments>,
        answer: kernels,
    },
    ToolEntry {
        name: "table",
        title: "Steps, modules, communication, critical path, what was compiled",
        description: "A table of the whole recording, by its name: which steps were slow and why, which modules of the model cost most, \
                      what ranks communicated, which lines had to be done one after the other before the steps \
                      could end (critical-path), what torch.compile compiled and why again. As JSON: perfline.table/1, nanoseconds.",
        schema: schema::<TableArguments>,
        answer: named_table,
    },
    ToolEntry {
        name: "memory",
        title: "Who holds device memory",
        description: "What holds device memory at its peak, by line, with failed requests and findings, as `perfline memory` prints \
                      it. Needs a memory snapshot (torch.cuda.memory._dump_snapshot) or a trace with profile_memory=True.",
        schema: schema::<RecordingArguments>,
        answer: memory,
    },
    ToolEntry {
        name: "diff",
        title: "Did it help?",
        description: "Two recordings beside each other, as Markdown: which lines, kernels and findings are faster, slower, gone or \
                      new, by more than the noise. Lines are matched through edits. Use it after a change, once the program \
                      was recorded again; without arguments it compares the newest recording with the one before.",
        schema: schema::<DiffArguments>,
        answer: diff,
    },
    ToolEntry {
        name: "explain",
        title: "What a rule says",
        description: "The page of a rule of the findings, as Markdown: when it fires, how it measures, what to do, code before and \
                      after, known limitations.",
        schema: schema::<ExplainArguments>,
        answer: explain,
    },
];

impl ToolEntry {
    /// The tool of this name.
    pub(crate) fn by_name(name: &str) -> Option<&'static Self> {
        const { &TOOLS }.iter().find(|it| it.name == name)
    }

    /// The answer to a request, as text.
    ///
    /// # Errors
    /// A sentence for the agent: what happened, and what to do.
    pub(crate) fn answer(&self, request: ToolRequest<'_>) -> Result<String, String> {
        let bytes = (self.answer)(request)?;
        if MAX_BYTES < bytes.len() {
            return Err(format!(
                "the answer has {} KB, more than the {} KB that are given; ask for less with `top`",
                bytes.len() >> 10,
                MAX_BYTES >> 10
            ));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// What a client gets to know of the tools.
pub(crate) fn described() -> Vec<Tool> {
    let described = TOOLS.iter().map(|it| {
        let annotations = ToolAnnotations::with_title(it.title)
            .read_only(true)
            .idempotent(true)
            .open_world(false);
        Tool::new(it.name, it.description, (it.schema)()).with_annotations(annotations)
    });
    described.collect()
}

/// The schema of arguments.
fn schema<T: JsonSchema + 'static>() -> Arc<JsonObject> {
    // It fails for what is no structure only.
    schema_for_input::<T>().unwrap_or_default()
}

impl ToolRequest<'_> {
    fn open(&self, named: Option<&str>, need: StackNeed) -> Result<Arc<KeptRecording>, String> {
        let inputs = self.workspace.inputs(named)?;
        self.workspace.open(inputs, need, self.cancelled)
    }

    fn open_part(
        &self,
        named: Option<&str>,
        filter: &StackFilter,
        by_step: bool,
    ) -> Result<KeptRecording, String> {
        let inputs = self.workspace.inputs(named)?;
        self.workspace.open_part(inputs, filter, by_step, self.cancelled)
    }

    /// What `answer` makes of the lines of the part that passes `filter`; of the whole recording where the filter chooses no part.
    /// With `by_step` the part has its steps, too.
    fn of_lines<T>(
        &self,
        named: Option<&str>,
        filter: &StackFilter,
        by_step: bool,
        answer: impl FnOnce(&Recording<'_>, Option<&RecordingPart>) -> Result<T, String>,
    ) -> Result<T, String> {
        let part = filter.part();
        if part.is_empty() {
            return answer(&self.open(named, StackNeed::Lines)?.recording(), None);
        }
        let mut kept = self.open_part(named, &part, by_step)?;
        let part = kept.take_part(&part, filter);
        answer(&kept.recording(), Some(&part))
    }

    /// A table that `build` makes of the stacks that pass `filter`.
    fn table_of_stacks(
        &self,
        named: Option<&str>,
        filter: &StackFilter,
        top: Top,
        format: AnswerFormat,
        build: impl FnOnce(&Recording<'_>) -> io::Result<NamedTable>,
    ) -> Result<Vec<u8>, String> {
        if filter.is_empty() {
            let kept = self.open(named, StackNeed::Stacks)?;
            return table(build(&kept.recording()), top, format);
        }
        let kept = self.open_part(named, filter, false)?;
        let recording = kept.recording();
        let built = build(&recording).map(|it| filter.noted_in(it, recording.run));
        table(built, top, format)
    }
}

/// What `write` prints.
fn printed(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    write(&mut out).map_err(|error| error.to_string())?;
    Ok(out)
}

fn recordings(request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let FolderArguments { folder, top } = parse("recordings", request.arguments)?;
    let workspace = request.workspace;
    let found = workspace.recordings(folder.as_deref())?;
    let now = SystemTime::now();
    let recordings = found.iter().take(top.0).map(|run| {
        let files: Vec<String> = run.inputs.iter().map(|it| workspace.name(it)).collect();
        let described = loader::describe(&run.inputs);
        let kinds: Vec<&str> = described.kinds.iter().map(|it| it.name()).collect();
        json!({
            "path": files.first(),
            "files": files.len(),
            "more_files": files.get(1..MAX_FILES.min(files.len())),
            "kinds": kinds,
            "ranks": described.ranks,
            "bytes": described.bytes,
            "age_s": now.duration_since(run.modified).unwrap_or_default().as_secs(),
        })
    });
    let recordings: Vec<_> = recordings.collect();
    let answer = json!({
        "root": workspace.root(),
        "recordings": recordings,
        "left_out": found.len().saturating_sub(top.0),
    });
    Ok(json::escaped(&answer).into_bytes())
}

/// Parts of the report: the findings, at most `findings` of them, and `sections`. `more` says what lists more in a text.
fn report_of(
    request: &ToolRequest<'_>,
    arguments: &ReportArguments,
    findings: usize,
    sections: &[&str],
    more: &str,
) -> Result<Vec<u8>, String> {
    let filter = arguments.filter.filter()?;
    let options = ReportOptions {
        top: arguments.top.0,
        rules: request.workspace.view().rules(),
        limits: Vec::new(),
        code: filter.code.clone(),
    };
    request.of_lines(arguments.recording.as_deref(), &filter, true, |recording, part| {
        if let Some(nothing) = filter.code.without_match(recording) {
            return Err(nothing);
        }
        let mut report = report::build_shown(recording, &options, part);
        report.top = findings;
        match arguments.format {
            AnswerFormat::Text => {
                report.sections.retain(|it| sections.contains(&it.id));
                printed(|out| text::write(out, &report, more, &PLAIN))
            }
            AnswerFormat::Json => {
                let names = ["findings"].iter().chain(sections).map(|it| (*it).to_owned());
                let names: Vec<String> = names.collect();
                printed(|out| json::write_report(out, &report, &names))
            }
        }
    })
}

fn summary(mut request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let arguments: ReportArguments = parse("summary", std::mem::take(&mut request.arguments))?;
    let sections = ["ranks", "lines"];
    report_of(&request, &arguments, SUMMARY_FINDINGS, &sections, "findings, hot_lines")
}

fn findings(mut request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let arguments: ReportArguments = parse("findings", std::mem::take(&mut request.arguments))?;
    report_of(&request, &arguments, arguments.top.0, &[], "top")
}

fn hot_lines(mut request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let arguments: HotLinesArguments = parse("hot_lines", std::mem::take(&mut request.arguments))?;
    let view = View {
        metric: ViewMetric::parse(&arguments.metric).map_err(|it| it.to_string())?,
        charge: Charge::parse(&arguments.charge).map_err(|it| it.to_string())?,
        period: period(arguments.per),
        ..request.workspace.view().clone()
    };
    let filter = arguments.filter.filter()?;
    let part = filter.part();
    if let Some(metric @ (ViewMetric::Backward | ViewMetric::Communication)) =
        view.metric.filter(|_| !part.is_empty())
    {
        return Err(format!(
            "what lines have of {} in a part of the recording is not known; leave out {}, or ask for cpu, cuda, wait, idle \
             or memory",
            metric.name(),
            part.text()
        ));
    }
    let named = arguments.recording.as_deref();
    let lines = request.of_lines(named, &filter, false, |recording, part| {
        if let Some(nothing) = filter.code.without_match(recording) {
            return Err(nothing);
        }
        let (top, all) = (arguments.top.0, arguments.all);
        let lines = tables::hot_lines(recording, &view, &filter.code, top, all);
        let lines = match part {
            Some(part) => noted(lines, part),
            None => lines,
        };
        Ok(NamedTable { filter: filter.json(), ..lines })
    })?;
    table(Ok(lines), arguments.top, arguments.format)
}

/// A table of lines that says which part of the recording its amounts are of.
fn noted(mut lines: NamedTable, part: &RecordingPart) -> NamedTable {
    lines.section.notes.extend(part.summary.notes.iter().cloned());
    NamedTable { summary: part.summary.clone(), ..lines }
}

fn show(mut request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let arguments: ShowArguments = parse("show", std::mem::take(&mut request.arguments))?;
    let filter = arguments.filter.filter()?;
    let named = arguments.recording.as_deref();
    request.of_lines(named, &filter, true, |recording, part| {
        let options = ShowOptions {
            top: arguments.top.0,
            rules: request.workspace.view().rules(),
            code: filter.code.clone(),
            part,
        };
        let shown = show::build(recording, &arguments.place, &options)?;
        printed(|out| match arguments.format {
            AnswerFormat::Text => show::write_text(out, &shown, &PLAIN),
            AnswerFormat::Json => show::write_json(out, &shown),
        })
    })
}

fn operators(mut request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let OperatorsArguments { recording, sort, filter, top, format } =
        parse("operators", std::mem::take(&mut request.arguments))?;
    let sort = sort.map(|it| it.parse().map_err(|it: ide::UnknownName| it.to_string()));
    let sort = sort.transpose()?;
    let of_stacks = |it: &Recording<'_>| tables::operators(it, sort, false);
    request.table_of_stacks(recording.as_deref(), &filter.filter()?, top, format, of_stacks)
}

fn kernels(mut request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let KernelsArguments { recording, filter, top, format } =
        parse("kernels", std::mem::take(&mut request.arguments))?;
    let of_stacks = |it: &Recording<'_>| tables::kernels(it, false);
    request.table_of_stacks(recording.as_deref(), &filter.filter()?, top, format, of_stacks)
}

fn named_table(mut request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let TableArguments { name, recording, modules, top, format } =
        parse("table", std::mem::take(&mut request.arguments))?;
    if name != TableName::Modules && !modules.is_empty() {
        return Err("only the table `modules` takes modules; leave them out".to_owned());
    }
    let modules = each(&modules)?;
    let kept = request.open(recording.as_deref(), StackNeed::Lines)?;
    let (recording, is_whole) = (kept.recording(), format == AnswerFormat::Json);
    if let Some(nothing) = tables::without_modules(&recording, &modules) {
        return Err(nothing);
    }
    let found = match name {
        TableName::Steps => tables::steps(&recording, StepOrder::Number),
        TableName::Modules => tables::modules(&recording, &modules, is_whole),
        TableName::Communication => tables::communication(&recording),
        TableName::CriticalPath => tables::critical_path(&recording),
        TableName::Compile => tables::compiled(&recording, true, is_whole),
    };
    table(Ok(found), top, format)
}

fn table(table: io::Result<NamedTable>, top: Top, format: AnswerFormat) -> Result<Vec<u8>, String> {
    let table = table.map_err(|error| error.to_string())?;
    printed(|out| match format {
        AnswerFormat::Text => tables::write_text(out, &table, top.0, &PLAIN),
        AnswerFormat::Json => tables::write_json(out, &table.shortened(top.0)),
    })
}

fn memory(mut request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let RecordingArguments { recording, top } =
        parse("memory", std::mem::take(&mut request.arguments))?;
    let kept = request.open(recording.as_deref(), StackNeed::Lines)?;
    let (recording, rules) = (kept.recording(), request.workspace.view().rules());
    printed(|out| memory::write_text(out, &memory::build(&recording, top.0, &rules), &PLAIN))
}

fn diff(mut request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let DiffArguments { base, recording, top } =
        parse("diff", std::mem::take(&mut request.arguments))?;
    let workspace = request.workspace;
    let new = workspace.inputs(recording.as_deref())?;
    let base = match &base {
        Some(base) => workspace.inputs(Some(base))?,
        None => workspace.inputs_before(&new)?,
    };
    let base = workspace.open(base, StackNeed::Lines, request.cancelled)?;
    let new = workspace.open(new, StackNeed::Lines, request.cancelled)?;
    let found =
        diff::build(&base.recording(), &new.recording(), top.0, &request.workspace.view().rules());
    printed(|out| diff::write_markdown(out, &found))
}

fn explain(request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let ExplainArguments { rule } = parse("explain", request.arguments)?;
    let Some(rule) = insights::rule(&rule) else {
        let rules: Vec<&str> = insights::rules().map(|it| it.id).collect();
        return Err(format!("there is no rule `{rule}`; there are: {}", rules.join(", ")));
    };
    Ok(ide::explanation(rule).into_bytes())
}

fn source(mut request: ToolRequest<'_>) -> Result<Vec<u8>, String> {
    let SourceArguments { file, line, context, recording, per } =
        parse("source", std::mem::take(&mut request.arguments))?;
    let path = request.workspace.place(&file)?;
    let kept = request.open(recording.as_deref(), StackNeed::Lines)?;
    let options = AnnotateOptions {
        period: period(per),
        context: context.0,
        // Around a line, everything is of interest.
        threshold: if line.is_some() { 0.0 } else { SOURCE_THRESHOLD },
        all: true,
        files: vec![path],
        code: CodeFilter::default(),
        root: request.workspace.root().display().to_string(),
    };
    let mut annotated = annotate::build(&kept.recording(), &options);
    if let Some(line) = line {
        let lines = line.saturating_sub(context.0)..=line.saturating_add(context.0);
        for file in &mut annotated.files {
            file.rows.retain(|row| match row {
                AnnotatedRow::Line(it) => lines.contains(&it.number),
                AnnotatedRow::Gap => false,
            });
        }
        annotated.files.retain(|it| !it.rows.is_empty());
    }
    if annotated.files.is_empty() {
        return Err(match line {
            Some(line) => format!(
                "nothing was recorded near line {line} of {file}; `source` without a line shows where the file costs something"
            ),
            None => format!(
                "nothing was recorded of {file}; `hot_lines` names the files that cost something"
            ),
        });
    }
    printed(|out| annotate::write_text(out, &annotated, &PLAIN))
}

fn period(per: PerChoice) -> Period {
    match per {
        PerChoice::Step => Period::Mean,
        PerChoice::Run => Period::Run,
    }
}
