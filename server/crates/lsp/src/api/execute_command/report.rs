//! `perfline.report`: the report of what is shown, as the terminal prints it.

use std::sync::Arc;

use report::terminal::{Colours, Terminal};
use report::{Report, ReportOptions};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid};
use super::requested_load::refused;
use crate::load_failure::LoadFailure;
use crate::session::Session;

/// Lines in each table and findings in the text, if it is not said how many.
const TOP: u32 = 10;

pub(super) async fn handle(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let top = arguments.number(0, "top")?.unwrap_or(TOP) as usize;
    let as_text = arguments.flag(1, "text")?.unwrap_or(false);
    let work = session.background(move |snapshot, token| {
        let loaded = snapshot.loaded.as_ref().filter(|_| !token.is_cancelled())?;
        let part = match snapshot.books.loaded_part() {
            Ok(part) => part,
            Err(reason) => return Some(Err(refused(LoadFailure::Unusable(reason)))),
        };
        let recording = loaded.recording_of(part);
        let code = snapshot.filter.code.clone();
        let options = ReportOptions { code, ..ReportOptions::new(top, snapshot.view.rules()) };
        let report = report::build_shown(&recording, &options, part.map(|it| &it.recorded));
        Some(if as_text { text(&report) } else { Ok(report::json::report(&report)) })
    });
    work.await?.unwrap_or(Ok(Value::Null))
}

/// The report as the terminal prints it, without colours, its lines as long as they are.
fn text(report: &Report<'_>) -> Result<Value> {
    let mut out = Vec::new();
    let terminal = Terminal { colours: Colours::Plain, width: None };
    report::text::write(&mut out, report, "top", &terminal)
        .map_err(|error| invalid(error.to_string()))?;
    Ok(json!({"text": String::from_utf8_lossy(&out)}))
}
