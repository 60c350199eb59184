/** Goes to a line. */

import * as vscode from 'vscode';

import type { Place } from './api';

export async function reveal(place: Pick<Place, 'uri' | 'line' | 'range' | 'file'>): Promise<void> {
  if (place.uri == null || place.line == null) {
    void vscode.window.showInformationMessage(
      vscode.l10n.t('{0} is not in this workspace, or the line is gone.', place.file),
    );
    return;
  }
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(place.uri));
  const editor = await vscode.window.showTextDocument(document);
  goTo(editor, place.line);
}

/** Puts the cursor before the first letter of a 1-based line. */
export function goTo(editor: vscode.TextEditor, line: number): void {
  const text = editor.document.lineAt(Math.min(line, editor.document.lineCount) - 1);
  const start = new vscode.Position(text.lineNumber, text.firstNonWhitespaceCharacterIndex);
  editor.selection = new vscode.Selection(start, start);
  editor.revealRange(text.range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
