//! What stdout can show.

pub(crate) use report::terminal::{Colours, Terminal};

/// What stdout is: colours as `NO_COLOR`, `CLICOLOR_FORCE` and `COLORTERM` say, the width of a terminal.
pub(crate) fn of_stdout() -> Terminal {
    let stdout = std::io::stdout();
    let colours = match anstream::AutoStream::choice(&stdout) {
        anstream::ColorChoice::Never => Colours::Plain,
        _ => match std::env::var("COLORTERM").as_deref() {
            Ok("truecolor" | "24bit") => Colours::True,
            _ => Colours::Palette,
        },
    };
    let width = terminal_size::terminal_size_of(&stdout).map(|(width, _)| usize::from(width.0));
    Terminal { colours, width }
}
