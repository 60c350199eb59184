// Where the sources of a recording are: in which of two files, in which folder, in which folder of the workspace.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { Bench, keepFailure, temporaryFolder, until } from './bench.mjs';
import { slowModel, uploads } from './workspaces.mjs';

let bench;

before(async () => {
  bench = await Bench.start();
});
afterEach(keepFailure);
after(() => bench.stop());

/** What the settings of a workspace say of where sources are; `undefined` where there are none yet. */
const mappings = (folder) => {
  const settings = path.join(folder, '.vscode/settings.json');
  return existsSync(settings) ? JSON.parse(readFileSync(settings, 'utf8'))['perfline.sources.map'] : undefined;
};

test('of two files that may have been recorded, the user chooses one', async () => {
  const folder = slowModel();
  const text = readFileSync(path.join(folder, 'slow_model.py'));
  renameSync(path.join(folder, 'slow_model.py'), path.join(temporaryFolder(), 'away.py'));
  for (const name of ['a', 'b']) {
    mkdirSync(path.join(folder, name));
    writeFileSync(path.join(folder, name, 'slow_model.py'), text);
  }
  const window = await bench.open(folder, 'b/slow_model.py');
  const question = await window.notification('Which file was recorded as slow_model.py?');
  await window.screenshot('sources-which');
  await question.getByRole('button', { name: 'Choose…' }).click();
  await window.pick('b/slow_model.py');
  await window.goTo(46);
  await window.line('x.max().item() > 100', /wait ×6/);
  await until(() => mappings(folder)?.['slow_model.py'] === 'b/slow_model.py', 'the setting');
  await window.close();
});

test('files that were not found are found in the folder that the user names', async () => {
  const folder = slowModel();
  const elsewhere = temporaryFolder();
  renameSync(path.join(folder, 'slow_model.py'), path.join(elsewhere, 'slow_model.py'));
  writeFileSync(path.join(folder, 'notes.py'), '');
  const window = await bench.open(folder, 'notes.py');
  const question = await window.notification('No source file of the recording was found');
  await window.screenshot('sources-missing');
  await question.getByRole('button', { name: 'Locate Folder…' }).click();
  await window.chooseFolder(folder, elsewhere, 'Locate');
  await until(() => mappings(folder)?.['slow_model.py'] === `${elsewhere}/slow_model.py`, 'the setting');
  // The server reads the recording once more then; until that is done, the palette lists what was there before.
  await window.choose('Perfline: Go to Hot Line…', 'loss.backward()');
  await window.page.locator('.tab.active', { hasText: 'slow_model.py' }).waitFor();
  await window.line('loss.backward()', /4\.2 ms gpu/);
  await window.close();
});

test('each of several folders shows its own recording, also after the window is loaded again', async () => {
  const workspace = path.join(temporaryFolder(), 'two.code-workspace');
  const [first, second] = [slowModel(), uploads()];
  copyFileSync(path.join(first, 'slow_model.json.gz'), path.join(first, 'older.json.gz'));
  utimesSync(path.join(first, 'older.json.gz'), 1e9, 1e9);
  const folders = [first, second].map((it) => ({ path: it, name: path.basename(it) }));
  writeFileSync(workspace, JSON.stringify({ folders }));
  const window = await bench.open(workspace, path.join(first, 'slow_model.py'));
  await window.status(/slow_model\.json\.gz/);
  await window.command('View: Split Editor Right');
  await window.quickOpen('uploads.py');
  await window.status(/uploads\.json\.gz/);
  await window.goTo(30);
  const isUpload = (it) => /batch\.to\(DEVICE, copy=True\)\s*279 µs/.test(it);
  await until(async () => Object.values(await window.lines(1)).some(isUpload), 'the hint of the upload');
  // Those of the other folder stay beside it.
  await window.line('s = F.silu(self.squeeze(x))', /286 µs gpu/);
  await window.screenshot('folders');
  await window.command('Perfline: Focus on Recordings View');
  // A list that is drawn anew at this moment takes no click.
  await until(async () => {
    await window.page.locator('.monaco-list-row', { hasText: 'older' }).last().click();
    return window.status(/older\.json\.gz/, 5000).catch(() => false);
  }, 'the older recording');
  await window.reload();
  for (const [file, recording] of [
    ['slow_model.py', /older\.json\.gz/],
    ['uploads.py', /uploads\.json\.gz/],
    ['slow_model.py', /older\.json\.gz/],
  ]) {
    await window.quickOpen(file);
    await window.status(recording);
  }
  await window.close();
});
