//! The names of metrics, numbers and placeholders, and the settings, in the clients and in the documentation are those of
//! the tables in the code. `UPDATE_EXPECT=1 cargo test -p lsp --test names` writes them.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail anywhere")]

mod settings;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use expect_test::expect_file;
use ide::ViewMetric;

/// A list of quoted names in a file of the repository.
struct List {
    file: &'static str,
    /// What stands before the list, and after it.
    around: [&'static str; 2],
    /// What stands before a name, and after it.
    quotes: [&'static str; 2],
    between: &'static str,
    names: Vec<&'static str>,
}

/// `auto`, and all metrics.
fn metric_names() -> Vec<&'static str> {
    ["auto"].into_iter().chain(ViewMetric::ALL.map(ViewMetric::name)).collect()
}

fn lists() -> [List; 4] {
    [
        List {
            file: "editors/vscode/src/api.ts",
            around: ["export const METRICS = [", "] as const;"],
            quotes: ["'", "'"],
            between: ", ",
            names: ViewMetric::ALL.map(ViewMetric::name).into(),
        },
        List {
            file: "editors/nvim/lua/perfline/command.lua",
            around: ["local METRICS = { ", " }"],
            quotes: ["'", "'"],
            between: ", ",
            names: metric_names(),
        },
        List {
            file: "docs/lsp.md",
            around: ["Text with placeholders in braces: ", ". `{share}` is"],
            quotes: ["`{", "}`"],
            between: ", ",
            names: ide::placeholders().collect(),
        },
        List {
            file: "docs/lsp.md",
            around: ["`name` is one of ", "; `unit` is"],
            quotes: ["`", "`"],
            between: ", ",
            names: ide::NUMBERS.map(metrics::Quantity::id).into(),
        },
    ]
}

/// The names between quotes; their order is the file's own.
fn quoted<'a>(text: &'a str, [before, after]: [&str; 2]) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    let mut rest = text;
    while let Some((_, quoted)) = rest.split_once(before) {
        let Some((name, after_name)) = quoted.split_once(after) else { break };
        names.insert(name);
        rest = after_name;
    }
    names
}

impl List {
    /// The text of the file with the names of the code; their order stays the file's own where only that differs.
    fn written(&self, text: &str) -> String {
        let [before, after] = self.around;
        let (head, rest) = text
            .split_once(before)
            .unwrap_or_else(|| panic!("{}: {before:?} is not in the file", self.file));
        let (found, tail) = rest.split_once(after).unwrap();
        if quoted(found, self.quotes) == self.names.iter().copied().collect() {
            return text.to_owned();
        }
        let [open, close] = self.quotes;
        let names: Vec<String> = self.names.iter().map(|it| format!("{open}{it}{close}")).collect();
        format!("{head}{before}{}{after}{tail}", names.join(self.between))
    }
}

#[test]
fn names_and_settings_elsewhere_are_those_of_the_tables() {
    let lists = lists();
    let files: BTreeSet<&str> =
        lists.iter().map(|it| it.file).chain(settings::FILES.map(|(file, _)| file)).collect();
    for file in files {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(file);
        let found = fs::read_to_string(&path).unwrap();
        let mut wanted = found.clone();
        for list in lists.iter().filter(|it| it.file == file) {
            wanted = list.written(&wanted);
        }
        for (_, written) in settings::FILES.iter().filter(|it| it.0 == file) {
            wanted = written(&wanted);
        }
        expect_file![path].assert_eq(&wanted);
    }
}
