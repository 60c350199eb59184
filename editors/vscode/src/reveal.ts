/** Goes to a line. */

import * as vscode from 'vscode';

import type { Place } from './api';

/** In the group of editors that is active, or in another one. */
export async function reveal(
  place: Pick<Place, 'uri' | 'line' | 'range' | 'file'>,
  viewColumn?: vscode.ViewColumn,
): Promise<void> {
  if (place.uri == null || place.line == null) {
    void vscode.window.showInformationMessage(
      vscode.l10n.t('{0} is not in this workspace, or the line is gone.', place.file),
    );
    return;
  }
  const uri = vscode.Uri.parse(place.uri);
  const cell = await cellAt(uri);
  if (cell !== undefined) {
    await revealCell(cell, place.line);
    return;
  }
  const document = await vscode.workspace.openTextDocument(uri);
  const editor = await vscode.window.showTextDocument(document, viewColumn);
  goTo(editor, place.line);
}

/** The cell that a URI names: that of a document of an open notebook, or `file:…/run.ipynb#cell=3` of another one. */
async function cellAt(uri: vscode.Uri): Promise<vscode.NotebookCell | undefined> {
  if (isCell(uri)) {
    const cells = vscode.workspace.notebookDocuments.flatMap((it) => it.getCells());
    return cells.find((it) => it.document.uri.toString() === uri.toString());
  }
  const index = /^cell=(\d+)$/.exec(uri.fragment)?.[1];
  if (index === undefined) {
    return undefined;
  }
  const notebook = await vscode.workspace.openNotebookDocument(uri.with({ fragment: '' }));
  return notebook.getCells()[Number(index)];
}

async function revealCell(cell: vscode.NotebookCell, line: number): Promise<void> {
  const selections = [new vscode.NotebookRange(cell.index, cell.index + 1)];
  await vscode.window.showNotebookDocument(cell.notebook, { selections });
  // Only a cell that is edited has an editor with a cursor.
  await vscode.commands.executeCommand('notebook.cell.edit');
  const editor = vscode.window.visibleTextEditors.find((it) => it.document === cell.document);
  if (editor !== undefined) {
    goTo(editor, line);
  }
}

/** Whether a URI is that of a cell of a notebook. */
export function isCell(uri: vscode.Uri): boolean {
  return uri.scheme === 'vscode-notebook-cell';
}

/** Puts the cursor before the first letter of a 1-based line. */
export function goTo(editor: vscode.TextEditor, line: number): void {
  const text = editor.document.lineAt(Math.min(line, editor.document.lineCount) - 1);
  const start = new vscode.Position(text.lineNumber, text.firstNonWhitespaceCharacterIndex);
  editor.selection = new vscode.Selection(start, start);
  editor.revealRange(text.range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
