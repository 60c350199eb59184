//! Ledgers from and to files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ledger::{Ledger, SourceFile, SourceFit};
use ledger_file::{LedgerHead, LedgerInput, LedgerPart, LedgerReader, TextDigest};

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
    let ledgers = run.ranks.iter().map(|it| {
        let ledger = run.ledger_of(it);
        let ledger = ledger.map_err(|it| ledger_file::Error::NotWritten(it.to_string()))?;
        Ok((it.rank, ledger))
    });
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
pub(crate) fn to_input(input: LedgerInput) -> Result<Input, ledger_file::Error> {
    let kind = InputKind::of_name(&input.kind)
        .ok_or_else(|| ledger_file::Error::UnknownKind(input.kind.clone()))?;
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

/// What a file of ledgers says beside the ledgers.
#[derive(Default)]
pub(crate) struct LedgerFileHead {
    /// The inputs that the ledgers were made from.
    pub(crate) inputs: Vec<Input>,
    /// Those that could not be read for them.
    pub(crate) failures: Vec<String>,
}

/// Reads a file of ledgers as its bytes come, with the sources where they are on this machine.
pub(crate) struct LedgerFileReader<'a> {
    finder: &'a Finder,
    reader: LedgerReader,
    head: LedgerFileHead,
    texts: BTreeMap<String, TextDigest>,
    /// Where sources are, by key and recorded path: the ranks name the same files.
    found: BTreeMap<(String, Option<PathBuf>), (Option<PathBuf>, SourceFit)>,
}

impl<'a> LedgerFileReader<'a> {
    /// A rank of more than `max_part` bytes is an error.
    pub(crate) fn new(finder: &'a Finder, max_part: u64) -> Self {
        Self {
            finder,
            reader: LedgerReader::of_file(max_part),
            head: LedgerFileHead::default(),
            texts: BTreeMap::new(),
            found: BTreeMap::new(),
        }
    }

    /// Takes the next bytes, and gives the ledgers that end in them to `each`, a rank after the other.
    ///
    /// # Errors
    /// Says what is wrong with the bytes. More bytes change nothing then.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(u32, Ledger),
    ) -> Result<(), ledger_file::Error> {
        self.reader.feed(bytes);
        while let Some(part) = self.reader.next_part()? {
            match part {
                LedgerPart::Head(head) => {
                    let LedgerHead { inputs, failures, texts } = head;
                    let inputs = inputs.into_iter().map(to_input).collect::<Result<_, _>>()?;
                    (self.head, self.texts) = (LedgerFileHead { inputs, failures }, texts);
                }
                LedgerPart::Rank(rank, mut ledger) => {
                    self.locate(&mut ledger.files);
                    each(rank, *ledger);
                }
            }
        }
        Ok(())
    }

    /// To be asked when all bytes were fed.
    ///
    /// # Errors
    /// If some are missing.
    pub(crate) fn finish(self) -> Result<LedgerFileHead, ledger_file::Error> {
        self.reader.finish()?;
        Ok(self.head)
    }

    fn locate(&mut self, files: &mut BTreeMap<String, SourceFile>) {
        for (key, source) in files {
            let place = (key.clone(), source.path.clone());
            let located = || located(key, source, self.texts.get(key), self.finder);
            let (path, fit) = self.found.entry(place).or_insert_with(located);
            source.path.clone_from(path);
            source.fit = *fit;
        }
    }
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
