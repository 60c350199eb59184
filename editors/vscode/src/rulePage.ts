/** The pages of the rules, as documents that are only shown. */

import * as path from 'node:path';
import * as vscode from 'vscode';

import type { Session } from './session';

const SCHEME = 'perfline-rule';

export class RulePages implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  constructor(private readonly session: Session) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const rule = path.posix.basename(uri.path, '.md');
    const page = await this.session.server.request<{ markdown: string }>('perfline.explain', { rule });
    return page.markdown;
  }

  /** Opens the page of a rule beside the editor. */
  async show(rule: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${rule}.md` });
    await vscode.commands.executeCommand('markdown.showPreviewToSide', uri);
  }

  dispose(): void {
    this.registration.dispose();
  }
}
