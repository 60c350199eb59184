import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Finding } from '../../src/api';
import { byFile, describe, flat } from '../../src/findingTree';

function finding(rule: string, file: string, at: number, changes: Partial<Finding> = {}): Finding {
  return {
    file,
    uri: `file:///code/${file}`,
    line: at,
    recordedLine: at,
    function: 'f',
    evidence: 'exact',
    stale: false,
    mark: '',
    rule,
    title: 'A title',
    severity: 'hint',
    value: 2e6,
    text: '2 ms',
    share: 0.2,
    shareText: '20 %',
    message: 'A message',
    remedy: 'A remedy',
    ...changes,
  };
}

const FINDINGS = [
  finding('sync', 'b.py', 3),
  finding('gpu-idle', 'a.py', 9),
  finding('memory-peak-line', 'b.py', 5, { line: null, recordedLine: 7, text: null, shareText: '77 %' }),
];

test('a flat list keeps the order of the server, and names the places', () => {
  const rows = flat(FINDINGS).map((it) => describe(it, (number) => `line ${number}`));
  assert.deepEqual(rows, ['2 ms · 20 % · b.py:3', '2 ms · 20 % · a.py:9', '77 % · b.py:7']);
});

test('files stand in the order of their first findings', () => {
  const files = byFile(FINDINGS).map((file) => [
    file.file,
    file.uri,
    file.findings.map((it) => describe(it, (number) => `line ${number}`)),
  ]);
  assert.deepEqual(files, [
    ['b.py', 'file:///code/b.py', ['2 ms · 20 % · line 3', '77 % · line 7']],
    ['a.py', 'file:///code/a.py', ['2 ms · 20 % · line 9']],
  ]);
});
