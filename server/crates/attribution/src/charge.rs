//! What is charged after the timeline pass: device time, waits, backward time, segments, patterns, communication, arithmetic.

mod backward;
mod charges;
mod communication;
mod compiled;
mod critical_path;
mod device;
mod loops;
mod memory_holders;
mod modules;
mod patterns;
mod recording;
mod segment_calls;
mod stacks;
mod summary;
mod timeline;
mod waits;

pub(crate) use backward::{backward, forward_operators};
pub(crate) use charges::Charges;
pub(crate) use communication::communication;
pub(crate) use compiled::note_compiled;
pub(crate) use critical_path::critical_paths;
pub(crate) use device::{DeviceCharges, charge_devices, device_stacks};
pub(crate) use loops::loops;
pub(crate) use memory_holders::memory_holders;
pub(crate) use modules::{MODULE, module_class, modules_that_ran};
pub(crate) use patterns::{PageableCopies, find_patterns};
pub(crate) use recording::recording_stacks;
pub(crate) use segment_calls::segment_calls;
pub(crate) use stacks::{StackSources, stack_books};
pub(crate) use summary::charge_summary;
pub(crate) use timeline::event_timeline;
pub(crate) use waits::waits;
