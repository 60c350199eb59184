// Takes the pictures of the documentation in which VS Code or a browser is seen, of recordings of an H200 (and of a CPU, where two
// runs or several ranks are shown). `tests/pictures/run` runs this, and puts them where they belong.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { Bench, REPOSITORY, launch, temporaryFolder, until } from './bench.mjs';

const PERFLINE = process.env.PERFLINE ?? path.join(REPOSITORY, 'target/release/perfline');
const [OUT] = process.argv.slice(2);
const FIXTURES = path.join(REPOSITORY, 'fixtures');
const PROGRAMS = path.join(FIXTURES, 'workloads');
const RECORDING = path.join(FIXTURES, 'cuda/torch2.11.0/slow_model.json.gz');
/** The exact callers of its calls, which PyTorch 2.11 does not record. */
const CALLERS = path.join(FIXTURES, 'cuda/torch2.11.0/slow_model.callers.json.gz');
const SNAPSHOT = path.join(FIXTURES, 'cuda/torch2.11.0/slow_model.snapshot.pickle.gz');
const RANKS = path.join(FIXTURES, 'cpu/torch2.15.0/late_rank.slow_line');
const COMPARISON = path.join(REPOSITORY, 'tests/data/comparison');
const ENVIRONMENT = { ...process.env, PERFLINE_CACHE_DIR: '' };

/** Everything is drawn at twice the size at which it is shown, for screens of high density. */
const SCALE = 2;
/** As wide as a picture stands on the web, or little more: text is to be read there. */
const WINDOW = { viewport: { width: 1020, height: 660 }, deviceScaleFactor: SCALE };

/** What is of no interest in a picture. */
const SETTINGS = {
  'breadcrumbs.enabled': false,
  'editor.stickyScroll.enabled': false,
  'editor.occurrencesHighlight': 'off',
  'editor.lightbulb.enabled': 'off',
  'editor.cursorBlinking': 'solid',
  'workbench.layoutControl.enabled': false,
  'terminal.integrated.gpuAcceleration': 'off',
  'window.title': '${activeEditorShort}',
};
/** The keyboard and the ports of the machine on which VS Code runs for a browser. */
const STYLE = '[id="status.forwardedPorts"], [id*="keyboardLayout"] { display: none !important }';

/** Stands in for the Python of a project: copies a recording that was made on another machine. */
const PYTHON = `#!/bin/sh
case "$*" in
  *--help) ;;
  *)
    mkdir -p perfline-runs
    cp "${CALLERS}" perfline-runs/h200_1.callers.json.gz
    cp "${RECORDING}" perfline-runs/partial
    mv perfline-runs/partial perfline-runs/h200_1.pt.trace.json.gz
    sleep 60 ;;
esac
`;

const PROGRAM = `import slow_model


def main():
    slow_model.train()


if __name__ == "__main__":
    main()
`;

/** A folder with the program and a file that goes with it. */
function project(...files) {
  const folder = path.join(temporaryFolder(), 'slow-model');
  mkdirSync(folder);
  for (const file of [path.join(PROGRAMS, 'slow_model.py'), ...files]) {
    copyFileSync(file, path.join(folder, path.basename(file)));
  }
  return folder;
}

const perfline = (args, cwd) => execFileSync(PERFLINE, args, { encoding: 'utf8', cwd, env: ENVIRONMENT });

async function shoot(target, name) {
  await target.screenshot({ path: path.join(OUT, `${name}.png`) });
}

/** A picture of a window, without the mouse. */
async function shootWindow(window, name) {
  await window.page.mouse.move(500, 5);
  await window.page.waitForTimeout(400);
  await shoot(window.page, name);
}

async function openWindow(bench, folder, file) {
  const window = await bench.open(folder, file, WINDOW);
  await window.page.addStyleTag({ content: STYLE });
  return window;
}

/** Puts a line where the lines from `first` on are seen. */
async function show(window, first, line) {
  await window.goTo(1);
  await window.goTo(first);
  await window.goTo(line);
}

/** Gives the panel below the editor more room, or less. */
async function dragPanel(page, to) {
  const { x, y, width } = await page.locator('.part.panel').boundingBox();
  await page.mouse.move(x + width / 2, y - 2);
  await page.mouse.down();
  await page.mouse.move(x + width / 2, to, { steps: 5 });
  await page.mouse.up();
}

