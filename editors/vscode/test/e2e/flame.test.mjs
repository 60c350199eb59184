// The panels with the flame graph and the roofline.
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

test('the flame graph leads to lines, and lines to the flame graph', async () => {
  await window.goTo(46);
  await window.command('Perfline: Show Flame Graph');
  const flame = await window.webview('.flame canvas');
  await until(async () => (await flame.locator('select option').count()) > 3, 'choices');
  const size = await flame.locator('canvas').evaluate((it) => [it.width, it.height]);
  assert.ok(size[0] > 100 && size[1] > 100, `${size}`);
  await window.goTo(45);
  await window.command('Perfline: Show in Flame Graph');
  const selection = flame.locator('.flame-selection');
  await until(async () => (await selection.innerText()).includes('(slow_model.py:45)'), 'frames of line 45');
  assert.match(await flame.locator('output').innerText(), /^[\d.]+ [mµ]s \([\d.]+ %\)/);
  await window.screenshot('flame');
  await window.goTo(97);
  await flame.locator('button', { hasText: 'Open line' }).click();
  await until(async () => (await window.cursorLine()) === 45, 'the cursor on line 45');
  // The panel may still be moving: a click that misses is made again, later than a double-click would be.
  const clicked = async () => {
    await flame.locator('canvas').click({ position: { x: 40, y: 8 }, delay: 20 });
    await window.page.waitForTimeout(700);
    return (await selection.innerText()).includes('(slow_model.py:124)');
  };
  await until(clicked, 'the outermost frame of the code in this workspace');
});

test('the flame graph is of the part that is chosen', async () => {
  const flame = await window.webview('.flame canvas');
  const note = flame.locator('.flame-note');
  assert.match(await note.innerText(), /^Amounts are sums over the recording and all ranks\./);
  await window.choose('Perfline: Filter…', 'Phase…', 'backward');
  await window.status(/only backward/);
  await note.filter({ hasText: 'with --phase backward: 20.9 ms of 58.1 ms of thread time' }).waitFor();
  await window.screenshot('flame-part');
  await window.choose('Perfline: Filter…', 'Show All');
  await note.filter({ hasText: 'sums over the recording and all ranks' }).waitFor();
});

test('a line leads to its point of the roofline, and the point to the line', async () => {
  await window.command('View: Focus First Editor Group');
  await window.goTo(97);
  await window.command('Perfline: Show Roofline');
  const roofline = await window.webview('.roofline canvas');
  await window.command('Perfline: Show in Roofline');
  const selection = roofline.locator('.flame-selection');
  await until(async () => (await selection.innerText()).startsWith('slow_model.py:97 · '), 'the point of line 97');
  await window.screenshot('roofline');
  await window.command('View: Focus First Editor Group');
  await window.goTo(1);
  await roofline.locator('button', { hasText: 'Open line' }).click();
  await until(async () => (await window.cursorLine()) === 97, 'the cursor on line 97');
});
