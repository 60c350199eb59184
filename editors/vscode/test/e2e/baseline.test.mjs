// A recording beside its baseline: hints, Hot Lines, the status bar.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { Bench, REPOSITORY, keepFailure, temporaryFolder, until } from './bench.mjs';

let bench;
let window;
let folder;

/** Copies a file of a comparison into the folder, as if it had been written so many minutes ago. */
function copy(from, to, minutes) {
  const file = path.join(folder, to);
  copyFileSync(path.join(REPOSITORY, 'tests/data/comparison', from), file);
  const time = Date.now() / 1000 - 60 * minutes;
  utimesSync(file, time, time);
}

before(async () => {
  folder = path.join(temporaryFolder(), 'comparison');
  mkdirSync(folder);
  copy('base/train.py', 'train.py', 120);
  copy('base/trace.json.gz', 'before.json.gz', 60);
  bench = await Bench.start({ env: { PERFLINE_CACHE_DIR: path.join(temporaryFolder(), 'cache') } });
  window = await bench.open(folder, 'train.py');
  await window.status(/before\.json\.gz/);
  copy('faster/train.py', 'train.py', 30);
  copy('faster/trace.json.gz', 'after.json.gz', 10);
  // The editor may miss that a file was written.
  await window.command('File: Revert File');
});
afterEach(keepFailure);
after(() => bench.stop());

test('the newest is compared with the one before', async () => {
  await window.command('Perfline: Compare Newest Recording with the One Before');
  await window.status(/after\.json\.gz · beside before\.json\.gz/);
  await window.notification('2 lines are faster');
  await window.goTo(11);
  await window.line('best[::8]', /cpu \(−597\)/);
  assert.match(await window.hover('best[::8]', /beside before\.json\.gz/), /720 µs/);
  await window.escape();
});

test('hot lines by difference', async () => {
  await window.command('Perfline: Focus on Hot Lines View');
  const { page } = window;
  // A view that takes the focus later would close the list.
  await page.locator('.pane-body .monaco-list-row', { hasText: 'best[::8]' }).first().waitFor();
  await window.choose('Perfline: Sort Hot Lines by…', 'Difference to the baseline');
  await page.locator('.pane-body .message', { hasText: 'beside before.json.gz' }).first().waitFor();
  const row = page.locator('.pane-body .monaco-list-row', { hasText: '(−597 µs)' }).first();
  await row.waitFor();
  await window.screenshot('baseline');
});

test('the flame graph shows both', async () => {
  await window.command('Perfline: Show Flame Graph');
  const flame = await window.webview('.flame canvas');
  await flame.locator('.flame-note', { hasText: 'Compared with before.json.gz' }).waitFor();
  await flame.locator('[type=search]').fill('(train.py:11)');
  const found = () => flame.locator('output').innerText();
  await until(async () => /^new 124 µs · base 720 µs · −597 µs$/.test(await found()), 'both times of line 11');
  await flame.locator('[type=search]').fill('');
  await window.screenshot('baseline-flame');
  await window.command('Perfline: Clear Baseline');
  await flame.locator('.flame-note', { hasText: 'Amounts are sums over the recording' }).waitFor();
  await window.command('Perfline: Compare Newest Recording with the One Before');
  await flame.locator('.flame-note', { hasText: 'Compared with before.json.gz' }).waitFor();
});

test('it is remembered when the window is loaded again, and cleared', async () => {
  await window.reload();
  await window.status(/after\.json\.gz · beside before\.json\.gz/);
  await window.command('Perfline: Clear Baseline');
  await until(async () => !/beside/.test(await window.status(/after/)), 'no baseline in the status bar');
  await window.goTo(11);
  await window.line('best[::8]', /cpu(?! \()/);
});
