import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Details, Finding, Place } from '../../src/api';
import { detailsHtml, emptyHtml } from '../../src/detailsHtml';

const PLACE: Place = {
  file: 'a<b>.py',
  uri: 'file:///code/a.py',
  line: 46,
  recordedLine: 44,
  source: '    if x.max().item() > 100:  # "<script>"',
  function: 'Model.forward',
  evidence: 'inferred',
  mark: '≈~',
  stale: true,
};

const FINDING: Finding = {
  ...PLACE,
  rule: 'sync',
  title: 'the CPU waits',
  severity: 'warning',
  value: 883_000,
  text: '883 µs',
  share: 0.046,
  shareText: '4.6 %',
  message: 'sync: the CPU waits 3.58 ms here',
  remedy: 'Keep it a <tensor>.',
};

const DETAILS: Details = {
  view: {
    metric: 'auto',
    effectiveMetric: 'cuda',
    charge: 'own',
    step: 'mean',
    rank: 'all',
    part: null,
    filter: { files: [], functions: [], modules: [], steps: [], threads: [], streams: [], phase: null },
    steps: [1, 2],
    ranks: [0],
  },
  place: PLACE,
  findings: [FINDING],
  numbers: [
    { name: 'cuda_own', label: 'GPU', value: 2_290_000, unit: 'ns', text: '2.29 ms', share: 0.25, shareText: '25 %' },
    { name: 'sync', label: 'wait', value: 0, unit: 'ns', text: '0', share: 0, shareText: '0 %' },
  ],
  kernels: [
    {
      name: 'void at::native::reduce_kernel<512>(…)',
      shortName: 'reduce_kernel',
      class: 'compute',
      calls: 6,
      total: 2_290_000,
      mean: 381_000,
      min: 1,
      max: 400,
      grid: [1, 2, 3],
      block: [512, 1, 1],
      shapes: 8,
      occupancy: 0.5,
      streams: [7],
      bytes: 0,
      text: '',
      texts: { calls: '6', total: '2.29 ms', mean: '381 µs', max: '400 ns', occupancy: '50 %', bytes: null },
    },
    {
      name: 'Memcpy DtoH (Device -> Pageable)',
      shortName: 'Memcpy DtoH (Device -> Pageable)',
      class: 'memory',
      calls: 2,
      total: 3_000,
      mean: 1_500,
      min: 1,
      max: 2_000,
      grid: [0, 0, 0],
      block: [0, 0, 0],
      shapes: 1,
      occupancy: null,
      streams: [7],
      bytes: 8,
      text: '',
      texts: { calls: '2', total: '3 µs', mean: '1.5 µs', max: '2 µs', occupancy: null, bytes: '8 B' },
    },
  ],
  operators: [{ name: 'aten::max', text: '', texts: { calls: '6', cpu: '1 µs', cuda: '2 µs' } }],
  callers: [{ ...PLACE, value: 1, text: '3 ms', share: 0.5, shareText: '50 %' }],
  callees: [],
  waits: [{ ...PLACE, uri: null, value: 1, text: '2 ms' }],
  replays: [{ ...PLACE, file: 'run.py', value: 1, text: '×729 · 4 ms', share: 0.1, shareText: '10 %' }],
  generated: [{ ...PLACE, file: 'cab.py', value: 1, text: '1 ms', share: 0.2, shareText: '20 %' }],
  allocations: [],
  steps: [
    { step: 1, value: 10, text: '10 ns' },
    { step: 2, value: 20, text: '20 ns' },
  ],
  markdown: '',
};

test('what is known of a line', () => {
  const html = detailsHtml(DETAILS);
  assert.ok(
    html.indexOf('">sync: the CPU waits 3.58 ms here<p>Keep it a &lt;tensor&gt;.</p>') < html.indexOf('<table'),
  );
  const text = html
    .replace(/<title>.*?<\/title>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
  assert.match(
    text,
    /a&lt;b&gt;\.py:46 Model\.forward ~ inferred ≈ changed since GPU time · Mean of 2 steps 10 ns to 20 ns/,
  );
  assert.match(text, /GPU 2\.29 ms 25 %/);
  assert.match(
    text,
    /Kernel Calls .* reduce_kernel grid 1·2·3, block 512·1·1 · the costliest of 8 shapes · occupancy 50 % · stream 7 6 2\.29 ms 381 µs 400 ns/,
  );
  assert.match(text, /Copy or fill Calls .* Memcpy DtoH \(Device -&gt; Pageable\) 8 B · stream 7 2 3 µs 1\.5 µs 2 µs/);
  assert.match(text, /aten::max 6 1 µs 2 µs/);
  assert.equal(html.match(/<rect class="value" x=/g)?.length, 2, 'a bar for each step');
  assert.doesNotMatch(text, /wait 0/, 'numbers that are nothing are left out');
  assert.equal(html.match(/data-index="0"/g)?.length, 1);
  assert.doesNotMatch(html, /data-index="1"/, 'a place that is not there cannot be clicked');
  assert.match(html, /Compiled into.*<a href="#" data-index="3">cab\.py:46<\/a>/s);
  assert.match(html, /Replayed from.*<a href="#" data-index="2">run\.py:46<\/a>/s);
  assert.match(text, /×729 · 4 ms 10 %/);
});

test('of much generated code the costliest lines are shown', () => {
  const names = Array.from({ length: 20 }, (_, at) => `c${at}.py`);
  const generated = names.flatMap((file) => DETAILS.generated.map((it) => ({ ...it, file })));
  const html = detailsHtml({ ...DETAILS, generated });
  assert.match(html, /c7\.py:46<\/a>/);
  assert.doesNotMatch(html, /c8\.py/);
  assert.match(html, /and 12 lines that cost less/);
});

test('text is escaped, and nothing needs what the policy of the page forbids', () => {
  for (const html of [detailsHtml(DETAILS), emptyHtml('<b>"x"</b>')]) {
    assert.doesNotMatch(html, /<script|<b>|style=| on\w+=/);
  }
});
