//! What the commands print, and how they end. What a recording says, in whichever form, is the crate `report`'s.

mod bug_report;
mod cache;
mod check;
mod command_help;
mod diff;
mod editor;
mod export;
mod filtered;
mod hang;
mod list;
mod loaded;
mod opened;
mod print;
mod project;
mod record;
mod top;
mod view;
mod watch;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use ::report::{
    RecordingPart, StackFilter, annotate, html, json, lines, memory, ranks, show, tables, text,
};
use loader::{LoadOptions, Run, TimelineChoice};

use crate::args::{self, Cli, Command};
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::{allocator, inputs, output, pager, terminal};
use loaded::{CommandInput, has_timeline, print, print_loaded, print_part, print_stacks};
use print::print_table;

/// Runs a command.
///
/// # Errors
/// If the `perfline.toml` of the project cannot be read, nothing can be loaded, or the output cannot be written.
pub(crate) fn run(cli: Cli) -> Result<ExitCode, Failure> {
    let Cli { command, color, no_pager } = cli;
    if let Some(files) = command.watched() {
        return watch::run(&command, &files, |it| run_once(it, terminal::of_stdout(color)));
    }
    if !no_pager && command.is_long() {
        pager::want();
    }
    run_once(command, terminal::of_stdout(color))
}

