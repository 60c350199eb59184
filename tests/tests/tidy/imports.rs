//! Which file of a crate imports which: no circles, and in `attribution` no import of a layer above.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::crates;

/// The modules of `attribution`, each layer above the ones before it.
const LAYERS: &[&[&str]] = &[
    &["compute_pass"],
    &["checkpoints", "options", "names"],
    &[
        "callers",
        "captured_chains",
        "captured_stacks",
        "compile_log",
        "compiler_backends",
        "inferred",
        "input_elements",
        "line_log",
        "moved_lines",
        "origins",
        "same_run",
    ],
    &["event_stacks", "host_charges", "slack"],
    &["timeline_pass"],
    &["graph_captures"],
    &["charge", "graph_replays"],
    &["graphless_runs"],
    &["post"],
    &["lib"],
];

#[test]
fn files_do_not_import_one_another_in_a_circle() {
    let mut wrong = Vec::new();
    for it in crates() {
        let imports = Imports::of(&it.folder.join("src"));
        for (from, to) in imports.circles() {
            wrong.push(format!(
                "{}: {} imports {} ({}), which imports it in turn, perhaps through others: move what both need to a file below both",
                it.name,
                imports.files[from].name,
                imports.files[to].name,
                imports.edges[&(from, to)]
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_layer_of_attribution_imports_one_above_it() {
    let it = crates().into_iter().find(|it| it.name == "attribution").unwrap();
    let imports = Imports::of(&it.folder.join("src"));
    let layer = |file: usize| {
        let name = &imports.files[file].name;
        let module = name.trim_end_matches(".rs").split('/').next().unwrap_or_default();
        let found = LAYERS.iter().position(|layer| layer.contains(&module));
        found.unwrap_or_else(|| panic!("{name} is in none of LAYERS: add `{module}` to its layer"))
    };
    let mut wrong = Vec::new();
    for (&(from, to), path) in &imports.edges {
        if layer(from) < layer(to) {
            wrong.push(format!(
                "{} imports {} ({path}) from a layer above: move what it needs down, or hand it in",
                imports.files[from].name, imports.files[to].name
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn paths_lead_to_the_files_that_define_what_they_name() {
    let file = |name: &str, text: &str| SourceFile::new(name, text);
    let imports = Imports::new(vec![
        file("lib.rs", "mod a;\nmod b;\npub use a::One;\nuse b::two;"),
        file(
            "a.rs",
            "mod c;\nmod d;\npub(crate) use c::{Four, Five as Six};\n/// [`crate::b`]\nstruct One;",
        ),
        file("a/c.rs", "use super::One;\nlet text = \"crate::b::two\"; // crate::b::two"),
        file(
            "a/d.rs",
            "fn f() { super::c::f(); std::b::f() }\n#[cfg(test)]\nmod tests {\n use crate::b; }",
        ),
        file("b.rs", "use crate::{a::{Four, Six}, One};"),
    ]);
    let edges: Vec<(&str, &str)> = imports
        .edges
        .keys()
        .map(|&(from, to)| (&*imports.files[from].name, &*imports.files[to].name))
        .collect();
    let expected = [
        ("lib.rs", "b.rs"),
        ("a/c.rs", "a.rs"),
        ("a/d.rs", "a/c.rs"),
        ("b.rs", "a.rs"),
        ("b.rs", "a/c.rs"),
    ];
    assert_eq!(edges, expected);
    assert!(imports.circles().is_empty());
}

/// The files of a crate and their imports.
struct Imports {
    files: Vec<SourceFile>,
    /// The importing and the imported file, with a path by which that is so.
    edges: BTreeMap<(usize, usize), String>,
}

/// A source file without comments, texts and unit tests.
struct SourceFile {
    /// Path below `src`, with `/`.
    name: String,
    /// Path of the module.
    module: Vec<String>,
    tokens: Vec<String>,
}

/// A path in a file.
struct Used {
    segments: Vec<String>,
    /// The name that a `use` gives to what the path leads to.
    name: Option<String>,
    /// Whether it is re-exported.
    is_public: bool,
}

impl Imports {
    fn of(src: &Path) -> Self {
        let read = |path: PathBuf| {
            let name = path.strip_prefix(src).unwrap().to_str().unwrap().replace('\\', "/");
            let is_test = name.split('/').any(|part| matches!(part, "tests" | "tests.rs"));
            (!is_test).then(|| SourceFile::new(&name, &fs::read_to_string(&path).unwrap()))
        };
        Self::new(files_below(src).into_iter().filter_map(read).collect())
    }

    fn new(files: Vec<SourceFile>) -> Self {
        let modules: BTreeMap<Vec<String>, usize> =
            files.iter().enumerate().map(|(row, file)| (file.module.clone(), row)).collect();
        let used: Vec<Vec<Used>> = files.iter().map(SourceFile::paths).collect();
        let mut edges = BTreeMap::new();
        for (from, paths) in used.iter().enumerate() {
            for path in paths {
                let Some(absolute) = absolute(&files[from].module, &path.segments, &modules) else {
                    continue;
                };
                // A module that re-exports what its children define does not use them by that.
                let is_own_child = absolute.len() > files[from].module.len()
                    && absolute.starts_with(&files[from].module);
                if path.is_public && is_own_child {
                    continue;
                }
                let to = definition(&absolute, &files, &used, &modules, 8);
                if let Some(to) = to.filter(|&to| to != from) {
                    edges.entry((from, to)).or_insert_with(|| path.segments.join("::"));
                }
            }
        }
        Self { files, edges }
    }

    /// The imports that are part of a circle.
    fn circles(&self) -> Vec<(usize, usize)> {
        let edges = || self.edges.keys().copied();
        let reaches = |start: usize, goal: usize| {
            let mut seen = BTreeSet::from([start]);
            let mut next = vec![start];
            while let Some(at) = next.pop() {
                next.extend(
                    edges()
                        .filter(|edge| edge.0 == at)
                        .map(|edge| edge.1)
                        .filter(|to| seen.insert(*to)),
                );
            }
            seen.contains(&goal)
        };
        edges().filter(|&(from, to)| reaches(to, from)).collect()
    }
}

/// The path from the root of the crate, if it leads to something of the crate.
fn absolute(
    module: &[String],
    path: &[String],
    modules: &BTreeMap<Vec<String>, usize>,
) -> Option<Vec<String>> {
    let mut found = module.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (found, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|it| it == "super") {
                found.pop()?;
                rest = &rest[1..];
            }
        }
        child => {
            found.push(child.to_owned());
            return modules.contains_key(&found).then(|| [&found, &path[1..]].concat());
        }
    }
    Some([&found, rest].concat())
}

/// The file that defines what an absolute path names: the module that it leads to or, where that re-exports it, the one
/// that it is from.
fn definition(
    path: &[String],
    files: &[SourceFile],
    used: &[Vec<Used>],
    modules: &BTreeMap<Vec<String>, usize>,
    depth: u32,
) -> Option<usize> {
    let n_modules = (0..=path.len()).rev().find(|&n| modules.contains_key(&path[..n]))?;
    let row = modules[&path[..n_modules]];
    let exported = path.get(n_modules).filter(|_| depth > 0).and_then(|item| {
        used[row].iter().find(|it| it.is_public && it.name.as_ref() == Some(item))
    });
    let further = exported.and_then(|it| absolute(&files[row].module, &it.segments, modules));
    further.and_then(|path| definition(&path, files, used, modules, depth - 1)).or(Some(row))
}

impl SourceFile {
    fn new(name: &str, text: &str) -> Self {
        let mut module: Vec<String> =
            name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if matches!(module.last().map(String::as_str), Some("mod"))
            || matches!(name, "lib.rs" | "main.rs")
        {
            module.pop();
        }
        let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
        Self { name: name.to_owned(), module, tokens: tokens(text) }
    }

    /// All paths of more than one segment, and those of `use`.
    fn paths(&self) -> Vec<Used> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            if self.tokens[at] == "use" {
                // `pub use`, `pub(crate) use`
                let before = self.tokens[..at]
                    .iter()
                    .rev()
                    .take_while(|it| !matches!(it.as_str(), ";" | "}" | "]"));
                let is_public = before.take(5).any(|it| it == "pub");
                at = self.tree(at + 1, &[], is_public, &mut found);
            } else if is_word(&self.tokens[at]) {
                let start = at;
                let mut segments = vec![self.tokens[at].clone()];
                while self.tokens.get(at + 1).is_some_and(|it| it == "::")
                    && self.tokens.get(at + 2).is_some_and(|it| is_word(it))
                {
                    segments.push(self.tokens[at + 2].clone());
                    at += 2;
                }
                let before = start.checked_sub(1).map_or("", |before| self.tokens[before].as_str());
                if segments.len() > 1 && !matches!(before, "::" | ".") {
                    found.push(Used { segments, name: None, is_public: false });
                }
                at += 1;
            } else {
                at += 1;
            }
        }
        found
    }

    /// Reads a tree of `use` that begins at `at` below `prefix`: the position after it.
    fn tree(
        &self,
        mut at: usize,
        prefix: &[String],
        is_public: bool,
        found: &mut Vec<Used>,
    ) -> usize {
        let mut segments = prefix.to_vec();
        loop {
            match self.tokens.get(at).map(String::as_str) {
                Some("::") => at += 1,
                Some("{") => {
                    at += 1;
                    while self.tokens.get(at).is_some_and(|it| it != "}") {
                        at = self.tree(at, &segments, is_public, found);
                        at += usize::from(self.tokens.get(at).is_some_and(|it| it == ","));
                    }
                    return at + 1;
                }
                Some("self") if !segments.is_empty() => at += 1,
                Some("*") => at += 1,
                Some(word) if is_word(word) && word != "as" => {
                    segments.push(word.to_owned());
                    at += 1;
                }
                end => {
                    let mut name = segments.last().cloned();
                    if end == Some("as") {
                        name = self.tokens.get(at + 1).cloned();
                        at += 2;
                    }
                    found.push(Used { segments, name, is_public });
                    return at;
                }
            }
        }
    }
}

/// The Rust files in a folder and those in it.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn is_word(token: &str) -> bool {
    token.starts_with(|it: char| it.is_alphabetic() || it == '_')
}

/// Words, `::` and single characters, without comments and the contents of texts.
fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(rest.len());
        let n = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if word > 0
            && rest[word..].starts_with(['"', '#'])
            && matches!(&rest[..word], "r" | "br")
        {
            let n_hashes = rest[word..].len() - rest[word..].trim_start_matches('#').len();
            let end = format!("\"{}", "#".repeat(n_hashes));
            let start = word + n_hashes + 1;
            rest.get(start..)
                .and_then(|it| it.find(&end))
                .map_or(rest.len(), |at| start + at + end.len())
        } else if first == '"' {
            let mut is_escaped = false;
            let end = rest[1..].find(|it| {
                let is_end = it == '"' && !is_escaped;
                is_escaped = it == '\\' && !is_escaped;
                is_end
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if first == '\'' {
            // A character; the rest are lifetimes.
            let mut chars = rest.char_indices().skip(1);
            let (_, inner) = chars.next().unwrap_or((0, ' '));
            let end = if inner == '\\' { rest[2..].find('\'').map(|end| end + 3) } else { None };
            let plain = chars.next().filter(|&(_, it)| it == '\'').map(|(at, _)| at + 1);
            if inner == '\\' && rest.starts_with("'\\''") { 4 } else { end.or(plain).unwrap_or(1) }
        } else if word > 0 {
            found.push(rest[..word].to_owned());
            word
        } else if rest.starts_with("::") {
            found.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                found.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = rest.get(n..).unwrap_or_default();
    }
    found
}
