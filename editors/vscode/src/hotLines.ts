/** The Hot Lines view, and the list of hot lines to go to. */

import * as vscode from 'vscode';

import { type HotLine, type HotLines, METRICS, type Metric, type View } from './api';
import { type FileNode, type FunctionNode, type Node, type RestNode, markdownOf, rowsOf, treeOf } from './hotTree';
import { levelOf } from './levels';
import { RefreshedTree } from './refreshedTree';
import { reveal } from './reveal';
import type { Session } from './session';
import { chargeName, evidenceMeaning, metricMeaning, metricName, rankName, stepName } from './wording';

/** More than anybody reads. */
const LIMIT = 500;

export class HotLinesView extends RefreshedTree<Node> {
  private readonly tree: vscode.TreeView<Node>;
  private shown: HotLines | undefined;
  private files: FileNode[] = [];
  /** Nothing: that of the view. */
  private metric: Metric | undefined;
  /** By how much lines differ from the baseline, instead of by what they cost. */
  private byDifference = false;
  private ownOnly = true;

  constructor(private readonly session: Session) {
    super();
    this.tree = vscode.window.createTreeView('perfline.hotLinesView', {
      treeDataProvider: this,
      showCollapseAll: true,
    });
    this.owns(
      this.tree,
      session.onDidChange(() => this.refresh()),
      this.refreshAfterEdits(),
      this.tree.onDidChangeVisibility(() => this.refresh()),
      this.refreshAfterSettings('perfline.view'),
    );
    this.setOwnOnly(true);
  }

  /** Asks for the metric to sort by: that of the view, or another. */
  async sort(): Promise<void> {
    const view = this.session.status?.view;
    if (view === undefined) {
      return;
    }
    const items = [
      {
        label: vscode.l10n.t('What the editor shows'),
        description: metricName(view.effectiveMetric),
        metric: undefined,
        byDifference: false,
      },
      ...(this.session.status?.baseline == null
        ? []
        : [
            {
              label: vscode.l10n.t('Difference to the baseline'),
              description: vscode.l10n.t('lines that differ by more than the noise'),
              metric: undefined,
              byDifference: true,
            },
          ]),
      ...METRICS.map((metric) => ({
        label: metricName(metric),
        description: metricMeaning(metric),
        metric,
        byDifference: false,
      })),
    ];
    const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Sort hot lines by') });
    if (chosen !== undefined) {
      this.metric = chosen.metric;
      this.byDifference = chosen.byDifference;
      this.refresh();
    }
  }

  setOwnOnly(ownOnly: boolean): void {
    this.ownOnly = ownOnly;
    void vscode.commands.executeCommand('setContext', 'perfline.ownOnly', ownOnly);
    this.refresh();
  }

  /** Copies what was clicked, or everything. */
  async copy(node?: Node): Promise<void> {
    const hot = node === undefined ? await this.fetch() : this.shown;
    if (hot === undefined) {
      return;
    }
    const lines = node === undefined ? hot.lines : linesBelow(node);
    const { view } = hot;
    const parts = [this.session.status?.summary ?? '', metricName(view.effectiveMetric)];
    const words = { line: vscode.l10n.t('Line'), share: vscode.l10n.t('Share'), code: vscode.l10n.t('Code') };
    await vscode.env.clipboard.writeText(markdownOf(lines, parts.join(' · '), words));
    const message =
      lines.length === 1 ? vscode.l10n.t('Copied 1 line.') : vscode.l10n.t('Copied {0} lines.', lines.length);
    vscode.window.setStatusBarMessage(message, 3000);
  }

