//! The prompt: how to make a program faster with these tools.

use rmcp::model::{GetPromptResult, Prompt, PromptMessage, Role};

/// Its name.
pub(crate) const NAME: &str = "optimise";

/// What it is for.
const DESCRIPTION: &str = "Make the recorded PyTorch program faster: find what limits it, change it, record again, compare.";

/// What it says; `docs/agents.md` offers the same text as a file for a repository.
const TEXT: &str = include_str!("optimise.md");

/// What a client gets to know of it.
pub(crate) fn described() -> Prompt {
    Prompt::new(NAME, Some(DESCRIPTION), None)
}

/// The prompt as a message.
pub(crate) fn message() -> GetPromptResult {
    GetPromptResult::new(vec![PromptMessage::new_text(Role::User, TEXT)])
        .with_description(DESCRIPTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_offers_the_same_text() {
        let page = include_str!("../../../../docs/agents.md");
        assert!(page.contains(TEXT), "docs/agents.md differs from mcp/src/optimise.md");
    }
}
