//! Texts that ran, from the git repository that holds the root, for files that are by now something else.
//!
//! First the commit that the recording names, then the one that was checked out when recording began, as the log of what was
//! checked out says, then what is nearest in time: what was checked out later, because edits are often recorded before
//! they are committed, and the commits before it. Where that log knows nothing of the time, or holds no text that fits,
//! the commits that the one checked out now was made from, by their dates. A text counts only if it fits.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gix_hash::ObjectId;
use pysource::Module;
use recorded::{CommitId, GitBlob};

use crate::git_repository::{CheckedOut, GitCommit, GitRepository};
use crate::recorded_at::RecordedAt;
use crate::stable_hash::StableHash;
use crate::walk;

/// Commits that are looked at before, and after, the time of the recording.
const MAX_COMMITS: usize = 64;

/// Commits that are walked over to get to the time of the recording.
const MAX_WALK: usize = 1024;

/// Different texts of a file that are looked at.
const MAX_TEXTS: usize = 24;

/// Folders of a commit in which a file is looked for by its name.
const MAX_FOLDERS: usize = 512;

/// A text that fits, in a repository.
#[derive(Debug, Clone)]
pub(crate) struct GitText {
    pub(crate) text: Arc<str>,
    pub(crate) module: Arc<Module>,
    pub(crate) blob: GitBlob,
}

/// The repository that holds the root. It is opened when first asked for a text.
pub(crate) struct GitTexts {
    /// Without links.
    root: PathBuf,
    was_asked: AtomicBool,
    opened: OnceLock<OpenedHistory>,
}

struct OpenedHistory {
    /// What decides which texts are found, as it was before the first was looked for.
    state: u128,
    history: Mutex<Option<GitHistory>>,
}

impl GitTexts {
    pub(crate) fn new(root: &Path) -> Self {
        let was_asked = AtomicBool::new(false);
        Self { root: root.to_owned(), was_asked, opened: OnceLock::new() }
    }

    /// Whether a text was looked for.
    pub(crate) fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Relaxed)
    }

    /// A hash of what changes when other texts may be found.
    pub(crate) fn state(&self) -> u128 {
        self.opened().state
    }

    /// The text of the file at `relative` below the root that ran at some time, the first for which `fits` holds.
    pub(crate) fn at(
        &self,
        relative: &Path,
        at: RecordedAt,
        fits: impl Fn(&Module) -> bool,
    ) -> Option<GitText> {
        let names = relative.components().map(|it| match it {
            Component::Normal(name) => name.to_str().map(str::to_owned),
            _ => None,
        });
        let names: Vec<String> = names.collect::<Option<_>>()?;
        self.with(|history| history.first_that_fits(at, &[names], fits))
    }

    /// The same of a file that was below the root then: the ends of its path are `names`, in as many of these as are most,
    /// and at least `least`.
    pub(crate) fn named(
        &self,
        names: &[&str],
        least: usize,
        at: RecordedAt,
        fits: impl Fn(&Module) -> bool,
    ) -> Option<GitText> {
        self.with(|history| {
            let paths = history.paths_named(at, names, least);
            history.first_that_fits(at, &paths, fits)
        })
    }

    /// The text with this id.
    pub(crate) fn text(&self, blob: GitBlob) -> Option<String> {
        self.with(|history| history.repository.text(ObjectId::from(blob.blob)))
    }

    fn opened(&self) -> &OpenedHistory {
        self.opened.get_or_init(|| {
            let mut state = StableHash::new();
            let history = caught(|| GitHistory::around(&self.root));
            if let Some(history) = &history {
                history.repository.add_state_to(&mut state);
            }
            OpenedHistory { state: state.0, history: Mutex::new(history) }
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut GitHistory) -> Option<T>) -> Option<T> {
        self.was_asked.store(true, Ordering::Relaxed);
        let mut history = self.opened().history.lock().unwrap_or_else(PoisonError::into_inner);
        // After a panic, what is left of it is not used any more.
        let mut taken = history.take()?;
        let (found, taken) = caught(move || Some((work(&mut taken), taken)))?;
        *history = Some(taken);
        found
    }
}

/// What `work` gives; nothing where it panics: a damaged repository must not take the recording with it.
fn caught<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok().flatten()
}

/// A text with what it says.
type TextWithModule = (Arc<str>, Arc<Module>);

/// When a recording began, and the commit that it names.
type MomentKey = (Option<i64>, Option<CommitId>);

