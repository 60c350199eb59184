/** The code that records with `torch.profiler`, to be pasted into a program. */

import * as vscode from 'vscode';

/** Copies what the walkthrough shows. */
export async function copySnippet(context: vscode.ExtensionContext): Promise<void> {
  const page = vscode.Uri.joinPath(context.extensionUri, 'walkthrough', 'record.md');
  const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(page));
  await vscode.env.clipboard.writeText(codeOf(text));
  vscode.window.setStatusBarMessage(vscode.l10n.t('Copied the snippet.'), 3000);
}

/** The first block of Python in a page. */
export function codeOf(page: string): string {
  return /```python\r?\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
}
