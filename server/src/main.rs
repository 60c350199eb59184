//! The `perfline` command.
//!
//! *Owns*: options, exit status, the progress bar, what the terminal can show, and files that are written where the user
//! says. Each command writes to a `&mut dyn Write`, from a loaded [`loader::Run`].
//!
//! *Never*: computes, words or formats what a recording says (that is `report`'s), speaks LSP (that is `lsp`'s).
//!
//! *The tests that say so*: `tests/process.rs` for what only a process shows, `tests/untrusted.rs` for recordings from
//! strangers.

mod allocator;
mod args;
mod commands;
mod failure;
mod inputs;
mod output;
mod pager;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use failure::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match commands::run(cli) {
        Ok(code) => code,
        // The reader of our output has seen enough, as `head` does.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            inputs::report(&failure.to_string());
            failure.exit_code()
        }
    }
}
