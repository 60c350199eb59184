/** The Findings view: what the rules found, of every severity, with what can be done about it. */

import * as vscode from 'vscode';

import type { Finding, Findings, Severity } from './api';
import { type FindingItem, type FindingNode, byFile, describe, flat } from './findingTree';
import { RefreshedTree } from './refreshedTree';
import { reveal } from './reveal';
import type { OfferedAction } from './server';
import type { Session } from './session';
import { evidenceMeaning } from './wording';

const BY_FILE = 'perfline.findingsByFile';

export class FindingsView extends RefreshedTree<FindingNode> {
  private readonly tree: vscode.TreeView<FindingNode>;
  private isByFile: boolean;

  constructor(
    private readonly session: Session,
    private readonly memory: vscode.Memento,
  ) {
    super();
    this.tree = vscode.window.createTreeView('perfline.findingsView', { treeDataProvider: this });
    this.owns(
      this.tree,
      session.onDidChange(() => this.refresh()),
      // Comments suppress findings, too.
      this.refreshAfterEdits(),
      this.refreshAfterSettings('perfline'),
    );
    this.isByFile = memory.get(BY_FILE, false);
    this.group(this.isByFile);
  }

  group(isByFile: boolean): void {
    this.isByFile = isByFile;
    void this.memory.update(BY_FILE, isByFile);
    void vscode.commands.executeCommand('setContext', BY_FILE, isByFile);
    this.refresh();
  }

  /** Lists the edits that remove the cause, to choose from. */
  async fix({ finding }: FindingItem): Promise<void> {
    const actions = await this.actions(finding, 'quickfix');
    const fixes = actions.filter(({ kind }) => kind === 'quickfix');
    if (fixes.length === 0) {
      const explain = vscode.l10n.t('Explain');
      const none = vscode.l10n.t('There is no automatic fix here. {0}', finding.remedy);
      if ((await vscode.window.showInformationMessage(none, explain)) === explain) {
        await vscode.commands.executeCommand('perfline.explainRule', finding.rule);
      }
      return;
    }
    const items = fixes.map((action) => ({ label: action.title, action }));
    const chosen = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t('Fix {0}', finding.rule),
      placeHolder: finding.message,
    });
    if (chosen !== undefined) {
      await vscode.workspace.applyEdit(chosen.action.edit);
    }
  }

  /** Writes the comment that suppresses the finding. */
  async ignore({ finding }: FindingItem): Promise<void> {
    const [action] = await this.actions(finding, 'quickfix.ignore');
    if (action === undefined) {
      void vscode.window.showInformationMessage(
        vscode.l10n.t('No comment can be written on this line, or the line was changed since the recording.'),
      );
      return;
    }
    await vscode.workspace.applyEdit(action.edit);
  }

  async getChildren(node?: FindingNode): Promise<FindingNode[]> {
    if (node !== undefined) {
      return node.kind === 'file' ? node.findings : [];
    }
    const isLoaded = this.session.status?.loaded === true;
    const answer = isLoaded ? await this.session.server.ask<Findings>('perfline.findings') : undefined;
    const findings = answer?.findings ?? [];
    const isNothing = answer !== undefined && findings.length === 0;
    const withoutLines = this.session.status?.withoutLines;
    this.tree.message = isNothing ? (withoutLines ?? vscode.l10n.t('The rules found nothing.')) : '';
    this.tree.description = findings.length === 0 ? '' : String(findings.length);
    return this.isByFile ? byFile(findings) : flat(findings);
  }

  getParent(node: FindingNode): FindingNode | undefined {
    return node.kind === 'file' ? undefined : node.parent;
  }

  getTreeItem(node: FindingNode): vscode.TreeItem {
    if (node.kind === 'finding') {
      return itemOf(node);
    }
    const item = new vscode.TreeItem(node.file, vscode.TreeItemCollapsibleState.Expanded);
    item.description = String(node.findings.length);
    item.iconPath = vscode.ThemeIcon.File;
    item.id = node.file;
    if (node.uri !== undefined) {
      item.resourceUri = vscode.Uri.parse(node.uri);
    }
    return item;
  }

  /** Goes to the line, and asks what can be done about the finding there. */
  private async actions(finding: Finding, kind: string): Promise<OfferedAction[]> {
    await reveal(finding);
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined || finding.line == null) {
      return [];
    }
    const line = new vscode.Position(finding.line - 1, 0);
    const actions = await this.session.server.codeActions(editor.document.uri, line, kind);
    return actions.filter((it) => it.rule === finding.rule);
  }
}

function itemOf(node: FindingItem): vscode.TreeItem {
  const { finding } = node;
  const item = new vscode.TreeItem(finding.rule);
  item.description = describe(node, (number) => vscode.l10n.t('line {0}', number));
  item.iconPath = iconOf(finding.severity);
  const { title, message, remedy, evidence } = finding;
  const paragraphs = [`**${escaped(title)}**`, ...[message, remedy, evidenceMeaning(evidence)].map(escaped)];
  if (finding.stale) {
    paragraphs.push(
      vscode.l10n.t('The line was changed since the recording: record again to see whether it still holds.'),
    );
  }
  item.tooltip = new vscode.MarkdownString(paragraphs.join('\n\n'));
  item.accessibilityInformation = { label: `${severityName(finding.severity)}, ${finding.message}` };
  item.contextValue = finding.uri != null && finding.line != null ? 'finding' : 'findingElsewhere';
  item.command = { command: 'perfline.reveal', title: '', arguments: [finding] };
  return item;
}

function iconOf(severity: Severity): vscode.ThemeIcon {
  switch (severity) {
    case 'error':
      return new vscode.ThemeIcon('error', new vscode.ThemeColor('problemsErrorIcon.foreground'));
    case 'warning':
      return new vscode.ThemeIcon('warning', new vscode.ThemeColor('problemsWarningIcon.foreground'));
    case 'information':
      return new vscode.ThemeIcon('info', new vscode.ThemeColor('problemsInfoIcon.foreground'));
    case 'hint':
      return new vscode.ThemeIcon('lightbulb');
  }
}

function severityName(severity: Severity): string {
  switch (severity) {
    case 'error':
      return vscode.l10n.t('Error');
    case 'warning':
      return vscode.l10n.t('Warning');
    case 'information':
      return vscode.l10n.t('Information');
    case 'hint':
      return vscode.l10n.t('Hint');
  }
}

/** Text in Markdown. (`MarkdownString.appendText` joins the words by spaces that do not break.) */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]()#+\-.!~<>|&]/g, '\\$&');
}
