//! Ledgers from and to files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ledger::{Ledger, SourceFile, SourceFit};
use ledger_file::{LedgerHead, LedgerInput, Ledgers, TextDigest};

use crate::sources::Finder;
use crate::{Input, InputKind, Run, SourceFolders, shown};

/// The bytes of a file with the ledgers of a run. Of the sources it keeps which texts they were, not the texts.
///
/// # Errors
/// Says why the ledgers cannot be written.
pub fn to_ledger_file(run: &Run, sources: &SourceFolders) -> Result<Vec<u8>, String> {
    if let Some((input, why)) = run.of_other_run() {
        return Err(format!("{}: {}", shown(&input.path), why.message));
    }
    let digest = |key: &String| {
        let ran = run.text_that_ran(key, |path| sources.read(path))?;
        // A file of ledgers says which text ran, not which one may have.
        if ran.origin.is_doubtful() {
            return None;
        }
        Some((key.clone(), TextDigest::of(&ran.text)))
    };
    let head = LedgerHead {
        inputs: run.inputs.iter().map(to_ledger_input).collect(),
        failures: run.failures.clone(),
        texts: run.merged.files.keys().filter_map(digest).collect(),
    };
    let ledgers = run.ranks.iter().map(|it| (it.rank, run.ledger_of(it)));
    head.to_bytes(ledgers).map_err(|it| it.to_string())
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

/// Gives what a file of ledgers holds to `each`, a rank after the other, with the sources where they are on this machine. Returns the
/// inputs that the ledgers were made from, and those that could not be read for them.
///
/// # Errors
/// Says what is wrong with the bytes.
pub(crate) fn from_ledger_file(
    bytes: &[u8],
    finder: &Finder,
    mut each: impl FnMut(u32, Ledger),
) -> Result<(Vec<Input>, Vec<String>), String> {
    let mut ledgers = Ledgers::in_file(bytes).map_err(|it| it.to_string())?;
    let head = std::mem::take(&mut ledgers.head);
    let inputs = head.inputs.into_iter().map(to_input).collect::<Result<_, _>>()?;
    // The ranks name the same files.
    let mut found: BTreeMap<(String, Option<PathBuf>), (Option<PathBuf>, SourceFit)> =
        BTreeMap::new();
    for read in ledgers {
        let (rank, mut ledger) = read.map_err(|it| it.to_string())?;
        for (key, source) in &mut ledger.files {
            let place = (key.clone(), source.path.clone());
            let located = || located(key, source, head.texts.get(key), finder);
            let (path, fit) = found.entry(place).or_insert_with(located);
            source.path.clone_from(path);
            source.fit = *fit;
        }
        each(rank, ledger);
    }
    Ok((inputs, head.failures))
}

/// Where a source is on this machine: where a mapping leads to, else where it was, else at the same place below the root. With that whether it is the text
/// that ran. Of a text that nobody knew, nothing changes.
fn located(
    key: &str,
    source: &SourceFile,
    ran: Option<&TextDigest>,
    finder: &Finder,
) -> (Option<PathBuf>, SourceFit) {
    let Some(ran) = ran else { return (source.path.clone(), source.fit) };
    let below_root = finder.root().join(Path::new(key));
    let mapped = finder.mapped_path(&source.recorded);
    let mut edited = None;
    for path in mapped.iter().chain(&source.path).chain([&below_root]) {
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
