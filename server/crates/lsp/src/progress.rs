//! The progress of a load, as the client shows it.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use loader::{Progress, Stage};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower_lsp::lsp_types::notification::Progress as ProgressNotification;
use tower_lsp::lsp_types::request::WorkDoneProgressCreate;
use tower_lsp::lsp_types::{
    ProgressParams, ProgressParamsValue, ProgressToken, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport,
};

use crate::session::Session;

/// Reports are at least this far apart: no reader sees more.
const PAUSE: Duration = Duration::from_millis(100);

/// Notifies the client of the progress of a load. Where the client shows no progress, it goes nowhere.
pub(crate) struct Reporter {
    sender: UnboundedSender<ProgressEvent>,
}

/// For the thread that loads.
pub(crate) struct Sender(UnboundedSender<ProgressEvent>);

enum ProgressEvent {
    Report(Progress),
    End(String),
}

impl Sender {
    /// There may be no listener, which does not matter.
    pub(crate) fn send(&self, progress: &Progress) {
        let _ = self.0.send(ProgressEvent::Report(progress.clone()));
    }
}

impl Reporter {
    /// The load does not wait for the client, which may be slow to show anything.
    pub(crate) fn start(
        session: &Arc<Session>,
        generation: u64,
        names: &str,
        cancelled: Arc<AtomicBool>,
    ) -> Self {
        let (sender, receiver) = unbounded_channel();
        if session.abilities().progress {
            let task =
                report(Arc::clone(session), generation, names.to_owned(), cancelled, receiver);
            tokio::spawn(task);
        }
        Self { sender }
    }

    pub(crate) fn sender(&self) -> Sender {
        Sender(self.sender.clone())
    }

    pub(crate) fn end(&self, message: String) {
        let _ = self.sender.send(ProgressEvent::End(message));
    }
}

async fn report(
    session: Arc<Session>,
    generation: u64,
    names: String,
    cancelled: Arc<AtomicBool>,
    mut events: UnboundedReceiver<ProgressEvent>,
) {
    let token = ProgressToken::String(format!("perfline/load/{generation}"));
    let create = WorkDoneProgressCreateParams { token: token.clone() };
    session
        .progress
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(token.clone(), cancelled);
    if session.client.send_request::<WorkDoneProgressCreate>(create).await.is_ok() {
        show(&session, &token, names, &mut events).await;
    }
    session.progress.lock().unwrap_or_else(PoisonError::into_inner).remove(&token);
}

async fn show(
    session: &Session,
    token: &ProgressToken,
    names: String,
    events: &mut UnboundedReceiver<ProgressEvent>,
) {
    let send = |value| {
        let params =
            ProgressParams { token: token.clone(), value: ProgressParamsValue::WorkDone(value) };
        session.client.send_notification::<ProgressNotification>(params)
    };
    send(WorkDoneProgress::Begin(WorkDoneProgressBegin {
        title: "Loading recording".to_owned(),
        cancellable: Some(true),
        message: Some(names),
        percentage: Some(0),
    }))
    .await;
    let (mut last, mut most) = (Instant::now(), 0);
    let mut message = None;
    while let Some(event) = events.recv().await {
        match event {
            ProgressEvent::Report(progress) => {
                most = most.max(percentage(&progress));
                if PAUSE <= last.elapsed() {
                    last = Instant::now();
                    send(WorkDoneProgress::Report(WorkDoneProgressReport {
                        cancellable: Some(true),
                        message: Some(text(&progress)),
                        percentage: Some(most),
                    }))
                    .await;
                }
            }
            ProgressEvent::End(text) => {
                message = Some(text);
                break;
            }
        }
    }
    send(WorkDoneProgress::End(WorkDoneProgressEnd { message })).await;
}

fn percentage(progress: &Progress) -> u32 {
    let share = progress.done as f64 / progress.total.max(1) as f64;
    (share.clamp(0.0, 1.0) * 100.0) as u32
}

fn text(progress: &Progress) -> String {
    let name = progress.path.file_name().unwrap_or_default().to_string_lossy();
    match progress.stage {
        Stage::Reading => format!("reading {name}"),
        Stage::Attributing => format!("charging {name} to lines"),
    }
}