/** Hints, lenses, heat, findings, hot lines and details of a line. */
async function takeEditor(bench) {
  const window = await openWindow(bench, project(RECORDING, CALLERS), 'slow_model.py');
  const { page } = window;
  await window.status(/slow_model\.json\.gz/);
  await window.command('Perfline: Focus on Hot Lines View');
  // The device waits for the host in this recording: what lines make it wait is what matters.
  await window.choose('Perfline: Choose Metric…', /^\s*GPU\sidle\stime/);
  const rows = page.locator('.pane-body .monaco-list-row');
  await rows.filter({ hasText: 'opt.step()' }).first().waitFor();
  const lens = (text) => page.locator('.codelens-decoration').filter({ visible: true, hasText: text }).first();
  await show(window, 60, 46);
  await window.line('x.max().item() > 100', /idle/);
  await lens('loop: ').waitFor();
  await shootWindow(window, 'hot-lines');

  await window.statusBar().click();
  await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Waits for the GPU' }).waitFor();
  await shootWindow(window, 'choice');
  await window.escape();

  await window.goTo(97);
  await window.command('Perfline: Show Line Details');
  const details = await window.webview('main header');
  await details.locator('.place', { hasText: 'slow_model.py:97' }).waitFor();
  await dragPanel(page, 412);
  await show(window, 104, 97);
  await lens('train_step: ').waitFor();
  await shootWindow(window, 'heat');

  await page.keyboard.press('Control+b');
  await dragPanel(page, 240);
  await show(window, 49, 45);
  await details.locator('.place', { hasText: 'slow_model.py:45' }).waitFor();
  await lens('loop: ').waitFor();
  await shootWindow(window, 'details');
  await window.close();
}

/** A panel beside the editor, at a line. */
async function takePanel(bench, { files, line, open, show: at, selector, ready, name }) {
  const window = await openWindow(bench, project(...files), 'slow_model.py');
  const { page } = window;
  await window.status(/slow_model\./);
  await page.keyboard.press('Control+b');
  await window.goTo(line);
  await window.command(open);
  const panel = await window.webview(selector);
  await until(async () => (await panel.locator('select option').count()) > 1, 'choices');
  await window.goTo(line);
  await window.command(at);
  await until(async () => ready.test(await panel.locator('.flame-selection').innerText()), `${ready}`);
  await page.waitForTimeout(500);
  await shootWindow(window, name);
  await window.close();
}

/** A program that was recorded by a click above its start. */
async function takeRecord(bench) {
  const folder = project();
  writeFileSync(path.join(folder, 'train.py'), PROGRAM);
  const python = path.join(folder, '.venv/bin/python');
  mkdirSync(path.dirname(python), { recursive: true });
  writeFileSync(python, PYTHON);
  chmodSync(python, 0o755);
  const window = await openWindow(bench, folder, 'train.py');
  const { page } = window;
  const lens = page.locator('.codelens-decoration a', { hasText: 'Record with Perfline' });
  await lens.waitFor();
  // Lenses that are asked for again are drawn anew; a second click would be answered by a message.
  await window.page.waitForTimeout(2000);
  await lens.click();
  await until(() => existsSync(path.join(folder, 'perfline-runs')), 'a Python that was started');
  await page.locator('.tab.active', { hasText: 'slow_model.py' }).waitFor();
  await window.line('opt.step()', /gpu/);
  await page.locator('.codelens-decoration').filter({ visible: true, hasText: 'train_step: ' }).waitFor();
  await page.waitForTimeout(2000);
  await shootWindow(window, 'record');
  await window.close();
}

async function openPage(browser, url, size) {
  const page = await browser.newPage({ viewport: size, deviceScaleFactor: SCALE, colorScheme: 'light' });
  await page.goto(url);
  return page;
}

/** The page of `perfline report --html`, and its flame graph. */
async function takeReport(browser) {
  const file = path.join(temporaryFolder(), 'report.html');
  perfline(['report', RECORDING, '--root', PROGRAMS, '--html', file]);
  const page = await openPage(browser, pathToFileURL(file).href, { width: 900, height: 770 });
  await shoot(page, 'report');
  await page.locator('summary', { hasText: 'Flame graph' }).click();
  const picture = page.locator('details.picture', { has: page.locator('.flame') });
  await picture.locator('.flame canvas').waitFor();
  await picture.scrollIntoViewIfNeeded();
  await page.waitForTimeout(500);
  await shoot(picture, 'flame-page');
  await page.close();
}

/** The page of `perfline diff --html`: its flame graph, and both sources beside each other. */
async function takeDiff(browser) {
  const file = path.join(temporaryFolder(), 'diff.html');
  const inputs = ['base/trace.json.gz', 'faster/trace.json.gz', '--base-root', 'base', '--root', 'faster'];
  perfline(['diff', ...inputs, '--html', file], COMPARISON);
  const page = await openPage(browser, pathToFileURL(file).href, { width: 1400, height: 800 });
  const sources = page.locator('h2', { hasText: 'Sources side by side' });
  await sources.scrollIntoViewIfNeeded();
  await sources.evaluate((it) => window.scrollTo(0, it.getBoundingClientRect().top + window.scrollY - 12));
  await page.setViewportSize({ width: 1400, height: 480 });
  await shoot(page, 'diff-side-by-side');
  await page.setViewportSize({ width: 960, height: 800 });
  await page.locator('summary', { hasText: 'Flame graph' }).click();
  const picture = page.locator('details.picture', { has: page.locator('.flame') });
  await picture.locator('.flame canvas').waitFor();
  await picture.locator('label', { hasText: 'Sized by' }).locator('select').selectOption('base');
  await page.waitForTimeout(500);
  await shoot(picture, 'flame-diff');
  await page.close();
}

