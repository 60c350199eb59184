//! `perfline top`: the terminal, its keys, and the user's editor.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, ExitCode};

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use top_screen::{Outcome, Screen, draw};

use super::opened::OpenedRecording;
use crate::args::TopArgs;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Editors that take `-g FILE:LINE`; others take `+LINE FILE`.
const GO_TO: [&str; 5] = ["code", "code-insiders", "codium", "cursor", "windsurf"];

/// Editors that take `FILE:LINE`.
const WITH_LINE: [&str; 3] = ["hx", "subl", "zed"];

/// Shows a recording until the user ends it.
///
/// # Errors
/// If the standard input or output is no terminal, nothing was found, or nothing could be read.
pub(super) fn run(args: &TopArgs, terminal: &Terminal) -> Result<ExitCode, Failure> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(Failure::NoTerminal);
    }
    let opened = OpenedRecording::load(args.recording.clone())?;
    let recording = opened.recording();
    let mut screen = Screen::new(&recording, terminal.colours);
    let mut window = ratatui::try_init()?;
    let shown = show(&mut screen, &mut window);
    let restored = ratatui::try_restore();
    shown.and(restored)?;
    opened.keep();
    Ok(ExitCode::SUCCESS)
}

/// Draws the screen and passes keys on to it.
fn show(screen: &mut Screen<'_>, window: &mut ratatui::DefaultTerminal) -> io::Result<()> {
    let mut message = None;
    loop {
        window.draw(|frame| draw(screen, frame, message.as_deref()))?;
        let key = match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => key,
            _ => continue,
        };
        message = None;
        match screen.press(key) {
            Outcome::Draw => {}
            Outcome::Quit => return Ok(()),
            Outcome::Edit(file) => {
                ratatui::try_restore()?;
                message = edit(&file.path, file.line);
                *window = ratatui::try_init()?;
                window.clear()?;
            }
        }
    }
}

/// Opens a file in the user's editor and waits until it ends. Says why it could not.
fn edit(path: &Path, line: u32) -> Option<String> {
    let set = ["VISUAL", "EDITOR"].into_iter().find_map(|it| std::env::var(it).ok());
    let command = set.filter(|it| !it.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
    let mut words = command.split_whitespace();
    let program = words.next()?;
    let mut editor = Command::new(program);
    editor.args(words);
    let name = Path::new(program).file_stem().and_then(|it| it.to_str()).unwrap_or_default();
    let mut place = path.as_os_str().to_owned();
    place.push(format!(":{line}"));
    if GO_TO.contains(&name) {
        editor.arg("-g").arg(place);
    } else if WITH_LINE.contains(&name) {
        editor.arg(place);
    } else {
        editor.arg(format!("+{line}")).arg(path);
    }
    match editor.status() {
        Ok(_) => None,
        Err(error) => {
            Some(format!("{program}: {error}; set EDITOR to an editor that is installed"))
        }
    }
}
