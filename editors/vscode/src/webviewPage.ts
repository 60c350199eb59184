/** The page of a webview: an empty `<main>` that its script fills. */

import * as vscode from 'vscode';

/** The page of the webview `name`, whose style and script are in `folder`; its content has the class. Nothing else may run or be loaded. */
export function webviewPage(webview: vscode.Webview, folder: vscode.Uri, name: string, className = name): string {
  const uri = (file: string) => webview.asWebviewUri(vscode.Uri.joinPath(folder, file)).toString();
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src ${webview.cspSource};`;
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${uri(`${name}.css`)}">
</head>
<body><main class="${className}"></main><script src="${uri(`${name}.js`)}"></script></body>
</html>`;
}
