//! The recordings that lie in a folder, with what is known of them without reading them.

use std::time::Duration;

use ledger::{Bytes, Ns};
use loader::RecordedCommit;
use metrics::Unit;

use super::NamedTable;
use crate::model::{Cell, CellValue, Column, Section, Subject, Summary};

/// The columns that a narrow terminal can do without, the first of them first.
const DISPENSABLE: [&str; 3] = ["kind", "files", "commit"];

/// A recording that was found.
#[derive(Debug, Clone)]
pub struct ListedRecording {
    /// Path of its first file.
    pub name: String,
    /// How many files it has.
    pub files: usize,
    /// What they are, each kind once.
    pub kinds: Vec<&'static str>,
    /// How many ranks they are of.
    pub ranks: usize,
    /// Bytes on disk.
    pub bytes: u64,
    /// How long ago the newest of the files was written.
    pub age: Duration,
    /// How many steps it has and the mean of one in nanoseconds, where that is kept of an earlier look.
    pub steps: Option<(usize, f64)>,
    /// The commit that it names, where that is kept of an earlier look.
    pub commit: Option<RecordedCommit>,
}

/// The recordings below `folder`, in the order given.
#[must_use]
pub fn build(folder: &str, recordings: &[ListedRecording]) -> NamedTable {
    let columns = [
        Column::number("age", Unit::Ns),
        Column::number("size", Unit::Bytes),
        Column::number("files", Unit::Count),
        Column::number("ranks", Unit::Count),
        Column::number("steps", Unit::Count),
        Column::number("step", Unit::Ns),
        Column::text("commit"),
        Column::text("kind"),
        Column::text("recording"),
    ];
    let mut section = Section::new("recordings", "Recordings", Subject::Run, columns);
    section.rows = recordings.iter().map(row).collect();
    NamedTable {
        summary: Summary { recording: folder.to_owned(), extent: String::new(), notes: Vec::new() },
        section,
        dispensable: &DISPENSABLE,
        filter: serde_json::Value::Null,
    }
}

fn row(it: &ListedRecording) -> Vec<Cell> {
    let age = i64::try_from(it.age.as_nanos()).unwrap_or(i64::MAX);
    let (steps, step) = match it.steps {
        Some((steps, mean)) if 0 < steps => {
            (Cell::integer(steps), Cell::duration(Ns(mean.round() as i64)))
        }
        _ => (Cell::default(), Cell::default()),
    };
    vec![
        Cell { value: CellValue::Integer(age, Unit::Ns), text: ago(it.age) },
        Cell::bytes(Bytes(i64::try_from(it.bytes).unwrap_or(i64::MAX))),
        Cell::integer(it.files),
        Cell::integer(it.ranks),
        steps,
        step,
        it.commit.map(|it| Cell::text(it.to_string())).unwrap_or_default(),
        Cell::text(it.kinds.join(", ")),
        Cell::text(&it.name),
    ]
}

/// `3 min`, rounded down.
fn ago(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_in_the_largest_unit() {
        let rows = [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (7_199, "1 h"),
            (86_399, "23 h"),
            (200_000, "2 d"),
        ];
        for (seconds, expected) in rows {
            assert_eq!(ago(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let listed = ListedRecording {
            name: "runs/a.json.gz".to_owned(),
            files: 2,
            kinds: vec!["kineto", "snapshot"],
            ranks: 1,
            bytes: 2048,
            age: Duration::from_secs(90),
            steps: None,
            commit: None,
        };
        let known = ListedRecording {
            steps: Some((3, 41_000_000.0)),
            commit: Some(RecordedCommit { id: loader::CommitId([0x1a; 20]), is_dirty: true }),
            ..listed.clone()
        };
        let texts = |it: &ListedRecording| -> Vec<String> {
            row(it).into_iter().map(|it| it.text).collect()
        };
        assert_eq!(
            texts(&listed),
            ["1 min", "2 KiB", "2", "1", "", "", "", "kineto, snapshot", "runs/a.json.gz"]
        );
        assert_eq!(texts(&known)[4..7], ["3", "41 ms", "1a1a1a1-dirty"]);
    }
}
