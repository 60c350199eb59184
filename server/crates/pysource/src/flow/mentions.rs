//! Finds the names that stand in the expressions of sites.

use std::collections::HashMap;
use std::sync::Arc;

use ruff_python_ast::token::{TokenKind, Tokens};
use ruff_text_size::{Ranged, TextRange};

use super::Flow;
use super::identifiers::Identifiers;

/// Finds the names in the sites of all `flows` of `text`.
pub(crate) fn mention(text: &str, tokens: &Tokens, flows: &mut [Flow]) {
    let mut ranges: Vec<(u32, u32)> = flows
        .iter()
        .flat_map(|flow| &flow.sites)
        .map(|site| (site.text.start, site.text.end))
        .collect();
    ranges.sort_unstable();
    // Sites stand within one another; of those that overlap, one range is left.
    ranges.dedup_by(|next, before| {
        let overlaps = next.0 <= before.1;
        if overlaps {
            before.1 = before.1.max(next.1);
        }
        overlaps
    });
    let mut identifiers = Identifiers::default();
    let mut starts = Vec::new();
    let mut rows: HashMap<&str, u32> = HashMap::new();
    let mut ranges = ranges.into_iter().peekable();
    let is_name = |kind: TokenKind| kind == TokenKind::Name || kind.is_soft_keyword();
    for token in tokens.iter().filter(|it| is_name(it.kind())) {
        let range: TextRange = token.range();
        let start = range.start().to_u32();
        while ranges.next_if(|&(_, end)| end <= start).is_some() {}
        if ranges.peek().is_none_or(|&(from, _)| start < from) {
            continue;
        }
        let name = text.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default();
        let row = *rows.entry(name).or_insert_with(|| {
            identifiers.texts.push(name.into());
            (identifiers.texts.len() - 1) as u32
        });
        identifiers.order.push(row);
        starts.push(start);
    }
    let identifiers = Arc::new(identifiers);
    let row = |offset: u32| starts.partition_point(|&start| start < offset) as u32;
    for flow in flows {
        flow.identifiers = identifiers.clone();
        for site in &mut flow.sites {
            site.mentions = row(site.text.start)..row(site.text.end);
        }
    }
}
