//! The memory allocator of a process that lives for days.

/// Starts this process anew, with the same arguments, with a single arena of glibc's allocator, unless the environment says
/// how many there are to be.
///
/// Each thread that reads a recording gets an arena of its own, and an arena keeps what was freed in it: a server that had
/// loaded a trace of 60 MB thirty times held 77 MiB, and with one arena 29 MiB, in the same time (`docs/reliability.md`). glibc
/// reads the number when a process starts (`mallopt(3)`, `MALLOC_ARENA_MAX`); setting it in a running process takes unsafe
/// code. Comes back where that is not possible, or not needed: the process then works as it is, with more memory.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn restart_with_one_arena() {
    use std::os::unix::process::CommandExt;

    const ARENAS: &str = "MALLOC_ARENA_MAX";
    if std::env::var_os(ARENAS).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    // What comes back is why it did not work, which changes nothing for the user.
    let _ = command.args(arguments).env(ARENAS, "1").exec();
}

/// Other allocators have no arenas that grow like that.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn restart_with_one_arena() {}
