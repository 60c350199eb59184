import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MARGIN, columnsOf, fitted, gutterWidth, marginTo } from '../../src/hintPlace';

test('tabs and wide characters take the columns that the editor gives them', () => {
  assert.equal(columnsOf('x = 1', 4), 5);
  assert.equal(columnsOf('\tx', 4), 5);
  assert.equal(columnsOf('ab\tx', 4), 5);
  assert.equal(columnsOf('ab\tx', 8), 9);
  assert.equal(columnsOf('# 速い', 4), 6);
  assert.equal(columnsOf('"🔥"', 4), 4);
});

test('hints begin in their column, or after the end of a line that reaches it', () => {
  assert.equal(marginTo(100, 'x = 1', 4), '95ch');
  assert.equal(marginTo(100, '\tx = 1', 4), '91ch');
  assert.equal(marginTo(8, 'x = 12', 4), '2ch');
  assert.equal(marginTo(8, 'x = 123', 4), MARGIN);
  assert.equal(marginTo(8, 'x = 123456789', 4), MARGIN);
});

test('the column before the code has room for the longest hint, and no more than a hint needs', () => {
  assert.equal(gutterWidth([]), 0);
  assert.equal(gutterWidth(['4.2 ms gpu', '3.58 ms wait ×6']), 15);
  assert.equal(gutterWidth(['6 ms gpu (3 ms again) +11 ms bwd']), 26);
  assert.equal(fitted('6 ms gpu (3 ms again) +11 ms bwd', 26), '6 ms gpu (3 ms again) +11…');
  assert.equal(fitted('4.2 ms gpu', 26), '4.2 ms gpu');
});
