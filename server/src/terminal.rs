//! What stdout can show.

use clap::ColorChoice;

pub(crate) use report::terminal::{Colours, Terminal};

/// What stdout is: colours as the command line says, else `NO_COLOR`, `CLICOLOR_FORCE` and `COLORTERM`; the width of a terminal.
pub(crate) fn of_stdout(color: ColorChoice) -> Terminal {
    let stdout = std::io::stdout();
    let is_coloured = match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never,
    };
    let colours = match is_coloured {
        false => Colours::Plain,
        true => match std::env::var("COLORTERM").as_deref() {
            Ok("truecolor" | "24bit") => Colours::True,
            _ => Colours::Palette,
        },
    };
    let width = terminal_size::terminal_size_of(&stdout).map(|(width, _)| usize::from(width.0));
    Terminal { colours, width }
}
