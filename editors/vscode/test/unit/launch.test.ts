import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  type LaunchConfiguration,
  environmentOf,
  isRecordable,
  namedPython,
  resolved,
  wordsOf,
} from '../../src/launch';

interface Configuration extends LaunchConfiguration {
  name: string;
  type: string;
  request: string;
  configuration?: string;
}

const PYTHON = '/env/bin/python';

test('a program, a module, and their arguments', () => {
  assert.deepEqual(wordsOf({ program: '/code/train.py', args: ['--name', 'two words'] }, PYTHON), [
    '/code/train.py',
    '--name',
    'two words',
  ]);
  assert.deepEqual(wordsOf({ module: 'torch.distributed.run', args: '--nproc-per-node 2 "a b.py"' }, PYTHON), [
    '-m',
    'torch.distributed.run',
    '--nproc-per-node',
    '2',
    'a b.py',
  ]);
});

test('a program of another name, and options of Python, are run by that Python', () => {
  assert.deepEqual(wordsOf({ program: '/code/train' }, PYTHON), [PYTHON, '/code/train']);
  assert.deepEqual(wordsOf({ module: 'train', pythonArgs: ['-X', 'dev'] }, PYTHON), [
    PYTHON,
    '-X',
    'dev',
    '-m',
    'train',
  ]);
});

test('what runs no program is refused', () => {
  for (const configuration of [{}, { code: 'print()' }, { program: 'a.py', module: 'a' }]) {
    assert.throws(() => wordsOf(configuration, PYTHON), /either a program or a module/);
  }
});

test('the Python, and variables', () => {
  assert.deepEqual(namedPython({}), []);
  assert.deepEqual(namedPython({ pythonPath: '/a/python' }), ['/a/python']);
  assert.deepEqual(namedPython({ python: '/b/python', pythonPath: '/a/python' }), ['/b/python']);
  assert.deepEqual(namedPython({ python: ['conda', 'run', 'python'] }), ['conda', 'run', 'python']);
  assert.deepEqual(environmentOf({ env: { A: 'x', B: 1, C: null } }), { A: 'x', B: '1' });
});

test('a configuration that names another one runs that, with what it says itself', () => {
  const all: Configuration[] = [
    { name: 'train', type: 'debugpy', request: 'launch', program: 'train.py', args: ['--epochs', '9'] },
    { name: 'other', type: 'debugpy', request: 'attach' },
  ];
  const short: Configuration = { name: 'record', type: 'perfline', request: 'launch', args: ['--epochs', '1'] };
  assert.deepEqual(resolved({ ...short, configuration: 'train' }, all), { ...short, program: 'train.py' });
  assert.deepEqual(resolved(short, all), short);
  assert.throws(() => resolved({ ...short, configuration: 'none' }, all), /no configuration none in launch\.json/);
  assert.deepEqual(
    all.map((it) => isRecordable(it)),
    [true, false],
  );
});
