//! Ledgers of recordings that were read before, so that the next load of the same recording does not read it.
//!
//! An entry stands for one input, a trace or a snapshot, with all that its ledger was made from:
//!
//! - **The input**, its side-car, the logs of `torch.compile` and the captures of graphs beside it and the snapshots of its run: size, times and number of each file, which are part of the key, and
//!   a hash of parts of the input. No file is read wholly for it. A file that is changed in place without any of its times changing,
//!   which no usual program does, is noticed only where one of the parts changed.
//! - **Options and the build of Perfline**, which are part of the key.
//! - **Sources.** The entry holds what was found for each file that the recording names. Where size, times and number of all
//!   files that were looked at are what they were, that is taken. Else they are looked for as in a load that reads the recording,
//!   and the entry counts if the texts that ran are the same: a file that was edited since, of which the text that ran is
//!   kept, changes nothing in the ledger but whether the file is that text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ledger::{Ledger, SourceFile};
use ledger_file::{KeptFile, KeptHead, KeptText, LedgerHead, read_body};
use recorded::{
    CommitId, GitBlob, RecordedCommit, RecordedFile, RecordedSources, TextOrigin, TextThatRan,
    TextsByFile,
};

use crate::compile_logs::LogFile;
use crate::git_texts::GitTexts;
use crate::graph_captures::CaptureFile;
use crate::kept_texts::RecordingKey;
use crate::ledger_cache::{BUILD, EntryKey, LedgerCache, PendingEntry};
use crate::ledgers::{to_input, to_ledger_input};
use crate::open::Opened;
use crate::plan::{InputFile, Plan, SideCar};
use crate::recorded_at::RecordedAt;
use crate::source_search::SourceSearch;
use crate::stable_hash::StableHash;
use crate::{Input, InputKind, LoadOptions, places};

/// What was kept of an input, as a load that reads it would give it.
pub(crate) struct KeptLedgers {
    pub(crate) inputs: Vec<Input>,
    pub(crate) ledgers: Vec<(u32, Ledger)>,
    pub(crate) texts: TextsByFile,
    pub(crate) commit: Option<RecordedCommit>,
    pub(crate) took: Duration,
}

/// What lies beside a trace, or was named with it, and says more of it.
#[derive(Default)]
pub(crate) struct Beside {
    /// The exact callers.
    pub(crate) side_car: Option<Arc<SideCar>>,
    /// Logs of `torch.compile` that may belong to it.
    pub(crate) logs: Vec<Arc<LogFile>>,
    /// Traces that may hold the capture of its graphs, or what these launch where none is used.
    pub(crate) captures: Vec<CaptureFile>,
}

impl Beside {
    /// The logs of the trace, and those of its captures.
    pub(crate) fn all_logs(&self) -> impl Iterator<Item = &Arc<LogFile>> {
        self.logs.iter().chain(self.captures.iter().flat_map(|it| &it.logs))
    }

    /// Where the file is that an input was kept of; `None` of the trace.
    fn path_of(&self, input: &Input) -> Option<&Path> {
        match input.kind {
            InputKind::Callers => self.side_car.as_ref().map(|it| it.path()),
            InputKind::CompileLog => {
                let is_same = |it: &&Arc<LogFile>| it.path().file_name() == input.path.file_name();
                self.logs.iter().find(is_same).map(|it| it.path())
            }
            InputKind::GraphCapture | InputKind::GraphlessRun => {
                let is_same = |it: &&CaptureFile| {
                    it.kind() == input.kind && it.path.file_name() == input.path.file_name()
                };
                self.captures.iter().find(is_same).map(|it| it.path.as_path())
            }
            _ => None,
        }
    }
}

/// What the ledger of an input was made from, for an entry.
pub(crate) struct MadeFrom {
    pub(crate) recording: Option<RecordingKey>,
    pub(crate) files: Vec<RecordedFile>,
    pub(crate) recorded_texts: TextsByFile,
    /// What the disk said before the sources were read.
    pub(crate) disk: Option<u128>,
    pub(crate) at: RecordedAt,
    pub(crate) sources: RecordedSources,
    pub(crate) has_kept_more: bool,
}

/// The cache, and what a load is made with.
pub(crate) struct LedgerStore<'a> {
    pub(crate) cache: &'a LedgerCache,
    pub(crate) options: &'a LoadOptions,
    pub(crate) search: SourceSearch<'a>,
}

