//! The standard output of commands whose text may be long: what does not fit the screen goes through the user's pager.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a pager is used, as the command line says: there is one standard output, and one command.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// Whether a pager has the terminal: Ctrl-C is for it then.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// What `less` does unless `LESS` says otherwise: it ends at once if the text fits the screen, passes colours on, and leaves the
/// text on the screen.
const LESS: &str = "FRX";

/// Lets [`stdout`] use a pager.
pub(crate) fn want() {
    IS_WANTED.store(true, Ordering::Relaxed);
}

/// Whether a pager has the terminal.
pub(crate) fn is_open() -> bool {
    IS_OPEN.load(Ordering::Relaxed)
}

/// The standard output, to which a command writes its text.
pub(crate) fn stdout() -> CommandOutput {
    let screen = terminal_size::terminal_size_of(io::stdout()).map(|(_, rows)| usize::from(rows.0));
    let pager = || {
        let is_on = IS_WANTED.load(Ordering::Relaxed) && io::stdout().is_terminal();
        if is_on { words(|name| std::env::var(name).ok()) } else { None }
    };
    match screen.and_then(|rows| Some((rows, pager()?))) {
        Some((rows, words)) => CommandOutput::Held { text: Vec::new(), rows, words },
        None => CommandOutput::Direct(BufWriter::new(io::stdout().lock())),
    }
}

/// The pager and its arguments, by the environment; `None` if there is to be none.
fn words(variable: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    if variable("TERM").is_some_and(|it| it == "dumb") {
        return None;
    }
    let command = variable("PERFLINE_PAGER").or_else(|| variable("PAGER"));
    let command = command.unwrap_or_else(|| "less".to_owned());
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let is_none = words.is_empty() || words == ["cat"];
    (!is_none).then_some(words)
}

/// Where the text of a command goes.
pub(crate) enum CommandOutput {
    /// To the standard output.
    Direct(BufWriter<StdoutLock<'static>>),
    /// To the screen of so many rows if it fits, else to a pager.
    Held { text: Vec<u8>, rows: usize, words: Vec<String> },
}

impl Write for CommandOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(out) => out.write(bytes),
            Self::Held { text, .. } => text.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(out) => out.flush(),
            Self::Held { .. } => Ok(()),
        }
    }
}

impl CommandOutput {
    /// Shows what was written, and waits until the user has seen it.
    ///
    /// # Errors
    /// If it cannot be written. A pager that is not there, or that is left before the end, is no error.
    pub(crate) fn finish(self) -> io::Result<()> {
        let (text, rows, words) = match self {
            Self::Direct(mut out) => return out.flush(),
            Self::Held { text, rows, words } => (text, rows, words),
        };
        // A row is for what the shell asks next.
        let is_long = rows <= text.iter().filter(|it| **it == b'\n').count();
        if is_long && page(&text, &words) {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        out.write_all(&text)?;
        out.flush()
    }
}

/// Shows a text in a pager; `false` if it cannot be started.
fn page(text: &[u8], words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let mut pager = Command::new(program);
    pager.args(arguments).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        pager.env("LESS", LESS);
    }
    IS_OPEN.store(true, Ordering::Relaxed);
    // Where nothing was loaded nobody has taken Ctrl-C yet.
    let _ = ctrlc::set_handler(|| {});
    let Ok(mut child) = pager.spawn() else {
        IS_OPEN.store(false, Ordering::Relaxed);
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // It may be left before it has read all.
        let _ = input.write_all(text);
    }
    let _ = child.wait();
    IS_OPEN.store(false, Ordering::Relaxed);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pager where the environment has these variables alone.
    fn pager_of(environment: &[&str]) -> Option<String> {
        let words = words(|name| {
            let value = |it: &&str| it.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
            environment.iter().find_map(value)
        });
        words.map(|it| it.join(" "))
    }

    #[test]
    fn the_pager_is_that_of_the_user() {
        assert_eq!(pager_of(&[]).as_deref(), Some("less"));
        assert_eq!(pager_of(&["PAGER=more -s"]).as_deref(), Some("more -s"));
        assert_eq!(pager_of(&["PAGER=more", "PERFLINE_PAGER=bat -p"]).as_deref(), Some("bat -p"));
        assert_eq!(pager_of(&["PAGER=cat", "PERFLINE_PAGER=less -S"]).as_deref(), Some("less -S"));
        assert_eq!(pager_of(&["PAGER=more", "PERFLINE_PAGER="]), None);
        assert_eq!(pager_of(&["PAGER=cat"]), None);
        assert_eq!(pager_of(&["PAGER= "]), None);
        assert_eq!(pager_of(&["PAGER=less", "TERM=dumb"]), None);
    }
}
