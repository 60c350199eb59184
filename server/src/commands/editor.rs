//! The user's editor.

use std::path::Path;
use std::process::Command;

/// How an editor takes a line.
enum LineForm {
    /// `-g FILE:LINE`
    GoTo,
    /// `FILE:LINE`
    Place,
    /// `+LINE FILE`, as vi and most others.
    Line,
}

/// Editors of which more is known: how they take a line, and whether they have a window of their own.
const EDITORS: [(&str, LineForm, bool); 10] = [
    ("code", LineForm::GoTo, true),
    ("code-insiders", LineForm::GoTo, true),
    ("codium", LineForm::GoTo, true),
    ("cursor", LineForm::GoTo, true),
    ("windsurf", LineForm::GoTo, true),
    ("subl", LineForm::Place, true),
    ("zed", LineForm::Place, true),
    ("hx", LineForm::Place, false),
    ("gvim", LineForm::Line, true),
    ("emacsclient", LineForm::Line, true),
];

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

    /// How it takes a line, and whether it needs no terminal.
    fn known(&self) -> (&'static LineForm, bool) {
        let name = Path::new(self.program()).file_stem();
        let known = EDITORS.iter().find(|it| name.is_some_and(|name| name == it.0));
        known.map_or((&LineForm::Line, false), |(_, form, has_window)| (form, *has_window))
    }

    /// Whether it needs no terminal.
    pub(super) fn has_window(&self) -> bool {
        self.known().1
    }

    /// What opens a line, counted from 1.
    pub(super) fn command(&self, path: &Path, line: u32) -> Command {
        let mut editor = Command::new(self.program());
        editor.args(self.words.iter().skip(1));
        let mut place = path.as_os_str().to_owned();
        place.push(format!(":{line}"));
        match self.known().0 {
            LineForm::GoTo => editor.arg("-g").arg(place),
            LineForm::Place => editor.arg(place),
            LineForm::Line => editor.arg(format!("+{line}")).arg(path),
        };
        editor
    }
}
