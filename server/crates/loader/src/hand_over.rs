//! A snapshot on its way from the job that reads it to the one that reads the trace of the same run.

use std::sync::{Arc, PoisonError};

use profile::Snapshot;

use crate::threads::{Condvar, Mutex};

/// Where the one puts it and the other waits for it.
#[derive(Debug, Default)]
pub(crate) struct HandOver {
    given: Mutex<HandedOver>,
    changed: Condvar,
}

#[derive(Debug, Default)]
enum HandedOver {
    #[default]
    NotYet,
    /// `None` where it cannot be read, or no trace takes it.
    Done(Option<Arc<Snapshot>>),
}

impl HandOver {
    /// The snapshot, or `None` where there is none after all. The job that puts it must have begun before.
    pub(crate) fn wait(&self) -> Option<Arc<Snapshot>> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let HandedOver::Done(snapshot) = &*given {
                return snapshot.clone();
            }
            given = self.changed.wait(given).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Something to put the snapshot with. Dropped in any way, it ends the wait.
    pub(crate) fn giver(&self) -> Giver<'_> {
        Giver(self)
    }
}

/// Puts a snapshot where it is waited for, or nothing when it goes away.
pub(crate) struct Giver<'a>(&'a HandOver);

impl Giver<'_> {
    pub(crate) fn give(&self, snapshot: Option<Arc<Snapshot>>) {
        let mut given = self.0.given.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*given, HandedOver::NotYet) {
            *given = HandedOver::Done(snapshot);
            self.0.changed.notify_all();
        }
    }
}

impl Drop for Giver<'_> {
    fn drop(&mut self) {
        self.give(None);
    }
}
