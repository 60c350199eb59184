// The panel with ranks by step.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { Bench, REPOSITORY, keepFailure, temporaryFolder, until } from './bench.mjs';

let bench;
let window;

before(async () => {
  const folder = path.join(temporaryFolder(), 'ranks');
  mkdirSync(folder);
  const traces = path.join(REPOSITORY, 'fixtures/cpu/torch2.15.0/late_rank.slow_line');
  readdirSync(traces).forEach((it) => copyFileSync(path.join(traces, it), path.join(folder, it)));
  copyFileSync(path.join(REPOSITORY, 'fixtures/workloads/late_rank.py'), path.join(folder, 'late_rank.py'));
  bench = await Bench.start();
  window = await bench.open(folder, 'late_rank.py');
  await window.status(/node_/);
});
afterEach(keepFailure);
after(() => bench.stop());

test('a cell opens the timeline of its rank at its step', async () => {
  await window.command('Perfline: Show Ranks by Step');
  const ranks = await window.webview('.ranks canvas');
  const selected = () => ranks.locator('.flame-selection').innerText();
  await ranks.locator('canvas').focus();
  await ranks.locator('canvas').press('m');
  const [, rank, step] = /^rank (\d+), step (\d+) · waited for /.exec(await until(selected, 'the largest amount'));
  await window.screenshot('ranks');
  await ranks.locator('button', { hasText: 'Open timeline' }).click();
  const timeline = await window.webview('.timeline canvas');
  const note = () => timeline.locator('.flame-note').innerText();
  await until(async () => (await note()).startsWith(`Step ${step}, one of `), `step ${step}`);
  assert.match(await note(), new RegExp(`, rank ${rank}, `));
  // What is asked for next is of the rank that is shown.
  await timeline.locator('select').first().selectOption({ index: 0 });
  await until(async () => /^Step 1, one of \d+ recorded/.test(await note()), 'the first step');
  assert.match(await note(), new RegExp(`, rank ${rank}, `));
});
