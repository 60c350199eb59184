//! `perfline.view`: the report and its pictures in a browser. A click on a line there opens it in the editor. `perfline.page`: the
//! same page for a client that shows it itself.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use report::html::{self, PictureData};
use report::terminal::clean;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Range, ShowDocumentParams, Url};
use view_server::{Picture, PicturePart, ViewPlace, ViewServer, ViewSource};

use super::arguments::{CommandArguments, invalid, text};
use super::current_files::CurrentFiles;
use super::flame::{self, ReadBase};
use super::requested_load::{Drawn, picture, refused};
use super::{memory_timeline, place, timeline};
use crate::config::Recordings;
use crate::load_failure::LoadFailure;
use crate::loaded::LoadedRecording;
use crate::session::Session;
use crate::session_snapshot::SessionSnapshot;

/// The pictures that the page may begin with.
const PICTURES: [&str; 5] = ["timeline", "flame", "memory", "ranks", "roofline"];

const NOTHING: &str = "no recording is loaded";

/// Answers with the address of the page, and asks the client to open it unless `open` is false.
pub(super) async fn handle(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let snapshot = session.snapshot();
    let loaded = snapshot.loaded.as_ref().ok_or_else(|| invalid(NOTHING.to_owned()))?;
    let fragment = fragment(session, &snapshot, loaded, arguments)?;
    let opens = arguments.flag(3, "open")?.unwrap_or(true);
    let mut uri = session.page.get_or_try_init(|| serve(session)).await?.clone();
    uri.set_fragment(fragment.as_deref());
    let answer = json!({"url": uri, "opened": opens && snapshot.abilities.show_document});
    if opens && snapshot.abilities.show_document {
        let params =
            ShowDocumentParams { uri, external: Some(true), take_focus: None, selection: None };
        let client = session.client.clone();
        tokio::spawn(async move { client.show_document(params).await });
    }
    Ok(answer)
}

/// Answers with the page; null where nothing is loaded.
pub(super) async fn given(session: &Arc<Session>) -> Result<Value> {
    let page = picture(session, draw).await?;
    Ok(if page.is_null() { page } else { json!({"html": page}) })
}

/// Which picture the page shows at first, and frames of which line in it: `timeline:train.py:31`.
fn fragment(
    session: &Session,
    snapshot: &SessionSnapshot,
    loaded: &LoadedRecording,
    arguments: &CommandArguments,
) -> Result<Option<String>> {
    let Some(picture) = arguments.get(0, "picture").map(text) else { return Ok(None) };
    if !PICTURES.contains(&picture.as_str()) {
        let pictures = PICTURES.join(", ");
        return Err(invalid(format!("unknown picture `{picture}`, expected one of: {pictures}")));
    }
    let place = arguments.uri(1, "uri")?.zip(arguments.number(2, "line")?);
    if let Some((uri, line)) = place {
        let documents = session.documents();
        let files = CurrentFiles::new(snapshot, loaded, &documents, Some(&uri));
        let recorded = files.keys(&uri).into_iter().find_map(|key| {
            let recorded = files.with_source(key, |it| {
                it.lines().into_iter().find(|it| it.line == line).map(|it| it.recorded)
            })??;
            Some((loaded.recording().names.get(key)?.clone(), recorded))
        });
        if let Some((file, line)) = recorded {
            // What is not allowed in an address is escaped there; this is what escapes.
            return Ok(Some(format!("{picture}:{}:{line}", clean(&file).replace('%', "%25"))));
        }
    }
    Ok(Some(picture))
}

/// Serves the page until the session ends.
async fn serve(session: &Arc<Session>) -> Result<Url> {
    let failed = |why: &dyn std::fmt::Display| {
        refused(LoadFailure::Unusable(format!("the page cannot be served: {why}")))
    };
    let server = ViewServer::bind(0).await.map_err(|error| failed(&error))?;
    let url = Url::parse(&server.url()).map_err(|error| failed(&error))?;
    let source = Arc::new(SessionPage(Arc::clone(session)));
    tokio::spawn(async move {
        tokio::select! {
            () = source.0.stopped.cancelled() => {}
            () = server.serve(Arc::clone(&source)) => {}
        }
    });
    Ok(url)
}