  /** Lists hot lines to go to: all, or those that a lens stands for (its arguments are those of `perfline.hotLines`). */
  async pick(args: object = {}): Promise<void> {
    const hot = await this.session.server.ask<HotLines>('perfline.hotLines', { limit: LIMIT, ...args });
    if (hot === undefined) {
      return;
    }
    const lines = hot.lines.filter((it) => it.value > 0 && it.uri != null && it.line != null);
    const items = lines.map((line) => ({
      label: `${line.mark}${line.text}`,
      description: (line.source ?? '').trim(),
      detail: `${line.file}:${line.line} · ${line.function} · ${line.shareText}`,
      line,
    }));
    const chosen = await vscode.window.showQuickPick(items, {
      title: `${vscode.l10n.t('Hot lines')} · ${viewText(hot.view)}`,
      placeHolder:
        lines.length === 0 ? vscode.l10n.t('No line costs anything of this metric.') : vscode.l10n.t('Go to a line'),
      matchOnDescription: true,
      matchOnDetail: true,
    });
    if (chosen !== undefined) {
      await reveal(chosen.line);
    }
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node === undefined) {
      this.shown = await this.fetch();
      const lines = this.shown?.lines ?? [];
      // By difference, the order is that of the lines.
      this.files = treeOf(lines, this.isByDifference ? [] : (this.shown?.sums ?? []));
      this.describe();
      return rowsOf(this.files, this.shown?.rest);
    }
    return node.kind === 'file' ? node.functions : node.kind === 'function' ? node.lines : [];
  }

  getParent(node: Node): Node | undefined {
    return node.kind === 'file' || node.kind === 'rest' ? undefined : node.parent;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case 'file': {
        const isFirst = node === this.files[0];
        const item = new vscode.TreeItem(node.file, collapsible(isFirst));
        item.description = costText(node);
        item.iconPath = vscode.ThemeIcon.File;
        item.id = node.file;
        if (node.uri === undefined) {
          item.contextValue = 'missing';
          item.tooltip = vscode.l10n.t('{0} was not found.', node.file);
        } else {
          item.resourceUri = vscode.Uri.parse(node.uri);
        }
        return item;
      }
      case 'function': {
        const isInFirst = node.parent === this.files[0];
        const item = new vscode.TreeItem(
          node.name === '' ? vscode.l10n.t('(function not known)') : node.name,
          collapsible(isInFirst),
        );
        item.description = costText(node);
        item.iconPath = new vscode.ThemeIcon('symbol-method');
        item.id = `${node.parent.file}\n${node.name}`;
        return item;
      }
      case 'line':
        return lineItem(node.line);
      case 'rest':
        return restItem(node);
    }
  }

  private async fetch(): Promise<HotLines | undefined> {
    if (this.session.status?.loaded !== true) {
      return undefined;
    }
    const metric = this.metric === undefined ? {} : { metric: this.metric };
    const sort = this.isByDifference ? { sort: 'difference' } : {};
    const args = { limit: LIMIT, ownOnly: this.ownOnly, notable: true, ...metric, ...sort };
    return this.session.server.ask<HotLines>('perfline.hotLines', args);
  }

  private get isByDifference(): boolean {
    return this.byDifference && this.session.status?.baseline != null;
  }

  /** What the tree is sorted by, above it. (A view that is alone in its container shows no description.) */
  private describe(): void {
    const { view, lines } = this.shown ?? {};
    // Without a recording there is a welcome in place of the tree, which a message would hide.
    // A message is one paragraph.
    this.tree.message = view === undefined ? '' : [this.heading(view), ...this.notes(view, lines ?? [])].join('. ');
  }

  private heading(view: View): string {
    const baseline = this.session.status?.baseline;
    const beside = this.isByDifference && baseline != null ? [vscode.l10n.t('beside {0}', baseline.name)] : [];
    return [viewText(view), ...beside].join(' · ');
  }

  private notes(view: View, lines: HotLine[]): string[] {
    const withoutLines = this.session.status?.withoutLines;
    if (withoutLines != null) {
      return [withoutLines];
    }
    if (this.isByDifference) {
      return lines.length === 0 ? [vscode.l10n.t('No line differs by more than the noise in this metric.')] : [];
    }
    if (lines.length === 0) {
      return [vscode.l10n.t('No line is above the threshold in this metric.')];
    }
    const isHiding = view.charge === 'own' && !this.ownOnly;
    return isHiding
      ? [
          vscode.l10n.t(
            'Own: time in libraries counts to the lines of yours that called them. Switch to total to see it on their lines.',
          ),
        ]
      : [];
  }
}

