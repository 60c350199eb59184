/** The sample that comes with the extension: a small program and a recording of it. */

import * as vscode from 'vscode';

import { hottestLine } from './hottestLine';
import { reveal } from './reveal';
import type { Session } from './session';

/** Marks the folder as the sample, so that it opens with its program shown. */
const MARKER = '.perfline-sample';
const FILES = ['slow_model.py', 'slow_model.json.gz', 'README.md', MARKER];

/** Copies the sample to where it may be changed, and opens that folder. */
export async function openSample(context: vscode.ExtensionContext): Promise<void> {
  const target = vscode.Uri.joinPath(context.globalStorageUri, 'sample');
  await vscode.workspace.fs.createDirectory(target);
  for (const name of FILES) {
    const source = vscode.Uri.joinPath(context.extensionUri, 'dist', 'sample', name);
    await vscode.workspace.fs.copy(source, vscode.Uri.joinPath(target, name), { overwrite: true });
  }
  const forceNewWindow = vscode.workspace.workspaceFolders !== undefined;
  await vscode.commands.executeCommand('vscode.openFolder', target, { forceNewWindow });
}

/** In the window of the sample: shows its program at its hottest line, the first time. */
export async function welcome(context: vscode.ExtensionContext, session: Session): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const sample = vscode.Uri.joinPath(context.globalStorageUri, 'sample').toString();
  if (folder?.toString() === sample && vscode.window.visibleTextEditors.length === 0) {
    const editor = await vscode.window.showTextDocument(vscode.Uri.joinPath(folder, 'slow_model.py'));
    await loaded(session);
    await showHottest(session, editor);
  }
}

/** Waits until a recording is shown. */
async function loaded(session: Session): Promise<void> {
  const isLoaded = () => session.status?.loaded === true;
  while (!isLoaded()) {
    await new Promise<void>((resolve) => {
      const subscription = session.onDidChange(() => {
        subscription.dispose();
        resolve();
      });
    });
  }
}

/** Goes to the hottest line, unless the reader went somewhere before. */
async function showHottest(session: Session, editor: vscode.TextEditor): Promise<void> {
  const hottest = await hottestLine(session.server);
  if (hottest !== undefined && editor.selection.active.isEqual(new vscode.Position(0, 0))) {
    await reveal(hottest);
  }
}
