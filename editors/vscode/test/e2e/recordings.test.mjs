// Loading: from a dialog, from the Explorer, broken files, unloading, recent ones.
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Bench, keepFailure, temporaryFolder, until } from './bench.mjs';
import { RECORDING, slowModel, writeSlowRecording } from './workspaces.mjs';

let bench;
let window;
let folder;
const elsewhere = temporaryFolder();

before(async () => {
  bench = await Bench.start();
  folder = slowModel({ recording: false });
  writeFileSync(path.join(folder, 'broken-trace.json'), 'this is no trace');
  copyFileSync(RECORDING, path.join(elsewhere, 'run.json.gz'));
  const text = gunzipSync(readFileSync(RECORDING)).toString();
  writeFileSync(path.join(elsewhere, 'cut.json'), text.slice(0, text.length * 0.9));
  window = await bench.open(folder, 'slow_model.py');
});
afterEach(keepFailure);
after(() => bench.stop());

test('without a recording the extension says so', async () => {
  await window.status(/no recording/);
  await window.command('Perfline: Focus on Hot Lines View');
  await window.page.locator('.welcome-view-content', { hasText: 'No recording is loaded' }).waitFor();
  await window.screenshot('nothing');
});

test('a broken file gives the right message', async () => {
  const { page } = window;
  await window.command('View: Show Explorer');
  const file = page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'broken-trace.json' });
  const message = page.locator('.notification-list-item', { hasText: 'broken-trace.json' }).first();
  await window.contextMenu(file, 'Load in Perfline', () => message.isVisible());
  const text = (await message.innerText()).replaceAll('\u00a0', ' ');
  await message.hover();
  await window.screenshot('broken', { keepMouse: true });
  assert.match(text, /Perfline: broken-trace\.json: neither a torch\.profiler trace nor a CUDA memory snapshot/);
  await window.dismiss(message);
  await window.status(/no recording/);
});

test('a recording is loaded by the command', async () => {
  await window.command('Perfline: Load Recording…');
  await window.chooseFile(folder, path.join(elsewhere, 'run.json.gz'));
  await window.status(/run\.json\.gz/);
  await window.goTo(46);
  await window.line('x.max().item() > 100', /wait ×6/);
});

test('what was lost of a damaged recording is said, and the rest is shown', async () => {
  await window.command('Perfline: Load Recording…');
  await window.chooseFile(folder, path.join(elsewhere, 'cut.json'));
  const message = await window.notification('cut.json');
  assert.match((await message.innerText()).replaceAll('\u00a0', ' '), /was not read completely/);
  await window.dismiss(message);
  await window.status(/cut\.json/);
  await window.goTo(46);
  await window.line('x.max().item() > 100', /wait/);
});

test('unloading takes all numbers away', async () => {
  await window.command('Perfline: Unload Recording');
  await window.status(/no recording/);
  await window.goTo(46);
  await window.line('x.max().item() > 100', /:$/);
  await until(async () => Object.keys(await window.heat()).length === 0, 'no heat');
});

test('recent recordings can be loaded again', async () => {
  await window.choose('Perfline: Load Recent Recording…', 'run.json.gz');
  await window.status(/run\.json\.gz/);
  await window.goTo(46);
  await window.line('x.max().item() > 100', /wait ×6/);
});

test('a new recording in the workspace is shown by itself', async () => {
  await window.command('Perfline: Unload Recording');
  await window.status(/no recording/);
  copyFileSync(RECORDING, path.join(folder, 'newest.json.gz'));
  await window.command('Perfline: Load Newest Recording in the Workspace');
  await window.status(/newest\.json\.gz/);
});

test('a load that takes long shows how it gets on, and can be stopped', async () => {
  await window.command('Perfline: Unload Recording');
  await window.status(/no recording/);
  writeSlowRecording(path.join(elsewhere, 'slow.json.gz'));
  await window.command('Perfline: Load Recording…');
  await window.chooseFile(folder, path.join(elsewhere, 'slow.json.gz'));
  const progress = await window.notification('loading recording');
  await window.screenshot('progress');
  await progress.getByRole('button', { name: 'Cancel' }).click();
  await progress.waitFor({ state: 'detached' });
  await window.status(/no recording/);
  assert.equal(
    await window.page.locator('.notification-list-item').count(),
    0,
    'the user is not notified of what they did',
  );
});

test('several folders: a recording is about the folder that holds it', async () => {
  const workspace = path.join(temporaryFolder(), 'both.code-workspace');
  const [first, second] = [slowModel({ recording: false }), slowModel()];
  writeFileSync(
    workspace,
    JSON.stringify({
      folders: [
        { path: first, name: 'first' },
        { path: second, name: 'second' },
      ],
    }),
  );
  const both = await bench.open(workspace, path.join(second, 'slow_model.py'));
  await both.status(/slow_model\.json\.gz/);
  await both.goTo(46);
  await both.line('x.max().item() > 100', /wait ×6/);
  await both.close();
});
