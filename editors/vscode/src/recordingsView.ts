/** The Recordings view: what was recorded in the workspace, newest first, and what can be done with it. */

import * as path from 'node:path';
import * as vscode from 'vscode';

import type { FoundRecording, FoundRecordings } from './api';
import { factsOf, knownOnceShown } from './recordingText';
import type { Recordings } from './recordings';
import { RefreshedTree } from './refreshedTree';
import { messageOf } from './server';
import type { Session } from './session';

/** Programs write a recording for a while. */
const AFTER_CHANGE_MS = 2000;
const FILES = '**/*.{json,gz,zst,pickle,pkl,perfline}';

export class RecordingsView extends RefreshedTree<FoundRecording> {
  private readonly tree: vscode.TreeView<FoundRecording>;

  constructor(
    private readonly session: Session,
    private readonly recordings: Recordings,
  ) {
    super();
    this.tree = vscode.window.createTreeView('perfline.recordingsView', { treeDataProvider: this });
    const watcher = vscode.workspace.createFileSystemWatcher(FILES);
    const changed = () => this.refresh(AFTER_CHANGE_MS);
    this.owns(
      this.tree,
      watcher,
      watcher.onDidCreate(changed),
      watcher.onDidChange(changed),
      watcher.onDidDelete(changed),
      session.onDidChange(() => this.refresh()),
      this.tree.onDidChangeVisibility(() => this.refresh()),
    );
  }

  async load({ paths }: FoundRecording): Promise<void> {
    await this.recordings.loadPaths(paths);
  }

  async setBaseline({ paths }: FoundRecording): Promise<void> {
    await this.recordings.setBaseline(paths);
  }

  async reveal({ paths }: FoundRecording): Promise<void> {
    const [file] = paths;
    if (file !== undefined) {
      await vscode.commands.executeCommand('revealInExplorer', vscode.Uri.file(file));
    }
  }

  /** Moves the files of a recording to the trash, or deletes them where there is none; asks before. */
  async delete({ name, paths, beside, folder, pinned }: FoundRecording): Promise<void> {
    const files = [...paths, ...beside].map((it) => vscode.Uri.file(it));
    const detail = files.map((it) => vscode.workspace.asRelativePath(it)).join('\n');
    const isSure = async (question: string, answer: string) =>
      (await vscode.window.showWarningMessage(question, { modal: true, detail }, answer)) === answer;
    if (!(await isSure(vscode.l10n.t('Delete the recording {0}?', name), vscode.l10n.t('Move to Trash')))) {
      return;
    }
    try {
      await removeAll(files, true);
    } catch {
      const question = vscode.l10n.t('{0} cannot be moved to the trash here. Delete it for good?', name);
      if (!(await isSure(question, vscode.l10n.t('Delete')))) {
        return;
      }
      try {
        await removeAll(files, false);
      } catch (error) {
        void vscode.window.showErrorMessage(vscode.l10n.t('Perfline: {0}', messageOf(error)));
      }
    }
    if (pinned) {
      await this.recordings.loadPaths(undefined, folder);
    }
    this.refresh();
  }

  async getChildren(node?: FoundRecording): Promise<FoundRecording[]> {
    if (node !== undefined) {
      return [];
    }
    const found = await this.session.server.ask<FoundRecordings>('perfline.recordings');
    const { status } = this.session;
    const newest = found?.recordings.find((it) => it.folder === status?.folder);
    const newer = found?.mode === 'named' && newest?.loaded === false ? newest.name : undefined;
    this.tree.message =
      newer === undefined ? '' : vscode.l10n.t('A newer recording than the one that is shown: {0}', newer);
    return found?.recordings ?? [];
  }

  getTreeItem(recording: FoundRecording): vscode.TreeItem {
    const { name, paths, loaded, pinned: isPinned, modified } = recording;
    const item = new vscode.TreeItem(nameOf(recording));
    const isBaseline = this.session.status?.baseline?.paths.join() === paths.join();
    const facts = [
      ...(isBaseline ? [vscode.l10n.t('baseline')] : []),
      whenText(new Date(modified)),
      ...factsOf(recording),
    ];
    item.description = facts.join(' · ');
    const icon = isPinned ? 'pinned' : loaded ? 'check' : isBaseline ? 'git-compare' : 'history';
    item.iconPath = loaded
      ? new vscode.ThemeIcon(icon, new vscode.ThemeColor('list.highlightForeground'))
      : new vscode.ThemeIcon(icon);
    const state = isPinned
      ? [vscode.l10n.t('Shown until another one is chosen, also after the window is loaded again.')]
      : loaded
        ? [vscode.l10n.t('Shown; the newest recording takes its place.')]
        : [];
    const lines = [
      ...paths.map((it) => vscode.workspace.asRelativePath(it)),
      `${recording.kinds.join(', ')} · ${new Date(modified).toLocaleString()}`,
      ...knownOnceShown(recording),
      ...state,
    ];
    item.tooltip = lines.join('\n');
    item.accessibilityInformation = { label: [name, ...facts, ...state].join(', ') };
    item.id = paths.join('\n');
    item.contextValue = isPinned ? 'recordingPinned' : loaded ? 'recordingLoaded' : 'recording';
    if (isBaseline) {
      item.contextValue += 'Baseline';
    }
    if (!loaded) {
      item.command = { command: 'perfline.showRecording', title: '', arguments: [recording] };
    }
    return item;
  }
}

async function removeAll(files: vscode.Uri[], useTrash: boolean): Promise<void> {
  for (const file of files) {
    await vscode.workspace.fs.delete(file, { useTrash });
  }
}

/** With its folder where there are several. */
function nameOf({ name, folder }: FoundRecording): string {
  const isOnly = (vscode.workspace.workspaceFolders ?? []).length < 2;
  return isOnly ? name : `${path.basename(folder)}/${name}`;
}

/** The time of today, else the day and the time. */
function whenText(date: Date): string {
  const time = date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? time : `${date.toLocaleDateString([], { day: 'numeric', month: 'short' })} ${time}`;
}
