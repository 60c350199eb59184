/** What a timeline is drawn from: the object `perfline.timeline/1`, as docs/pictures.md describes it. */

import type { FlameData } from '../flame/data';

export interface LaneData {
  kind: 'annotations' | 'rank' | 'thread' | 'idle' | 'stream';
  /** Of a thread its name, of a stream and of a rank its number. */
  label: string;
  device: number | null;
  /** By box, in order of start; times count from `from`. */
  start: number[];
  duration: number[];
  depth: number[];
  node: number[];
  /** Of boxes that stand for several: how many, and their time without that between them. */
  merged: { box: number[]; count: number[]; busy: number[] };
  /** What launched boxes of streams: the lane of its thread, and when it began. */
  launch: { box: number[]; lane: number[]; at: number[] };
}

export interface TimelineData extends Pick<FlameData, 'title' | 'kinds' | 'strings' | 'frames' | 'nodes'> {
  schema: 'perfline.timeline/1';
  rank: number;
  /** Number, begin and end of each step. */
  steps: [number, number, number][];
  /** The number of the step that is shown, if one is. */
  step: number | null;
  /** Of the recording. All times are nanoseconds; these three count from its first event. */
  duration: number;
  from: number;
  to: number;
  /** What is shorter is merged. */
  resolution: number;
  lanes: LaneData[];
  /** How busy each device is in equal parts of the range, in thousandths. */
  busy: { device: number; parts: number[] }[];
  /** The most memory that is in use in equal parts of the range, in bytes. */
  memory: { device: string; parts: number[] }[];
  /** Of the lanes of ranks, if there are some: how many other ranks there are, and by how much times may be wrong beside each other where clocks were aligned. */
  ranks: { leftOut: number; uncertainty: number | null } | null;
}
