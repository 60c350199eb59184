//! Findings as diagnostics.

use insights::{Detail, Finding, Severity};
use ledger::{LineKey, Ns};
use metrics::numbers::duration;

use crate::place::{Placed, PlacedSource, base_name};
use crate::rules;
use crate::rules::per;

/// A finding on a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// 1-based line of the finding.
    pub line: u32,
    /// Byte offset of the statement's first character.
    pub start: usize,
    /// Byte offset of its end.
    pub end: usize,
    /// How much it matters.
    pub severity: Severity,
    /// Id of the rule.
    pub code: &'static str,
    /// One line.
    pub message: String,
    /// Lines that have to do with it.
    pub related: Vec<RelatedLine>,
    /// What it costs per step in nanoseconds, or in all where the recording has no steps.
    pub cost: Ns,
    /// The share (of 1) of the step, or of the recording.
    pub share: f64,
    /// What to do.
    pub remedy: &'static str,
}

/// A line that has to do with a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedLine {
    /// Key of [`ledger::Ledger::files`].
    pub file: String,
    /// 1-based: in the text as it is now for the diagnostic's own file, as recorded for others.
    pub line: u32,
    /// What it has to do with it.
    pub message: String,
}

/// The findings that are about the file, in line order. Lines that were changed or deleted since have none, nor have
/// statements with a comment `# perfline: ignore`.
#[must_use]
pub fn diagnostics(source: &PlacedSource<'_>, findings: &[Finding]) -> Vec<Diagnostic> {
    let placed = source.placed_as_recorded();
    let mut diagnostics: Vec<Diagnostic> = findings
        .iter()
        .filter(|finding| finding.place.file == source.key)
        .filter_map(|finding| diagnostic_of(source, &placed, finding))
        .collect();
    diagnostics.sort_by_key(|it| it.line);
    diagnostics
}

