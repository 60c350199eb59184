// The panel with memory over time.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';

import { Bench, keepFailure, until } from './bench.mjs';
import { slowModelSnapshot } from './workspaces.mjs';

let bench;
let window;

before(async () => {
  bench = await Bench.start();
  window = await bench.open(slowModelSnapshot(), 'slow_model.py');
  await window.status(/slow_model\.snapshot\.pickle\.gz/);
});
afterEach(keepFailure);
after(() => bench.stop());

test('memory over time leads to lines, and lines to memory over time', async () => {
  await window.goTo(97);
  await window.command('Perfline: Show Memory over Time');
  const memory = await window.webview('.memory canvas');
  const rows = memory.locator('.flame-table').first().locator('tbody tr');
  await until(async () => (await rows.count()) > 3, 'what is in use at the peak');
  const size = await memory.locator('canvas').evaluate((it) => [it.width, it.height]);
  assert.ok(size[0] > 100 && size[1] > 100, `${size}`);
  assert.match(await rows.first().innerText(), /slow_model\.py:97\)\s+1\.07 MiB\s+77\.1 %/);
  const selection = memory.locator('.flame-selection');
  assert.match(await selection.innerText(), /^1\.38 MiB in use around [\d.]+ ms, after event \d+$/);
  await window.goTo(98);
  await window.command('Perfline: Show in Memory over Time');
  await until(async () => (await selection.innerText()).includes('slow_model.py:98): 289 KiB, 20.4 %'), 'line 98');
  await window.screenshot('memory');
  await window.goTo(45);
  await memory.locator('button', { hasText: 'Open line' }).click();
  await until(async () => (await window.cursorLine()) === 98, 'the cursor on line 98');
  // The segments follow the moment.
  await memory.locator('summary', { hasText: 'Segments at this moment' }).click();
  const sums = () => memory.locator('.memory-sums').innerText();
  const event = async () => /after event (\d+)/.exec(await selection.innerText())[1];
  await until(async () => (await sums()).endsWith(`This is after event ${await event()}.`), 'the segments of the peak');
  await window.screenshot('segments');
  await memory.locator('canvas').first().focus();
  const peak = await event();
  await memory.locator('canvas').first().press('ArrowLeft');
  assert.notEqual(await event(), peak);
  await until(
    async () => (await sums()).endsWith(`This is after event ${await event()}.`),
    'those of the moment before',
  );
  await memory.locator('canvas').first().press('p');
  await memory.locator('summary', { hasText: 'Segments at this moment' }).click();
  // Zooming in asks the server for more.
  const note = () => memory.locator('.flame-note').innerText();
  assert.match(await note(), /^The whole recording, rank 0, cuda:0, /);
  await memory.locator('canvas').first().focus();
  for (let presses = 0; presses < 8; presses++) {
    await memory.locator('canvas').first().press('w');
  }
  await until(async () => (await note()).startsWith('A part of the recording'), 'a part of the recording');
  // The moment stays the one that was chosen.
  assert.match(await selection.innerText(), /of 1\.38 MiB in use/);
  await memory.locator('select').nth(1).selectOption('phase');
  await until(
    async () => /optimizer/.test(await memory.locator('.flame-table').first().innerText()),
    'parts of the step',
  );
});
