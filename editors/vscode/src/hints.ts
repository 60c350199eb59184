/** Hints as decorations: a little apart from the code, in a colour of their own that can be read on the hottest line, and whatever
 * `editor.inlayHints.enabled` says. */

import * as vscode from 'vscode';

import { LineDrawing } from './lineDrawing';
import type { Session } from './session';

export class HintDecorations extends LineDrawing {
  private readonly type = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor('perfline.hintForeground'), margin: '0 0 0 2em', fontStyle: 'italic' },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });

  constructor(session: Session) {
    super(session);
    this.subscriptions.push(
      session.server.onDidChangeHints(() => this.drawAll()),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('perfline.hints.provider')) {
          session.server.refreshHints();
        }
      }),
    );
  }

  override dispose(): void {
    super.dispose();
    this.type.dispose();
  }

  protected override async prepare(editor: vscode.TextEditor): Promise<() => void> {
    const hints = areDecorations() ? await this.session.server.hints(editor.document) : [];
    return () => editor.setDecorations(this.type, hints.map(decoration));
  }
}

/** Whether hints are decorations, or else inlay hints of the editor. */
export function areDecorations(): boolean {
  return vscode.workspace.getConfiguration('perfline').get<string>('hints.provider') !== 'inlay';
}

function decoration({ position, label }: vscode.InlayHint): vscode.DecorationOptions {
  const text = typeof label === 'string' ? label : label.map((it) => it.value).join('');
  return { range: new vscode.Range(position, position), renderOptions: { after: { contentText: text } } };
}
