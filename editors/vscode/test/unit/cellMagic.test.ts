import assert from 'node:assert/strict';
import { test } from 'node:test';

import { loaderAbove, withMagic } from '../../src/cellMagic';

test('the magic stands before what a cell has, once, and not before another magic', () => {
  assert.equal(withMagic('train(model)\n'), '%%perfline\ntrain(model)\n');
  assert.equal(withMagic('%%perfline --threshold 2\ntrain(model)'), '%%perfline --threshold 2\ntrain(model)');
  assert.equal(withMagic('%time train(model)'), '%%perfline\n%time train(model)');
  assert.equal(withMagic('%%time\ntrain(model)'), undefined);
});

test('the nearest cell above that loads the magic', () => {
  const cells = ['import torch\n%load_ext perfline', 'x = 1', '# %load_ext perfline', 'train()', '%load_ext perfline'];
  assert.equal(loaderAbove(cells, 3), 0);
  assert.equal(loaderAbove(cells, 0), undefined);
  assert.equal(loaderAbove(cells.slice(1), 2), undefined);
});
