//! Reads the recorder's side-car, `perfline.callers/1`: callers, and when lines began (`fixtures/FORMAT.md`).

use profile::{
    Bytes, Callers, Interner, LineLog, LoggedCode, Ns, RecordedModule, RecordedText,
    RecordedWorkers, StrId, ThreadCallers, ThreadLines, WarningKind, Warnings,
};

use crate::envelope::each_member;
use crate::event::Values;
use crate::scan::{self, Scan, Stop};
use crate::set_aside::TIMES;
use crate::text;

/// Why a side-car cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallersError {
    /// The text is not what the format says; nothing of it can be trusted.
    #[error("damaged at byte {offset}: record the trace again, or delete the side-car")]
    Damaged {
        /// Where in the decompressed text.
        offset: usize,
    },
    /// The text ends too early.
    #[error("it ends too early, at byte {offset}: record the trace again, or delete the side-car")]
    Truncated {
        /// Length of the text.
        offset: usize,
    },
    /// The file is of another kind or a later version.
    #[error("its schema is \"{found}\", and this version reads {SCHEMA}")]
    Schema {
        /// What the file says it is; empty when it does not say.
        found: String,
    },
}

/// What the files say that are read here.
const SCHEMA: &str = "perfline.callers/1";

/// What every version says, up to the number.
const SCHEMA_NAME: &str = "perfline.callers/";

/// Whether a file that begins with `prefix` (decompressed) is a side-car, of this or another version.
#[must_use]
pub fn looks_like_callers(prefix: &[u8]) -> bool {
    let read = || {
        let (open, at) = scan::significant(prefix, 0)?;
        let (quote, at) = scan::significant(prefix, at + 1)?;
        if (open, quote) != (b'{', b'"') {
            return Err(Stop::Bad(at));
        }
        let (key, value) = scan::key(prefix, at)?;
        Ok(key == b"schema"
            && scan::string(prefix, value)?.0.raw.starts_with(SCHEMA_NAME.as_bytes()))
    };
    read().unwrap_or(false)
}

/// Reads a whole side-car.
///
/// # Errors
/// If the text is not whole or not of this schema. A side-car is written in one piece and small beside its trace, so
/// that a damaged one is not used at all.
pub fn read_callers(text: &[u8]) -> Result<(Callers, Warnings), CallersError> {
    let mut anomalies = Vec::new();
    let mut file = CallersFile::default();
    let mut values = Values { buf: text, at: scan::skip_space(text, 0), anomalies: &mut anomalies };
    file.read(&mut values).map_err(|stop| match stop {
        Stop::Bad(offset) => CallersError::Damaged { offset },
        Stop::More => CallersError::Truncated { offset: text.len() },
    })?;
    if file.schema != SCHEMA {
        return Err(CallersError::Schema { found: file.schema });
    }
    let mut warnings = Warnings::default();
    for (kind, at, message) in anomalies {
        warnings.add(kind, at as u64, message);
    }
    Ok((file.callers(&mut warnings), warnings))
}

/// The columns as they stand in the file.
#[derive(Default)]
struct CallersFile {
    schema: String,
    torch: String,
    strings: Interner,
    /// Handle of each entry of `strings`.
    ids: Vec<StrId>,
    threads: Vec<FileThread>,
    lines: Option<FileLines>,
    sources: FileSources,
    modules: FileModules,
    plain_steps: Vec<i64>,
    loader_workers: FileLoaderWorkers,
    command: String,
}

/// Bytes of all texts that are taken from a file: as much as the recorder writes, and more than programs have.
const MAX_TEXTS: usize = 64 << 20;

/// The texts of sources.
#[derive(Default)]
struct FileSources {
    /// Index of the path in `strings`, and the text where the file has it.
    files: Vec<(i64, Option<String>)>,
    /// The commit that was checked out.
    commit: Option<String>,
    /// Whether files differed from it.
    is_dirty: bool,
}

