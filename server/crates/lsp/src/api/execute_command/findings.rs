//! `perfline.findings`: what the rules found, of every severity.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ide::Finding;
use ledger::Ns;
use metrics::numbers::{duration, percent};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::current_files::{CurrentFiles, extend, mark, put_rows, whole};
use super::status::view;
use crate::session::Session;

pub(super) async fn handle(session: &Arc<Session>) -> Result<Value> {
    let documents = session.documents();
    let work = session.background(move |snapshot, token| {
        let Some(loaded) = snapshot.loaded.as_ref().filter(|_| !token.is_cancelled()) else {
            return json!({"view": view(snapshot), "findings": []});
        };
        let found = snapshot.findings();
        let places = CurrentFiles::new(snapshot, loaded, &documents, None);
        let files: BTreeSet<&str> = found.iter().map(|it| it.place.file.as_str()).collect();
        let mut messages = BTreeMap::new();
        for file in files {
            let now = places.with_source(file, |source| ide::current_messages(source, &found));
            messages.extend(now.unwrap_or_else(|| as_recorded(file, &found)));
        }
        let shown = || messages.iter().map(|(place, message)| (&found[*place], message));
        let mut listed = places.of(shown().map(|(finding, _)| finding.place.clone()));
        for (place, (finding, message)) in listed.iter_mut().zip(shown()) {
            let mut described = self::finding(finding, message);
            described["mark"] = json!(mark(place, finding.evidence));
            extend(place, described);
        }
        let mut answer = json!({"view": view(snapshot)});
        put_rows(&mut answer, "findings", listed);
        answer
    });
    work.await
}

/// What the findings about a file say that is not there, each with its place in `findings`.
fn as_recorded(file: &str, findings: &[Finding]) -> Vec<(usize, String)> {
    let of_file = findings.iter().enumerate().filter(|(_, it)| it.place.file == file);
    of_file.map(|(place, it)| (place, ide::finding_message(it))).collect()
}

/// What is said of a finding, besides its place.
pub(super) fn finding(finding: &Finding, message: &str) -> Value {
    let cost = finding.cost_per_step.unwrap_or(finding.cost).as_f64();
    json!({
        "function": finding.function,
        "evidence": finding.evidence.name(),
        "rule": finding.rule,
        "title": ide::rule(finding.rule).map(|it| it.title),
        "severity": finding.severity.name(),
        "value": whole(cost),
        "text": (finding.cost != Ns::ZERO).then(|| duration(cost)),
        "perStep": finding.cost_per_step.is_some(),
        "share": finding.share,
        "shareText": percent(finding.share),
        "message": message,
        "remedy": finding.remedy,
    })
}
