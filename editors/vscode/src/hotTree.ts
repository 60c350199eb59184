/** Hot lines as a tree: file, function, line; each level by cost. */

import type { HotLine, HotRest, HotSum } from './api';

export interface FileNode {
  kind: 'file';
  file: string;
  uri: string | undefined;
  sum: HotSum | undefined;
  functions: FunctionNode[];
}

export interface FunctionNode {
  kind: 'function';
  parent: FileNode;
  name: string;
  sum: HotSum | undefined;
  lines: LineNode[];
}

export interface LineNode {
  kind: 'line';
  parent: FunctionNode;
  line: HotLine;
}

/** The last row: what stands on none of the lines above it, listed or not. */
export interface RestNode {
  kind: 'rest';
  rest: HotRest;
}

export type Node = FileNode | FunctionNode | LineNode | RestNode;

/** Groups lines, which come sorted by value, in the order of the sums of files and functions. */
export function treeOf(lines: HotLine[], sums: HotSum[]): FileNode[] {
  const files = new Map<string, FileNode>();
  const place = (file: string, name: string | null) => sums.findIndex((it) => it.file === file && it.function === name);
  for (const line of lines) {
    const file = files.get(line.file) ?? {
      kind: 'file',
      file: line.file,
      uri: line.uri ?? undefined,
      sum: sums[place(line.file, null)],
      functions: [],
    };
    files.set(line.file, file);
    let parent = file.functions.find((it) => it.name === line.function);
    if (parent === undefined) {
      const sum = sums[place(line.file, line.function)];
      parent = { kind: 'function', parent: file, name: line.function, sum, lines: [] };
      file.functions.push(parent);
    }
    parent.lines.push({ kind: 'line', parent, line });
  }
  const found = [...files.values()].sort((a, b) => place(a.file, null) - place(b.file, null));
  for (const file of found) {
    file.functions.sort((a, b) => place(file.file, a.name) - place(file.file, b.name));
  }
  return found;
}

/** The files, and below them what is in none of them; that alone would say nothing. */
export function rowsOf(files: FileNode[], rest: HotRest | null | undefined): Node[] {
  return rest == null || files.length === 0 ? files : [...files, { kind: 'rest', rest }];
}

/** A table of lines, for an issue or a chat. */
export function markdownOf(
  lines: HotLine[],
  heading: string,
  words: { line: string; share: string; code: string },
): string {
  const cell = (text: string) => text.replaceAll('|', '\\|');
  const rows = lines.map((it) => {
    const place = `${it.file}:${it.line ?? it.recordedLine}`;
    const code = (it.source ?? '').trim().replaceAll('`', "'");
    return `| ${cell(place)} | ${it.mark}${it.text} | ${it.shareText} | ${code === '' ? '' : `\`${cell(code)}\``} |`;
  });
  const head = `| ${words.line} | ${heading.split(' · ').at(-1) ?? ''} | ${words.share} | ${words.code} |`;
  return [`**${heading}**`, '', head, '|---|---:|---:|---|', ...rows, ''].join('\n');
}
