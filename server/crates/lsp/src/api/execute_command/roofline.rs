//! `perfline.roofline`: the arithmetic of lines and kernels, as the roofline is drawn from it.

use std::sync::Arc;

use report::roofline::{RooflineSize, roofline};
use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::flame::files;
use super::requested_load::picture;
use crate::load_failure::LoadFailure;
use crate::session::Session;

pub(super) async fn handle(session: &Arc<Session>) -> Result<Value> {
    picture(session, |loaded, _, _, _| {
        let recording = loaded.recording();
        let drawn = roofline(&recording, &recording.title(), RooflineSize::EDITOR);
        let missing = "no operator of the recording has known FLOPs; record the sizes of inputs with record_shapes=True";
        let mut drawn = drawn.ok_or_else(|| LoadFailure::Unusable(missing.to_owned()))?;
        drawn["files"] = files(&recording);
        Ok(drawn)
    })
    .await
}
