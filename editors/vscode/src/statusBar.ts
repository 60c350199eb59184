/** The status bar item and the language status item: which recording, what of it, how much of it has lines. */

import * as path from 'node:path';
import * as vscode from 'vscode';

import type { Status } from './api';
import type { Session } from './session';
import { filterWords } from './filter';
import { chargeName, metricName, rankName, stepName } from './wording';

export class StatusItems implements vscode.Disposable {
  private readonly bar = vscode.window.createStatusBarItem('perfline.status', vscode.StatusBarAlignment.Right, 100);
  private readonly language = vscode.languages.createLanguageStatusItem('perfline.status', { language: 'python' });
  private readonly subscription: vscode.Disposable;

  constructor(private readonly session: Session) {
    this.bar.name = 'Perfline';
    this.language.name = 'Perfline';
    this.subscription = session.onDidChange(() => this.draw());
    this.draw();
    this.bar.show();
  }

  dispose(): void {
    vscode.Disposable.from(this.bar, this.language, this.subscription).dispose();
  }

  private draw(): void {
    const { status, server } = this.session;
    this.language.busy = server.state === 'starting' || status?.loading === true;
    this.bar.backgroundColor = undefined;
    this.language.severity = vscode.LanguageStatusSeverity.Information;
    if (server.state === 'failed') {
      this.bar.backgroundColor = new vscode.ThemeColor('statusBarItem.warningBackground');
      this.language.severity = vscode.LanguageStatusSeverity.Error;
      this.put(
        '$(warning) Perfline',
        vscode.l10n.t('The server is not running'),
        '',
        'perfline.restartServer',
        vscode.l10n.t('Restart Server'),
      );
      this.bar.tooltip = vscode.l10n.t('The Perfline server is not running. Click to start it again.');
    } else if (status?.loaded !== true) {
      const busy = status === undefined || status.loading;
      const text = busy ? vscode.l10n.t('loading…') : vscode.l10n.t('no recording');
      this.put(
        `$(${busy ? 'loading~spin' : 'flame'}) Perfline: ${text}`,
        text,
        '',
        'perfline.loadRecording',
        vscode.l10n.t('Load'),
      );
      this.bar.tooltip = [...(status?.failures ?? []), vscode.l10n.t('Click to load a recording.')].join('\n\n');
    } else {
      this.drawLoaded(status);
    }
  }

  private drawLoaded(status: Status): void {
    const { view } = status;
    const of = [stepName(view.step, view.steps), ...(view.ranks.length > 1 ? [rankName(view.rank)] : [])].join(' · ');
    const attributed = attributedText(status);
    const icon = status.loading
      ? 'loading~spin'
      : status.lines === 0
        ? 'warning'
        : this.session.isPinned
          ? 'pinned'
          : 'flame';
    const name = recordingName(status);
    const beside = status.baseline === null ? undefined : vscode.l10n.t('beside {0}', status.baseline.name);
    const words = filterWords(view.filter);
    const part = words === '' ? undefined : vscode.l10n.t('only {0}', words);
    const text = [
      name,
      soFar(status),
      beside,
      of,
      part,
      status.lines === 0 ? vscode.l10n.t('nothing on lines') : attributed,
    ]
      .filter((it) => it !== undefined)
      .join(' · ');
    const metric = `${metricName(view.effectiveMetric)}, ${chargeName(view.charge).toLowerCase()}`;
    this.put(`$(${icon}) ${text}`, name, `${of} · ${metric}`, 'perfline.chooseView', vscode.l10n.t('Change'));
    this.bar.tooltip = tooltip(status, `${of} · ${metric}`);
    if (status.lines === 0 || status.failures.length > 0 || status.inputs.some((it) => !it.complete)) {
      this.language.severity = vscode.LanguageStatusSeverity.Warning;
    }
  }

  private put(bar: string, text: string, detail: string, command: string, title: string): void {
    this.bar.text = bar;
    // A tooltip of Markdown would be read as it is written.
    this.bar.accessibilityInformation = {
      label: [`Perfline: ${text}`, detail, title].filter((it) => it !== '').join(', '),
    };
    this.bar.command = command;
    this.language.text = text;
    this.language.detail = detail === '' ? 'Perfline' : `Perfline · ${detail}`;
    this.language.command = { command, title };
  }
}

