/** Records a program of the workspace with `perfline record`, in a terminal, and shows its numbers. */

import { execFile } from 'node:child_process';
import * as path from 'node:path';
import * as vscode from 'vscode';

import type { FoundRecordings, HotLine, HotLines } from './api';
import { findOnPath, thisMachine } from './locate';
import { type Python, pythonOf, splitArguments, startOf } from './python';
import type { Recordings } from './recordings';
import { reveal } from './reveal';
import { messageOf } from './server';
import type { Session } from './session';

/** Where the arguments are remembered that programs were recorded with, by path. */
const ARGUMENTS = 'perfline.arguments';
/** What a recording consists of is written within this time. */
const AFTER_CHANGE_MS = 1000;
const TRACES = '**/*.pt.trace.json.gz';

/** The part of the Python extension's interface that is used (`@vscode/python-extension`). */
interface PythonExtension {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { id: string; path: string };
    resolveEnvironment(environment: object): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

/** A program that is recorded now. */
interface Run {
  program: vscode.Uri;
  /** When it was started, in milliseconds since 1970. */
  since: number;
  /** The editor that was active then: who works elsewhere by now is not taken away from there. */
  editor: vscode.TextEditor | undefined;
  /** The files of its recording that are shown. */
  shown: string[];
}

export class Recorder implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.emitter.event;
  private readonly running = new Set<string>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly session: Session,
    private readonly recordings: Recordings,
    private readonly memory: vscode.Memento,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.subscriptions = [
      vscode.languages.registerCodeLensProvider({ scheme: 'file', language: 'python' }, this),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('perfline.record.lens')) {
          this.emitter.fire();
        }
      }),
    ];
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const isWanted = vscode.workspace.getConfiguration('perfline', document).get<boolean>('record.lens', true);
    const line = isWanted ? startOf(document.getText()) : undefined;
    if (line === undefined) {
      return [];
    }
    const command = {
      command: 'perfline.recordFile',
      title: vscode.l10n.t('$(record) Record with Perfline'),
      tooltip: vscode.l10n.t('Runs this program, records a few of its steps, and shows what its lines cost'),
      arguments: [document.uri],
    };
    return [new vscode.CodeLens(document.lineAt(line).range, command)];
  }

  /** Records a file: the one that was clicked, or that of the active editor. */
  async record(clicked?: unknown): Promise<void> {
    const program = programOf(clicked);
    if (program === undefined) {
      void vscode.window.showErrorMessage(vscode.l10n.t('Open the Python file to record: the program that you run.'));
      return;
    }
    if (this.running.has(program.fsPath)) {
      void vscode.window.showInformationMessage(
        vscode.l10n.t('{0} is being recorded. End it in its terminal to record it again.', nameOf(program)),
      );
      return;
    }
    this.running.add(program.fsPath);
    try {
      await this.start(program);
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t('Perfline: {0}', messageOf(error)));
    } finally {
      this.running.delete(program.fsPath);
    }
  }

  /** The same after a question for the arguments of the program, which are remembered. */
  async recordWithArguments(clicked?: unknown): Promise<void> {
    const program = programOf(clicked);
    if (program === undefined) {
      await this.record(clicked);
      return;
    }
    const known = this.memory.get<Record<string, string>>(ARGUMENTS, {});
    const text = await vscode.window.showInputBox({
      title: vscode.l10n.t('Arguments of {0}', nameOf(program)),
      prompt: vscode.l10n.t('As in a shell, with quotes; they are remembered for this file.'),
      placeHolder: '--epochs 1',
      value: known[program.fsPath] ?? '',
    });
    if (text !== undefined) {
      await this.memory.update(ARGUMENTS, { ...known, [program.fsPath]: text });
      await this.record(program);
    }
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.emitter).dispose();
  }

  private async start(program: vscode.Uri): Promise<void> {
    if (!vscode.workspace.isTrusted) {
      await offer(
        vscode.l10n.t('Recording runs the program, which Restricted Mode does not allow.'),
        vscode.l10n.t('Manage Workspace Trust'),
        'workbench.trust.manage',
      );
      return;
    }
    const folder = vscode.workspace.getWorkspaceFolder(program);
    if (folder === undefined) {
      await offer(
        vscode.l10n.t('Open the folder of {0} first: its recording is written to it.', nameOf(program)),
        vscode.l10n.t('Open Folder…'),
        'workbench.action.files.openFolder',
      );
      return;
    }
    const document = vscode.workspace.textDocuments.find((it) => it.uri.toString() === program.toString());
    if (document?.isDirty === true && !(await document.save())) {
      return;
    }
    const python = await this.pythonOf(program, folder);
    if (python === undefined) {
      await offer(
        vscode.l10n.t('No Python was found. Name one in the setting perfline.record.python.'),
        vscode.l10n.t('Open Settings'),
        'workbench.action.openSettings',
        'perfline.record.python',
      );
      return;
    }
    this.log.info(`recording ${program.fsPath} with ${python.path} (${python.from})`);
    if (await this.hasPackage(python, folder)) {
      await this.run(program, python, folder);
    }
  }

  private async pythonOf(program: vscode.Uri, folder: vscode.WorkspaceFolder): Promise<Python | undefined> {
    return pythonOf({
      setting: vscode.workspace.getConfiguration('perfline', program).get('record.python', ''),
      selected: await this.selectedPython(program),
      programFolder: path.dirname(program.fsPath),
      workspaceFolder: folder.uri.fsPath,
      ...thisMachine(),
    });
  }

  /** The interpreter that was chosen in the Python extension. */
  private async selectedPython(program: vscode.Uri): Promise<string | undefined> {
    const extension = vscode.extensions.getExtension<Partial<PythonExtension>>('ms-python.python');
    try {
      const environments = (await extension?.activate())?.environments;
      const environment = environments?.getActiveEnvironmentPath(program);
      const resolved = environment && (await environments?.resolveEnvironment(environment));
      return resolved?.executable.uri?.fsPath;
    } catch (error) {
      this.log.warn(`the Python extension does not say which interpreter is chosen: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** Whether this Python can record; where it lacks the package, after it was offered to install it. */
  private async hasPackage(python: Python, folder: vscode.WorkspaceFolder): Promise<boolean> {
    const cwd = folder.uri.fsPath;
    const failure = await failureOf(python.path, ['-m', 'perfline', 'record', '--help'], cwd);
    if (failure === undefined) {
      return true;
    }
    if (!failure.includes('No module named')) {
      throw new Error(vscode.l10n.t('{0} cannot record: {1}', python.path, lastLine(failure)));
    }
    const install = vscode.l10n.t('Install');
    const detail = vscode.l10n.t('{0} needs the package `perfline` to record.', python.path);
    const question = vscode.l10n.t('Install the Python package perfline?');
    if ((await vscode.window.showInformationMessage(question, { modal: true, detail }, install)) !== install) {
      return false;
    }
    // An environment of uv has no pip.
    const uv = findOnPath(process.platform === 'win32' ? 'uv.exe' : 'uv', thisMachine());
    const hasPip = (await failureOf(python.path, ['-m', 'pip', '--version'], cwd)) === undefined;
    const [command, ...args] =
      hasPip || uv === undefined
        ? [python.path, '-m', 'pip', 'install', 'perfline']
        : [uv, 'pip', 'install', '--python', python.path, 'perfline'];
    const status = await runInTerminal(vscode.l10n.t('Install perfline'), folder, command, args);
    if (status !== 0) {
      throw new Error(vscode.l10n.t('perfline was not installed; the terminal says why.'));
    }
    return true;
  }

  private async run(program: vscode.Uri, python: Python, folder: vscode.WorkspaceFolder): Promise<void> {
    const run: Run = { program, since: Date.now(), editor: vscode.window.activeTextEditor, shown: [] };
    const options = vscode.workspace.getConfiguration('perfline', program).get<string[]>('record.options', []);
    const words = splitArguments(this.memory.get<Record<string, string>>(ARGUMENTS, {})[program.fsPath] ?? '');
    const script = path.relative(folder.uri.fsPath, program.fsPath);
    const args = ['-m', 'perfline', 'record', ...options, script, ...words];

    // The program may go on for hours after its recording was written.
    let timer: NodeJS.Timeout | undefined;
    const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(folder, TRACES));
    const written = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => void this.show(run), AFTER_CHANGE_MS);
    };
    watcher.onDidCreate(written);
    watcher.onDidChange(written);
    const progress = {
      location: vscode.ProgressLocation.Window,
      title: vscode.l10n.t('Recording {0}', nameOf(program)),
    };
    let status: number | undefined;
    try {
      status = await vscode.window.withProgress(progress, () =>
        runInTerminal(vscode.l10n.t('Record {0}', nameOf(program)), folder, python.path, args),
      );
    } finally {
      clearTimeout(timer);
      watcher.dispose();
    }
    await this.show(run);
    if (run.shown.length === 0) {
      void vscode.window.showErrorMessage(
        vscode.l10n.t('{0} ended, and nothing was recorded. The terminal says why.', nameOf(program)),
      );
    } else if (status !== 0) {
      void vscode.window.showWarningMessage(
        vscode.l10n.t('{0} failed or was ended. What was recorded until then is shown.', nameOf(program)),
      );
    }
  }

  /** Shows the recording of a run, once there is one, and goes to its hottest line. */
  private async show(run: Run): Promise<void> {
    const found = await this.session.server.ask<FoundRecordings>('perfline.recordings');
    const newest = found?.recordings.find((it) => it.modified >= run.since);
    if (newest === undefined || newest.paths.join('\n') === run.shown.join('\n')) {
      return;
    }
    const isFirst = run.shown.length === 0;
    run.shown = newest.paths;
    // The server follows the newest by itself, unless another one was chosen.
    if (!newest.loaded) {
      await this.recordings.loadNewest();
    }
    const hottest = isFirst ? await this.hottest() : undefined;
    if (hottest === undefined) {
      return;
    }
    if (vscode.window.activeTextEditor === run.editor) {
      await reveal(hottest);
      return;
    }
    const go = vscode.l10n.t('Go to Line');
    const { file, line, mark, text, shareText } = hottest;
    const message = vscode.l10n.t(
      '{0} was recorded. Its hottest line is {1}, with {2} ({3}).',
      nameOf(run.program),
      `${file}:${line}`,
      `${mark}${text}`,
      shareText,
    );
    void vscode.window.showInformationMessage(message, go).then((choice) => {
      if (choice === go) {
        void reveal(hottest);
      }
    });
  }

  private async hottest(): Promise<HotLine | undefined> {
    const hot = await this.session.server.ask<HotLines>('perfline.hotLines', { limit: 20, ownOnly: true });
    return hot?.lines.find((it) => it.value > 0 && it.uri != null && it.line != null);
  }
}

/** What was clicked, or else the file of the active editor. */
function programOf(clicked: unknown): vscode.Uri | undefined {
  if (clicked instanceof vscode.Uri) {
    return clicked;
  }
  const document = vscode.window.activeTextEditor?.document;
  return document?.languageId === 'python' && document.uri.scheme === 'file' ? document.uri : undefined;
}

/** Runs a command in a terminal of its own, and returns its exit status; nothing where it was not even started. */
async function runInTerminal(
  name: string,
  folder: vscode.WorkspaceFolder,
  command: string,
  args: string[],
): Promise<number | undefined> {
  const process = new vscode.ProcessExecution(command, args, { cwd: folder.uri.fsPath });
  const task = new vscode.Task({ type: 'process' }, folder, name, 'Perfline', process, []);
  task.presentationOptions = { panel: vscode.TaskPanelKind.Dedicated, clear: true, showReuseMessage: false };
  const subscriptions: vscode.Disposable[] = [];
  try {
    return await new Promise<number | undefined>((resolve, reject) => {
      let execution: vscode.TaskExecution | undefined;
      subscriptions.push(
        vscode.tasks.onDidEndTaskProcess((end) => {
          if (end.execution === execution) {
            resolve(end.exitCode);
          }
        }),
        vscode.tasks.onDidEndTask((end) => {
          if (end.execution === execution) {
            // Its process ended before, unless there was none.
            setTimeout(() => resolve(undefined), AFTER_CHANGE_MS);
          }
        }),
      );
      vscode.tasks.executeTask(task).then((it) => {
        execution = it;
      }, reject);
    });
  } finally {
    vscode.Disposable.from(...subscriptions).dispose();
  }
}

/** What a program says that fails; nothing where it succeeds. */
function failureOf(program: string, args: string[], cwd: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd, timeout: 60_000, windowsHide: true }, (error, _, stderr) => {
      resolve(error === null ? undefined : stderr.trim() || error.message);
    });
  });
}

/** Says what is in the way, with a button for a command that helps. */
async function offer(message: string, button: string, command: string, ...args: unknown[]): Promise<void> {
  if ((await vscode.window.showWarningMessage(message, button)) === button) {
    await vscode.commands.executeCommand(command, ...args);
  }
}

function lastLine(text: string): string {
  return text.split('\n').at(-1) ?? text;
}

function nameOf(program: vscode.Uri): string {
  return path.basename(program.fsPath);
}
