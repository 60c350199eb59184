//! One name, one meaning: no two types of the crates are called the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tests::fixtures::repository;

use super::{crates, tracked};

/// Names that several crates may give a type of their own: Rust's convention is `crate::Error`.
const PER_CRATE: &[&str] = &["Error"];

#[test]
fn no_two_types_have_one_name() {
    let mut places = BTreeMap::<String, Vec<String>>::new();
    // The crate of the tests holds a second, independent implementation, which has its own words.
    let folders: Vec<_> = crates().into_iter().filter(|it| it.name != "tests").collect();
    for path in tracked() {
        let is_source = |folder: &Path| path.starts_with(folder.join("src"));
        let name = path.strip_prefix(repository()).unwrap();
        if !folders.iter().any(|it| is_source(&it.folder))
            || path.extension().is_none_or(|it| it != "rs")
            || is_test(name)
        {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (line, number) in text.lines().zip(1..) {
            if let Some(defined) = defined_type(line).filter(|it| !PER_CRATE.contains(it)) {
                let place = format!("{}:{number}", name.display());
                places.entry(defined.to_owned()).or_default().push(place);
            }
        }
    }
    assert!(100 < places.len(), "only {} types were found", places.len());
    places.retain(|_, places| 1 < places.len());
    assert!(places.is_empty(), "give each type a name that says which one it is: {places:#?}");
}

#[test]
fn definitions_are_found() {
    assert_eq!(defined_type("pub(super) struct Walk<'a> {"), Some("Walk"));
    assert_eq!(defined_type("    enum Inner {"), Some("Inner"));
    assert_eq!(defined_type("type Line = u32;"), Some("Line"));
    // An associated type has the name that its trait gives it.
    assert_eq!(defined_type("    type Item = u32;"), None);
    assert_eq!(defined_type("/// struct Walk"), None);
}

/// Files of unit tests, whose types are of that file alone.
fn is_test(path: &Path) -> bool {
    path.file_name().is_some_and(|it| it == "tests.rs") || path.iter().any(|it| it == "tests")
}

/// The type that a line defines.
fn defined_type(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let is_indented = code.len() < line.len();
    let code = match code.strip_prefix("pub") {
        Some(rest) => match rest.strip_prefix('(') {
            Some(rest) => rest.split_once(") ")?.1,
            None => rest.strip_prefix(' ')?,
        },
        None => code,
    };
    let (keyword, rest) = code.split_once(' ')?;
    let is_definition = matches!(keyword, "struct" | "enum" | "trait" | "union")
        || keyword == "type" && !is_indented;
    let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(rest.len());
    (is_definition && 0 < end).then(|| &rest[..end])
}
