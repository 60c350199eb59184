// `perfline view`, in Chromium: lines open in the editor, pictures show more, and nobody else gets an answer.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { REPOSITORY, SHOTS, launch, temporaryFolder, until } from './bench.mjs';
import { RECORDING, SNAPSHOT, slowModel } from './workspaces.mjs';

const PERFLINE = process.env.PERFLINE ?? path.join(REPOSITORY, 'target/release/perfline');

const folder = slowModel({ recording: false });
const opened = path.join(folder, 'opened.txt');
let server;
let url;
let browser;
let page;
const errors = [];

/** Starts a server, and waits for its address. */
async function serve(inputs) {
  // Notes what it was asked to open, as an editor with a window would open it.
  const editor = path.join(temporaryFolder(), 'code');
  writeFileSync(editor, `#!/bin/sh\necho "$@" >> '${opened}'\n`, { mode: 0o755 });
  server = spawn(PERFLINE, ['view', ...inputs, '--root', folder, '--no-browser'], {
    env: { ...process.env, VISUAL: editor, PERFLINE_CACHE_DIR: '' },
  });
  let said = '';
  server.stderr.on('data', (it) => (said += it));
  return until(() => /http:\S+/.exec(said)?.[0], `an address in ${said}`);
}

before(async () => {
  url = await serve([RECORDING, SNAPSHOT]);
  browser = await launch();
  page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(url);
});
after(async () => {
  server.kill();
  await browser.close();
});

test('a line of a finding and one of a table open in the editor', async () => {
  await page.locator('.findings button.place').first().click();
  // The file is there before its first line is.
  const lines = () => (existsSync(opened) ? readFileSync(opened, 'utf8').split('\n').filter(Boolean) : []);
  const first = await until(() => lines()[0], 'an opened line');
  assert.match(first, new RegExp(`^-g ${path.join(folder, 'slow_model.py')}:\\d+$`));
  const inTable = page.locator('td button.place').first();
  const place = await inTable.innerText();
  await inTable.click();
  await until(() => lines().length === 2, 'another one');
  assert.equal(lines()[1], `-g ${path.join(folder, place)}`);
  await page.screenshot({ path: path.join(SHOTS, 'view.png') });
});

test('the timeline shows more of what is zoomed, and other steps', async () => {
  await page.locator('summary', { hasText: 'Timeline' }).click();
  const timeline = (selector) => page.locator(`.timeline ${selector}`);
  await timeline('canvas').waitFor();
  const note = () => timeline('.flame-note').innerText();
  const before = await note();
  await timeline('select').first().selectOption({ index: 0 });
  await until(async () => (await note()) !== before, 'another step');
  await timeline('canvas').focus();
  const answer = page.waitForResponse((it) => it.url().endsWith('/picture') && it.ok());
  for (let presses = 0; presses < 8; presses++) {
    await page.keyboard.press('w');
  }
  const data = await (await answer).json();
  assert.ok(data.to - data.from < 1e8, `${data.from} to ${data.to}`);
  await page
    .locator('details.picture', { hasText: 'Timeline' })
    .screenshot({ path: path.join(SHOTS, 'view-timeline.png') });
  assert.deepEqual(errors, []);
});

test('a line of the flame graph opens', async () => {
  await page.locator('summary', { hasText: 'Flame graph' }).click();
  const canvas = page.locator('.flame canvas');
  await canvas.waitFor();
  await canvas.focus();
  const before = readFileSync(opened, 'utf8');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('o');
  await until(() => readFileSync(opened, 'utf8') !== before, 'a line');
  assert.deepEqual(errors, []);
});

test('its address names a picture and a line in it', async () => {
  const other = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  await other.goto(`${url}#flame:slow_model.py:46`);
  const selected = () => other.locator('.flame .flame-selection').innerText();
  assert.match(await until(selected, 'a frame'), /slow_model\.py:46/);
  await other.close();
  // A timeline that is narrowed to a line, as an editor shows it.
  const shown = await browser.newPage({ viewport: { width: 1200, height: 760 } });
  await shown.goto(`${url}#timeline:slow_model.py:46`);
  await until(() => shown.locator('.timeline .flame-selection').innerText(), 'a box');
  await shown.locator('summary', { hasText: 'Timeline' }).scrollIntoViewIfNeeded();
  await shown.screenshot({ path: path.join(SHOTS, 'view-line.png') });
  await shown.close();
});

