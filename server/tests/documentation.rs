//! The commands in the documentation print what it says.
//!
//! `TRYCMD=overwrite cargo test -p perfline --test documentation` writes their output anew.

use std::path::Path;

/// Relative to `fixtures/`.
const PAGES: [&str; 4] =
    ["../docs/budgets.md", "../docs/cli.md", "../docs/export.md", "../docs/hang.md"];

/// Runs the `console` blocks of the pages in `fixtures/`. A line `...` in a block stands for any number of lines.
#[test]
fn commands_print_what_the_documentation_says() {
    std::env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")).unwrap();
    let cases = trycmd::TestCases::new();
    for page in PAGES {
        let text = std::fs::read_to_string(page).unwrap();
        for command in text.lines().filter_map(|line| line.strip_prefix("$ ")) {
            // `trycmd` has no shell, and skips programs that it does not know.
            assert!(
                command.starts_with("perfline ") && !command.contains(['|', '<', '>']),
                "{page}: `{command}` cannot be tested: call perfline alone, or use a block of another language"
            );
        }
        cases.case(page);
    }
    cases
        .register_bin("perfline", Path::new(env!("CARGO_BIN_EXE_perfline")))
        .env("NO_COLOR", "1")
        .env("CLICOLOR_FORCE", "0")
        // Without a Python environment: what libraries this machine has makes no difference.
        .env("VIRTUAL_ENV", "no environment")
        .env("CONDA_PREFIX", "no environment")
        .env("PATH", "")
        // What was loaded before makes none either.
        .env("PERFLINE_CACHE_DIR", "")
        .run();
}
