/** Where points and roofs are on a page whose axes are logarithmic. Nothing here draws. */

import type { Point, RooflineData } from './data';

/** A part of an axis, as logarithms to the base 10. */
export interface Range {
  from: number;
  to: number;
}

/** What is visible: FLOPs per byte from left to right, FLOP/s from the bottom to the top. */
export interface Axes {
  x: Range;
  y: Range;
}

/** Room around what is drawn, in powers of 10. */
const MARGIN = 0.3;
/** Powers of 10 that an axis has at least: what is close together is not made to look far apart. */
const MIN_RANGE = 2;
/** Radius of points, in pixels: of the smallest, and of one that has all the time. */
const MIN_RADIUS = 3;
const MAX_RADIUS = 22;

type Device = NonNullable<RooflineData['device']>;

/** FLOPs per byte at which a peak is reached: to the left of it, memory is the limit. */
export function ridge({ bandwidth }: Device, flops: number): number {
  return flops / bandwidth;
}

/** The axes on which all points, and the roofs above them, are visible. */
export function axesOf({ device, points }: RooflineData): Axes {
  const x = points.map((it) => it.intensity);
  const y = points.map((it) => it.rate);
  for (const { flops } of device?.peaks ?? []) {
    y.push(flops);
    if (device !== null && device.bandwidth > 0) {
      x.push(ridge(device, flops));
    }
  }
  return { x: around(x), y: around(y) };
}

function around(values: number[]): Range {
  const logs = values.filter((it) => it > 0).map(Math.log10);
  const [least, most] = logs.length === 0 ? [0, 0] : [Math.min(...logs), Math.max(...logs)];
  const missing = Math.max(0, MIN_RANGE - (most - least)) / 2;
  return { from: least - missing - MARGIN, to: most + missing + MARGIN };
}

/** The roof of a precision, from left to right, as logarithms: along what memory allows, then along the peak. */
export function roof(device: Device, flops: number, { x, y }: Axes): { x: number; y: number }[] {
  const peak = Math.log10(flops);
  if (device.bandwidth <= 0) {
    return [
      { x: x.from, y: peak },
      { x: x.to, y: peak },
    ];
  }
  const bandwidth = Math.log10(device.bandwidth);
  const first = Math.max(x.from, y.from - bandwidth);
  return [
    { x: first, y: first + bandwidth },
    { x: peak - bandwidth, y: peak },
    { x: x.to, y: peak },
  ];
}

/** The powers of 10 on an axis, thinned out to at most `most`. */
export function ticks({ from, to }: Range, most: number): number[] {
  const first = Math.ceil(from);
  const all = Array.from({ length: Math.max(0, Math.floor(to) - first + 1) }, (_, index) => first + index);
  const each = Math.max(1, Math.ceil(all.length / Math.max(1, most)));
  return all.filter((_, index) => index % each === 0);
}

/** How large a point is: its area goes by its share of the time of those that are shown. */
export function radius(point: Point, allTime: number): number {
  const share = allTime > 0 ? point.time / allTime : 0;
  return Math.max(MIN_RADIUS, MAX_RADIUS * Math.sqrt(share));
}

/** Where a logarithm is, in pixels from the begin of its axis. */
export function at(log: number, { from, to }: Range, length: number): number {
  return ((log - from) / (to - from)) * length;
}

/** The point that a key goes to: the others by their time, which is their order. */
export function neighbour(count: number, selected: number | undefined, key: string): number | undefined {
  const last = count - 1;
  const current = selected ?? -1;
  switch (key) {
    case 'ArrowRight':
    case 'ArrowDown':
      return Math.min(last, current + 1);
    case 'ArrowLeft':
    case 'ArrowUp':
      return Math.max(0, current - 1);
    case 'Home':
    case 'm':
      return 0;
    case 'End':
      return last;
    default:
      return undefined;
  }
}
