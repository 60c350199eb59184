//! `perfline completions`, `perfline man`: what the definition of the options says, for shells and as manual pages.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Cli;
use crate::inputs;

/// Prints a script that completes commands and options in `shell`.
///
/// # Errors
/// If the output cannot be written.
pub(super) fn completions(shell: Shell) -> io::Result<ExitCode> {
    // The generator takes a closed pipe for a fault of the program.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "perfline", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page of a command, or that of the program.
///
/// # Errors
/// If the output cannot be written.
pub(super) fn manual(name: Option<&str>) -> io::Result<ExitCode> {
    let mut program = Cli::command();
    program.build();
    let page = match name {
        None => Some(&program),
        Some(name) => program.find_subcommand(name),
    };
    let Some(page) = page else {
        let known: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
        let name = name.unwrap_or_default();
        inputs::report(&format!("there is no command {name}; there are: {}", known.join(", ")));
        return Ok(ExitCode::from(2));
    };
    let version = concat!("perfline ", env!("CARGO_PKG_VERSION"));
    Man::new(page.clone()).source(version).render(&mut io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
