//! Ledgers from and to files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ledger::{Ledger, SourceFile, SourceFit};
use ledger_file::{LedgerFile, LedgerInput, TextDigest};

use crate::sources::Finder;
use crate::{Input, InputKind, Run, SourceFolders};

/// The bytes of a file with the ledgers of a run. Of the sources it keeps which texts they were, not the texts.
///
/// # Errors
/// Says why the ledgers cannot be written.
pub fn to_ledger_file(run: &Run, sources: &SourceFolders) -> Result<Vec<u8>, String> {
    let digest = |key: &String| {
        let ran = run.text_that_ran(key, |path| sources.read(path))?;
        Some((key.clone(), TextDigest::of(&ran.text)))
    };
    let file = LedgerFile {
        inputs: run.inputs.iter().map(to_ledger_input).collect(),
        failures: run.failures.clone(),
        ranks: run.ranks.iter().map(|it| (it.rank, run.ledger_of(it).into_owned())).collect(),
        texts: run.merged.files.keys().filter_map(digest).collect(),
    };
    file.to_bytes().map_err(|it| it.to_string())
}

pub(crate) fn to_ledger_input(input: &Input) -> LedgerInput {
    LedgerInput {
        path: input.path.to_string_lossy().into_owned(),
        kind: input.kind.name().to_owned(),
        rank: input.rank,
        events: input.events,
        bytes: input.bytes,
        complete: input.complete,
        warnings: input.warnings.clone(),
    }
}

/// # Errors
/// If the kind is unknown.
pub(crate) fn to_input(input: LedgerInput) -> Result<Input, String> {
    let kind = InputKind::of_name(&input.kind)
        .ok_or_else(|| format!("names an input of the unknown kind `{}`", input.kind))?;
    Ok(Input {
        path: PathBuf::from(input.path),
        kind,
        rank: input.rank,
        events: input.events,
        bytes: input.bytes,
        complete: input.complete,
        warnings: input.warnings,
    })
}

/// The inputs that ledgers were made from, the ledgers by rank, and the inputs that could not be read for them.
pub(crate) type ReadLedgers = (Vec<Input>, Vec<(u32, Ledger)>, Vec<String>);

/// What a file of ledgers holds, with the sources where they are on this machine.
///
/// # Errors
/// Says what is wrong with the bytes.
pub(crate) fn from_ledger_file(bytes: &[u8], finder: &Finder) -> Result<ReadLedgers, String> {
    let mut file = LedgerFile::from_bytes(bytes).map_err(|it| it.to_string())?;
    let inputs = file.inputs.into_iter().map(to_input).collect::<Result<_, _>>()?;
    // The ranks name the same files.
    let mut found: BTreeMap<(String, Option<PathBuf>), (Option<PathBuf>, SourceFit)> =
        BTreeMap::new();
    for (key, source) in file.ranks.values_mut().flat_map(|it| &mut it.files) {
        let place = (key.clone(), source.path.clone());
        let located = || located(key, source, file.texts.get(key), finder);
        let (path, fit) = found.entry(place).or_insert_with(located);
        source.path.clone_from(path);
        source.fit = *fit;
    }
    Ok((inputs, file.ranks.into_iter().collect(), file.failures))
}

/// Where a source is on this machine: where it was, else at the same place below the root. With that whether it is the text
/// that ran. Of a text that nobody knew, nothing changes.
fn located(
    key: &str,
    source: &SourceFile,
    ran: Option<&TextDigest>,
    finder: &Finder,
) -> (Option<PathBuf>, SourceFit) {
    let Some(ran) = ran else { return (source.path.clone(), source.fit) };
    let below_root = finder.root().join(Path::new(key));
    let mut edited = None;
    for path in source.path.iter().chain([&below_root]) {
        match finder.folders().read(path) {
            Some(text) if TextDigest::of(&text) == *ran => {
                return (Some(path.clone()), SourceFit::Fits);
            }
            Some(_) => edited = edited.or(Some(path.clone())),
            None => {}
        }
    }
    match edited {
        Some(path) => (Some(path), SourceFit::Edited),
        None => (None, SourceFit::Missing),
    }
}
