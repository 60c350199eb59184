//! Lists of packages and modules by their top-level names, one a line.

/// The standard library (`sys.stdlib_module_names` of Python 3.8 – 3.13).
pub const STANDARD_LIBRARY: &str = include_str!("../data/standard_library.txt");

/// Well-known packages, for recordings from machines whose libraries are not here.
pub const KNOWN_PACKAGES: &str = include_str!("../data/known_packages.txt");

/// Packages that run other people's code or compute for it: where no code of the user is recorded, the lines of all other
/// packages are of more use than theirs.
pub const PLUMBING_PACKAGES: &str = include_str!("../data/plumbing_packages.txt");
