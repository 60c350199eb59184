/** Where the boxes of a timeline are, and what they add up to. Nothing here draws. */

import { type Frame, framesOf } from '../flame/data';
import type { Span } from '../flame/layout';
import { text as amountOf } from '../flame/numbers';
import { at } from '../flame/tree';
import type { LaneData, TimelineData } from './data';

/** A line of boxes that do not overlap, in order of time. */
export interface Row {
  lane: number;
  depth: number;
  boxes: Int32Array;
}

/** All boxes of all lanes as columns; times count from the first event of the recording. */
export interface TimelineLayout {
  data: TimelineData;
  frames: Frame[];
  start: Float64Array;
  end: Float64Array;
  node: Int32Array;
  lane: Int32Array;
  depth: Int32Array;
  /** How many boxes it stands for, and their time. */
  count: Int32Array;
  busy: Float64Array;
  /** The lane that it was launched on, or -1, and when. */
  launchLane: Int32Array;
  launchAt: Float64Array;
  /** From the top: what devices do stands above the threads, whose stacks are deep. */
  rows: Row[];
  /** By box, its row. */
  rowOf: Int32Array;
}

const ORDER: LaneData['kind'][] = ['annotations', 'rank', 'idle', 'stream', 'thread'];

export function layOutTimeline(data: TimelineData): TimelineLayout {
  const n = data.lanes.reduce((sum, it) => sum + it.start.length, 0);
  const layout: TimelineLayout = {
    data,
    frames: framesOf(data),
    start: new Float64Array(n),
    end: new Float64Array(n),
    node: new Int32Array(n),
    lane: new Int32Array(n),
    depth: new Int32Array(n),
    count: new Int32Array(n).fill(1),
    busy: new Float64Array(n),
    launchLane: new Int32Array(n).fill(-1),
    launchAt: new Float64Array(n),
    rows: [],
    rowOf: new Int32Array(n),
  };
  const rows: (Row & { list: number[] })[] = [];
  let first = 0;
  data.lanes.forEach((lane, index) => {
    const ofLane: (Row & { list: number[] })[] = [];
    lane.start.forEach((start, row) => {
      const box = first + row;
      const depth = lane.depth[row] ?? 0;
      layout.start[box] = data.from + start;
      layout.end[box] = data.from + start + (lane.duration[row] ?? 0);
      layout.node[box] = lane.node[row] ?? 0;
      layout.lane[box] = index;
      layout.depth[box] = depth;
      layout.busy[box] = lane.duration[row] ?? 0;
      const list = (ofLane[depth] ??= { lane: index, depth, boxes: new Int32Array(), list: [] });
      list.list.push(box);
    });
    lane.merged.box.forEach((row, place) => {
      layout.count[first + row] = lane.merged.count[place] ?? 1;
      layout.busy[first + row] = lane.merged.busy[place] ?? 0;
    });
    lane.launch.box.forEach((row, place) => {
      layout.launchLane[first + row] = lane.launch.lane[place] ?? -1;
      layout.launchAt[first + row] = data.from + (lane.launch.at[place] ?? 0);
    });
    rows.push(...Object.values(ofLane));
    first += lane.start.length;
  });
  const rank = (row: Row) => ORDER.indexOf(data.lanes[row.lane]?.kind ?? 'thread');
  rows.sort((a, b) => rank(a) - rank(b) || a.lane - b.lane || a.depth - b.depth);
  layout.rows = rows.map(({ lane, depth, list }) => ({ lane, depth, boxes: Int32Array.from(list) }));
  layout.rows.forEach(({ boxes }, row) => boxes.forEach((box) => (layout.rowOf[box] = row)));
  return layout;
}

/** The first place in a row whose box ends after a time. */
export function firstAfter({ end }: TimelineLayout, { boxes }: Row, time: number, low = 0): number {
  let high = boxes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(end, at(boxes, middle)) > time) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/** The box of a row at a time. */
export function boxAt(layout: TimelineLayout, row: number, time: number): number | undefined {
  const line = layout.rows[row];
  const box = line?.boxes[firstAfter(layout, line, time)];
  return box !== undefined && at(layout.start, box) <= time ? box : undefined;
}

/** What is drawn of a box, in pixels. */
export interface Drawn {
  /** Nothing where several are too narrow to be seen by themselves. */
  box: number | undefined;
  x: number;
  width: number;
}

/** What is to be seen of a row: at most as many boxes as pixels. */
export function drawnOf(layout: TimelineLayout, row: Row, view: Span, width: number): Drawn[] {
  const scale = width / (view.to - view.from);
  const drawn: Drawn[] = [];
  let place = firstAfter(layout, row, view.from);
  while (place < row.boxes.length) {
    const box = at(row.boxes, place);
    const [start, end] = [at(layout.start, box), at(layout.end, box)];
    if (start >= view.to) {
      break;
    }
    const x = Math.max(0, (start - view.from) * scale);
    const size = Math.min(width, (end - view.from) * scale) - x;
    if (size >= 1) {
      drawn.push({ box, x, width: size });
      place += 1;
    } else {
      drawn.push({ box: at(layout.count, box) > 1 ? undefined : box, x, width: 1 });
      place = firstAfter(layout, row, view.from + (x + 1) / scale, place + 1);
    }
  }
  return drawn;
}

