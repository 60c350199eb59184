//! The source around the chosen line, and what is known of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ide::{HotLine, View};
use pysource::Carried;
use report::show::ShowOptions;
use report::terminal::{Colours, Terminal, clean};
use report::{CodeFilter, Recording};

use crate::screen_filter::ScreenFilter;

/// Rows of each table of the details.
const TOP: usize = 10;

/// A file to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFile {
    /// Where it is.
    pub path: PathBuf,
    /// From 1, in the file as it is now.
    pub line: u32,
}

/// A line of the source.
pub(crate) struct SourceLine {
    pub(crate) text: String,
    /// What it costs, and whether it was changed since the recording.
    pub(crate) cost: Option<(HotLine, bool)>,
}

/// The chosen line.
pub(crate) struct ChosenLine {
    /// Key of the file in the ledger.
    file: String,
    /// What is shown of the file.
    view: View,
    /// What the file is called.
    pub(crate) name: String,
    path: Option<PathBuf>,
    /// The file as it is now, or as it ran; empty where no text is known.
    pub(crate) source: Vec<SourceLine>,
    /// From 0, in `source`; `None` where the line is gone or no text is known.
    pub(crate) at: Option<usize>,
    place: String,
    /// What is known of the line, as wide as was last asked for.
    details: Option<(usize, Vec<String>)>,
}

impl ChosenLine {
    /// The line `line` of `file`, which is a key of the ledger. What was read of the file for `before` is taken from it.
    pub(crate) fn new(
        recording: &Recording<'_>,
        shown: &ScreenFilter<'_>,
        view: &View,
        before: Option<Self>,
        file: String,
        line: u32,
    ) -> Self {
        let name = recording.file(&file).to_owned();
        let place = format!("{name}:{line}");
        let present = recording.present(&file);
        let now = |line| match present.as_ref().and_then(|it| it.map.as_ref()) {
            Some(map) => map.current(line),
            None => Some(Carried { line, is_edited: false }),
        };
        let source = match before.filter(|it| it.file == file && it.view == *view) {
            Some(before) => before.source,
            None => {
                let ledger = &recording.run.merged;
                let costs = ide::hot_lines(ledger, view, usize::MAX, false, |it, line| {
                    it == file && shown.passes(recording, it, line)
                });
                let costs = costs.into_iter().filter_map(|it| {
                    let at = now(it.line)?;
                    Some((at.line, (it, at.is_edited)))
                });
                let mut costs: BTreeMap<u32, (HotLine, bool)> = costs.collect();
                let lines = present.as_ref().map(|it| it.text.lines()).into_iter().flatten();
                let line = |(number, text): (u32, &str)| SourceLine {
                    text: clean(text),
                    cost: costs.remove(&number),
                };
                (1..).zip(lines).map(line).collect()
            }
        };
        let at = now(line).and_then(|it| usize::try_from(it.line).ok()?.checked_sub(1));
        let at = at.filter(|it| *it < source.len());
        let path = recording.run.merged.files.get(&file).and_then(|it| it.path.clone());
        Self { file, view: view.clone(), name, path, source, at, place, details: None }
    }

    /// The file of the line, if it is there.
    pub(crate) fn file(&self) -> Option<OpenFile> {
        let line = u32::try_from(self.at? + 1).ok()?;
        Some(OpenFile { path: self.path.clone()?, line })
    }

    /// What is known of the line, in lines of at most `width` columns.
    pub(crate) fn details(
        &mut self,
        recording: &Recording<'_>,
        shown: &ScreenFilter<'_>,
        width: usize,
    ) -> &[String] {
        if self.details.as_ref().is_none_or(|(of, _)| *of != width) {
            self.details = Some((width, details(recording, shown, &self.place, &self.view, width)));
        }
        self.details.as_ref().map_or(&[], |(_, lines)| lines)
    }
}

fn details(
    recording: &Recording<'_>,
    shown: &ScreenFilter<'_>,
    place: &str,
    view: &View,
    width: usize,
) -> Vec<String> {
    let terminal = Terminal { colours: Colours::Plain, width: Some(width) };
    // The line is named: which lines are listed says nothing of it.
    let code = CodeFilter::default();
    let options = ShowOptions { top: TOP, rules: view.rules(), code, part: shown.part };
    let text = match report::show::build(recording, place, &options) {
        Ok(shown) => {
            let mut out = Vec::new();
            // Nothing is written that could fail.
            match report::show::write_text(&mut out, &shown, &terminal) {
                Ok(()) => String::from_utf8_lossy(&out).into_owned(),
                Err(error) => error.to_string(),
            }
        }
        Err(unknown) => unknown,
    };
    text.lines().map(str::to_owned).collect()
}
