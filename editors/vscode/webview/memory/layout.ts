/** What is stacked in memory over time, and where. Nothing here draws. */

import { type Frame, framesOf } from '../flame/data';
import type { Span } from '../flame/layout';
import type { HolderPhase, MemoryData } from './data';

/** By what amounts are added up. */
export type Grouping = 'line' | 'function' | 'file' | 'phase';

/** What is drawn as one area. */
export interface Band {
  label: string;
  /** Of a line, else the first line of the group. */
  place: Frame['place'];
  /** Whether nothing is known of where it was allocated, or it stands for several that are too small: both are grey. */
  isUnknown: boolean;
  /** Whether it was allocated before recording began. */
  isBefore: boolean;
  /** By moment. */
  bytes: number[];
  holders: ReadonlySet<number>;
}

export interface MemoryLayout {
  data: MemoryData;
  frames: Frame[];
  /** From the bottom: what is always there is below what comes and goes. */
  bands: Band[];
  /** By moment the sum of the bands that are drawn below each band, then that of all. */
  tops: number[][];
}

/** What is drawn. */
export interface Drawing {
  grouping: Grouping;
  /** Whether what was allocated before recording began is drawn, too. */
  hasBefore: boolean;
}

/** Above this share of what is in use at the peak, what was there before recording leaves no room for the rest. */
const MAX_BEFORE = 0.75;

/** Whether the areas are high enough with what was allocated before recording began. */
export function hasRoomForBefore(data: MemoryData): boolean {
  const moment = highestMoment(data);
  const before = data.rows.filter(({ holder }) => data.holders.phase[holder] === 'before');
  const held = before.reduce((sum, { bytes }) => sum + (bytes[moment] ?? 0), 0);
  return held <= MAX_BEFORE * (data.inUse[moment] ?? 0);
}

const PHASES: Record<HolderPhase, string> = {
  before: 'before recording began',
  forward: 'forward pass, or outside of training',
  backward: 'backward pass',
  optimizer: 'optimizer',
};

export function layOutMemory(data: MemoryData, { grouping, hasBefore }: Drawing): MemoryLayout {
  const frames = framesOf(data);
  const bands = bandsOf(data, frames, grouping);
  const tops: number[][] = [data.at.map(() => 0)];
  for (const { bytes, isBefore } of bands) {
    const below = tops.at(-1) ?? [];
    tops.push(isBefore && !hasBefore ? below : bytes.map((it, moment) => it + (below[moment] ?? 0)));
  }
  return { data, frames, bands, tops };
}

function bandsOf(data: MemoryData, frames: Frame[], grouping: Grouping): Band[] {
  const groups = new Map<string, Band & { holders: Set<number> }>();
  for (const { holder, bytes } of data.rows) {
    const { label, place, isUnknown, isBefore } = groupOf(data, frames, holder, grouping);
    const known = groups.get(label);
    if (known === undefined) {
      groups.set(label, { label, place, isUnknown, isBefore, bytes: [...bytes], holders: new Set([holder]) });
    } else {
      bytes.forEach((it, moment) => (known.bytes[moment] = (known.bytes[moment] ?? 0) + it));
      known.holders.add(holder);
    }
  }
  const bands: Band[] = [...groups.values()];
  const least = (band: Band) => band.bytes.reduce((low, it) => Math.min(low, it), Infinity);
  const sum = (band: Band) => band.bytes.reduce((all, it) => all + it, 0);
  const keys = new Map(bands.map((it) => [it, [least(it), sum(it)] as const]));
  const key = (band: Band) => keys.get(band) ?? [0, 0];
  bands.sort((a, b) => key(b)[0] - key(a)[0] || key(b)[1] - key(a)[1]);
  const rest = data.inUse.map((all, moment) => bands.reduce((left, it) => left - (it.bytes[moment] ?? 0), all));
  if (rest.some((it) => it !== 0)) {
    const label = data.leftOut === 1 ? 'another line' : `${data.leftOut} other lines`;
    bands.push({ label, place: undefined, isUnknown: true, isBefore: false, bytes: rest, holders: new Set() });
  }
  return bands;
}

