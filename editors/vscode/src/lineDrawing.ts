/** What is drawn on lines of Python: when it is drawn again. */

import * as vscode from 'vscode';

import { isCell } from './reveal';
import type { Session } from './session';

/** Typing goes on meanwhile: the editor moves decorations with the text, so there is no hurry. */
const AFTER_EDIT_MS = 250;

export abstract class LineDrawing implements vscode.Disposable {
  protected readonly subscriptions: vscode.Disposable[];
  private readonly pending = new Map<string, NodeJS.Timeout>();

  constructor(protected readonly session: Session) {
    this.subscriptions = [
      session.onDidChange(() => this.drawAll()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.drawAll()),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.drawLater(document)),
    ];
  }

  dispose(): void {
    this.pending.forEach(clearTimeout);
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  /** Asks for what stands on the lines of a file as it is now. It is drawn unless the file was edited meanwhile: then it is asked for again. */
  protected abstract prepare(editor: vscode.TextEditor): Promise<() => void>;

  protected drawLater(document: vscode.TextDocument): void {
    const key = document.uri.toString();
    clearTimeout(this.pending.get(key));
    const draw = () => {
      this.pending.delete(key);
      for (const editor of vscode.window.visibleTextEditors.filter((it) => it.document === document)) {
        void this.draw(editor);
      }
    };
    this.pending.set(key, setTimeout(draw, AFTER_EDIT_MS));
  }

  protected drawAll(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      void this.draw(editor);
    }
  }

  private async draw(editor: vscode.TextEditor): Promise<void> {
    const { document } = editor;
    if (document.languageId !== 'python' || !(document.uri.scheme === 'file' || isCell(document.uri))) {
      return;
    }
    const { version } = document;
    const show = await this.prepare(editor);
    if (document.version === version) {
      show();
    }
  }
}