/// A finding that is about the file, where it is to be reported; with [`PlacedSource::placed_as_recorded`].
pub(crate) fn diagnostic_of(
    source: &PlacedSource<'_>,
    placed: &[Placed<'_>],
    finding: &Finding,
) -> Option<Diagnostic> {
    let row = placed.binary_search_by_key(&finding.place.line, |it| it.recorded).ok()?;
    let Placed { line, is_stale: false, .. } = placed[row] else { return None };
    if is_suppressed(source, finding, line) { None } else { diagnostic(source, finding, line) }
}

/// Whether a comment on the statement on `line` says that a finding is not to be reported.
pub(crate) fn is_suppressed(source: &PlacedSource<'_>, finding: &Finding, line: u32) -> bool {
    source.module.directives(line).any(|it| insights::is_suppressed(&it.text, finding.rule))
}

fn diagnostic(source: &PlacedSource<'_>, finding: &Finding, line: u32) -> Option<Diagnostic> {
    let statement = source.module.statement_lines(line);
    let (first, last) =
        (source.index.line_range(*statement.start())?, source.index.line_range(*statement.end())?);
    let text = source.text.get(first.start..last.end)?;
    let start = first.start + (text.len() - text.trim_start().len());
    let related = finding.related.iter().filter_map(|related| {
        let time = duration(per(finding, related.time.as_f64()));
        let message = related.text.replace("{time}", &time);
        let line = current_line(source, &related.place)?;
        Some(RelatedLine { file: related.place.file.clone(), line, message })
    });
    Some(Diagnostic {
        line,
        start,
        end: first.start + text.trim_end().len(),
        severity: finding.severity,
        code: finding.rule,
        message: message(source, finding),
        related: related.collect(),
        cost: finding.cost_per_step.unwrap_or(finding.cost),
        share: finding.share,
        remedy: finding.remedy,
    })
}

/// What the findings about the file say, each as one line of text with its place in `findings`; lines of the file are as they
/// are now. Other than [`diagnostics`], findings of lines that were changed or deleted since are among them; those that a
/// comment `# perfline: ignore` suppresses are not.
#[must_use]
pub fn current_messages(source: &PlacedSource<'_>, findings: &[Finding]) -> Vec<(usize, String)> {
    let placed = source.placed_as_recorded();
    let of_file =
        findings.iter().enumerate().filter(|(_, finding)| finding.place.file == source.key);
    let reported = of_file.filter(|(_, finding)| {
        let row = placed.binary_search_by_key(&finding.place.line, |it| it.recorded);
        row.map_or(true, |row| !is_suppressed(source, finding, placed[row].line))
    });
    reported.map(|(place, finding)| (place, message(source, finding))).collect()
}

/// What the finding says, as one line of text, where it is not known what became of its file: lines are as recorded.
#[must_use]
pub fn finding_message(finding: &Finding) -> String {
    message_with(finding, |line| Some(format!("{}:{}", base_name(&line.file), line.line)))
}

/// What the finding says, as one line of text.
pub(crate) fn message(source: &PlacedSource<'_>, finding: &Finding) -> String {
    message_with(finding, |line| {
        if line.file != source.key {
            return Some(format!("{}:{}", base_name(&line.file), line.line));
        }
        current_line(source, line).map(|line| format!("line {line}"))
    })
}

fn message_with(finding: &Finding, name: impl Fn(&LineKey) -> Option<String>) -> String {
    match &finding.detail {
        Detail::Device(detail) => rules::device::message(finding, detail),
        Detail::Sync { waited_for, waited } => {
            rules::waits::message(finding, waited_for.as_ref(), *waited, name)
        }
        Detail::Pattern(pattern, books) => rules::host::message(finding, *pattern, books, name),
        Detail::Compiler(pattern, books, reasons) => {
            rules::host::message(finding, *pattern, books, name)
                + &rules::compiler::because(reasons)
        }
        Detail::Memory(detail) => rules::memory::message(finding, detail),
        Detail::Ranks(detail) => rules::ranks::message(finding, detail, name),
    }
}

/// Where a line is now; `None` where it is gone. Lines of other files are as recorded.
pub(crate) fn current_line(source: &PlacedSource<'_>, line: &LineKey) -> Option<u32> {
    if line.file != source.key {
        return Some(line.line);
    }
    source.map.and_then(|map| map.current(line.line)).map(|carried| carried.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, TRAIN, TRAIN_BOOKS};

    fn shown(fixture: &Fixture) -> Vec<String> {
        let mut findings = insights::find(&fixture.ledger, &insights::RuleOptions::default());
        findings.retain(|it| it.rule == "sync");
        let all = diagnostics(&fixture.source(), &findings);
        let shown = all.iter().map(|it| {
            let related: Vec<_> =
                it.related.iter().map(|it| format!("{}: {}", it.line, it.message)).collect();
            let text = &fixture.text[it.start..it.end];
            format!("{} {:?} {text:?} {} {related:?}", it.line, it.severity, it.message)
        });
        shown.collect()
    }

    #[test]
    fn a_wait() {
        let mut fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        assert_eq!(
            shown(&fixture),
            [
                "5 Warning \"if x.max().item() > 100:\" sync: the CPU waits 4.8 ms per step here, 10 times, for kernels of \
              line 4 (11.7 % of the step) [\"4: launched what was waited for (9 ms of device \
              time meanwhile)\"]"
            ]
        );
        fixture.edit("class", "import torch\nclass");
        let moved = shown(&fixture).remove(0);
        assert!(moved.starts_with("6 Warning") && moved.contains("kernels of line 5"), "{moved}");
        fixture.edit("            x = torch.relu(layer(x))\n", "");
        let alone = shown(&fixture).remove(0);
        assert!(
            alone.contains("per step here, 10 times (11.7 %") && alone.ends_with("[]"),
            "{alone}"
        );
        fixture.edit("> 100", "> 10");
        assert_eq!(
            shown(&fixture),
            [""; 0],
            "it is not known whether a line that was changed still waits"
        );
    }

    #[test]
    fn messages_of_lines_that_were_changed_or_deleted() {
        let mut fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        let findings = insights::find(&fixture.ledger, &insights::RuleOptions::default());
        let sync = findings.iter().position(|it| it.rule == "sync").unwrap();
        let message = |fixture: &Fixture| {
            let messages = current_messages(&fixture.source(), &findings);
            messages.into_iter().find(|(place, _)| *place == sync).map(|(_, message)| message)
        };
        fixture.edit("class", "import torch\nclass");
        assert!(
            message(&fixture).unwrap().contains("kernels of line 5"),
            "{:?}",
            message(&fixture)
        );
        fixture.edit("> 100:", "> 10:");
        assert!(message(&fixture).unwrap().starts_with("sync: "), "of a line that was changed");
        fixture.edit("> 10:", "> 100:  # perfline: ignore[sync]");
        assert_eq!(message(&fixture), None, "suppressed");
        fixture.edit("            if x.max().item() > 100:  # perfline: ignore[sync]\n", "");
        assert!(message(&fixture).unwrap().starts_with("sync: "), "of a line that is gone");
    }

    #[test]
    fn a_comment_suppresses() {
        let books = "thread 10ms\n3 fn=f wait=1ms waits=1\n";
        let rows = [
            ("", 1),
            ("  # perfline: ignore", 0),
            ("  # note  # perfline: ignore[sync]", 0),
            ("  # perfline: ignore[other]", 1),
        ];
        for (comment, expected) in rows {
            for line in ["print(", "    x.item(),", "    y)"] {
                let text = "def f(x):\n    print(\n    x.item(),\n    y)\n";
                let text = text.replace(line, &format!("{line}{comment}"));
                assert_eq!(shown(&Fixture::new(&text, books)).len(), expected, "{text}");
            }
        }
    }

    #[test]
    fn all_lines_of_a_statement_are_marked() {
        let text = "def f(x):\n    print(\n        x.item(),\n    )  # é\n    g()\n";
        let fixture =
            Fixture::new(text, "thread 10ms\n3 inferred fn=f wait=1ms waits=1 waited=3:1ms\n");
        assert_eq!(
            shown(&fixture),
            [
                "3 Warning \"print(\\n        x.item(),\\n    )  # é\" sync: the CPU waits 1 ms here (line inferred) \
              for kernels of this line (10 % of the recording) []"
            ]
        );
    }

    #[test]
    fn only_the_function_is_known() {
        let fixture = Fixture::new(
            "def f(x):\n    x.item()\n",
            "step 1 10ms\n1 function fn=f wait=2ms waits=1\n",
        );
        assert_eq!(
            shown(&fixture),
            [
                "1 Warning \"def f(x):\" sync: the CPU waits 2 ms per step somewhere in this function (20 % of the step) []"
            ]
        );
    }
}
