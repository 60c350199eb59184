// The page of `perfline report --html`, in Chromium: its flame graph, its timeline and memory over time.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { REPOSITORY, SHOTS, launch, temporaryFolder, until } from './bench.mjs';
import { RECORDING, SNAPSHOT } from './workspaces.mjs';

const PERFLINE = process.env.PERFLINE ?? path.join(REPOSITORY, 'target/release/perfline');
const INPUT = [RECORDING, '--root', path.join(REPOSITORY, 'fixtures/workloads')];
const perfline = (...args) =>
  execFileSync(PERFLINE, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    env: { ...process.env, PERFLINE_CACHE_DIR: '' },
  });

let browser;
let page;
let lines;
const errors = [];

before(async () => {
  const file = path.join(temporaryFolder(), 'report.html');
  perfline('report', ...INPUT, '--html', file);
  lines = JSON.parse(perfline('lines', ...INPUT, '--format', 'json'));
  browser = await launch();
  page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(pathToFileURL(file).href);
});
after(() => browser.close());

const flame = (selector) => page.locator(`.flame ${selector}`);
const total = () => flame('output').innerText();

/** Searches, and waits for the sum. */
async function search(text) {
  await flame('[type=search]').fill(text);
  return until(total, `a sum of ${text}`);
}

/** For people to look at. */
async function inEachTheme(name, picture) {
  for (const [suffix, media] of Object.entries({
    '': { colorScheme: 'light', contrast: 'no-preference' },
    '-dark': { colorScheme: 'dark', contrast: 'no-preference' },
    '-contrast': { colorScheme: 'dark', contrast: 'more' },
  })) {
    await page.emulateMedia(media);
    await page.waitForTimeout(300);
    await picture.screenshot({ path: path.join(SHOTS, `${name}${suffix}.png`) });
  }
}

test('it opens from a file, folded, and its policy lets it draw', async () => {
  assert.equal(await flame('canvas').count(), 0);
  await page.locator('summary', { hasText: 'Flame graph' }).click();
  await flame('canvas').waitFor();
  await flame('canvas').scrollIntoViewIfNeeded();
  assert.deepEqual(errors, []);
});

test('what it finds has the sums of perfline lines', async () => {
  const data = JSON.parse(await page.locator('#flame-data').textContent());
  for (const { id, total, amount } of data.metrics) {
    const sum = amount.reduce((sum, it) => sum + it, 0);
    const unit = id === 'alloc' ? ['alloc_bytes', 1] : [`${id}_us`, 1000];
    // Of the peak there is no total but that of the lines.
    const expected =
      id === 'peak'
        ? lines.lines.reduce((sum, it) => sum + (it.peak_bytes ?? 0), 0)
        : Math.round(lines.totals[unit[0]] * unit[1]);
    assert.deepEqual([sum, total], [total, expected], id);
  }
  for (const number of [46, 45, 97]) {
    const line = lines.lines.find((it) => it.file === 'slow_model.py' && it.line === number);
    const text = await search(`(slow_model.py:${number})`);
    const [shown] = /^[\d.]+ ms/.exec(text);
    assert.equal(shown, `${Number((line.cuda_total_us / 1000).toPrecision(3))} ms`, text);
  }
});

test('keys move, zoom, search and lead to callers', async () => {
  await flame('[type=search]').fill('');
  await flame('canvas').focus();
  for (let presses = 0; presses < 8; presses++) {
    await page.keyboard.press('ArrowDown');
  }
  const selected = () => flame('.flame-selection').innerText();
  assert.match(await selected(), /^train_step|^SlowModel\.forward|^aten::|^autograd::/);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.type('reduce_kernel');
  assert.match(await until(total, 'a sum'), /ms/);
  await page.keyboard.press('Escape');
  await page.keyboard.press('c');
  await until(async () => (await flame('select').nth(1).inputValue()) === 'callers', 'callers of the frame');
  await flame('select').nth(1).selectOption('up');
  await flame('select').nth(0).selectOption({ label: 'thread time' });
  await flame('summary').click();
  await until(async () => (await flame('tbody tr').count()) > 5, 'rows of the table');
  assert.deepEqual(errors, []);
});