impl LedgerStore<'_> {
    /// What the entry of `file` is found by; `None` of what is not kept. `beside` is what goes with a trace.
    pub(crate) fn key(
        &self,
        file: &Opened,
        one: &InputFile,
        plan: &Plan,
        beside: &Beside,
    ) -> Option<EntryKey> {
        if !matches!(one.kind, InputKind::Kineto | InputKind::Snapshot) {
            return None;
        }
        let mut files = vec![(file.path.clone(), file.identity()?)];
        let Beside { side_car, logs, captures } = beside;
        let all_logs = beside.all_logs().map(|it| it.path());
        let paths = side_car.iter().map(|it| it.path()).chain(all_logs);
        let paths = paths.chain(captures.iter().map(|it| it.path.as_path()));
        let of_captures = captures.iter().filter_map(|it| it.side_car.as_ref());
        let paths = paths.chain(of_captures.map(|it| it.path()));
        for path in paths {
            files.push((path.to_owned(), places::identity(path)?));
        }
        let mut hash = StableHash::new();
        hash.bytes(BUILD.as_bytes());
        hash.bytes(one.kind.name().as_bytes());
        hash.number(i64::from(side_car.is_some()));
        hash.bytes(&logs.len().to_le_bytes());
        hash.bytes(&captures.len().to_le_bytes());
        for it in captures {
            hash.number(it.origin as i64);
            hash.number(i64::from(it.side_car.is_some()));
            hash.bytes(&it.logs.len().to_le_bytes());
        }
        hash.number(one.rank_by_name.map_or(-1, i64::from));
        hash.number(i64::from(one.place));
        if one.kind == InputKind::Kineto {
            hash.number(i64::from(plan.is_only_pair));
            let snapshots = plan.jobs.iter().filter(|it| it.kind == InputKind::Snapshot);
            for it in snapshots {
                hash.number(i64::from(it.rank_or_place()));
                files.push((it.input.path.clone(), it.input.identity()?));
            }
        }
        if one.kind == InputKind::Snapshot {
            hash.number(i64::from(plan.are_allocations_traced(one)));
        }
        files.iter().for_each(|(_, identity)| identity.add_to(&mut hash));
        let LoadOptions {
            mine, mappings, step_ranges, ignore_exact, text_cache, git_texts, ..
        } = self.options;
        hash.number(i64::from(*ignore_exact));
        hash.number(i64::from(text_cache.is_some()));
        hash.number(i64::from(*git_texts));
        mine.iter().for_each(|it| hash.bytes(it.text().as_bytes()));
        hash.bytes(&step_ranges.len().to_le_bytes());
        step_ranges.iter().for_each(|it| hash.bytes(it.as_bytes()));
        hash.bytes(&mappings.len().to_le_bytes());
        mappings.iter().for_each(|it| hash.bytes(it.to_string().as_bytes()));
        self.search.finder.add_places_to(&mut hash);
        let is_settled = files.iter().all(|(_, identity)| identity.is_settled());
        Some(EntryKey { hash: hash.0, files, is_settled })
    }

    /// What was kept under `key`, if a load that reads `file` would give it.
    pub(crate) fn read(
        &self,
        key: &EntryKey,
        file: &Opened,
        beside: &Beside,
    ) -> Option<KeptLedgers> {
        let begin = Instant::now();
        let bytes = self.cache.read(key.hash)?;
        let Ok((mut head, body)) = KeptHead::unpack(&bytes, BUILD) else {
            self.cache.remove(key.hash);
            return None;
        };
        if file.sample().ok()? != head.sample {
            return None;
        }
        let texts = match self.unchanged_texts(&head) {
            Some(texts) => texts,
            None => {
                let (now, sources) = self.look_again(&head)?;
                let texts = sources.own_texts();
                head = now;
                if self.options.known_texts.is_empty() && head.fingerprint.is_some() {
                    let (key, head, ledgers) = (key.clone(), head.clone(), body.to_vec());
                    self.cache.push(PendingEntry { key, head, ledgers });
                }
                texts
            }
        };
        let Ok((kept, mut ledgers)) = read_body(body) else {
            self.cache.remove(key.hash);
            return None;
        };
        let found: BTreeMap<&str, &KeptFile> =
            head.files.iter().map(|it| (it.recorded.as_str(), it)).collect();
        for source in ledgers.iter_mut().flat_map(|(_, it)| it.files.values_mut()) {
            place(source, found.get(source.recorded.as_str()).copied());
        }
        let mut inputs = Vec::with_capacity(kept.inputs.len());
        for it in kept.inputs {
            let mut input = to_input(it).ok()?;
            // The others may have another name than when the entry was made.
            if input.kind != InputKind::CompileCache {
                input.path = beside.path_of(&input).unwrap_or(&file.path).to_owned();
            }
            inputs.push(input);
        }
        let RecordedAt { commit, .. } = RecordedAt::of_kept(head.at);
        Some(KeptLedgers { inputs, ledgers, texts, commit, took: begin.elapsed() })
    }

    /// Notes the ledger of an input, to be written later. `key` is `None` of what is not kept.
    pub(crate) fn keep(
        &self,
        file: &Opened,
        key: Option<EntryKey>,
        made_from: &MadeFrom,
        inputs: &[Input],
        ledger: &(u32, Ledger),
    ) {
        let Some(key) = key else { return };
        let MadeFrom { recording, files, recorded_texts, disk, at, sources, has_kept_more } =
            made_from;
        let (recording, disk, at) = (*recording, *disk, *at);
        let is_long = inputs.first().is_some_and(|it| self.cache.is_worth(it.bytes));
        // Where no texts may be kept, those that the recording holds are not kept either. Texts that were known from an earlier
        // load may not be known to the next one.
        let are_texts_kept = recorded_texts.is_empty() || self.options.text_cache.is_some();
        if !key.is_settled || !is_long || !are_texts_kept || !self.options.known_texts.is_empty() {
            return;
        }
        let Some(mut kept) = kept_files(files, sources) else { return };
        if *has_kept_more {
            // The next load finds the copies.
            let sources = self.search.find(files, recorded_texts, recording, at);
            let next = kept_files(files, &sources).filter(|it| is_same(&kept, it));
            let Some(next) = next else { return };
            kept = next;
        }
        let Ok(sample) = file.sample() else { return };
        let text = |(file, it): (&String, &TextThatRan)| (file.clone(), it.text.to_string());
        let head = KeptHead {
            sample,
            recording: recording.map(|it| it.0),
            files: kept,
            recorded_texts: recorded_texts.iter().map(text).collect(),
            at: at.to_kept(),
            uses_git: self.uses_git(),
            fingerprint: disk.map(|disk| self.with_others(disk, recording, self.uses_git())),
        };
        let inputs = inputs.iter().map(to_ledger_input).collect();
        let (rank, ledger) = ledger;
        let only = std::iter::once(Ok((*rank, Cow::Borrowed(ledger))));
        if let Ok(ledgers) = (LedgerHead { inputs, ..LedgerHead::default() }).to_body(only) {
            self.cache.push(PendingEntry { key, head, ledgers });
        }
    }

    /// The hash of what the disk says now of the sources of `files`; `None` where they are about to change.
    pub(crate) fn disk(&self, files: &[RecordedFile]) -> Option<u128> {
        self.search.finder.fingerprint(files.iter().map(|it| it.path.as_str()))
    }

    /// Whether texts were looked for in a git repository.
    fn uses_git(&self) -> bool {
        self.search.finder.git().is_some_and(GitTexts::was_asked)
    }

    /// The hash of what the disk says, with that of the copies of texts and, where it was asked, of the git repository.
    fn with_others(&self, disk: u128, recording: Option<RecordingKey>, uses_git: bool) -> u128 {
        let mut hash = StableHash::new();
        hash.bytes(&disk.to_le_bytes());
        hash.bytes(&self.search.packed(recording));
        if let Some(git) = self.search.finder.git().filter(|_| uses_git) {
            hash.bytes(&git.state().to_le_bytes());
        }
        hash.0
    }

    /// The texts of your code that ran, by key in the ledger, if nothing changed that sources were looked for in.
    fn unchanged_texts(&self, head: &KeptHead) -> Option<TextsByFile> {
        if !self.options.known_texts.is_empty() {
            return None;
        }
        let recording = head.recording.map(RecordingKey);
        let paths = head.files.iter().map(|it| it.recorded.as_str());
        let disk = self.search.finder.fingerprint(paths)?;
        if head.fingerprint? != self.with_others(disk, recording, head.uses_git) {
            return None;
        }
        let copies = self.search.kept(recording);
        let mut texts = TextsByFile::new();
        for file in head.files.iter().filter(|it| it.is_user_code) {
            let (text, hash, origin) = match file.text {
                KeptText::Unknown => continue,
                KeptText::Recorded(hash) => {
                    let text = head.recorded_texts.get(&file.recorded)?.as_str().into();
                    (text, hash, TextOrigin::Recorded)
                }
                KeptText::Copy(hash) => {
                    (copies.get(&file.recorded)?.text.clone(), hash, TextOrigin::Kept)
                }
                KeptText::Git { hash, blob, commit, time } => {
                    let blob = GitBlob { blob, commit: CommitId(commit), time };
                    let text = self.search.finder.git()?.text(blob)?;
                    (text.into(), hash, TextOrigin::Git(blob))
                }
                KeptText::File(hash) | KeptText::NewerFile(hash) => {
                    let text = self.search.finder.folders().read(file.path.as_ref()?)?;
                    let is_newer = matches!(file.text, KeptText::NewerFile(_));
                    let origin = if is_newer { TextOrigin::NewerFile } else { TextOrigin::File };
                    (text.into(), hash, origin)
                }
            };
            if StableHash::of(text.as_bytes()) != hash {
                return None;
            }
            texts.insert(file.key.clone(), TextThatRan { text, origin });
        }
        Some(texts)
    }

    /// The head as it is with the sources as they are now; `None` where that would give another ledger.
    fn look_again(&self, head: &KeptHead) -> Option<(KeptHead, RecordedSources)> {
        let recording = head.recording.map(RecordingKey);
        let files: Vec<RecordedFile> = head.files.iter().map(to_recorded_file).collect();
        let recorded = |(file, text): (&String, &String)| {
            let text = text.as_str().into();
            (file.clone(), TextThatRan { text, origin: TextOrigin::Recorded })
        };
        let recorded_texts = head.recorded_texts.iter().map(recorded).collect();
        let disk = self.disk(&files);
        let at = RecordedAt::of_kept(head.at);
        let sources = self.search.find(&files, &recorded_texts, recording, at);
        let now = kept_files(&files, &sources)?;
        if !is_same(&head.files, &now) {
            return None;
        }
        let uses_git = self.uses_git();
        let fingerprint = disk.map(|disk| self.with_others(disk, recording, uses_git));
        Some((KeptHead { files: now, uses_git, fingerprint, ..head.clone() }, sources))
    }
}

