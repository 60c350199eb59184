/** What is shown now, and what the user chose in this window; a server that is started again is sent both. */

import * as vscode from 'vscode';

import type { BaselineStatus, Charge, Filter, FilterValues, Metric, Status, View } from './api';
import type { Server } from './server';

/** What to load: named files, or the newest in the workspace; nothing if the server finds something by itself. */
type Load = { paths: string[] } | 'off' | undefined;

/** Where the files are remembered that the user chose to show, and to compare with. */
const CHOSEN = 'perfline.chosen';
const BASELINE = 'perfline.baseline';

export class Session implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  /** Another recording, another view, another state of the server: whatever is drawn is drawn again. */
  readonly onDidChange = this.emitter.event;

  private latest: Status | undefined;
  private load: Load;
  private metric: { metric: string; charge?: string } | undefined;
  private step: View['step'] | undefined;
  private rank: View['rank'] | undefined;
  private filter: Filter | undefined;
  /** A document in the workspace folder that was looked at last. */
  private looked: vscode.Uri | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    readonly server: Server,
    private readonly memory: vscode.Memento,
  ) {
    const paths = memory.get<string[]>(CHOSEN);
    this.load = paths === undefined ? undefined : { paths };
    this.subscriptions = [
      server.onDidChangeStatus((status) => this.show(status)),
      vscode.window.onDidChangeActiveTextEditor((editor) => void this.lookAt(editor)),
      server.onDidChangeState((state) => {
        if (state === 'running') {
          void this.restore();
        } else {
          this.show(undefined);
        }
      }),
    ];
  }

  /** Nothing while the server does not run. */
  get status(): Status | undefined {
    return this.latest;
  }

  /** Loads these files, or the newest recording in the workspace; rejects if nothing could be loaded. */
  async loadRecording(paths: string[] | undefined, token?: vscode.CancellationToken): Promise<void> {
    await this.server.request('perfline.load', paths === undefined ? {} : { paths }, token);
    this.choose(paths === undefined ? undefined : { paths });
  }

  /** Compares what is shown with these files, or with the recording before it; rejects if that cannot be. */
  async setBaseline(paths: string[] | undefined, token?: vscode.CancellationToken): Promise<BaselineStatus> {
    const args = paths === undefined ? {} : { paths };
    const found = await this.server.request<BaselineStatus>('perfline.setBaseline', args, token);
    void this.memory.update(BASELINE, found.paths);
    return found;
  }

  async clearBaseline(): Promise<void> {
    void this.memory.update(BASELINE, undefined);
    await this.server.request('perfline.clearBaseline');
  }

  /** Whether the user chose what is shown, so that no newer recording takes its place. */
  get isPinned(): boolean {
    return typeof this.load === 'object';
  }

  async unload(): Promise<void> {
    await this.server.request('perfline.unload');
    this.choose('off');
  }

  async setMetric(metric: Metric | 'auto', charge?: Charge): Promise<void> {
    const args = charge === undefined ? { metric } : { metric, charge };
    await this.server.request('perfline.setMetric', args);
    this.metric = { ...this.metric, ...args };
  }

  async setStep(step: View['step']): Promise<void> {
    await this.server.request('perfline.setStep', { step });
    this.step = step;
  }

  async setRank(rank: View['rank']): Promise<void> {
    await this.server.request('perfline.setRank', { rank });
    this.rank = rank;
  }

  async setFilter(filter: Filter): Promise<void> {
    await this.server.request('perfline.setFilter', filter);
    this.filter = filter;
  }

  /** What a filter can be given of the recording; nothing where none is loaded. */
  async filterValues(): Promise<FilterValues | undefined> {
    return this.server.ask<FilterValues>('perfline.filterValues');
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.emitter).dispose();
  }

  /** Of several workspace folders, the newest recording in the one that is looked at is shown. */
  private async lookAt(editor: vscode.TextEditor | undefined, isNewServer = false): Promise<void> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    const uri = editor?.document.uri ?? this.looked;
    const folder = uri && vscode.workspace.getWorkspaceFolder(uri);
    if (uri === undefined || folder === undefined || folders.length < 2) {
      return;
    }
    const before = this.looked && vscode.workspace.getWorkspaceFolder(this.looked);
    this.looked = uri;
    if (isNewServer || folder !== before) {
      await this.server.ask('perfline.setFolder', { uri: uri.toString() });
    }
  }

  private choose(load: Load): void {
    this.load = load;
    void this.memory.update(CHOSEN, typeof load === 'object' ? load.paths : undefined);
    this.emitter.fire();
  }

  private async restore(): Promise<void> {
    const { server } = this;
    if (typeof this.load === 'object' && !(await areThere(this.load.paths))) {
      this.choose(undefined);
    }
    await this.lookAt(vscode.window.activeTextEditor, true);
    if (this.load === 'off') {
      await server.ask('perfline.unload');
    } else if (this.load !== undefined) {
      await server.ask('perfline.load', this.load);
    }
    const baseline = this.memory.get<string[]>(BASELINE);
    if (baseline !== undefined && (await areThere(baseline))) {
      await server.ask('perfline.setBaseline', { paths: baseline });
    }
    if (this.metric !== undefined) {
      await server.ask('perfline.setMetric', this.metric);
    }
    if (this.step !== undefined) {
      await server.ask('perfline.setStep', { step: this.step });
    }
    if (this.rank !== undefined) {
      await server.ask('perfline.setRank', { rank: this.rank });
    }
    if (this.filter !== undefined) {
      await server.ask('perfline.setFilter', this.filter);
    }
    this.show(await server.ask<Status>('perfline.status'));
  }

  private show(status: Status | undefined): void {
    this.latest = status;
    const contexts = {
      'perfline.pinned': this.isPinned,
      'perfline.compared': status?.baseline != null,
      'perfline.loaded': status?.loaded === true,
      'perfline.hasRanks': status?.loaded === true && status.view.ranks.length > 1,
      'perfline.loading': this.server.state === 'starting' || status?.loading === true,
      'perfline.failed': this.server.state === 'failed',
    };
    for (const [name, value] of Object.entries(contexts)) {
      void vscode.commands.executeCommand('setContext', name, value);
    }
    this.emitter.fire();
  }
}

async function areThere(paths: string[]): Promise<boolean> {
  const found = paths.map((it) => vscode.workspace.fs.stat(vscode.Uri.file(it)));
  return (await Promise.allSettled(found)).every((it) => it.status === 'fulfilled');
}
