/** What the trees of the side bar have in common: they are asked for anew when something changed, once for many changes. */

import * as vscode from 'vscode';

/** A change of a text is followed by others. */
const AFTER_EDIT_MS = 500;

export abstract class RefreshedTree<T> implements vscode.TreeDataProvider<T>, vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.emitter.event;
  private timer: NodeJS.Timeout | undefined;
  private readonly subscriptions: vscode.Disposable[] = [];

  abstract getChildren(node?: T): Promise<T[]>;
  abstract getTreeItem(node: T): vscode.TreeItem;

  refresh(afterMs = 0): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.emitter.fire(undefined), afterMs);
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.subscriptions, this.emitter).dispose();
  }

  /** What ends with the tree. */
  protected owns(...subscriptions: vscode.Disposable[]): void {
    this.subscriptions.push(...subscriptions);
  }

  /** Refreshes when Python code was edited: lines move. */
  protected refreshAfterEdits(): vscode.Disposable {
    return vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (document.languageId === 'python') {
        this.refresh(AFTER_EDIT_MS);
      }
    });
  }

  /** Refreshes when settings below `section` change. */
  protected refreshAfterSettings(section: string): vscode.Disposable {
    return vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(section)) {
        this.refresh();
      }
    });
  }
}
