// What the extension adds: status, hot lines, details, the choice of what is shown.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';

import { Bench, keepFailure, until } from './bench.mjs';
import { slowModel } from './workspaces.mjs';

let bench;
let window;

before(async () => {
  bench = await Bench.start();
  window = await bench.open(slowModel(), 'slow_model.py');
});
afterEach(keepFailure);
after(() => bench.stop());

test('the status bar names the recording, the step and what is known of it', async () => {
  await window.status(/slow_model\.json\.gz · Mean of 3 steps · [\d.]+ % on lines/);
  await window.statusBar().hover();
  const hover = window.page.locator('.monaco-hover:not(.hidden)', { hasText: 'exact' });
  await hover.waitFor();
  await window.screenshot('status', { keepMouse: true });
  await window.escape();
});

test('the language status says it too', async () => {
  const { page } = window;
  await page.locator('.statusbar-item', { hasText: 'Python' }).first().waitFor();
  await page.locator('[id="status.languageStatus"]').first().hover();
  const status = page.locator('.hover-language-status', { hasText: 'slow_model.json.gz' });
  await status.waitFor();
  await window.screenshot('language-status', { keepMouse: true });
  await window.escape();
});

test('hot lines by file, function and line', async () => {
  const { page } = window;
  await window.goTo(46);
  await window.command('Perfline: Focus on Hot Lines View');
  const rows = page.locator('.pane-body .monaco-list-row');
  await rows.filter({ hasText: 'if x.max().item() > 100:' }).first().waitFor();
  const texts = (await rows.allInnerTexts()).map((it) => it.replaceAll(/[\u00a0\n]+/g, ' '));
  assert.match(texts[0], /slow_model\.py/);
  assert.match(texts[1], /train_step/);
  await rows.filter({ hasText: 'loss.backward()' }).first().click();
  await until(async () => (await window.cursorLine()) === 97, 'the cursor on line 97');
  await window.screenshot('hot-lines');
});

test('a part of the recording is chosen from what it has', async () => {
  const { page } = window;
  await window.status(/Mean of 3 steps/);
  await window.goTo(97);
  const lens = page.locator('.codelens-decoration', { hasText: 'train_step: ' });
  await lens.filter({ hasText: 'of the step' }).waitFor();
  await window.choose('Perfline: Filter…', 'Phase…', 'backward');
  await window.status(/only backward/);
  // VS Code does not ask for lenses when the editor loses the focus just then.
  await window.command('Perfline: Focus on Hot Lines View');
  await lens.filter({ hasText: '--phase backward' }).waitFor();
  const rows = page.locator('.pane-body .monaco-list-row');
  await rows.filter({ hasText: 'loss.backward()' }).first().waitFor();
  await rows.filter({ hasText: 'if x.max().item() > 100:' }).first().waitFor({ state: 'detached' });
  await window.screenshot('filter');
  await window.choose('Perfline: Filter…', 'Show All');
  await window.status(/slow_model\.json\.gz · Mean of 3 steps · [\d.]+ % on lines/);
  await lens.filter({ hasText: 'of the step' }).waitFor();
  await rows.filter({ hasText: 'if x.max().item() > 100:' }).first().waitFor();
});

test('hot lines are copied as Markdown', async () => {
  const { page } = window;
  await window.command('Perfline: Copy Hot Lines as Markdown');
  await page.locator('.statusbar-item', { hasText: /Copied \d+ lines/ }).waitFor();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(text, /^\*\*slow_model\.json\.gz · mean of 3 steps/);
  assert.match(text, /\| slow_model\.py:46 \| [\d.]+ ms \| [\d.]+ % \| `if x\.max\(\)\.item\(\) > 100:` \|/);
});

