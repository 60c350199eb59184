// The Recordings view: what lies in the workspace, and what can be done with it.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { Bench, keepFailure, until } from './bench.mjs';
import { RECORDING, slowModel } from './workspaces.mjs';

let bench;
let window;
let folder;
let pane;
let rows;

/** Copies the recording into the folder, as if it had been written so many minutes ago. */
function record(name, minutes) {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  copyFileSync(RECORDING, file);
  const time = Date.now() / 1000 - 60 * minutes;
  utimesSync(file, time, time);
}

before(async () => {
  bench = await Bench.start();
  folder = slowModel({ recording: false });
  record('runs/first.json.gz', 3 * 24 * 60);
  record('runs/second.json.gz', 30);
  window = await bench.open(folder, 'slow_model.py');
  await window.status(/second\.json\.gz/);
  await show();
});
afterEach(keepFailure);
after(() => bench.stop());

async function show() {
  await window.command('Perfline: Focus on Recordings View');
  pane = window.page.locator('.pane', { has: window.page.locator('[aria-label^="Recordings"]') }).last();
  rows = pane.locator('.monaco-list-row');
}

const row = (name) => rows.filter({ hasText: name }).first();

test('the newest is first, and what was shown has its steps', async () => {
  await row('second').locator('.codicon-check').waitFor();
  const texts = (await rows.allInnerTexts()).map((it) => it.replaceAll(/[\u00a0\n]+/g, ' '));
  assert.equal(texts.length, 2);
  assert.match(texts[0], /^runs\/second\.json\.gz.*19\.2 ms · 3 steps · \d+ KiB/);
  assert.match(texts[1], /^runs\/first\.json\.gz.*\d+ KiB/);
  assert.doesNotMatch(texts[1], /steps/, 'what was never read');
});

test('a click shows a recording, which stays when a newer one comes', async () => {
  // A list that is drawn anew at this moment takes no click.
  await until(async () => {
    await row('first').click();
    return window.status(/first\.json\.gz/, 5000).catch(() => false);
  }, 'the first recording');
  await row('first').locator('.codicon-pinned').waitFor();
  await pane
    .locator('.message', { hasText: 'A newer recording than the one that is shown: runs/second.json.gz' })
    .waitFor();
  // An event of the file system that the editor loses is made up for by the next one.
  await until(async () => {
    record('runs/third.json.gz', 1);
    const message = pane.locator('.message', { hasText: 'runs/third.json.gz' });
    return message.waitFor({ timeout: 5000 }).then(
      () => true,
      () => false,
    );
  }, 'the third recording');
  await window.status(/first\.json\.gz/);
  await window.screenshot('recordings');
});

test('it is remembered when the window is loaded again', async () => {
  await window.reload();
  await window.status(/first\.json\.gz/);
  await show();
  await row('first').locator('.codicon-pinned').waitFor();
});

test('the newest is followed again', async () => {
  await window.contextMenu(row('first'), 'Load Newest Recording', () => window.status(/third\.json\.gz/, 5000));
  await row('third').locator('.codicon-check').waitFor();
});

test('a recording is deleted, after a question', async () => {
  const dialog = window.page.locator('.monaco-dialog-box');
  const isAsked = () => dialog.getByText('Delete the recording runs/second.json.gz?').isVisible();
  await window.contextMenu(row('second'), 'Delete', isAsked);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.ok(existsSync(path.join(folder, 'runs/second.json.gz')));
  await window.contextMenu(row('second'), 'Delete', isAsked);
  await dialog.getByRole('button', { name: 'Move to Trash' }).click();
  const forGood = dialog.getByRole('button', { name: 'Delete', exact: true });
  await until(async () => {
    if (await forGood.isVisible()) {
      await forGood.click();
    }
    return (await row('second').count()) === 0;
  }, 'no row of the recording');
  assert.ok(!existsSync(path.join(folder, 'runs/second.json.gz')));
});