impl FileSources {
    fn read(values: &mut Values<'_, '_>) -> Scan<Self> {
        let mut sources = Self::default();
        each_member(values, |key, values| match key {
            b"files" => each_element(values, |values| {
                let (mut file, mut text) = (-1, None);
                each_member(values, |key, values| match key {
                    b"file" => {
                        file = values.number(0)?.unwrap_or(-1);
                        Ok(())
                    }
                    b"text" if scan::byte(values.buf, values.at)? == b'"' => {
                        text = Some(decoded(values)?);
                        Ok(())
                    }
                    _ => values.skip(),
                })?;
                sources.files.push((file, text));
                Ok(())
            }),
            b"git" if scan::byte(values.buf, values.at)? == b'{' => {
                each_member(values, |key, values| match key {
                    b"revision" if scan::byte(values.buf, values.at)? == b'"' => {
                        sources.commit = Some(decoded(values)?);
                        Ok(())
                    }
                    b"dirty" => {
                        sources.is_dirty = scan::byte(values.buf, values.at)? == b't';
                        values.skip()
                    }
                    _ => values.skip(),
                })
            }
            _ => values.skip(),
        })?;
        Ok(sources)
    }

    /// The texts, as many as there is room for.
    fn texts(self, ids: &[StrId], warnings: &mut Warnings) -> Vec<RecordedText> {
        let mut left = MAX_TEXTS;
        let mut texts = Vec::new();
        for (file, text) in self.files {
            let (Some(file), Some(text)) = (string(ids, file), text) else { continue };
            match left.checked_sub(text.len()) {
                Some(rest) => left = rest,
                None => {
                    let message =
                        "the text of a source was left out: all texts have more than 64 MiB";
                    warnings.add(WarningKind::Other, None, message);
                    continue;
                }
            }
            texts.push(RecordedText { file, text });
        }
        texts
    }
}

/// The names of modules.
#[derive(Default)]
struct FileModules {
    event: Vec<i64>,
    name: Vec<i64>,
    parameters: Vec<i64>,
    bytes: Vec<i64>,
}

impl FileModules {
    fn read(values: &mut Values<'_, '_>) -> Scan<Self> {
        let mut modules = Self::default();
        each_member(values, |key, values| match key {
            b"event" => integers(values, &mut modules.event),
            b"name" => integers(values, &mut modules.name),
            b"parameters" => integers(values, &mut modules.parameters),
            b"bytes" => integers(values, &mut modules.bytes),
            _ => values.skip(),
        })?;
        Ok(modules)
    }

    fn modules(self, ids: &[StrId], warnings: &mut Warnings) -> Vec<RecordedModule> {
        let Self { event, name, parameters, bytes } = self;
        let n_rows = shortest(&[event.len(), name.len(), parameters.len(), bytes.len()], warnings);
        let mut modules = Vec::new();
        for row in 0..n_rows {
            let (Some(event), Some(name)) = (string(ids, event[row]), string(ids, name[row]))
            else {
                let message = "a module whose name is not in the file was left out";
                warnings.add(WarningKind::Malformed, None, message);
                continue;
            };
            modules.push(RecordedModule {
                event,
                name,
                parameters: u64::try_from(parameters[row]).ok(),
                parameter_bytes: (0 <= bytes[row]).then_some(Bytes(bytes[row])),
            });
        }
        modules
    }
}

/// The worker processes of data loaders.
#[derive(Default)]
struct FileLoaderWorkers {
    time: Option<i64>,
    worked: Vec<i64>,
}

impl FileLoaderWorkers {
    fn read(values: &mut Values<'_, '_>) -> Scan<Self> {
        let mut workers = Self::default();
        each_member(values, |key, values| match key {
            b"time_ns" => {
                workers.time = values.number(0)?;
                Ok(())
            }
            b"worked_ns" => integers(values, &mut workers.worked),
            _ => values.skip(),
        })?;
        Ok(workers)
    }

    /// None where the time is no duration.
    fn workers(self) -> RecordedWorkers {
        let is_duration = |it: &i64| (1..TIMES.end.0).contains(it);
        let Some(time) = self.time.filter(is_duration) else {
            return RecordedWorkers::default();
        };
        let worked = self.worked.into_iter().filter(|it| (0..TIMES.end.0).contains(it));
        RecordedWorkers { time: Ns(time), worked: worked.map(Ns).collect() }
    }
}

#[derive(Default)]
struct FileLines {
    until: Vec<i64>,
    file: Vec<i64>,
    function: Vec<i64>,
    first: Vec<i64>,
    last: Vec<i64>,
    threads: Vec<FileThreadLines>,
}

#[derive(Default)]
struct FileThreadLines {
    tid: String,
    time: Vec<i64>,
    code: Vec<i64>,
    line: Vec<i64>,
}

#[derive(Default)]
struct FileThread {
    tid: String,
    name: Vec<i64>,
    start: Vec<i64>,
    file: Vec<i64>,
    line: Vec<i64>,
}