/// Runs a command, with what the project says now.
fn run_once(mut command: Command, terminal: Terminal) -> Result<ExitCode, Failure> {
    if let Some((root, settings)) = command.project() {
        *settings = Arc::new(project::settings(root)?);
    }
    match &command {
        Command::Annotate(args) => {
            let options = args.options();
            // The ledger has the numbers of a step, also where there are no stacks.
            let filter = match args.filter.only_step() {
                Some(_) => StackFilter::default(),
                None => args.filter.part(),
            };
            let (recording, whole) = (args.recording(), args.filter.filter());
            print_part(&recording, inputs::options(&recording), &filter, &whole, |out, it, part| {
                let unknown = match part {
                    Some(_) => None,
                    None => annotate::unknown_step(&it.recording, &options),
                };
                if let Some(fault) = unknown.or_else(|| options.code.without_match(&it.recording)) {
                    inputs::report(&fault);
                    return Ok(ExitCode::from(2));
                }
                let annotated = match part {
                    Some(part) => annotate::build_part(&it.recording, &options, part),
                    None => annotate::build(&it.recording, &options),
                };
                annotate::write_text(out, &annotated, &terminal)?;
                Ok(ExitCode::SUCCESS)
            })
        }
        Command::Lines(args) => {
            let (filter, part) = (args.filter.filter(), args.filter.part());
            let load = inputs::options(&args.recording);
            print_part(&args.recording, load, &part, &filter, |out, it, part| {
                if let Some(nothing) = filter.code.without_match(&it.recording) {
                    inputs::report(&nothing);
                    return Ok(ExitCode::from(2));
                }
                let (recording, code) = (&it.recording, &filter.code);
                match args.format {
                    args::TableFormat::Json => lines::write_json(out, recording, code, part)?,
                    args::TableFormat::Csv => lines::write_csv(out, recording, code, part)?,
                }
                Ok(ExitCode::SUCCESS)
            })
        }
        Command::Memory(args) => print(&args.recording, |out, it| {
            memory(out, it, args, &terminal)?;
            Ok(ExitCode::SUCCESS)
        }),
        Command::Ledger(args) => print(&args.recording, |_, it| {
            let run = it.recording.run;
            let bytes = match loader::to_ledger_file(run, it.sources) {
                Ok(bytes) => bytes,
                Err(why) => {
                    inputs::report(&why);
                    return Ok(ExitCode::from(2));
                }
            };
            output::write(&args.output, &bytes, args.recording.paths(run))?;
            let ranks = match run.ranks.len() {
                1 => "1 rank".to_owned(),
                n => format!("{n} ranks"),
            };
            let size = metrics::numbers::bytes(bytes.len() as f64);
            inputs::report(&format!("wrote {}: {ranks}, {size}", args.output.display()));
            Ok(ExitCode::SUCCESS)
        }),
        Command::Ranks(args) => print(&args.recording, |out, it| {
            let between = args.between;
            if let Some(unknown) = ranks::unknown_rank(&it.recording, between) {
                inputs::report(&unknown);
                return Ok(ExitCode::from(2));
            }
            match args.format {
                args::RanksFormat::Text => {
                    let has_steps = args.steps;
                    ranks::write_text(out, &it.recording, args.top, between, has_steps, &terminal)?;
                }
                args::RanksFormat::Json => ranks::write_json(out, &it.recording, between)?,
                args::RanksFormat::Csv => ranks::write_csv(out, &it.recording)?,
            }
            Ok(ExitCode::SUCCESS)
        }),
        Command::Report(args) => {
            let (filter, part) = (args.filter.filter(), args.filter.part());
            if !part.is_empty() && args.limits.is_any() {
                return Err(Failure::NoLimits(part.text()));
            }
            let mut options = inputs::options(&args.recording);
            if args.html.is_some() && part.is_empty() {
                options = inputs::with_pictures(options);
            }
            print_part(&args.recording, options, &part, &filter, |out, it, part| {
                report(out, it, args, part, &terminal)
            })
        }
        Command::Export(args) => export::run(args),
        Command::Check(args) => check::run(args, &terminal),
        Command::Show(args) => {
            let (filter, part) = (args.filter.filter(), args.filter.part());
            let load = inputs::options(&args.recording);
            print_part(&args.recording, load, &part, &filter, |out, it, part| {
                let options = show::ShowOptions {
                    top: args.top,
                    rules: args.recording.settings.view.rules(),
                    code: filter.code.clone(),
                    part,
                };
                match show::build(&it.recording, &args.place, &options) {
                    Ok(shown) => match args.format {
                        args::OutputFormat::Text => show::write_text(out, &shown, &terminal)?,
                        args::OutputFormat::Json => show::write_json(out, &shown)?,
                    },
                    Err(unknown) => {
                        inputs::report(&unknown);
                        return Ok(ExitCode::from(2));
                    }
                }
                Ok(ExitCode::SUCCESS)
            })
        }
        Command::Ops(args) => {
            let mut options = inputs::options(&args.recording);
            options.stack_options.operator_sizes = args.sizes;
            let filter = args.filter.filter();
            print_stacks(&args.recording, options, &filter, |out, it| {
                let table = tables::operators(&it.recording, args.sort, args.sizes)?;
                print_table(out, &filter.noted_in(table, it.recording.run), &args.table, &terminal)
            })
        }
        Command::Kernels(args) => {
            let filter = args.filter.filter();
            let options = inputs::options(&args.recording);
            print_stacks(&args.recording, options, &filter, |out, it| {
                let is_whole = args.table.format == args::OutputFormat::Json;
                let table = tables::kernels(&it.recording, is_whole)?;
                print_table(out, &filter.noted_in(table, it.recording.run), &args.table, &terminal)
            })
        }
        Command::Modules(args) => print(&args.recording, |out, it| {
            if let Some(nothing) = tables::without_modules(&it.recording, &args.modules) {
                inputs::report(&nothing);
                return Ok(ExitCode::from(2));
            }
            let is_whole = args.all || args.table.format == args::OutputFormat::Json;
            let mut table = tables::modules(&it.recording, &args.modules, is_whole);
            table.filter = args.filter().json();
            print_table(out, &table, &args.table, &terminal)
        }),
        Command::Steps(args) => print(&args.recording, |out, it| {
            print_table(out, &tables::steps(&it.recording, args.sort), &args.table, &terminal)
        }),
        Command::Ranges(args) => {
            let timeline = TimelineChoice::First;
            let options = LoadOptions { timeline, ..inputs::options(&args.recording) };
            print_loaded(&args.recording, options, |out, it| {
                if !has_timeline(it.recording.run) {
                    return Ok(ExitCode::from(2));
                }
                print_table(out, &tables::ranges(&it.recording)?, &args.table, &terminal)
            })
        }
        Command::Comm(args) => print(&args.recording, |out, it| {
            print_table(out, &tables::communication(&it.recording), &args.table, &terminal)
        }),
        Command::Compile(args) => print(&args.recording, |out, it| {
            let is_whole = args.table.format == args::OutputFormat::Json;
            print_table(
                out,
                &tables::compiled(&it.recording, args.all || is_whole, is_whole),
                &args.table,
                &terminal,
            )
        }),
        Command::Hang(args) => hang::run(args, &terminal),
        Command::List(args) => list::run(args, &terminal),
        Command::Top(args) => top::run(args, &terminal),
        Command::View(args) => view::run(args),
        Command::Diff(args) => diff::run(args, &terminal),
        Command::Explain(args) => {
            let mut out = pager::stdout();
            match args.rule {
                Some(rule) => ::report::explain::write_page(&mut out, rule, &terminal)?,
                None => ::report::explain::write_list(&mut out, &terminal)?,
            }
            out.finish()?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Cache(args) => cache::run(args.action),
        Command::BugReport(args) => bug_report::run(args),
        Command::Record(args) => record::run(&args.arguments),
        Command::Completions(args) => Ok(command_help::completions(args.shell)?),
        Command::Man(args) => Ok(command_help::manual(args.command.as_deref())?),
        Command::Lsp(_) => {
            allocator::restart_with_one_arena();
            Ok(lsp::run_stdio())
        }
        Command::Mcp(args) => {
            allocator::restart_with_one_arena();
            let recording = args.recording();
            let settings = Arc::clone(&recording.settings);
            mcp::run_stdio(inputs::options(&recording), recording.inputs, settings)
                .map_err(Failure::Agents)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn report(
    out: &mut dyn Write,
    loaded: &CommandInput<'_>,
    args: &args::ReportArgs,
    part: Option<&RecordingPart>,
    terminal: &Terminal,
) -> io::Result<ExitCode> {
    let options = args.options();
    if let Some(nothing) = options.code.without_match(&loaded.recording) {
        inputs::report(&nothing);
        return Ok(ExitCode::from(2));
    }
    let mut report = ::report::build_shown(&loaded.recording, &options, part);
    if args.timing {
        report.sections.push(::report::timing(&loaded.timing));
    }
    if let Some(path) = &args.html {
        let run = loaded.recording.run;
        let data = html::PictureData::of_run(run, &options.code, part);
        let pictures = html::Pictures::of_file(&loaded.recording, &report.summary.title(), &data);
        save(path, html::page(&report, &pictures), &args.recording, run)?;
    }
    if let Some(unknown) = report.unknown_section(&args.sections) {
        inputs::report(&unknown);
        return Ok(ExitCode::from(2));
    }
    match args.format {
        args::OutputFormat::Text if args.all => text::write(out, &report, "--top", terminal)?,
        args::OutputFormat::Text if args.sections.is_empty() => {
            text::write_overview(out, &report, terminal)?;
        }
        args::OutputFormat::Text => text::write_sections(out, &report, &args.sections, terminal)?,
        args::OutputFormat::Json => json::write_report(out, &report, &args.sections)?,
    }
    for limit in &report.exceeded {
        inputs::report(limit);
    }
    Ok(if report.exceeded.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn memory(
    out: &mut dyn Write,
    loaded: &CommandInput<'_>,
    args: &args::MemoryArgs,
    terminal: &Terminal,
) -> io::Result<()> {
    let recording = &loaded.recording;
    if let Some(path) = &args.svg {
        save(path, html::memory_plot(&recording.run.merged), &args.recording, recording.run)?;
    }
    match args.format {
        args::OutputFormat::Text => {
            let rules = args.recording.settings.view.rules();
            memory::write_text(out, &memory::build(recording, args.top, &rules), terminal)
        }
        args::OutputFormat::Json => memory::write_json(out, recording),
    }
}

/// Writes a page or a picture to a file that is no input of the run.
fn save(
    path: &Path,
    page: Result<String, html::PlotError>,
    args: &args::RecordingArgs,
    run: &Run,
) -> io::Result<()> {
    let page = page.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
    output::write(path, &page, args.paths(run))
}
