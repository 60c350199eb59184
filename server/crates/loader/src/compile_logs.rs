//! Logs of `torch.compile` (`TORCH_TRACE`): which belong to a trace, and what they say of its generated files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use attribution::join_compile_log;
use compile_log::CompileLogReader;
use profile::{CompileLog, Profile, WarningKind, Warnings};
use recorded::{TextOrigin, TextThatRan, TextsByFile, is_compiled_range, is_generated_file};

use crate::damage::{Damage, add_damage, is_cut};
use crate::memory_limit::MemoryBudget;
use crate::open::{self, Opened};
use crate::panics::caught;
use crate::{Error, Input, InputKind, blocks, names, places, walk};

/// What PyTorch calls its logs begins so.
const NAME: &str = "dedicated_log_torch_trace_";

/// Endings of logs, as PyTorch writes them and compressed.
const ENDINGS: [&str; 3] = [".log", ".log.gz", ".log.zst"];

/// Logs beside or below a trace that are looked at, at most: each is read wholly.
const MAX_FOUND: usize = 64;

/// The logs that were named as inputs, and those that lie beside traces.
#[derive(Default)]
pub(crate) struct CompileLogs {
    named: Vec<Arc<LogFile>>,
    /// By folder of a trace.
    found: Mutex<BTreeMap<PathBuf, Vec<Arc<LogFile>>>>,
}

/// One log. Several traces of a process share it, so what was read stays.
pub(crate) struct LogFile {
    path: PathBuf,
    /// `None` of one that the user did not name: it is opened when it is read.
    opened: Option<Opened>,
    content: OnceLock<Result<LogContent, Error>>,
}

/// What a log says.
struct LogContent {
    log: CompileLog,
    warnings: Warnings,
    damage: Vec<Damage>,
    bytes: u64,
}

impl CompileLogs {
    /// Takes a log that was named as an input.
    pub(crate) fn add(&mut self, input: Opened) {
        self.named.push(Arc::new(LogFile::new(input.path.clone(), Some(input))));
    }

    /// The first that was named as an input.
    pub(crate) fn first_named(&self) -> Option<&Path> {
        self.named.first().map(|it| it.path.as_path())
    }

    /// Those that may belong to the trace `input` of `rank`: the named ones, else those of [`Self::beside`].
    pub(crate) fn of(&self, input: &Opened, rank: Option<u32>, root: &Path) -> Vec<Arc<LogFile>> {
        if !self.named.is_empty() {
            return self.named.iter().filter(|it| it.may_be_of(rank)).cloned().collect();
        }
        match input.is_regular() {
            true => self.beside(&input.path, rank, root),
            false => Vec::new(),
        }
    }

    /// Those that may belong to the trace at `path` of `rank` by where they lie: the one that Perfline's recorder wrote beside it, else
    /// those in its folder and the folders in that.
    /// None of them is a link that leads out of the trace's folder and of `root`.
    pub(crate) fn beside(&self, path: &Path, rank: Option<u32>, root: &Path) -> Vec<Arc<LogFile>> {
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        let stem = names::stem(path);
        let mut beside = ENDINGS.iter().map(|it| folder.join(format!("{stem}.torch_trace{it}")));
        let is_there =
            |it: &PathBuf| places::is_file(it) && walk::stays_below(it, &[&folder, root]);
        if let Some(path) = beside.find(is_there) {
            return vec![Arc::new(LogFile::new(path, None))];
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let found = found.entry(folder).or_insert_with_key(|folder| {
            let paths = below(folder, root).into_iter();
            let stays = paths.filter(|it| walk::stays_below(it, &[folder, root]));
            stays.take(MAX_FOUND).map(|it| Arc::new(LogFile::new(it, None))).collect()
        });
        found.iter().filter(|it| it.may_be_of(rank)).cloned().collect()
    }
}

/// The logs in a folder and in the folders in it, by path. A link to a folder is entered if it leads out of neither this one nor `root`.
fn below(folder: &Path, root: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = logs_and_folders(folder);
    folders.retain(|it| walk::stays_below(it, &[folder, root]));
    folders.sort();
    found.extend(folders.iter().flat_map(|it| logs_and_folders(it).0));
    found.sort();
    found
}

fn logs_and_folders(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut files, folders) = places::entries(folder);
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_log = name.starts_with(NAME) && ENDINGS.iter().any(|it| name.ends_with(it));
        is_log && places::is_file(path)
    });
    (files, folders)
}

