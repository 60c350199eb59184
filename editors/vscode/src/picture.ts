/** Panels with pictures of what is loaded, the flame graph, the timeline, memory over time, ranks by step and the roofline: webview/ draws them, in the
 * same way as on the page of a report. */

import * as vscode from 'vscode';

import type { FlameData } from '../webview/flame/data';
import type { MemoryData } from '../webview/memory/data';
import type { RankStepsData } from '../webview/ranks/data';
import type { RooflineData } from '../webview/roofline/data';
import type { TimelineData } from '../webview/timeline/data';
import type { Details, Place, Status } from './api';
import { reveal } from './reveal';
import { messageOf } from './server';
import type { Session } from './session';
import { webviewPage } from './webviewPage';

/** A part of the recording, a step, or a device. */
type Wanted =
  | { rank: number; from: number; to: number }
  | { rank: number; step: number }
  | { from: number; to: number; rank: number; device: number; moment?: number };

/** A rank, and one of its steps. */
interface RankStep {
  rank: number;
  step?: number;
}

/** What the webview sends. */
type Message =
  | { kind: 'ready' }
  | { kind: 'open'; file: string; line: number }
  | { kind: 'request'; wanted: Wanted }
  | { kind: 'timeline'; wanted: RankStep }
  | { kind: 'save'; svg: string };

/** Which picture a panel has, and its texts. */
export interface Picture {
  /** The class in the webview. */
  name: 'flame' | 'timeline' | 'memory' | 'ranks' | 'roofline';
  /** The command of the server. */
  command: `perfline.${'flame' | 'timeline' | 'memoryTimeline' | 'rankSteps' | 'roofline'}`;
  title: string;
  reading: string;
  /** The name of a file that it is saved to. */
  file: string;
  /** Shows the timeline of a rank. */
  timeline?: (wanted: RankStep) => void;
}

/** The answer to the command. */
type Drawn = (FlameData | TimelineData | MemoryData | RankStepsData | RooflineData) & {
  /** Names of files as the server takes them, by those that are shown. Of ranks by step there are none. */
  files?: Record<string, string>;
};

export class PicturePanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private drawn: Drawn | undefined;
  /** What the picture is of. */
  private recording: string | undefined;
  /** The line to show when the picture is there. */
  private wanted: { file: string; line: number } | undefined;
  /** The part to show first. */
  private part: RankStep | undefined;
  private isReady = false;
  private request: vscode.CancellationTokenSource | undefined;
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly session: Session,
    private readonly extensionUri: vscode.Uri,
    private readonly picture: Picture,
  ) {
    this.subscription = session.onDidChange(() => {
      if (this.panel !== undefined && this.shownOf(session.status) !== this.recording) {
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
      `perfline.${this.picture.name}`,
      this.picture.title,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      // What is zoomed and selected stays while another tab is in front.
      { enableScripts: true, localResourceRoots: [folder], retainContextWhenHidden: true },
    );
    this.panel = panel;
    panel.webview.onDidReceiveMessage((message: Message) => void this.receive(message));
    panel.onDidDispose(() => {
      this.request?.cancel();
      this.panel = undefined;
      this.drawn = undefined;
      this.recording = undefined;
      this.wanted = undefined;
      this.part = undefined;
      this.isReady = false;
    });
    panel.webview.html = webviewPage(panel.webview, folder, 'flame', this.picture.name);
  }

  /** Shows the timeline of a rank at a step. */
  async showPart(part: RankStep): Promise<void> {
    this.part = part;
    this.show();
    if (this.isReady) {
      await this.load();
    }
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
        const args = { file: this.drawn?.files?.[message.file] ?? message.file, line: message.line };
        const place = await this.session.server.ask<Place>('perfline.place', args);
        await reveal(place ?? { file: message.file }, columnOf(place));
        break;
      }
      case 'save':
        await save(message.svg, this.picture.file);
        break;
      case 'request':
        await this.load(message.wanted);
        break;
      case 'timeline':
        this.picture.timeline?.(message.wanted);
        break;
    }
  }

  /** Asks for the picture of what is loaded, or a part of it. The server reads the recording once more the first time. */
  private async load(wanted: Wanted | object = {}): Promise<void> {
    this.request?.cancel();
    const request = new vscode.CancellationTokenSource();
    this.request = request;
    const isOther = this.recording !== this.shownOf(this.session.status) || this.drawn === undefined;
    this.recording = this.shownOf(this.session.status);
    if (isOther) {
      this.drawn = undefined;
    }
    if (this.recording === undefined) {
      this.post({ kind: 'text', text: vscode.l10n.t('No recording is loaded.') });
      return;
    }
    if (isOther) {
      this.post({ kind: 'text', text: this.picture.reading });
    }
    try {
      const args = { ...this.rankArgument(), ...this.part, ...wanted };
      this.part = undefined;
      const drawn = await this.session.server.request<Drawn | null>(this.picture.command, args, request.token);
      if (!request.token.isCancellationRequested && drawn !== null) {
        this.drawn = drawn;
        this.post({ kind: 'data', data: drawn });
        this.focus();
      }
    } catch (error) {
      if (!request.token.isCancellationRequested) {
        this.post({ kind: 'text', text: messageOf(error) });
      }
    }
  }

  private focus(): void {
    const { drawn, wanted } = this;
    if (drawn !== undefined && wanted !== undefined) {
      this.wanted = undefined;
      const shown = Object.entries(drawn.files ?? {}).find(([, file]) => file === wanted.file)?.[0] ?? wanted.file;
      this.post({ kind: 'focus', file: shown, line: wanted.line });
    }
  }

  /** What says that something else is to be shown: another recording or, of a timeline and a flame graph, another rank; of a flame
   * graph, another part or baseline. */
  private shownOf(status: Status | undefined): string | undefined {
    if (status?.loaded !== true) {
      return undefined;
    }
    const { rank, filter, part } = status.view;
    // There is a verdict once the two are compared.
    const base = status.baseline?.verdict == null ? null : status.baseline.paths;
    const chosen = this.picture.name === 'flame' ? { rank, filter, part, base } : this.rankArgument(status);
    return JSON.stringify([status.inputs, chosen]);
  }

  /** The rank that is chosen, for the timeline of one rank; the server draws the flame graph of what it shows. */
  private rankArgument(status = this.session.status): { rank?: number } {
    const rank = status?.view.rank;
    return this.picture.name === 'timeline' && typeof rank === 'number' ? { rank } : {};
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

async function save(svg: string, file: string): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const target = await vscode.window.showSaveDialog({
    filters: { SVG: ['svg'] },
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, file) }),
  });
  if (target !== undefined) {
    await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(svg));
  }
}
