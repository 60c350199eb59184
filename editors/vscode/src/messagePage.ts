/** A page of a webview with a sentence, and what can be done. */

import * as vscode from 'vscode';

import { escape } from './detailsHtml';

/** Commands that such a page may offer, without the prefix of the extension. */
export const COMMANDS = ['openAsText', 'showAgain', 'restartServer', 'showLog'] as const;
export type PageCommand = (typeof COMMANDS)[number];

export function messagePage(message: string, commands: PageCommand[]): string {
  const titles: Record<PageCommand, string> = {
    openAsText: vscode.l10n.t('Open as Text'),
    showAgain: vscode.l10n.t('Show This Recording'),
    restartServer: vscode.l10n.t('Restart Server'),
    showLog: vscode.l10n.t('Show Log'),
  };
  const links = commands.map((it) => `<a href="command:perfline.${it}">${escape(titles[it])}</a>`);
  return `<!DOCTYPE html>
<html lang="${escape(vscode.env.language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>main { margin: 4rem auto; max-width: 40rem; text-align: center; } a { margin: 0 1rem; }</style>
</head>
<body><main role="status"><p>${escape(message)}</p><p>${links.join(' ')}</p></main></body>
</html>`;
}
