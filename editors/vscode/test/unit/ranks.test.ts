import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { RankMetric, RankStepsData } from '../../webview/ranks/data';
import { amountAt, columnsOf, largest, neighbour, shades } from '../../webview/ranks/layout';

const waited: RankMetric = {
  id: 'waitedFor',
  label: 'waited for',
  about: '',
  unit: 'ns',
  isByStep: true,
  amount: [0, 200, null, 800, 400, 0],
};
const peak: RankMetric = { ...waited, id: 'memoryPeak', unit: 'bytes', isByStep: false, amount: [7, 9] };
const data: RankStepsData = {
  schema: 'perfline.rankSteps/1',
  title: '',
  ranks: [0, 4],
  steps: [10, 11, 12],
  metrics: [waited, peak],
  leftOut: { ranks: 0, steps: 0 },
};

test('a cell has the amount of its rank and step', () => {
  assert.equal(amountAt(data, waited, { rank: 0, step: 1 }), 200);
  assert.equal(amountAt(data, waited, { rank: 1, step: 0 }), 800);
  assert.equal(amountAt(data, waited, { rank: 0, step: 2 }), undefined, 'the rank did not record the step');
  assert.equal(amountAt(data, peak, { rank: 1, step: 2 }), 9, 'it is known of the rank alone');
  assert.deepEqual([columnsOf(data, waited), columnsOf(data, peak)], [3, 1]);
  assert.deepEqual(largest(data, waited), { rank: 1, step: 0 });
  assert.deepEqual(largest(data, peak), { rank: 1, step: 0 });
});

test('amounts that are alike look alike', () => {
  assert.deepEqual([0, 200, 800].map(shades(waited)), [0, 0.25, 1]);
  const alike = shades({ ...waited, amount: [1000, 990] });
  assert.deepEqual(
    [990, 1000].map((it) => Number(alike(it).toFixed(2))),
    [0, 0.1],
  );
  assert.equal(shades({ ...waited, amount: [0, 0] })(0), 0);
});

test('keys move from cell to cell, and no further than the map', () => {
  const from = { rank: 0, step: 1 };
  const keys = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'x'];
  assert.deepEqual(
    keys.map((key) => neighbour(data, from, key)),
    [
      { rank: 0, step: 0 },
      { rank: 0, step: 2 },
      { rank: 0, step: 1 },
      { rank: 1, step: 1 },
      { rank: 0, step: 0 },
      { rank: 0, step: 2 },
      undefined,
    ],
  );
});
