// The Findings view: what the rules found, and what can be done about it.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { Bench, keepFailure, until } from './bench.mjs';
import { slowModel, uploads, writeWithoutStacks } from './workspaces.mjs';

let bench;
let window;
let pane;
let rows;

before(async () => {
  bench = await Bench.start({ settings: { 'perfline.diagnostics.severity': { 'low-occupancy': 'hint' } } });
  window = await bench.open(uploads(), 'uploads.py');
  await window.status(/on lines/);
  await window.command('Perfline: Focus on Findings View');
  pane = window.page.locator('.pane', { has: window.page.locator('[aria-label^="Findings"]') }).last();
  rows = pane.locator('.monaco-list-row');
});
afterEach(keepFailure);
after(() => bench.stop());

const texts = async () => (await rows.allInnerTexts()).map((it) => it.replaceAll(/[\u00a0\n]+/g, ' '));

/** Clicks a button of a row, which is there while the mouse is. */
async function button(row, name) {
  await row.hover();
  await row.locator(`.action-label[aria-label^="${name}"]`).click();
}

test('findings of all severities, the costliest first', async () => {
  await rows.first().waitFor();
  const found = await texts();
  assert.match(found[0], /^[\w-]+ ?[\d.]+ [mµ]s · [\d.]+ % · uploads\.py:\d+/);
  for (const icon of ['warning', 'info', 'lightbulb']) {
    assert.ok((await pane.locator(`.codicon-${icon}`).count()) > 0, icon);
  }
  await window.screenshot('findings');
});

test('a click goes to the line', async () => {
  const row = rows.filter({ hasText: /^h2d-copy/ }).first();
  const line = Number(/uploads\.py:(\d+)/.exec(await row.innerText())[1]);
  await row.click();
  await until(async () => (await window.cursorLine()) === line, `the cursor on line ${line}`);
});

test('grouped by file, and flat again', async () => {
  await window.command('Perfline: Group Findings by File');
  await until(async () => /^uploads\.py/.test((await texts())[0]), 'a row for the file');
  assert.match((await texts())[1], /· line \d+/);
  await window.command('Perfline: List Findings by What Can Be Won');
  await until(async () => !/^uploads\.py/.test((await texts())[0]), 'no row for the file');
});

test('the page of a rule', async () => {
  await button(rows.filter({ hasText: /^h2d-copy/ }).first(), 'Explain Rule');
  const page = await window.webview('h1[id^=h2d-copy]');
  await page.getByText('When it fires').waitFor();
  await window.screenshot('findings-rule');
  await window.command('View: Close All Editors in Group');
});

test('the code of a problem leads to the page of its rule', async () => {
  await window.command('Problems: Focus on Problems View');
  await window.page
    .locator('.markers-panel a', { hasText: /^h2d-copy$/ })
    .first()
    .click({ modifiers: ['ControlOrMeta'] });
  await window.webview('h1[id^=h2d-copy]');
  await window.command('View: Close All Editors in Group');
  await window.command('View: Hide Panel');
});

test('a fix is offered and applied', async () => {
  const row = rows.filter({ hasText: /^zero-grad/ }).first();
  await button(row, 'Fix');
  await window.pick(/set_to_none=True/);
  await window.line('opt.zero_grad(', /set_to_none=True/);
  await window.undoAll();
});

test('what has no fix says what to do', async () => {
  await button(rows.filter({ hasText: /^low-occupancy/ }).first(), 'Fix');
  const message = await window.notification('There is no automatic fix here.');
  await window.dismiss(message);
});

test('a finding is ignored by a comment', async () => {
  const count = await rows.count();
  const row = rows.filter({ hasText: /^low-occupancy/ }).first();
  await window.contextMenu(row, 'Ignore on This Line', async () => (await rows.count()) === count - 1);
  await window.undoAll();
  await until(async () => (await rows.count()) === count, 'the finding again');
});

test('a recording without stacks says how to record it', async () => {
  const folder = slowModel({ recording: false });
  writeWithoutStacks(path.join(folder, 'stackless.json.gz'));
  const other = await bench.open(folder, 'slow_model.py');
  await other.status(/nothing on lines/);
  for (const view of ['Hot Lines', 'Findings']) {
    await other.command(`Perfline: Focus on ${view} View`);
    const found = other.page.locator('.pane', { has: other.page.locator(`[aria-label^="${view}"]`) }).last();
    await found.locator('.message', { hasText: 'no Python stacks. Record with with_stack=True.' }).waitFor();
  }
  await other.screenshot('without-stacks');
  await other.close();
});
