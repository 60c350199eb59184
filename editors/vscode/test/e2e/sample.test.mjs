// The first run: walkthrough and sample; and heat in other themes and styles.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';

import { Bench, keepFailure, temporaryFolder, until } from './bench.mjs';
import { slowModel } from './workspaces.mjs';

let bench;

before(async () => {
  bench = await Bench.start();
});
afterEach(keepFailure);
after(() => bench.stop());

test('the walkthrough leads to the sample, which shows its numbers', async () => {
  const window = await bench.open(temporaryFolder());
  const { page } = window;
  await window.choose('Welcome: Open Walkthrough...', 'Get Started with Perfline');
  await page.locator('.getting-started-step', { hasText: 'Look at a Sample' }).first().waitFor();
  // The pictures of a walkthrough want room.
  await page.keyboard.press('Control+b');
  await page.locator('.getting-started-media img, .getting-started-media .image').first().waitFor();
  await window.screenshot('walkthrough');
  await page.locator('.getting-started-step', { hasText: 'Record Your Own Run' }).first().click();
  const copy = page.locator('.getting-started-step .monaco-button', { hasText: 'Copy Snippet' }).first();
  await copy.click();
  await page.locator('.statusbar-item', { hasText: 'Copied the snippet' }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /with_stack=True/);
  const code = (await window.webview('pre')).locator('pre').first();
  assert.ok(await code.evaluate((it) => it.scrollWidth <= it.clientWidth), 'the code is as wide as its place at most');
  await window.screenshot('walkthrough-record');
  await page.locator('.getting-started-step', { hasText: 'Look at a Sample' }).first().click();
  const opened = window.context.waitForEvent('page');
  await page.locator('.getting-started-step .monaco-button', { hasText: 'Open Sample' }).first().click();
  const sample = bench.adopt(await opened, window.context);
  await sample.status(/slow_model\.json\.gz/);
  await sample.page.waitForSelector('.monaco-editor .view-line');
  await until(async () => (await sample.cursorLine()) === 97, 'the cursor on the hottest line');
  await sample.goTo(46);
  await sample.line('x.max().item() > 100', /wait ×6/);
  await sample.close();
});

for (const [name, theme] of [
  ['light', 'Default Light Modern'],
  ['high-contrast', 'Default High Contrast'],
  ['high-contrast-light', 'Default High Contrast Light'],
]) {
  test(`heat in the theme ${theme}`, async (t) => {
    const bench = await Bench.start({ settings: { 'workbench.colorTheme': theme } });
    t.after(() => bench.stop());
    const window = await bench.open(slowModel(), 'slow_model.py');
    await window.goTo(40);
    await window.line('x.max().item() > 100', /wait ×6/);
    const heat = await until(async () => {
      const found = await window.heat();
      return found[46] && found;
    }, 'heat on line 46');
    await window.page.locator('.codelens-decoration').filter({ visible: true }).first().waitFor();
    assert.notEqual(heat[46].background, heat[28].background);
    await window.screenshot(`heat-${name}`);
  });
}

test('heat as bars in the gutter', async (t) => {
  const bench = await Bench.start({ settings: { 'perfline.heat.style': 'gutter' } });
  t.after(() => bench.stop());
  const window = await bench.open(slowModel(), 'slow_model.py');
  await window.goTo(40);
  await window.line('x.max().item() > 100', /wait ×6/);
  const bars = () =>
    window.page.locator('.margin-view-overlays .glyph-margin-widgets, .glyph-margin-widgets .cgmr').count();
  await until(async () => (await bars()) > 2, 'bars in the gutter');
  await window.screenshot('heat-gutter');
});

test('heat relative to the function that the cursor is in', async (t) => {
  const bench = await Bench.start({ settings: { 'perfline.heat.scope': 'function' } });
  t.after(() => bench.stop());
  const window = await bench.open(slowModel(), 'slow_model.py');
  await window.goTo(46);
  const heat = await until(async () => {
    const found = await window.heat();
    return found[46] && !found[29] && found;
  }, 'heat on line 46 and none on line 29, which is in another function');
  await window.goTo(29);
  await until(
    async () => (await window.heat())[29] && !(await window.heat())[46],
    'heat on line 29 and none on line 46',
  );
  assert.ok(heat[45]);
});
