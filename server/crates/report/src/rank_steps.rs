//! The steps of the ranks of a run as the object `perfline.rankSteps/1` (docs/pictures.md), which the page of the report and editors
//! draw.

use ::ranks::Comparison;
use serde_json::{Value, json};

use crate::model::HeatLayer;
pub use crate::ranks::MapSize;
use crate::ranks::step_map;
use crate::recording::Recording;
use crate::terminal::clean;

/// Each rank in each step, and what memory it needed. `None` of a run of one rank, and where no collective that several ranks recorded
/// is in a step.
#[must_use]
pub fn rank_steps(recording: &Recording<'_>, title: &str, size: MapSize) -> Option<Value> {
    let compared = Comparison::new(&recording.run.merged)?;
    let map = step_map(recording, &compared, size)?;
    let peak = |rank: &u32| {
        let found = compared.ranks.iter().find(|it| it.rank == *rank);
        found.and_then(|it| it.memory_peak).map(|it| it.0)
    };
    let peaks: Vec<Option<i64>> = map.ranks.iter().map(peak).collect();
    let metric = |layer: &HeatLayer| {
        let amounts = layer.rows.iter().flatten().map(|it| it.map(|it| it.0));
        json!({
            "id": layer.id,
            "label": layer.name,
            "about": layer.about,
            "unit": "ns",
            "isByStep": true,
            "amount": amounts.collect::<Vec<_>>(),
        })
    };
    let mut metrics: Vec<Value> = map.layers.iter().map(metric).collect();
    if peaks.iter().any(Option::is_some) {
        metrics.push(json!({
            "id": "memoryPeak",
            "label": "memory peak",
            "about": "The most memory of its devices that was in use at once, over the whole recording.",
            "unit": "bytes",
            "isByStep": false,
            "amount": peaks,
        }));
    }
    Some(json!({
        "schema": "perfline.rankSteps/1",
        "title": clean(title),
        "ranks": map.ranks,
        "steps": map.steps,
        "metrics": metrics,
        "leftOut": {"ranks": map.left_out, "steps": map.left_out_steps},
    }))
}
