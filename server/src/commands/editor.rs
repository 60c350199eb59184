//! The user's editor.

use std::path::Path;
use std::process::Command;

/// Editors that take `-g FILE:LINE`; others take `+LINE FILE`. They have a window of their own.
const GO_TO: [&str; 5] = ["code", "code-insiders", "codium", "cursor", "windsurf"];

/// Editors that take `FILE:LINE`.
const WITH_LINE: [&str; 3] = ["hx", "subl", "zed"];

/// Further editors that have a window of their own.
const IN_WINDOW: [&str; 4] = ["subl", "zed", "gvim", "emacsclient"];

/// The editor that `VISUAL` or `EDITOR` names.
pub(super) struct Editor {
    words: Vec<String>,
}

impl Editor {
    /// The user's, else `default`.
    pub(super) fn of_user(default: &str) -> Self {
        let set = ["VISUAL", "EDITOR"].into_iter().filter_map(|it| std::env::var(it).ok());
        let mut set = set.filter(|it| !it.trim().is_empty());
        let command = set.next().unwrap_or_else(|| default.to_owned());
        Self { words: command.split_whitespace().map(str::to_owned).collect() }
    }

    /// What is run.
    pub(super) fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    fn name(&self) -> &str {
        let name = Path::new(self.program()).file_stem();
        name.and_then(|it| it.to_str()).unwrap_or_default()
    }

    /// Whether it needs no terminal.
    pub(super) fn has_window(&self) -> bool {
        GO_TO.contains(&self.name()) || IN_WINDOW.contains(&self.name())
    }

    /// What opens a line, counted from 1.
    pub(super) fn command(&self, path: &Path, line: u32) -> Command {
        let mut editor = Command::new(self.program());
        editor.args(self.words.iter().skip(1));
        let mut place = path.as_os_str().to_owned();
        place.push(format!(":{line}"));
        if GO_TO.contains(&self.name()) {
            editor.arg("-g").arg(place);
        } else if WITH_LINE.contains(&self.name()) {
            editor.arg(place);
        } else {
            editor.arg(format!("+{line}")).arg(path);
        }
        editor
    }
}
