/** Where segments and what is in use in them are in their picture. Nothing here draws. */

import type { SegmentsData } from './data';

/** What is in use of a segment: from a pixel on, so many of them. */
export interface Bar {
  /** The row of `blocks`. */
  block: number;
  x: number;
  width: number;
}

/** How many pixels a segment takes of the room that the largest one has. */
export function widthOf({ bytes }: SegmentsData, segment: number, room: number): number {
  const largest = bytes[0] ?? 0;
  return largest > 0 ? Math.max(1, ((bytes[segment] ?? 0) / largest) * room) : 0;
}

/** The blocks of each segment, from the first byte on. */
export function blocksBySegment({ bytes, blocks }: SegmentsData): number[][] {
  const found = bytes.map((): number[] => []);
  blocks.segment.forEach((segment, block) => found[segment]?.push(block));
  return found;
}

/** Where blocks of a segment are, for a picture in which the largest segment has so many pixels. */
export function barsOf(data: SegmentsData, of: readonly number[], room: number): Bar[] {
  const largest = data.bytes[0] ?? 0;
  const scale = largest > 0 ? room / largest : 0;
  return of.map((block) => ({
    block,
    x: (data.blocks.offset[block] ?? 0) * scale,
    width: Math.max(0.5, (data.blocks.bytes[block] ?? 0) * scale),
  }));
}

/** The bar that is at a pixel, of those that may be hit the last one: they are as wide as can be seen at least. */
export function barAt(bars: readonly Bar[], x: number): Bar | undefined {
  return bars.findLast((it) => it.x <= x && x < it.x + Math.max(1, it.width));
}
