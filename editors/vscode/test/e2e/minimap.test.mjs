// Hints beside the minimap, as it is by default, in a window of 1280 pixels with the side bar open.
import assert from 'node:assert/strict';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { Bench, keepFailure } from './bench.mjs';
import { slowModel } from './workspaces.mjs';

/** Columns of code beside which all of a hint has room. */
const COLUMNS = 60;

let bench;
let window;

before(async () => {
  bench = await Bench.start({ settings: { 'editor.minimap.enabled': true } });
  const folder = slowModel();
  const file = path.join(folder, 'slow_model.py');
  const lines = readFileSync(file, 'utf8').split('\n');
  // A comment changes nothing of what ran.
  const padded = lines.map((it) => (/item\(\)|relu|backward\(\)/.test(it) ? `${it}  #`.padEnd(COLUMNS, '.') : it));
  writeFileSync(file, padded.join('\n'));
  utimesSync(file, 0, 0);
  window = await bench.open(folder, 'slow_model.py');
  await window.goTo(46);
});
afterEach(keepFailure);
after(() => bench.stop());

test(`no hint of a line of ${COLUMNS} columns stands behind the minimap`, async () => {
  await window.line('x.max().item() > 100', /\d ms wait ×6$/);
  await window.screenshot('minimap');
  const { hints, edge } = await window.page.evaluate(() => {
    const editor = document.querySelector('.editor-instance .monaco-editor');
    const marked = [...editor.querySelectorAll('.view-line span')].filter((it) =>
      getComputedStyle(it, '::after').content.startsWith('"'),
    );
    // The box of a span has that of what is drawn after it.
    const hints = marked.map((it) => ({
      columns: it.closest('.view-line').textContent.length,
      right: it.getBoundingClientRect().right,
    }));
    return { hints, edge: editor.querySelector('.minimap').getBoundingClientRect().left };
  });
  const long = hints.filter((it) => it.columns >= COLUMNS);
  assert.ok(long.length >= 2, JSON.stringify(hints));
  for (const hint of hints) {
    assert.ok(hint.columns > COLUMNS || hint.right <= edge, `${JSON.stringify(hint)} reaches the minimap at ${edge}`);
  }
});
