//! `perfline top`: the terminal, its keys, and the user's editor.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use top_screen::{Outcome, Screen, ScreenFilter, draw};

use super::editor::Editor;
use super::opened::OpenedRecording;
use crate::args::TopArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::terminal::Terminal;

/// Shows a recording until the user ends it.
///
/// # Errors
/// If the standard input or output is no terminal, nothing was found, or nothing could be read.
pub(super) fn run(args: &TopArgs, terminal: &Terminal) -> Result<ExitCode, Failure> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(Failure::NoTerminal);
    }
    let (filter, part) = (args.filter.filter(), args.filter.part());
    let options = inputs::options(&args.recording);
    let opened = OpenedRecording::load_part(&args.recording, options, &part, &filter)?;
    let Some((opened, part)) = opened else { return Ok(ExitCode::from(2)) };
    let recording = opened.recording();
    let shown = ScreenFilter { code: &filter.code, part: part.as_ref() };
    let view = args.recording.settings.view.clone();
    let mut screen = Screen::new(&recording, shown, terminal.colours, view);
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
    let editor = Editor::of_user("vi");
    match editor.command(path, line).status() {
        Ok(_) => None,
        Err(error) => {
            let program = editor.program();
            Some(format!("{program}: {error}; set EDITOR to an editor that is installed"))
        }
    }
}
