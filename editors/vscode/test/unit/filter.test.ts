import assert from 'node:assert/strict';
import { test } from 'node:test';

import { patterns } from '../../src/filter';

test('patterns have commas between them, but for those within braces', () => {
  assert.deepEqual(patterns(''), []);
  assert.deepEqual(patterns(' model.py, models/**,'), ['model.py', 'models/**']);
  assert.deepEqual(patterns('{a,b}.py, c.py'), ['{a,b}.py', 'c.py']);
  assert.deepEqual(patterns('}a,b'), ['}a', 'b']);
});
