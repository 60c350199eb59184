import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { codeOf } from '../../src/snippet';

const PAGE = readFileSync('walkthrough/record.md', 'utf8');

test('what is copied is the code that the walkthrough shows', () => {
  const code = codeOf(PAGE);
  assert.match(code, /^from torch\.profiler import/);
  assert.match(code, /with_stack=True/);
  assert.ok(code.endsWith('prof.export_chrome_trace("trace.json.gz")\n'));
  assert.equal(codeOf('no code'), '');
});

test('it fits beside the steps of the walkthrough in a window of 1280 pixels', () => {
  assert.ok(
    codeOf(PAGE)
      .split('\n')
      .every((it) => it.length <= 56),
  );
});
