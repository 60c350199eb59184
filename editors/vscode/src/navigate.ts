/** Next and previous hot line of the file. */

import * as vscode from 'vscode';

import type { Heat } from './api';
import { following, worthShowing } from './levels';
import { goTo } from './reveal';
import type { Session } from './session';

export async function goToHotLine(session: Session, direction: 'next' | 'previous'): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return;
  }
  const heat = await session.server.ask<Heat>('perfline.heat', { uri: editor.document.uri.toString(), scope: 'step' });
  const lines = worthShowing(heat?.lines ?? []).map((it) => it.line);
  const line = following(lines, editor.selection.active.line + 1, direction);
  if (line === undefined) {
    vscode.window.setStatusBarMessage(vscode.l10n.t('There is no hot line in this file.'), 3000);
    return;
  }
  goTo(editor, line);
}
