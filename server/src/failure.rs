//! Why a command ended early.

use std::path::PathBuf;
use std::process::ExitCode;

use budget::BudgetError;
use settings::ProjectFault;

/// Why a command ended early. The text is one line: what happened, where, what to do.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The recording cannot be loaded.
    Load(loader::Error),
    /// The file holds the amounts of lines alone, and a part of its stacks was asked for.
    NoStacks(PathBuf, String),
    /// No recording was named, and none was found below this folder.
    NothingFound(PathBuf),
    /// No recordings were named to compare, and fewer than two were found below the current folder.
    OneRecording,
    /// No Python was found to record with.
    NoPython,
    /// The Python that was found cannot be run.
    Python(PathBuf, std::io::Error),
    /// The settings of the project cannot be read.
    ProjectFile(PathBuf, std::io::Error),
    /// The settings of the project say what cannot be understood.
    Project(PathBuf, ProjectFault),
    /// All recordings below this folder are left out by the settings in the file.
    LeftOut(PathBuf, PathBuf),
    /// The budget cannot be read.
    BudgetFile(PathBuf, std::io::Error),
    /// The budget says what cannot be understood.
    Budget(PathBuf, BudgetError),
    /// The budget has limits against a baseline on this line, and no recording was named.
    NoBaseline(PathBuf, u32),
    /// A baseline was named, and the budget has no limits against one.
    NoBaselineLimits(PathBuf),
    /// What changes is to be seen of the standard input, which can be read once.
    WatchedInput,
    /// What changes is to be seen of what is not on disk.
    WatchedUrl(PathBuf),
    /// The output of this format is no text, and would go to a terminal.
    Binary(&'static str),
    /// The format has all of the recording, and a part was asked for.
    NoFilter(&'static str, String),
    /// The table is of the whole recording, and a part was asked for.
    WholeTable(&'static str, String),
    /// Tables were named, and this format has none.
    NoTables(&'static str),
    /// Several tables were named, and a file of this format has one.
    OneTable(&'static str),
    /// A part was asked for of a table of stacks and of another one, which have parts of their own.
    OtherPart(&'static str, &'static str, String),
    /// Limits are of the whole recording, and a part was asked for.
    NoLimits(String),
    /// A screen needs a terminal, and there is none.
    NoTerminal,
    /// The page cannot be served.
    View(std::io::Error),
    /// Agents cannot be served.
    Agents(std::io::Error),
    /// The output cannot be written.
    Output(std::io::Error),
}

impl Failure {
    /// 2 for what the user can put right, 130 after Ctrl-C as shells do.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Load(loader::Error::Cancelled) => ExitCode::from(130),
            _ => ExitCode::from(2),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Load(error) => write!(f, "{error}"),
            Self::NoStacks(path, filter) => write!(
                f,
                "{}: a ledger holds no stacks, which {filter} needs; name the traces and snapshots that it was written from",
                loader::shown(path)
            ),
            Self::NothingFound(folder) => write!(
                f,
                "{}: no recording below this folder; name a trace (*.json, *.json.gz), a memory snapshot (*.pickle) or a ledger (*.perfline)",
                folder.display()
            ),
            Self::OneRecording => write!(
                f,
                "there are fewer than two recordings below the current folder; name two: perfline diff BASE NEW"
            ),
            Self::NoPython => write!(
                f,
                "no Python was found to record with: activate an environment, or put python3 on the PATH"
            ),
            Self::Python(path, error) => write!(f, "{}: {error}", path.display()),
            Self::ProjectFile(path, error) => {
                write!(
                    f,
                    "{}: cannot read the settings: {error} (docs/settings.md)",
                    path.display()
                )
            }
            Self::Project(path, fault) => {
                write!(f, "{}:{}: {}", path.display(), fault.line, fault.message)
            }
            Self::LeftOut(folder, file) => write!(
                f,
                "{}: all recordings below this folder are left out by recordings.include and recordings.exclude in {}; name one of their files, or change the settings",
                folder.display(),
                file.display()
            ),
            Self::BudgetFile(path, error) => write!(
                f,
                "{}: cannot read the budget: {error}; name another: --budget FILE (docs/budgets.md)",
                path.display()
            ),
            Self::Budget(path, BudgetError { line, message }) => {
                write!(f, "{}:{line}: {message}", path.display())
            }
            Self::NoBaseline(path, line) => write!(
                f,
                "{}:{line}: no recording of the baseline is named; add `recording = \"FILE\"`, or name one: --baseline INPUT",
                path.display()
            ),
            Self::NoBaselineLimits(path) => write!(
                f,
                "{}: there are no limits against a baseline; add a table [budget.baseline] with `step = \"3 %\"`",
                path.display()
            ),
            Self::WatchedInput => {
                write!(f, "--watch needs files: the standard input can be read once alone")
            }
            Self::WatchedUrl(url) => write!(
                f,
                "--watch needs files on disk: {} is asked for once; run the command again",
                url.display()
            ),
            Self::Binary(format) => {
                write!(f, "{format} is no text for a terminal; name a file: --output FILE")
            }
            Self::NoFilter(format, filter) => {
                write!(f, "{format} has all events of the recording: leave out {filter}")
            }
            Self::WholeTable(table, filter) => {
                write!(f, "the table of {table} is of the whole recording: leave out {filter}")
            }
            Self::NoTables(format) => write!(
                f,
                "{format} has stacks alone: leave out --table, or name parquet or arrow as format"
            ),
            Self::OneTable(format) => write!(
                f,
                "a file of {format} has one table: name one with --table, or arrow as format"
            ),
            Self::OtherPart(one, other, filter) => write!(
                f,
                "with {filter}, {one} have what is on stacks and {other} what is on lines: export each by itself"
            ),
            Self::NoLimits(filter) => {
                write!(f, "limits (--max-…) are of the whole recording: leave out {filter}")
            }
            Self::NoTerminal => write!(
                f,
                "top needs a terminal to show a screen in; for a pipe or a file use perfline report or perfline annotate"
            ),
            Self::View(error) => {
                write!(
                    f,
                    "the page cannot be served: {error}; choose another port with --port, or 0 for one that is free"
                )
            }
            Self::Agents(error) => write!(f, "cannot serve agents: {error}"),
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
        }
    }
}

impl From<loader::Error> for Failure {
    fn from(error: loader::Error) -> Self {
        Self::Load(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}
