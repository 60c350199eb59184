//! `perfline diff`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::report::{Recording, diff, html};

use crate::args::{DiffArgs, DiffFormat, RecordingArgs};
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::{inputs, output};

/// Compares two recordings.
///
/// # Errors
/// If one of them cannot be loaded or the output cannot be written.
pub(crate) fn run(args: &DiffArgs, terminal: &Terminal) -> Result<ExitCode, Failure> {
    let [base, new] = match (&args.base, &args.new) {
        (Some(base), Some(new)) => [vec![base.clone()], vec![new.clone()]],
        _ => newest_two()?,
    };
    let base = args.recording(base, args.base_root.as_ref().unwrap_or(&args.root));
    let new = args.recording(new, &args.root);
    let options = [&base, &new].map(inputs::options);
    let loaded = [inputs::load(&base, &options[0])?.0, inputs::load(&new, &options[1])?.0];
    let sources = options.each_ref().map(loader::source_folders);
    let recording = |side: usize, args: &RecordingArgs| {
        let run = &loaded[side];
        let names = loader::display_names(&run.merged, &args.root);
        Recording { run, names, sources: &sources[side] }
    };
    let found = diff::build(&recording(0, &base), &recording(1, &new), args.top);
    if let Some(path) = &args.html {
        let page = html::page(&found.report)
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        let read = base.paths(&loaded[0]).chain(new.paths(&loaded[1]));
        output::write(path, &page, read)?;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match args.format {
        DiffFormat::Text => diff::write_text(&mut out, &found, terminal)?,
        DiffFormat::Markdown => diff::write_markdown(&mut out, &found)?,
        DiffFormat::Json => diff::write_json(&mut out, &found)?,
    }
    out.flush()?;
    for cache in options.iter().filter_map(|it| it.ledger_cache.as_ref()) {
        cache.write_pending();
    }
    // Numbers that lack an input are printed, but never taken for whole.
    let is_whole = loaded.iter().all(|it| it.failures.is_empty());
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// The recording before the newest below the current folder, and the newest.
fn newest_two() -> Result<[Vec<PathBuf>; 2], Failure> {
    let mut found = loader::discover(Path::new(".")).into_iter();
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
