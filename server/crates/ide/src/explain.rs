//! What a rule says and why, for readers: `docs/rules/`, `perfline explain`, the command `perfline.explain`.

use std::fmt::Write;

use insights::{Area, Rule, Severity, Threshold, rules};
use metrics::numbers::{bytes, duration, percent};

/// The page of a rule in Markdown: headings, paragraphs, lists and fenced code, one paragraph or item a line.
#[must_use]
pub fn explanation(rule: &Rule) -> String {
    let id = rule.id;
    let mut page = format!("# `{id}`: {}\n\n{}\n", lower(rule.title), rule.summary);
    let mut section = |title: &str, text: &str| {
        let _never_fails = write!(page, "\n## {title}\n\n{text}\n");
    };
    section("When it fires", rule.trigger);
    section("How it measures", rule.measure);
    section("How much it matters", &how_much(rule));
    section("What to do", rule.remedy);
    section("Instead of", &fenced(rule.before));
    section("Write", &fenced(rule.after));
    section("Known limitations", rule.limits);
    let silence = format!(
        "`# perfline: ignore[{id}]` in a comment on any line of the statement; for all of them the setting \
         `\"perfline.diagnostics.severity\": {{\"{id}\": \"off\"}}`."
    );
    section("Suppressing it", &silence);
    if !rule.sources.is_empty() {
        let items: Vec<String> = rule.sources.iter().map(|it| format!("- {it}")).collect();
        section("Sources", &items.join("\n"));
    }
    page
}

/// The default severity, and the thresholds with their setting.
fn how_much(rule: &Rule) -> String {
    let severity = format!("Severity: {}.", rule.severity.name());
    let Some(first) = rule.thresholds.first() else { return severity };
    let items: Vec<String> = rule
        .thresholds
        .iter()
        .map(|it| format!("- `{}`, {} by default: {}", it.name, amount(it), it.meaning))
        .collect();
    let (items, rule, name, default) = (items.join("\n"), rule.id, first.name, first.default);
    format!(
        "{severity} Thresholds:\n\n{items}\n\nThey are set, in the unit given here, with `\"perfline.rules\": {{\"{rule}\": {{\"{name}\": {default}}}}}` \
         in editors, or `rules.{rule}.{name} = {default}` in a `perfline.toml`."
    )
}

/// A default with its unit.
fn amount(threshold: &Threshold) -> String {
    match threshold.unit.symbol() {
        "" => threshold.default.to_string(),
        "%" => percent(threshold.default / 100.0),
        symbol => format!("{} {symbol}", threshold.default),
    }
}

fn fenced(code: &str) -> String {
    format!("```python\n{code}\n```")
}

/// The list of all rules in Markdown, with links to their pages.
#[must_use]
pub fn rule_list() -> String {
    let mut list = "# Rules\n\nWhat Perfline's diagnostics say. Each rule reports a line with what it costs by the recording, and what to do \
                    about it. `perfline explain RULE` prints these pages.\n\nFindings are ordered by what can be won at most: the cost of a finding is what \
                    would not be if it were mended, as far as the recording shows (*How it measures*). "
        .to_owned();
    let _never_fails = writeln!(
        list,
        "What takes less than {} in the mean step (in the recording, where it has no steps), or is about less than {} of device memory, \
         is no warning, however large its share; growth from step to step is one at any size.",
        duration(Severity::MIN_WARNING_TIME.as_f64()),
        bytes(Severity::MIN_WARNING_BYTES.as_f64())
    );
    for area in Area::ALL {
        let rules: Vec<&Rule> = rules().filter(|it| it.area == area).collect();
        if rules.is_empty() {
            continue;
        }
        let _never_fails = write!(list, "\n## {}\n\n| rule | |\n| :--- | :--- |\n", area.title());
        for it in rules {
            let _never_fails = writeln!(list, "| [`{0}`]({0}.md) | {1} |", it.id, it.summary);
        }
    }
    list
}

/// With a small first letter, unless the first word is a name (`CPU`, `F.linear`).
fn lower(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(title.chars().skip(1)).collect()
        }
        _ => title.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the pages are compared with those on disk")]

    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use expect_test::expect_file;

    use super::*;

    /// What `docs/rules` has to hold, by file name.
    fn pages() -> Vec<(String, String)> {
        const MADE: &str = "<!-- Made from server/crates/insights: UPDATE_EXPECT=1 cargo test -p ide explain -->\n";
        let list = ("README.md".to_owned(), format!("{MADE}{}", rule_list()));
        let pages =
            rules().map(|it| (format!("{}.md", it.id), format!("{MADE}{}", explanation(it))));
        pages.chain([list]).collect()
    }

    #[test]
    fn the_documentation_is_what_the_rules_say() {
        let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/rules");
        let mut expected = BTreeSet::new();
        for (name, text) in pages() {
            expect_file![folder.join(&name)].assert_eq(&text);
            expected.insert(name);
        }
        for entry in fs::read_dir(&folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(expected.contains(&name), "docs/rules/{name} is of no rule");
        }
    }

    #[test]
    fn a_page() {
        let page = explanation(insights::rule("sync").unwrap());
        assert!(
            page.starts_with("# `sync`: the CPU waits for the device\n\nWhile the CPU"),
            "{page}"
        );
        let threshold =
            "- `warning`, 5 % by default: share of the step from which it is a warning\n";
        assert!(page.contains(threshold), "{page}");
        assert!(page.contains("`\"perfline.rules\": {\"sync\": {\"warning\": 5}}`"), "{page}");
        assert!(page.contains("## Instead of\n\n```python\nfor x, y in loader:\n"), "{page}");
    }
}
