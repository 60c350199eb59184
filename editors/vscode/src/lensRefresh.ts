/** Has VS Code ask for lenses that changed. */

import * as vscode from 'vscode';

/** VS Code asks no earlier than 250 ms after it was notified that lenses changed. */
const FIRST_WAIT_MS = 400;
const LAST_WAIT_MS = 3200;

/**
 * Notifies VS Code again that lenses changed, until it has asked for those of all editors. VS Code waits before it asks, and does not
 * ask at all if the editor loses the focus meanwhile, as it does when the command palette opens: lenses then stay as they were until
 * the editor has the focus again. For editors that show no lenses VS Code never asks, so the number of attempts is limited.
 */
export class LensRefresh implements vscode.Disposable {
  private changes: vscode.EventEmitter<void> | undefined;
  private subscription: vscode.Disposable | undefined;
  /** The documents that were not asked for since the change, once for each editor. */
  private waiting: vscode.TextDocument[] = [];
  private waitMs = FIRST_WAIT_MS;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly selector: vscode.DocumentSelector) {}

  /** VS Code asks for the lenses of a document; `changes` notifies it that they changed. */
  asked(document: vscode.TextDocument, changes: vscode.EventEmitter<void> | undefined): void {
    if (changes !== this.changes) {
      this.dispose();
      this.changes = changes;
      this.subscription = changes?.event(() => this.wait());
    }
    const index = this.waiting.indexOf(document);
    if (index >= 0) {
      this.waiting.splice(index, 1);
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscription?.dispose();
    this.waiting = [];
  }

  private wait(): void {
    const documents = vscode.window.visibleTextEditors.map((it) => it.document);
    this.waiting = documents.filter((it) => vscode.languages.match(this.selector, it) > 0);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.waiting.length === 0 || this.waitMs >= LAST_WAIT_MS) {
        this.waitMs = FIRST_WAIT_MS;
      } else {
        this.waitMs *= 2;
        this.changes?.fire();
      }
    }, this.waitMs);
  }
}
