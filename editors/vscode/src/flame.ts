/** The panel with the flame graph of what is loaded: webview/flame draws it, in the same way as on the page of a report. */

import * as vscode from 'vscode';

import type { FlameData } from '../webview/flame/data';
import type { Details, Place, Status } from './api';
import { reveal } from './reveal';
import { messageOf } from './server';
import type { Session } from './session';
import { webviewPage } from './webviewPage';

/** What the webview sends. */
type Message = { kind: 'ready' } | { kind: 'open'; file: string; line: number } | { kind: 'save'; svg: string };

/** The answer to `perfline.flame`. */
type Flame = FlameData & {
  /** Names of files as the server takes them, by those that are shown. */
  files: Record<string, string>;
};

export class FlamePanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private flame: Flame | undefined;
  /** What the flame graph is of. */
  private recording: string | undefined;
  /** The line to show when the flame graph is there. */
  private wanted: { file: string; line: number } | undefined;
  private isReady = false;
  private request: vscode.CancellationTokenSource | undefined;
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly session: Session,
    private readonly extensionUri: vscode.Uri,
  ) {
    this.subscription = session.onDidChange(() => {
      if (this.panel !== undefined && recordingOf(session.status) !== this.recording) {
        void this.load();
      }
    });
  }

  show(): void {
    if (this.panel !== undefined) {
      this.panel.reveal(undefined, true);
      return;
    }
    const folder = vscode.Uri.joinPath(this.extensionUri, 'dist', 'flame');
    const panel = vscode.window.createWebviewPanel(
      'perfline.flame',
      vscode.l10n.t('Flame Graph'),
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      // What is zoomed and selected stays while another tab is in front.
      { enableScripts: true, localResourceRoots: [folder], retainContextWhenHidden: true },
    );
    this.panel = panel;
    panel.webview.onDidReceiveMessage((message: Message) => void this.receive(message));
    panel.onDidDispose(() => {
      this.request?.cancel();
      this.panel = undefined;
      this.flame = undefined;
      this.recording = undefined;
      this.wanted = undefined;
      this.isReady = false;
    });
    panel.webview.html = webviewPage(panel.webview, folder, 'flame');
  }

  /** Shows the frames of the line that the cursor is on. */
  async showLine(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      return;
    }
    const uri = editor.document.uri.toString();
    const line = editor.selection.active.line + 1;
    const place = (await this.session.server.ask<Details>('perfline.details', { uri, line }))?.place;
    if (place === undefined) {
      void vscode.window.showInformationMessage(vscode.l10n.t('Nothing was recorded on line {0}.', line));
      return;
    }
    this.wanted = { file: place.file, line: place.recordedLine };
    this.show();
    this.focus();
  }

  dispose(): void {
    this.subscription.dispose();
    this.panel?.dispose();
  }

  private async receive(message: Message): Promise<void> {
    switch (message.kind) {
      case 'ready':
        this.isReady = true;
        await this.load();
        break;
      case 'open': {
        const args = { file: this.flame?.files[message.file] ?? message.file, line: message.line };
        const place = await this.session.server.ask<Place>('perfline.place', args);
        await reveal(place ?? { file: message.file }, columnOf(place));
        break;
      }
      case 'save':
        await save(message.svg);
        break;
    }
  }

  /** Asks for the stacks of what is loaded. The server reads the recording once more for them. */
  private async load(): Promise<void> {
    this.request?.cancel();
    const request = new vscode.CancellationTokenSource();
    this.request = request;
    this.recording = recordingOf(this.session.status);
    this.flame = undefined;
    if (this.recording === undefined) {
      this.post({ kind: 'text', text: vscode.l10n.t('No recording is loaded.') });
      return;
    }
    this.post({ kind: 'text', text: vscode.l10n.t('Reading the stacks of the recording…') });
    try {
      const flame = await this.session.server.request<Flame | null>('perfline.flame', {}, request.token);
      if (!request.token.isCancellationRequested && flame !== null) {
        this.flame = flame;
        this.post({ kind: 'data', data: flame });
        this.focus();
      }
    } catch (error) {
      if (!request.token.isCancellationRequested) {
        this.post({ kind: 'text', text: messageOf(error) });
      }
    }
  }

  private focus(): void {
    const { flame, wanted } = this;
    if (flame !== undefined && wanted !== undefined) {
      this.wanted = undefined;
      const shown = Object.entries(flame.files).find(([, file]) => file === wanted.file)?.[0] ?? wanted.file;
      this.post({ kind: 'focus', file: shown, line: wanted.line });
    }
  }

  private post(message: unknown): void {
    if (this.isReady) {
      void this.panel?.webview.postMessage(message);
    }
  }
}

/** The group of editors that shows a file already, else the first: not that of the panel. */
function columnOf(place: Place | undefined): vscode.ViewColumn {
  const shown = vscode.window.visibleTextEditors.find((it) => it.document.uri.toString() === place?.uri);
  return shown?.viewColumn ?? vscode.ViewColumn.One;
}

/** What says that another recording was loaded. */
function recordingOf(status: Status | undefined): string | undefined {
  return status?.loaded === true ? JSON.stringify(status.inputs) : undefined;
}

async function save(svg: string): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const target = await vscode.window.showSaveDialog({
    filters: { SVG: ['svg'] },
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, 'flame-graph.svg') }),
  });
  if (target !== undefined) {
    await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(svg));
  }
}
