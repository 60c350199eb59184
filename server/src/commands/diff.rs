//! `perfline diff`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::report::{Chart, diff, html};
use loader::{LoadOptions, StackChoice};

use super::opened::OpenedRecording;
use crate::args::{DiffArgs, DiffFormat};
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::{inputs, output, pager};

/// Compares two recordings.
///
/// # Errors
/// If one of them cannot be loaded or the output cannot be written.
pub(crate) fn run(args: &DiffArgs, terminal: &Terminal) -> Result<ExitCode, Failure> {
    let [base, new] = match (&args.base, &args.new) {
        (Some(base), Some(new)) => [vec![base.clone()], vec![new.clone()]],
        _ => newest_two(args)?,
    };
    let base = args.recording(base, args.base_root.as_ref().unwrap_or(&args.root));
    let stacks = if args.html.is_some() { StackChoice::WherePossible } else { StackChoice::No };
    let filter = args.filter();
    let [base, new] = [base, args.recording(new, &args.root)].map(|it| {
        let options = LoadOptions { stacks, ..inputs::options(&it) };
        OpenedRecording::load_part(&it, options, &filter, &filter)
    });
    let (Some((base, base_part)), Some((new, new_part))) = (base?, new?) else {
        return Ok(ExitCode::from(2));
    };
    let rules = args.settings.view.rules();
    let recordings = [base.recording(), new.recording()];
    let mut found = diff::build(&recordings[0], &recordings[1], args.top, &rules);
    found.name_parts([base_part, new_part]);
    if let Some(path) = &args.html {
        let pairs = diff::source_pairs(recordings.each_ref(), &found);
        found.report.charts.push(Chart::Sources(pairs));
        let page = html::page(
            &found.report,
            &html::Pictures::of_comparison(recordings.each_ref(), &found),
        )
        .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        output::write(path, &page, base.paths().chain(new.paths()))?;
    }
    let mut out = pager::stdout();
    match args.format {
        DiffFormat::Text => diff::write_text(&mut out, &found, terminal)?,
        DiffFormat::Markdown => diff::write_markdown(&mut out, &found)?,
        DiffFormat::Json => diff::write_json(&mut out, &found)?,
    }
    out.finish()?;
    base.keep();
    new.keep();
    // Numbers that lack an input are printed, but never taken for whole.
    let is_whole = base.is_whole() && new.is_whole();
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// The recording before the newest below the current folder, and the newest.
fn newest_two(args: &DiffArgs) -> Result<[Vec<PathBuf>; 2], Failure> {
    let mut found = inputs::discover(Path::new("."), &args.root, &args.settings)?.into_iter();
    match (found.next(), found.next()) {
        (Some(newest), Some(before)) => {
            let named =
                |it: &[PathBuf]| it.first().map(|it| it.display().to_string()).unwrap_or_default();
            inputs::report(&format!(
                "comparing {} with {}",
                named(&newest.inputs),
                named(&before.inputs)
            ));
            Ok([before.inputs, newest.inputs])
        }
        _ => Err(Failure::OneRecording),
    }
}
