import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { MemoryData } from '../../webview/memory/data';
import {
  bandAt,
  blocksAt,
  endOf,
  type Grouping,
  hasRoomForBefore,
  highestMoment,
  labelPlace,
  layOutMemory,
  momentAt,
  sizeTicks,
} from '../../webview/memory/layout';
import { barAt, barsOf, blocksBySegment, widthOf } from '../../webview/memory/segmentLayout';

/** Three moments: what was there before, a line in two phases, another function of its file, and 5 bytes of lines that are left out. */
const data: MemoryData = {
  schema: 'perfline.memoryTimeline/1',
  title: '',
  devices: [[0, 0]],
  names: ['cuda:0'],
  rank: 0,
  device: 0,
  unit: 'ns',
  duration: 300,
  from: 0,
  to: 300,
  steps: [['step 1', 0]],
  peak: { bytes: 165, event: 4, at: 110 },
  kinds: ['user', 'library', 'noLine'],
  strings: ['', 'before recording began', 'forward', 'model.py', 'loss'],
  frames: { name: [1, 2, 4], kind: [2, 0, 0], file: [0, 3, 3], line: [0, 7, 20], evidence: [0, 0, 0] },
  holders: { frame: [0, 1, 1, 2], phase: ['before', 'forward', 'backward', 'forward'] },
  at: [0, 100, 200],
  event: [-1, 4, 9],
  inUse: [50, 165, 90],
  reserved: [200, 200, 200],
  rows: [
    { holder: 0, bytes: [50, 50, 40] },
    { holder: 1, bytes: [0, 60, 10] },
    { holder: 2, bytes: [0, 40, 40] },
    { holder: 3, bytes: [0, 10, 0] },
  ],
  leftOut: 2,
  blocks: {
    holder: [0, 1, 2],
    releasedBy: [-1, 2, -1],
    bytes: [10, 50, 40],
    from: [-1, 2, 3],
    to: [7, 6, -1],
    begin: [-1, 20, 30],
    end: [150, 140, -1],
  },
  segments: {
    event: 4,
    reserved: 1536,
    free: 700,
    largestFree: 500,
    address: ['0x1000', '0x8000'],
    bytes: [1024, 512],
    stream: [0, 7],
    isPrivate: [false, true],
    freeBytes: [500, 200],
    largestFreeBytes: [500, 100],
    allocations: [2, 3],
    leftOut: 0,
    blocks: {
      segment: [0, 0, 1],
      offset: [0, 512, 0],
      bytes: [512, 12, 400],
      used: [512, 12, 312],
      allocations: [1, 1, 3],
      holder: [0, 1, -1],
    },
  },
};

const labels = (grouping: Grouping) =>
  layOutMemory(data, { grouping, hasBefore: true }).bands.map((it) => [it.label, it.bytes]);

test('areas add up to what is in use, however they are grouped', () => {
  for (const grouping of ['line', 'function', 'file', 'phase'] as const) {
    assert.deepEqual(layOutMemory(data, { grouping, hasBefore: true }).tops.at(-1), data.inUse, grouping);
  }
});

test('what is always there is below, phases of a line are one area, and the rest is on top', () => {
  assert.deepEqual(labels('line'), [
    ['before recording began', [50, 50, 40]],
    ['forward (model.py:7)', [0, 100, 50]],
    ['loss (model.py:20)', [0, 10, 0]],
    ['2 other lines', [0, 5, 0]],
  ]);
  assert.deepEqual(
    labels('file').map((it) => it[0]),
    ['before recording began', 'model.py', '2 other lines'],
  );
  assert.deepEqual(
    labels('function').map((it) => it[0]),
    ['before recording began', 'forward (model.py)', 'loss (model.py)', '2 other lines'],
  );
  assert.deepEqual(labels('phase').slice(1, 3), [
    ['forward pass, or outside of training', [0, 70, 10]],
    ['backward pass', [0, 40, 40]],
  ]);
});

