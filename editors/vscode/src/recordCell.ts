/** Records a cell of a notebook, in the kernel that it runs in. */

import * as vscode from 'vscode';

import { LOAD, loaderAbove, withMagic } from './cellMagic';

/** Writes the magic into the cell that was clicked, or that is selected, and runs it. */
export async function recordCell(clicked?: unknown): Promise<void> {
  const cell = isCodeCell(clicked) ? clicked : selectedCell();
  const text = cell && withMagic(cell.document.getText());
  if (cell === undefined || text === undefined) {
    void vscode.window.showErrorMessage(
      cell === undefined
        ? vscode.l10n.t('Select the cell to record, in a notebook.')
        : vscode.l10n.t('The cell begins with another magic, which cannot be combined with %%perfline.'),
    );
    return;
  }
  const { notebook, document } = cell;
  const edit = new vscode.WorkspaceEdit();
  if (text !== document.getText()) {
    edit.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), text);
  }
  const texts = notebook
    .getCells()
    .map((it) => (it.kind === vscode.NotebookCellKind.Code ? it.document.getText() : ''));
  const above = loaderAbove(texts, cell.index);
  if (above === undefined) {
    const loader = new vscode.NotebookCellData(vscode.NotebookCellKind.Code, LOAD, 'python');
    edit.set(notebook.uri, [vscode.NotebookEdit.insertCells(cell.index, [loader])]);
  }
  await vscode.workspace.applyEdit(edit);
  const loader = above ?? cell.index - 1;
  const ranges = [loader, cell.index].map((it) => ({ start: it, end: it + 1 }));
  await vscode.commands.executeCommand('notebook.cell.execute', { ranges, document: notebook.uri });
}

function selectedCell(): vscode.NotebookCell | undefined {
  const editor = vscode.window.activeNotebookEditor;
  const cell =
    editor && editor.selection.start < editor.notebook.cellCount && editor.notebook.cellAt(editor.selection.start);
  return isCodeCell(cell) ? cell : undefined;
}

function isCodeCell(it: unknown): it is vscode.NotebookCell {
  return (
    typeof it === 'object' &&
    it !== null &&
    'notebook' in it &&
    'kind' in it &&
    it.kind === vscode.NotebookCellKind.Code
  );
}
