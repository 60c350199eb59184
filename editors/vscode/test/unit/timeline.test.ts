import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { LaneData, TimelineData } from '../../webview/timeline/data';
import {
  boxAt,
  drawnOf,
  headGraphs,
  launchedIn,
  layOutTimeline,
  nodesOf,
  stackOf,
  sumsOf,
  ticks,
} from '../../webview/timeline/layout';

const lane = (values: Partial<LaneData>): LaneData => ({
  kind: 'thread',
  label: '1',
  device: null,
  start: [],
  duration: [],
  depth: [],
  node: [],
  merged: { box: [], count: [], busy: [] },
  launch: { box: [], lane: [], at: [] },
  ...values,
});

/** A thread on lines 3 and 7 that launches two kernels, of which the second stands for three; times begin at 1000. */
const data: TimelineData = {
  schema: 'perfline.timeline/1',
  title: '',
  rank: 0,
  steps: [[4, 1000, 1100]],
  step: 4,
  duration: 5000,
  from: 1000,
  to: 1100,
  resolution: 1,
  kinds: ['user', 'operator', 'device'],
  strings: ['', 'train', 'train.py', 'forward', 'model.py', 'aten::mm', 'gemm'],
  frames: { name: [1, 3, 5, 6], kind: [0, 0, 1, 2], file: [2, 4, 0, 0], line: [3, 7, 0, 0], evidence: [0, 0, 0, 0] },
  // Root, train, forward below it, aten::mm below that, gemm below that.
  nodes: { parent: [0, 0, 1, 2, 3], frame: [0, 0, 1, 2, 3] },
  lanes: [
    lane({ start: [0, 10, 20], duration: [100, 60, 30], depth: [0, 1, 2], node: [1, 2, 3] }),
    lane({
      kind: 'stream',
      label: '7',
      device: 0,
      start: [30, 60],
      duration: [10, 40],
      depth: [0, 0],
      node: [4, 4],
      merged: { box: [1], count: [3], busy: [20] },
      launch: { box: [0, 1], lane: [0, 0], at: [22, 90] },
    }),
  ],
  busy: [{ device: 0, parts: [0, 1000] }],
  memory: [{ device: 'cuda:0', parts: [2048, 1024] }],
  ranks: null,
};
const layout = layOutTimeline(data);

test('streams stand above threads, and boxes are found by row and time', () => {
  assert.deepEqual(
    layout.rows.map((it) => [it.lane, it.depth, [...it.boxes]]),
    [
      [1, 0, [3, 4]],
      [0, 0, [0]],
      [0, 1, [1]],
      [0, 2, [2]],
    ],
  );
  assert.deepEqual([boxAt(layout, 0, 1035), boxAt(layout, 0, 1045), boxAt(layout, 3, 1020)], [3, undefined, 2]);
});

test('what is narrower than a pixel takes one, and nothing is drawn twice', () => {
  const [row] = layout.rows;
  assert.ok(row !== undefined);
  assert.deepEqual(drawnOf(layout, row, { from: 1000, to: 1100 }, 200), [
    { box: 3, x: 60, width: 20 },
    { box: 4, x: 120, width: 80 },
  ]);
  const narrow = drawnOf(layout, row, { from: 0, to: 5000 }, 50);
  assert.deepEqual(
    narrow.map((it) => [it.box, it.width]),
    [[3, 1]],
  );
});

test('a box knows its stack, a call what it launched, a search what is below a match', () => {
  assert.deepEqual(
    stackOf(layout, 3).map((it) => it.label),
    ['gemm', 'aten::mm', 'forward (model.py:7)', 'train (train.py:3)'],
  );
  assert.deepEqual([launchedIn(layout, 0), launchedIn(layout, 2), launchedIn(layout, 3)], [[3, 4], [3], []]);
  assert.deepEqual([...nodesOf(layout, (frame) => frame === 1)], [0, 0, 1, 1, 1]);
});

test('sums by line count each instant of a thread once', () => {
  const sums = (from: number, to: number) =>
    sumsOf(layout, { from, to }).map((it) => [it.label, it.thread, it.device, it.idle]);
  assert.deepEqual(sums(1000, 1100), [
    ['forward (model.py:7)', 60, 10, 0],
    ['train (train.py:3)', 40, 0, 0],
    // Of several events the line is not one.
    ['short events of several lines', 0, 20, 0],
  ]);
  assert.deepEqual(sums(1070, 1090), [
    ['train (train.py:3)', 20, 0, 0],
    ['short events of several lines', 0, 10, 0],
  ]);
});

test('graphs above the lanes are as high as their largest part', () => {
  const graphs = headGraphs(data).map((it) => [it.title, it.most, it.textOf(it.parts[1] ?? 0)]);
  assert.deepEqual(graphs, [
    ['device 0 busy', 1000, 'device 0 is busy 100 % of the time'],
    ['memory of cuda:0, up to 2 KiB', 2048, 'cuda:0: 1 KiB in use'],
  ]);
});

test('an axis has round times', () => {
  assert.deepEqual(ticks({ from: 130, to: 1010 }, 5), [200, 400, 600, 800, 1000]);
  assert.deepEqual(ticks({ from: -5, to: 5 }, 2), [-5, 0, 5]);
});
