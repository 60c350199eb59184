import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { HotLine, HotSum } from '../../src/api';
import { markdownOf, rowsOf, treeOf } from '../../src/hotTree';

function line(file: string, name: string, at: number, value: number, changes: Partial<HotLine> = {}): HotLine {
  return {
    file,
    uri: `file:///code/${file}`,
    line: at,
    recordedLine: at,
    source: `    x = f(${at})`,
    function: name,
    evidence: 'exact',
    stale: false,
    value,
    text: `${value} ms`,
    share: value / 100,
    shareText: `${value} %`,
    mark: '',
    heat: 1,
    difference: null,
    ...changes,
  };
}

const LINES = [
  line('a.py', 'f', 3, 40),
  line('b.py', 'g', 9, 30, { evidence: 'inferred', mark: '~' }),
  line('b.py', 'g', 8, 20),
  line('a.py', 'h', 7, 5, { stale: true, mark: '≈' }),
  line('b.py', 'k', 1, 1),
];

function sum(file: string, name: string | null, value: number): HotSum {
  return { file, function: name, value, text: `${value} ms`, share: value / 100, shareText: `${value} %` };
}

const SUMS = [
  sum('b.py', null, 51),
  sum('b.py', 'g', 50),
  sum('a.py', null, 45),
  sum('a.py', 'f', 40),
  sum('a.py', 'h', 5),
  sum('b.py', 'k', 1),
];

test('files, functions and lines, each by cost', () => {
  const tree = treeOf(LINES, SUMS).map((file) => [
    file.file,
    file.sum?.text,
    file.functions.map((it) => [it.name, it.sum?.shareText, it.lines.map(({ line }) => line.line)]),
  ]);
  assert.deepEqual(tree, [
    [
      'b.py',
      '51 ms',
      [
        ['g', '50 %', [9, 8]],
        ['k', '1 %', [1]],
      ],
    ],
    [
      'a.py',
      '45 ms',
      [
        ['f', '40 %', [3]],
        ['h', '5 %', [7]],
      ],
    ],
  ]);
});

test('what is in none of the files stands below them', () => {
  const rest = { libraries: true, value: 47, text: '47 ms', share: 0.47, shareText: '47 %' };
  const kinds = (lines: HotLine[], of: typeof rest | null) => rowsOf(treeOf(lines, SUMS), of).map((it) => it.kind);
  assert.deepEqual(kinds(LINES, rest), ['file', 'file', 'rest']);
  assert.deepEqual(kinds(LINES, null), ['file', 'file']);
  assert.deepEqual(kinds([], rest), [], 'with nothing listed there is a sentence in the place of the tree');
});

test('Markdown', () => {
  const special = line('a.py', 'f', 4, 2, { source: 'y = a | b # `c`', line: null, mark: 'fn ' });
  const text = markdownOf([...LINES.slice(1, 2), ...LINES.slice(3, 4), special], 'run · GPU time', {
    line: 'Line',
    share: 'Share',
    code: 'Code',
  });
  assert.equal(
    text,
    `**run · GPU time**

| Line | GPU time | Share | Code |
|---|---:|---:|---|
| b.py:9 | ~30 ms | 30 % | \`x = f(9)\` |
| a.py:7 | ≈5 ms | 5 % | \`x = f(7)\` |
| a.py:4 | fn 2 ms | 2 % | \`y = a \\| b # 'c'\` |
`,
  );
});
