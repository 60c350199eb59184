//! `perfline.rankSteps`: each rank of a run in each step, as the map of ranks and steps is drawn from them.

use std::sync::Arc;

use report::rank_steps::{MapSize, rank_steps};
use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::requested_load::picture;
use crate::load_failure::LoadFailure;
use crate::session::Session;

pub(super) async fn handle(session: &Arc<Session>) -> Result<Value> {
    picture(session, |loaded, _, _, _| {
        let recording = loaded.recording();
        let drawn = rank_steps(&recording, &recording.title(), MapSize::EDITOR);
        let missing = "the recording has no steps of several ranks with collectives in them; load the traces of all ranks";
        drawn.ok_or_else(|| LoadFailure::Unusable(missing.to_owned()))
    })
    .await
}
