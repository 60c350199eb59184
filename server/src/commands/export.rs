//! `perfline export`: stacks, tables and a timeline for other programs.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use ::report::export::ExportOptions;
use ::report::{DataOptions, DataTable, RecordingPart, export};
use loader::TimelineChoice;

use super::loaded::{CommandInput, has_timeline, print_part, print_stacks};
use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::{inputs, output};

/// Writes what was asked for to a file or to the standard output.
pub(super) fn run(args: &ExportArgs) -> Result<ExitCode, Failure> {
    let name = args.format.name();
    if args.output.is_none() && !args.format.is_text() && io::stdout().is_terminal() {
        return Err(Failure::Binary(name));
    }
    if !args.tables.is_empty() && !args.format.has_tables() {
        return Err(Failure::NoTables(name));
    }
    if 1 < args.tables.len() && !args.format.can_follow() {
        return Err(Failure::OneTable(name));
    }
    let filter = args.filter.filter();
    let mut options = inputs::options(&args.recording);
    if args.format.needs_timeline() {
        if !filter.is_empty() {
            return Err(Failure::NoFilter(name, filter.text()));
        }
        options.timeline = TimelineChoice::First;
        return print_stacks(&args.recording, options, &filter, |out, it| {
            if !has_timeline(it.recording.run) {
                return Ok(ExitCode::from(2));
            }
            write(out, it, args, None)
        });
    }
    let (of_stacks, of_ledger): (Vec<DataTable>, Vec<DataTable>) =
        args.tables().iter().partition(|it| it.needs_stacks());
    let part = filter.part();
    if let Some(whole) = of_ledger.iter().find(|it| !it.has_parts())
        && !filter.is_empty()
    {
        return Err(Failure::WholeTable(whole.name(), filter.text()));
    }
    if let ([one, ..], [other, ..], false) = (&of_stacks[..], &of_ledger[..], part.is_empty()) {
        return Err(Failure::OtherPart(one.name(), other.name(), part.text()));
    }
    if !of_stacks.is_empty() {
        return print_stacks(&args.recording, options, &filter, |out, it| {
            write(out, it, args, None)
        });
    }
    print_part(&args.recording, options, &part, &filter, |out, it, part| {
        if let Some(nothing) = filter.code.without_match(&it.recording) {
            inputs::report(&nothing);
            return Ok(ExitCode::from(2));
        }
        write(out, it, args, part)
    })
}

fn write(
    out: &mut dyn Write,
    it: &CommandInput<'_>,
    args: &ExportArgs,
    part: Option<&RecordingPart>,
) -> io::Result<ExitCode> {
    let recording = &it.recording;
    let (code, rules) = (args.filter.code.filter(), args.recording.settings.view.rules());
    let options = ExportOptions {
        format: args.format,
        metric: args.metric,
        all: args.all,
        tables: args.tables(),
        data: DataOptions { code: &code, rules: &rules, part },
    };
    let Some(path) = &args.output else {
        export::write(out, recording, options)?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut bytes = Vec::new();
    let written = export::write(&mut bytes, recording, options)?;
    output::write(path, &bytes, args.recording.paths(recording.run))?;
    let (path, size) = (path.display(), metrics::numbers::bytes(bytes.len() as f64));
    inputs::report(&format!("wrote {path}: {written}, {size}"));
    Ok(ExitCode::SUCCESS)
}
