import assert from 'node:assert/strict';
import { test } from 'node:test';

import { type Surroundings, locate } from '../../src/locate';

function at(changes: Partial<Surroundings>, ...files: string[]): Surroundings {
  return {
    setting: '',
    extensionFolder: '/ext',
    env: { PATH: '/usr/local/bin:/usr/bin' },
    platform: 'linux',
    home: '/home/ada',
    workspaceFolder: '/code',
    isFile: (path) => files.includes(path),
    ...changes,
  };
}

test('the setting goes before the bundled server, and that before the PATH', () => {
  const files = ['/ext/bin/perfline', '/usr/bin/perfline'];
  assert.deepEqual(locate(at({ setting: '/opt/perfline' }, ...files)), { path: '/opt/perfline', from: 'setting' });
  assert.deepEqual(locate(at({}, ...files)), { path: '/ext/bin/perfline', from: 'bundled' });
  assert.deepEqual(locate(at({}, '/usr/bin/perfline')), { path: '/usr/bin/perfline', from: 'PATH' });
  assert.equal(locate(at({})), undefined);
});

test('the server of the Python environment goes before the bundled one', () => {
  const files = ['/code/.venv/bin/perfline', '/ext/bin/perfline'];
  const python = '/code/.venv/bin/python';
  assert.deepEqual(locate(at({ python }, ...files)), { path: files[0], from: 'environment' });
  assert.equal(locate(at({ python, setting: '/opt/perfline' }, ...files))?.from, 'setting');
  assert.equal(locate(at({ python: '/usr/bin/python3' }, ...files))?.from, 'bundled', 'it has none');
  assert.equal(locate(at({ python: 'bin/python' }, 'bin/perfline', ...files))?.from, 'bundled', 'a relative path');
  const windows = { platform: 'win32' as const, extensionFolder: 'C:\\ext' };
  for (const [interpreter, program] of [
    ['C:\\code\\.venv\\Scripts\\python.exe', 'C:\\code\\.venv\\Scripts\\perfline.exe'],
    ['C:\\conda\\envs\\train\\python.exe', 'C:\\conda\\envs\\train\\Scripts\\perfline.exe'],
  ] as const) {
    assert.equal(locate(at({ ...windows, python: interpreter }, program))?.path, program);
  }
});

test('relative entries of the PATH are passed over', () => {
  const env = { PATH: '.:bin:/usr/bin' };
  assert.deepEqual(locate(at({ env }, 'perfline', 'bin/perfline', '/usr/bin/perfline'))?.path, '/usr/bin/perfline');
});

test('Windows', () => {
  const windows = { platform: 'win32' as const, extensionFolder: 'C:\\ext', env: { Path: 'C:\\tools;D:\\bin' } };
  assert.equal(locate(at(windows, 'D:\\bin\\perfline.exe'))?.path, 'D:\\bin\\perfline.exe');
  assert.equal(locate(at(windows, 'C:\\ext\\bin\\perfline.exe'))?.path, 'C:\\ext\\bin\\perfline.exe');
});

test('variables in the setting', () => {
  const path = (setting: string) => locate(at({ setting, env: { TOOLS: '/opt/tools' } }))?.path;
  assert.equal(path('~/bin/perfline'), '/home/ada/bin/perfline');
  assert.equal(path('${workspaceFolder}/perfline'), '/code/perfline');
  assert.equal(path('${env:TOOLS}/perfline'), '/opt/tools/perfline');
  assert.equal(path('  /opt/perfline '), '/opt/perfline');
});
