//! What the rules found, in the terminal.

use std::io::{self, Write};

use insights::{Finding, Severity};
use ledger::{Ledger, LineKey};

use crate::suppression::Suppression;
use crate::terminal::{DOUBT, FAINT, STRONG, Terminal, clean, wrapped};

/// Findings that no comment silences, the costliest first.
pub(crate) fn told(ledger: &Ledger, suppression: &Suppression<'_>) -> Vec<Finding> {
    let mut findings = insights::find(ledger, &insights::Options::default());
    findings.retain(|it| !suppression.covers(&it.place, it.rule));
    findings
}

/// Prints at most `most` findings under a heading, each with its line, its rule, its numbers and what to do; nothing
/// where there are none.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn write(
    out: &mut dyn Write,
    findings: &[Finding],
    most: usize,
    place: impl Fn(&LineKey) -> String,
    terminal: &Terminal,
) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    let width = terminal.width.unwrap_or(100).min(100).saturating_sub(4);
    writeln!(out, "\n{}", terminal.paint(STRONG, "Findings"))?;
    for finding in findings.iter().take(most) {
        let style = if finding.severity == Severity::Warning { DOUBT } else { STRONG };
        let place = clean(&place(&finding.place));
        let message = clean(&ide::finding_message(finding));
        for line in wrapped(&format!("{place} {message}"), width) {
            match line.strip_prefix(&place) {
                Some(rest) => writeln!(out, "  {}{rest}", terminal.paint(style, &place))?,
                None => writeln!(out, "    {line}")?,
            }
        }
        for line in wrapped(finding.remedy, width) {
            writeln!(out, "    {}", terminal.paint(FAINT, &line))?;
        }
    }
    if most < findings.len() {
        writeln!(out, "  … and {} more (--top)", findings.len() - most)?;
    }
    Ok(())
}
