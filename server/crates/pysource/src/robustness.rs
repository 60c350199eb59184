//! Texts that are hardly Python: none of them may panic, overflow the stack or lose what is readable around them.

use proptest::prelude::*;

use crate::{Module, RecordedCall, arranged};

/// Nested deeper than CPython takes, in everything that nests, on the 2 MiB of a test's thread.
#[test]
fn deep_nesting() {
    const DEEP: usize = 5_000;
    let nested = "( [ {a: - not_ await_ yield_ lambda: lambda_x= a_if_b_else_ f'{ [x_for_x_in_ f(a_for_a_in_ f( a= * @ \
                  class_A: def_f(x= with_( try: '''";
    for nested in nested.split(' ').map(|it| it.replace('_', " ")) {
        let module =
            Module::parse(&format!("x = {}1\ndef after():\n    pass\n", nested.repeat(DEEP)));
        assert_eq!(module.n_lines(), 4, "{nested}");
    }
    let chained = "+1 **1 .b () [0] _and_b_or_c _<_c if_a_else_b";
    for link in chained.split(' ').map(|it| it.replace('_', " ")) {
        let module =
            Module::parse(&format!("x = a{}\ndef after():\n    pass\n", link.repeat(DEEP)));
        assert_eq!(module.named("after").count(), 1, "{link}");
    }
    for pattern in ["[", "a(", "{1:", "("] {
        let module = Module::parse(&format!(
            "match x:\n    case {}1:\n        pass\n",
            pattern.repeat(DEEP)
        ));
        assert!(module.has_errors(), "{pattern}");
    }
    let indented: String =
        (0..1_000).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect();
    assert!(Module::parse(&indented).has_errors());
}

/// Names of functions in functions add up to no more than the text allows.
#[test]
fn deep_functions() {
    let module = Module::parse(&format!("x = {}1\n", "lambda:".repeat(5_000)));
    assert_eq!(module.functions().len(), 5_001);
    assert!(module.functions().iter().all(|function| function.qualified_name.len() < 1_100));
}

/// What is too much for anybody to have written is not read, and says so.
#[test]
fn too_much() {
    let module = Module::parse(&"lambda:".repeat(20_001));
    assert_eq!((module.functions().len(), module.has_errors()), (1, true));
    let module = Module::parse(&"def f(): pass\n".repeat(1_300_000));
    assert_eq!(
        (module.functions().len(), module.has_errors(), module.n_lines()),
        (1, true, 1_300_001)
    );
}

/// Pieces of Python in any order.
fn scraps() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "def ", "async ", "class ", "lambda ", "for ", "in ", "if ", "else", "match ", "case ",
        "x", "f", "𝄞", "1", "(", ")", "[", "]", "{", "}", ":", "=", ":=", ",", "@", ".", "*", "'",
        "\"\"\"", "f'", "#", "\\\n", "\n", "\n    ", "\n\t", "\r\n", "\r", " ", "\u{c}",
        "\u{feff}", "\0",
    ]);
    prop::collection::vec(words, 0..60).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_text_gives_sound_tables(text in scraps()) {
        is_sound(&text)?;
    }

    /// What is made of any two texts of which one ran has functions of it on their lines.
    #[test]
    fn any_text_is_arranged(text in scraps(), other in scraps(), lines in 1_u32..9) {
        let functions = |text: &str| -> Vec<(String, u32)> {
            let module = Module::parse(text);
            let functions = module.functions().iter();
            functions.map(|it| (it.name.clone(), it.first_line + lines)).collect()
        };
        let call = |(name, line): &(String, u32)| RecordedCall {
            line: *line,
            name: name.clone(),
            is_built_in: line % 2 == 0,
        };
        let mut ran = functions(&text);
        ran.extend(functions(&other));
        let calls: Vec<RecordedCall> = ran.iter().map(call).collect();
        for calls in [&calls[..], &[]] {
            if let Some(arranged) = arranged(&text, &ran, calls) {
                let before = Module::parse(&text);
                let after = Module::parse(&arranged);
                prop_assert!(before.has_errors() || !after.has_errors(), "{arranged:?}");
                prop_assert!(before.has_errors() || ran.iter().any(|(name, line)| {
                    after.named(name).chain(after.functions()).any(|it| it.first_line == *line)
                }), "{arranged:?}");
            }
        }
    }
}

/// Found by the property: the parser hands out the functions of this text in another order than that of their lines.
#[test]
fn functions_out_of_order() {
    is_sound("match (elsedef ]\\\n(def \\\nasync ]in f'f'for ").unwrap();
}

/// Holds the tables of `text` against what everybody relies on.
fn is_sound(text: &str) -> Result<(), TestCaseError> {
    let module = Module::parse(text);
    let n_lines = module.n_lines();
    for (row, function) in module.functions().iter().enumerate() {
        prop_assert!(1 <= function.first_line && function.first_line <= function.def_line);
        prop_assert!(function.def_line <= function.last_line && function.last_line <= n_lines);
        prop_assert!(function.parent.map_or(row == 0, |parent| parent < row));
        prop_assert!(!function.name.is_empty());
        let found = module.definition(&function.name, function.first_line);
        prop_assert!(found.is_some_and(|found| found.name == function.name));
    }
    prop_assert!(module.functions().is_sorted_by_key(|function| function.first_line));
    for it in module.loops() {
        prop_assert!(it.first_line <= it.last_line && it.last_line <= n_lines);
        prop_assert!(it.function < module.functions().len());
    }
    for line in 1..=n_lines {
        prop_assert!(module.enclosing(line).is_some_and(|function| function.contains(line)));
        let lines = module.statement_lines(line);
        prop_assert!(lines.contains(&line) && *lines.end() <= n_lines);
        prop_assert!(lines.clone().all(|other| module.statement_lines(other) == lines));
    }
    prop_assert_eq!(module.enclosing(n_lines + 1), None);
    Ok(())
}
