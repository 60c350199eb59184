//! Packages and modules by their top-level names.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// Top-level names, of which a file lists one a line.
type PackageNames = LazyLock<FxHashSet<&'static str>>;

/// The standard library (`sys.stdlib_module_names` of Python 3.8 – 3.13).
pub static STANDARD_LIBRARY: PackageNames =
    PackageNames::new(|| include_str!("../data/standard_library.txt").lines().collect());

/// Well-known packages, for recordings from machines whose libraries are not here.
pub static KNOWN_PACKAGES: PackageNames =
    PackageNames::new(|| include_str!("../data/known_packages.txt").lines().collect());

/// Packages that run other people's code or compute for it: where no code of the user is recorded, the lines of all other
/// packages are of more use than theirs.
pub static PLUMBING_PACKAGES: PackageNames =
    PackageNames::new(|| include_str!("../data/plumbing_packages.txt").lines().collect());
