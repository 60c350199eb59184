//! Texts with what is offered for the line with `# here`, and texts for which nothing may be offered.

mod collected;
mod data_loader;
mod formatting;
mod optimizer;
mod pinned;
mod property;
mod zero_grad;

use super::*;

/// A recording of a version of torch, on a device.
const fn recorded(major: u32, minor: u32) -> Recorded {
    Recorded { torch: Some((major, minor)), is_on_device: true }
}

/// A recording that does not state its version.
const UNKNOWN: Recorded = Recorded { torch: None, is_on_device: true };

fn line_here(text: &str) -> u32 {
    text.lines().position(|line| line.contains("# here")).expect("a line is marked") as u32 + 1
}

/// What is offered, each with the text afterwards. That has no errors, and is not offered the same again.
fn offered(text: &str, goal: Goal, recorded: Recorded) -> Vec<(What, String)> {
    let module = Module::parse(text);
    assert!(!module.has_errors(), "{text}");
    let changes = module.changes(text, line_here(text), goal, recorded);
    let after = changes.iter().map(|change| {
        let after = change.apply(text);
        let module = Module::parse(&after);
        assert!(!module.has_errors(), "{after}");
        let again = module.changes(&after, line_here(&after), goal, recorded);
        assert_eq!(again, [], "twice:\n{after}");
        (change.what, after)
    });
    after.collect()
}

/// Checks that `what` is offered, with these parts of the text replaced.
#[track_caller]
fn check(text: &str, goal: Goal, recorded: Recorded, what: What, parts: &[(&str, &str)]) {
    let mut expected = text.to_owned();
    for (old, new) in parts {
        assert!(expected.contains(old), "{old:?} is not in:\n{text}");
        expected = expected.replacen(old, new, 1);
    }
    let all = offered(text, goal, recorded);
    let found = all.iter().find(|(it, _)| *it == what);
    let (_, after) =
        found.unwrap_or_else(|| panic!("{what:?} is not offered, only {all:?}:\n{text}"));
    assert!(*after == expected, "it is:\n{after}\nexpected:\n{expected}");
}
