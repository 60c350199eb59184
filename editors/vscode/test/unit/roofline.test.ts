import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Point, RooflineData } from '../../webview/roofline/data';
import { at, axesOf, neighbour, radius, roof, ticks } from '../../webview/roofline/layout';

const point: Point = {
  of: 'line',
  name: 'model.py:31',
  place: { file: 'model.py', line: 31 },
  precision: 'f16',
  operators: 4,
  flops: 1e12,
  bytes: 1e10,
  time: 1e9,
  intensity: 100,
  rate: 1e12,
  ofRoof: 0.01,
  bound: 'compute',
};
const device = { name: 'NVIDIA A100', bandwidth: 1e12, peaks: [{ precision: 'f16', flops: 1e14 }] };
const data: RooflineData = {
  schema: 'perfline.roofline/1',
  title: '',
  device,
  isDevice: true,
  points: [point, { ...point, intensity: 1, rate: 1e10 }],
  leftOut: { lines: 0, kernels: 0 },
};

test('all points and roofs are on the axes', () => {
  const { x, y } = axesOf(data);
  assert.ok(x.from < 0 && x.to > 2, 'from 1 to 100 FLOPs per byte');
  assert.ok(y.from < 10 && y.to > 14, 'from the slower point to the peak');
  const [start, corner, end] = roof(device, 1e14, { x, y });
  assert.equal(start?.y, (start?.x ?? 0) + 12, 'along what memory allows');
  assert.deepEqual(corner, { x: 2, y: 14 }, 'peak and bandwidth meet at 100 FLOPs per byte');
  assert.deepEqual(end, { x: x.to, y: 14 });
});

test('a single point has axes around it, without a roof', () => {
  const { x, y } = axesOf({ ...data, device: null, points: [point] });
  assert.equal(((x.from + x.to) / 2).toFixed(6), '2.000000');
  assert.equal(((y.from + y.to) / 2).toFixed(6), '12.000000');
  assert.ok(x.to - x.from > 2);
});

test('a device whose bandwidth is not known has a flat roof', () => {
  const axes = axesOf(data);
  assert.deepEqual(
    roof({ ...device, bandwidth: 0 }, 1e14, axes).map((it) => it.y),
    [14, 14],
  );
});

test('axes have powers of ten, as many as there is room for', () => {
  assert.deepEqual(ticks({ from: -0.3, to: 3.3 }, 10), [0, 1, 2, 3]);
  assert.deepEqual(ticks({ from: 8.7, to: 14.3 }, 3), [9, 11, 13]);
  assert.equal(at(2, { from: 0, to: 4 }, 200), 100);
});

test('the area of a point goes by its share of the time', () => {
  const [quarter, all] = [radius({ ...point, time: 25 }, 100), radius({ ...point, time: 100 }, 100)];
  assert.equal(quarter * 2, all);
  assert.equal(radius({ ...point, time: 0 }, 100), 3, 'it can be seen');
});

test('keys move between points, and no further', () => {
  assert.equal(neighbour(3, undefined, 'ArrowRight'), 0);
  assert.equal(neighbour(3, 2, 'ArrowRight'), 2);
  assert.equal(neighbour(3, 0, 'ArrowLeft'), 0);
  assert.equal(neighbour(3, 1, 'End'), 2);
  assert.equal(neighbour(3, 1, 'x'), undefined);
});
