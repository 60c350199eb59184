//! Sends what the client does not ask for: diagnostics, the status, and that hints and lenses are to be asked for again.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ide::{Finding, PlacedSource};
use tower_lsp::lsp_types::{Diagnostic, Url};

use crate::api::execute_command::status;
use crate::document::Document;
use crate::ext::StatusChanged;
use crate::loaded::LoadedRecording;
use crate::session::Session;
use crate::session_snapshot::SessionSnapshot;
use crate::snapshots::Snapshots;
use crate::{paths, to_proto};

/// Publishes after every change, many changes at once, until the session stops.
pub(crate) async fn run(session: Arc<Session>) {
    let mut sent = BTreeMap::new();
    let mut reported = None;
    loop {
        tokio::select! {
            () = session.stopped.cancelled() => return,
            () = session.publish.notified() => {}
        }
        tokio::time::sleep(session.config.gather).await;
        if session.is_refresh_due.swap(false, Ordering::SeqCst) {
            refresh(&session);
        }
        let is_status_due = session.is_status_due.swap(false, Ordering::SeqCst);
        let sends_status = is_status_due && session.abilities().status;
        let (snapshots, documents) = (session.snapshots(), session.documents());
        let work = move || {
            let status = sends_status.then(|| status::status(&snapshots, false));
            (status, all(&snapshots, &documents))
        };
        let Ok((status, now)) = tokio::task::spawn_blocking(work).await else { continue };
        if status.is_some() && reported != status {
            reported.clone_from(&status);
            session.client.send_notification::<StatusChanged>(status.unwrap_or_default()).await;
        }
        send(&session, &mut sent, now).await;
    }
}

/// Asks the client to ask again. Its replies are waited for elsewhere: they may never come.
fn refresh(session: &Arc<Session>) {
    let (hints, lenses) = (session.abilities().refresh_hints, session.abilities().refresh_lenses);
    let client = session.client.clone();
    tokio::spawn(async move {
        let hints = async { if hints { client.inlay_hint_refresh().await.ok() } else { None } };
        let lenses = async { if lenses { client.code_lens_refresh().await.ok() } else { None } };
        tokio::join!(hints, lenses)
    });
}

/// The diagnostics of a file, and the version of the document that they belong to.
#[derive(PartialEq)]
struct OfFile {
    version: Option<i32>,
    diagnostics: Vec<Diagnostic>,
}

type Published = BTreeMap<Url, OfFile>;

/// Sends what differs from what was sent before.
async fn send(session: &Session, sent: &mut Published, now: Published) {
    let gone: Vec<Url> = sent.keys().filter(|uri| !now.contains_key(uri)).cloned().collect();
    for uri in gone {
        sent.remove(&uri);
        session.client.publish_diagnostics(uri, Vec::new(), None).await;
    }
    for (uri, file) in now {
        // Diagnostics that did not change need no new version: the client moves them with the text.
        if sent.get(&uri).is_none_or(|before| before.diagnostics != file.diagnostics) {
            session
                .client
                .publish_diagnostics(uri.clone(), file.diagnostics.clone(), file.version)
                .await;
        }
        sent.insert(uri, file);
    }
}

/// The diagnostics of all files that have some: of open documents as they are, of others as they are on disk. Each file has those of
/// one recording.
fn all(snapshots: &Snapshots, documents: &[Arc<Document>]) -> Published {
    if snapshots.all().all(|it| it.loaded.is_none()) {
        return unmeasured(&snapshots.front, documents);
    }
    let open: HashSet<&Url> = documents.iter().map(|it| &it.uri).collect();
    let of = |it: &Arc<Document>| std::ptr::from_ref(snapshots.of_document(it));
    let shown_in: Vec<_> = documents.iter().map(of).collect();
    let mut published = Published::new();
    for snapshot in snapshots.all() {
        let shown = documents.iter().zip(&shown_in);
        let shown: Vec<&Arc<Document>> =
            shown.filter(|(_, it)| std::ptr::eq(**it, snapshot)).map(|(it, _)| it).collect();
        let others: HashSet<&Url> =
            open.iter().copied().filter(|uri| shown.iter().all(|it| it.uri != **uri)).collect();
        for (uri, file) in of_recording(snapshot, &shown) {
            if !others.contains(&uri) {
                published.entry(uri).or_insert(file);
            }
        }
    }
    published
}

