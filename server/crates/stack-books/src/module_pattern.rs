//! Patterns of modules of the model.

use std::fmt;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};

/// A pattern of modules, by what the model calls them (`layers.*.mlp`: `*` within a part of the name, `**` over parts) or by
/// their class (`Linear`).
#[derive(Debug, Clone)]
pub struct ModulePattern {
    text: String,
    matcher: GlobMatcher,
}

impl FromStr for ModulePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Parts of a name are to its points what folders of a path are to its slashes.
        let glob = GlobBuilder::new(&text.replace('.', "/")).literal_separator(true).build();
        let glob =
            glob.map_err(|error| format!("`{text}` is no pattern of modules: {}", error.kind()))?;
        Ok(Self { text: text.to_owned(), matcher: glob.compile_matcher() })
    }
}

impl fmt::Display for ModulePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl ModulePattern {
    /// Whether a module is meant.
    #[must_use]
    pub fn is_match(&self, name: &str, class: &str) -> bool {
        self.matcher.is_match(name.replace('.', "/")) || self.matcher.is_match(class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_chosen_by_name_or_class() {
        let rows = [
            ("layers.*", "layers.3", "Block", true),
            ("layers.*", "layers.3.mlp", "Mlp", false),
            ("layers.*.mlp", "layers.3.mlp", "Mlp", true),
            ("layers.**", "layers.3.mlp.up", "Linear", true),
            ("**.up", "layers.3.mlp.up", "Linear", true),
            ("layers.{0,1}", "layers.1", "Block", true),
            ("layers.{0,1}", "layers.2", "Block", false),
            ("Linear", "layers.3.mlp.up", "Linear", true),
            ("Linear", "Linear_7", "Linear", true),
            ("Linear_7", "Linear_7", "Linear", true),
            ("Linear_*", "Linear_7", "Linear", true),
            ("Norm", "Linear_7", "Linear", false),
        ];
        for (pattern, name, class, expected) in rows {
            let pattern: ModulePattern = pattern.parse().unwrap();
            assert_eq!(pattern.is_match(name, class), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        let error = "layers.[0".parse::<ModulePattern>().unwrap_err();
        assert!(error.starts_with("`layers.[0` is no pattern of modules: "), "{error}");
    }
}
