/** Where the server is. */

import { statSync } from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

export interface Located {
  path: string;
  from: 'setting' | 'environment' | 'bundled' | 'PATH';
}

export interface Surroundings {
  /** `perfline.server.path`. */
  setting: string;
  /** The interpreter that was chosen for the workspace, where that may name programs: in a trusted workspace. */
  python?: string | undefined;
  extensionFolder: string;
  env: Record<string, string | undefined>;
  platform: NodeJS.Platform;
  home: string;
  workspaceFolder: string | undefined;
  isFile(path: string): boolean;
}

/** This machine. */
export function thisMachine(): Pick<Surroundings, 'env' | 'platform' | 'home' | 'isFile'> {
  return {
    env: process.env,
    platform: process.platform,
    home: os.homedir(),
    isFile: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true,
  };
}

/**
 * The server to start: what the setting names, whether it is there or not (silently taking another would hide the
 * mistake), else that of the Python environment of the workspace, which is of the version that records there, else the one
 * that came with the extension, else the first on the `PATH`.
 */
export function locate(at: Surroundings): Located | undefined {
  const setting = at.setting.trim();
  if (setting !== '') {
    return { path: expand(setting, at), from: 'setting' };
  }
  const paths = at.platform === 'win32' ? path.win32 : path.posix;
  const name = at.platform === 'win32' ? 'perfline.exe' : 'perfline';
  const inEnvironment = besidePython(name, at, paths).find((it) => at.isFile(it));
  if (inEnvironment !== undefined) {
    return { path: inEnvironment, from: 'environment' };
  }
  const bundled = paths.join(at.extensionFolder, 'bin', name);
  if (at.isFile(bundled)) {
    return { path: bundled, from: 'bundled' };
  }
  const found = findOnPath(name, at);
  return found === undefined ? undefined : { path: found, from: 'PATH' };
}

/** Where the environment of an interpreter has its programs. That of conda has Python beside the folder, on Windows. */
function besidePython(name: string, { python, platform }: Surroundings, paths: path.PlatformPath): string[] {
  if (python === undefined || !paths.isAbsolute(python)) {
    return [];
  }
  const folder = paths.dirname(python);
  const folders = platform === 'win32' ? [folder, paths.join(folder, 'Scripts')] : [folder];
  return folders.map((it) => paths.join(it, name));
}

/** The first program of this name on the `PATH`. */
export function findOnPath(name: string, at: Pick<Surroundings, 'env' | 'platform' | 'isFile'>): string | undefined {
  const paths = at.platform === 'win32' ? path.win32 : path.posix;
  // Relative entries of the PATH would let a workspace name the program.
  const folders = searchPath(at).filter((folder) => paths.isAbsolute(folder));
  return folders.map((folder) => paths.join(folder, name)).find((it) => at.isFile(it));
}

function searchPath(at: Pick<Surroundings, 'env' | 'platform'>): string[] {
  // Windows spells the variable as it likes.
  const key = Object.keys(at.env).find((it) => it.toUpperCase() === 'PATH');
  const value = key === undefined ? undefined : at.env[key];
  return (value ?? '').split(at.platform === 'win32' ? ';' : ':').filter((it) => it !== '');
}

/** `~`, `${workspaceFolder}` and `${env:NAME}`, as other extensions know them. */
export function expand(setting: string, at: Pick<Surroundings, 'env' | 'home' | 'workspaceFolder'>): string {
  return setting
    .replace(/^~(?=[/\\]|$)/, () => at.home)
    .replace(/\$\{workspaceFolder\}/g, () => at.workspaceFolder ?? '')
    .replace(/\$\{env:(\w+)\}/g, (_, name: string) => at.env[name] ?? '');
}
