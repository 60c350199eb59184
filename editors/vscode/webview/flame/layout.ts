/** Where the boxes of a flame graph are. Amounts are the horizontal axis, so that zooming lays out nothing anew. */

import { add, at, type Tree, withAllBelow } from './tree';

export interface Layout {
  tree: Tree;
  total: Float64Array;
  /** Of two runs, the same of the other one. */
  other: Float64Array | undefined;
  /** Of two runs, what the new one has more on each node and on all below it, beyond the noise. */
  beyond: Float64Array | undefined;
  /** Where each node begins, in amounts; of siblings the largest is the first. */
  start: Float64Array;
  depth: Int32Array;
  /** The nodes of each depth from left to right; the root is alone in the first. Nodes without an amount are in none. */
  rows: Int32Array[];
}

/** A part of the horizontal axis. */
export interface Span {
  from: number;
  to: number;
}

export function layOut(tree: Tree): Layout {
  const n = tree.parent.length;
  const { self: total, other, beyond } = withAllBelow(tree);
  const children = childrenOf(tree, total);
  const start = new Float64Array(n);
  const depth = new Int32Array(n);
  const rows: number[][] = [];
  // The last one is taken first.
  const open = [0];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const level = at(depth, node);
    (rows[level] ??= []).push(node);
    let next = at(start, node) + at(total, node);
    // Backwards, from the end of what children need: what is on the node itself is to their right.
    const below = children(node);
    next -= at(tree.self, node);
    for (let index = below.length - 1; index >= 0; index--) {
      const child = at(below, index);
      next -= at(total, child);
      start[child] = next;
      depth[child] = level + 1;
      open.push(child);
    }
  }
  return { tree, total, other, beyond, start, depth, rows: rows.map((it) => Int32Array.from(it)) };
}

/** The children of each node that have an amount, the largest first, those of equal amounts as they stand. */
function childrenOf({ parent }: Tree, total: Float64Array): (node: number) => Int32Array {
  const n = parent.length;
  const first = new Int32Array(n + 1);
  for (let node = 1; node < n; node++) {
    if (at(total, node) > 0) {
      add(first, at(parent, node) + 1, 1);
    }
  }
  for (let node = 0; node < n; node++) {
    add(first, node + 1, at(first, node));
  }
  const free = first.slice();
  const children = new Int32Array(at(first, n));
  for (let node = 1; node < n; node++) {
    if (at(total, node) > 0) {
      children[at(free, at(parent, node))] = node;
      add(free, at(parent, node), 1);
    }
  }
  for (let node = 0; node < n; node++) {
    const [from, to] = [at(first, node), at(first, node + 1)];
    if (to - from > 1) {
      children.subarray(from, to).sort((a, b) => at(total, b) - at(total, a) || a - b);
    }
  }
  return (node) => children.subarray(at(first, node), at(first, node + 1));
}

/** The part of the axis that a node takes. */
export function spanOf({ start, total }: Layout, node: number): Span {
  return { from: at(start, node), to: at(start, node) + at(total, node) };
}

/** The node at a depth and an amount of the axis. */
export function nodeAt(layout: Layout, level: number, amount: number): number | undefined {
  const row = layout.rows[level];
  if (row === undefined || amount < 0) {
    return undefined;
  }
  const node = row[firstEndingAfter(layout, row, amount, 0)];
  return node !== undefined && at(layout.start, node) <= amount ? node : undefined;
}

/** What is drawn of one depth. */
export interface Box {
  /** Nothing where several nodes are too narrow to be seen by themselves. */
  node: number | undefined;
  /** In pixels. */
  x: number;
  width: number;
}

/** Nodes below this many pixels are drawn together. */
const MIN_WIDTH = 1;

