//! Patterns of paths, as editors have them.

use regex::Regex;

/// A pattern of paths below a folder: `*` and `?` within a name, `**` over folders, `{a,b}` for alternatives.
#[derive(Debug, Clone)]
pub(crate) struct Glob {
    pattern: String,
    regex: Regex,
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    /// If a brace has no partner.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let mut regex = String::from("^");
        let mut depth = 0;
        let mut rest = pattern;
        while let Some(char) = rest.chars().next() {
            let (taken, piece) = match char {
                _ if rest.starts_with("**/") => (3, "(?:[^/]+/)*".to_owned()),
                _ if rest.starts_with("**") => (2, ".*".to_owned()),
                '*' => (1, "[^/]*".to_owned()),
                '?' => (1, "[^/]".to_owned()),
                '{' => {
                    depth += 1;
                    (1, "(?:".to_owned())
                }
                '}' if depth > 0 => {
                    depth -= 1;
                    (1, ")".to_owned())
                }
                ',' if depth > 0 => (1, "|".to_owned()),
                char => (char.len_utf8(), regex::escape(char.encode_utf8(&mut [0; 4]))),
            };
            regex += &piece;
            rest = &rest[taken..];
        }
        let regex = Regex::new(&(regex + "$"))
            .map_err(|_| format!("{pattern:?} has a brace without a partner"))?;
        Ok(Self { pattern: pattern.to_owned(), regex })
    }

    /// Whether a path, relative and with `/`, is one of the pattern's.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.regex.is_match(path)
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
            ("a.json", "aXjson", false),
            ("a,b}.json", "a,b}.json", true),
        ];
        for (pattern, path, expected) in rows {
            assert_eq!(Glob::new(pattern).unwrap().matches(path), expected, "{pattern} {path}");
        }
        assert_eq!(Glob::new("{a").unwrap_err(), "\"{a\" has a brace without a partner");
    }
}
