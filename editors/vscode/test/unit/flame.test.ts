import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { type Frame, type Kind, framesOf, matcher } from '../../webview/flame/data';
import { changeOf, levelOf, signOf } from '../../webview/flame/difference';
import { boxesOf, framesBelow, layOut, nodeAt, spanOf, sumOf } from '../../webview/flame/layout';
import { percent, text } from '../../webview/flame/numbers';
import { type Colours, fitting, svgOf } from '../../webview/flame/svg';
import { type Tree, at, bottomUp, callersOf, ofUserCode, totals } from '../../webview/flame/tree';

const NAMES: [string, Kind][] = [
  ['train.py:3', 'user'],
  ['model.py:7', 'user'],
  ['threading.py:1', 'library'],
  ['torch.py:9', 'library'],
  ['add', 'operator'],
  ['mul', 'operator'],
  ['no_python_frame', 'noLine'],
];
const FRAMES: Frame[] = NAMES.map(([label, kind]) => ({ label, kind, place: undefined, evidence: 'exact' }));

/** A tree from stacks with amounts. */
function treeOf(stacks: Record<string, number>): Tree {
  const [parent, frame, self] = [[0], [-1], [0]];
  const index = new Map<string, number>([['', 0]]);
  for (const [stack, amount] of Object.entries(stacks)) {
    let above = '';
    for (const name of stack.split(';')) {
      const key = `${above};${name}`;
      if (!index.has(key)) {
        index.set(key, parent.length);
        parent.push(index.get(above) ?? 0);
        frame.push(NAMES.findIndex(([it]) => it === name));
        self.push(0);
      }
      above = key;
    }
    self[index.get(above) ?? 0] = amount;
  }
  return { parent: Int32Array.from(parent), frame: Int32Array.from(frame), self: Float64Array.from(self) };
}

/** Stacks with amounts from a tree, in the order of the picture. */
function stacksOf(tree: Tree): Record<string, number> {
  const { rows, start } = layOut(tree);
  const nodes = rows.flatMap((row) => [...row]).sort((a, b) => at(start, a) - at(start, b) || a - b);
  const name = (node: number): string =>
    (at(tree.parent, node) === 0 ? '' : `${name(at(tree.parent, node))};`) + (NAMES[at(tree.frame, node)]?.[0] ?? '?');
  return Object.fromEntries(nodes.filter((it) => at(tree.self, it) !== 0).map((it) => [name(it), at(tree.self, it)]));
}

/** The same as in the tests of `StackBooks`. */
const STACKS = {
  'train.py:3;torch.py:9;add': 5,
  'train.py:3;torch.py:9;model.py:7': 20,
  'train.py:3': 1,
  'threading.py:1;torch.py:9': 4,
  'threading.py:1': 2,
  'threading.py:1;torch.py:9;model.py:7;mul': 8,
  'no_python_frame;add': 3,
};

test('libraries fold into the user code that called them', () => {
  const folded = ofUserCode(treeOf(STACKS), FRAMES);
  assert.deepEqual(stacksOf(folded), {
    'train.py:3': 1,
    'train.py:3;model.py:7': 20,
    'train.py:3;add': 5,
    'model.py:7;mul': 8,
    'threading.py:1': 6,
    'no_python_frame;add': 3,
  });
  assert.equal(at(totals(folded), 0), 43);
});

test('upside down, what costs stands before what led there, and nothing is lost', () => {
  const inverted = bottomUp(treeOf(STACKS), FRAMES.length);
  assert.deepEqual(stacksOf(inverted), {
    'model.py:7;torch.py:9;train.py:3': 20,
    'add;torch.py:9;train.py:3': 5,
    'add;no_python_frame': 3,
    'mul;model.py:7;torch.py:9;threading.py:1': 8,
    'torch.py:9;threading.py:1': 4,
    'threading.py:1': 2,
    'train.py:3': 1,
  });
});

test('all callers of a frame, whose own calls count once', () => {
  const tree = treeOf({ 'train.py:3;add': 5, 'model.py:7;add;mul;add': 2, 'model.py:7;mul': 9 });
  const callers = callersOf(tree, 4, FRAMES.length);
  assert.deepEqual(stacksOf(callers), { 'add;train.py:3': 5, 'add;model.py:7': 2 });
});

test('siblings stand by size, and children within their parents', () => {
  const layout = layOut(treeOf(STACKS));
  assert.deepEqual(
    [...(layout.rows[1] ?? [])].map((it) => spanOf(layout, it)),
    [
      { from: 0, to: 26 },
      { from: 26, to: 40 },
      { from: 40, to: 43 },
    ],
  );
  for (let node = 1; node < layout.tree.parent.length; node++) {
    const [inner, outer] = [spanOf(layout, node), spanOf(layout, at(layout.tree.parent, node))];
    assert.ok(outer.from <= inner.from && inner.to <= outer.to);
    assert.equal(nodeAt(layout, at(layout.depth, node), inner.from), node);
  }
  assert.equal(nodeAt(layout, 1, 43), undefined);
  assert.equal(nodeAt(layout, 9, 0), undefined);
});

