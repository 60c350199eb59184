//! What had to be done before a step could end: `docs/accounting.md`, The critical path.
//!
//! *Owns*: the walk from the end of each step, and from each collective in it, back to the begin of the step, over device events
//! (`device_orders`) and threads (`joins`), and how it is kept: as pieces between collectives (`pieces`).
//!
//! *Never*: knows a line: `attribution` charges the pieces to lines. Looks at another rank: `ranks` joins the pieces of several.
//!
//! *The tests that say so*: `tests/tests/critical_path.rs`, on small traces made by hand and on recordings.

mod device_orders;
mod joins;
mod nodes;
mod pieces;
mod walk;

pub use pieces::{HostPart, Launched, LaunchedEvent, Lead, PieceId, RecordedPiece, StepPieces};

use profile::{DeviceEventId, Profile};
use recorded::{IdleGaps, Launches, Steps};
use run_summary::{CollectiveEvent, RecordedCollective, StepSpan};
use rustc_hash::FxHashMap;

use crate::device_orders::DeviceOrders;
use crate::joins::Joins;
use crate::pieces::pieces;
use crate::walk::{Collectives, WalkedRecording, walk};

/// The critical paths of the steps of a recording.
#[derive(Debug, Default)]
pub struct CriticalPaths {
    /// By step, in order.
    pub steps: Vec<StepPieces>,
    /// What threads did for them, by thread, in order of time and without overlap.
    host: Vec<Vec<HostPart>>,
}

impl CriticalPaths {
    /// Walks back from the end of each of `spans`, and from each of `collectives`. `main_thread` is the thread that a step without
    /// a number ends on. Without device events and collectives there is nothing to choose from, and no path.
    #[must_use]
    pub fn new(
        profile: &Profile,
        (launches, gaps): (&Launches, &IdleGaps),
        steps: &Steps,
        spans: &[StepSpan],
        collectives: &[RecordedCollective],
        main_thread: Option<usize>,
    ) -> Self {
        let mut paths = Self { steps: Vec::new(), host: vec![Vec::new(); profile.threads.len()] };
        if profile.device.is_empty() && collectives.is_empty() {
            return paths;
        }
        let of_steps = steps.0.iter().map(|it| (Some(it.number), it.thread.index()));
        let of_steps: FxHashMap<Option<u32>, usize> = of_steps.collect();
        let of_step = |span: &StepSpan| of_steps.get(&span.number).copied().or(main_thread);
        let threads: Vec<Option<usize>> = spans.iter().map(of_step).collect();
        let events = DeviceOrders::new(profile);
        let joins = Joins::new(profile, (launches, gaps), &events, collectives, spans, &threads);
        let on_device: FxHashMap<DeviceEventId, usize> = collectives
            .iter()
            .enumerate()
            .filter_map(|(row, it)| Some((device_event(it)?, row)))
            .collect();
        let recorded = WalkedRecording {
            profile,
            launches,
            events,
            joins,
            collectives: Collectives::new(collectives, spans),
        };
        for ((index, span), thread) in spans.iter().enumerate().zip(threads) {
            let Some(thread) = thread else { continue };
            let nodes = walk(&recorded, (index, span), thread);
            let step = paths.steps.len();
            let pieces = pieces(step, &nodes, collectives, &on_device, &mut paths.host);
            paths.steps.push(StepPieces { number: span.number, pieces });
        }
        for parts in &mut paths.host {
            parts.sort_unstable_by_key(|it| it.start);
        }
        paths
    }

    /// What `thread` did for the paths, in order of time.
    #[must_use]
    pub fn of_thread(&self, thread: usize) -> &[HostPart] {
        self.host.get(thread).map_or(&[], Vec::as_slice)
    }
}

fn device_event(it: &RecordedCollective) -> Option<DeviceEventId> {
    match it.event {
        CollectiveEvent::Device(event) => Some(event),
        CollectiveEvent::Host(..) => None,
    }
}
