//! The boundaries between the crates, as ARCHITECTURE.md draws them, and what no file of the repository may contain.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

mod imports;
mod type_names;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use tests::fixtures::{read_gz, repository};

/// Which of our crates each crate may use.
const CRATES: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("profile", &["units"]),
    ("ledger", &["units"]),
    ("ledger-file", &["ledger", "profile"]),
    ("metrics", &["ledger"]),
    ("ranks", &["ledger"]),
    ("comparison", &["ledger", "metrics", "pysource"]),
    ("trace-reader", &["profile"]),
    ("snapshot-reader", &["profile"]),
    ("compile-log", &["profile"]),
    ("flight-recorder", &["snapshot-reader"]),
    ("remote-files", &[]),
    ("pysource", &[]),
    ("recorded", &["ledger", "profile", "pysource"]),
    ("call-sites", &["ledger", "profile", "pysource", "recorded"]),
    ("bug-report", &["ledger", "recorded", "stack-books", "trace-reader"]),
    ("stack-books", &["ledger"]),
    ("event-timeline", &["ledger", "stack-books"]),
    ("line-stacks", &["ledger", "profile", "recorded", "stack-books"]),
    (
        "device-memory",
        &["event-timeline", "ledger", "line-stacks", "profile", "recorded", "stack-books"],
    ),
    ("run-summary", &["ledger", "profile", "recorded"]),
    ("critical-path", &["ledger", "profile", "recorded", "run-summary"]),
    (
        "attribution",
        &[
            "call-sites",
            "critical-path",
            "device-memory",
            "event-timeline",
            "ledger",
            "line-stacks",
            "profile",
            "pysource",
            "recorded",
            "run-summary",
            "stack-books",
        ],
    ),
    ("insights", &["ledger", "metrics", "ranks"]),
    ("ide", &["comparison", "insights", "ledger", "metrics", "pysource", "ranks"]),
    ("budget", &["ide", "insights", "metrics"]),
    (
        "loader",
        &[
            "attribution",
            "compile-log",
            "device-memory",
            "event-timeline",
            "flight-recorder",
            "ledger",
            "ledger-file",
            "profile",
            "pysource",
            "recorded",
            "remote-files",
            "snapshot-reader",
            "stack-books",
            "trace-reader",
        ],
    ),
    (
        "report",
        &[
            "budget",
            "comparison",
            "device-memory",
            "event-timeline",
            "ide",
            "insights",
            "ledger",
            "loader",
            "metrics",
            "profile",
            "pysource",
            "ranks",
            "stack-books",
        ],
    ),
    ("settings", &["budget", "ide", "loader"]),
    ("top-screen", &["ide", "metrics", "pysource", "report"]),
    ("view-server", &[]),
    (
        "lsp",
        &[
            "ide",
            "insights",
            "ledger",
            "loader",
            "metrics",
            "pysource",
            "report",
            "settings",
            "view-server",
        ],
    ),
    ("mcp", &["ide", "insights", "loader", "report", "settings"]),
    (
        "perfline",
        &[
            "budget",
            "bug-report",
            "insights",
            "loader",
            "lsp",
            "mcp",
            "metrics",
            "profile",
            "report",
            "settings",
            "top-screen",
            "view-server",
        ],
    ),
    (
        "fuzz",
        &[
            "compile-log",
            "flight-recorder",
            "ledger",
            "ledger-file",
            "loader",
            "lsp",
            "profile",
            "pysource",
            "settings",
            "snapshot-reader",
            "trace-reader",
        ],
    ),
    (
        "tests",
        &[
            "attribution",
            "call-sites",
            "comparison",
            "device-memory",
            "event-timeline",
            "insights",
            "ledger",
            "loader",
            "metrics",
            "profile",
            "pysource",
            "ranks",
            "recorded",
            "report",
            "snapshot-reader",
            "stack-books",
            "top-screen",
            "trace-reader",
        ],
    ),
];

