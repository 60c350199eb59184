// How long recordings take until their pictures are seen in Chromium, and how smoothly these move: `perfline view` beside PyTorch's
// memory_viz and Perfetto's trace processor, in turn on the same files. The end-to-end tests of the extension bring Chromium and Node.js
// (`editors/vscode/test/e2e/tools.sh`), `cargo build --release -p perfline` the program.
//
//     node benches/pictures.mjs [--rounds 3] [--memory-viz memory_viz.js] [--trace-processor trace_processor_shell] RECORDING...
//
// memory_viz.js is `torch/utils/viz/MemoryViz.js` of PyTorch, bundled with the modules that it imports from a network:
//
//     esbuild MemoryViz.js --bundle --format=esm --outfile=memory_viz.js    (with these modules in place of their addresses)
//
// Perfetto's page is not measured: what it waits for before it draws is its trace processor, whose time stands here.
import { spawn, spawnSync } from 'node:child_process';
import { createReadStream, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { REPOSITORY, launch, temporaryFolder, until } from '../editors/vscode/test/e2e/bench.mjs';

const { values: options, positionals: recordings } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    'memory-viz': { type: 'string' },
    'trace-processor': { type: 'string' },
  },
});
const PERFLINE = process.env.PERFLINE ?? path.join(REPOSITORY, 'target/release/perfline');
/** How many frames are drawn while zooming. */
const FRAMES = 60;
const PICTURES = [
  { id: 'timeline', title: 'Timeline' },
  { id: 'flame', title: 'Flame graph' },
  { id: 'memory', title: 'Memory over time' },
];

/** The most memory of a process, in megabytes. */
function peakOf(pid) {
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return kilobytes / 1000;
}

/** The memory of the script of a page after what it does not need is given back, in megabytes. */
async function heapOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  await session.send('Performance.enable');
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find((it) => it.name === 'JSHeapUsedSize').value / 1e6;
}

/** Zooms in a picture, one turn of the wheel in each frame; the times between frames in milliseconds. */
async function framesOf(canvas) {
  return canvas.evaluate(async (it, n) => {
    const { left, top, width, height } = it.getBoundingClientRect();
    const [clientX, clientY] = [left + width / 2, top + height / 2];
    const frame = () => new Promise(requestAnimationFrame);
    const times = [];
    let before = await frame();
    for (let turned = 0; turned < n; turned++) {
      const deltaY = turned % 20 < 10 ? -30 : 30;
      it.dispatchEvent(new WheelEvent('wheel', { deltaY, ctrlKey: true, clientX, clientY, cancelable: true }));
      const now = await frame();
      times.push(now - before);
      before = now;
    }
    return times;
  }, FRAMES);
}

/** Opens a picture of a page: the time until it is drawn, and those of frames. Nothing where the page has no such picture. */
async function openPicture(page, { id, title }) {
  const canvas = page.locator(`.${id} canvas`).first();
  const summary = page.locator('summary', { hasText: title });
  const begin = performance.now();
  if ((await summary.count()) > 0) {
    await summary.first().click();
  } else if ((await canvas.count()) === 0) {
    return {};
  }
  await canvas.waitFor();
  await canvas.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  const opened = performance.now() - begin;
  await canvas.scrollIntoViewIfNeeded();
  const frames = (await framesOf(canvas)).toSorted((a, b) => a - b);
  return { [id]: opened, [`${id} frame`]: frames[FRAMES / 2], [`${id} frame, most`]: frames.at(-1) };
}

/** `perfline view`, from its start to its pictures in a browser: milliseconds and megabytes. */
async function measureView(browser, recording) {
  const begin = performance.now();
  const server = spawn(PERFLINE, ['view', recording, '--root', temporaryFolder(), '--no-browser'], {
    env: { ...process.env, PERFLINE_CACHE_DIR: '' },
  });
  try {
    let said = '';
    server.stderr.on('data', (it) => (said += it));
    const url = await until(() => /http:\S+/.exec(said)?.[0], `an address in ${said}`);
    const read = performance.now() - begin;
    const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
    await page.goto(url);
    const load = performance.now() - begin - read;
    const opened = {};
    for (const picture of PICTURES) {
      Object.assign(opened, await openPicture(page, picture));
    }
    // What the peers show: a snapshot has no timeline.
    const first = opened.timeline ?? opened.memory ?? 0;
    const memory = { 'server MB': peakOf(server.pid), 'page MB': await heapOf(page) };
    await page.close();
    return { 'until seen': read + load + first, read, load, ...opened, ...memory };
  } finally {
    server.kill();
  }
}

/** PyTorch's memory_viz, from the start of its page to its first drawing. */
async function measureMemoryViz(browser, recording) {
  const files = {
    '/': { type: 'text/html', body: '<!DOCTYPE html><body><script type="module" src="start.js"></script>' },
    '/start.js': {
      type: 'text/javascript',
      body: `import { add_remote_files } from './memory_viz.js'; add_remote_files([{ name: 'snapshot', url: 'snapshot' }]);`,
    },
    '/memory_viz.js': { type: 'text/javascript', path: options['memory-viz'] },
    '/snapshot': { type: 'application/octet-stream', path: recording },
  };
  const server = createServer((request, response) => {
    const file = files[request.url];
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': file?.type ?? 'text/plain' });
    if (file?.path === undefined) {
      response.end(file?.body);
    } else {
      createReadStream(file.path).pipe(response);
    }
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  try {
    const begin = performance.now();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.locator('svg :is(polygon, path, rect)').first().waitFor({ timeout: 300_000 });
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const seen = performance.now() - begin;
    return { 'until seen': seen, 'page MB': await heapOf(page) };
  } finally {
    await page.close();
    server.close();
  }
}

/** Perfetto's trace processor, from its start to the answer of a query. */
function measureTraceProcessor(recording) {
  const query = path.join(temporaryFolder(), 'query.sql');
  writeFileSync(query, 'select count(*) from slice;\n');
  const begin = performance.now();
  const run = spawnSync('/usr/bin/time', ['-f', '%M', options['trace-processor'], '-q', query, recording], { encoding: 'utf8' });
  if (run.status !== 0) {
    throw new Error(`the trace processor failed on ${recording}: ${run.stderr}`);
  }
  return { 'until seen': performance.now() - begin, 'server MB': Number(run.stderr.trim().split('\n').at(-1)) / 1000 };
}

/** What can show a recording. */
function programsFor(recording) {
  const isSnapshot = /\.pickle(\.gz)?$/.test(recording);
  return [
    ['perfline view', measureView],
    ...(isSnapshot && options['memory-viz'] ? [['memory_viz', measureMemoryViz]] : []),
    ...(!isSnapshot && options['trace-processor'] ? [['trace processor', (_, it) => measureTraceProcessor(it)]] : []),
  ];
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const browser = await launch();
console.log(`${os.cpus()[0].model}, ${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(1)}, ${options.rounds} rounds`);
for (const recording of recordings) {
  const programs = programsFor(recording);
  const runs = programs.map(() => []);
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const [row, [, measure]] of programs.entries()) {
      runs[row].push(await measure(browser, recording));
    }
  }
  console.log(`\n${path.basename(recording)}, ${(statSync(recording).size / 1e6).toFixed(1)} MB`);
  for (const [row, [name]] of programs.entries()) {
    const columns = Object.keys(runs[row][0]).map((it) => {
      const unit = it.endsWith('MB') ? '' : ' ms';
      return `${it} ${median(runs[row].map((run) => run[it])).toFixed(1)}${unit}`;
    });
    console.log(`  ${name}: ${columns.join(', ')}`);
  }
}
await browser.close();