test('without the key, and by another name, there is nothing', async () => {
  const { origin } = new URL(url);
  assert.equal((await fetch(origin)).status, 403);
  assert.equal((await fetch(`${origin}/${'0'.repeat(32)}/`)).status, 403);
  // A form of another site can send this without being allowed to.
  const options = { method: 'POST', body: '{"file": "slow_model.py", "line": 1}' };
  assert.equal((await fetch(`${url}open`, options)).status, 415);
});

test('a line that cannot be opened, and a server that has ended, are said', async () => {
  const message = () => page.locator('.message').innerText();
  await page.route('**/open', (route) => route.fulfill({ status: 422, body: 'gone.py was not found here.' }));
  await page.locator('.findings button.place').first().click();
  assert.equal(await until(message, 'a message'), 'gone.py was not found here.');
  await page.unroute('**/open');
  server.kill();
  await page.locator('.findings button.place').first().click();
  await until(async () => (await message()) === 'The server of this page has ended.', 'the end');
});

test('a cell of the map of ranks and steps opens the timeline of its rank at its step', async () => {
  server.kill();
  await page.goto(await serve([path.join(REPOSITORY, 'fixtures/cpu/torch2.15.0/late_rank.slow_line')]));
  // Those of the server that has ended.
  errors.length = 0;
  const map = (selector) => page.locator(`.ranks ${selector}`);
  const note = () => page.locator('.timeline .flame-note').innerText();
  await map('canvas').focus();
  for (const [rank, key] of [
    [1, 'End'],
    [0, 'ArrowUp'],
    [1, 'ArrowDown'],
  ]) {
    if (key === 'End') {
      await page.keyboard.press('m');
    }
    await page.keyboard.press(key);
    const [, where, step] = /^(rank \d+), step (\d+) · /.exec(await map('.flame-selection').innerText());
    assert.equal(where, `rank ${rank}`);
    await page.keyboard.press('Enter');
    await until(async () => (await note()).startsWith(`Step ${step}, one of `), `step ${step}`);
    await until(async () => (await note()).includes(`, ${where}, `), where);
    await map('canvas').focus();
  }
  // What is asked for next is of the rank that is shown.
  await page.locator('.timeline select').first().selectOption({ index: 0 });
  await until(async () => /^Step \d+, one of \d+ recorded, rank 1, /.test(await note()), 'another step of rank 1');
  await page.screenshot({ path: path.join(SHOTS, 'view-ranks.png') });
  assert.deepEqual(errors, []);
});

test('the lanes of ranks say who waits for whom, and at which line', async () => {
  const timeline = (selector) => page.locator(`.timeline ${selector}`);
  const download = page.waitForEvent('download');
  await timeline('button').filter({ hasText: 'Save as SVG' }).click();
  const svg = readFileSync(await (await download).path(), 'utf8');
  for (const text of ['rank 0: collectives', 'rank 3: collectives', 'memory of cpu, up to ']) {
    assert.ok(svg.includes(`>${text}`), text);
  }
  assert.match(svg, /<title>cpu: [\d.]+ KiB in use<\/title>/);
  // Down the rows, from the annotations to the first wait.
  await timeline('canvas').focus();
  const selected = () => timeline('.flame-selection').innerText();
  for (let row = 0; row < 40 && !(await selected()).startsWith('waits for rank'); row++) {
    await page.keyboard.press('ArrowDown');
    for (let box = 0; box < 5 && (await selected()).startsWith('all_reduce'); box++) {
      await page.keyboard.press('ArrowRight');
    }
  }
  assert.match(
    await selected(),
    /^waits for rank \d · wait for another rank · [\d.]+ [mµ]?s · at .* · launched by .*late_rank\.py:\d+\).* · in all_reduce$/,
  );
  await timeline('canvas').screenshot({ path: path.join(SHOTS, 'view-rank-lanes.png') });
  assert.deepEqual(errors, []);
});

test('a trace shows the memory of the host, without what it does not say', async () => {
  await page.locator('summary', { hasText: 'Memory over time' }).click();
  const memory = (selector) => page.locator(`.memory ${selector}`);
  await memory('canvas').first().waitFor();
  assert.match(await memory('.flame-note').innerText(), /^The whole recording, rank \d, cpu, [\d.]+ ms\./);
  assert.equal(await memory('label').filter({ hasText: 'Reserved' }).isVisible(), false);
  assert.equal(await memory('summary').filter({ hasText: 'Segments' }).isVisible(), false);
  const lines = await memory('tbody tr').filter({ hasText: 'late_rank.py:' }).count();
  assert.ok(lines > 0, `${lines} lines`);
  await memory('canvas')
    .first()
    .screenshot({ path: path.join(SHOTS, 'view-trace-memory.png') });
  assert.deepEqual(errors, []);
});
