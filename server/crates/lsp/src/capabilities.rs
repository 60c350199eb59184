//! What the client can do, and what we say we can.

use pysource::Encoding;
use settings::SectionValues;
use tower_lsp::lsp_types::{
    ClientCapabilities, CodeActionKind, CodeActionOptions, CodeActionProviderCapability,
    CodeLensOptions, ExecuteCommandOptions, HoverProviderCapability, InlayHintOptions,
    InlayHintServerCapabilities, MarkupKind, OneOf, PositionEncodingKind, SaveOptions,
    ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions,
    TextDocumentSyncSaveOptions, WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use crate::ext;

/// What the client can do, as far as we ask.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Abilities {
    pub(crate) encoding: Encoding,
    pub(crate) progress: bool,
    pub(crate) configuration: bool,
    pub(crate) register_configuration: bool,
    pub(crate) register_watchers: bool,
    pub(crate) refresh_hints: bool,
    pub(crate) refresh_lenses: bool,
    pub(crate) related_information: bool,
    pub(crate) markdown_hover: bool,
    /// Asks for the tooltip of a hint when it is looked at.
    pub(crate) resolve_tooltips: bool,
    /// Takes code actions, and not only commands.
    pub(crate) code_actions: bool,
    /// Takes edits with the version of the document that they are for.
    pub(crate) document_changes: bool,
    /// Shows what the command `perfline.explain` answers, and so can run it as a code action: `experimental.perfline.explain`.
    pub(crate) explain: bool,
    /// Opens files and addresses when it is asked to: `window/showDocument`.
    pub(crate) show_document: bool,
    /// Sends the settings that somebody set alone: `experimental.perfline.setSettings`.
    pub(crate) settings: SectionValues,
    /// Wants to be notified of the status: `experimental.perfline.status`.
    pub(crate) status: bool,
}

impl Abilities {
    pub(crate) fn new(client: &ClientCapabilities) -> Self {
        let workspace = client.workspace.as_ref();
        let text = client.text_document.as_ref();
        let window = client.window.as_ref();
        let is_set = |flag: Option<bool>| flag.unwrap_or(false);
        let is_announced =
            |name| is_set(client.experimental.as_ref().and_then(|it| it.pointer(name)?.as_bool()));
        let formats =
            text.and_then(|it| it.hover.as_ref()).and_then(|it| it.content_format.as_ref());
        Self {
            encoding: encoding(client),
            progress: is_set(window.and_then(|it| it.work_done_progress)),
            configuration: is_set(workspace.and_then(|it| it.configuration)),
            register_configuration: is_set(
                workspace
                    .and_then(|it| it.did_change_configuration.as_ref())
                    .and_then(|it| it.dynamic_registration),
            ),
            register_watchers: is_set(
                workspace
                    .and_then(|it| it.did_change_watched_files.as_ref())
                    .and_then(|it| it.dynamic_registration),
            ),
            refresh_hints: is_set(
                workspace.and_then(|it| it.inlay_hint.as_ref()).and_then(|it| it.refresh_support),
            ),
            refresh_lenses: is_set(
                workspace.and_then(|it| it.code_lens.as_ref()).and_then(|it| it.refresh_support),
            ),
            related_information: is_set(
                text.and_then(|it| it.publish_diagnostics.as_ref())
                    .and_then(|it| it.related_information),
            ),
            resolve_tooltips: text
                .and_then(|it| it.inlay_hint.as_ref()?.resolve_support.as_ref())
                .is_some_and(|it| it.properties.iter().any(|name| name == "tooltip")),
            code_actions: text
                .and_then(|it| it.code_action.as_ref())
                .is_some_and(|it| it.code_action_literal_support.is_some()),
            document_changes: is_set(
                workspace
                    .and_then(|it| it.workspace_edit.as_ref())
                    .and_then(|it| it.document_changes),
            ),
            explain: is_announced("/perfline/explain"),
            show_document: window
                .and_then(|it| it.show_document.as_ref())
                .is_some_and(|it| it.support),
            settings: match is_announced("/perfline/setSettings") {
                true => SectionValues::Set,
                false => SectionValues::All,
            },
            status: is_announced("/perfline/status"),
            // A client that does not say is one from before Markdown was optional.
            markdown_hover: formats.is_none_or(|formats| formats.contains(&MarkupKind::Markdown)),
        }
    }
}

/// The encoding of positions: UTF-8, which needs no conversion, or UTF-32 where the client offers one of them; else
/// UTF-16, which all clients have.
fn encoding(client: &ClientCapabilities) -> Encoding {
    let offered =
        client.general.as_ref().and_then(|it| it.position_encodings.as_deref()).unwrap_or(&[]);
    if offered.contains(&PositionEncodingKind::UTF8) {
        Encoding::Utf8
    } else if offered.contains(&PositionEncodingKind::UTF32) {
        Encoding::Utf32
    } else {
        Encoding::Utf16
    }
}

/// What we can do: what is served in `api/`, and nothing else.
pub(crate) fn server(abilities: &Abilities) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(match abilities.encoding {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
                include_text: Some(false),
            })),
            ..TextDocumentSyncOptions::default()
        })),
        inlay_hint_provider: Some(OneOf::Right(InlayHintServerCapabilities::Options(
            InlayHintOptions {
                resolve_provider: Some(abilities.resolve_tooltips),
                ..InlayHintOptions::default()
            },
        ))),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        code_action_provider: abilities.code_actions.then(|| {
            CodeActionProviderCapability::Options(CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
                ..CodeActionOptions::default()
            })
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: ext::COMMANDS.map(str::to_owned).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}
