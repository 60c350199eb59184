//! Which lines a limit is of: `train.py`, `train.py:41`, `train.py:Trainer.step`, `models/*.py`.

use globset::{GlobBuilder, GlobMatcher};

/// Lines of code.
#[derive(Debug, Clone)]
pub struct CodePlace {
    /// As it was given.
    pub text: String,
    files: GlobMatcher,
    /// Which lines of the files.
    pub part: CodePart,
}

/// Which lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodePart {
    /// All.
    File,
    /// This one, from 1.
    Line(u32),
    /// Those of the function of this qualified name.
    Function(String),
}

impl CodePlace {
    /// What `text` names; what is wrong with it otherwise.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (files, part) = match text.rsplit_once(':') {
            // The name of a cell of a notebook has a colon.
            Some((_, part)) if part.starts_with("cell ") => (text, CodePart::File),
            Some((files, part)) if part.bytes().all(|it| it.is_ascii_digit()) => {
                let line = part.parse().ok().filter(|it| *it != 0);
                let line = line
                    .ok_or_else(|| format!("`{text}` does not name a line, as in train.py:41"))?;
                (files, CodePart::Line(line))
            }
            Some((files, function)) => (files, CodePart::Function(function.to_owned())),
            None => (text, CodePart::File),
        };
        let files = GlobBuilder::new(files)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("`{files}` is no pattern of files: {}", error.kind()))?;
        Ok(Self { text: text.to_owned(), files: files.compile_matcher(), part })
    }

    /// Whether it names a file, by what the file is called in output.
    #[must_use]
    pub fn is_in(&self, file: &str) -> bool {
        self.files.is_match(file)
    }

    /// Whether it names a line of a file that [`Self::is_in`] accepts.
    #[must_use]
    pub fn covers(&self, line: u32, function: &str) -> bool {
        match &self.part {
            CodePart::File => true,
            CodePart::Line(it) => *it == line,
            CodePart::Function(it) => it == function,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lines_functions_and_patterns_are_distinguished() {
        let covers = |text: &str, file: &str, line, function: &str| {
            let place = CodePlace::parse(text).unwrap();
            place.is_in(file) && place.covers(line, function)
        };
        assert!(covers("train.py", "train.py", 3, "step"));
        assert!(!covers("train.py", "src/train.py", 3, "step"));
        assert!(covers("src/train.py:3", "src/train.py", 3, "step"));
        assert!(!covers("src/train.py:3", "src/train.py", 30, "step"));
        assert!(covers("train.py:Net.forward", "train.py", 3, "Net.forward"));
        assert!(!covers("train.py:forward", "train.py", 3, "Net.forward"));
        assert!(covers("models/*.py", "models/a.py", 3, ""));
        assert!(!covers("models/*.py", "models/deep/a.py", 3, ""));
        assert!(covers("models/**", "models/deep/a.py", 3, ""));
        assert!(covers("run.ipynb:cell 4", "run.ipynb:cell 4", 3, ""));
        assert!(covers("run.ipynb:cell 4:2", "run.ipynb:cell 4", 2, ""));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        let error = CodePlace::parse("train.py:0").unwrap_err();
        assert_eq!(error, "`train.py:0` does not name a line, as in train.py:41");
        let error = CodePlace::parse("models/[a.py").unwrap_err();
        assert!(error.starts_with("`models/[a.py` is no pattern of files: "), "{error}");
    }
}
