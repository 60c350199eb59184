//! Where the property tests of this folder keep what failed once.

use proptest::test_runner::{Config, FileFailurePersistence};

/// Seeds of cases that failed are kept beside the test, as `accounting.proptest-regressions`, and are run first. By
/// default they would be kept beside the folder of a `lib.rs` or `main.rs` above the test, and there is none.
pub(crate) fn kept() -> Config {
    let beside = FileFailurePersistence::WithSource("proptest-regressions");
    Config { failure_persistence: Some(Box::new(beside)), ..Config::default() }
}
