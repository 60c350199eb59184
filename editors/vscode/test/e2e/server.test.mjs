// The server: it dies, it is not there, it is another program, the workspace is not trusted.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { Bench, REPOSITORY, keepFailure, temporaryFolder, until } from './bench.mjs';
import { slowModel } from './workspaces.mjs';

let bench;

before(async () => {
  bench = await Bench.start();
});
afterEach(keepFailure);
after(() => bench.stop());

/** A window on the file of the model, with a server of its own until the test is over, whether it passes or not. */
async function openModel(t, place, folder) {
  const window = await place.open(folder, 'slow_model.py');
  t.after(() => window.close());
  return window;
}

/** The process of the server that serves this bench. */
function serverProcess() {
  const isOurs = (pid) => {
    try {
      const [program, command] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return program.startsWith(bench.folder) && program.endsWith('/bin/perfline') && command === 'lsp';
    } catch {
      return false;
    }
  };
  return readdirSync('/proc')
    .filter((it) => /^\d+$/.test(it) && isOurs(it))
    .map(Number)
    .at(-1);
}

test('the death of the server is survived, with the choice that was made', async (t) => {
  const window = await openModel(t, bench, slowModel());
  await window.goTo(46);
  await window.line('x.max().item() > 100', /wait ×6/);
  await window.choose('Perfline: Choose Metric…', /^\s*CPU\stime/);
  await window.line('x.max().item() > 100', /:[\d.]+ ms cpu/);
  const before = serverProcess();
  process.kill(before, 'SIGKILL');
  await until(() => serverProcess() !== undefined && serverProcess() !== before, 'another server');
  await window.status(/slow_model\.json\.gz/);
  await window.line('x.max().item() > 100', /:[\d.]+ ms cpu/);
  const second = serverProcess();
  await window.command('Perfline: Restart Server');
  await until(() => serverProcess() !== undefined && serverProcess() !== second, 'a third server');
  await window.status(/slow_model\.json\.gz/);
  await window.line('x.max().item() > 100', /:[\d.]+ ms cpu/);
});

test('a server that dies again and again is left alone, and that is said', async (t) => {
  const window = await openModel(t, bench, slowModel());
  await window.status(/slow_model\.json\.gz/);
  for (let death = 1; death <= 5; death += 1) {
    const living = await until(serverProcess, `server ${death}`);
    await window.status(/slow_model\.json\.gz/);
    process.kill(living, 'SIGKILL');
    await until(() => serverProcess() !== living, 'the death of the server');
  }
  const message = await window.notification('stopped 5 times');
  await message.getByRole('button', { name: 'Restart Server' }).click();
  await window.status(/slow_model\.json\.gz/);
});

/** A workspace whose settings name a server. */
function withServer(server) {
  const folder = slowModel();
  mkdirSync(path.join(folder, '.vscode'));
  writeFileSync(path.join(folder, '.vscode/settings.json'), JSON.stringify({ 'perfline.server.path': server }));
  return folder;
}

test('a server that is not there gives a message with a remedy', async (t) => {
  const window = await openModel(t, bench, withServer('/nowhere/perfline'));
  const message = await window.notification('There is no Perfline server at /nowhere/perfline');
  for (const button of ['Open Settings', 'Restart Server', 'Show Log']) {
    await message.getByRole('button', { name: button }).waitFor();
  }
  await window.status(/Perfline/);
  await window.screenshot('no-server');
});

test('another program is not taken for a server', async (t) => {
  const window = await openModel(t, bench, withServer('/bin/echo'));
  await window.notification('/bin/echo is not a Perfline server');
});

test('an older server is named with its version', async (t) => {
  const folder = withServer('${workspaceFolder}/old');
  writeFileSync(path.join(folder, 'old'), '#!/bin/sh\necho perfline 0.0.9\n', { mode: 0o755 });
  const window = await openModel(t, bench, folder);
  await window.notification('has version 0.0.9, but this extension needs');
});

test('without a server of its own, the extension takes the one on the PATH, or says how to get one', async (t) => {
  // The editor takes the PATH from a login shell.
  const home = temporaryFolder();
  writeFileSync(path.join(home, '.profile'), 'PATH=/usr/bin:/bin:$HOME\n');
  const env = { HOME: home, SHELL: '/bin/bash' };
  const bare = await Bench.start({ vsix: 'perfline-universal.vsix', env });
  t.after(() => bare.stop());
  const window = await openModel(t, bare, slowModel());
  const message = await window.notification('The Perfline server was not found');
  symlinkSync(path.join(REPOSITORY, 'target/release/perfline'), path.join(home, 'perfline'));
  await message.getByRole('button', { name: 'Restart Server' }).click();
  await window.status(/slow_model\.json\.gz/);
});

test('the settings of a workspace that is not trusted name no server', async (t) => {
  const careful = await Bench.start({ trust: true, settings: { 'security.workspace.trust.startupPrompt': 'never' } });
  t.after(() => careful.stop());
  const window = await openModel(t, careful, withServer('/nowhere/perfline'));
  await window.page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).waitFor();
  await window.status(/slow_model\.json\.gz/);
  await window.goTo(46);
  await window.line('x.max().item() > 100', /wait ×6/);
  await window.statusBar().hover();
  const hover = window.page.locator('.monaco-hover:not(.hidden)', { hasText: 'exact' });
  assert.match((await hover.innerText()).replaceAll('\u00a0', ' '), /Restricted Mode/);
});
