//! The list of rules, and the page of one.

use std::io::{self, Write};

use anstyle::{AnsiColor, Color, Style};
use insights::{Area, Rule, rules};

use crate::terminal::{FAINT, STRONG, Terminal, columns, left, wrapped};

/// Code, as in the theme.
const CODE: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Cyan)));

/// Columns of text at most: longer lines are hard to read.
const WIDEST: usize = 100;

/// All rules by area, one a line.
pub fn write_list(out: &mut dyn Write, terminal: &Terminal) -> io::Result<()> {
    let widest = rules().map(|it| columns(it.id)).max().unwrap_or(0);
    let width = width(terminal).saturating_sub(widest + 4).max(20);
    for area in Area::ALL {
        let rules: Vec<&Rule> = rules().filter(|it| it.area == area).collect();
        if rules.is_empty() {
            continue;
        }
        writeln!(out, "{}", terminal.paint(STRONG, area.title()))?;
        for rule in rules {
            let mut name = terminal.paint(CODE, &left(rule.id, widest));
            for line in wrapped(rule.title, width) {
                writeln!(out, "  {name}  {line}")?;
                name = " ".repeat(widest);
            }
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", terminal.paint(FAINT, "perfline explain RULE says more."))
}

/// The page of a rule.
pub fn write_page(out: &mut dyn Write, rule: &Rule, terminal: &Terminal) -> io::Result<()> {
    let mut is_code = false;
    for line in ide::explanation(rule).lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            writeln!(out, "    {}", terminal.paint(CODE, line))?;
        } else if let Some(title) = line.trim_start_matches('#').strip_prefix(' ')
            && line.starts_with('#')
        {
            for line in wrapped(&title.replace('`', ""), width(terminal)) {
                writeln!(out, "{}", terminal.paint(STRONG, &line))?;
            }
        } else {
            let (mark, text) = match line.strip_prefix("- ") {
                Some(text) => ("- ", text),
                None => ("", line),
            };
            prose(out, mark, &without_links(text), terminal)?;
        }
    }
    Ok(())
}

/// A paragraph, its lines after the first as far in as the text after `mark`. What is in backticks is painted, and loses
/// them where it is.
fn prose(out: &mut dyn Write, mark: &str, text: &str, terminal: &Terminal) -> io::Result<()> {
    if text.is_empty() {
        return writeln!(out);
    }
    let mut is_code = false;
    let mut indent = mark.to_owned();
    for line in wrapped(text, width(terminal).saturating_sub(2 + mark.len())) {
        let mut painted = String::new();
        for (number, part) in line.split('`').enumerate() {
            is_code ^= number > 0;
            match is_code {
                true => painted += &terminal.paint(CODE, part),
                false => painted += part,
            }
        }
        writeln!(out, "  {indent}{painted}")?;
        indent = " ".repeat(mark.len());
    }
    Ok(())
}

/// `[text](address)` as `text: address`.
fn without_links(text: &str) -> String {
    let parsed = text.strip_prefix('[').and_then(|it| it.strip_suffix(')')?.split_once("]("));
    parsed.map_or_else(|| text.to_owned(), |(text, address)| format!("{text}: {address}"))
}

fn width(terminal: &Terminal) -> usize {
    terminal.width.unwrap_or(WIDEST).clamp(40, WIDEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Colours;

    fn written(write: impl FnOnce(&mut dyn Write, &Terminal) -> io::Result<()>) -> String {
        let terminal = Terminal { colours: Colours::Plain, width: Some(60) };
        let mut out = Vec::new();
        write(&mut out, &terminal).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn pages_fit_the_terminal() {
        for rule in rules() {
            let page = written(|out, terminal| write_page(out, rule, terminal));
            assert!(page.starts_with(&format!("{}: ", rule.id)), "{page}");
            assert!(!page.contains("##") && !page.contains('`'), "{page}");
            let prose = page.lines().filter(|line| !line.starts_with("    ") && line.contains(' '));
            // A word that is longer stays whole.
            for line in prose.filter(|line| 1 < line.split_whitespace().count()) {
                assert!(columns(line) <= 60 || line.contains("://"), "{line}");
            }
        }
    }

    #[test]
    fn a_page() {
        let page = written(|out, terminal| {
            write_page(out, insights::rule("memory-leak").unwrap(), terminal)
        });
        let start = "memory-leak: a line holds more after every step\n\n  What the line allocates is not given back: it holds more\n  \
                     after every step.\n\nWhen it fires\n\n";
        assert!(page.starts_with(start), "{page}");
        assert!(page.contains("\n    outputs.append(model(x))\n"), "{page}");
        assert!(page.contains("\n  - share, 0.1 % by default: "), "{page}");
    }

    #[test]
    fn the_list_names_all_rules() {
        let list = written(write_list);
        for rule in rules() {
            assert!(list.contains(rule.id), "{list}");
        }
        assert!(list.starts_with("Waiting for the device\n  sync "), "{list}");
    }
}
