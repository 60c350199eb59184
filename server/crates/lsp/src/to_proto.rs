//! From our types to the protocol's.

use ide::{Action, Diagnostic, Hint, Hover, HoverText, Lens, Severity};
use pysource::{Encoding, LineIndex};
use serde_json::json;
use tower_lsp::lsp_types::{
    self, CodeAction, CodeActionKind, CodeActionOrCommand, CodeLens, Command,
    DiagnosticRelatedInformation, DiagnosticSeverity, DocumentChanges, HoverContents, InlayHint,
    InlayHintLabel, InlayHintTooltip, Location, MarkupContent, MarkupKind, NumberOrString, OneOf,
    OptionalVersionedTextDocumentIdentifier, Position, Range, TextDocumentEdit, TextEdit, Url,
    WorkspaceEdit,
};

use crate::document::Document;
use crate::ext;
use crate::session_snapshot::SessionSnapshot;

/// The kind of actions that suppress a finding.
pub(crate) const IGNORE: CodeActionKind = CodeActionKind::new("quickfix.ignore");
/// The kind of actions that explain a rule.
pub(crate) const EXPLAIN: CodeActionKind = CodeActionKind::new("quickfix.explain");

/// The position of a byte offset.
pub(crate) fn position(index: &LineIndex, offset: usize, encoding: Encoding) -> Position {
    let position = index.position(offset, encoding);
    Position { line: position.line - 1, character: position.column }
}

/// The range of two byte offsets.
pub(crate) fn range(index: &LineIndex, start: usize, end: usize, encoding: Encoding) -> Range {
    Range { start: position(index, start, encoding), end: position(index, end, encoding) }
}

/// The start of a 1-based line.
pub(crate) fn line_start(line: u32) -> Range {
    let position = Position { line: line.saturating_sub(1), character: 0 };
    Range { start: position, end: position }
}

pub(crate) fn inlay_hint(
    index: &LineIndex,
    hint: Hint,
    tooltip: Option<InlayHintTooltip>,
    encoding: Encoding,
) -> InlayHint {
    InlayHint {
        position: position(index, hint.offset, encoding),
        label: InlayHintLabel::String(hint.label),
        kind: None,
        text_edits: None,
        tooltip,
        padding_left: Some(true),
        padding_right: None,
        data: None,
    }
}

/// The tooltip of a hint.
pub(crate) fn tooltip(text: &HoverText, is_markdown: bool) -> InlayHintTooltip {
    InlayHintTooltip::MarkupContent(markup(text, is_markdown))
}

/// As Markdown where the client shows it, else as plain text.
fn markup(text: &HoverText, is_markdown: bool) -> MarkupContent {
    match is_markdown {
        true => MarkupContent { kind: MarkupKind::Markdown, value: text.markdown() },
        false => MarkupContent { kind: MarkupKind::PlainText, value: text.plain() },
    }
}

/// A lens; its command lists the hot lines of what it stands above.
pub(crate) fn code_lens(uri: &Url, lens: Lens) -> CodeLens {
    let lines = json!({"uri": uri, "firstLine": lens.lines.start(), "lastLine": lens.lines.end()});
    CodeLens {
        range: line_start(lens.line),
        command: Some(Command {
            title: lens.title,
            command: ext::HOT_LINES.to_owned(),
            arguments: Some(vec![lines]),
        }),
        data: None,
    }
}

pub(crate) fn hover(
    index: &LineIndex,
    hover: &Hover,
    encoding: Encoding,
    is_markdown: bool,
) -> lsp_types::Hover {
    lsp_types::Hover {
        contents: HoverContents::Markup(markup(&hover.text, is_markdown)),
        range: Some(range(index, hover.start, hover.end, encoding)),
    }
}

/// A quick fix for a version of a document.
pub(crate) fn code_action(
    document: &Document,
    action: Action,
    snapshot: &SessionSnapshot,
    uri_of: impl Fn(&str) -> Option<Url>,
) -> CodeActionOrCommand {
    let (index, encoding) = (&document.index, snapshot.encoding());
    let edits = action.edits.into_iter().map(|edit| TextEdit {
        range: range(index, edit.start, edit.end, encoding),
        new_text: edit.text,
    });
    let edits: Vec<TextEdit> = edits.collect();
    let edit = if snapshot.abilities.document_changes {
        // With the version, so that it is not applied to another text.
        let edit = TextDocumentEdit {
            text_document: OptionalVersionedTextDocumentIdentifier {
                uri: document.uri.clone(),
                version: Some(document.version),
            },
            edits: edits.into_iter().map(OneOf::Left).collect(),
        };
        WorkspaceEdit {
            document_changes: Some(DocumentChanges::Edits(vec![edit])),
            ..WorkspaceEdit::default()
        }
    } else {
        WorkspaceEdit::new([(document.uri.clone(), edits)].into())
    };
    let has_related = snapshot.abilities.related_information;
    let reported = diagnostic(index, action.diagnostic, encoding, has_related, uri_of);
    CodeActionOrCommand::CodeAction(CodeAction {
        title: action.title,
        kind: Some(if action.is_fix { CodeActionKind::QUICKFIX } else { IGNORE }),
        diagnostics: Some(vec![reported]),
        edit: Some(edit),
        is_preferred: Some(action.is_preferred),
        ..CodeAction::default()
    })
}

/// The action that shows the page of the rule of a finding. The client runs its command and shows what it answers.
pub(crate) fn explanation(
    document: &Document,
    found: Diagnostic,
    snapshot: &SessionSnapshot,
    uri_of: impl Fn(&str) -> Option<Url>,
) -> CodeActionOrCommand {
    let (title, rule) = (format!("Explain `{}`", found.code), json!(found.code));
    let has_related = snapshot.abilities.related_information;
    let reported = diagnostic(&document.index, found, snapshot.encoding(), has_related, uri_of);
    let arguments = Some(vec![rule]);
    CodeActionOrCommand::CodeAction(CodeAction {
        title: title.clone(),
        kind: Some(EXPLAIN),
        diagnostics: Some(vec![reported]),
        command: Some(Command { title, command: ext::EXPLAIN.to_owned(), arguments }),
        is_preferred: Some(false),
        ..CodeAction::default()
    })
}

/// A diagnostic. `uri_of` knows where the file of a ledger key is.
pub(crate) fn diagnostic(
    index: &LineIndex,
    diagnostic: Diagnostic,
    encoding: Encoding,
    has_related: bool,
    uri_of: impl Fn(&str) -> Option<Url>,
) -> lsp_types::Diagnostic {
    let related = diagnostic.related.into_iter().filter(|_| has_related).filter_map(|related| {
        let location = Location { uri: uri_of(&related.file)?, range: line_start(related.line) };
        Some(DiagnosticRelatedInformation { location, message: related.message })
    });
    let related: Vec<_> = related.collect();
    lsp_types::Diagnostic {
        range: range(index, diagnostic.start, diagnostic.end, encoding),
        severity: Some(match diagnostic.severity {
            Severity::Hint => DiagnosticSeverity::HINT,
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Information => DiagnosticSeverity::INFORMATION,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(diagnostic.code.to_owned())),
        code_description: None,
        source: Some("perfline".to_owned()),
        message: diagnostic.message,
        related_information: (!related.is_empty()).then_some(related),
        tags: None,
        data: Some(json!({
            "rule": diagnostic.code,
            "costNs": diagnostic.cost.0,
            "share": diagnostic.share,
            "remedy": diagnostic.remedy,
        })),
    }
}
