//! Words that were replaced by one term each, so that they do not come back.

use std::fs;

use tests::fixtures::repository;

use super::tracked;

/// The halves of each retired word, so that this file does not contain it, and what to write instead. A word in
/// capitals is retired in the names of constants only.
const RETIRED: &[([&str; 2], &str)] = &[
    (["to", "ld"], "reported, assigned, notified or distinguished"),
    (["te", "ll"], "report, show, notify or distinguish"),
    (["te", "lls"], "reports, shows, notifies or distinguishes"),
    (["swe", "ep"], "timeline pass"),
    (["swe", "pt"], "the result of the timeline pass"),
    (["oddi", "ty"], "anomaly"),
    (["oddi", "ties"], "anomalies"),
    (["o", "dd"], "unusual, invalid or malformed"),
    (["hab", "it"], "anti-pattern"),
    (["host", "ile"], "untrusted or malformed"),
    (["coa", "rse"], "in microseconds"),
    (["set", "tle"], "flush, resolve or a quiet period"),
    (["pa", "ce"], "scale"),
    (["stre", "tch"], "chunk, or a part of the run"),
    (["MO", "ST"], "MAX"),
    (["LE", "AST"], "MIN"),
    (["LONG", "EST"], "MAX"),
];

/// The kinds of files that people write.
const EXTENSIONS: [&str; 5] = ["rs", "md", "ts", "lua", "py"];

/// What other programs wrote, what tests expect word for word, and what was said of former versions.
const EXEMPT: [&str; 3] = ["fixtures", "tests/golden", "CHANGELOG.md"];

#[test]
fn no_file_uses_a_retired_word() {
    let mut wrong = Vec::new();
    for path in tracked() {
        let name = path.strip_prefix(repository()).unwrap();
        let is_written = name
            .extension()
            .and_then(|it| it.to_str())
            .is_some_and(|extension| EXTENSIONS.contains(&extension));
        if !is_written || EXEMPT.iter().any(|it| name.starts_with(it)) {
            continue;
        }
        for (line, number) in fs::read_to_string(&path).unwrap().lines().zip(1..) {
            wrong.extend(retired(line).map(|(word, instead)| {
                format!("{}:{number}: `{word}`: write {instead}", name.display())
            }));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn words_are_whole_and_names_are_split_at_underscores() {
    let found = |line: &str| retired(line).map(|(word, _)| word).collect::<Vec<_>>();
    let word = ["to", "ld"].concat();
    assert_eq!(found(&format!("n_{word} = 1")), [word.as_str()]);
    assert_eq!(found(&word.to_uppercase()), [word.as_str()]);
    assert_eq!(found(&format!("un{word}")), [""; 0]);
    let constant = ["MO", "ST"].concat();
    assert_eq!(found(&format!("{constant}_BYTES")), [constant.as_str()]);
    assert_eq!(found(&constant.to_lowercase()), [""; 0]);
}

/// The retired words in a line, with what to write instead.
fn retired(line: &str) -> impl Iterator<Item = (String, &'static str)> {
    RETIRED.iter().filter_map(move |(halves, instead)| {
        let word = halves.concat();
        let is_constant = word.starts_with(char::is_uppercase);
        let is_same = |it: &str| match is_constant {
            true => it == word,
            false => it.eq_ignore_ascii_case(&word),
        };
        let is_used = line.split(|it: char| !it.is_alphanumeric()).any(is_same);
        is_used.then_some((word, *instead))
    })
}