/// The paths of the Python files of a tree, each as the names in it, by the last of them.
type PathsByName = Arc<BTreeMap<String, Vec<Vec<String>>>>;

/// A repository, with what was read of it.
struct GitHistory {
    repository: GitRepository,
    /// The names of the folders between the top of the repository and the root.
    prefix: Vec<String>,
    log: Vec<CheckedOut>,
    commits: HashMap<ObjectId, Option<GitCommit>>,
    texts: HashMap<ObjectId, Option<TextWithModule>>,
    /// The commits of the time of a recording, the likeliest first: by the log, and by their dates.
    by_log: BTreeMap<MomentKey, Arc<Vec<GitCommit>>>,
    by_date: BTreeMap<i64, Arc<Vec<GitCommit>>>,
    /// The paths of Python files below the root, in a tree of the whole repository.
    by_name: HashMap<ObjectId, PathsByName>,
}

impl GitHistory {
    fn around(root: &Path) -> Option<Self> {
        let repository = GitRepository::around(root)?;
        let below = root.strip_prefix(repository.top()).ok()?;
        let prefix =
            below.iter().map(|it| it.to_str().map(str::to_owned)).collect::<Option<_>>()?;
        Some(Self {
            log: repository.log(),
            repository,
            prefix,
            commits: HashMap::new(),
            texts: HashMap::new(),
            by_log: BTreeMap::new(),
            by_date: BTreeMap::new(),
            by_name: HashMap::new(),
        })
    }

    fn commit(&mut self, id: ObjectId) -> Option<GitCommit> {
        if let Some(known) = self.commits.get(&id) {
            return *known;
        }
        let commit = self.repository.commit(id);
        self.commits.insert(id, commit);
        commit
    }

    /// The first text of the files at `paths`, below the root, that fits, in the order of the commits.
    fn first_that_fits(
        &mut self,
        at: RecordedAt,
        paths: &[Vec<String>],
        fits: impl Fn(&Module) -> bool,
    ) -> Option<GitText> {
        let mut seen = BTreeSet::new();
        let by_log = self.by_log(at);
        if let Some(found) = self.first_in(&by_log, paths, &mut seen, &fits) {
            return Some(found);
        }
        let by_date = self.by_date(at.began?);
        self.first_in(&by_date, paths, &mut seen, &fits)
    }

    fn first_in(
        &mut self,
        commits: &[GitCommit],
        paths: &[Vec<String>],
        seen: &mut BTreeSet<ObjectId>,
        fits: &impl Fn(&Module) -> bool,
    ) -> Option<GitText> {
        for commit in commits {
            for path in paths {
                let whole: Vec<&String> = self.prefix.iter().chain(path).collect();
                let found = self.repository.entry(commit.tree, &whole);
                let Some((blob, false)) = found else { continue };
                if MAX_TEXTS <= seen.len() || !seen.insert(blob) {
                    continue;
                }
                let Some((text, module)) = self.text(blob) else { continue };
                if fits(&module) {
                    let id = |it: ObjectId| it.as_slice().try_into().ok();
                    let (blob, id) = (id(blob)?, id(commit.id)?);
                    let blob = GitBlob { blob, commit: CommitId(id), time: commit.time };
                    return Some(GitText { text, module, blob });
                }
            }
        }
        None
    }

    fn text(&mut self, blob: ObjectId) -> Option<TextWithModule> {
        if let Some(known) = self.texts.get(&blob) {
            return known.clone();
        }
        let text: Option<Arc<str>> = self.repository.text(blob).map(Into::into);
        let text = text.map(|it| (Arc::clone(&it), Arc::new(Module::parse(&it))));
        self.texts.insert(blob, text.clone());
        text
    }

