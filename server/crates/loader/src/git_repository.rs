//! A git repository, read without git: its commits, their trees and blobs, and what was checked out when.
//!
//! A repository may come from a stranger, like the recording in it. Nothing that it configures is read, let alone obeyed: no
//! hook, filter, monitor or helper is known here, no object is replaced by another, none is fetched. What is read lies in the
//! folder of the repository, without links; another object database (`alternates`) and another folder (`gitdir:`) are
//! followed only where the latter is that of a work tree or a submodule. Work is bounded, and a damaged repository is one
//! in which nothing is found.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gix_hash::ObjectId;
use gix_object::{CommitRefIter, Find, Kind, TreeRefIter};
use gix_odb::store::init::{Options, Slots};
use recorded::CommitId;

use crate::file_identity::FileIdentity;
use crate::plain_file;
use crate::stable_hash::StableHash;

/// Bytes of the largest object that is read, and of each of the parts that git makes one from.
const MAX_OBJECT: usize = 16 << 20;

/// Bytes of all objects that one load reads.
const MAX_BYTES: usize = 64 << 20;

/// Objects that one load reads.
const MAX_OBJECTS: usize = 8192;

/// How long a load may spend on reading objects; far more than the above take in a repository that nobody made to be slow.
const MAX_TIME: Duration = Duration::from_secs(2);

/// Bytes of the end of the log of what was checked out: some thousand entries.
const MAX_LOG: u64 = 1 << 20;

/// Bytes of a file that names a commit, a branch or a folder.
const MAX_NAME: u64 = 4 << 10;

/// Bytes of the file of packed references: some hundred thousand.
const MAX_PACKED_REFERENCES: u64 = 32 << 20;

/// Files in the folder of packs; git puts a repository in order long before.
const MAX_PACK_FILES: usize = 10_000;

/// Where a repository lies. All without links.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GitFolders {
    /// The folder whose content is under version control.
    top: PathBuf,
    /// What is checked out.
    own: PathBuf,
    /// Objects and branches, which the work trees of a repository share.
    common: PathBuf,
}

impl GitFolders {
    /// The repository that holds `root`, which has no links: the nearest above it.
    fn around(root: &Path) -> Option<Self> {
        for top in root.ancestors() {
            let entry = top.join(".git");
            let Ok(found) = entry.symlink_metadata() else { continue };
            if found.is_dir() && !entry.join("HEAD").exists() {
                continue;
            }
            if !plain_file::has_known_owner(&found, root) {
                return None;
            }
            let top = top.to_owned();
            if found.is_dir() {
                return Some(Self { top, own: entry.clone(), common: entry });
            }
            return Self::linked(top, &entry).filter(|it| {
                let has_known_owner = |path: &Path| {
                    path.metadata().is_ok_and(|it| plain_file::has_known_owner(&it, root))
                };
                has_known_owner(&it.own) && has_known_owner(&it.common)
            });
        }
        None
    }

    /// The repository of a work tree or a submodule, whose `.git` is a file that names its folder. Whoever wrote that file may
    /// not choose any folder: it has to be below the same one, or to belong to `top` by what is written there.
    fn linked(top: PathBuf, entry: &Path) -> Option<Self> {
        let text = read_text(entry, MAX_NAME)?;
        let own = joined(&top, text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
        if own.starts_with(&top) {
            return Some(Self { top, common: own.clone(), own });
        }
        if let Some(common) = own.parent().filter(|it| it.ends_with("worktrees"))
            && let Some(common) = common.parent()
        {
            let back = joined(&own, read_text(&own.join("gitdir"), MAX_NAME)?.trim());
            let is_of_top = back.canonicalize().is_ok_and(|it| it == entry);
            return is_of_top.then(|| Self { top, common: common.to_owned(), own: own.clone() });
        }
        let modules = |above: &Path| above.join(".git").join("modules");
        let is_submodule = top.ancestors().skip(1).any(|it| own.starts_with(modules(it)));
        is_submodule.then(|| Self { top, common: own.clone(), own })
    }
}

/// A commit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GitCommit {
    pub(crate) id: ObjectId,
    /// Seconds since the Unix epoch.
    pub(crate) time: i64,
    pub(crate) tree: ObjectId,
    /// The first one.
    pub(crate) parent: Option<ObjectId>,
}

/// What is in a folder of a commit.
#[derive(Debug)]
pub(crate) struct GitTreeEntry {
    pub(crate) name: String,
    pub(crate) id: ObjectId,
    pub(crate) is_folder: bool,
}

/// An entry of the log of what was checked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CheckedOut {
    /// What was checked out before; `None` where nothing was.
    pub(crate) before: Option<ObjectId>,
    pub(crate) now: ObjectId,
    /// Seconds since the Unix epoch.
    pub(crate) since: i64,
}

