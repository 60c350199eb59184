/** What the Python extension says about interpreters. */

import * as vscode from 'vscode';

/** The part of its interface that is used (`@vscode/python-extension`). */
interface PythonExtension {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { id: string; path: string };
    resolveEnvironment(environment: object): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

/** The interpreter that was chosen for a file or a folder; nothing where the Python extension is not installed or does not say. */
export async function selectedPython(
  resource: vscode.Uri | undefined,
  log: vscode.LogOutputChannel,
): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<Partial<PythonExtension>>('ms-python.python');
  try {
    const environments = (await extension?.activate())?.environments;
    const environment = environments?.getActiveEnvironmentPath(resource);
    const resolved = environment && (await environments?.resolveEnvironment(environment));
    return resolved?.executable.uri?.fsPath;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn(`the Python extension does not say which interpreter is chosen: ${reason}`);
    return undefined;
  }
}
