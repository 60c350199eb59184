//! Findings that the author of the code does not want to see.

/// Whether a directive (what follows `# perfline:` in a comment) says that findings of a rule are not to be reported:
/// `ignore` does of all rules, `ignore[sync, other]` of these. What follows is for readers.
#[must_use]
pub fn is_suppressed(directive: &str, rule: &str) -> bool {
    let Some(rest) = directive.strip_prefix("ignore") else { return false };
    match rest.trim_start().strip_prefix('[') {
        Some(list) => {
            let rules = list.split_once(']').map_or("", |(rules, _)| rules);
            rules.split(',').any(|it| it.trim() == rule)
        }
        // `ignored` is another word.
        None => !rest.starts_with(|it: char| it.is_alphanumeric() || it == '_' || it == '-'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives() {
        let rows = [
            ("ignore", true),
            ("ignore because of the log", true),
            ("ignore[sync]", true),
            ("ignore [ other , sync ] because of the log", true),
            ("ignore[other]", false),
            ("ignore[synchronous]", false),
            ("ignore[]", false),
            ("ignore[sync", false),
            ("ignored", false),
            ("ignore-all", false),
            ("sync", false),
            ("", false),
        ];
        for (directive, expected) in rows {
            assert_eq!(is_suppressed(directive, "sync"), expected, "{directive}");
        }
    }
}