test('there are no more boxes than pixels, and what is wide enough has its own', () => {
  const n = 50_000;
  const parent = new Int32Array(n);
  const frame = new Int32Array(n);
  const self = Float64Array.from({ length: n }, (_, node) => (node === 0 ? 0 : node === 1 ? n : 1));
  const layout = layOut({ parent, frame, self });
  const boxes = boxesOf(layout, 1, { from: 0, to: at(layout.total, 0) }, 800);
  assert.equal(boxes[0]?.node, 1);
  assert.ok(boxes.length <= 800);
  const end = boxes.at(-1);
  assert.ok(end !== undefined && end.x + end.width >= 799 && end.x + end.width <= 801);
  // From nearer, each has its own.
  const near = boxesOf(layout, 1, { from: n, to: n + 10 }, 800);
  assert.deepEqual([near.length, near[0]?.width], [10, 80]);
});

test('what is found is summed once', () => {
  const layout = layOut(treeOf({ 'train.py:3;add': 5, 'model.py:7;add;mul;add': 2, 'model.py:7;mul': 9 }));
  const found = (query: string, isRegex: boolean) => {
    const isMatch = matcher(query, isRegex);
    return sumOf(layout, (frame) => isMatch(FRAMES[frame]?.label ?? ''));
  };
  assert.equal(found('ADD', false), 7);
  assert.equal(found('^(add|mul)$', true), 16);
  assert.equal(found('a.d', false), 0);
  assert.throws(() => matcher('(', true), SyntaxError);
});

test('the table sums frames below a node', () => {
  const layout = layOut(treeOf({ 'train.py:3;add': 5, 'model.py:7;add;mul;add': 2, 'model.py:7;mul': 9 }));
  assert.deepEqual(
    framesBelow(layout, 0, 3).map(({ frame, total, self }) => [FRAMES[frame]?.label, total, self]),
    [
      ['model.py:7', 11, 0],
      ['mul', 11, 9],
      ['add', 7, 7],
    ],
  );
  const model = nodeAt(layout, 1, 0) ?? 0;
  assert.deepEqual(framesBelow(layout, model, 9).length, 3);
});

test('numbers are written as everywhere', () => {
  const durations: [number, string][] = [
    [0, '0'],
    [1, '1 ns'],
    [999.4, '999 ns'],
    [999.5, '1 µs'],
    [1_234, '1.23 µs'],
    [9_996, '10 µs'],
    [99_940, '99.9 µs'],
    [999_500, '1 ms'],
    [12_345_678_900, '12.3 s'],
    [3.6e12, '3600 s'],
  ];
  assert.deepEqual(
    durations.map(([ns]) => text(ns, 'ns')),
    durations.map(([, it]) => it),
  );
  assert.deepEqual(
    [512, 1000, 1536, 2 ** 41].map((it) => text(it, 'bytes')),
    ['512 B', '0.977 KiB', '1.5 KiB', '2 TiB'],
  );
  assert.deepEqual([0, 0.00012, 0.0949, 0.384, 1].map(percent), ['0 %', '0.01 %', '9.49 %', '38.4 %', '100 %']);
});

test('frames are named as in other exports', () => {
  const data = {
    schema: 'perfline.flame/1' as const,
    title: '',
    kinds: ['user', 'operator'],
    strings: ['', 'forward', 'model.py', 'aten::add'],
    frames: { name: [1, 3], kind: [0, 1], file: [2, 0], line: [17, 0], evidence: [1, 0] },
    nodes: { parent: [0], frame: [0] },
    metrics: [],
    minShare: 0,
    leftOut: 0,
  };
  assert.deepEqual(framesOf(data), [
    { label: 'forward (model.py:17) ~', kind: 'user', place: { file: 'model.py', line: 17 }, evidence: 'inferred' },
    { label: 'aten::add', kind: 'operator', place: undefined, evidence: 'exact' },
  ]);
});

test('a picture holds names as text', () => {
  const tree = { parent: Int32Array.of(0, 0), frame: Int32Array.of(-1, 0), self: Float64Array.of(0, 7) };
  const drawn = () => ({ fill: '#123456', label: '<script>&"' });
  const options = { title: 'a < b', width: 400 };
  const svg = svgOf(layOut(tree), { from: 0, to: 7 }, drawn, {} as Colours, options);
  assert.match(svg, /<title>&lt;script&gt;&amp;&quot;<\/title><rect [^>]*fill="#123456"\/>/);
  assert.match(svg, />a &lt; b</);
  assert.equal(fitting('aten::add', 60, 7), 'aten::…');
  assert.equal(fitting('aten::add', 20, 7), '');
});

/** The tree of the run that is shown, with what its base has on the same stacks, and what is beyond the noise. */
function besideBase(now: Record<string, number>, base: Record<string, number>, beyond: Record<string, number>): Tree {
  const stacks = [...new Set([...Object.keys(now), ...Object.keys(base)])];
  const tree = (amounts: Record<string, number>) =>
    treeOf(Object.fromEntries(stacks.map((it) => [it, amounts[it] ?? 0])));
  return { ...tree(now), other: tree(base).self, beyond: tree(beyond).self };
}

