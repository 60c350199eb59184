/** Loads recordings: from a dialog, from the Explorer, from those loaded before. */

import * as path from 'node:path';
import * as vscode from 'vscode';

import { messageOf } from './server';
import type { Session } from './session';

const RECENT = 'perfline.recent';
const N_RECENT = 10;

/** The server has reported these failures to the user already, or the user caused them. */
const REPORTED = [-32803, -32800];

export class Recordings {
  constructor(
    private readonly session: Session,
    private readonly memory: vscode.Memento,
  ) {
    session.onDidChange(() => this.remember());
  }

  /** Loads what was chosen in the Explorer, or else asks for files. */
  async load(clicked?: unknown, selected?: unknown): Promise<void> {
    const uris = Array.isArray(selected) && selected.length > 0 ? selected : [clicked];
    const files = uris.filter((it): it is vscode.Uri => it instanceof vscode.Uri && it.scheme === 'file');
    const chosen = files.length > 0 ? files : await this.choose();
    if (chosen !== undefined) {
      await this.loadPaths(chosen.map((it) => it.fsPath));
    }
  }

  async loadNewest(): Promise<void> {
    await this.loadPaths(undefined);
  }

  async loadRecent(): Promise<void> {
    const recent = this.recent();
    if (recent.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t('No recording was loaded yet.'));
      return;
    }
    const items = recent.map((paths) => ({
      label: paths.map((it) => path.basename(it)).join(', '),
      description: vscode.workspace.asRelativePath(path.dirname(paths[0] ?? '')),
      paths,
    }));
    const chosen = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t('Recent recordings'),
      matchOnDescription: true,
    });
    if (chosen !== undefined) {
      await this.loadPaths(chosen.paths);
    }
  }

  /** Compares what is shown with a recording, or with the one before it. */
  async setBaseline(paths: string[] | undefined): Promise<void> {
    const options = {
      location: vscode.ProgressLocation.Notification,
      title: vscode.l10n.t('Comparing recordings'),
      cancellable: true,
    };
    await report(async () => {
      const { verdict } = await vscode.window.withProgress(options, (_, token) =>
        this.session.setBaseline(paths, token),
      );
      if (verdict !== null) {
        void vscode.window.showInformationMessage(verdict);
      }
    });
  }

  /** Shows the newest recording beside the one before it. */
  async compareNewest(): Promise<void> {
    await this.loadNewest();
    await this.setBaseline(undefined);
  }

  async unload(): Promise<void> {
    await this.session.unload();
  }

  private async choose(): Promise<vscode.Uri[] | undefined> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    return vscode.window.showOpenDialog({
      title: vscode.l10n.t('Load traces and memory snapshots of one run'),
      openLabel: vscode.l10n.t('Load'),
      canSelectMany: true,
      filters: {
        [vscode.l10n.t('Recordings')]: ['json', 'gz', 'zst', 'pickle', 'pkl'],
        [vscode.l10n.t('All files')]: ['*'],
      },
      ...(folder === undefined ? {} : { defaultUri: folder }),
    });
  }

  /** Loads these files, or the newest recording: of a folder, or of the one that is looked at. */
  async loadPaths(paths: string[] | undefined, folder?: string): Promise<void> {
    await report(() => this.session.loadRecording(paths, folder));
  }

  private recent(): string[][] {
    return this.memory.get<string[][]>(RECENT, []);
  }

  private remember(): void {
    const inputs = this.session.status?.inputs ?? [];
    // Side-cars are found again with the trace they belong to.
    const paths = inputs.filter((it) => it.kind !== 'callers').map((it) => it.path);
    const recent = this.recent();
    if (paths.length === 0 || JSON.stringify(recent[0]) === JSON.stringify(paths)) {
      return;
    }
    const others = recent.filter((it) => JSON.stringify(it) !== JSON.stringify(paths));
    void this.memory.update(RECENT, [paths, ...others].slice(0, N_RECENT));
  }
}

/** Does what may fail, and reports what the user does not know yet. */
async function report(work: () => Thenable<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (!(typeof code === 'number' && REPORTED.includes(code))) {
      void vscode.window.showErrorMessage(vscode.l10n.t('Perfline: {0}', messageOf(error)));
    }
  }
}