test('hot lines of libraries are shown on demand', async () => {
  const { page } = window;
  const library = page.locator('.pane-body .monaco-list-row', { hasText: 'torch/' });
  assert.equal(await library.count(), 0);
  await window.command('Perfline: Show Lines of Libraries Too');
  await page.locator('.pane-body .message', { hasText: 'Switch to total' }).waitFor();
  await window.command('Perfline: Switch Between Own and Total');
  // Rows that are out of sight are not drawn.
  await page.locator('.pane-body .monaco-list-row').first().hover();
  await until(async () => {
    await page.mouse.wheel(0, 100);
    return (await library.count()) > 0;
  }, 'lines of libraries');
  await window.screenshot('hot-lines-libraries');
  await window.command('Perfline: Show Only Your Own Lines');
  await until(async () => (await library.count()) === 0, 'no lines of libraries');
  await window.command('Perfline: Switch Between Own and Total');
});

test('the next hot line, and the previous one', async () => {
  const { page } = window;
  await window.goTo(45);
  await page.locator('.view-line').first().waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.press('h');
  await until(async () => (await window.cursorLine()) === 46, 'the cursor on line 46');
  await page.keyboard.press('Control+k');
  await page.keyboard.press('Shift+H');
  await until(async () => (await window.cursorLine()) === 45, 'the cursor on line 45');
});

test('everything about a line, in a panel that follows the cursor', async () => {
  await window.goTo(46);
  await window.command('Perfline: Show Line Details');
  const details = await window.webview('main header');
  await details.locator('.place', { hasText: 'slow_model.py:46' }).waitFor();
  await details.locator('.badge', { hasText: 'exact' }).waitFor();
  await details.locator('.name', { hasText: 'reduce' }).first().waitFor();
  await details.locator('.name', { hasText: 'aten::' }).first().waitFor();
  assert.equal(await details.locator('svg.steps rect').count(), 3);
  await details.locator('.finding', { hasText: 'sync: the CPU waits' }).waitFor();
  await details.locator('a', { hasText: 'slow_model.py:45' }).first().waitFor();
  await window.screenshot('details');
  await window.command('Perfline: Keep Line Details of This Line');
  await window.page.locator('a[aria-label="Have Line Details Follow the Cursor"]').first().waitFor();
  await window.goTo(29);
  await window.page.waitForTimeout(500);
  assert.equal(await details.locator('.place', { hasText: 'slow_model.py:46' }).count(), 1);
  await window.command('Perfline: Have Line Details Follow the Cursor');
  await details.locator('.place', { hasText: 'slow_model.py:29' }).waitFor();
  await details.locator('.badge', { hasText: '~ inferred' }).waitFor();
  await window.goTo(30);
  await details.getByText('Nothing was recorded on line 30.').waitFor();
  await window.goTo(46);
  await details.locator('a', { hasText: 'slow_model.py:45' }).first().click();
  await until(async () => (await window.cursorLine()) === 45, 'the cursor on line 45');
});

test('another metric, by a click in the status bar', async () => {
  await window.statusBar().click();
  await window.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Waits for the GPU' }).waitFor();
  await window.screenshot('choice');
  await window.pick(/^\s*CPU\stime/);
  await window.goTo(46);
  await window.line('x.max().item() > 100', /:[\d.]+ ms cpu/);
  await window.page.locator('.pane-body .message', { hasText: 'CPU time' }).first().waitFor();
  await window.choose('Perfline: Choose Metric…', 'Automatic');
  await window.line('x.max().item() > 100', /ms wait ×6$/);
});

test('one step', async () => {
  await window.choose('Perfline: Choose Step…', /Step \d/);
  await window.status(/Step \d/);
  await window.choose('Perfline: Choose Step…', 'Mean of 3 steps');
  await window.status(/Mean of 3 steps/);
});

test('totals instead of own time', async () => {
  const { page } = window;
  await window.choose('Perfline: Choose Metric…', /^\s*CPU\stime/);
  await window.command('Perfline: Switch Between Own and Total');
  await window.goTo(94);
  await window.line('pred = model(x)', /[\d.]+ ms cpu/);
  // Hot lines say of a function what its lens says.
  const lens = page.locator('.codelens-decoration', { hasText: 'train_step: 99.1' });
  await lens.waitFor();
  const rows = page.locator('.pane-body .monaco-list-row');
  await rows
    .filter({ hasText: /train_step.* · 99\.\d+ %/ })
    .first()
    .waitFor();
});