impl CallersFile {
    fn read(&mut self, values: &mut Values<'_, '_>) -> Scan<()> {
        if scan::byte(values.buf, values.at)? != b'{' {
            return Err(Stop::Bad(values.at));
        }
        each_member(values, |key, values| match key {
            b"schema" => {
                self.schema = decoded(values)?;
                Ok(())
            }
            b"torch" => {
                self.torch = decoded(values)?;
                Ok(())
            }
            b"strings" => each_element(values, |values| {
                let id = self.strings.intern(&decoded(values)?);
                self.ids.push(id);
                Ok(())
            }),
            b"threads" => each_element(values, |values| {
                self.threads.push(FileThread::read(values)?);
                Ok(())
            }),
            b"lines" => {
                self.lines = Some(FileLines::read(values)?);
                Ok(())
            }
            b"sources" => {
                self.sources = FileSources::read(values)?;
                Ok(())
            }
            b"modules" => {
                self.modules = FileModules::read(values)?;
                Ok(())
            }
            b"plain_steps_ns" => integers(values, &mut self.plain_steps),
            b"command" => {
                self.command = decoded(values)?;
                Ok(())
            }
            b"loader_workers" => {
                self.loader_workers = FileLoaderWorkers::read(values)?;
                Ok(())
            }
            _ => values.skip(),
        })
    }

    fn callers(self, warnings: &mut Warnings) -> Callers {
        let Self { strings, ids, threads, torch, lines, sources, modules, plain_steps, .. } = self;
        let loader_workers = self.loader_workers.workers();
        let command = Some(self.command).filter(|it| !it.is_empty());
        let threads = threads.into_iter().map(|thread| thread.callers(&ids, warnings)).collect();
        let lines = lines.map(|lines| lines.log(&ids, warnings));
        let (commit, is_dirty) = (sources.commit.clone(), sources.is_dirty);
        let texts = sources.texts(&ids, warnings);
        let modules = modules.modules(&ids, warnings);
        let is_duration = |it: &i64| (1..TIMES.end.0).contains(it);
        let plain_steps = plain_steps.into_iter().filter(is_duration).map(Ns).collect();
        let torch = version(&torch);
        Callers {
            strings,
            threads,
            torch,
            lines,
            texts,
            commit,
            is_dirty,
            modules,
            plain_steps,
            loader_workers,
            command,
        }
    }
}

/// The string at `index`, if there is one.
fn string(ids: &[StrId], index: i64) -> Option<StrId> {
    usize::try_from(index).ok().and_then(|it| ids.get(it)).copied()
}

/// `(2, 11)` of `2.11.0+cu130`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

impl FileThread {
    fn read(values: &mut Values<'_, '_>) -> Scan<Self> {
        let mut thread = Self::default();
        each_member(values, |key, values| match key {
            b"tid" => {
                thread.tid = decoded(values)?;
                Ok(())
            }
            b"name" => integers(values, &mut thread.name),
            b"start_ns" => integers(values, &mut thread.start),
            b"file" => integers(values, &mut thread.file),
            b"line" => integers(values, &mut thread.line),
            _ => values.skip(),
        })?;
        Ok(thread)
    }

    fn callers(self, ids: &[StrId], warnings: &mut Warnings) -> ThreadCallers {
        let columns = [self.name.len(), self.start.len(), self.file.len(), self.line.len()];
        let n_rows = shortest(&columns, warnings);
        let string = |index: &i64| string(ids, *index);
        let mut callers = ThreadCallers { tid: self.tid, ..ThreadCallers::default() };
        let mut start: Ns = Ns::ZERO;
        for row in 0..n_rows {
            start = start.saturating_add(Ns(self.start[row]));
            if !(Ns::ZERO..TIMES.end).contains(&start) {
                let message = "a call before 1970 or after 2116 was left out";
                warnings.add(WarningKind::NotCredible, 0, message);
                continue;
            }
            let Some(name) = string(&self.name[row]) else {
                warnings.add(
                    WarningKind::Malformed,
                    None,
                    "a call whose name is not in the file was left out",
                );
                continue;
            };
            callers.name.push(name);
            callers.start.push(start);
            callers.file.push(string(&self.file[row]).unwrap_or(StrId::NONE));
            callers.line.push(u32::try_from(self.line[row]).unwrap_or(0));
        }
        callers
    }
}

