//! A comparison as Markdown for a comment on a pull request (GitHub, GitLab).

use std::io::{self, Write};

use super::build::DiffReport;
use crate::model::{Align, Section};
use crate::terminal::clean;

/// Sections that are shown at once; the others are folded.
const OPEN: [&str; 3] = ["faster", "slower", "other-work"];

/// Prints a comparison as Markdown: the verdict, what is faster and slower and does other work, the rest folded.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut dyn Write, diff: &DiffReport<'_>) -> io::Result<()> {
    let summary = &diff.report.summary;
    writeln!(out, "### Perfline\n")?;
    writeln!(out, "**{}**\n", escaped(&diff.verdict))?;
    writeln!(out, "{}{}", code(&summary.recording), escaped(&summary.extent))?;
    let (open, folded): (Vec<&Section>, Vec<&Section>) =
        diff.report.sections.iter().partition(|it| OPEN.contains(&it.id));
    for it in open {
        writeln!(out, "\n#### {}\n", it.title)?;
        table(out, it)?;
    }
    for it in folded {
        writeln!(out, "\n<details><summary>{}</summary>\n", it.title)?;
        table(out, it)?;
        writeln!(out, "\n</details>")?;
    }
    for note in summary.notes.iter().skip(1) {
        writeln!(out, "\n<sub>{}</sub>", escaped(&note.text))?;
    }
    Ok(())
}

fn table(out: &mut dyn Write, section: &Section) -> io::Result<()> {
    let used = section.used_columns();
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let names = used.iter().map(|it| section.columns[*it].name.to_owned()).collect();
    writeln!(out, "{}", row(names))?;
    let rules = used.iter().map(|it| match section.columns[*it].align {
        Align::Left => ":--".to_owned(),
        Align::Right => "--:".to_owned(),
    });
    writeln!(out, "{}", row(rules.collect()))?;
    for cells in &section.rows {
        let cells = used.iter().map(|&it| match section.columns[it].align {
            Align::Left => code(&cells[it].text),
            Align::Right => escaped(&cells[it].text),
        });
        writeln!(out, "{}", row(cells.collect()))?;
    }
    for note in &section.notes {
        writeln!(out, "\n{}", escaped(&note.text))?;
    }
    Ok(())
}

/// Text that nothing in Markdown or HTML takes for a command.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in clean(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '@' | '~' => {
                escaped.push('\\');
                escaped.push(character);
            }
            character => escaped.push(character),
        }
    }
    escaped
}

/// Text as code; nothing for nothing. A name may hold what ends code or a cell.
fn code(text: &str) -> String {
    let text = clean(text);
    match text.is_empty() {
        true => String::new(),
        false if text.contains(['`', '|']) => escaped(&text),
        false => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_command() {
        assert_eq!(code("train.py:3"), "`train.py:3`");
        assert_eq!(code("a|b"), "a\\|b");
        assert_eq!(code("<lambda>"), "`<lambda>`");
        assert_eq!(escaped("<img> @me [x](y)"), "&lt;img&gt; \\@me \\[x\\](y)");
    }
}