/// Where a source of a ledger is, by what was found for it.
fn place(source: &mut SourceFile, found: Option<&KeptFile>) {
    source.path = found.and_then(|it| it.path.clone());
    source.fit = found.map_or(ledger::SourceFit::Missing, |it| it.fit);
    source.others = found.map(|it| it.others.clone()).unwrap_or_default();
}

fn to_recorded_file(file: &KeptFile) -> RecordedFile {
    let KeptFile { recorded, functions, call_lines, is_captured, .. } = file;
    RecordedFile {
        path: recorded.clone(),
        functions: functions.clone(),
        call_lines: call_lines.clone(),
        is_captured: *is_captured,
    }
}

/// What was found for each of `files`; `None` where one has a text that was made of what was recorded, which is not in an entry.
fn kept_files(files: &[RecordedFile], sources: &RecordedSources) -> Option<Vec<KeptFile>> {
    let kept = |file: &RecordedFile| {
        let found = sources.get(&file.path).cloned().unwrap_or_default();
        let hash = found.text.as_ref().map(|it| StableHash::of(it.as_bytes()));
        let text = match (hash, found.origin) {
            (None, _) => KeptText::Unknown,
            (Some(hash), TextOrigin::Recorded) => KeptText::Recorded(hash),
            (Some(hash), TextOrigin::Kept) => KeptText::Copy(hash),
            (Some(hash), TextOrigin::Git(GitBlob { blob, commit: CommitId(commit), time })) => {
                KeptText::Git { hash, blob, commit, time }
            }
            (Some(hash), TextOrigin::File) => KeptText::File(hash),
            (Some(hash), TextOrigin::NewerFile) => KeptText::NewerFile(hash),
            (Some(_), TextOrigin::ArrangedFile) => return None,
        };
        Some(KeptFile {
            recorded: file.path.clone(),
            functions: file.functions.clone(),
            call_lines: file.call_lines.clone(),
            is_captured: file.is_captured,
            key: found.key,
            path: found.path,
            is_user_code: found.is_user_code,
            fit: found.fit,
            others: found.others,
            text,
        })
    };
    files.iter().map(kept).collect()
}

/// Whether attribution gives the same with both. It does not look at whether a file is the text that ran, nor at where that text
/// comes from. Where a copy is gone, the recording is read, so that one is made again.
fn is_same(before: &[KeptFile], now: &[KeptFile]) -> bool {
    let text = |it: &KeptFile| match it.text {
        KeptText::Unknown => (None, 0),
        KeptText::Recorded(hash) => (Some(hash), 0),
        KeptText::Copy(hash) => (Some(hash), 1),
        KeptText::Git { hash, .. } | KeptText::File(hash) | KeptText::NewerFile(hash) => {
            (Some(hash), 2)
        }
    };
    let is_same_file = |(before, now): (&KeptFile, &KeptFile)| {
        let ((text_before, origin_before), (text_now, origin_now)) = (text(before), text(now));
        before.recorded == now.recorded
            && (&before.key, &before.path, before.is_user_code)
                == (&now.key, &now.path, now.is_user_code)
            && text_before == text_now
            && origin_now <= origin_before
    };
    before.len() == now.len() && before.iter().zip(now).all(is_same_file)
}
