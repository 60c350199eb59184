//! The names of metrics, numbers and placeholders in the clients and in the documentation are those of the tables in
//! the code. `PERFLINE_BLESS=1 cargo test -p lsp --test names` writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ide::Metric;

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
    ["auto"].into_iter().chain(Metric::ALL.map(Metric::name)).collect()
}

fn lists() -> [List; 7] {
    [
        List {
            file: "editors/vscode/src/api.ts",
            around: ["export const METRICS = [", "] as const;"],
            quotes: ["'", "'"],
            between: ", ",
            names: Metric::ALL.map(Metric::name).into(),
        },
        List {
            file: "editors/vscode/package.json",
            around: [
                "\"perfline.view.metric\": {\n            \"type\": \"string\",\n            \"enum\": [\n              ",
                "\n            ],",
            ],
            quotes: ["\"", "\""],
            between: ",\n              ",
            names: metric_names(),
        },
        List {
            file: "editors/vscode/package.json",
            around: [
                "\"enumDescriptions\": [\n              \"%metric.auto%\",\n              ",
                "\n            ],",
            ],
            quotes: ["\"%metric.", "%\""],
            between: ",\n              ",
            names: Metric::ALL.map(Metric::name).into(),
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
            around: ["| `perfline.view.metric` | ", " | `auto` |"],
            quotes: ["`", "`"],
            between: ", ",
            names: metric_names(),
        },
        List {
            file: "docs/lsp.md",
            around: ["Text with placeholders in braces: ", ". `{share}` is"],
            quotes: ["`{", "}`"],
            between: ", ",
            names: ide::PLACEHOLDERS.into(),
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

#[test]
fn names_elsewhere_are_those_of_the_tables() {
    for list in lists() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(list.file);
        let text = fs::read_to_string(&path).unwrap();
        let [before, after] = list.around;
        let (head, rest) = text
            .split_once(before)
            .unwrap_or_else(|| panic!("{}: {before:?} is not in the file", list.file));
        let (found, tail) = rest.split_once(after).unwrap();
        if quoted(found, list.quotes) == list.names.iter().copied().collect() {
            continue;
        }
        let [open, close] = list.quotes;
        let names: Vec<String> = list.names.iter().map(|it| format!("{open}{it}{close}")).collect();
        let names = names.join(list.between);
        if std::env::var_os("PERFLINE_BLESS").is_some() {
            fs::write(&path, format!("{head}{before}{names}{after}{tail}")).unwrap();
            continue;
        }
        panic!(
            "{} lists {found}\nwhere the code has {names}\nwrite them with PERFLINE_BLESS=1",
            list.file
        );
    }
}