/// A repository that is open.
pub(crate) struct GitRepository {
    folders: GitFolders,
    objects: gix_odb::HandleArc,
    trees: HashMap<ObjectId, Arc<Vec<GitTreeEntry>>>,
    bytes_left: usize,
    objects_left: usize,
    spent: Duration,
}

impl GitRepository {
    /// The one that holds `root`, which has no links.
    pub(crate) fn around(root: &Path) -> Option<Self> {
        let folders = GitFolders::around(root)?;
        let objects = open_objects(&folders.common)?;
        Some(Self {
            folders,
            objects,
            trees: HashMap::new(),
            bytes_left: MAX_BYTES,
            objects_left: MAX_OBJECTS,
            spent: Duration::ZERO,
        })
    }

    /// The folder whose content is under version control.
    pub(crate) fn top(&self) -> &Path {
        &self.folders.top
    }

    /// Adds to a hash what changes when something else is checked out, or was.
    pub(crate) fn add_state_to(&self, hash: &mut StableHash) {
        let GitFolders { own, common, .. } = &self.folders;
        hash.bytes(own.as_os_str().as_encoded_bytes());
        hash.bytes(self.head().map_or(Vec::new(), |it| it.as_slice().to_owned()).as_slice());
        for path in [log_file(own), common.join("shallow")] {
            hash.number(i64::from(path.exists()));
            if let Some(identity) = FileIdentity::of_path(&path) {
                identity.add_to(hash);
            }
        }
    }

    /// The commit that is checked out.
    pub(crate) fn head(&self) -> Option<ObjectId> {
        let GitFolders { own, common, .. } = &self.folders;
        let head = read_text(&own.join("HEAD"), MAX_NAME)?;
        let Some(branch) = head.strip_prefix("ref:") else { return object_id(head.trim()) };
        let branch = branch.trim();
        let is_plain =
            |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('\\');
        if !branch.starts_with("refs/") || !branch.split('/').all(is_plain) {
            return None;
        }
        let place = joined(common, branch);
        if let Some(id) = read_text(&place, MAX_NAME) {
            return object_id(id.trim());
        }
        let packed = read_text(&common.join("packed-refs"), MAX_PACKED_REFERENCES)?;
        let named = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            (name == branch).then(|| object_id(id))?
        };
        packed.lines().find_map(named)
    }

    /// What was checked out when, oldest first, as far back as the end of the log reaches.
    pub(crate) fn log(&self) -> Vec<CheckedOut> {
        let read = || -> Option<String> {
            let mut file = open_plain(&log_file(&self.folders.own), u64::MAX)?;
            let length = file.metadata().ok()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(MAX_LOG))).ok()?;
            let mut bytes = Vec::new();
            file.take(MAX_LOG).read_to_end(&mut bytes).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        // The first line may be a part of one, which is no entry.
        read().unwrap_or_default().lines().filter_map(log_entry).collect()
    }

    pub(crate) fn commit(&mut self, id: ObjectId) -> Option<GitCommit> {
        let bytes = self.object(id, Kind::Commit)?;
        let parts = || CommitRefIter::from_bytes(&bytes, id.kind());
        Some(GitCommit {
            id,
            time: parts().committer().ok()?.seconds(),
            tree: parts().tree_id().ok()?,
            parent: parts().parent_ids().next(),
        })
    }

    /// The files and folders of a tree, without links and submodules.
    pub(crate) fn tree(&mut self, id: ObjectId) -> Option<Arc<Vec<GitTreeEntry>>> {
        if let Some(known) = self.trees.get(&id) {
            return Some(Arc::clone(known));
        }
        let bytes = self.object(id, Kind::Tree)?;
        let mut entries = Vec::new();
        for entry in TreeRefIter::from_bytes(&bytes, id.kind()) {
            let entry = entry.ok()?;
            let Ok(name) = std::str::from_utf8(entry.filename) else { continue };
            if entry.mode.is_tree() || entry.mode.is_blob() {
                entries.push(GitTreeEntry {
                    name: name.to_owned(),
                    id: entry.oid.to_owned(),
                    is_folder: entry.mode.is_tree(),
                });
            }
        }
        let entries = Arc::new(entries);
        self.trees.insert(id, Arc::clone(&entries));
        Some(entries)
    }

    /// What lies at `path` below a tree, by its names: its id, and whether it is a folder.
    pub(crate) fn entry(
        &mut self,
        tree: ObjectId,
        path: &[impl AsRef<str>],
    ) -> Option<(ObjectId, bool)> {
        let mut place = (tree, true);
        for name in path {
            let (folder, true) = place else { return None };
            let entries = self.tree(folder)?;
            let entry = entries.iter().find(|it| it.name == name.as_ref())?;
            place = (entry.id, entry.is_folder);
        }
        Some(place)
    }

    /// The text of a file.
    pub(crate) fn text(&mut self, id: ObjectId) -> Option<String> {
        let text = String::from_utf8(self.object(id, Kind::Blob)?);
        Some(text.unwrap_or_else(|it| String::from_utf8_lossy(it.as_bytes()).into_owned()))
    }

    fn object(&mut self, id: ObjectId, kind: Kind) -> Option<Vec<u8>> {
        self.objects_left = self.objects_left.checked_sub(1)?;
        if self.bytes_left == 0 || MAX_TIME < self.spent || !self.is_plain(id) {
            return None;
        }
        let begin = Instant::now();
        let mut bytes = Vec::new();
        let found = self.objects.try_find(&id, &mut bytes).ok().flatten().map(|it| it.kind);
        self.spent += begin.elapsed();
        self.bytes_left = self.bytes_left.saturating_sub(bytes.len());
        (found == Some(kind)).then_some(bytes)
    }

    /// Whether the file that an object has of its own, if it has one, is a regular one where it seems to be.
    fn is_plain(&self, id: ObjectId) -> bool {
        let name = id.to_string();
        let (folder, file) = name.split_at(2);
        let folder = self.folders.common.join("objects").join(folder);
        if folder.symlink_metadata().is_err() {
            return true;
        }
        is_real(&folder) && folder.join(file).symlink_metadata().map_or(true, |it| it.is_file())
    }
}