function recordingName(status: Status): string {
  // Side-cars come with the trace they belong to.
  const recordings = status.inputs.filter((it) => it.kind !== 'callers');
  const [first, ...others] = recordings.map((it) => path.basename(it.path));
  const more = others.length === 0 ? '' : ` +${others.length}`;
  return `${first ?? ''}${more}`;
}

/** How much of a long recording is shown, if that is not all of it yet. */
function soFar({ soFar }: Status): string | undefined {
  return soFar === null ? undefined : vscode.l10n.t('so far: {0}', soFar.text);
}

/** The share that lines were charged with: of the device's time where there is any. */
function attributedText({ attributedText }: Status): string | undefined {
  const share = attributedText.cuda ?? attributedText.cpu;
  return share === null ? undefined : vscode.l10n.t('{0} on lines', share);
}

function tooltip(status: Status, shown: string): vscode.MarkdownString {
  const { attributedText: attributed, evidence, sources } = status;
  const text = new vscode.MarkdownString(undefined, true);
  text.isTrusted = {
    enabledCommands: [
      'perfline.chooseView',
      'perfline.loadRecording',
      'perfline.unloadRecording',
      'perfline.goToHotLine',
      'perfline.locateFolder',
      'perfline.chooseSources',
    ],
  };
  const line = (it: string) => text.appendText(it).appendMarkdown('\n\n');
  for (const input of status.inputs) {
    const partly = input.complete ? '' : ` — ${vscode.l10n.t('not read completely')}`;
    line(`${vscode.workspace.asRelativePath(input.path)}${partly}`);
  }
  const read = soFar(status);
  if (read !== undefined) {
    line(read);
  }
  line(shown);
  for (const { folder, name } of status.others) {
    if (name !== null) {
      line(vscode.l10n.t('In {0}: {1}', path.basename(folder), name));
    }
  }
  if (status.baseline !== null) {
    line(vscode.l10n.t('Baseline: {0}. {1}', status.baseline.name, status.baseline.verdict ?? ''));
  }
  const shares = [
    ...(attributed.cuda === null ? [] : [vscode.l10n.t('{0} of GPU time', attributed.cuda)]),
    ...(attributed.cpu === null ? [] : [vscode.l10n.t('{0} of thread time', attributed.cpu)]),
  ];
  if (shares.length > 0) {
    line(vscode.l10n.t('On lines: {0}', shares.join(', ')));
  }
  line(
    vscode.l10n.t(
      'Lines: {0} exact, {1} inferred (~), {2} known by function only (fn)',
      evidence.exact,
      evidence.inferred,
      evidence.function,
    ),
  );
  if (sources.edited + sources.missing > 0) {
    line(
      vscode.l10n.t(
        'Your files: {0} found, {1} edited since, {2} missing',
        sources.found,
        sources.edited,
        sources.missing,
      ),
    );
  }
  if (!vscode.workspace.isTrusted) {
    line(
      vscode.l10n.t('Restricted Mode: settings of the workspace for the server and for library folders are not used.'),
    );
  }
  const link = (label: string, command: string) => `[${label}](command:${command})`;
  text.appendMarkdown(
    [
      link(vscode.l10n.t('Change…'), 'perfline.chooseView'),
      link(vscode.l10n.t('Hot Lines…'), 'perfline.goToHotLine'),
      link(vscode.l10n.t('Load…'), 'perfline.loadRecording'),
      link(vscode.l10n.t('Unload'), 'perfline.unloadRecording'),
      ...(sources.missing > 0 ? [link(vscode.l10n.t('Locate Folder…'), 'perfline.locateFolder')] : []),
      ...(sources.ambiguous > 0 ? [link(vscode.l10n.t('Choose Sources…'), 'perfline.chooseSources')] : []),
    ].join(' · '),
  );
  return text;
}
