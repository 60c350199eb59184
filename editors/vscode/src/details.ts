/** The Line Details view: all that is known of the line that the cursor is on. */

import * as vscode from 'vscode';

import type { Details } from './api';
import { detailsHtml, emptyHtml } from './detailsHtml';
import { reveal } from './reveal';
import type { Session } from './session';
import { webviewPage } from './webviewPage';

const AFTER_MOVE_MS = 120;
const VIEW = 'perfline.detailsView';

/** What the webview shows. */
type Message = { kind: 'ready' } | { kind: 'reveal'; index: number };

export class DetailsView implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private shown: Details | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** The line that stays when the cursor goes elsewhere. */
  private pinned: { uri: string; line: number } | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly session: Session,
    private readonly extensionUri: vscode.Uri,
  ) {
    this.subscriptions = [
      vscode.window.registerWebviewViewProvider(VIEW, this),
      session.onDidChange(() => this.updateSoon()),
      vscode.window.onDidChangeActiveTextEditor(() => this.updateSoon()),
      vscode.window.onDidChangeTextEditorSelection(() => this.updateSoon()),
      vscode.workspace.onDidChangeTextDocument(() => this.updateSoon()),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    const folder = vscode.Uri.joinPath(this.extensionUri, 'webview');
    view.webview.options = { enableScripts: true, localResourceRoots: [folder] };
    view.webview.onDidReceiveMessage((message: Message) => {
      if (message.kind === 'ready') {
        void this.update();
      } else {
        const place = revealed(this.shown)[message.index];
        if (place !== undefined) {
          void reveal(place);
        }
      }
    });
    view.onDidChangeVisibility(() => this.updateSoon());
    view.onDidDispose(() => {
      this.view = undefined;
    });
    view.webview.html = webviewPage(view.webview, folder, 'details');
  }

  /** Opens the view; the focus stays in the editor. */
  async show(): Promise<void> {
    if (this.view === undefined) {
      // A view that was never open can only be opened with focus.
      const editor = vscode.window.activeTextEditor;
      await vscode.commands.executeCommand(`${VIEW}.focus`);
      if (editor !== undefined) {
        await vscode.window.showTextDocument(editor.document, {
          viewColumn: editor.viewColumn ?? vscode.ViewColumn.Active,
        });
      }
    } else {
      this.view.show(true);
    }
    await this.update();
  }

  async copy(): Promise<void> {
    const details = await this.fetch();
    if (details !== undefined) {
      await vscode.env.clipboard.writeText(details.markdown);
      vscode.window.setStatusBarMessage(
        vscode.l10n.t('Copied the details of line {0}.', details.place.line ?? details.place.recordedLine),
        3000,
      );
    }
  }

  /** Keeps what is shown, or follows the cursor again. */
  async pin(isPinned: boolean): Promise<void> {
    this.pinned = isPinned ? lineOfCursor() : undefined;
    await vscode.commands.executeCommand('setContext', 'perfline.detailsPinned', this.pinned !== undefined);
    await this.update();
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private updateSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.update(), AFTER_MOVE_MS);
  }

  private async update(): Promise<void> {
    const { view } = this;
    if (!view?.visible) {
      return;
    }
    // The details stay while another kind of file, or a list, has the focus.
    const hasLine = this.pinned !== undefined || pythonEditor() !== undefined;
    if (!hasLine && this.shown !== undefined && this.session.status?.loaded === true) {
      return;
    }
    this.shown = await this.fetch();
    const html = this.shown === undefined ? emptyHtml(this.whyEmpty()) : detailsHtml(this.shown);
    void view.webview.postMessage({ html });
  }

  private whyEmpty(): string {
    if (this.session.status?.loaded !== true) {
      return vscode.l10n.t('No recording is loaded.');
    }
    const place = this.pinned ?? lineOfCursor();
    return place === undefined
      ? vscode.l10n.t('Put the cursor on a line of Python to see what it costs.')
      : vscode.l10n.t('Nothing was recorded on line {0}.', place.line);
  }

  private async fetch(): Promise<Details | undefined> {
    const place = this.pinned ?? lineOfCursor();
    if (place === undefined || this.session.status?.loaded !== true) {
      return undefined;
    }
    return this.session.server.ask<Details>('perfline.details', place);
  }
}

function pythonEditor(): vscode.TextEditor | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor?.document.languageId === 'python' ? editor : undefined;
}

function lineOfCursor(): { uri: string; line: number } | undefined {
  const editor = pythonEditor();
  return editor && { uri: editor.document.uri.toString(), line: editor.selection.active.line + 1 };
}

/** The places that can be clicked, in the order in which `detailsHtml` numbers them. */
function revealed(details: Details | undefined) {
  return details === undefined ? [] : [...details.callers, ...details.waits, ...details.replays, ...details.generated];
}