/// The objects of a repository. `None` where some would come from elsewhere.
fn open_objects(common: &Path) -> Option<gix_odb::HandleArc> {
    let folder = common.join("objects");
    let packs = folder.join("pack");
    let info = folder.join("info");
    let is_absent = |path: &Path| path.symlink_metadata().is_err();
    if !is_real(&folder)
        || !(is_absent(&info) || is_real(&info) && is_absent(&info.join("alternates")))
        || !(is_absent(&packs) || is_real(&packs))
    {
        return None;
    }
    for (n_seen, entry) in fs::read_dir(&packs).into_iter().flatten().flatten().enumerate() {
        let kind = entry.file_type().ok()?;
        if MAX_PACK_FILES < n_seen || !(kind.is_file() || kind.is_dir()) {
            return None;
        }
    }
    let options = Options {
        slots: Slots::default(),
        // Each pack has an index of its own beside it.
        use_multi_pack_index: false,
        alloc_limit_bytes: Some(MAX_OBJECT),
        current_dir: Some(folder.clone()),
        ..Options::default()
    };
    let kind = gix_hash::Kind::Sha1;
    let mut none = std::iter::empty();
    let store = gix_odb::Store::at_opts(folder, kind, &mut none, options).ok()?;
    let mut objects = Arc::new(store).to_cache_arc();
    // What is missing stays so for this load.
    objects.refresh_never();
    Some(objects)
}

/// The path that git wrote as `path`, seen from `folder`, which has no links: Windows resolves neither `/` nor `..` in such.
fn joined(folder: &Path, path: &str) -> PathBuf {
    if Path::new(path).is_absolute() {
        return PathBuf::from(path);
    }
    let mut place = folder.to_owned();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(place.pop()),
            name => place.push(name),
        }
    }
    place
}

/// Whether a path is without links.
fn is_real(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|it| it == path)
}

fn open_plain(path: &Path, max_bytes: u64) -> Option<fs::File> {
    if is_real(path) { plain_file::open(path, max_bytes) } else { None }
}

fn read_text(path: &Path, max_bytes: u64) -> Option<String> {
    let mut text = String::new();
    open_plain(path, max_bytes)?.take(max_bytes).read_to_string(&mut text).ok()?;
    Some(text)
}

fn log_file(own: &Path) -> PathBuf {
    own.join("logs").join("HEAD")
}

/// The id of a commit, of its hexadecimal digits.
pub(crate) fn commit_id(hex: &str) -> Option<CommitId> {
    object_id(hex)?.as_slice().try_into().ok().map(CommitId)
}

fn object_id(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}

/// `BEFORE NOW NAME <ADDRESS> SECONDS ZONE`, then a tab and what was done.
fn log_entry(line: &str) -> Option<CheckedOut> {
    let (entry, _) = line.split_once('\t').unwrap_or((line, ""));
    let (rest, _zone) = entry.rsplit_once(' ')?;
    let (rest, since) = rest.rsplit_once(' ')?;
    let mut ids = rest.splitn(3, ' ');
    let (before, now) = (object_id(ids.next()?)?, object_id(ids.next()?)?);
    let is_some = |id: &ObjectId| !id.is_null();
    is_some(&now).then_some(())?;
    Some(CheckedOut { before: Some(before).filter(is_some), now, since: since.parse().ok()? })
}
