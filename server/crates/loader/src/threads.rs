//! What threads wait for one another with, in `blocks` and `hand_over`. `tests/interleavings.rs` compiles these two with others that
//! decide which thread goes on.

pub(crate) use std::sync::mpsc::{Receiver, Sender, channel};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::thread::scope;
