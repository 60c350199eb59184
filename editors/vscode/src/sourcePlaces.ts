/** Where the source files of a recording are: the folder of those that were not found, and which one of several a file is. */

import * as vscode from 'vscode';

import type { LocatedSources, SourceChoice, SourceMapping, UncertainSources } from './api';
import type { Session } from './session';

/** Where the files are remembered of which the user was asked which one they are. */
const ASKED = 'perfline.askedSources';

export class SourcePlaces implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;
  private isAsking = false;
  /** The files of the recording of which it was looked last whether there is something to ask. */
  private looked = '';

  constructor(
    private readonly session: Session,
    private readonly memory: vscode.Memento,
  ) {
    this.subscription = session.onDidChange(() => void this.ask());
  }

  dispose(): void {
    this.subscription.dispose();
  }

  /** Asks for the folder of the files that were not found, and remembers it in the settings of the workspace. */
  async locateFolder(): Promise<void> {
    const sources = await this.sources();
    if (sources === undefined) {
      void vscode.window.showInformationMessage(vscode.l10n.t('No recording is loaded.'));
      return;
    }
    const [first, ...more] = sources.missing;
    const files =
      first === undefined ? '' : more.length === 0 ? first : vscode.l10n.t('{0} and {1} more', first, more.length);
    const [folder] =
      (await vscode.window.showOpenDialog({
        canSelectFiles: false,
        canSelectFolders: true,
        openLabel: vscode.l10n.t('Locate'),
        title: files === '' ? vscode.l10n.t('Folder of the sources') : vscode.l10n.t('Folder of {0}', files),
      })) ?? [];
    if (folder === undefined) {
      return;
    }
    try {
      const args = { folder: folder.fsPath };
      const { mapping, root } = await this.session.server.request<LocatedSources>('perfline.locate', args);
      await remember(root, [mapping]);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      void vscode.window.showErrorMessage(vscode.l10n.t('The sources were not located: {0}.', reason));
    }
  }

  /** Lets the user say which files those are that may be several. */
  async chooseSources(): Promise<void> {
    const sources = await this.sources();
    const chosen: SourceMapping[] = [];
    for (const choice of sources?.ambiguous ?? []) {
      // What was chosen of one folder may say it of other files.
      if (chosen.some((it) => choice.recorded.startsWith(`${it.recorded}/`))) {
        continue;
      }
      const mapping = await pick(choice);
      if (mapping === undefined) {
        break;
      }
      chosen.push(mapping);
    }
    if (sources !== undefined && chosen.length > 0) {
      await remember(sources.root, chosen);
    }
  }

  /** Where it is not certain which files were recorded: asks once. */
  private async ask(): Promise<void> {
    const uncertain = this.session.status?.sources;
    // What would be answered does not count in Restricted Mode.
    if (this.isAsking || uncertain === undefined || !vscode.workspace.isTrusted) {
      return;
    }
    const recording = this.session.status?.inputs.map((it) => it.path).join('\n') ?? '';
    if (recording === this.looked) {
      return;
    }
    const isLost = uncertain.missing > 0 && uncertain.found + uncertain.edited === 0;
    if (uncertain.ambiguous === 0 && !isLost) {
      return;
    }
    this.looked = recording;
    this.isAsking = true;
    try {
      const sources = await this.sources();
      const choice = sources?.ambiguous[0];
      if (choice !== undefined) {
        await this.once(choice.recorded, () => this.askWhich(choice));
      } else if (isLost && sources?.missing[0] !== undefined) {
        const first = sources.missing[0];
        await this.once(first, () => this.askWhere(first));
      }
    } finally {
      this.isAsking = false;
    }
  }

  private async askWhich({ recorded, choices }: SourceChoice): Promise<void> {
    const names = choices.map((it) => vscode.workspace.asRelativePath(it.path)).join(', ');
    const choose = vscode.l10n.t('Choose…');
    const message = vscode.l10n.t(
      'Which file was recorded as {0}? Numbers are shown in the first of {1}.',
      recorded,
      names,
    );
    if ((await vscode.window.showInformationMessage(message, choose, vscode.l10n.t('Keep'))) === choose) {
      await this.chooseSources();
    }
  }

  private async askWhere(recorded: string): Promise<void> {
    const locate = vscode.l10n.t('Locate Folder…');
    const message = vscode.l10n.t(
      'No source file of the recording was found in the workspace: it names {0}.',
      recorded,
    );
    if ((await vscode.window.showWarningMessage(message, locate)) === locate) {
      await this.locateFolder();
    }
  }

  /** Asks of a file, unless that was done before. */
  private async once(recorded: string, ask: () => Promise<void>): Promise<void> {
    const asked = this.memory.get<string[]>(ASKED, []);
    if (!asked.includes(recorded)) {
      await this.memory.update(ASKED, [...asked, recorded]);
      await ask();
    }
  }

  private sources(): Promise<UncertainSources | undefined> {
    return this.session.server.ask<UncertainSources>('perfline.sources');
  }
}

async function pick({ recorded, choices }: SourceChoice): Promise<SourceMapping | undefined> {
  const items = choices.flatMap(({ path, mapping }) =>
    mapping === null ? [] : [{ label: vscode.workspace.asRelativePath(path), mapping }],
  );
  const title = vscode.l10n.t('Which file was recorded as {0}?', recorded);
  return (await vscode.window.showQuickPick(items, { title }))?.mapping;
}

/** Writes where recorded folders are into the settings of the folder of the code; the server reads the recording again. */
async function remember(root: string, mappings: SourceMapping[]): Promise<void> {
  const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(root));
  const settings = vscode.workspace.getConfiguration('perfline', folder);
  const isOneOfSeveral = (vscode.workspace.workspaceFolders ?? []).length > 1;
  const known = settings.inspect<Record<string, string>>('sources.map');
  const before = isOneOfSeveral ? known?.workspaceFolderValue : known?.workspaceValue;
  const added = Object.fromEntries(mappings.map((it) => [it.recorded, it.folder]));
  const target = isOneOfSeveral ? vscode.ConfigurationTarget.WorkspaceFolder : vscode.ConfigurationTarget.Workspace;
  await settings.update('sources.map', { ...before, ...added }, target);
}