/** What the frames at the root of a tree have: new, base, beyond the noise. */
function rootsOf(tree: Tree): Record<string, [number, number, number]> {
  const { total, other, beyond } = layOut(tree);
  const sums: Record<string, [number, number, number]> = {};
  tree.parent.forEach((above, node) => {
    if (node !== 0 && above === 0) {
      sums[NAMES[at(tree.frame, node)]?.[0] ?? '?'] = [
        at(total, node),
        at(other ?? new Float64Array(), node),
        at(beyond ?? new Float64Array(), node),
      ];
    }
  });
  return sums;
}

test('amounts of both runs and what differs go together through every order', () => {
  const tree = besideBase(
    { 'train.py:3;torch.py:9;add': 5, 'train.py:3;model.py:7': 20 },
    { 'train.py:3;torch.py:9;add': 9, 'model.py:7;mul': 8 },
    { 'model.py:7;mul': -8, 'train.py:3;model.py:7': 20 },
  );
  assert.deepEqual(rootsOf(tree), { 'train.py:3': [25, 9, 20], 'model.py:7': [0, 8, -8] });
  assert.deepEqual(rootsOf(ofUserCode(tree, FRAMES)), rootsOf(tree));
  assert.deepEqual(rootsOf(bottomUp(tree, FRAMES.length)), {
    add: [5, 9, 0],
    'model.py:7': [20, 0, 20],
    mul: [0, 8, -8],
  });
  assert.deepEqual(rootsOf(callersOf(tree, 1, FRAMES.length)), { 'model.py:7': [20, 8, 12] });
  // What the base alone has takes no place, but is in the table.
  const layout = layOut(tree);
  assert.equal(layout.rows[1]?.length, 1);
  assert.deepEqual(
    framesBelow(layout, 0, 9).map(({ frame, total, other }) => [NAMES[frame]?.[0], total, other]),
    [
      ['train.py:3', 25, 9],
      ['model.py:7', 20, 8],
      ['mul', 0, 8],
      ['torch.py:9', 5, 9],
      ['add', 5, 9],
    ],
  );
});

test('a frame differs where enough of its difference is beyond the noise, in the same direction', () => {
  const least = { least: 10, leastShare: 0.05 };
  const level = (now: number, base: number, beyond: number) => levelOf({ now, base, beyond }, least);
  assert.equal(level(109, 100, 9), 0, 'less than the least amount');
  assert.equal(level(1040, 1000, 40), 0, 'less than the least share');
  assert.equal(level(150, 100, 0), 0, 'within the noise');
  assert.equal(level(120, 100, -30), 0, 'the rest of it goes the other way');
  assert.deepEqual(
    [
      [120, 100, 20],
      [130, 100, 30],
      [130, 100, 11],
      [200, 100, 100],
      [90, 100, -10],
      [80, 100, -20],
      [50, 100, -50],
      [0, 100, -100],
    ].map(([now = 0, base = 0, beyond = 0]) => level(now, base, beyond)),
    [1, 2, 1, 3, -1, -2, -3, -3],
  );
  assert.equal(signOf(-2, { now: 70, base: 100, beyond: -20 }), '▼ −20 % ');
  assert.equal(signOf(3, { now: 80, base: 0, beyond: 80 }), '▲ new ');
  assert.equal(changeOf({ now: 0, base: 3, beyond: 0 }), 'gone');
});

test('lines that the base alone has, or had elsewhere, say so', () => {
  const data = {
    kinds: ['user'],
    strings: ['', 'f', 'train.py', 'old.py'],
    frames: { name: [1, 1], kind: [0, 0], file: [2, 2], line: [11, 13], evidence: [0, 0] },
    base: {
      title: '',
      steps: [1, 1] as [number, number],
      isTested: true,
      gone: [1],
      was: { frame: [0], file: [3], line: [9] },
    },
  };
  assert.deepEqual(framesOf(data), [
    {
      label: 'f (train.py:11)',
      kind: 'user',
      place: { file: 'train.py', line: 11 },
      evidence: 'exact',
      was: 'old.py:9',
    },
    { label: 'f (train.py:13, in the base)', kind: 'user', place: undefined, evidence: 'exact' },
  ]);
});

test('the committed flame graph is what the sources build: else run `npm run flame`', async () => {
  // The script builds with esbuild, which cannot be bundled itself.
  const script = pathToFileURL(path.resolve('scripts/flame.mjs')).href;
  const { COMMITTED, flameFiles } = (await import(script)) as {
    COMMITTED: string;
    flameFiles: () => Promise<Record<string, string>>;
  };
  for (const [name, built] of Object.entries(await flameFiles())) {
    assert.ok(readFileSync(path.join(COMMITTED, name), 'utf8') === built, `${name} differs`);
  }
});
