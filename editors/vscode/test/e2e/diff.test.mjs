// The page of `perfline diff --html`, in Chromium: the flame graph of two runs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { REPOSITORY, SHOTS, launch, temporaryFolder, until } from './bench.mjs';

const PERFLINE = process.env.PERFLINE ?? path.join(REPOSITORY, 'target/release/perfline');
const PROGRAMS = path.join(REPOSITORY, 'tests/data/comparison');
const perfline = (...args) =>
  execFileSync(PERFLINE, args, {
    encoding: 'utf8',
    // Names of recordings are shown.
    cwd: PROGRAMS,
    env: { ...process.env, PERFLINE_CACHE_DIR: '' },
  });
const linesOf = (folder) =>
  JSON.parse(perfline('lines', `${folder}/trace.json.gz`, '--root', folder, '--format', 'json'));

let browser;
let page;
const errors = [];

before(async () => {
  const file = path.join(temporaryFolder(), 'diff.html');
  const traces = ['base/trace.json.gz', 'faster/trace.json.gz'];
  perfline('diff', ...traces, '--base-root', 'base', '--root', 'faster', '--html', file);
  browser = await launch();
  page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(pathToFileURL(file).href);
  await page.locator('summary', { hasText: 'Flame graph' }).click();
  await flame('canvas').waitFor();
  await flame('canvas').scrollIntoViewIfNeeded();
});
after(() => browser.close());

const flame = (selector) => page.locator(`.flame ${selector}`);
const choose = (label, value) => flame('label').filter({ hasText: label }).locator('select').selectOption(value);

/** What the search says of a text. */
async function found(text) {
  await flame('[type=search]').fill(text);
  return until(() => flame('output').innerText(), `what is found of ${text}`);
}

test('its sums are those of perfline lines of each run', async () => {
  const data = JSON.parse(await page.locator('#flame-data').textContent());
  const [of, beside] = [linesOf('faster'), linesOf('base')];
  for (const metric of data.metrics) {
    const [field, factor] = metric.id === 'alloc' ? ['alloc_bytes', 1] : [`${metric.id}_us`, 1000];
    for (const [column, { totals }] of [
      [metric, of],
      [metric.base, beside],
    ]) {
      const sum = column.amount.reduce((sum, it) => sum + it, 0);
      assert.deepEqual([sum, column.total], [column.total, Math.round(totals[field] * factor)], metric.id);
    }
  }
  // The line that was changed is compared with the one that it was.
  const total = ({ lines }, number) => lines.find((it) => it.file === 'train.py' && it.line === number).cpu_total_us;
  const [now, base] = [total(of, 11) / data.base.steps[1], total(beside, 13) / data.base.steps[0]];
  const digits = (us) => `${Number(us.toPrecision(3))} µs`;
  assert.equal(await found('(train.py:11)'), `new ${digits(now)} · base ${digits(base)} · −${digits(base - now)}`);
});

test('what differs says so in words, and what is within the noise too', async () => {
  await flame('[type=search]').fill('');
  await flame('summary').click();
  await until(async () => (await flame('tbody tr').count()) > 5, 'rows of the table');
  const row = async (name) => {
    const cells = flame('tbody tr').filter({ hasText: name }).first().locator('th, td');
    return cells.allInnerTexts();
  };
  const [, now, base, change, share, beyond] = await row('(train.py:11)');
  assert.match([now, base, change, share].join(' '), /^\d+ µs \d+ µs −\d+ µs −\d\d(\.\d)? %$/);
  assert.equal(beyond, change);
  assert.equal((await row('(train.py:25)')).at(-1), '');
  await flame('summary').click();
  await flame('canvas').focus();
  await page.keyboard.press('ArrowDown');
  assert.match(await flame('.flame-selection').innerText(), / · new [\d.]+ ms per step \(100 %\) · base [\d.]+ ms /);
  assert.match(await flame('.flame-selection').innerText(), / · change −[\d.]+ ms .* · beyond the noise −1\.0\d ms /);
});

test('what the base alone has is there when the picture is sized by it', async () => {
  const shown = () => flame('.flame-selection').innerText();
  const kernels = 'aten::select';
  assert.match(await found(kernels), /^new 0 · base [\d.]+ µs · −/);
  await choose('Sized by', 'base');
  assert.match(await found(kernels), /^new 0 · base [\d.]+ µs · −/);
  await flame('[type=search]').fill('');
  await choose('Order', 'up');
  await flame('canvas').focus();
  for (let presses = 0; presses < 60 && !/gone/.test(await shown()); presses++) {
    await page.keyboard.press(presses === 0 ? 'ArrowDown' : 'ArrowRight');
  }
  assert.match(await shown(), / · new 0 · base [\d.]+ µs per step .* · change −[\d.]+ µs \(gone\)/);
  await choose('Order', 'down');
  await choose('Sized by', 'now');
});

test('it is saved with its signs, and drawn in every theme', async () => {
  const download = page.waitForEvent('download');
  await flame('button').filter({ hasText: 'Save as SVG' }).click();
  const svg = readFileSync(await (await download).path(), 'utf8');
  assert.match(svg, /<title>▼ −\d+(\.\d)? % correct \(train\.py:11\)/);
  const picture = page.locator('details.picture', { has: page.locator('.flame') });
  for (const sized of ['now', 'base']) {
    await choose('Sized by', sized);
    for (const [name, media] of Object.entries({
      [`page-diff-${sized}`]: { colorScheme: 'light', contrast: 'no-preference' },
      [`page-diff-${sized}-dark`]: { colorScheme: 'dark', contrast: 'no-preference' },
      [`page-diff-${sized}-contrast`]: { colorScheme: 'dark', contrast: 'more' },
    })) {
      await page.emulateMedia(media);
      await page.waitForTimeout(300);
      await picture.screenshot({ path: path.join(SHOTS, `${name}.png`) });
    }
  }
  await choose('Colours', 'kind');
  assert.equal(await flame('.flame-legend').isVisible(), false);
  assert.deepEqual(errors, []);
});
