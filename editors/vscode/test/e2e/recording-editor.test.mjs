// A recording that is clicked, as an editor.
import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { Bench, keepFailure, until } from './bench.mjs';
import { RECORDING, SNAPSHOT, slowModel } from './workspaces.mjs';

const folder = slowModel({ recording: false });
copyFileSync(RECORDING, path.join(folder, 'host_1.pt.trace.json.gz'));
copyFileSync(SNAPSHOT, path.join(folder, 'memory.snapshot.pickle.gz'));
writeFileSync(path.join(folder, 'trace.json.gz'), gzipSync('{"name": "something else"}'));
writeFileSync(path.join(folder, 'settings.json'), '{"name": "something else"}\n');

let bench;
let window;

before(async () => {
  bench = await Bench.start();
  window = await bench.open(folder);
  // Until VS Code knows what the extension brings it opens files as text.
  await window.page.locator('.activitybar .action-item a[aria-label="Perfline"]').waitFor();
});
afterEach(keepFailure);
after(() => bench.stop());

/** The editor of a recording that says something; each of its pages has a frame of its own. */
const showing = (selector, text) =>
  until(async () => {
    for (const frame of window.page.frames()) {
      const found = frame.locator(selector, { hasText: text });
      if ((await found.count().catch(() => 0)) > 0 && (await found.first().isVisible())) {
        return frame;
      }
    }
    return undefined;
  }, `${selector} with ${text}`);

const file = (name) => window.page.locator(`.explorer-folders-view .monaco-list-row[aria-label^="${name}"]`);

test('a click on a recording shows its report, whose lines open', async () => {
  const { page } = window;
  await file('host_1.pt.trace.json.gz').click();
  const shown = await showing('h1', 'host_1');
  await shown.locator('.findings li').first().waitFor();
  await window.status(/host_1\.pt\.trace\.json\.gz/);
  await window.screenshot('recording-editor');
  await window.command('Preferences: Color Theme');
  await page.keyboard.type('Light Modern');
  await window.pick(/^Light Modern/);
  await window.screenshot('recording-editor-light');
  await shown.locator('summary', { hasText: 'Flame graph' }).click();
  await shown.locator('.flame canvas').first().waitFor();
  await window.screenshot('recording-editor-flame');
  assert.equal(await page.locator('.notification-list-item', { hasText: 'multiple default editors' }).count(), 0);
  await shown.locator('button.place', { hasText: 'slow_model.py:46' }).first().click();
  await page.locator('.tab.active', { hasText: 'slow_model.py' }).waitFor();
  await until(async () => (await window.cursorLine()) === 46, 'the cursor on line 46');
  assert.equal(await page.locator('.tab', { hasText: 'host_1.pt.trace.json.gz' }).count(), 1, 'its tab stays');
});

test('the timeline shows more where it is zoomed', async () => {
  const { page } = window;
  await page.locator('.tab', { hasText: 'host_1.pt.trace.json.gz' }).click();
  const shown = await showing('h1', 'host_1');
  await shown.locator('summary', { hasText: 'Timeline' }).click();
  const canvas = shown.locator('.timeline canvas').first();
  await canvas.waitFor();
  await shown.locator('.timeline select').first().selectOption({ index: 1 });
  await window.screenshot('recording-editor-timeline');
  assert.equal(await shown.locator('body > .message:visible').count(), 0);
});

test('a memory snapshot has a picture; the other editor says that something else is shown, and shows itself again', async () => {
  const { page } = window;
  await file('memory.snapshot.pickle.gz').click();
  const memory = await showing('h1', 'memory.snapshot');
  await memory.locator('.memory canvas').first().waitFor();
  await memory.locator('.memory').first().scrollIntoViewIfNeeded();
  await window.screenshot('recording-editor-memory');
  await page.locator('.tab', { hasText: 'host_1.pt.trace.json.gz' }).click();
  const again = await showing('main', 'Another recording is shown now.');
  await again.locator('a', { hasText: 'Show This Recording' }).click();
  await showing('h1', 'host_1');
  await window.status(/host_1\.pt\.trace\.json\.gz/);
});

test('a file that is no recording says so, and opens as text', async () => {
  const { page } = window;
  await file('trace.json.gz').click();
  const message = await showing('main', 'trace.json.gz is not shown: trace.json.gz: neither a torch.profiler trace');
  await window.screenshot('recording-editor-none');
  // What is shown stays.
  await window.status(/host_1\.pt\.trace\.json\.gz/);
  await message.locator('a', { hasText: 'Open as Text' }).click();
  await page.locator('.monaco-editor-pane-placeholder', { hasText: 'binary' }).waitFor();
});

test('a file that others use, too, opens as text at first', async () => {
  await file('settings.json').click();
  await window.page.locator('.view-line', { hasText: 'something else' }).waitFor();
});
