//! Dumps of the flight recorder: which files are some, and of which ranks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flight_recorder::{FlightDump, looks_like_dump, read_dump};

use crate::memory_limit::MemoryBudget;
use crate::{Error, MemoryLimit, blocks, names, open, places, shown, walk};

/// Endings of files that are looked at in a folder: PyTorch's own names have none.
const ENDINGS: [&str; 5] = ["", "gz", "json", "pickle", "pkl"];

/// The dumps of one job.
#[derive(Debug, Default)]
pub struct FlightDumps {
    /// In the order of their ranks, one of each.
    pub files: Vec<FlightDumpFile>,
    /// What could not be read, or was left out: one line each.
    pub warnings: Vec<String>,
}

/// One of them.
#[derive(Debug)]
pub struct FlightDumpFile {
    /// Where it is.
    pub path: PathBuf,
    /// The rank that its name says.
    pub rank: u32,
    /// What it holds.
    pub dump: FlightDump,
}

/// Reads the dumps that are named, and of folders those in and below them. Of several dumps of one rank the newest counts.
///
/// # Errors
/// If no dump can be read.
pub fn flight_dumps(inputs: &[PathBuf]) -> Result<FlightDumps, Error> {
    let mut found = FlightDumps::default();
    let mut newest: BTreeMap<u32, (SystemTime, FlightDumpFile)> = BTreeMap::new();
    let mut failure = None;
    let budget = MemoryBudget::new(MemoryLimit::default());
    for path in inputs {
        let (files, is_named) = match places::is_folder(path) {
            true => (below(path), false),
            false => (vec![path.clone()], true),
        };
        for file in files {
            match read(&file, is_named, &budget) {
                Ok(None) => {}
                Ok(Some((modified, it))) => {
                    let said = it.dump.warnings.iter();
                    found.warnings.extend(said.map(|it| format!("{}: {it}", shown(&file))));
                    add(&mut newest, modified, it, &mut found.warnings);
                }
                Err(error) => {
                    found.warnings.push(error.to_string());
                    failure.get_or_insert(error);
                }
            }
        }
    }
    if newest.is_empty() {
        return Err(failure.unwrap_or_else(|| Error::NoDumps {
            path: inputs.first().cloned().unwrap_or_else(|| PathBuf::from(".")),
        }));
    }
    found.files = newest.into_values().map(|(_, it)| it).collect();
    Ok(found)
}

fn add(
    newest: &mut BTreeMap<u32, (SystemTime, FlightDumpFile)>,
    modified: SystemTime,
    file: FlightDumpFile,
    warnings: &mut Vec<String>,
) {
    let Some((other_modified, other)) = newest.remove(&file.rank) else {
        newest.insert(file.rank, (modified, file));
        return;
    };
    let (kept, older) = match other_modified <= modified {
        true => ((modified, file), other),
        false => ((other_modified, other), file),
    };
    let (rank, path) = (kept.1.rank, shown(&older.path).into_owned());
    warnings.push(format!("{path}: another dump of rank {rank} is newer; this one is left out"));
    newest.insert(rank, kept);
}

/// The files in and below a folder that may be dumps, by their names.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let is_candidate = |it: &Path| {
        let ending = it.extension().unwrap_or_default().to_string_lossy();
        ENDINGS.contains(&&*ending) && rank(it).is_some() && walk::stays_below(it, &[folder])
    };
    walk::files(folder, is_candidate, |it| found.push(it.to_owned()));
    found
}

/// The dump in a file, with the time of its last change; `None` of a file that nobody named and that is none.
fn read(
    path: &Path,
    is_named: bool,
    budget: &MemoryBudget,
) -> Result<Option<(SystemTime, FlightDumpFile)>, Error> {
    let opened = if is_named { open::named(path)? } else { open::found(path)? };
    if !is_named && !looks_like_dump(&opened.prefix()) {
        return Ok(None);
    }
    let unreadable =
        |message: String| Error::Unreadable { path: path.to_owned(), message, offset: 0 };
    let rank = rank(path).ok_or_else(|| {
        let message = "its name does not say its rank; name it as PyTorch does: nccl_trace_rank_0";
        unreadable(message.to_owned())
    })?;
    let (bytes, damage) = blocks::whole(&opened, budget)?;
    let mut dump = read_dump(&bytes).map_err(|error| {
        // What damaged the file says more than what is missing in it.
        unreadable(damage.first().map_or_else(|| error.to_string(), |it| it.message.clone()))
    })?;
    dump.warnings.extend(damage.into_iter().map(|it| it.message));
    let modified = places::modified(path).unwrap_or(SystemTime::UNIX_EPOCH);
    Ok(Some((modified, FlightDumpFile { path: path.to_owned(), rank, dump })))
}

/// The rank in the name of a dump: `nccl_trace_rank_3`, or `hang_3` where `TORCH_FR_DUMP_TEMP_FILE` is `hang_`.
fn rank(path: &Path) -> Option<u32> {
    let stem = names::stem(path);
    let start = stem.trim_end_matches(|it: char| it.is_ascii_digit()).len();
    stem[start..].parse().ok().or_else(|| names::rank(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_dumps_give_the_rank() {
        let rank = |name: &str| rank(Path::new(name));
        assert_eq!(rank("/tmp/nccl_trace_rank_12"), Some(12));
        assert_eq!(rank("comm_lib_trace_rank_3.gz"), Some(3));
        assert_eq!(rank("dumps/hang_0.json"), Some(0));
        assert_eq!(rank("rank3.trace.old"), Some(3));
        assert_eq!(rank("notes"), None);
    }
}
