/** What memory over time is drawn from: the object `perfline.memoryTimeline/1`, as docs/pictures.md describes it. */

import type { FlameData } from '../flame/data';

export type HolderPhase = 'before' | 'forward' | 'backward' | 'optimizer';

export interface MemoryData extends Pick<FlameData, 'title' | 'kinds' | 'strings' | 'frames'> {
  schema: 'perfline.memoryTimeline/1';
  /** Rank and ordinal of each device there is (-1 of the memory of the host), and what it is called. */
  devices: [number, number][];
  names: string[];
  rank: number;
  device: number;
  /** What times count: nanoseconds or events, from the first event. */
  unit: 'ns' | 'events';
  /** Of the recording. */
  duration: number;
  from: number;
  to: number;
  /** Name and begin of each step. */
  steps: [string, number][];
  /** Of the recording; the event is -1 where the most was in use before the first. */
  peak: { bytes: number; event: number; at: number };
  /** Who holds memory: rows of `frames`, and when it was allocated. */
  holders: { frame: number[]; phase: HolderPhase[] };
  /** By moment: when its part of the range begins, after which event it is, bytes in use, and the most bytes reserved in the part. */
  at: number[];
  event: number[];
  inUse: number[];
  reserved: number[];
  /** Holders with what they hold at each moment. */
  rows: { holder: number; bytes: number[] }[];
  /** How many other holders there are. */
  leftOut: number;
  /** The largest allocations; -1 stands for what is not known or not there. */
  blocks: {
    holder: number[];
    releasedBy: number[];
    bytes: number[];
    /** Events, and when they were. */
    from: number[];
    to: number[];
    begin: number[];
    end: number[];
  };
  segments: SegmentsData;
}

/** How what was reserved was laid out after one event: segments, the largest first, and what is in use in them. */
export interface SegmentsData {
  /** -1: before the first. */
  event: number;
  /** Bytes of all segments: reserved, not in use, and the largest piece of that. */
  reserved: number;
  free: number;
  largestFree: number;
  /** By segment. Addresses are hexadecimal. */
  address: string[];
  bytes: number[];
  stream: number[];
  isPrivate: boolean[];
  freeBytes: number[];
  largestFreeBytes: number[];
  allocations: number[];
  /** How many other segments there are. */
  leftOut: number;
  /** By segment and offset: allocations, and neighbours that are too small to be distinguished, of which `holder` can be -1. */
  blocks: {
    segment: number[];
    offset: number[];
    bytes: number[];
    used: number[];
    allocations: number[];
    holder: number[];
  };
}