impl FileLines {
    fn read(values: &mut Values<'_, '_>) -> Scan<Self> {
        let mut lines = Self::default();
        each_member(values, |key, values| match key {
            b"until_ns" => {
                lines.until = values.number(0)?.into_iter().collect();
                Ok(())
            }
            b"codes" => each_member(values, |key, values| match key {
                b"file" => integers(values, &mut lines.file),
                b"function" => integers(values, &mut lines.function),
                b"first" => integers(values, &mut lines.first),
                b"last" => integers(values, &mut lines.last),
                _ => values.skip(),
            }),
            b"threads" => each_element(values, |values| {
                lines.threads.push(FileThreadLines::read(values)?);
                Ok(())
            }),
            _ => values.skip(),
        })?;
        Ok(lines)
    }

    /// Codes keep their positions: one that cannot be used has the name [`StrId::NONE`], which no function has.
    fn log(self, ids: &[StrId], warnings: &mut Warnings) -> LineLog {
        let string = |index: &i64| string(ids, *index);
        let n_codes = shortest(
            &[self.file.len(), self.function.len(), self.first.len(), self.last.len()],
            warnings,
        );
        let codes = (0..n_codes)
            .map(|row| LoggedCode {
                file: string(&self.file[row]).unwrap_or(StrId::NONE),
                function: string(&self.function[row]).unwrap_or(StrId::NONE),
                first_line: u32::try_from(self.first[row]).unwrap_or(0),
                last_line: u32::try_from(self.last[row]).unwrap_or(0),
            })
            .collect();
        let threads = self.threads.into_iter().map(|it| it.lines(n_codes, warnings)).collect();
        LineLog { codes, until: Ns(self.until.first().copied().unwrap_or(0)), threads }
    }
}

impl FileThreadLines {
    fn read(values: &mut Values<'_, '_>) -> Scan<Self> {
        let mut thread = Self::default();
        each_member(values, |key, values| match key {
            b"tid" => {
                thread.tid = decoded(values)?;
                Ok(())
            }
            b"time_ns" => integers(values, &mut thread.time),
            b"code" => integers(values, &mut thread.code),
            b"line" => integers(values, &mut thread.line),
            _ => values.skip(),
        })?;
        Ok(thread)
    }

    fn lines(self, n_codes: usize, warnings: &mut Warnings) -> ThreadLines {
        let n_rows = shortest(&[self.time.len(), self.code.len(), self.line.len()], warnings);
        let mut lines = ThreadLines { tid: self.tid, ..ThreadLines::default() };
        let mut time: Ns = Ns::ZERO;
        for row in 0..n_rows {
            time = time.saturating_add(Ns(self.time[row]));
            let code = u32::try_from(self.code[row]).ok().filter(|&it| (it as usize) < n_codes);
            let line = u32::try_from(self.line[row]).ok();
            let (Some(code), Some(line)) =
                (code, line.filter(|_| (Ns::ZERO..TIMES.end).contains(&time)))
            else {
                let message = "a line whose time, function or number cannot be true was left out";
                warnings.add(WarningKind::NotCredible, 0, message);
                continue;
            };
            lines.time.push(time);
            lines.code.push(code);
            lines.line.push(line);
        }
        lines
    }
}

/// The number of rows that all columns of a table have.
fn shortest(columns: &[usize], warnings: &mut Warnings) -> usize {
    let n_rows = columns.iter().copied().min().unwrap_or(0);
    if columns.iter().any(|&it| it != n_rows) {
        let message =
            "the columns of a table have different lengths; the rows that all have were read";
        warnings.add(WarningKind::Malformed, None, message);
    }
    n_rows
}

fn each_element<'a, 'b>(
    values: &mut Values<'a, 'b>,
    mut read: impl FnMut(&mut Values<'a, 'b>) -> Scan<()>,
) -> Scan<()> {
    if scan::byte(values.buf, values.at)? != b'[' {
        return Err(Stop::Bad(values.at));
    }
    values.at += 1;
    loop {
        let (byte, at) = scan::significant(values.buf, values.at)?;
        values.at = at;
        match byte {
            b']' => {
                values.at += 1;
                return Ok(());
            }
            b',' => values.at += 1,
            _ => read(values)?,
        }
    }
}

fn integers(values: &mut Values<'_, '_>, column: &mut Vec<i64>) -> Scan<()> {
    each_element(values, |values| {
        column.push(values.number(0)?.unwrap_or(-1));
        Ok(())
    })
}

fn decoded(values: &mut Values<'_, '_>) -> Scan<String> {
    let raw = values.text()?;
    Ok(text::decode(&raw).text.into_owned())
}
