/** Which Python runs a program of the workspace, and what it is started with. */

import * as path from 'node:path';

import { type Surroundings, expand, findOnPath } from './locate';

export interface Python {
  path: string;
  from: 'setting' | 'Python extension' | 'environment' | 'PATH';
}

export interface PythonSurroundings extends Pick<
  Surroundings,
  'env' | 'platform' | 'home' | 'workspaceFolder' | 'isFile'
> {
  /** `perfline.record.python`. */
  setting: string;
  /** The interpreter that was chosen in the Python extension; nothing where that is not installed. */
  selected: string | undefined;
  /** The folder of the program. */
  programFolder: string;
}

/** Folders in which tools keep the environment of a project: those that the server looks for libraries in. */
const ENVIRONMENTS = ['.venv', 'venv', 'env', '.conda', '.pixi/envs/default'];

/**
 * The Python of a program: what the setting names, whether it is there or not, else what was chosen in the Python
 * extension, else an environment in the folder of the program or in one above it up to that of the workspace, else the
 * environment that the editor was started in (`VIRTUAL_ENV`, `CONDA_PREFIX`), else the first on the `PATH`.
 */
export function pythonOf(at: PythonSurroundings): Python | undefined {
  const setting = at.setting.trim();
  if (setting !== '') {
    return { path: expand(setting, at), from: 'setting' };
  }
  if (at.selected !== undefined) {
    return { path: at.selected, from: 'Python extension' };
  }
  const paths = at.platform === 'win32' ? path.win32 : path.posix;
  const active = [at.env['VIRTUAL_ENV'], at.env['CONDA_PREFIX']].filter((it) => it !== undefined && it !== '');
  const environments = [
    ...foldersUpTo(at, paths).flatMap((folder) => ENVIRONMENTS.map((it) => paths.join(folder, it))),
    ...active,
  ] as string[];
  const inside = at.platform === 'win32' ? ['Scripts\\python.exe', 'python.exe'] : ['bin/python'];
  const programs = environments.flatMap((it) => inside.map((program) => paths.join(it, program)));
  const found = programs.find((it) => at.isFile(it));
  if (found !== undefined) {
    return { path: found, from: 'environment' };
  }
  const names = at.platform === 'win32' ? ['python.exe'] : ['python3', 'python'];
  const onPath = names.map((it) => findOnPath(it, at)).find((it) => it !== undefined);
  return onPath === undefined ? undefined : { path: onPath, from: 'PATH' };
}

/** The folder of the program and those above it, the last one that of the workspace. */
function foldersUpTo({ programFolder, workspaceFolder }: PythonSurroundings, paths: path.PlatformPath): string[] {
  const folders = [programFolder];
  for (let folder = programFolder; folder !== workspaceFolder; folder = paths.dirname(folder)) {
    if (folder === paths.dirname(folder)) {
      return [programFolder];
    }
    folders.push(paths.dirname(folder));
  }
  return folders;
}

/**
 * Splits the arguments of a program as a shell does: at blanks, except within quotes and after a backslash. Nothing
 * else is special.
 */
export function splitArguments(text: string): string[] {
  const words = text.match(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g) ?? [];
  return words.map((word) =>
    word.replace(
      /\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/g,
      (_, escaped?: string, double?: string, single?: string) =>
        escaped ?? single ?? (double ?? '').replace(/\\(["\\])/g, '$1'),
    ),
  );
}

/** The 0-based line above which a program is offered to be recorded: where it starts when it is run as a script. */
export function startOf(text: string): number | undefined {
  const lines = text.split('\n');
  const guard = lines.findIndex((it) =>
    /^if\s*\(?\s*(__name__\s*==\s*(['"])__main__\2|(['"])__main__\3\s*==\s*__name__)/.test(it),
  );
  const main = lines.findIndex((it) => /^(async\s+)?def\s+main\s*\(/.test(it));
  return guard >= 0 ? guard : main >= 0 ? main : undefined;
}
