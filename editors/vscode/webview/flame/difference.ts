/** By how much frames differ between two runs, and what is said of that. */

import { percent } from './numbers';

/** What a frame has in both runs, in the mean step. */
export interface BothRuns {
  now: number;
  base: number;
  /** What the new run has more on lines that differ by more than the noise. */
  beyond: number;
}

/** What a difference must reach: an amount, and a share (of 1) of the larger of both. */
export interface Least {
  least: number;
  leastShare: number;
}

/** From which share (of 1) of the larger of both a difference has the next stronger colour. */
const STRONGER = [0.2, 0.5];

/** How strongly a frame differs: −3 to −1 for less than in the base, 1 to 3 for more, 0 within the noise. */
export type Level = -3 | -2 | -1 | 0 | 1 | 2 | 3;

/** The name of the colour of each level, from −3 on. */
export const LEVELS = ['less3', 'less2', 'less1', 'same', 'more1', 'more2', 'more3'] as const;

/** How strongly a frame differs: what is beyond the noise has to be large enough, and of the direction of the whole difference. */
export function levelOf({ now, base, beyond }: BothRuns, { least, leastShare }: Least): Level {
  const size = Math.abs(beyond);
  const larger = Math.max(now, base);
  if (size === 0 || size < least || size < leastShare * larger || beyond > 0 !== now > base) {
    return 0;
  }
  const level = 1 + STRONGER.filter((it) => size >= it * larger).length;
  return (beyond < 0 ? -level : level) as Level;
}

export function colourOf(level: Level): (typeof LEVELS)[number] {
  return LEVELS[level + 3] ?? 'same';
}

/** What the new run has more, as a share of the base: `+20 %`, `−83 %`, `new`, `gone`. */
export function changeOf({ now, base }: BothRuns, more = now - base): string {
  if (base === 0 || now === 0) {
    return now === base ? '' : base === 0 ? 'new' : 'gone';
  }
  return `${more < 0 ? '−' : '+'}${percent(Math.abs(more) / base)}`;
}

/** What stands before the label of a frame that differs, so that colour alone says nothing: what is beyond the noise. */
export function signOf(level: Level, both: BothRuns): string {
  return level === 0 ? '' : `${level < 0 ? '▼' : '▲'} ${changeOf(both, both.beyond)} `;
}

/** What the colours mean, from the strongest for less to that for more. */
export const LEGEND: [(typeof LEVELS)[number], string][] = [
  ['less3', '▼ half or less'],
  ['less2', '▼ 20 % less'],
  ['less1', '▼ less'],
  ['same', 'within the noise'],
  ['more1', '▲ more'],
  ['more2', '▲ 25 % more'],
  ['more3', '▲ twice or more'],
];
