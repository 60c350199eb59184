//! `perfline view`: the report and its pictures in a browser.

use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};

use ::report::html::{PictureData, served_page};
use ::report::memory_timeline::{MemoryTimelineRange, memory_timeline};
use ::report::timeline::{TimelineRange, timeline};
use ::report::{CodeFilter, RecordingPart};
use insights::RuleOptions;
use loader::EventTimeline;
use view_server::{Picture, PicturePart, ViewPlace, ViewSource};

use super::editor::Editor;
use super::opened::OpenedRecording;
use crate::args::ViewArgs;
use crate::failure::Failure;
use crate::inputs;

/// Shows a recording until the user ends it.
///
/// # Errors
/// If nothing was found, nothing could be read, or the port is taken.
pub(super) fn run(args: &ViewArgs) -> Result<ExitCode, Failure> {
    let options = inputs::with_pictures(inputs::options(&args.recording));
    let (part, whole) = (args.filter.part(), args.filter.filter());
    let opened = OpenedRecording::load_part(&args.recording, options, &part, &whole)?;
    let Some((opened, part)) = opened else { return Ok(ExitCode::from(2)) };
    opened.keep();
    let rules = args.recording.settings.view.rules();
    let source =
        ViewedRecording::new(opened, rules, &whole.code, part.as_ref()).map_err(Failure::View)?;
    let ready = |url: &str| {
        inputs::report(&format!("the page is at {url} until Ctrl-C"));
        if !args.no_browser && open::that_detached(url).is_err() {
            inputs::report("no browser was found; open the address in one on this machine");
        }
    };
    view_server::run(source, args.port, ready).map_err(Failure::View)?;
    Ok(ExitCode::SUCCESS)
}

/// A recording, drawn once.
struct ViewedRecording {
    opened: OpenedRecording,
    page: String,
    /// The timeline of another rank than that of the page, the last one that was asked for.
    other: Mutex<Option<(u32, EventTimeline)>>,
}

impl ViewedRecording {
    fn new(
        opened: OpenedRecording,
        rules: RuleOptions,
        code: &CodeFilter,
        part: Option<&RecordingPart>,
    ) -> std::io::Result<Self> {
        let recording = opened.recording();
        let data = PictureData::of_run(recording.run, code, part);
        let page = served_page(&recording, rules, &data, 0)
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(Self { opened, page, other: Mutex::default() })
    }
}

impl ViewSource for ViewedRecording {
    fn version(&self) -> u64 {
        0
    }

    async fn page(&self) -> Result<String, String> {
        Ok(self.page.clone())
    }

    async fn picture(&self, picture: Picture, part: PicturePart) -> Result<String, String> {
        let recording = self.opened.recording();
        let drawn = match picture {
            Picture::Timeline => {
                let wanted = TimelineRange { step: part.step, ..TimelineRange::EDITOR };
                let wanted = wanted.between(part.range());
                let draw = |events: &EventTimeline| {
                    timeline(&recording, events, &recording.title(), &wanted)
                };
                match (&recording.run.timeline, part.rank) {
                    (Some(events), None) => draw(events),
                    (Some(events), Some(rank)) if events.rank == rank => draw(events),
                    (_, Some(rank)) => self.with_timeline_of(rank, draw)?,
                    (None, None) => None,
                }
            }
            Picture::Memory => {
                let mut wanted = MemoryTimelineRange::EDITOR;
                wanted.device = part.rank.zip(part.device);
                wanted.history.range = part.range();
                wanted.moment = part.moment;
                memory_timeline(&recording, &recording.run.histories, &recording.title(), &wanted)
            }
        };
        let drawn = drawn.ok_or("The recording has no such part.")?;
        Ok(drawn.to_string())
    }

    async fn open(&self, place: ViewPlace) -> Result<(), String> {
        let ViewPlace { file, line } = place;
        let path = self.path(&file).ok_or_else(|| format!("{file} was not found here."))?;
        // The terminal of VS Code finds its own.
        let is_vscode = std::env::var_os("TERM_PROGRAM").is_some_and(|it| it == "vscode");
        let editor = Editor::of_user(if is_vscode { "code" } else { "" });
        if !editor.has_window() {
            let path = path.display();
            return Err(format!(
                "{path}:{line}: set VISUAL to an editor with a window of its own, such as code, and start perfline view again; or use :Perfline view in Neovim."
            ));
        }
        let mut command = editor.command(&path, line);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let failed = |error| format!("{} cannot be run: {error}.", editor.program());
        let mut child = command.spawn().map_err(failed)?;
        // Its end is waited for, so that no dead process is left behind.
        std::thread::spawn(move || child.wait());
        Ok(())
    }

    async fn changed(&self, _: u64) {
        std::future::pending().await
    }
}

impl ViewedRecording {
    /// What `draw` makes of the timeline of a rank, for which the recording is read once more.
    fn with_timeline_of<T>(
        &self,
        rank: u32,
        draw: impl FnOnce(&EventTimeline) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let mut other = self.other.lock().unwrap_or_else(PoisonError::into_inner);
        if other.as_ref().is_none_or(|(known, _)| *known != rank) {
            let read = self.opened.timeline_of(rank).map_err(|error| error.to_string())?;
            *other = read.map(|it| (rank, it));
        }
        Ok(other.as_ref().and_then(|(_, events)| draw(events)))
    }

    /// Where a file is whose name the page shows.
    fn path(&self, shown: &str) -> Option<PathBuf> {
        let recording = self.opened.recording();
        let key = recording.key_of(shown)?;
        recording.run.merged.files.get(key)?.path.clone()
    }
}