/** What is to be seen of a depth, `width` pixels wide: at most as many boxes as pixels, however many nodes there are. */
export function boxesOf(layout: Layout, level: number, view: Span, width: number): Box[] {
  const row = layout.rows[level];
  const scale = width / (view.to - view.from);
  const boxes: Box[] = [];
  if (row === undefined || !Number.isFinite(scale)) {
    return boxes;
  }
  let index = firstEndingAfter(layout, row, view.from, 0);
  while (index < row.length) {
    const node = at(row, index);
    const { from, to } = spanOf(layout, node);
    if (from >= view.to) {
      break;
    }
    const x = Math.max(0, (from - view.from) * scale);
    const size = Math.min(width, (to - view.from) * scale) - x;
    if (size >= MIN_WIDTH) {
      boxes.push({ node, x, width: size });
      index += 1;
    } else {
      const last = boxes.at(-1);
      if (last?.node === undefined && last !== undefined && x <= last.x + last.width) {
        last.width = x + MIN_WIDTH - last.x;
      } else {
        boxes.push({ node: undefined, x, width: MIN_WIDTH });
      }
      index = firstEndingAfter(layout, row, view.from + (x + MIN_WIDTH) / scale, index + 1);
    }
  }
  return boxes;
}

/** The first index from `low` on whose node ends after an amount. */
function firstEndingAfter({ start, total }: Layout, row: Int32Array, amount: number, low: number): number {
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const node = at(row, middle);
    if (at(start, node) + at(total, node) > amount) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/** The sum of the frames that are wanted: what stands below another one of them counts once. */
export function sumOf({ tree, total }: Layout, isWanted: (frame: number) => boolean): number {
  const isBelow = new Uint8Array(tree.parent.length);
  let sum = 0;
  for (let node = 1; node < tree.parent.length; node++) {
    const isCounted = at(isBelow, at(tree.parent, node)) === 1;
    if (isCounted || isWanted(at(tree.frame, node))) {
      isBelow[node] = 1;
      sum += isCounted ? 0 : at(total, node);
    }
  }
  return sum;
}

/** What a frame costs in a part of the tree. */
export interface FrameSum {
  frame: number;
  total: number;
  self: number;
  /** Of two runs, the total of the other one. */
  other: number;
  /** Of two runs, what the new one has more, beyond the noise. */
  beyond: number;
}

/**
 * The frames at and below a node by what they cost in total there, the most expensive first; of two runs, those first that differ
 * most.
 */
export function framesBelow({ tree, total, other, beyond }: Layout, root: number, limit: number): FrameSum[] {
  const { parent, frame, self } = tree;
  const isBelow = new Uint8Array(parent.length);
  isBelow[root] = 1;
  const sums = new Map<number, FrameSum>();
  // Parents stand first, so that what is above a node is known when its turn comes.
  for (let node = Math.max(root, 1); node < parent.length; node++) {
    if (node !== root && at(isBelow, at(parent, node)) === 0) {
      continue;
    }
    isBelow[node] = 1;
    const row = at(frame, node);
    let sum = sums.get(row);
    if (sum === undefined) {
      sum = { frame: row, total: 0, self: 0, other: 0, beyond: 0 };
      sums.set(row, sum);
    }
    sum.self += at(self, node);
    sum.total += isAbove(tree, node, root) ? 0 : at(total, node);
    if (other !== undefined && beyond !== undefined && !isAbove(tree, node, root)) {
      sum.other += at(other, node);
      sum.beyond += at(beyond, node);
    }
  }
  const found = [...sums.values()].filter((it) => it.total > 0 || it.other > 0);
  const weight = (it: FrameSum) => (other === undefined ? it.total : Math.abs(it.total - it.other));
  return found.sort((a, b) => weight(b) - weight(a) || b.total - a.total || a.frame - b.frame).slice(0, limit);
}

/** Whether the frame of a node is on its stack already, up to `root`. */
function isAbove({ parent, frame }: Tree, node: number, root: number): boolean {
  const wanted = at(frame, node);
  for (let above = node; above !== root && above !== 0;) {
    above = at(parent, above);
    if (above !== 0 && at(frame, above) === wanted) {
      return true;
    }
  }
  return false;
}
