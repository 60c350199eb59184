import assert from 'node:assert/strict';
import { test } from 'node:test';

import { type PythonSurroundings, pythonOf, splitArguments, startOf } from '../../src/python';

function at(changes: Partial<PythonSurroundings>, ...files: string[]): PythonSurroundings {
  return {
    setting: '',
    selected: undefined,
    programFolder: '/code/examples',
    workspaceFolder: '/code',
    env: { PATH: '/usr/bin' },
    platform: 'linux',
    home: '/home/ada',
    isFile: (path) => files.includes(path),
    ...changes,
  };
}

test('the setting, the Python extension, an environment, the PATH: in this order', () => {
  const files = ['/code/.venv/bin/python', '/usr/bin/python3'];
  const selected = '/opt/conda/bin/python';
  assert.deepEqual(pythonOf(at({ setting: '~/py/bin/python', selected }, ...files)), {
    path: '/home/ada/py/bin/python',
    from: 'setting',
  });
  assert.deepEqual(pythonOf(at({ selected }, ...files)), { path: selected, from: 'Python extension' });
  assert.deepEqual(pythonOf(at({}, ...files)), { path: '/code/.venv/bin/python', from: 'environment' });
  assert.deepEqual(pythonOf(at({}, '/usr/bin/python3')), { path: '/usr/bin/python3', from: 'PATH' });
  assert.equal(pythonOf(at({})), undefined);
});

test('the nearest environment counts, and none above the workspace', () => {
  const own = '/code/examples/.pixi/envs/default/bin/python';
  assert.equal(pythonOf(at({}, '/code/venv/bin/python', own))?.path, own);
  assert.equal(pythonOf(at({}, '/code/venv/bin/python'))?.path, '/code/venv/bin/python');
  assert.equal(pythonOf(at({}, '/.venv/bin/python')), undefined);
});

test('an environment of the project goes before the one that the editor was started in', () => {
  const env = { VIRTUAL_ENV: '/envs/a', CONDA_PREFIX: '/envs/b', PATH: '' };
  const python = (...files: string[]) => pythonOf(at({ env }, ...files))?.path;
  assert.equal(python('/envs/a/bin/python', '/code/.venv/bin/python'), '/code/.venv/bin/python');
  assert.equal(python('/envs/a/bin/python', '/envs/b/bin/python'), '/envs/a/bin/python');
  assert.equal(python('/envs/b/bin/python'), '/envs/b/bin/python');
});

test('Windows', () => {
  const windows = { platform: 'win32' as const, programFolder: 'C:\\code', workspaceFolder: 'C:\\code' };
  const python = 'C:\\code\\.venv\\Scripts\\python.exe';
  assert.equal(pythonOf(at(windows, python))?.path, python);
  const conda = { ...windows, env: { CONDA_PREFIX: 'C:\\conda' } };
  assert.equal(pythonOf(at(conda, 'C:\\conda\\python.exe'))?.path, 'C:\\conda\\python.exe');
});

test('arguments are split as by a shell', () => {
  assert.deepEqual(splitArguments(''), []);
  assert.deepEqual(splitArguments('  --epochs 1\t--name=a '), ['--epochs', '1', '--name=a']);
  assert.deepEqual(splitArguments(`--name "two words" 'it is' a\\ b`), ['--name', 'two words', 'it is', 'a b']);
  assert.deepEqual(splitArguments(`--x="say \\"hi\\"" ''`), ['--x=say "hi"', '']);
  assert.deepEqual(splitArguments('"C:\\data\\x" $HOME *'), ['C:\\data\\x', '$HOME', '*']);
});

test('a program starts at its guard, or else at main', () => {
  assert.equal(startOf('def main():\n  pass\n\nif __name__ == "__main__":\n  main()\n'), 3);
  assert.equal(startOf("x = 1\nif '__main__' == __name__: run()\n"), 1);
  assert.equal(startOf('import a\nasync def main(args):\n  pass\n'), 1);
  assert.equal(startOf('def mainly(): pass\nclass A:\n  def main(self): pass\n'), undefined);
  assert.equal(startOf('# if __name__ == "__main__":\n'), undefined);
});
