/** What a configuration of `launch.json` runs. */

import * as vscode from 'vscode';

import { splitArguments } from './python';

/** The parts of a configuration of the Python debugger that say what is run; variables in it are replaced. */
export interface LaunchConfiguration {
  program?: string;
  module?: string;
  code?: string | string[];
  args?: string | string[];
  pythonArgs?: string[];
  python?: string | string[];
  pythonPath?: string;
  cwd?: string;
  env?: Record<string, unknown>;
}

/** The Python that a configuration names, with what stands before the program: `["conda", "run", "python"]`. */
export function namedPython({ python, pythonPath }: LaunchConfiguration): string[] {
  return python === undefined ? (pythonPath === undefined ? [] : [pythonPath]) : [python].flat();
}

/** The words behind `perfline record` that run what the configuration runs, with the Python of this path. */
export function wordsOf(configuration: LaunchConfiguration, python: string): string[] {
  const { program, module, code, args = [], pythonArgs = [] } = configuration;
  if (code !== undefined || (program === undefined) === (module === undefined)) {
    throw new Error(
      vscode.l10n.t(
        'A configuration can be recorded that has either a program or a module, and runs no code of its own.',
      ),
    );
  }
  const target = module === undefined ? [program ?? ''] : ['-m', module];
  const words = [...target, ...(typeof args === 'string' ? splitArguments(args) : args.map(String))];
  // `perfline record` takes what does not end in `.py` for a program of its own.
  const isPython = pythonArgs.length === 0 && (module !== undefined || program?.endsWith('.py') === true);
  return isPython ? words : [python, ...pythonArgs, ...words];
}

/** The variables of a configuration; what is no text is written as one. */
export function environmentOf({ env = {} }: LaunchConfiguration): Record<string, string> {
  const set = Object.entries(env).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]));
}

/** The configuration that another one names, run by Perfline; itself where it names none. */
export function resolved<T extends { name?: string; configuration?: string }>(configuration: T, all: T[]): T {
  const { configuration: name, ...own } = configuration;
  if (name === undefined) {
    return configuration;
  }
  const named = all.find((it) => it.name === name);
  if (named === undefined) {
    throw new Error(vscode.l10n.t('There is no configuration {0} in launch.json.', name));
  }
  return { ...named, ...own };
}

/** Whether a configuration runs a Python program, so that it can be recorded. */
export function isRecordable({ type, request }: { type?: string; request?: string }): boolean {
  return request === 'launch' && ['debugpy', 'python', 'perfline'].includes(type ?? '');
}