    /// The commits of the time of a recording as the recording and the log name them, the likeliest first.
    fn by_log(&mut self, at: RecordedAt) -> Arc<Vec<GitCommit>> {
        let commit = at.commit.map(|it| it.id);
        let key = (at.began, commit);
        if let Some(known) = self.by_log.get(&key) {
            return Arc::clone(known);
        }
        let mut first: Vec<ObjectId> = commit.map(|it| ObjectId::from(it.0)).into_iter().collect();
        let mut near: Vec<(u64, ObjectId)> = Vec::new();
        if let Some(began) = at.began {
            // Clocks may have been set back, so that not all is in order.
            let next = self.log.partition_point(|it| it.since <= began);
            let then = match next.checked_sub(1).and_then(|it| self.log.get(it)) {
                Some(entry) => Some(entry.now),
                None => self.log.first().and_then(|it| it.before),
            };
            first.extend(then);
            // The log of a clone that was made later begins with whatever was the newest then.
            if then.is_some() {
                let later = self.log.iter().skip(next).take(MAX_COMMITS);
                near.extend(later.map(|it| (it.since.abs_diff(began), it.now)));
            }
            let mut parent = then.or(first.first().copied()).and_then(|it| self.commit(it)?.parent);
            for _ in 0..MAX_COMMITS {
                let Some(commit) = parent.and_then(|it| self.commit(it)) else { break };
                near.push((commit.time.abs_diff(began), commit.id));
                parent = commit.parent;
            }
        }
        near.sort_by_key(|(distance, _)| *distance);
        let mut seen = BTreeSet::new();
        let ids = first.into_iter().chain(near.into_iter().map(|(_, id)| id));
        let ids: Vec<ObjectId> = ids.filter(|it| seen.insert(*it)).collect();
        let commits: Vec<GitCommit> = ids.into_iter().filter_map(|it| self.commit(it)).collect();
        let commits = Arc::new(commits);
        self.by_log.insert(key, Arc::clone(&commits));
        commits
    }

    /// The commits of that time among those that the one checked out now was made from, by their dates: the last one before it,
    /// then those that are nearest.
    fn by_date(&mut self, began: i64) -> Arc<Vec<GitCommit>> {
        if let Some(known) = self.by_date.get(&began) {
            return Arc::clone(known);
        }
        let (mut later, mut before) = (Vec::new(), Vec::new());
        let mut next = self.repository.head();
        for _ in 0..MAX_WALK {
            let Some(commit) = next.and_then(|it| self.commit(it)) else { break };
            let side = if began < commit.time { &mut later } else { &mut before };
            side.push(commit);
            if MAX_COMMITS <= before.len() {
                break;
            }
            next = commit.parent;
        }
        // Where the walk did not get to the time, nothing is known of it.
        let is_there = !before.is_empty() || next.is_none();
        let mut commits: Vec<GitCommit> = before;
        let then = (!commits.is_empty()).then(|| commits.remove(0));
        if is_there {
            commits.extend(later.into_iter().rev().take(MAX_COMMITS));
        }
        commits.sort_by_key(|it| it.time.abs_diff(began));
        let commits: Arc<Vec<GitCommit>> = Arc::new(then.into_iter().chain(commits).collect());
        self.by_date.insert(began, Arc::clone(&commits));
        commits
    }

    /// The paths below the root, as they were then, that end as `names` do: those that agree longest, in at least `least`.
    fn paths_named(&mut self, at: RecordedAt, names: &[&str], least: usize) -> Vec<Vec<String>> {
        let then = self.by_log(at).first().copied();
        let then = then.or_else(|| self.by_date(at.began?).first().copied());
        let by_name = then.and_then(|it| self.by_name(it.tree));
        let Some((by_name, name)) = by_name.zip(names.last()) else { return Vec::new() };
        let n_common = |path: &Vec<String>| {
            path.iter().rev().zip(names.iter().rev()).take_while(|(a, b)| a == b).count()
        };
        let paths = by_name.get(*name).map_or(&[][..], Vec::as_slice);
        let most = paths.iter().map(n_common).max().unwrap_or(0).max(least);
        paths.iter().filter(|it| n_common(it) == most).cloned().collect()
    }

    fn by_name(&mut self, tree: ObjectId) -> Option<PathsByName> {
        if let Some(known) = self.by_name.get(&tree) {
            return Some(Arc::clone(known));
        }
        let mut by_name: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        let prefix = self.prefix.clone();
        let (root, true) = self.repository.entry(tree, &prefix)? else { return None };
        let mut folders = vec![(root, Vec::new())];
        let mut n_read = 0;
        while let Some((folder, path)) = folders.pop() {
            n_read += 1;
            if MAX_FOLDERS < n_read {
                break;
            }
            let Some(entries) = self.repository.tree(folder) else { continue };
            for entry in entries.iter() {
                let below = || path.iter().chain([&entry.name]).cloned().collect::<Vec<String>>();
                if !entry.is_folder && entry.name.ends_with(".py") {
                    by_name.entry(entry.name.clone()).or_default().push(below());
                } else if entry.is_folder && walk::is_entered(&entry.name, path.len()) {
                    folders.push((entry.id, below()));
                }
            }
        }
        let by_name = Arc::new(by_name);
        self.by_name.insert(tree, Arc::clone(&by_name));
        Some(by_name)
    }
}
