// The panel with the timeline.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';

import { Bench, keepFailure, until } from './bench.mjs';
import { slowModel } from './workspaces.mjs';

let bench;
let window;

before(async () => {
  bench = await Bench.start();
  window = await bench.open(slowModel(), 'slow_model.py');
  await window.status(/slow_model\.json\.gz/);
});
afterEach(keepFailure);
after(() => bench.stop());

test('the timeline leads to lines, and lines to the timeline', async () => {
  await window.goTo(46);
  await window.command('Perfline: Show Timeline');
  const timeline = await window.webview('.timeline canvas');
  await until(async () => (await timeline.locator('select option').count()) >= 3, 'steps');
  const size = await timeline.locator('canvas').evaluate((it) => [it.width, it.height]);
  assert.ok(size[0] > 100 && size[1] > 100, `${size}`);
  assert.match(await timeline.locator('.flame-note').innerText(), /^Step \d+, one of 3 recorded, rank 0, [\d.]+ ms\./);
  await window.goTo(45);
  await window.command('Perfline: Show in Timeline');
  const selection = timeline.locator('.flame-selection');
  await until(async () => (await selection.innerText()).includes('(slow_model.py:45)'), 'what line 45 ran');
  assert.match(await timeline.locator('output').innerText(), /^[1-9]\d* device events, [\d.]+ [mµ]s$/);
  await window.screenshot('timeline');
  await window.goTo(97);
  await timeline.locator('button', { hasText: 'Open line' }).click();
  await until(async () => (await window.cursorLine()) === 45, 'the cursor on line 45');
  // Zooming in asks the server for more.
  await timeline.locator('canvas').focus();
  for (let presses = 0; presses < 8; presses++) {
    await timeline.locator('canvas').press('w');
  }
  const note = () => timeline.locator('.flame-note').innerText();
  await until(async () => (await note()).startsWith('A part of the recording'), 'a part of the recording');
  await timeline.locator('select').selectOption({ index: 0 });
  await until(async () => (await note()).startsWith('Step '), 'a step');
});
