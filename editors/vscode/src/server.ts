/** Starts the server, reports what is wrong where it cannot be started, and starts it again when it dies. */

import { type ExecFileException, execFile } from 'node:child_process';
import * as path from 'node:path';
import * as vscode from 'vscode';
import {
  CloseAction,
  type CloseHandlerResult,
  CodeAction,
  CodeActionRequest,
  CodeLensRequest,
  type ErrorHandlerResult,
  ErrorAction,
  ExecuteCommandRequest,
  InlayHintRequest,
  type InlayHintsProviderShape,
  LanguageClient,
  MessageType,
  type Middleware,
  RevealOutputChannelOn,
  ShowMessageNotification,
  type ShowMessageParams,
  State,
  type StaticFeature,
  TransportKind,
} from 'vscode-languageclient/node';

import type { Status } from './api';
import { LoadProgress } from './progress';
import { areDecorations } from './hints';
import { type HoverPlace, isHovered } from './hoverPlace';
import { LensRefresh } from './lensRefresh';
import { type Located, locate, thisMachine } from './locate';
import { selectedPython } from './selectedPython';
import { isCompatible, parseVersion, versionText } from './version';

/** After so many deaths within the time below, the server is left alone: it would die again. */
const DEATHS = 5;
const DEATHS_WITHIN_MS = 3 * 60 * 1000;

/** Numbers do not wait longer for the Python extension to start. */
const PYTHON_WITHIN_MS = 1000;

/** What the server is asked about. */
const PYTHON = ['file', 'vscode-notebook-cell'].map((scheme) => ({ scheme, language: 'python' }));

/** What can be done about a finding. */
export interface OfferedAction {
  title: string;
  kind: string;
  /** Of the finding. */
  rule: string;
  edit: vscode.WorkspaceEdit;
}

export type ServerState = 'stopped' | 'starting' | 'running' | 'failed';

/** A fault that the user can do something about. */
class StartFailure extends Error {}

export class Server implements vscode.Disposable {
  private readonly stateEmitter = new vscode.EventEmitter<ServerState>();
  private readonly statusEmitter = new vscode.EventEmitter<Status>();
  readonly onDidChangeState = this.stateEmitter.event;
  /** What the server reports of itself after each load and change of view. */
  readonly onDidChangeStatus = this.statusEmitter.event;
  private readonly hintsEmitter = new vscode.EventEmitter<void>();
  /** Hints are other ones than before. */
  readonly onDidChangeHints = this.hintsEmitter.event;
  /** What the client has for inlay hints. */
  private inlayHints: InlayHintsProviderShape | undefined;
  private readonly lenses = new LensRefresh(PYTHON);
  /** What is done when a lens is clicked; its command is one of the server's. */
  onLens: (args: unknown[]) => unknown = () => undefined;
  /** What is done to explain a rule. */
  onExplain: (rule: string) => unknown = () => undefined;

