import assert from 'node:assert/strict';
import { test } from 'node:test';

import { importsTorch, isTestFile, testAt, testsOf } from '../../src/pytests';

const TESTS = `import torch

def helper():
    def test_inner(): pass

class TestModel:
    size = 3

    def setup_method(self):
        def test_within(): pass

    @pytest.mark.slow
    def test_step(self):
        pass

    class TestNested:
        def test_deep(self): pass

class Losses(unittest.TestCase):
    async def test_mse(self): pass

class Model:
    def test_mode(self): pass

async def test_all():
    pass
`;

test('functions and methods that pytest collects', () => {
  assert.deepEqual(
    testsOf(TESTS).map(({ line, id }) => `${line + 1} ${id}`),
    ['13 TestModel::test_step', '20 Losses::test_mse', '25 test_all'],
  );
});

test('the test that the cursor is in', () => {
  const tests = testsOf(TESTS);
  assert.equal(testAt(tests, 12)?.id, 'TestModel::test_step');
  assert.equal(testAt(tests, 25)?.id, 'test_all');
  assert.equal(testAt(tests, 5), undefined);
});

test('files that pytest looks into, and those that use PyTorch', () => {
  assert.ok(isTestFile('test_model.py') && isTestFile('model_test.py'));
  assert.ok(!isTestFile('testing.py') && !isTestFile('latest.py'));
  assert.ok(importsTorch('import os\nimport torch.nn as nn\n') && importsTorch('from torch import nn\n'));
  assert.ok(!importsTorch('import torchlike\n# import torch\n'));
});
