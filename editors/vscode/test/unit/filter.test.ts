import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ALL, filterWords, patterns } from '../../src/filter';

test('patterns have commas between them, but for those within braces', () => {
  assert.deepEqual(patterns(''), []);
  assert.deepEqual(patterns(' model.py, models/**,'), ['model.py', 'models/**']);
  assert.deepEqual(patterns('{a,b}.py, c.py'), ['{a,b}.py', 'c.py']);
  assert.deepEqual(patterns('}a,b'), ['}a', 'b']);
});

test('a filter is said in a few words', () => {
  assert.equal(filterWords(ALL), '');
  const filter = {
    ...ALL,
    files: ['model.py'],
    phase: 'backward',
    modules: ['Gate'],
    steps: ['2', '4-6'],
    streams: [7],
  };
  assert.equal(filterWords(filter), 'model.py, backward, Gate, step 2, 4-6, stream 7');
  assert.equal(filterWords({ ...ALL, functions: ['forward$'], threads: ['python'] }), 'forward$, thread python');
});