  private client: LanguageClient | undefined;
  private current: ServerState = 'stopped';
  /** Whether the client has started: until then `launch` sees to its end. */
  private isUp = false;
  private deaths: number[] = [];
  /** Starts and stops are done one after the other. */
  private queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly context: vscode.ExtensionContext,
    readonly log: vscode.LogOutputChannel,
  ) {}

  get state(): ServerState {
    return this.current;
  }

  /** Starts the server, anew if it runs. */
  restart(): Promise<void> {
    return this.enqueue(async () => {
      this.deaths = [];
      await this.stop();
      await this.launch();
    });
  }

  /** Runs a command of the server. */
  async request<T>(command: string, args: object = {}, token?: vscode.CancellationToken): Promise<T> {
    if (this.client === undefined || this.current !== 'running') {
      throw new Error(vscode.l10n.t('The Perfline server is not running.'));
    }
    const params = { command, arguments: [args] };
    return (await this.client.sendRequest(ExecuteCommandRequest.type, params, token)) as T;
  }

  /** The same for what is only looked at: nothing where the server cannot answer now. */
  async ask<T>(command: string, args: object = {}, token?: vscode.CancellationToken): Promise<T | undefined> {
    try {
      return (await this.request<T | null>(command, args, token)) ?? undefined;
    } catch (error) {
      this.log.debug(`${command}: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** The hints of a file; none where the server cannot answer now. */
  async hints(document: vscode.TextDocument): Promise<vscode.InlayHint[]> {
    const { client } = this;
    if (client === undefined || this.current !== 'running') {
      return [];
    }
    const inlayHints = client.getFeature(InlayHintRequest.method).getProvider(document);
    if (inlayHints !== this.inlayHints) {
      this.inlayHints = inlayHints;
      inlayHints?.onDidChangeInlayHints.event(() => this.hintsEmitter.fire());
    }
    try {
      const range = { start: { line: 0, character: 0 }, end: { line: document.lineCount, character: 0 } };
      const textDocument = client.code2ProtocolConverter.asTextDocumentIdentifier(document);
      const hints = await client.sendRequest(InlayHintRequest.type, { textDocument, range });
      return (await client.protocol2CodeConverter.asInlayHints(hints)) ?? [];
    } catch (error) {
      this.log.debug(`hints: ${messageOf(error)}`);
      return [];
    }
  }

  /** Has hints asked for again, and drawn in the way that is set now. */
  refreshHints(): void {
    this.inlayHints?.onDidChangeInlayHints.fire();
  }

  /** The edits of a kind that are offered at a position of an open document. */
  async codeActions(uri: vscode.Uri, at: vscode.Position, kind: string): Promise<OfferedAction[]> {
    const { client } = this;
    if (client === undefined || this.current !== 'running') {
      return [];
    }
    const position = { line: at.line, character: at.character };
    const actions = await client.sendRequest(CodeActionRequest.type, {
      textDocument: { uri: client.code2ProtocolConverter.asUri(uri) },
      range: { start: position, end: position },
      context: { diagnostics: [], only: [kind] },
    });
    const offered = (actions ?? []).map(async (action) => {
      const edit = CodeAction.is(action) ? await client.protocol2CodeConverter.asWorkspaceEdit(action.edit) : undefined;
      if (edit === undefined || !CodeAction.is(action)) {
        return [];
      }
      return [
        { title: action.title, kind: action.kind ?? '', rule: String(action.diagnostics?.[0]?.code ?? ''), edit },
      ];
    });
    return (await Promise.all(offered)).flat();
  }

  async dispose(): Promise<void> {
    await this.enqueue(() => this.stop());
    this.lenses.dispose();
    this.stateEmitter.dispose();
    this.statusEmitter.dispose();
    this.hintsEmitter.dispose();
  }

  private enqueue(work: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(work);
    return this.queue;
  }

  private become(state: ServerState): void {
    if (this.current !== state) {
      this.current = state;
      this.stateEmitter.fire(state);
    }
  }

  private async stop(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    this.become('stopped');
    try {
      await client?.dispose();
    } catch (error) {
      this.log.warn(`stopping the server: ${messageOf(error)}`);
    }
  }

  /** Starts a server with a client of its own: the library's way to start a client again fails where that start fails. */
  private async launch(): Promise<void> {
    this.become('starting');
    this.isUp = false;
    try {
      const { located, version } = await this.find();
      this.log.info(`server ${version}: ${located.path} (${located.from})`);
      const client = this.clientOf(located);
      this.client = client;
      await client.start();
      this.isUp = true;
      if (!client.isRunning()) {
        this.died();
      }
    } catch (error) {
      if (error instanceof StartFailure) {
        this.fail(error.message);
      } else if (this.deaths.length === 0) {
        this.fail(notStarted(messageOf(error)));
      } else {
        this.died();
      }
    }
  }

  /** The server to start, and its version. That of a Python environment, which nobody named, may not fit: then the next one. */
  private async find(): Promise<{ located: Located; version: string }> {
    const python = await this.python();
    const located = this.locate(python);
    if (located.from !== 'environment') {
      return { located, version: await this.versionOf(located) };
    }
    try {
      return { located, version: await this.versionOf(located) };
    } catch (error) {
      this.log.warn(`the server of the Python environment is passed over: ${messageOf(error)}`);
      const next = this.locate(undefined);
      return { located: next, version: await this.versionOf(next) };
    }
  }

  /** The interpreter that was chosen for the workspace, unless a program is named or those of the workspace may not be run. */
  private async python(): Promise<string | undefined> {
    if (!vscode.workspace.isTrusted || serverSetting().trim() !== '') {
      return undefined;
    }
    const chosen = selectedPython(vscode.workspace.workspaceFolders?.[0]?.uri, this.log);
    const late = new Promise<undefined>((resolve) => {
      setTimeout(() => resolve(undefined), PYTHON_WITHIN_MS);
    });
    return Promise.race([chosen, late]);
  }

  private locate(python: string | undefined): Located {
    const located = locate({
      setting: serverSetting(),
      python,
      extensionFolder: this.context.extensionPath,
      workspaceFolder: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
      ...thisMachine(),
    });
    if (located === undefined) {
      throw new StartFailure(
        vscode.l10n.t(
          'The Perfline server was not found: this build of the extension comes without one, and there is no `perfline` in the Python environment of the workspace or on the PATH. Install it (`cargo install --path server` in a clone of Perfline) or name it in the setting perfline.server.path.',
        ),
      );
    }
    return located;
  }

  private async versionOf(located: Located): Promise<string> {
    const output = await new Promise<string>((resolve, reject) => {
      execFile(located.path, ['--version'], { timeout: 10_000, windowsHide: true }, (error, stdout) => {
        if (error === null) {
          resolve(stdout);
        } else {
          reject(new StartFailure(this.refusal(located, error)));
        }
      });
    });
    const version = parseVersion(output);
    if (version === undefined) {
      throw new StartFailure(
        vscode.l10n.t('{0} is not a Perfline server. Correct the setting perfline.server.path.', located.path),
      );
    }
    const manifest = this.context.extension.packageJSON as { version: string };
    const own = parseVersion(`perfline ${manifest.version}`);
    if (own !== undefined && !isCompatible(version, own)) {
      throw new StartFailure(
        vscode.l10n.t(
          'The Perfline server at {0} has version {1}, but this extension needs {2}. Update whichever is older.',
          located.path,
          versionText(version),
          `${own.major}.${own.minor}`,
        ),
      );
    }
    return versionText(version);
  }

  private refusal({ path }: Located, error: Pick<ExecFileException, 'code' | 'message'>): string {
    if (error.code === 'ENOENT') {
      return vscode.l10n.t('There is no Perfline server at {0}. Correct the setting perfline.server.path.', path);
    }
    if (error.code === 'EACCES') {
      return vscode.l10n.t('{0} cannot be run: it is not an executable file.', path);
    }
    return vscode.l10n.t('{0} is not a Perfline server that runs here: {1}', path, error.message.split('\n')[0] ?? '');
  }

  private clientOf(located: Located): LanguageClient {
    const run = { command: located.path, args: ['lsp'], transport: TransportKind.stdio };
    const client: LanguageClient = new LanguageClient('perfline', 'Perfline', run, {
      documentSelector: PYTHON,
      outputChannel: this.log,
      // What the user has to know is shown as a message, with what to do.
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      // Without it the client does not say that settings have changed, unless the server registers for that.
      // eslint-disable-next-line @typescript-eslint/no-deprecated
      synchronize: { configurationSection: 'perfline' },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: (): ErrorHandlerResult => ({ action: ErrorAction.Continue, handled: true }),
        closed: (): CloseHandlerResult => {
          if (client === this.client && this.isUp) {
            this.died();
          }
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      middleware: this.middleware(() => client),
    });
    client.registerFeature(announced);
    client.onNotification(ShowMessageNotification.type, (params) => this.showMessage(params));
    client.onNotification('perfline/status', (status: Status) => this.statusEmitter.fire(status));
    client.onDidChangeState(({ newState }) => {
      if (client === this.client && newState === State.Running) {
        this.become('running');
      } else if (client === this.client && newState === State.Starting) {
        this.become('starting');
      }
    });
    return client;
  }

  private middleware(client: () => LanguageClient): Middleware {
    const progress = new LoadProgress(client);
    return {
      executeCommand: (command, args, next): unknown => {
        switch (command) {
          case 'perfline.hotLines':
            return this.onLens(args);
          case 'perfline.explain':
            return this.onExplain(String(args[0]));
          default:
            return next(command, args) as unknown;
        }
      },
      workspace: {
        // A setting that somebody set to its default goes before a perfline.toml, one that nobody set does not.
        configuration: (params, token, next) =>
          params.items.every((it) => it.section === 'perfline')
            ? params.items.map(() => this.setSettings())
            : next(params, token),
      },
      provideCodeLenses: (document, token, next) => {
        const provider = client().getFeature(CodeLensRequest.method).getProvider(document);
        this.lenses.asked(document, provider?.onDidChangeCodeLensEmitter);
        return next(document, token);
      },
      provideHover: (document, position, token, next) => {
        const where = vscode.workspace.getConfiguration('perfline', document).get<HoverPlace>('hovers.where', 'hint');
        const line = document.lineAt(position).text;
        return isHovered(where, line, position.character) ? next(document, position, token) : undefined;
      },
      provideInlayHints: (document, range, token, next) => (areDecorations() ? [] : next(document, range, token)),
      handleDiagnostics: (uri, diagnostics, next) => {
        for (const diagnostic of diagnostics) {
          if (typeof diagnostic.code === 'string') {
            diagnostic.code = { value: diagnostic.code, target: linkToRule(diagnostic.code) };
          }
        }
        next(uri, diagnostics);
      },
      handleWorkDoneProgress: (token, params, next) => {
        if (String(token).startsWith('perfline/load/')) {
          progress.handle(token, params);
        } else {
          next(token, params);
        }
      },
    };
  }

  /** The settings of Perfline that somebody set, by name. */
  private setSettings(): Record<string, unknown> {
    const settings = vscode.workspace.getConfiguration('perfline');
    const manifest = this.context.extension.packageJSON as {
      contributes: { configuration: { properties: Record<string, unknown> }[] };
    };
    const names = manifest.contributes.configuration
      .flatMap((it) => Object.keys(it.properties))
      .map((it) => it.replace(/^perfline\./, ''));
    const isSet = (name: string) => {
      const found = settings.inspect(name);
      return [found?.globalValue, found?.workspaceValue, found?.workspaceFolderValue].some((it) => it !== undefined);
    };
    return Object.fromEntries(names.filter(isSet).map((it) => [it, settings.get(it)]));
  }

  /** The server is gone without having been asked to: it is started again, but not for ever. */
  private died(): void {
    const now = Date.now();
    this.deaths = [...this.deaths.filter((then) => now - then < DEATHS_WITHIN_MS), now];
    if (this.deaths.length < DEATHS) {
      this.log.warn('the server is gone; it is started again');
      this.become('starting');
      void this.enqueue(async () => {
        await this.stop();
        await this.launch();
      });
    } else {
      this.fail(
        vscode.l10n.t('The Perfline server stopped {0} times in a few minutes, so it was not started again.', DEATHS),
      );
    }
  }

  /** Shows what the server has to say. A message with a button is shown whole, one without is cut after a line. */
  private showMessage({ type, message }: ShowMessageParams): void {
    const show =
      type === MessageType.Error
        ? vscode.window.showErrorMessage
        : type === MessageType.Warning
          ? vscode.window.showWarningMessage
          : vscode.window.showInformationMessage;
    const log = vscode.l10n.t('Show Log');
    void show(withoutFolders(message), log).then((choice) => {
      if (choice === log) {
        this.log.show();
      }
    });
  }

  private fail(message: string): void {
    this.become('failed');
    this.log.error(message);
    const settings = vscode.l10n.t('Open Settings');
    const again = vscode.l10n.t('Restart Server');
    const log = vscode.l10n.t('Show Log');
    void vscode.window.showErrorMessage(message, settings, again, log).then((choice) => {
      if (choice === settings) {
        void vscode.commands.executeCommand('workbench.action.openSettings', 'perfline.server.path');
      } else if (choice === again) {
        void this.restart();
      } else if (choice === log) {
        this.log.show();
      }
    });
  }
}

/** Notifies the server that this client listens to `perfline/status`, shows the pages of rules, and sends settings that were set alone. */
const announced: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    const experimental = (capabilities.experimental ?? {}) as Record<string, unknown>;
    capabilities.experimental = { ...experimental, perfline: { status: true, explain: true, setSettings: true } };
  },
  initialize: () => undefined,
  getState: () => ({ kind: 'static' }),
  clear: () => undefined,
};

/** A message with paths below the workspace folders as the Explorer shows them. */
export function withoutFolders(message: string): string {
  const folders = (vscode.workspace.workspaceFolders ?? []).map((it) => it.uri.fsPath);
  return folders.reduce((text, folder) => text.replaceAll(`${folder}${path.sep}`, ''), message);
}

function serverSetting(): string {
  return vscode.workspace.getConfiguration('perfline').get('server.path', '');
}

function notStarted(why: string): string {
  return vscode.l10n.t('The Perfline server could not be started: {0}', why);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What opens the page of a rule when a link to it is clicked. */
function linkToRule(rule: string): vscode.Uri {
  return vscode.Uri.parse(`command:perfline.explainRule?${encodeURIComponent(JSON.stringify([rule]))}`);
}
