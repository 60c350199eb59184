//! The accounting of `docs/accounting.md`: the reference against numbers worked out by hand, and the real one against
//! the reference.

use tests::builder::render;
use tests::reference::{self, Accounts};

const CASES: &str = include_str!("cases/accounting.txt");

/// A small trace and its accounts.
struct Case {
    title: &'static str,
    trace: String,
    /// Accounts with, and where they are given, without exact evidence.
    expected: Vec<(bool, String)>,
}

fn cases() -> Vec<Case> {
    let parse = |text: &'static str| {
        let (title, text) = text.split_once('\n').unwrap();
        let mut parts = text.split("\n--");
        let trace =
            render(parts.next().unwrap()).unwrap_or_else(|error| panic!("{title}: {error}"));
        let expected = parts.map(|part| {
            let (option, accounts) = part.split_once('\n').unwrap();
            (option.trim() == "ignore exact", format!("{}\n", accounts.trim()))
        });
        Case { title, trace, expected: expected.collect() }
    };
    CASES.split("\n== ").skip(1).map(parse).collect()
}

fn is_own(file: &str) -> bool {
    !file.starts_with("lib/") && !file.contains("torch/") && !file.starts_with('<')
}

fn reference(trace: &str, ignore_exact: bool) -> Accounts {
    reference::account(trace, ignore_exact, &is_own).unwrap()
}

#[test]
fn the_reference_agrees_with_the_numbers_worked_out_by_hand() {
    let cases = cases();
    assert!(cases.len() >= 40);
    let mut wrong = String::new();
    for case in cases {
        for (ignore_exact, expected) in case.expected {
            let found = reference(&case.trace, ignore_exact).to_string();
            if found != expected {
                wrong += &format!("== {}\nexpected\n{expected}found\n{found}\n", case.title);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
