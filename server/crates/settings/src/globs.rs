//! Patterns of paths, as editors have them.

use globset::{GlobBuilder, GlobMatcher};

/// A pattern of paths below a folder: `*` and `?` within a name, `**` over folders, `{a,b}` for alternatives, `[a-z]` and
/// `[!a-z]` for one character.
#[derive(Debug, Clone)]
pub(crate) struct Glob(GlobMatcher);

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.0.glob() == other.0.glob()
    }
}

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    /// If it cannot be read: a brace or bracket without a partner, for one. The message is one line.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        glob.map(|glob| Self(glob.compile_matcher())).map_err(|error| error.to_string())
    }

    /// Whether a path, relative and with `/`, is one of the pattern's.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let rows = [
            ("**", "a/b.json", true),
            ("*.json", "b.json", true),
            ("*.json", "a/b.json", false),
            ("**/*.json", "b.json", true),
            ("**/*.json", "a/c/b.json", true),
            ("runs/**", "runs/a/b.json", true),
            ("runs/**", "old/runs/a.json", false),
            ("log?/*.{json,json.gz}", "log1/a.json.gz", true),
            ("log?/*.{json,json.gz}", "log1/a.pickle", false),
            ("log[0-9]/*", "log1/a.json", true),
            ("log[!0-9]/*", "log1/a.json", false),
            ("a.json", "aXjson", false),
        ];
        for (pattern, path, expected) in rows {
            assert_eq!(Glob::new(pattern).unwrap().matches(path), expected, "{pattern} {path}");
        }
        let error = Glob::new("{a").unwrap_err();
        assert!(error.contains("{a") && !error.contains('\n'), "{error}");
    }
}
