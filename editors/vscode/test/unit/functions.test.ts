import assert from 'node:assert/strict';
import { test } from 'node:test';

import { functionAt } from '../../src/functions';

const TEXT = `import torch

class Model(nn.Module):
    size = 3

    @torch.no_grad()
    @cached
    def forward(
        self,
    ):
        x = 1

        def inner():
            return x
        return inner

    async def step(self): pass

    last = 2

def main():
    for _ in range(3):
# A comment.
        pass
main()
`;

test('the function that a line is in', () => {
  const rows: [number, string | undefined][] = [
    [1, undefined],
    [4, undefined],
    [6, 'Model.forward'],
    [7, 'Model.forward'],
    [8, 'Model.forward'],
    [10, 'Model.forward'],
    [11, 'Model.forward'],
    [13, 'Model.forward.inner'],
    [14, 'Model.forward.inner'],
    [15, 'Model.forward'],
    [17, 'Model.step'],
    [19, undefined],
    [21, 'main'],
    [24, 'main'],
    [25, undefined],
    [99, undefined],
  ];
  for (const [line, expected] of rows) {
    assert.equal(functionAt(TEXT, line - 1), expected, `line ${line}`);
  }
});
