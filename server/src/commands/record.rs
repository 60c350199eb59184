//! `perfline record`: hands over to the Python package, because what it records runs in Python.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::failure::Failure;

/// Names the Python package where it is missing, because `No module named perfline` would be of no help.
const PROGRAM: &str = "
import sys
try:
    from perfline import _record
except ImportError:
    sys.exit(f'perfline: {sys.executable} has no package perfline; install it there: pip install perfline')
sys.exit(_record.main(sys.argv[1:]))
";

/// Runs the package's command with `arguments` and returns its exit status.
///
/// # Errors
/// If there is no Python, or it cannot be run.
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let python = python().ok_or(Failure::NoPython)?;
    let mut command = Command::new(&python);
    command.arg("-c").arg(PROGRAM).args(arguments);
    let failed = |error| Failure::Python(python.clone(), error);
    #[cfg(unix)]
    {
        // In place of this process, so that signals and the terminal are the program's.
        use std::os::unix::process::CommandExt;
        Err(failed(command.exec()))
    }
    #[cfg(not(unix))]
    {
        let status = command.status().map_err(failed)?;
        let code = status.code().and_then(|it| u8::try_from(it).ok()).unwrap_or(1);
        Ok(ExitCode::from(code))
    }
}

/// The Python beside this program in a virtual environment; else that of the active environment; else the one beside this
/// program, where a wheel was installed; else the first on `PATH`. An environment that merely lies in the current folder
/// is not run: a folder of a stranger must not decide what is.
fn python() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|it| it.parent().map(Path::to_owned));
    let of_environment =
        beside.iter().filter(|it| it.parent().is_some_and(|it| it.join("pyvenv.cfg").is_file()));
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(std::env::var_os).flat_map(
        |prefix| {
            let prefix = PathBuf::from(prefix);
            [prefix.join("bin"), prefix.join("Scripts"), prefix]
        },
    );
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).collect::<Vec<_>>();
    of_environment
        .cloned()
        .chain(active)
        .chain(beside.clone())
        .chain(on_path)
        .flat_map(|folder| ["python3", "python", "python.exe"].map(|name| folder.join(name)))
        .find(|it| it.is_file())
}