test('it is saved as SVG', async () => {
  const download = page.waitForEvent('download');
  await flame('button', { hasText: 'Save as SVG' }).filter({ hasText: 'SVG' }).click();
  const file = await (await download).path();
  assert.match(readFileSync(file, 'utf8'), /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
});

test('it follows the theme', async () => {
  await flame('select').nth(0).selectOption({ label: 'CUDA time' });
  await flame('select').nth(1).selectOption('down');
  await flame('summary').click();
  const picture = page.locator('details.picture', { has: page.locator('.flame') });
  await inEachTheme('page-flame', picture);
});

const timeline = (selector) => page.locator(`.timeline ${selector}`);

test('the timeline shows the median step, and its sums are those of its boxes', async () => {
  await page.emulateMedia({ colorScheme: 'light', contrast: 'no-preference' });
  await page.locator('summary', { hasText: 'Timeline' }).click();
  await timeline('canvas').waitFor();
  await timeline('canvas').scrollIntoViewIfNeeded();
  const text = await page.locator('#timeline-data').textContent();
  assert.ok(text.length < 200_000, `${text.length} bytes`);
  const data = JSON.parse(text);
  assert.match(await timeline('.flame-note').innerText(), new RegExp(`^Step ${data.step}, one of 3 recorded, rank 0`));
  await timeline('[type=search]').fill('(slow_model.py:46)');
  assert.match(await until(() => timeline('output').innerText(), 'a sum'), /^[1-9]\d* device events, [\d.]+ [mµ]s$/);
  await timeline('[type=search]').fill('');
  // A click selects the kernel below it, whose line is shown.
  const selected = () => timeline('.flame-selection').innerText();
  await timeline('canvas').focus();
  for (let presses = 0; presses < 12; presses++) {
    await page.keyboard.press('ArrowDown');
  }
  assert.match(await until(selected, 'a box'), / · at [\d.]+ /);
  await page.keyboard.press('w');
  await page.keyboard.press('d');
  await page.keyboard.press('Escape');
  // A span that is drawn with the pointer has sums by line.
  const box = await timeline('canvas').boundingBox();
  await page.mouse.move(box.x + 100, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 400, box.y + 62, { steps: 4 });
  await page.mouse.up();
  await until(async () => (await timeline('tbody tr').count()) > 3, 'rows of the table');
  assert.match(await timeline('caption').innerText(), /^Sums by line of the selected span, [\d.]+ ms$/);
  const download = page.waitForEvent('download');
  await timeline('button').filter({ hasText: 'Save as SVG' }).click();
  assert.match(readFileSync(await (await download).path(), 'utf8'), /<title>train_step \(slow_model\.py:\d+\)/);
  await inEachTheme('page-timeline', page.locator('details.picture', { has: page.locator('.timeline') }));
  assert.deepEqual(errors, []);
});

test('the map of ranks and steps has the numbers of perfline ranks, and keys move in it', async () => {
  const inputs = [path.join(REPOSITORY, 'fixtures/cpu/torch2.15.0/late_rank.slow_line'), ...INPUT.slice(1)];
  const file = path.join(temporaryFolder(), 'ranks.html');
  perfline('report', ...inputs, '--html', file);
  const { ranks, steps } = JSON.parse(perfline('ranks', ...inputs, '--format', 'json'));
  await page.emulateMedia({ colorScheme: 'light', contrast: 'no-preference' });
  await page.goto(pathToFileURL(file).href);
  const map = (selector) => page.locator(`.ranks ${selector}`);
  await map('canvas').scrollIntoViewIfNeeded();
  const data = JSON.parse(await page.locator('#ranks-data').textContent());
  const fields = ['waited_for_us', 'step_us', 'compute_us', 'comm_wait_us', 'comm_transfer_us'];
  fields.forEach((field, index) => {
    const amounts = Object.fromEntries(
      data.ranks.flatMap((rank, row) =>
        data.steps.map((step, column) => [
          `${rank}/${step}`,
          data.metrics[index].amount[row * data.steps.length + column],
        ]),
      ),
    );
    const expected = steps.map((it) => [`${it.rank}/${it.step}`, Math.round(it[field] * 1000)]);
    assert.deepEqual(amounts, Object.fromEntries(expected), field);
  });
  assert.deepEqual(
    data.ranks,
    ranks.map((it) => it.rank),
  );
  // The table has the same as text.
  await map('summary').click();
  await until(async () => (await map('tbody tr').count()) === ranks.length, 'a row of each rank');
  assert.equal(await map('tbody td').count(), steps.length);
  // Keys go to the largest amount and to other cells.
  const selected = () => map('.flame-selection').innerText();
  await map('canvas').focus();
  await page.keyboard.press('m');
  const late = steps.reduce((most, it) => (it.waited_for_us > most.waited_for_us ? it : most));
  assert.match(
    await selected(),
    new RegExp(`^rank ${late.rank}, step ${late.step} · waited for [\\d.]+ ms · step time `),
  );
  await page.keyboard.press('Home');
  assert.match(await selected(), new RegExp(`^rank ${late.rank}, step ${data.steps[0]} · `));
  await map('select').selectOption({ label: 'step time' });
  assert.match(await selected(), new RegExp(`^rank ${late.rank}, step ${data.steps[0]} · step time `));
  assert.equal(await map('button').filter({ hasText: 'Open timeline' }).isVisible(), false, 'of a file there is one');
  const download = page.waitForEvent('download');
  await map('button').filter({ hasText: 'Save as SVG' }).click();
  assert.match(readFileSync(await (await download).path(), 'utf8'), /<title>rank 0, step \d+ · step time /);
  await map('select').selectOption({ label: 'waited for' });
  await inEachTheme('page-ranks', page.locator('.ranks'));
  assert.deepEqual(errors, []);
});

test('the roofline has the FLOPs of perfline lines, and keys move in it', async () => {
  // Of a device whose data sheet is known.
  const inputs = [path.join(REPOSITORY, 'fixtures/cuda/torch2.11.0/slow_model.json.gz'), ...INPUT.slice(1)];
  const file = path.join(temporaryFolder(), 'roofline.html');
  perfline('report', ...inputs, '--html', file);
  const counted = JSON.parse(perfline('lines', ...inputs, '--format', 'json'));
  await page.emulateMedia({ colorScheme: 'light', contrast: 'no-preference' });
  await page.goto(pathToFileURL(file).href);
  const roofline = (selector) => page.locator(`.roofline ${selector}`);
  await page.locator('summary', { hasText: 'Roofline' }).click();
  await roofline('canvas').scrollIntoViewIfNeeded();
  const { points } = JSON.parse(await page.locator('#roofline-data').textContent());
  const expected = counted.lines.filter((it) => it.flops > 0);
  const ofLines = points.filter((it) => it.of === 'line');
  const sums = (rows, key, amount) =>
    rows.reduce((sums, it) => ({ ...sums, [key(it)]: (sums[key(it)] ?? 0) + amount(it) }), {});
  assert.deepEqual(
    sums(
      ofLines,
      ({ place }) => `${path.basename(place.file)}:${place.line}`,
      (it) => it.flops,
    ),
    sums(
      expected,
      (it) => `${path.basename(it.file)}:${it.line}`,
      (it) => it.flops,
    ),
  );
  // The table has the same as text.
  await roofline('summary').click();
  await until(async () => (await roofline('tbody tr').count()) === ofLines.length, 'a row of each line');
  await roofline('canvas').focus();
  await page.keyboard.press('m');
  const selected = () => roofline('.flame-selection').innerText();
  assert.ok((await selected()).startsWith(`${ofLines[0].name} · `), await selected());
  await page.keyboard.press('ArrowRight');
  assert.ok((await selected()).startsWith(`${ofLines[1].name} · `), await selected());
  assert.match(await selected(), / % of what (the memory|its arithmetic) allows$/);
  const download = page.waitForEvent('download');
  await roofline('button').filter({ hasText: 'Save as SVG' }).click();
  const svg = readFileSync(await (await download).path(), 'utf8');
  assert.equal(svg.match(/<circle /g)?.length, ofLines.length);
  await inEachTheme('page-roofline', page.locator('.roofline'));
  assert.deepEqual(errors, []);
});

test('what is in use at the peak is what perfline memory says of it', async () => {
  const inputs = [SNAPSHOT, ...INPUT.slice(1)];
  const file = path.join(temporaryFolder(), 'memory.html');
  perfline('report', ...inputs, '--html', file);
  const [device] = JSON.parse(perfline('memory', ...inputs, '--format', 'json')).devices;
  await page.emulateMedia({ colorScheme: 'light', contrast: 'no-preference' });
  await page.goto(pathToFileURL(file).href);
  const memory = (selector) => page.locator(`.memory ${selector}`);
  await memory('canvas').scrollIntoViewIfNeeded();
  const data = JSON.parse(await page.locator('#memory-data').textContent());
  const moment = data.event.indexOf(data.peak.event);
  const holders = data.rows.map(({ holder, bytes }) => {
    const frame = data.holders.frame[holder];
    return [`${data.strings[data.frames.file[frame]]}:${data.frames.line[frame]}`, bytes[moment]];
  });
  const sums = {};
  holders.filter(([, bytes]) => bytes > 0).forEach(([line, bytes]) => (sums[line] = (sums[line] ?? 0) + bytes));
  const held = device.lines.filter((it) => it.peak_bytes > 0).map((it) => [`${it.file}:${it.line}`, it.peak_bytes]);
  assert.deepEqual(sums, Object.fromEntries(held));
  assert.equal(data.inUse[moment], device.peak_bytes);
  const rows = memory('details').first().locator('tbody tr');
  assert.equal(await rows.count(), held.length);
  // Keys choose another moment and an area; a click chooses both.
  const selected = () => memory('.flame-selection').innerText();
  assert.match(await selected(), /^1\.38 MiB in use around /);
  await memory('canvas').focus();
  await page.keyboard.press('ArrowLeft');
  assert.doesNotMatch(await selected(), /^1\.38 MiB/);
  await page.keyboard.press('ArrowUp');
  assert.match(await selected(), /^batches \(slow_model\.py:111\): 36 KiB, [\d.]+ % of /);
  await page.keyboard.press('p');
  await page.keyboard.press('w');
  await page.keyboard.press('Escape');
  const { width, height } = await memory('canvas').boundingBox();
  await memory('canvas').click({ position: { x: width / 2, y: height - 40 } });
  assert.match(await selected(), /^\w+ \(slow_model\.py:\d+\): [\d.]+ [KM]iB, /);
  await memory('[type=search]').fill('batches');
  assert.match(await memory('output').innerText(), /^2 found, 36\.\d+ KiB$/);
  await memory('[type=search]').fill('');
  await memory('summary').nth(1).click();
  const blocks = () => memory('details').nth(1).innerText();
  await until(async () => /slow_model\.py:97\)\s+[\d.]+ KiB\s+[\d.]+ ms\s/.test(await blocks()), 'blocks of line 97');
  const download = page.waitForEvent('download');
  await memory('button').filter({ hasText: 'Save as SVG' }).click();
  assert.match(readFileSync(await (await download).path(), 'utf8'), /<title>train_step \(slow_model\.py:97\)/);
  await memory('button').filter({ hasText: 'Peak' }).click();
  // The segments are those of the peak, and the page says so elsewhere.
  await memory('summary').filter({ hasText: 'Segments at this moment' }).click();
  const laidOut = () => memory('.memory-sums').innerText();
  assert.match(
    await laidOut(),
    new RegExp(`^\\d+ segments?, [\\d.]+ [KMG]iB reserved, .* This is after event ${data.peak.event + 1}\\.$`),
  );
  assert.equal(data.segments.reserved - data.segments.free, device.peak_bytes);
  await memory('summary').filter({ hasText: 'Segments as a table' }).click();
  await until(
    async () => (await memory('.memory-segments tbody tr').count()) === data.segments.bytes.length,
    'a row of each segment',
  );
  await memory('canvas').first().focus();
  await page.keyboard.press('ArrowLeft');
  assert.match(await laidOut(), /This page has those of the peak alone\.$/);
  await memory('button').filter({ hasText: 'Peak' }).click();
  await inEachTheme('page-memory', page.locator('.memory'));
  assert.deepEqual(errors, []);
});
