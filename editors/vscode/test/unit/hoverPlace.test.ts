import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isHovered } from '../../src/hoverPlace';

const LINE = '    return self.norm(x)';

test('by default the first word and the hint behind the line, or before it, have the hover', () => {
  const columns = Array.from(`${LINE} `, (_, column) => column).filter((it) => isHovered('hint', LINE, it));
  assert.deepEqual(columns, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, LINE.length]);
  assert.ok(isHovered('hint', '@decorated', 1) && !isHovered('hint', '@decorated', 3));
  assert.ok(isHovered('hint', '', 0));
});

test('all of the line, or nothing of it', () => {
  assert.ok(isHovered('line', LINE, 16));
  assert.ok(!isHovered('off', LINE, 4));
});