/** The frames of the stack of a box, innermost first. */
export function stackOf({ data, node, frames }: TimelineLayout, box: number): Frame[] {
  const stack: Frame[] = [];
  for (let here = at(node, box); here !== 0; here = data.nodes.parent[here] ?? 0) {
    const frame = frames[data.nodes.frame[here] ?? 0];
    if (frame !== undefined) {
      stack.push(frame);
    }
  }
  return stack;
}

/** By node, whether it or a caller of it is wanted. */
export function nodesOf({ data }: TimelineLayout, isWanted: (frame: number) => boolean): Uint8Array {
  const { parent, frame } = data.nodes;
  const found = new Uint8Array(parent.length);
  for (let node = 1; node < parent.length; node++) {
    found[node] = at(found, parent[node] ?? 0) === 1 || isWanted(frame[node] ?? 0) ? 1 : 0;
  }
  return found;
}

/** The boxes of streams that were launched while a box of a thread was open. */
export function launchedIn(layout: TimelineLayout, box: number): number[] {
  const { start, end, lane, launchLane, launchAt } = layout;
  const launched: number[] = [];
  for (let other = 0; other < start.length; other++) {
    const time = at(launchAt, other);
    if (at(launchLane, other) === at(lane, box) && time >= at(start, box) && time < at(end, box)) {
      launched.push(other);
    }
  }
  return launched;
}

/** What a line took in a span of time, in nanoseconds. */
export interface LineSum {
  label: string;
  place: Frame['place'];
  thread: number;
  device: number;
  idle: number;
}

const SEVERAL = 'short events of several lines';

/** Times by the innermost line of the user's code, those of the largest sum first. */
export function sumsOf(layout: TimelineLayout, { from, to }: Span): LineSum[] {
  const sums = new Map<string, LineSum>();
  const add = (box: number, amount: number) => {
    const frame = stackOf(layout, box).find(
      (it) => it.kind === 'user' || it.kind === 'library' || it.kind === 'noLine',
    );
    const [label, place] = at(layout.count, box) > 1 ? [SEVERAL] : [frame?.label ?? 'no line is known', frame?.place];
    const sum = sums.get(label) ?? { label, place, thread: 0, device: 0, idle: 0 };
    sums.set(label, sum);
    const kind = layout.data.lanes[at(layout.lane, box)]?.kind;
    if (kind === 'stream') {
      sum.device += amount;
    } else if (kind === 'idle') {
      sum.idle += amount;
    } else {
      sum.thread += amount;
    }
  };
  // Of nested boxes what is in none of those inside.
  let around: number[] = [];
  let lane = -1;
  for (let box = 0; box < layout.start.length; box++) {
    const kind = layout.data.lanes[at(layout.lane, box)]?.kind;
    const amount = timeWithin(layout, box, from, to);
    if (kind === 'annotations' || kind === 'rank' || amount === 0) {
      continue;
    }
    add(box, amount);
    if (kind === 'thread') {
      if (lane !== at(layout.lane, box)) {
        [lane, around] = [at(layout.lane, box), []];
      }
      const depth = at(layout.depth, box);
      const outer = depth > 0 ? around[depth - 1] : undefined;
      if (outer !== undefined) {
        add(outer, -amount);
      }
      around[depth] = box;
    }
  }
  const total = (it: LineSum) => it.thread + it.device + it.idle;
  return [...sums.values()].filter((it) => total(it) > 0).sort((a, b) => total(b) - total(a));
}

/** The time of a box in a span; of several that of the part of their time that the span has of theirs. */
function timeWithin({ start, end, busy }: TimelineLayout, box: number, from: number, to: number): number {
  const whole = at(end, box) - at(start, box);
  const inside = Math.min(to, at(end, box)) - Math.max(from, at(start, box));
  return whole <= 0 || inside <= 0 ? 0 : (at(busy, box) * inside) / whole;
}

/** Round times for an axis: so far apart that there are about `n`. */
export function ticks({ from, to }: Span, n: number): number[] {
  const rough = (to - from) / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? 10 * power;
  const first = Math.ceil(from / step);
  const count = Math.max(0, Math.floor(to / step) - first + 1);
  return Array.from({ length: count }, (_, index) => (first + index) * step);
}

/** What stands above the lanes: an amount in each of equal parts of the range. */
export interface HeadGraph {
  /** What is said of a part. */
  textOf: (amount: number) => string;
  /** What stands in the graph. */
  title: string;
  parts: number[];
  /** Of the height of the graph. */
  most: number;
  colour: 'device' | 'operator';
}

/** How busy devices are, and how much memory is in use. */
export function headGraphs({ busy, memory }: TimelineData): HeadGraph[] {
  return [
    ...busy.map(({ device, parts }): HeadGraph => ({
      textOf: (amount) => `device ${device} is busy ${amount / 10} % of the time`,
      title: `device ${device} busy`,
      parts,
      most: 1000,
      colour: 'device',
    })),
    ...memory.map(({ device, parts }): HeadGraph => {
      const most = Math.max(1, ...parts);
      return {
        textOf: (amount) => `${device}: ${amountOf(amount, 'bytes')} in use`,
        title: `memory of ${device}, up to ${amountOf(most, 'bytes')}`,
        parts,
        most,
        colour: 'operator',
      };
    }),
  ];
}