/** The page of a report, 960 pixels wide. */
async function openReport(browser, ...inputs) {
  const file = path.join(temporaryFolder(), 'report.html');
  perfline(['report', ...inputs, '--root', PROGRAMS, '--html', file]);
  return openPage(browser, pathToFileURL(file).href, { width: 960, height: 800 });
}

/** The map of ranks and steps, with the largest amount selected. */
async function takeRanks(browser) {
  const page = await openReport(browser, RANKS);
  const map = page.locator('.ranks');
  await map.locator('canvas').press('m');
  await page.waitForTimeout(300);
  await shoot(map, 'ranks');
  await page.close();
}

/** The timeline of a step in which three ranks wait for the fourth, with one of the waits selected. */
async function takeRankLanes(browser) {
  const page = await openReport(browser, RANKS);
  await page.locator('summary', { hasText: 'Timeline' }).click();
  const timeline = page.locator('.timeline');
  const selected = () => timeline.locator('.flame-selection').innerText();
  // Down the rows to a collective, and along it to a wait.
  await until(async () => {
    const isCollective = (await selected()).startsWith('all_reduce');
    await timeline.locator('canvas').press(isCollective ? 'ArrowRight' : 'ArrowDown');
    return (await selected()).startsWith('waits for rank');
  }, 'a wait');
  await page.waitForTimeout(300);
  await shoot(timeline, 'rank-lanes');
  await page.close();
}

/** The roofline of lines and kernels, with what has most time selected. */
async function takeRoofline(browser) {
  const page = await openReport(browser, RECORDING, CALLERS);
  await page.locator('summary', { hasText: 'Roofline' }).click();
  const roofline = page.locator('.roofline');
  await roofline.locator('select').selectOption('both');
  await roofline.locator('canvas').press('m');
  await page.waitForTimeout(300);
  await shoot(roofline, 'roofline');
  await page.close();
}

/** The segments of a device at the peak. */
async function takeSegments(browser) {
  const page = await openReport(browser, SNAPSHOT);
  await page.locator('.memory summary', { hasText: 'Segments at this moment' }).click();
  await page.waitForTimeout(300);
  await shoot(page.locator('.memory-segments'), 'segments');
  await page.close();
}

/** `perfline view` at a line of the timeline. */
async function takeView(browser) {
  const server = spawn(PERFLINE, ['view', RECORDING, SNAPSHOT, '--root', project(), '--no-browser'], {
    env: ENVIRONMENT,
  });
  let said = '';
  server.stderr.on('data', (it) => (said += it));
  const url = await until(() => /http:\S+/.exec(said)?.[0], `an address in ${said}`);
  const page = await openPage(browser, `${url}#timeline:slow_model.py:46`, { width: 1000, height: 720 });
  await until(() => page.locator('.timeline .flame-selection').innerText(), 'a box');
  await page.locator('summary', { hasText: 'Timeline' }).evaluate((it) => {
    window.scrollTo(0, it.getBoundingClientRect().top + window.scrollY - 140);
  });
  await page.waitForTimeout(500);
  await shoot(page, 'view');
  await page.close();
  server.kill();
}

const PANELS = [
  {
    name: 'flame',
    files: [RECORDING, CALLERS],
    line: 45,
    open: 'Perfline: Show Flame Graph',
    show: 'Perfline: Show in Flame Graph',
    selector: '.flame canvas',
    ready: /slow_model\.py:45/,
  },
  {
    name: 'timeline',
    files: [RECORDING, CALLERS],
    line: 46,
    open: 'Perfline: Show Timeline',
    show: 'Perfline: Show in Timeline',
    selector: '.timeline canvas',
    ready: /slow_model\.py:46/,
  },
  {
    name: 'memory',
    files: [SNAPSHOT],
    line: 98,
    open: 'Perfline: Show Memory over Time',
    show: 'Perfline: Show in Memory over Time',
    selector: '.memory canvas',
    ready: /slow_model\.py:98/,
  },
];

const only = process.argv.slice(3);
const wanted = (name) => only.length === 0 || only.includes(name);
mkdirSync(OUT, { recursive: true });
const browser = await launch();
for (const [name, take] of Object.entries({
  report: takeReport,
  diff: takeDiff,
  ranks: takeRanks,
  'rank-lanes': takeRankLanes,
  roofline: takeRoofline,
  segments: takeSegments,
  view: takeView,
})) {
  if (wanted(name)) {
    await take(browser);
  }
}
await browser.close();
if (['editor', 'record', ...PANELS.map((it) => it.name)].some(wanted)) {
  const bench = await Bench.start({ settings: SETTINGS });
  if (wanted('editor')) {
    await takeEditor(bench);
  }
  for (const panel of PANELS.filter((it) => wanted(it.name))) {
    await takePanel(bench, panel);
  }
  if (wanted('record')) {
    await takeRecord(bench);
  }
  await bench.stop();
}
console.log(readdirSync(OUT).join('\n'));
