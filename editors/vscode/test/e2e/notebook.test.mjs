// A notebook: the kernel names the file of each cell by a hash of its text.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { Bench, REPOSITORY, keepFailure, temporaryFolder, until } from './bench.mjs';

let bench;
let window;

before(async () => {
  const folder = path.join(temporaryFolder(), 'notebook');
  mkdirSync(folder);
  copyFileSync(path.join(REPOSITORY, 'fixtures/workloads/notebook.ipynb'), path.join(folder, 'notebook.ipynb'));
  copyFileSync(
    path.join(REPOSITORY, 'fixtures/cpu/torch2.15.0/notebook.json.gz'),
    path.join(folder, 'notebook.json.gz'),
  );
  // Else a notebook is opened as text until the extensions have started.
  bench = await Bench.start({ settings: { 'workbench.editorAssociations': { '*.ipynb': 'jupyter-notebook' } } });
  window = await bench.open(folder);
  const { page } = window;
  await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'notebook.ipynb' }).dblclick();
  await page.locator('.notebookOverlay .view-line').first().waitFor({ timeout: 120_000 });
});
afterEach(keepFailure);
after(() => bench.stop());

/** The lines of all cells that are shown, with their hints. */
async function lines() {
  const shown = window.page.locator('.notebookOverlay .view-line');
  return shown.evaluateAll((lines) => lines.map((it) => globalThis.textWithHints(it)));
}

async function hasLine(pattern) {
  await until(async () => (await lines()).some((it) => pattern.test(it)), `a line that matches ${pattern}`).catch(
    async (error) => {
      error.message += `\n${JSON.stringify(await lines(), undefined, 1)}`;
      throw error;
    },
  );
}

test('hints stand on the lines of the cells', async () => {
  await hasLine(/x = x \+ F\.gelu\(block\(x\)\).*~\d+ ms cpu/);
  await window.screenshot('notebook');
});

test('a hot line leads to its cell', async () => {
  await window.choose('Perfline: Go to Hot Line', /loss\.backward\(\)/);
  await hasLine(/loss\.backward\(\).*\d+ ms cpu/);
  await window.page.locator('.statusbar-item', { hasText: 'Cell 6 of 6' }).waitFor();
  // The word under the cursor is highlighted wherever it is.
  await window.page.locator('.notebookOverlay .monaco-editor.focused .wordHighlightText').first().waitFor();
  const heat = await window.page.evaluate(
    () =>
      [...document.querySelectorAll('.notebookOverlay .view-overlays [class*="ced-"]')].filter(
        (it) => getComputedStyle(it).borderLeftWidth === '3px',
      ).length,
  );
  assert.ok(heat > 0, 'lines of cells are coloured by heat');
  await window.screenshot('notebook-hot-line');
});

test('a cell is recorded by the magic of its kernel', async () => {
  // The kernel is none that is here; what it is given is.
  await window.command('Perfline: Record This Cell');
  await hasLine(/^%%perfline$/);
  await hasLine(/^%load_ext perfline$/);
  await window.screenshot('notebook-record');
});
