//! Lines and files as the ledger names them.

use ledger::{Evidence, Ledger, LineKey, SourceFile};
use recorded::RecordedSources;

use crate::tree::{LineId, Lines, StackFile, Stacks};

impl StackFile {
    /// The file with a recorded path, which is its key where nothing is known about it.
    #[must_use]
    pub fn new(recorded: &str, sources: &RecordedSources) -> Self {
        let source = sources.get(recorded);
        Self {
            key: source.map_or(recorded, |source| &source.key).to_owned(),
            recorded: recorded.to_owned(),
            is_user_code: source.is_some_and(|source| source.is_user_code),
        }
    }
}

/// The key of a line in the ledger.
#[must_use]
pub fn line_key(lines: &Lines, line: LineId) -> LineKey {
    let file = &lines.files[lines.file_of(line).0 as usize];
    LineKey { file: file.key.clone(), line: lines.number(line) }
}

/// Lists a file in the ledger.
pub fn post_file(ledger: &mut Ledger, sources: &RecordedSources, file: &StackFile) {
    let source = sources.get(&file.recorded);
    let entry = SourceFile {
        recorded: file.recorded.clone(),
        path: source.and_then(|source| source.path.clone()),
        is_user_code: file.is_user_code,
        fit: source.map_or(ledger::SourceFit::Missing, |source| source.fit),
        others: source.map(|source| source.others.clone()).unwrap_or_default(),
    };
    ledger.files.insert(file.key.clone(), entry);
}

/// The weakest evidence of each line, over the stacks that something was charged to, and over those around them.
/// An empty `is_charged` means all.
#[must_use]
pub fn evidence_by_line(stacks: &Stacks, is_charged: &[bool]) -> Vec<Evidence> {
    let mut evidence = vec![Evidence::Exact; stacks.lines.len()];
    let mut is_used: Vec<bool> = (0..stacks.len())
        .map(|node| is_charged.is_empty() || is_charged.get(node).copied().unwrap_or(false))
        .collect();
    for node in stacks.nodes().rev().filter(|node| !node.is_empty()) {
        if is_used[node.index()] {
            is_used[stacks.parent(node).index()] = true;
            let weakest = &mut evidence[stacks.line(node).index()];
            *weakest = (*weakest).max(stacks.evidence(node));
        }
    }
    for (line, parts) in stacks.lines.all_fused() {
        let of_all = evidence[line.index()];
        for part in parts.iter().flatten() {
            evidence[part.index()] = evidence[part.index()].max(of_all);
        }
    }
    evidence
}

/// The function that `line` is in: qualified where the source was found, else as recorded.
#[must_use]
pub fn function(lines: &Lines, sources: &RecordedSources, line: LineId) -> String {
    let file = &lines.files[lines.file_of(line).0 as usize];
    let module = sources.get(&file.recorded).and_then(|source| source.module.as_deref());
    let qualified = module
        .and_then(|module| module.enclosing(lines.number(line)))
        .map(|it| it.qualified_name.clone());
    qualified.filter(|name| !name.is_empty()).unwrap_or_else(|| lines.function(line).to_owned())
}