test('a time and a size lead to a moment and an area', () => {
  const layout = layOutMemory(data, { grouping: 'line', hasBefore: true });
  assert.deepEqual(
    [-5, 0, 99, 100, 250, 900].map((time) => momentAt(data, time)),
    [0, 0, 0, 1, 2, 2],
  );
  assert.deepEqual([endOf(data, 1), endOf(data, 2)], [200, 300]);
  assert.deepEqual(
    [-1, 49, 50, 149, 162, 165].map((bytes) => bandAt(layout, 1, bytes)),
    [undefined, 0, 1, 1, 3, undefined],
  );
});

test('the peak is found where it is shown, else what is highest of what is shown', () => {
  assert.equal(highestMoment(data), 1);
  assert.equal(
    highestMoment({ ...data, event: [-1, 5, 9], inUse: [50, 70, 90], peak: { bytes: 165, event: 4, at: 0 } }),
    2,
  );
});

test('allocations that are alive are those of the moment, of the area that is selected', () => {
  const layout = layOutMemory(data, { grouping: 'line', hasBefore: true });
  assert.deepEqual(blocksAt(layout, 0, undefined), [0]);
  assert.deepEqual(blocksAt(layout, 1, undefined), [0, 1, 2]);
  assert.deepEqual(blocksAt(layout, 1, layout.bands[1]), [1, 2]);
  // Released by event 7 and 6, and in use at the end.
  assert.deepEqual(blocksAt(layout, 2, undefined), [2]);
});

test('a label stands where the area has room at one height', () => {
  const layout = layOutMemory(data, { grouping: 'line', hasBefore: true });
  const whole = { from: 0, to: 300 };
  assert.deepEqual(labelPlace(layout, 0, whole, 20), { from: 0, to: 3, middle: 20 });
  // From 50 to 150, and from 40 to 90 in the moment after.
  assert.deepEqual(labelPlace(layout, 1, whole, 20), { from: 1, to: 3, middle: 70 });
  assert.equal(labelPlace(layout, 2, whole, 20), undefined);
});

test('without what was there before recording the other areas stand at the bottom', () => {
  const layout = layOutMemory(data, { grouping: 'line', hasBefore: false });
  assert.deepEqual(layout.tops.at(-1), [0, 115, 50]);
  // It is listed all the same.
  assert.equal(layout.bands[0]?.label, 'before recording began');
  assert.deepEqual([bandAt(layout, 1, 0), bandAt(layout, 1, 99), bandAt(layout, 0, 0)], [1, 1, undefined]);
  assert.equal(labelPlace(layout, 0, { from: 0, to: 300 }, 1), undefined);
});

test('what was there before recording is not drawn at first where it leaves no room', () => {
  assert.equal(hasRoomForBefore(data), true);
  const rows = [{ holder: 0, bytes: [50, 130, 40] }, ...data.rows.slice(1)];
  assert.equal(hasRoomForBefore({ ...data, rows }), false);
});

test('ticks of sizes are round in the unit that is shown', () => {
  assert.deepEqual(sizeTicks(1000, 4), [500, 1000]);
  assert.deepEqual(
    sizeTicks(3.5 * 1024 ** 3, 4),
    [1, 2, 3].map((it) => it * 1024 ** 3),
  );
});

test('segments are as wide as they are large, with what is in use where it is', () => {
  const { segments } = data;
  assert.deepEqual([widthOf(segments, 0, 400), widthOf(segments, 1, 400)], [400, 200]);
  const [first = [], second = []] = blocksBySegment(segments);
  assert.deepEqual([first, second], [[0, 1], [2]]);
  const bars = barsOf(segments, first, 400);
  assert.deepEqual(
    bars.map(({ x, width }) => [x, width]),
    [
      [0, 200],
      [200, 4.6875],
    ],
  );
  assert.equal(barAt(bars, 199)?.block, 0);
  assert.equal(barAt(bars, 204)?.block, 1);
  assert.equal(barAt(bars, 300), undefined, 'it is free');
  assert.equal(barsOf(segments, first, 1)[1]?.width, 0.5, 'it is seen however small it is');
});