/// Crates of others that only these of ours may use. A name that ends in `*` stands for all that begin so.
const RESERVED: &[(&str, &[&str])] = &[
    ("ruff_*", &["pysource"]),
    ("tower*", &["lsp"]),
    ("lsp-types", &["lsp"]),
    ("rmcp", &["mcp"]),
    ("tokio*", &["fuzz", "lsp", "mcp", "remote-files", "view-server"]),
    ("object_store", &["remote-files"]),
    ("reqwest", &["remote-files"]),
    ("rustls", &["remote-files"]),
    ("hyper*", &["view-server"]),
    ("http*", &["view-server"]),
    ("clap*", &["perfline"]),
    ("indicatif", &["perfline"]),
    ("ruzstd", &["loader"]),
    // Tests of the others make repositories.
    ("gix*", &["loader", "lsp", "perfline"]),
    ("maud", &["report"]),
    ("plotters*", &["report"]),
    ("prost*", &["report"]),
    ("toml*", &["budget", "settings"]),
];

/// Crates that turn values into values.
const CORE: &[&str] = &[
    "units",
    "budget",
    "bug-report",
    "comparison",
    "profile",
    "ledger",
    "ledger-file",
    "metrics",
    "ranks",
    "trace-reader",
    "snapshot-reader",
    "compile-log",
    "flight-recorder",
    "pysource",
    "recorded",
    "call-sites",
    "stack-books",
    "event-timeline",
    "line-stacks",
    "device-memory",
    "run-summary",
    "critical-path",
    "attribution",
    "insights",
    "ide",
    "report",
    "settings",
    "top-screen",
];

#[test]
fn every_crate_is_on_the_map() {
    let found: BTreeSet<String> = crates().into_iter().map(|it| it.name).collect();
    let map: BTreeSet<String> = CRATES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, map);
}

/// README's first command is `cargo run`, without the name of a program.
#[test]
fn cargo_run_is_perfline() {
    let metadata = metadata();
    let default = metadata.workspace_default_packages();
    let targets = default.iter().flat_map(|it| &it.targets).filter(|it| it.is_bin());
    let programs: Vec<&str> = targets.map(|it| it.name.as_str()).collect();
    assert_eq!(programs, ["perfline"]);
}