impl LogFile {
    fn new(path: PathBuf, opened: Option<Opened>) -> Self {
        Self { path, opened, content: OnceLock::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its name says no other rank.
    fn may_be_of(&self, rank: Option<u32>) -> bool {
        names::rank(&self.path).is_none_or(|of_log| rank.is_none_or(|rank| rank == of_log))
    }

    /// Whether it could be opened, and there was memory for all of it, if that was tried.
    pub(crate) fn is_readable(&self) -> bool {
        self.content.get().is_none_or(|it| it.as_ref().is_ok_and(|it| !is_cut(&it.damage)))
    }

    /// # Errors
    /// If it cannot be opened.
    fn content(&self, budget: &MemoryBudget) -> Result<&LogContent, &Error> {
        let read = |input: &Opened| {
            let mut reader = CompileLogReader::new();
            let mut bytes = 0;
            // Its bytes are not counted into the progress: whether it is read is known when the trace was.
            let done = AtomicU64::new(0);
            let prepare = || |_: &[u8]| ();
            let feed = |block: &[u8], ()| {
                bytes += block.len() as u64;
                reader.feed(block);
                Ok(())
            };
            let damage = blocks::each_block(input, &done, budget, 1, prepare, feed)?.damage;
            let (log, warnings) = reader.finish();
            Ok(LogContent { log, warnings, damage, bytes })
        };
        let read = || open::named_or_found(self.opened.as_ref(), &self.path, read);
        self.content.get_or_init(|| caught(&self.path, read)).as_ref()
    }

    /// Whether it was written by a process of the trace. One that the user named is believed.
    fn is_of(&self, profile: &Profile, log: &CompileLog) -> bool {
        let processes = profile.threads.iter().map(|it| profile.strings.get(it.pid));
        let mut processes = processes.filter_map(|it| it.parse().ok());
        self.opened.is_some() || processes.any(|it: u32| log.processes.contains(&it))
    }
}

/// Joins what is known of compiled code into `profile`; of how many of its generated files that is.
///
/// Where the trace does not say which line made a call, the texts of the generated files are added to `texts`: lines are inferred
/// from them.
pub(crate) fn join_with_texts(
    profile: &mut Profile,
    log: &CompileLog,
    texts: &mut TextsByFile,
) -> usize {
    let has_callers = profile.host.python.caller.iter().any(|it| it.get().is_some());
    let joined = join_compile_log(profile, log);
    for (path, number) in joined.iter().filter(|_| !has_callers) {
        let text = log.texts.get(*number).map_or("", |it| it.text.as_str()).into();
        texts.insert(path.clone(), TextThatRan { text, origin: TextOrigin::Recorded });
    }
    joined.len()
}

/// Joins the logs that belong to `profile` into it; the inputs that were used, or could not be. Nothing is read for a trace in which
/// nothing was compiled.
pub(crate) fn join_logs(
    logs: &[Arc<LogFile>],
    profile: &mut Profile,
    texts: &mut TextsByFile,
    rank: u32,
    budget: &MemoryBudget,
) -> Vec<Input> {
    let mut inputs = Vec::new();
    let (compiles, names_generated_file) = compiled_code(profile);
    if logs.is_empty() || !compiles {
        return inputs;
    }
    for file in logs {
        let mut input = Input {
            path: file.path.clone(),
            kind: InputKind::CompileLog,
            rank,
            events: 0,
            bytes: 0,
            complete: true,
            warnings: Vec::new(),
        };
        let mut warnings = Warnings::default();
        match file.content(budget) {
            Err(error) => warnings.add(WarningKind::Other, None, format!("not used: {error}")),
            Ok(LogContent { log, warnings: of_log, damage, bytes }) => {
                if !file.is_of(profile, log) {
                    continue;
                }
                input.bytes = *bytes;
                let calls = log.files.iter().map(|it| it.calls.len()).sum::<usize>();
                input.events = (calls + log.compiles.len() + log.breaks.len()) as u64;
                warnings.extend(of_log.clone());
                add_damage(&mut warnings, damage.clone());
                let n_joined = join_with_texts(profile, log, texts);
                if n_joined == 0 && names_generated_file {
                    let message = "names the lines of no generated file of the trace; record with INDUCTOR_PROVENANCE=1 and TORCH_TRACE set from the start of the program";
                    warnings.add(WarningKind::Other, None, message);
                }
            }
        }
        input.complete = warnings.is_empty();
        input.warnings = warnings.iter().cloned().collect();
        inputs.push(input);
    }
    inputs
}

/// Whether something was compiled, or ran compiled; and whether the trace names a generated file.
fn compiled_code(profile: &Profile) -> (bool, bool) {
    let file = |text: &str| text.rfind(".py(").map(|end| end + ".py".len());
    let is_generated = |text: &str| file(text).is_some_and(|end| is_generated_file(&text[..end]));
    let texts = || profile.strings.iter().map(|(_, text)| text);
    let names_generated_file = texts().any(is_generated);
    (names_generated_file || texts().any(is_compiled_range), names_generated_file)
}
