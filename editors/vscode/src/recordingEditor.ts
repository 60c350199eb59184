/** A recording as an editor: the page of the report, with its pictures, of a file that was clicked. */

import * as path from 'node:path';
import * as vscode from 'vscode';

import type { FoundRecordings, Place } from './api';
import { COMMANDS, type PageCommand, messagePage } from './messagePage';
import { reveal } from './reveal';
import { messageOf, withoutFolders } from './server';
import type { Session } from './session';

/** What the page asks for; `webview/flame/served.ts` sends it. */
interface Question {
  kind: 'ask';
  id: number;
  name: 'open' | 'picture';
  body: { file?: string; line?: number; picture?: 'timeline' | 'memory' };
}

const PICTURES = { timeline: 'perfline.timeline', memory: 'perfline.memoryTimeline' };

/** The same editor twice: for names that only recordings have, and for others that recordings may have. */
const TYPES = ['perfline.recording', 'perfline.possibleRecording'];

export class RecordingEditors implements vscode.CustomReadonlyEditorProvider, vscode.Disposable {
  private readonly registration: vscode.Disposable;
  private readonly shown = new Set<ShownRecording>();

  constructor(private readonly session: Session) {
    this.registration = vscode.Disposable.from(
      ...TYPES.map((it) =>
        // What is unfolded and zoomed stays while another tab is in front.
        vscode.window.registerCustomEditorProvider(it, this, { webviewOptions: { retainContextWhenHidden: true } }),
      ),
      session.onDidChange(() => this.shown.forEach((it) => void it.update())),
    );
  }

  openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
    return { uri, dispose: () => undefined };
  }

  async resolveCustomEditor({ uri }: vscode.CustomDocument, panel: vscode.WebviewPanel): Promise<void> {
    const shown = new ShownRecording(this.session, uri, panel);
    this.shown.add(shown);
    panel.onDidDispose(() => this.shown.delete(shown));
    await shown.update();
  }

  /** Loads the recording whose editor is in front, after another one was loaded. */
  async showAgain(): Promise<void> {
    await [...this.shown].find((it) => it.isActive)?.load();
  }

  /** Opens the file whose editor is in front as text. */
  async openAsText(): Promise<void> {
    const uri = [...this.shown].find((it) => it.isActive)?.uri;
    if (uri !== undefined) {
      await vscode.commands.executeCommand('vscode.openWith', uri, 'default');
    }
  }

  dispose(): void {
    this.registration.dispose();
  }
}

/** The recording of one file. */
class ShownRecording {
  /** What the page is of; nothing while there is none. */
  private page: string | undefined;
  private isTried = false;
  private isLoading = false;
  private failure: string | undefined;

  constructor(
    private readonly session: Session,
    readonly uri: vscode.Uri,
    private readonly panel: vscode.WebviewPanel,
  ) {
    const enableCommandUris = COMMANDS.map((it) => `perfline.${it}`);
    panel.webview.options = { enableScripts: true, localResourceRoots: [], enableCommandUris };
    panel.webview.onDidReceiveMessage((question: Question) => void this.answer(question));
  }

  get isActive(): boolean {
    return this.panel.active;
  }

  /** Shows the page, or why there is none. */
  async update(): Promise<void> {
    const { session, failure } = this;
    if (this.isLoading) {
      return;
    }
    const name = path.basename(this.uri.fsPath);
    if (session.server.state === 'failed') {
      this.say(vscode.l10n.t('The Perfline server is not running.'), ['restartServer', 'showLog', 'openAsText']);
    } else if (session.status === undefined) {
      this.say(vscode.l10n.t('The Perfline server is starting…'));
    } else if (this.isLoaded()) {
      await this.draw();
    } else if (!this.isTried) {
      await this.load();
    } else if (failure !== undefined) {
      this.say(vscode.l10n.t('{0} is not shown: {1}', name, failure), ['openAsText', 'showLog']);
    } else {
      this.say(vscode.l10n.t('Another recording is shown now.'), ['showAgain', 'openAsText']);
    }
  }

  /** Loads the recording that the file belongs to. */
  async load(): Promise<void> {
    const file = this.uri.fsPath;
    this.isTried = true;
    this.isLoading = true;
    this.failure = undefined;
    this.say(vscode.l10n.t('Reading {0}…', path.basename(file)));
    const found = await this.session.server.ask<FoundRecordings>('perfline.recordings', { limit: 1000 });
    // With the files of other ranks, and the trace of what lies beside one.
    const recording = found?.recordings.find((it) => [...it.paths, ...it.beside].includes(file));
    try {
      await this.session.loadRecording(recording?.paths ?? [file]);
    } catch (error) {
      this.failure = withoutFolders(messageOf(error));
    }
    this.isLoading = false;
    await this.update();
  }

  private isLoaded(): boolean {
    return this.session.status?.inputs.some((it) => it.path === this.uri.fsPath) === true;
  }

  private async draw(): Promise<void> {
    const { status, server } = this.session;
    const wanted = JSON.stringify([status?.inputs, status?.view.rank, status?.view.filter, status?.view.part]);
    if (wanted === this.page) {
      return;
    }
    this.page = wanted;
    this.failure = undefined;
    this.isTried = true;
    try {
      const page = await server.request<{ html: string } | null>('perfline.page');
      if (page !== null && this.page === wanted) {
        this.panel.webview.html = page.html;
      }
    } catch (error) {
      this.say(messageOf(error), ['showAgain', 'openAsText', 'showLog']);
    }
  }

  private say(message: string, commands: PageCommand[] = []): void {
    this.page = undefined;
    this.panel.webview.html = messagePage(message, commands);
  }

  private async answer({ id, name, body }: Question): Promise<void> {
    const { server } = this.session;
    let answer: { text: string | null; failure: string | null };
    try {
      if (name === 'open') {
        // A tab that is only looked at would make way for the file.
        await vscode.commands.executeCommand('workbench.action.keepEditor');
        const place = await server.request<Place | null>('perfline.place', { file: body.file, line: body.line });
        await reveal(place ?? { file: body.file ?? '' });
        answer = { text: '', failure: null };
      } else {
        const { picture = 'timeline', ...part } = body;
        answer = { text: JSON.stringify(await server.request(PICTURES[picture], part)), failure: null };
      }
    } catch (error) {
      answer = { text: null, failure: messageOf(error) };
    }
    await this.panel.webview.postMessage({ kind: 'answer', id, ...answer });
  }
}
