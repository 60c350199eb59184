/** Hot lines as a tree: file, function, line; each level by cost. */

import type { Charge, HotLine } from './api';

export interface FileNode {
  kind: 'file';
  file: string;
  uri: string | undefined;
  value: number;
  share: number;
  functions: FunctionNode[];
}

export interface FunctionNode {
  kind: 'function';
  parent: FileNode;
  name: string;
  value: number;
  share: number;
  lines: LineNode[];
}

export interface LineNode {
  kind: 'line';
  parent: FunctionNode;
  line: HotLine;
}

export type Node = FileNode | FunctionNode | LineNode;

/** Groups lines that come sorted by value, and sorts the groups. */
export function treeOf(lines: HotLine[], charge: Charge): FileNode[] {
  const files = new Map<string, FileNode>();
  for (const line of lines) {
    const file = files.get(line.file) ?? newFile(line);
    files.set(line.file, file);
    const known = file.functions.find((it) => it.name === line.function);
    const parent = known ?? newFunction(file, line);
    parent.lines.push({ kind: 'line', parent, line });
    count(parent, line, charge);
    count(file, line, charge);
  }
  const found = [...files.values()].sort(byValue);
  for (const file of found) {
    file.functions.sort(byValue);
  }
  return found;
}

function newFile(line: HotLine): FileNode {
  return { kind: 'file', file: line.file, uri: line.uri ?? undefined, value: 0, share: 0, functions: [] };
}

function newFunction(parent: FileNode, line: HotLine): FunctionNode {
  const node: FunctionNode = { kind: 'function', parent, name: line.function, value: 0, share: 0, lines: [] };
  parent.functions.push(node);
  return node;
}

/** Own costs add up. Totals of lines that call each other hold the same time, so the largest stands for all. */
function count(node: { value: number; share: number }, line: HotLine, charge: Charge): void {
  if (charge === 'own') {
    node.value += line.value;
    node.share += line.share;
  } else {
    node.value = Math.max(node.value, line.value);
    node.share = Math.max(node.share, line.share);
  }
}

function byValue(a: { value: number }, b: { value: number }): number {
  return b.value - a.value;
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
    const mark = (it.stale ? '≈' : '') + (it.evidence === 'inferred' ? '~' : it.evidence === 'function' ? 'fn ' : '');
    const share = `${Number((it.share * 100).toPrecision(3))} %`;
    return `| ${cell(place)} | ${mark}${it.text} | ${share} | ${code === '' ? '' : `\`${cell(code)}\``} |`;
  });
  const head = `| ${words.line} | ${heading.split(' · ').at(-1) ?? ''} | ${words.share} | ${words.code} |`;
  return [`**${heading}**`, '', head, '|---|---:|---:|---|', ...rows, ''].join('\n');
}