#[test]
fn dependencies_point_one_way() {
    let ours: BTreeSet<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    let mut wrong = Vec::new();
    for it in crates() {
        let allowed = CRATES
            .iter()
            .find(|(name, _)| *name == it.name)
            .map_or(&[][..], |(_, allowed)| allowed);
        for used in it.dependencies.iter().filter(|used| ours.contains(used.as_str())) {
            if !allowed.contains(&used.as_str()) {
                wrong.push(format!("{} may not depend on {used}", it.name));
            }
        }
        // The corpus of the fuzz targets is varied by the tests' own means.
        if it.name != "fuzz" && it.all_dependencies.iter().any(|used| used == "tests") {
            wrong.push(format!("{} may not depend on the crate of the tests", it.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_foreign_interface_has_one_crate() {
    let mut wrong = Vec::new();
    for it in crates() {
        for (reserved, owners) in RESERVED.iter().filter(|(_, all)| !all.contains(&&*it.name)) {
            let matches = |used: &&String| match reserved.strip_suffix('*') {
                Some(prefix) => used.starts_with(prefix),
                None => used == reserved,
            };
            wrong.extend(
                it.all_dependencies
                    .iter()
                    .filter(matches)
                    .map(|used| format!("{} uses {used}; only {} may", it.name, owners.join(", "))),
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Clippy reports what `server/crates/clippy.toml` disallows; a crate with a `clippy.toml` of its own does not read that one.
#[test]
fn core_crates_do_no_io() {
    let disallowed = fs::read_to_string(repository().join("server/crates/clippy.toml")).unwrap();
    assert!(disallowed.contains("std::fs::read\""));
    let exempt: Vec<String> = crates()
        .into_iter()
        .filter(|it| CORE.contains(&it.name.as_str()))
        .filter(|it| {
            !it.folder.starts_with(repository().join("server/crates"))
                || it.folder.join("clippy.toml").exists()
        })
        .map(|it| it.name)
        .collect();
    assert!(
        exempt.is_empty(),
        "core crates without the rules of server/crates/clippy.toml: {exempt:?}"
    );
}

#[test]
fn every_crate_says_what_it_owns_and_what_it_never_does() {
    let mut wrong = Vec::new();
    for it in crates() {
        let root = ["src/lib.rs", "src/main.rs"]
            .map(|it_| it.folder.join(it_))
            .into_iter()
            .find(|path| path.exists())
            .unwrap();
        let text = fs::read_to_string(root).unwrap();
        let docs: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        for part in ["*Owns*:", "*Never*:", "*The test"] {
            if !docs.contains(part) {
                wrong.push(format!("{}: {part}", it.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_oldest_compiler_is_named_once() {
    let workspace = fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    assert_eq!(workspace.matches("\nrust-version = \"").count(), 1);
    for it in crates() {
        let text = fs::read_to_string(it.folder.join("Cargo.toml")).unwrap();
        for line in [
            "rust-version.workspace = true",
            "[lints]\nworkspace = true",
            "license.workspace = true",
        ] {
            assert!(text.contains(line), "{} lacks {line}", it.name);
        }
    }
}

#[test]
fn kept_ledgers_are_of_one_build_of_all_crates_that_they_go_through() {
    let crates = crates();
    let find = |name: &str| crates.iter().find(|it| it.name == name);
    let (mut needed, mut open) = (BTreeSet::new(), vec!["loader"]);
    while let Some(it) = open.pop().and_then(find) {
        if needed.insert(it.name.as_str()) {
            open.extend(it.dependencies.iter().map(String::as_str).filter(|it| find(it).is_some()));
        }
    }
    assert!(needed.contains("trace-reader"), "{needed:?}");
    let script = fs::read_to_string(find("loader").unwrap().folder.join("build.rs")).unwrap();
    needed.retain(|name| !script.contains(&format!("\"crates/{name}/src\"")));
    assert!(needed.is_empty(), "server/crates/loader/build.rs lacks {needed:?}");
}

#[test]
fn no_file_names_the_machine_it_was_made_on() {
    // Put together here, so that this file does not contain them.
    let paths = [["/wo", "rk/"].concat(), ["/ro", "ot/"].concat()];
    let mut wrong = Vec::new();
    for path in tracked() {
        let bytes = match path.extension().is_some_and(|it| it == "gz") {
            true => read_gz(&path).unwrap(),
            false => fs::read(&path).unwrap(),
        };
        let text = String::from_utf8_lossy(&bytes);
        wrong.extend(
            paths
                .iter()
                .filter(|it| text.contains(it.as_str()))
                .map(|it| format!("{}: {it}", path.display())),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn packages_come_from_the_public_registries() {
    let public =
        ["https://registry.npmjs.org/", "registry+https://github.com/rust-lang/crates.io-index"];
    let mut wrong = Vec::new();
    for path in tracked() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.contains("lock") {
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let key = line.trim().split([':', '=']).next().unwrap_or_default();
            let is_source =
                matches!(key.trim().trim_matches('"'), "resolved" | "source" | "registry");
            if is_source && line.contains("//") && !public.iter().any(|it| line.contains(it)) {
                wrong.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

struct Crate {
    name: String,
    folder: PathBuf,
    /// Names under `[dependencies]` and `[build-dependencies]`; for the tests, under `[dev-dependencies]` too.
    dependencies: Vec<String>,
    /// The same with `[dev-dependencies]`.
    all_dependencies: Vec<String>,
}

/// The members of the workspace.
fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(repository().join("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .unwrap()
}

fn crates() -> Vec<Crate> {
    metadata().workspace_packages().into_iter().map(read_crate).collect()
}

fn read_crate(package: &Package) -> Crate {
    let name = package.name.to_string();
    let names = |is_taken: &dyn Fn(DependencyKind) -> bool| {
        let dependencies = package.dependencies.iter().filter(|it| is_taken(it.kind));
        dependencies.map(|it| it.name.clone()).collect()
    };
    Crate {
        folder: package.manifest_path.parent().unwrap().into(),
        dependencies: names(&|kind| kind != DependencyKind::Development || name == "tests"),
        all_dependencies: names(&|_| true),
        name,
    }
}

/// The files under version control that are there.
fn tracked() -> Vec<PathBuf> {
    let root = repository();
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(&root).output().unwrap();
    assert!(
        output.status.success(),
        "the list of files comes from git: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let names = String::from_utf8(output.stdout).unwrap();
    let paths: Vec<PathBuf> =
        names.split('\0').filter(|it| !it.is_empty()).map(|it| root.join(it)).collect();
    assert!(paths.len() > 100);
    paths.into_iter().filter(|it| it.is_file()).collect()
}