/// The diagnostics that a recording has for the documents that are shown with it, and for files that are not open.
fn of_recording(snapshot: &SessionSnapshot, documents: &[&Arc<Document>]) -> Published {
    let mut published = Published::new();
    let Some(loaded) = snapshot.loaded.as_ref().filter(|_| snapshot.settings.diagnostics) else {
        return published;
    };
    let findings = snapshot.findings();
    let open: BTreeMap<&str, &Arc<Document>> = documents
        .iter()
        .copied()
        .flat_map(|it| loaded.keys_of(it, &snapshot.folders).into_iter().map(move |key| (key, it)))
        .collect();
    let uri_of = |key: &str| match open.get(key) {
        Some(document) => Some(document.uri.clone()),
        // Editors have no place for what is in a cell of a notebook that is not open.
        None => loaded.path_of(key).and_then(paths::to_uri).filter(|uri| uri.fragment().is_none()),
    };
    let found = findings.iter().map(|finding| finding.place.file.as_str());
    let mut keys: Vec<&str> = found.chain(open.keys().copied()).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let Some(uri) = uri_of(key) else { continue };
        // Lines of another cell of a text are not those of the text.
        let uri_of_place = |it: &str| uri_of(it).filter(|found| it == key || *found != uri);
        let diagnostics = of_file(snapshot, loaded, key, open.get(key), &findings, &uri_of_place);
        if let Some(diagnostics) = diagnostics.filter(|it| !it.is_empty()) {
            let version = open.get(key).map(|document| document.version);
            let of_file = published.entry(uri.clone());
            let of_file = of_file.or_insert(OfFile { version, diagnostics: Vec::new() });
            of_file.diagnostics.extend(diagnostics);
        }
    }
    published
}

/// Without a recording: what the texts of open documents show.
fn unmeasured(snapshot: &SessionSnapshot, documents: &[Arc<Document>]) -> Published {
    if !snapshot.settings.diagnostics {
        return Published::new();
    }
    let of = |document: &Arc<Document>| {
        let severities = &snapshot.view.severities;
        let found = ide::possible_syncs(&document.text, &document.module, severities).into_iter();
        let (encoding, index) = (snapshot.encoding(), &document.index);
        let diagnostics: Vec<Diagnostic> =
            found.map(|it| to_proto::diagnostic(index, it, encoding, false, |_| None)).collect();
        let file = OfFile { version: Some(document.version), diagnostics };
        (!file.diagnostics.is_empty()).then(|| (document.uri.clone(), file))
    };
    documents.iter().filter_map(of).collect()
}

fn of_file(
    snapshot: &SessionSnapshot,
    loaded: &LoadedRecording,
    key: &str,
    document: Option<&&Arc<Document>>,
    findings: &[Finding],
    uri_of: &dyn Fn(&str) -> Option<Url>,
) -> Option<Vec<Diagnostic>> {
    let work = |source: &PlacedSource<'_>| {
        let possible = ide::possible_syncs_recorded(source, &snapshot.view.severities);
        let found = ide::diagnostics(source, findings).into_iter().chain(possible);
        let (encoding, related) = (snapshot.encoding(), snapshot.abilities.related_information);
        found.map(|it| to_proto::diagnostic(source.index, it, encoding, related, uri_of)).collect()
    };
    match document {
        Some(document) => {
            Some(loaded.with_document(&snapshot.books, document, key, &snapshot.folders, work))
        }
        None => loaded.with_file(&snapshot.books, key, work),
    }
}
