/** What is shown now, and what the user chose in this window; a server that is started again is sent both. */

import * as vscode from 'vscode';

import type { BaselineStatus, Charge, Filter, FilterValues, LoadAnswer, Metric, Status, View } from './api';
import type { Server } from './server';

/** Files by the folder of the code that they are about. */
type FilesByFolder = Record<string, string[]>;

/** What the user chose to see of the recording of a folder. */
interface Choice {
  folder: string | null;
  step?: View['step'];
  rank?: View['rank'];
  filter?: Filter;
}

/** Where the files are remembered that the user chose to show, and to compare with. */
const PINNED = 'perfline.pinned';
const BASELINES = 'perfline.baselines';

export class Session implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  /** Another recording, another view, another state of the server: whatever is drawn is drawn again. */
  readonly onDidChange = this.emitter.event;

  private latest: Status | undefined;
  /** Whether the user took all numbers away. */
  private isOff = false;
  private metric: { metric: string; charge?: string } | undefined;
  private choice: Choice = { folder: null };
  /** A document in the workspace folder that was looked at last. */
  private looked: vscode.Uri | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    readonly server: Server,
    private readonly memory: vscode.Memento,
  ) {
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

  /** Loads these files, or the newest recording: of a folder, or of the one that is looked at; rejects if nothing could be loaded. */
  async loadRecording(paths: string[] | undefined, folder?: string): Promise<void> {
    const before = this.latest?.folder;
    const loaded = await this.server.request<LoadAnswer>('perfline.load', { paths, folder });
    this.isOff = false;
    // The folder of these files is in front then, until an editor of any folder is chosen.
    this.looked = folder === undefined ? undefined : this.looked;
    if (paths === undefined && folder === undefined && before != null) {
      await this.remember(PINNED, before, undefined);
    }
    await this.remember(PINNED, loaded.folder, paths);
    this.emitter.fire();
  }

  /** Compares what is shown with these files, or with the recording before it; rejects if that cannot be. */
  async setBaseline(paths: string[] | undefined, token?: vscode.CancellationToken): Promise<BaselineStatus> {
    const folder = this.latest?.folder;
    const found = await this.server.request<BaselineStatus>('perfline.setBaseline', { paths }, token);
    if (folder != null) {
      await this.remember(BASELINES, folder, found.paths);
    }
    return found;
  }

  async clearBaseline(): Promise<void> {
    const folder = this.latest?.folder;
    if (folder != null) {
      await this.remember(BASELINES, folder, undefined);
    }
    await this.server.request('perfline.clearBaseline');
  }

  /** Whether the user chose what is shown, so that no newer recording takes its place. */
  get isPinned(): boolean {
    return this.latest?.pinned === true;
  }

  async unload(): Promise<void> {
    await this.server.request('perfline.unload');
    this.isOff = true;
    await this.memory.update(PINNED, undefined);
    this.emitter.fire();
  }

  async setMetric(metric: Metric | 'auto', charge?: Charge): Promise<void> {
    const args = charge === undefined ? { metric } : { metric, charge };
    await this.server.request('perfline.setMetric', args);
    this.metric = { ...this.metric, ...args };
  }

  async setStep(step: View['step']): Promise<void> {
    await this.server.request('perfline.setStep', { step });
    this.choose({ step });
  }

  async setRank(rank: View['rank']): Promise<void> {
    await this.server.request('perfline.setRank', { rank });
    this.choose({ rank });
  }

  async setFilter(filter: Filter): Promise<void> {
    await this.server.request('perfline.setFilter', filter);
    this.choose({ filter });
  }

  /** What a filter can be given of the recording; nothing where none is loaded. */
  async filterValues(): Promise<FilterValues | undefined> {
    return this.server.ask<FilterValues>('perfline.filterValues');
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.emitter).dispose();
  }

  /** Of several workspace folders, commands and views are about the recording of the one that is looked at. */
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

  /** What was chosen for the recording of another folder does not hold for that of this one. */
  private choose(choice: Omit<Choice, 'folder'>): void {
    const folder = this.latest?.folder ?? null;
    this.choice = { ...(this.choice.folder === folder ? this.choice : {}), ...choice, folder };
  }

  private async remember(key: string, folder: string, paths: string[] | undefined): Promise<void> {
    const all = Object.entries(this.memory.get<FilesByFolder>(key, {}));
    const others = Object.fromEntries(all.filter(([it]) => it !== folder));
    await this.memory.update(key, paths === undefined ? others : { ...others, [folder]: paths });
  }

  private async restore(): Promise<void> {
    const { server } = this;
    if (this.isOff) {
      await server.ask('perfline.unload');
    } else {
      await this.restoreFiles(PINNED, 'perfline.load');
    }
    await this.restoreFiles(BASELINES, 'perfline.setBaseline');
    // After the files of each folder: what is loaded by name comes to the front.
    await this.lookAt(vscode.window.activeTextEditor, true);
    if (this.metric !== undefined) {
      await server.ask('perfline.setMetric', this.metric);
    }
    const { folder, step, rank, filter } = this.choice;
    const status = await server.ask<Status>('perfline.status');
    if (status?.folder === folder) {
      if (step !== undefined) {
        await server.ask('perfline.setStep', { step });
      }
      if (rank !== undefined) {
        await server.ask('perfline.setRank', { rank });
      }
      if (filter !== undefined) {
        await server.ask('perfline.setFilter', filter);
      }
    }
    this.show(await server.ask<Status>('perfline.status'));
  }

  /** Sends what was chosen for each folder; forgets files that are gone. */
  private async restoreFiles(key: string, command: string): Promise<void> {
    const isInWorkspace = (folder: string) =>
      (vscode.workspace.workspaceFolders ?? []).some((it) => it.uri.fsPath === folder);
    for (const [folder, paths] of Object.entries(this.memory.get<FilesByFolder>(key, {}))) {
      if (await areThere(paths)) {
        await this.server.ask(command, isInWorkspace(folder) ? { paths, folder } : { paths });
      } else {
        await this.remember(key, folder, undefined);
      }
    }
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
