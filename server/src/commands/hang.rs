//! `perfline hang`: where the ranks of a job stood.

use std::path::PathBuf;
use std::process::ExitCode;

use report::hang;
use report::terminal::Terminal;

use crate::args::{HangArgs, OutputFormat};
use crate::failure::Failure;
use crate::{inputs, pager};

/// Reads the dumps and prints what they say together.
pub(super) fn run(args: &HangArgs, terminal: &Terminal) -> Result<ExitCode, Failure> {
    let here = [PathBuf::from(".")];
    let inputs = if args.inputs.is_empty() { &here[..] } else { &args.inputs };
    let found = loader::flight_dumps(inputs)?;
    for warning in &found.warnings {
        inputs::report(warning);
    }
    let dumps: Vec<_> = found.files.iter().map(|it| (it.rank, &it.dump)).collect();
    let groups = loader::diagnose(&dumps, &loader::looks_like_library);
    let mut out = pager::stdout();
    match args.format {
        OutputFormat::Text => hang::write_text(&mut out, &found.files, &groups, terminal)?,
        OutputFormat::Json => hang::write_json(&mut out, &found.files, &groups, &found.warnings)?,
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
