//! From a name to the lines that it stands for.

use std::path::Path;

use ledger::{Ledger, LineBooks, LineKey};

use crate::filter::CodeFilter;
use crate::recording::Recording;

/// What a name stands for.
pub(super) enum Found<'a> {
    /// A line, or the lines of a function.
    Lines {
        /// The function, where it is not one line.
        function: Option<&'a str>,
        lines: Vec<(&'a LineKey, &'a LineBooks)>,
    },
    /// Kernels, copies and fills whose names contain this one.
    Launched { name: &'a str, lines: Vec<(&'a LineKey, &'a LineBooks)> },
    /// An operator.
    Operator { name: &'a str, lines: Vec<(&'a LineKey, &'a LineBooks)> },
}

impl<'a> Found<'a> {
    /// A line before a function, before an operator, before a kernel, of those that pass `code` in a ledger of the recording.
    pub(super) fn by_name(
        recording: &'a Recording<'_>,
        ledger: &'a Ledger,
        name: &'a str,
        code: &CodeFilter,
    ) -> Result<Self, String> {
        let passes =
            |key: &LineKey, it: &LineBooks| code.passes(recording.file(&key.file), &it.function);
        if let Some((file, line)) = name.rsplit_once(':')
            && let Ok(line) = line.parse::<u32>()
        {
            let found = Self::line(recording, ledger, file, line)?;
            let is_wanted = found.lines().iter().any(|(key, it)| passes(key, it));
            return is_wanted
                .then_some(found)
                .ok_or_else(|| format!("{name} does not pass {}", code.text()));
        }
        let lines_where = |is_wanted: &dyn Fn(&LineBooks) -> bool| {
            let lines = ledger.lines_with_books().filter(|(_, books)| is_wanted(books));
            lines.filter(|(key, it)| passes(key, it)).collect::<Vec<_>>()
        };
        let is_function = |books: &LineBooks| {
            // `forward` is any `forward`, `Model.forward` that of `Model`.
            let rest = books.function.strip_suffix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let lines = lines_where(&is_function);
        if !lines.is_empty() {
            return Ok(Self::Lines { function: Some(name), lines });
        }
        let lines = lines_where(&|books| books.operators.contains_key(name));
        if !lines.is_empty() {
            return Ok(Self::Operator { name, lines });
        }
        let lines =
            lines_where(&|books| books.kernel_table.keys().any(|it| it.name.contains(name)));
        if !lines.is_empty() {
            return Ok(Self::Launched { name, lines });
        }
        if !code.is_empty() && Self::by_name(recording, ledger, name, CodeFilter::ALL).is_ok() {
            return Err(format!("nothing that is called `{name}` passes {}", code.text()));
        }
        Err(format!(
            "nothing that was recorded is called `{name}`; name a line (train.py:41), a function (Model.forward), an operator that \
             Python calls (aten::linear) or a part of the name of a kernel; perfline lines, ops and kernels list them, and ops \
             operators within others, too"
        ))
    }

    fn line(
        recording: &Recording<'_>,
        ledger: &'a Ledger,
        file: &str,
        line: u32,
    ) -> Result<Self, String> {
        let is_file = |key: &str| {
            let shown = recording.file(key);
            shown == file || shown.strip_suffix(file).is_some_and(|it| it.ends_with('/'))
        };
        let in_cell = Self::line_in_cells(recording, ledger, line, |shown| {
            pysource::split_text_cell_path(Path::new(shown))
                .is_some_and(|(text, _)| text.ends_with(file))
        });
        if !in_cell.is_empty() {
            return Ok(Self::Lines { function: None, lines: in_cell });
        }
        let of_file: Vec<_> =
            ledger.lines_with_books().filter(|(key, _)| is_file(&key.file)).collect();
        let lines: Vec<_> = of_file.iter().filter(|(key, _)| key.line == line).copied().collect();
        if !lines.is_empty() {
            return Ok(Self::Lines { function: None, lines });
        }
        if of_file.is_empty() {
            return Err(format!(
                "nothing was recorded of a file `{file}`; perfline lines lists the files that there are"
            ));
        }
        let distance = |key: &LineKey| key.line.abs_diff(line);
        let nearest = of_file.iter().min_by_key(|(key, _)| distance(key));
        let nearest = nearest.map(|(key, _)| recording.place(key).to_string()).unwrap_or_default();
        Err(format!(
            "nothing was recorded on line {line} of `{file}`; the nearest line is {nearest}"
        ))
    }

    /// What was recorded on a line of a text, in the cells of it that `is_cell` knows by what they are called.
    fn line_in_cells(
        recording: &Recording<'_>,
        ledger: &'a Ledger,
        line: u32,
        is_cell: impl Fn(&str) -> bool,
    ) -> Vec<(&'a LineKey, &'a LineBooks)> {
        let files = ledger.files.keys().filter(|key| is_cell(recording.file(key)));
        let found = files.filter_map(|key| {
            let line = recording.present(key)?.map?.recorded(line)?;
            let found = ledger.lines.get_key_value(&LineKey { file: key.clone(), line });
            found.map(|(key, books)| (key, &**books))
        });
        found.collect()
    }

    pub(super) fn lines(&self) -> &[(&'a LineKey, &'a LineBooks)] {
        match self {
            Self::Lines { lines, .. }
            | Self::Launched { lines, .. }
            | Self::Operator { lines, .. } => lines,
        }
    }

    /// Whether the findings of a line belong to it: not those of all that runs the same operator.
    pub(super) fn has_line(&self, line: &LineKey) -> bool {
        matches!(self, Self::Lines { .. }) && self.lines().iter().any(|(key, _)| *key == line)
    }

    /// What it is.
    pub(super) fn title(&self, recording: &Recording<'_>) -> String {
        match self {
            Self::Lines { function: None, lines } => {
                let places = lines.iter().map(|(key, books)| {
                    let place = recording.place(key);
                    format!("{place} · {} · {}", books.function, books.evidence.name())
                });
                places.collect::<Vec<_>>().join(", ")
            }
            Self::Lines { function: Some(name), lines } => match lines.len() {
                1 => format!("function {name} · 1 line"),
                n => format!("function {name} · {n} lines"),
            },
            Self::Launched { name, .. } => format!("kernels with {name} in their names"),
            Self::Operator { name, .. } => format!("operator {name}"),
        }
    }

    /// The text of the line.
    pub(super) fn text(&self, recording: &Recording<'_>) -> Option<String> {
        let Self::Lines { function: None, lines } = self else { return None };
        let (key, _) = lines.first()?;
        recording.statement(key)
    }
}
