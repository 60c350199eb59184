/** Runs what is recorded in a terminal, and shows its numbers. */

import { execFile } from 'node:child_process';
import * as vscode from 'vscode';

import type { FoundRecordings } from './api';
import { hottestLine } from './hottestLine';
import { findOnPath, thisMachine } from './locate';
import { type Python, pythonOf } from './python';
import type { Recordings } from './recordings';
import { reveal } from './reveal';
import { selectedPython } from './selectedPython';
import { messageOf } from './server';
import type { Session } from './session';

/** What a recording consists of is written within this time. */
const AFTER_CHANGE_MS = 1000;
const TRACES = '**/*.pt.trace.json.gz';

/** What is recorded, and how it is started. */
export interface Launch {
  /** As messages name it. */
  name: string;
  /** What is not recorded twice at a time. */
  key: string;
  folder: vscode.WorkspaceFolder;
  /** The folder that it is started in. */
  cwd: string;
  python: Python;
  /** What Python is given. */
  args: string[];
  env?: Record<string, string>;
}

/** A program that is recorded now. */
interface Run {
  name: string;
  /** When it was started, in milliseconds since 1970. */
  since: number;
  /** The editor that was active then: who works elsewhere by now is not taken away from there. */
  editor: vscode.TextEditor | undefined;
  /** The files of its recording that are shown. */
  shown: string[];
}

export class RecordedRuns {
  private readonly running = new Set<string>();

  constructor(
    private readonly session: Session,
    private readonly recordings: Recordings,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** Runs and records what `prepare` makes, unless that is recorded now; nothing where it makes nothing, after it said why. */
  async record(prepare: () => Promise<Launch | undefined>): Promise<void> {
    let key: string | undefined;
    try {
      const launch = await prepare();
      if (launch === undefined) {
        return;
      }
      if (this.running.has(launch.key)) {
        void vscode.window.showInformationMessage(
          vscode.l10n.t('{0} is being recorded. End it in its terminal to record it again.', launch.name),
        );
        return;
      }
      key = launch.key;
      this.running.add(key);
      this.log.info(`recording ${launch.name} with ${launch.python.path} (${launch.python.from})`);
      if (await this.hasPackage(launch.python, launch.folder)) {
        await this.run(launch);
      }
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t('Perfline: {0}', messageOf(error)));
    } finally {
      if (key !== undefined) {
        this.running.delete(key);
      }
    }
  }

  /** Whether programs of the workspace may be run; where not, after it said so. */
  async isTrusted(): Promise<boolean> {
    if (!vscode.workspace.isTrusted) {
      await offer(
        vscode.l10n.t('Recording runs the program, which Restricted Mode does not allow.'),
        vscode.l10n.t('Manage Workspace Trust'),
        'workbench.trust.manage',
      );
    }
    return vscode.workspace.isTrusted;
  }

  /** The Python for a program in a folder; nothing where there is none, after it said so. */
  async pythonOf(
    programFolder: string,
    folder: vscode.WorkspaceFolder,
    resource: vscode.Uri = folder.uri,
  ): Promise<Python | undefined> {
    const python = pythonOf({
      setting: vscode.workspace.getConfiguration('perfline', resource).get('record.python', ''),
      selected: await selectedPython(resource, this.log),
      programFolder,
      workspaceFolder: folder.uri.fsPath,
      ...thisMachine(),
    });
    if (python === undefined) {
      await offer(
        vscode.l10n.t('No Python was found. Name one in the setting perfline.record.python.'),
        vscode.l10n.t('Open Settings'),
        'workbench.action.openSettings',
        'perfline.record.python',
      );
    }
    return python;
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
    const status = await runInTerminal(vscode.l10n.t('Install perfline'), folder, command, args, { cwd });
    if (status !== 0) {
      throw new Error(vscode.l10n.t('perfline was not installed; the terminal says why.'));
    }
    return true;
  }

  private async run({ name, folder, cwd, python, args, env }: Launch): Promise<void> {
    const run: Run = { name, since: Date.now(), editor: vscode.window.activeTextEditor, shown: [] };
    // The program may go on for hours after its recording was written.
    let timer: NodeJS.Timeout | undefined;
    const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(folder, TRACES));
    const written = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => void this.show(run), AFTER_CHANGE_MS);
    };
    watcher.onDidCreate(written);
    watcher.onDidChange(written);
    const progress = { location: vscode.ProgressLocation.Window, title: vscode.l10n.t('Recording {0}', name) };
    let status: number | undefined;
    try {
      const options = env === undefined ? { cwd } : { cwd, env };
      status = await vscode.window.withProgress(progress, () =>
        runInTerminal(vscode.l10n.t('Record {0}', name), folder, python.path, args, options),
      );
    } finally {
      clearTimeout(timer);
      watcher.dispose();
    }
    await this.show(run);
    if (run.shown.length === 0) {
      void vscode.window.showErrorMessage(
        vscode.l10n.t('{0} ended, and nothing was recorded. The terminal says why.', name),
      );
    } else if (status !== 0) {
      void vscode.window.showWarningMessage(
        vscode.l10n.t('{0} failed or was ended. What was recorded until then is shown.', name),
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
    const hottest = isFirst ? await hottestLine(this.session.server) : undefined;
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
      run.name,
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
}

/** Runs a command in a terminal of its own, and returns its exit status; nothing where it was not even started. */
async function runInTerminal(
  name: string,
  folder: vscode.WorkspaceFolder,
  command: string,
  args: string[],
  options: vscode.ProcessExecutionOptions,
): Promise<number | undefined> {
  const process = new vscode.ProcessExecution(command, args, options);
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
export async function offer(message: string, button: string, command: string, ...args: unknown[]): Promise<void> {
  if ((await vscode.window.showWarningMessage(message, button)) === button) {
    await vscode.commands.executeCommand(command, ...args);
  }
}

function lastLine(text: string): string {
  return text.split('\n').at(-1) ?? text;
}