/// What a session shows, in a browser.
struct SessionPage(Arc<Session>);

impl ViewSource for SessionPage {
    fn version(&self) -> u64 {
        self.0.snapshot().version()
    }

    async fn page(&self) -> std::result::Result<String, String> {
        match picture(&self.0, draw).await {
            Ok(Value::String(page)) => Ok(page),
            Ok(_) => Err(NOTHING.to_owned()),
            Err(error) => Err(error.message.into_owned()),
        }
    }

    async fn picture(
        &self,
        picture: Picture,
        part: PicturePart,
    ) -> std::result::Result<String, String> {
        let arguments = CommandArguments(vec![json!(part)]);
        let drawn = match picture {
            Picture::Timeline => timeline::handle(&self.0, &arguments).await,
            Picture::Memory => memory_timeline::handle(&self.0, &arguments).await,
        };
        match drawn {
            Ok(Value::Null) => Err(NOTHING.to_owned()),
            Ok(drawn) => Ok(drawn.to_string()),
            Err(error) => Err(error.message.into_owned()),
        }
    }

    async fn open(&self, place: ViewPlace) -> std::result::Result<(), String> {
        let session = &self.0;
        if !session.abilities().show_document {
            return Err("The editor cannot be asked to open a line: it lacks window/showDocument."
                .to_owned());
        }
        let missing = || format!("{} was not found here.", place.file);
        let key = {
            let snapshot = session.snapshot();
            let loaded = snapshot.loaded.as_ref().ok_or(NOTHING)?;
            loaded.recording().key_of(&place.file).map(str::to_owned).ok_or_else(missing)?
        };
        let arguments = CommandArguments(vec![json!({"file": key, "line": place.line})]);
        let now = place::handle(session, &arguments).await;
        let now = now.map_err(|error| error.message.into_owned())?;
        let uri = now["uri"].as_str().and_then(|it| Url::parse(it).ok()).ok_or_else(missing)?;
        // Where the line is not there any more, the file is opened all the same.
        let selection: Option<Range> = serde_json::from_value(now["range"].clone()).ok();
        let selection = selection.map(|it| Range { end: it.start, ..it });
        let params =
            ShowDocumentParams { uri, external: Some(false), take_focus: Some(true), selection };
        match session.client.show_document(params).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("The editor did not open {}.", place.file)),
            Err(error) => Err(format!("The editor did not open {}: {error}.", place.file)),
        }
    }

    async fn changed(&self, version: u64) {
        let mut shown = self.0.shown.subscribe();
        while self.version() == version && shown.changed().await.is_ok() {}
    }
}

fn draw(
    loaded: &LoadedRecording,
    snapshot: &SessionSnapshot,
    recordings: &dyn Recordings,
    cancelled: &AtomicBool,
) -> Drawn {
    let part = snapshot.books.loaded_part().map_err(LoadFailure::Unusable)?;
    let (stacks, timeline, histories) =
        loaded.pictures(snapshot.books.rank, recordings, cancelled)?;
    let recording = loaded.recording_of(part);
    let base = flame::base(snapshot, recordings, cancelled)?;
    let data = PictureData {
        stacks: part.map_or(stacks.as_deref(), |it| it.run.stacks.as_ref()),
        timeline: timeline.as_deref(),
        histories: &histories,
        code: &snapshot.filter.code,
        part: part.map(|it| &it.recorded),
        base: base.as_ref().map(ReadBase::flame_base),
    };
    let page = html::served_page(&recording, snapshot.view.rules(), &data, snapshot.version());
    page.map(Value::String).map_err(|error| LoadFailure::Unusable(error.to_string()))
}
