//! What comments say to Perfline: `# perfline: …`.

use ruff_python_ast::token::{TokenKind, Tokens};
use ruff_text_size::Ranged;

use crate::{LineIndex, Module};

const MARK: &str = "perfline:";

/// A comment, or a part of one that begins with its own `#`, that says `perfline: …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// 1-based line.
    pub line: u32,
    /// What follows `perfline:`, without the space around it.
    pub text: String,
}

/// All directives in line order. What stands in a string is none.
pub(crate) fn directives(text: &str, tokens: &Tokens, lines: &LineIndex) -> Vec<Directive> {
    // Most texts have none, and need no look at their tokens.
    if memchr::memmem::find(text.as_bytes(), MARK.as_bytes()).is_none() {
        return Vec::new();
    }
    let comments = tokens.iter().filter(|token| token.kind() == TokenKind::Comment);
    let of_comment = |range: std::ops::Range<usize>| {
        let parts = text[range.clone()].split('#');
        let said = parts.filter_map(|part| part.trim().strip_prefix(MARK));
        let line = lines.line(range.start);
        said.map(move |said| Directive { line, text: said.trim().to_owned() }).collect::<Vec<_>>()
    };
    comments.flat_map(|it| of_comment(it.start().to_usize()..it.end().to_usize())).collect()
}

impl Module {
    /// The directives of the statement on `line`: those on any of its lines.
    pub fn directives(&self, line: u32) -> impl Iterator<Item = &Directive> {
        let lines = self.statement_lines(line);
        let from = self.directives.partition_point(|it| it.line < *lines.start());
        self.directives[from..].iter().take_while(move |it| it.line <= *lines.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `line text` of all directives.
    fn all(text: &str) -> Vec<String> {
        let module = Module::parse(text);
        module.directives.iter().map(|it| format!("{} {}", it.line, it.text)).collect()
    }

    #[test]
    fn comments_and_nothing_else() {
        assert_eq!(all("x = 1  # perfline: ignore\n"), ["1 ignore"]);
        assert_eq!(all("x = 1  #perfline:ignore[sync] \r\n"), ["1 ignore[sync]"]);
        assert_eq!(all("x = 1  # note  # perfline: ignore[a]  # why"), ["1 ignore[a]"]);
        assert_eq!(all("# perfline: a # perfline: b\n"), ["1 a", "1 b"]);
        assert_eq!(all("x = '# perfline: ignore'\n"), [""; 0]);
        assert_eq!(all("x = f'{y} # perfline: ignore'\n"), [""; 0]);
        assert_eq!(all("'''\n# perfline: ignore\n'''\n"), [""; 0]);
        assert_eq!(all("x = 1  # see perfline: ignore\n"), [""; 0]);
        assert_eq!(all("x = 1  # Perfline: ignore\n"), [""; 0]);
        assert_eq!(all("f(\nx = 1  # perfline: ignore\n"), ["2 ignore"], "half an edit");
    }

    #[test]
    fn directives_of_a_statement() {
        let text = "\
f(
    a,  # perfline: one
    b,
)  # perfline: two
# perfline: three
if g(
    c,  # perfline: four
):
    h()
";
        let module = Module::parse(text);
        let of = |line| module.directives(line).map(|it| it.text.as_str()).collect::<Vec<_>>();
        assert_eq!(of(1), ["one", "two"]);
        assert_eq!(of(3), ["one", "two"]);
        assert_eq!(of(6), ["four"], "the header, without the comment before it");
        assert_eq!(of(9), [""; 0], "the body is another statement");
        assert_eq!(of(99), [""; 0]);
    }
}
