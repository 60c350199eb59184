/** Findings as a tree: flat, the costliest first, or by file. */

import type { Finding } from './api';

export interface FindingFile {
  kind: 'file';
  file: string;
  uri: string | undefined;
  findings: FindingItem[];
}

export interface FindingItem {
  kind: 'finding';
  /** Undefined in a flat list. */
  parent: FindingFile | undefined;
  finding: Finding;
}

export type FindingNode = FindingFile | FindingItem;

/** The findings as they come: the costliest first. */
export function flat(findings: Finding[]): FindingItem[] {
  return findings.map((finding) => ({ kind: 'finding', parent: undefined, finding }));
}

/** The same by file; files in the order of their first findings. */
export function byFile(findings: Finding[]): FindingFile[] {
  const files = new Map<string, FindingFile>();
  for (const finding of findings) {
    const { file, uri } = finding;
    const parent = files.get(file) ?? { kind: 'file', file, uri: uri ?? undefined, findings: [] };
    files.set(file, parent);
    parent.findings.push({ kind: 'finding', parent, finding });
  }
  return [...files.values()];
}

/** What can be won, its share, and the place: `4.8 ms · 11.7 % · train.py:46`, below its file `line 46`. */
export function describe({ parent, finding }: FindingItem, line: (number: number) => string): string {
  const number = finding.line ?? finding.recordedLine;
  const place = parent === undefined ? `${finding.file}:${number}` : line(number);
  return [finding.text, finding.shareText, place].filter((it) => it !== null).join(' · ');
}
