//! The `perfline` command.
//!
//! *Owns*: options, exit status, the progress bar, and what the commands print. Each command writes to a
//! `&mut dyn Write`, from a loaded [`loader::Run`].
//!
//! *Never*: attributes anything, words or formats a number for people (that is `ide`'s), speaks LSP (that is `lsp`'s).
//!
//! *The tests that say so*: beside each command, from a ledger built by hand to the text it prints; `tests/process.rs`
//! for what only a process shows.

mod args;
mod commands;
mod findings;
mod inputs;
mod json;
mod numbers;
mod output;
mod sources;
mod summary;
mod suppression;
mod table;
mod terminal;
#[cfg(test)]
mod testing;

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;
use loader::{Run, SourceFolders, Timing};

use args::{Cli, Command, Recording};
use commands::Failure;
use terminal::Terminal;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli.command) {
        Ok(code) => code,
        // The reader of our output has seen enough, as `head` does.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            inputs::tell(&failure.to_string());
            failure.exit_code()
        }
    }
}

fn run(command: &Command) -> Result<ExitCode, Failure> {
    let terminal = Terminal::of_stdout();
    match command {
        Command::Annotate(args) => print(&args.recording, |out, run, sources, _| {
            commands::annotate::write(out, run, args, sources, &terminal)?;
            Ok(ExitCode::SUCCESS)
        }),
        Command::Lines(args) => print(&args.recording, |out, run, _, _| {
            commands::lines::write(out, run, args)?;
            Ok(ExitCode::SUCCESS)
        }),
        Command::Memory(args) => print(&args.recording, |out, run, sources, _| {
            commands::memory::write(out, run, args, sources, &terminal)?;
            Ok(ExitCode::SUCCESS)
        }),
        Command::Report(args) => print(&args.recording, |out, run, sources, timing| {
            let exceeded = commands::report::write(out, run, args, sources, &terminal)?;
            if args.timing {
                commands::timing::write(out, timing, &terminal)?;
            }
            for limit in &exceeded {
                inputs::tell(limit);
            }
            Ok(if exceeded.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }),
        Command::Explain(args) => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            match args.rule {
                Some(rule) => commands::explain::write_page(&mut out, rule, &terminal)?,
                None => commands::explain::write_list(&mut out, &terminal)?,
            }
            out.flush()?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Record(args) => commands::record::run(&args.arguments),
        Command::Lsp(_) => Ok(lsp::run_stdio()),
    }
}

/// Loads a recording and prints what `write` makes of it.
fn print(
    recording: &Recording,
    write: impl FnOnce(&mut dyn Write, &Run, &SourceFolders, &Timing) -> std::io::Result<ExitCode>,
) -> Result<ExitCode, Failure> {
    let (run, timing) = inputs::load(recording)?;
    let sources = loader::source_folders(&inputs::options(recording));
    let mut out = BufWriter::new(std::io::stdout().lock());
    let code = write(&mut out, &run, &sources, &timing)?;
    out.flush()?;
    // Numbers that lack an input are printed, but never taken for whole.
    Ok(if run.failures.is_empty() { code } else { ExitCode::from(2) })
}
