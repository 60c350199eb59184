//! Whether the process that started the server still runs: it may end without closing the pipe, where another process
//! holds that open.

use crate::session::Session;

/// Waits until the process that `initialize` named has ended. It is looked at every
/// [`poll_parent`](crate::Config::poll_parent).
pub(crate) async fn gone(session: &Session) {
    loop {
        tokio::time::sleep(session.config.poll_parent).await;
        if session.parent.get().is_some_and(|&id| has_ended(id)) {
            return;
        }
    }
}

/// Whether there is no process of that id, or only what its own parent has not collected yet.
#[cfg(unix)]
fn has_ended(id: u32) -> bool {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    // What cannot be the id of a process cannot end.
    let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return false };
    // A process of another user may not be signalled; it is there all the same.
    test_kill_process(pid) == Err(Errno::SRCH) || is_zombie(id)
}

/// Elsewhere the end of the input has to do.
#[cfg(not(unix))]
fn has_ended(_: u32) -> bool {
    false
}

/// Whether a process has ended and is still listed. Only Linux says: in containers it may never be collected.
#[cfg(unix)]
fn is_zombie(id: u32) -> bool {
    let Ok(stat) = std::fs::read(format!("/proc/{id}/stat")) else { return false };
    // `id (name) state …`; the name may hold anything.
    let state = stat.iter().rposition(|&it| it == b')').and_then(|at| stat.get(at + 2));
    matches!(state, Some(b'Z' | b'X'))
}