function costText({ sum }: FileNode | FunctionNode): string {
  return sum === undefined ? '' : `${sum.text} · ${sum.shareText}`;
}

function collapsible(isOpen: boolean): vscode.TreeItemCollapsibleState {
  return isOpen ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed;
}

function lineItem(line: HotLine): vscode.TreeItem {
  const number = line.line ?? line.recordedLine;
  const code = (line.source ?? '').trim();
  const { difference } = line;
  const delta = difference?.significant === true ? ` (${difference.deltaText})` : '';
  const item = new vscode.TreeItem(`${line.mark}${line.text}${delta}`);
  // Of a file that is not here only the number is known.
  item.description = code === '' ? vscode.l10n.t('line {0}', number) : `${number}: ${code}`;
  item.iconPath = new vscode.ThemeIcon('flame', new vscode.ThemeColor(`perfline.heatBar${levelOf(line.heat)}`));
  item.id = `${line.file}\n${line.function}\n${line.recordedLine}`;
  const tooltip = new vscode.MarkdownString();
  tooltip.appendText(`${line.file}:${number} · ${line.function}`).appendMarkdown('\n\n');
  tooltip.appendCodeblock(code, 'python');
  tooltip.appendText(`${line.text} · ${line.shareText}`).appendMarkdown('\n\n');
  if (difference !== null) {
    tooltip.appendText(differenceText(difference)).appendMarkdown('\n\n');
  }
  tooltip.appendText(evidenceMeaning(line.evidence));
  if (line.stale) {
    tooltip.appendMarkdown('\n\n').appendText(vscode.l10n.t('The line was changed since the recording.'));
  }
  item.tooltip = tooltip;
  item.accessibilityInformation = { label: `${line.text}, ${line.function}, ${number}: ${code}` };
  item.command = { command: 'perfline.reveal', title: '', arguments: [line] };
  return item;
}

/** Not to be clicked: there is nowhere to go. */
function restItem({ rest }: RestNode): vscode.TreeItem {
  const label = rest.libraries ? vscode.l10n.t('Not in your files') : vscode.l10n.t('On no line');
  const item = new vscode.TreeItem(label);
  item.description = `${rest.text} · ${rest.shareText}`;
  item.id = 'rest';
  item.iconPath = new vscode.ThemeIcon('circle-slash');
  item.contextValue = 'rest';
  item.tooltip = rest.libraries
    ? vscode.l10n.t(
        'What no line of yours is charged with: it is on lines of libraries that nothing of yours called, or on no line.',
      )
    : vscode.l10n.t('What no line is charged with, because it is not known which Python code caused it.');
  item.accessibilityInformation = { label: `${label}: ${item.description}` };
  return item;
}

function differenceText({ baseText, deltaText, significant }: NonNullable<HotLine['difference']>): string {
  const text = vscode.l10n.t('{0} in the baseline ({1})', baseText, deltaText);
  switch (significant) {
    case true:
      return text;
    case false:
      return vscode.l10n.t('{0}: within the noise', text);
    case null:
      return vscode.l10n.t('{0}: too few steps to say whether that is noise', text);
  }
}

function linesBelow(node: Node): HotLine[] {
  switch (node.kind) {
    case 'file':
      return node.functions.flatMap(linesBelow).sort((a, b) => b.value - a.value);
    case 'function':
      return node.lines.flatMap(linesBelow);
    case 'line':
      return [node.line];
    case 'rest':
      return [];
  }
}

function viewText(view: View): string {
  const { effectiveMetric: metric } = view;
  const charge = view.charge === 'total' ? [chargeName(view.charge)] : [];
  // Memory is that of one moment.
  const step = metric === 'memory' ? [] : [stepName(view.step, view.steps)];
  const rank = view.ranks.length > 1 ? [rankName(view.rank)] : [];
  return [metricName(metric), ...charge, ...step, ...rank].join(' · ');
}
