// What the server shows, in the editor.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Bench } from './bench.mjs';
import { slowModel } from './workspaces.mjs';

let bench;
let window;

before(async () => {
  bench = await Bench.start();
  window = await bench.open(slowModel(), 'slow_model.py');
  await window.goTo(46);
});
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
  await lens.filter({ visible: true, hasText: /^forward: .*of\sthe\sstep/ }).first().waitFor();
  await lens.filter({ visible: true, hasText: /^loop: .*of\sthe\sstep/ }).first().waitFor();
});

test('a hover names the kernels', async () => {
  const hover = await window.hover('x.max().item() > 100');
  const text = (await hover.innerText()).replaceAll('\u00a0', ' ');
  assert.match(text, /wait/);
  assert.match(text, /reduce/);
  await window.screenshot('hover', { keepMouse: true });
});
