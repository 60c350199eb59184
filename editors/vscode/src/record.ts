/** Records programs of the workspace: files, tests, and what configurations of `launch.json` run. */

import * as path from 'node:path';
import * as vscode from 'vscode';

import { functionAt } from './functions';
import { type LaunchConfiguration, environmentOf, isRecordable, namedPython, resolved, wordsOf } from './launch';
import { splitArguments, startOf } from './python';
import { importsTorch, isTestFile, testAt, testsOf } from './pytests';
import { type Launch, type RecordedRuns, offer } from './recordedRuns';
import { messageOf } from './server';

/** Where the arguments are remembered that programs were recorded with, by path. */
const ARGUMENTS = 'perfline.arguments';

/** Where the program is remembered that was recorded last. */
const LAST = 'perfline.lastProgram';

/** A configuration of `launch.json`, whichever debugger it is for. */
type Configuration = vscode.DebugConfiguration & LaunchConfiguration & { configuration?: string };

export class Recorder implements vscode.CodeLensProvider, vscode.DebugConfigurationProvider, vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.emitter.event;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly runs: RecordedRuns,
    private readonly memory: vscode.Memento,
  ) {
    this.subscriptions = [
      vscode.languages.registerCodeLensProvider({ scheme: 'file', language: 'python' }, this),
      vscode.debug.registerDebugConfigurationProvider('perfline', this),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('perfline.record.lens')) {
          this.emitter.fire();
        }
      }),
    ];
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    if (!vscode.workspace.getConfiguration('perfline', document).get<boolean>('record.lens', true)) {
      return [];
    }
    const text = document.getText();
    const line = startOf(text);
    const ofProgram = {
      command: 'perfline.recordFile',
      title: vscode.l10n.t('$(record) Record with Perfline'),
      tooltip: vscode.l10n.t('Runs this program, records a few of its steps, and shows what its lines cost'),
      arguments: [document.uri],
    };
    const tests = isTestFile(nameOf(document.uri)) && importsTorch(text) ? testsOf(text) : [];
    return [
      ...(line === undefined ? [] : [new vscode.CodeLens(document.lineAt(line).range, ofProgram)]),
      ...tests.map((test) => {
        const ofTest = {
          command: 'perfline.recordTest',
          title: vscode.l10n.t('$(record) Record Test with Perfline'),
          tooltip: vscode.l10n.t('Runs this test with pytest, records it as a whole, and shows what its lines cost'),
          arguments: [document.uri, test.id],
        };
        return new vscode.CodeLens(document.lineAt(test.line).range, ofTest);
      }),
    ];
  }

  /** Records a file: the one that was clicked, or that of the active editor. */
  async record(clicked?: unknown): Promise<void> {
    const program = programOf(clicked);
    if (program === undefined) {
      void vscode.window.showErrorMessage(vscode.l10n.t('Open the Python file to record: the program that you run.'));
      return;
    }
    await this.recordProgram(program, () => []);
  }

  /** Records the calls of the function at the cursor: in this program, or in the one that was recorded last. */
  async recordFunction(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const file = programOf(undefined);
    const text = editor?.document.getText() ?? '';
    const name = functionAt(text, editor?.selection.active.line ?? 0);
    if (file === undefined || name === undefined) {
      void vscode.window.showErrorMessage(vscode.l10n.t('Put the cursor into the function to record.'));
      return;
    }
    const program = startOf(text) === undefined ? await this.programThatCalls(name) : file;
    if (program !== undefined) {
      const named = (folder: vscode.WorkspaceFolder) => `${path.relative(folder.uri.fsPath, file.fsPath)}:${name}`;
      await this.recordProgram(program, (folder) => ['--function', named(folder)]);
    }
  }

  /** The program that was recorded last; where there is none, the one that the user names. */
  private async programThatCalls(name: string): Promise<vscode.Uri | undefined> {
    const last = this.memory.get<string>(LAST);
    const known = last === undefined ? undefined : vscode.Uri.file(last);
    if (known !== undefined && vscode.workspace.getWorkspaceFolder(known) !== undefined) {
      return known;
    }
    const [chosen] =
      (await vscode.window.showOpenDialog({
        title: vscode.l10n.t('The program that calls {0}', name),
        openLabel: vscode.l10n.t('Record'),
        filters: { Python: ['py'] },
      })) ?? [];
    return chosen;
  }

  /** Records a program with its arguments, and with options of its own. */
  private async recordProgram(program: vscode.Uri, more: (folder: vscode.WorkspaceFolder) => string[]): Promise<void> {
    await this.runs.record(() =>
      this.launchOf(program, (folder) => {
        const options = vscode.workspace.getConfiguration('perfline', program).get<string[]>('record.options', []);
        const words = splitArguments(this.memory.get<Record<string, string>>(ARGUMENTS, {})[program.fsPath] ?? '');
        const script = path.relative(folder.uri.fsPath, program.fsPath);
        void this.memory.update(LAST, program.fsPath);
        return ['-m', 'perfline', 'record', ...options, ...more(folder), script, ...words];
      }),
    );
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

  /** Records a test: the one above which was clicked, or that the cursor is in. */
  async recordTest(clicked?: unknown, id?: unknown): Promise<void> {
    const file = programOf(clicked);
    const editor = vscode.window.activeTextEditor;
    const tests = editor === undefined ? [] : testsOf(editor.document.getText());
    const test = typeof id === 'string' ? id : testAt(tests, editor?.selection.active.line ?? 0)?.id;
    if (file === undefined || test === undefined) {
      void vscode.window.showErrorMessage(
        vscode.l10n.t('Put the cursor into the test to record: a function or a method whose name begins with “test”.'),
      );
      return;
    }
    await this.runs.record(() =>
      this.launchOf(
        file,
        (folder) => {
          const node = `${path.relative(folder.uri.fsPath, file.fsPath)}::${test}`;
          return ['-m', 'pytest', '-p', 'perfline.pytest', node];
        },
        test,
      ),
    );
  }

  /** Asks for a configuration of `launch.json`, and records what it runs. */
  async recordConfiguration(): Promise<void> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    const items = folders.flatMap((folder) =>
      configurationsOf(folder)
        .filter(isRecordable)
        .map((configuration) => ({
          label: configuration.name,
          description: folders.length > 1 ? folder.name : '',
          detail: configuration.program ?? configuration.module ?? configuration.configuration ?? '',
          folder,
          configuration,
        })),
    );
    if (items.length === 0) {
      await offer(
        vscode.l10n.t('No configuration of launch.json runs a Python program.'),
        vscode.l10n.t('Open launch.json'),
        'workbench.action.debug.configure',
      );
      return;
    }
    const title = vscode.l10n.t('The launch configuration to record');
    const chosen = await vscode.window.showQuickPick(items, { title, matchOnDetail: true });
    if (chosen !== undefined) {
      // VS Code replaces variables, asks for inputs and runs the task before, and gives what comes of it to this debugger.
      await vscode.debug.startDebugging(chosen.folder, { ...chosen.configuration, type: 'perfline' });
    }
  }

  provideDebugConfigurations(): vscode.DebugConfiguration[] {
    return [{ type: 'perfline', request: 'launch', name: vscode.l10n.t('Record Current File'), program: '${file}' }];
  }

  /** Takes over what the configuration that it names says; without any, the program of the active editor. */
  resolveDebugConfiguration(
    folder: vscode.WorkspaceFolder | undefined,
    configuration: Configuration,
  ): vscode.DebugConfiguration | undefined {
    const isEmpty = Object.keys(configuration).every((it) => it === 'type' || it.startsWith('__'));
    try {
      return isEmpty ? this.provideDebugConfigurations()[0] : resolved(configuration, configurationsOf(folder));
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t('Perfline: {0}', messageOf(error)));
      return undefined;
    }
  }

  /** Records what the configuration runs. There is nothing to debug. */
  resolveDebugConfigurationWithSubstitutedVariables(
    folder: vscode.WorkspaceFolder | undefined,
    configuration: Configuration,
  ): undefined {
    void this.runs.record(() => this.launchOfConfiguration(folder, configuration));
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.emitter).dispose();
  }

  /** How a file is run; nothing where it cannot be, after it was said why. */
  private async launchOf(
    file: vscode.Uri,
    args: (folder: vscode.WorkspaceFolder) => string[],
    name = nameOf(file),
  ): Promise<Launch | undefined> {
    if (!(await this.runs.isTrusted())) {
      return undefined;
    }
    const folder = vscode.workspace.getWorkspaceFolder(file);
    if (folder === undefined) {
      await offer(
        vscode.l10n.t('Open the folder of {0} first: its recording is written to it.', nameOf(file)),
        vscode.l10n.t('Open Folder…'),
        'workbench.action.files.openFolder',
      );
      return undefined;
    }
    const document = vscode.workspace.textDocuments.find((it) => it.uri.toString() === file.toString());
    if (document?.isDirty === true && !(await document.save())) {
      return undefined;
    }
    const python = await this.runs.pythonOf(path.dirname(file.fsPath), folder, file);
    const key = `${file.fsPath} ${name}`;
    return python && { name, key, folder, cwd: folder.uri.fsPath, python, args: args(folder) };
  }

  private async launchOfConfiguration(
    of: vscode.WorkspaceFolder | undefined,
    configuration: Configuration,
  ): Promise<Launch | undefined> {
    const folder = of ?? vscode.workspace.workspaceFolders?.[0];
    if (folder === undefined || !(await this.runs.isTrusted())) {
      return undefined;
    }
    const { name } = configuration;
    const root = folder.uri.fsPath;
    const cwd = path.resolve(root, configuration.cwd ?? '');
    const [named, ...before] = namedPython(configuration);
    const python =
      named === undefined ? await this.runs.pythonOf(cwd, folder) : { path: named, from: 'setting' as const };
    if (python === undefined) {
      return undefined;
    }
    const options = vscode.workspace.getConfiguration('perfline', folder).get<string[]>('record.options', []);
    // Recordings are found in the folder that is open, wherever the program runs.
    const into = cwd === root ? [] : ['--folder', path.join(root, 'perfline-runs')];
    const words = wordsOf(configuration, python.path);
    return {
      name,
      key: `${root} ${name}`,
      folder,
      cwd,
      python,
      args: [...before, '-m', 'perfline', 'record', ...into, ...options, ...words],
      env: environmentOf(configuration),
    };
  }
}

/** The configurations that hold in a folder. */
function configurationsOf(folder: vscode.WorkspaceFolder | undefined): Configuration[] {
  return vscode.workspace.getConfiguration('launch', folder).get<Configuration[]>('configurations', []);
}

/** What was clicked, or else the file of the active editor. */
function programOf(clicked: unknown): vscode.Uri | undefined {
  if (clicked instanceof vscode.Uri) {
    return clicked;
  }
  const document = vscode.window.activeTextEditor?.document;
  return document?.languageId === 'python' && document.uri.scheme === 'file' ? document.uri : undefined;
}

function nameOf(program: vscode.Uri): string {
  return path.basename(program.fsPath);
}
