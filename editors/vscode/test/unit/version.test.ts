import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isCompatible, parseVersion } from '../../src/version';

test('versions are those of Perfline', () => {
  assert.deepEqual(parseVersion('perfline 0.1.0\n'), { major: 0, minor: 1, patch: 0 });
  assert.deepEqual(parseVersion('perfline 1.20.3-rc.1'), { major: 1, minor: 20, patch: 3 });
  assert.equal(parseVersion('Python 3.13.1'), undefined);
  assert.equal(parseVersion(''), undefined);
});

test('which servers serve which extensions', () => {
  const rows: [server: string, extension: string, fits: boolean][] = [
    ['0.1.0', '0.1.9', true],
    ['0.1.9', '0.1.0', true],
    ['0.2.0', '0.1.0', false],
    ['0.1.0', '0.2.0', false],
    ['1.2.0', '1.1.5', true],
    ['1.1.0', '1.2.0', false],
    ['2.0.0', '1.9.0', false],
  ];
  const version = (text: string) => parseVersion(`perfline ${text}`) ?? assert.fail();
  for (const [server, extension, fits] of rows) {
    assert.equal(isCompatible(version(server), version(extension)), fits, `${server} and ${extension}`);
  }
});
