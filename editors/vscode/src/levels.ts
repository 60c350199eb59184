/** From heat to what is drawn: a few levels, three kinds of bar. */

import type { Evidence, HeatLine } from './api';

/** As many as there are colours `perfline.heatBar…` and `perfline.heatBackground…` in package.json. */
export const LEVELS = 6;

export const BARS = ['solid', 'dashed', 'dotted'] as const;
export type Bar = (typeof BARS)[number];

/** 1 (cool) to `LEVELS` (hot). The heat is perceptually even already. */
export function levelOf(heat: number): number {
  return Math.min(LEVELS, Math.max(1, Math.ceil(heat * LEVELS)));
}

/** How sure the line is, to be seen at a glance. */
export function barOf(evidence: Evidence, stale: boolean): Bar {
  if (stale || evidence === 'function') {
    return 'dotted';
  }
  return evidence === 'exact' ? 'solid' : 'dashed';
}

/** The lines that can be drawn: those of nothing cannot. The server leaves out what is below the threshold, for hints as for heat. */
export function worthShowing<T extends { value: number }>(lines: T[]): T[] {
  return lines.filter((it) => it.value > 0);
}

/** Lines by level and bar: `3 dashed`. */
export function grouped(lines: HeatLine[]): Map<string, HeatLine[]> {
  const groups = new Map<string, HeatLine[]>();
  for (const line of lines) {
    const key = groupKey(levelOf(line.heat), barOf(line.evidence, line.stale));
    groups.set(key, [...(groups.get(key) ?? []), line]);
  }
  return groups;
}

export function groupKey(level: number, bar: Bar): string {
  return `${level} ${bar}`;
}

/** The next (or previous) of `lines` after `from`; after the last comes the first. Lines are 1-based. */
export function following(lines: number[], from: number, direction: 'next' | 'previous'): number | undefined {
  const sorted = [...new Set(lines)].sort((a, b) => a - b);
  return direction === 'next'
    ? (sorted.find((it) => it > from) ?? sorted[0])
    : (sorted.findLast((it) => it < from) ?? sorted.at(-1));
}
