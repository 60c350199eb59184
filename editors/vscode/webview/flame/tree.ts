/** Trees of stacks with amounts, and other trees that are made from them. Nothing here draws. */

import type { Frame } from './data';

/** By node, parents first; node 0 is the root. */
export interface Tree {
  parent: Int32Array;
  frame: Int32Array;
  /** What is on the node itself: nanoseconds or bytes. */
  self: Float64Array;
  /** Of two runs, what the other one has on the node itself. */
  other?: Float64Array;
  /** Of two runs, what the new one has more on the node itself, beyond the noise. */
  beyond?: Float64Array;
}

/** What is on each node and on all below it. */
export function totals({ parent, self }: Pick<Tree, 'parent' | 'self'>): Float64Array {
  const total = Float64Array.from(self);
  for (let node = total.length - 1; node > 0; node--) {
    add(total, at(parent, node), at(total, node));
  }
  return total;
}

/** Makes nodes of a tree that is not there yet. */
class Builder {
  readonly parents = [0];
  readonly frames = [-1];
  readonly amounts = [0];
  private readonly others = [0];
  private readonly beyond = [0];
  private readonly index = new Map<number, number>();

  constructor(
    private readonly nFrames: number,
    /** What the tree is made from. */
    private readonly from: Tree,
  ) {}

  push(parent: number, frame: number): number {
    const key = parent * this.nFrames + frame;
    let node = this.index.get(key);
    if (node === undefined) {
      node = this.parents.length;
      this.index.set(key, node);
      this.parents.push(parent);
      this.frames.push(frame);
      this.amounts.push(0);
      this.others.push(0);
      this.beyond.push(0);
    }
    return node;
  }

  add(node: number, { amount, other, beyond }: Amounts): void {
    this.amounts[node] = (this.amounts[node] ?? 0) + amount;
    this.others[node] = (this.others[node] ?? 0) + other;
    this.beyond[node] = (this.beyond[node] ?? 0) + beyond;
  }

  tree(): Tree {
    return {
      parent: Int32Array.from(this.parents),
      frame: Int32Array.from(this.frames),
      self: Float64Array.from(this.amounts),
      ...(this.from.other === undefined ? {} : { other: Float64Array.from(this.others) }),
      ...(this.from.beyond === undefined ? {} : { beyond: Float64Array.from(this.beyond) }),
    };
  }
}

/** What is on a node, with or without what is below it. */
interface Amounts {
  amount: number;
  other: number;
  beyond: number;
}

/** What is on a node itself. */
function ownOf({ self, other, beyond }: Tree, node: number): Amounts {
  return {
    amount: at(self, node),
    other: other === undefined ? 0 : at(other, node),
    beyond: beyond === undefined ? 0 : at(beyond, node),
  };
}

/**
 * The same amounts on the lines of user code alone, with calls, operators and kernels below them: what is in a library is on
 * the innermost line of user code that led there. Of a stack without user code the outermost line stays, which is the line that
 * is charged. (`StackBooks::of_user_code` does the same for exports.)
 */
export function ofUserCode(tree: Tree, frames: readonly Frame[]): Tree {
  const { parent, frame } = tree;
  const builder = new Builder(frames.length, tree);
  const node = new Int32Array(parent.length);
  // Whether the folded node holds nothing but the outermost line of a library.
  const isLibrary = new Uint8Array(parent.length);
  for (let it = 1; it < parent.length; it++) {
    const above = at(parent, it);
    const kind = frames[at(frame, it)]?.kind;
    const base = at(node, above);
    isLibrary[it] = at(isLibrary, above);
    if (kind === 'user') {
      node[it] = builder.push(at(isLibrary, above) === 1 ? 0 : base, at(frame, it));
      isLibrary[it] = 0;
    } else if (kind === 'library') {
      node[it] = base === 0 ? builder.push(0, at(frame, it)) : base;
      isLibrary[it] = base === 0 ? 1 : at(isLibrary, above);
    } else {
      node[it] = builder.push(base, at(frame, it));
    }
    builder.add(at(node, it), ownOf(tree, it));
  }
  return builder.tree();
}

/** The tree with what is below each node added to it. */
export function withAllBelow(tree: Tree): Tree {
  const { parent, other, beyond } = tree;
  return {
    ...tree,
    self: totals(tree),
    ...(other === undefined ? {} : { other: totals({ parent, self: other }) }),
    ...(beyond === undefined ? {} : { beyond: totals({ parent, self: beyond }) }),
  };
}

/** The tree upside down: at its root what costs, below it what led there. */
export function bottomUp(tree: Tree, nFrames: number): Tree {
  const builder = new Builder(nFrames, tree);
  for (let node = 1; node < tree.parent.length; node++) {
    invert(builder, tree, node, ownOf(tree, node));
  }
  return builder.tree();
}

/** All callers of one frame: it is the only one at the root, with everything that is below it. */
export function callersOf(tree: Tree, wanted: number, nFrames: number): Tree {
  const { parent, frame } = tree;
  const all = withAllBelow(tree);
  const builder = new Builder(nFrames, tree);
  const isBelow = new Uint8Array(parent.length);
  for (let node = 1; node < parent.length; node++) {
    const isWanted = at(frame, node) === wanted;
    const isCounted = at(isBelow, at(parent, node)) === 1;
    isBelow[node] = isWanted || isCounted ? 1 : 0;
    // Of a function that calls itself, the outermost call counts.
    if (isWanted && !isCounted) {
      invert(builder, tree, node, ownOf(all, node));
    }
  }
  return builder.tree();
}

function invert(builder: Builder, { parent, frame }: Tree, leaf: number, amounts: Amounts): void {
  if (amounts.amount === 0 && amounts.other === 0) {
    return;
  }
  let inverted = 0;
  for (let node = leaf; node !== 0; node = at(parent, node)) {
    inverted = builder.push(inverted, at(frame, node));
  }
  builder.add(inverted, amounts);
}

/** Adds to an element. */
export function add(array: Int32Array | Float64Array, index: number, amount: number): void {
  array[index] = at(array, index) + amount;
}

/** An element that is there. */
export function at(array: Int32Array | Float64Array | Uint8Array, index: number): number {
  return array[index] ?? 0;
}
