// What the server shows, in the editor.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';

import { Bench, keepFailure, until } from './bench.mjs';
import { slowModel } from './workspaces.mjs';

let bench;
let window;

before(async () => {
  bench = await Bench.start();
  window = await bench.open(slowModel(), 'slow_model.py');
  await window.goTo(46);
});
afterEach(keepFailure);
after(() => bench.stop());

test('hints stand on their lines', async () => {
  const [number] = await window.line('x.max().item() > 100', /\d ms wait ×6 · .* gpu/);
  assert.equal(number, '46');
  await window.line('x = torch.relu(layer(x))', /ms gpu \+.* bwd/);
});

test('a hint says how its line is known', async () => {
  await window.line('return x * torch.sigmoid', /~\d+ µs gpu/);
});

test('lenses stand above functions and loops', async () => {
  const lens = window.page.locator('.codelens-decoration');
  await lens
    .filter({ visible: true, hasText: /^forward: .*of\sthe\sstep/ })
    .first()
    .waitFor();
  await lens
    .filter({ visible: true, hasText: /^loop: .*of\sthe\sstep/ })
    .first()
    .waitFor();
});

test('a hover names the kernels', async () => {
  const text = await window.hover('x.max().item() > 100', /reduce_kernel/);
  assert.match(text, /wait for the GPU/);
  assert.match(text, /sync: the CPU waits/);
  await window.screenshot('hover', { keepMouse: true });
});

test('a line with a costly finding is underlined, and its fixes are offered and applied', async () => {
  const { page } = window;
  const findings = page.locator('.squiggly-warning, .squiggly-info');
  await window.goTo(46);
  await findings.first().waitFor({ state: 'attached' });
  // Findings of one severity on one line have one underline together, so the status bar is what counts them.
  const reported = async () => {
    const text = await page.locator('[id="status.problems"]').innerText();
    return (text.match(/\d+/g) ?? []).reduce((sum, number) => sum + Number(number), 0);
  };
  const count = await reported();
  assert.ok(count > 1);
  const menu = page.locator('.action-widget').first();
  // The menu does not open where the editor has not got the focus back from the palette yet.
  await until(async () => {
    await window.goTo(46);
    await window.command('Quick Fix...');
    return menu.waitFor({ timeout: 5000 }).then(
      () => true,
      () => false,
    );
  }, 'the menu of quick fixes');
  await window.screenshot('quick-fix');
  await menu.locator('.monaco-list-row', { hasText: 'Ignore' }).first().click();
  await window.line('x.max().item() > 100', /# perfline: ignore\[low-occupancy\]/);
  await until(async () => (await reported()) === count - 1, 'one finding less');
  await window.line('x.max().item() > 100', /ignore\[low-occupancy\]\d.* wait ×6/);
  await page.keyboard.press('Control+z');
  await until(async () => (await reported()) === count, 'the finding again');
});

test('hot lines are coloured by heat, and the bar shows how they are known', async () => {
  await window.goTo(40);
  const heat = await until(async () => {
    const found = await window.heat();
    return found[46] && found;
  }, 'heat on line 46');
  assert.equal(heat[46].bar, 'solid');
  assert.equal(heat[29].bar, 'dashed', 'line 29 is inferred');
  assert.notEqual(heat[46].background, heat[28].background);
  assert.equal(heat[40], undefined, 'what costs nothing is not coloured');
  await window.screenshot('heat');
});

test('heat is turned off and on', async () => {
  await window.command('Perfline: Turn Line Heat On or Off');
  await until(async () => Object.keys(await window.heat()).length === 0, 'no heat');
  await window.command('Perfline: Turn Line Heat On or Off');
  await until(async () => (await window.heat())[46], 'heat on line 46');
});

test('numbers move with their lines, and changed lines say so', async () => {
  const { page } = window;
  await window.goTo(45);
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  const [number] = await window.line('x.max().item() > 100', /wait ×6/);
  await until(async () => (await window.lines())[47]?.includes('wait ×6'), 'the hint on line 47');
  assert.ok(['46', '47'].includes(number));
  await until(async () => (await window.heat())[47], 'heat on line 47');
  await window.goTo(47);
  await page.keyboard.press('End');
  // A comment leaves the line what it was, another number does not.
  await page.keyboard.type('  # look');
  await window.line('x.max().item() > 100', /# look\d.* wait ×6/);
  for (let typed = '0:  # look'.length; typed > 0; typed--) {
    await page.keyboard.press('Backspace');
  }
  await page.keyboard.type('1:');
  await window.line('x.max().item() > 101', /≈.*wait ×6/);
  await until(async () => (await window.heat())[47]?.bar === 'dotted', 'a dotted bar on line 47');
  await window.undoAll();
  await window.line('x.max().item() > 100', /:\d.* wait ×6/);
  assert.ok((await window.lines())[46].includes('wait ×6'));
  await until(async () => (await window.heat())[46]?.bar === 'solid', 'a solid bar on line 46');
});

test('a lens lists the hot lines of its function', async () => {
  const { page } = window;
  await window.goTo(46);
  const lens = page.locator('.codelens-decoration a').filter({ visible: true, hasText: /^forward: 2\d/ });
  await lens.first().click();
  const rows = page.locator('.quick-input-list .monaco-list-row');
  await rows.first().waitFor();
  await window.screenshot('lens-list');
  await window.pick('x.max().item() > 100');
  await until(async () => (await window.cursorLine()) === 46, 'the cursor on line 46');
});
