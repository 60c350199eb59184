//! Makes git repositories without git, for tests.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::expect_used)] // A test that cannot go on says why.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix_hash::ObjectId;
use gix_object::{Kind, Write as _};
use gix_odb::loose::Store;

/// Makes a file one that was changed at this time, in seconds since the Unix epoch.
pub(crate) fn set_time(path: &Path, time: i64) {
    let file = fs::File::options().append(true).open(path).expect("opened");
    let since = Duration::from_secs(u64::try_from(time).expect("a time"));
    file.set_modified(SystemTime::UNIX_EPOCH + since).expect("set");
}

/// The branch that is checked out first.
const MAIN: &str = "refs/heads/main";

/// A repository whose work tree is `top`, of which only the folder `.git` is written.
pub(crate) struct Repository {
    pub(crate) git: PathBuf,
    objects: Store,
    head: Option<ObjectId>,
    /// All objects, for [`Self::pack`].
    all: BTreeMap<ObjectId, (Kind, Vec<u8>)>,
}

impl Repository {
    pub(crate) fn new(top: &Path) -> Self {
        Self::at(&top.join(".git"))
    }

    /// One whose folder is `git`.
    pub(crate) fn at(git: &Path) -> Self {
        for folder in ["objects/pack", "objects/info", "refs/heads", "logs"] {
            fs::create_dir_all(git.join(folder)).expect("a folder");
        }
        fs::write(git.join("HEAD"), format!("ref: {MAIN}\n")).expect("written");
        let objects = Store::at(git.join("objects"), gix_hash::Kind::Sha1);
        Self { git: git.to_owned(), objects, head: None, all: BTreeMap::new() }
    }

    /// Commits these files and no others, at this time.
    pub(crate) fn commit(&mut self, files: &[(&str, &str)], time: i64) -> ObjectId {
        let id = self.commit_aside(files, time);
        fs::write(self.git.join(MAIN), format!("{id}\n")).expect("written");
        self.note(id, time);
        id
    }

    /// The same, as something that others did: it is not checked out.
    pub(crate) fn commit_aside(&mut self, files: &[(&str, &str)], time: i64) -> ObjectId {
        let tree = self.tree(files);
        let mut text = format!("tree {tree}\n");
        if let Some(parent) = self.head {
            writeln!(text, "parent {parent}").expect("a line");
        }
        let by = format!("A U Thor <author@example.com> {time} +0100");
        write!(text, "author {by}\ncommitter {by}\n\nWhat was done\n").expect("lines");
        self.object(Kind::Commit, text.as_bytes())
    }

    /// Checks a commit out, at this time.
    pub(crate) fn check_out(&mut self, id: ObjectId, time: i64) {
        fs::write(self.git.join("HEAD"), format!("{id}\n")).expect("written");
        self.note(id, time);
    }

    fn note(&mut self, now: ObjectId, time: i64) {
        let before = self.head.unwrap_or(gix_hash::Kind::Sha1.null());
        let line =
            format!("{before} {now} A U Thor <author@example.com> {time} +0100\tcommit: it\n");
        let log = fs::File::options().append(true).create(true).open(self.git.join("logs/HEAD"));
        log.and_then(|mut it| it.write_all(line.as_bytes())).expect("noted");
        self.head = Some(now);
    }

    fn tree(&mut self, files: &[(&str, &str)]) -> ObjectId {
        let mut folders: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        // By name; folders as if their names ended in a slash.
        let mut entries: BTreeMap<String, (&str, ObjectId)> = BTreeMap::new();
        for (path, text) in files {
            match path.split_once('/') {
                Some((folder, rest)) => folders.entry(folder).or_default().push((rest, text)),
                None => {
                    let blob = self.object(Kind::Blob, text.as_bytes());
                    entries.insert((*path).to_owned(), ("100644", blob));
                }
            }
        }
        for (folder, files) in folders {
            let tree = self.tree(&files);
            entries.insert(format!("{folder}/"), ("40000", tree));
        }
        let mut bytes = Vec::new();
        for (name, (mode, id)) in entries {
            bytes.extend(format!("{mode} {}\0", name.trim_end_matches('/')).into_bytes());
            bytes.extend(id.as_slice());
        }
        self.object(Kind::Tree, &bytes)
    }

    fn object(&mut self, kind: Kind, bytes: &[u8]) -> ObjectId {
        let id = self.objects.write_buf(kind, bytes).expect("written");
        self.all.insert(id, (kind, bytes.to_owned()));
        id
    }

    /// Puts all objects into one pack, and the branch into the file of packed references.
    pub(crate) fn pack(&self) {
        let count = u32::try_from(self.all.len()).expect("few");
        let mut pack = [b"PACK".as_slice(), &2u32.to_be_bytes(), &count.to_be_bytes()].concat();
        let mut entries = Vec::new();
        for (id, (kind, bytes)) in &self.all {
            let offset = u32::try_from(pack.len()).expect("small");
            let kind = match kind {
                Kind::Commit => 1,
                Kind::Tree => 2,
                Kind::Blob => 3,
                Kind::Tag => 4,
            };
            let entry = packed(kind, bytes);
            let mut crc = flate2::Crc::new();
            crc.update(&entry);
            pack.extend(&entry);
            entries.push((id, crc.sum(), offset));
        }
        let checksum = sha1(&pack);
        pack.extend(checksum.as_slice());
        let mut index = [b"\xfftOc".as_slice(), &2u32.to_be_bytes()].concat();
        for first in 0..=255 {
            let upto = entries.iter().filter(|(id, ..)| id.as_slice()[0] <= first).count();
            index.extend(u32::try_from(upto).expect("few").to_be_bytes());
        }
        entries.iter().for_each(|(id, ..)| index.extend(id.as_slice()));
        entries.iter().for_each(|(_, crc, _)| index.extend(crc.to_be_bytes()));
        entries.iter().for_each(|(.., offset)| index.extend(offset.to_be_bytes()));
        index.extend(checksum.as_slice());
        let own = sha1(&index);
        index.extend(own.as_slice());
        let folder = self.git.join("objects");
        fs::write(folder.join(format!("pack/pack-{checksum}.pack")), pack).expect("written");
        fs::write(folder.join(format!("pack/pack-{checksum}.idx")), index).expect("written");
        for id in self.all.keys() {
            let name = id.to_string();
            fs::remove_file(folder.join(&name[..2]).join(&name[2..])).expect("removed");
        }
        let head = self.head.expect("a commit");
        let references = format!("# pack-refs with: peeled fully-peeled sorted\n{head} {MAIN}\n");
        fs::write(self.git.join("packed-refs"), references).expect("written");
        fs::remove_file(self.git.join(MAIN)).expect("removed");
    }
}

/// An entry of a pack: kind and length in groups of bits, then the content.
fn packed(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut left = bytes.len();
    let mut entry = vec![kind << 4 | u8::try_from(left & 15).expect("four bits")];
    left >>= 4;
    while left != 0 {
        if let Some(last) = entry.last_mut() {
            *last |= 128;
        }
        entry.push(u8::try_from(left & 127).expect("seven bits"));
        left >>= 7;
    }
    let mut content = ZlibEncoder::new(entry, Compression::fast());
    content.write_all(bytes).expect("packed");
    content.finish().expect("packed")
}

fn sha1(bytes: &[u8]) -> ObjectId {
    let mut hasher = gix_hash::hasher(gix_hash::Kind::Sha1);
    hasher.update(bytes);
    hasher.try_finalize().expect("a hash")
}
