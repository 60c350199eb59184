//! `--watch`: a command runs again whenever what it reads has changed.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use loader::Signature;

use crate::args::{Command, WatchedFiles};
use crate::failure::Failure;
use crate::inputs;

/// How long to wait until files are looked at again. What changed must then stay the same for as long: it may still be written.
const POLL: Duration = Duration::from_millis(500);

/// Looking for files takes this part of the time at most: a folder of a hundred thousand files is not walked for ever.
const SEARCH_SHARE: u32 = 20;

/// Clears the screen and what was above it.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J\u{1b}[3J";

/// Runs `command` by `once` now and after each change of `files`, until Ctrl-C. What goes wrong is shown, because a file may be
/// half-written or replaced.
///
/// # Errors
/// After Ctrl-C while a recording is read, if the output cannot be written, or for the standard input.
pub(super) fn run(
    command: &Command,
    files: &WatchedFiles,
    once: impl Fn(Command) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    if files.inputs.iter().any(|it| it == Path::new(loader::STANDARD_INPUT)) {
        return Err(Failure::WatchedInput);
    }
    if let Some(url) = files.inputs.iter().find(|it| loader::is_url(it)) {
        return Err(Failure::WatchedUrl(url.clone()));
    }
    loop {
        if io::stdout().is_terminal() {
            io::stdout().write_all(CLEAR.as_bytes())?;
            io::stdout().flush()?;
        }
        // What changes while the command runs makes it run again.
        let were = signature(files);
        match once(command.clone()) {
            Err(failure @ (Failure::Load(loader::Error::Cancelled) | Failure::Output(_))) => {
                return Err(failure);
            }
            Err(failure) => inputs::report(&failure.to_string()),
            Ok(_) => {}
        }
        wait(files, &were);
    }
}

/// What the files look like now. Touches the disk.
fn signature(files: &WatchedFiles) -> Signature {
    let mut paths = Vec::new();
    for input in &files.inputs {
        if input.is_dir() {
            // A comparison takes two.
            paths.extend(loader::discover(input).into_iter().take(2).flat_map(|it| it.inputs));
        } else {
            paths.push(input.clone());
        }
    }
    for root in &files.roots {
        paths.extend(loader::sources_below(root));
        paths.push(root.join(loader::PROJECT_FILE));
    }
    Signature::of(&paths)
}

/// Comes back when the files are no more as they were and do not change any more.
fn wait(files: &WatchedFiles, were: &Signature) {
    let mut last = None;
    loop {
        let began = Instant::now();
        let now = signature(files);
        if now != *were && last.as_ref() == Some(&now) {
            return;
        }
        std::thread::sleep(POLL.max(began.elapsed() * SEARCH_SHARE));
        last = Some(now);
    }
}