/** What a holder is added up to. */
function groupOf(
  { strings, frames: columns, holders }: MemoryData,
  frames: Frame[],
  holder: number,
  grouping: Grouping,
): Pick<Band, 'label' | 'place' | 'isUnknown' | 'isBefore'> {
  const row = holders.frame[holder] ?? 0;
  const frame = frames[row];
  const phase = holders.phase[holder] ?? 'forward';
  const isBefore = phase === 'before';
  if (grouping === 'phase') {
    return { label: PHASES[phase], place: undefined, isUnknown: isBefore, isBefore };
  }
  const label = frame?.label ?? '';
  const place = frame?.place;
  if (place === undefined || grouping === 'line') {
    return { label, place, isUnknown: isBefore, isBefore };
  }
  const name = strings[columns.name[row] ?? 0] ?? '';
  return { label: grouping === 'file' ? place.file : `${name} (${place.file})`, place, isUnknown: false, isBefore };
}

/** The moment that a time is in; that of the first for a time before it. */
export function momentAt({ at }: MemoryData, time: number): number {
  let [low, high] = [0, at.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((at[middle] ?? 0) <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return Math.max(0, low - 1);
}

/** When a moment's part of the range ends. */
export function endOf({ at, to }: MemoryData, moment: number): number {
  return at[moment + 1] ?? to;
}

/** The moment of the peak, else that at which the most is in use of what there is. */
export function highestMoment(data: MemoryData): number {
  const highest = data.inUse.reduce((best, it, moment) => (it > (data.inUse[best] ?? 0) ? moment : best), 0);
  const ofPeak = data.event.indexOf(data.peak.event);
  return data.inUse[ofPeak] === data.peak.bytes ? ofPeak : highest;
}

/** The band that covers a number of bytes at a moment. */
export function bandAt({ bands, tops }: MemoryLayout, moment: number, bytes: number): number | undefined {
  const found = bands.findIndex((_, band) => bytes < (tops[band + 1]?.[moment] ?? 0));
  return bytes < 0 || found === -1 ? undefined : found;
}

/** The listed allocations that are alive at a moment, of a band or of all. */
export function blocksAt({ data }: MemoryLayout, moment: number, band: Band | undefined): number[] {
  const event = data.event[moment] ?? -1;
  const { from, to, holder } = data.blocks;
  const isAlive = (block: number) => {
    const [begin, end] = [from[block] ?? -1, to[block] ?? -1];
    return begin <= event && (end === -1 || end > event);
  };
  const isWanted = (block: number) => band === undefined || band.holders.has(holder[block] ?? -1);
  return holder.map((_, block) => block).filter((it) => isAlive(it) && isWanted(it));
}

/** Round sizes for an axis up to `most`: about `n`. */
export function sizeTicks(most: number, n: number): number[] {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(1, most)) / Math.log(1024)));
  const rough = most / unit / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].map((it) => it * power).find((it) => it >= rough) ?? 10 * power) * unit;
  return Array.from({ length: Math.floor(most / step) }, (_, index) => (index + 1) * step);
}

/** Where a label fits into a band: moments from one to before another in which the band has room at one height, in bytes. */
export interface LabelPlace {
  from: number;
  to: number;
  middle: number;
}

/** The place around the moment at which the band is thickest, of moments in view; `least` is how many bytes high a label is. */
export function labelPlace(
  { data, tops }: MemoryLayout,
  band: number,
  view: Span,
  least: number,
): LabelPlace | undefined {
  const [low, high] = [tops[band] ?? [], tops[band + 1] ?? []];
  const thickness = (moment: number) => (high[moment] ?? 0) - (low[moment] ?? 0);
  const [first, last] = [momentAt(data, view.from), momentAt(data, view.to)];
  let best = first;
  for (let moment = first; moment <= last; moment++) {
    best = thickness(moment) > thickness(best) ? moment : best;
  }
  if (thickness(best) < least) {
    return undefined;
  }
  let [bottom, top] = [low[best] ?? 0, high[best] ?? 0];
  const fits = (moment: number) => {
    const [down, up] = [Math.max(bottom, low[moment] ?? 0), Math.min(top, high[moment] ?? 0)];
    if (up - down < least) {
      return false;
    }
    [bottom, top] = [down, up];
    return true;
  };
  let [from, to] = [best, best + 1];
  while (from > first && fits(from - 1)) {
    from -= 1;
  }
  while (to <= last && fits(to)) {
    to += 1;
  }
  return { from, to, middle: (bottom + top) / 2 };
}
