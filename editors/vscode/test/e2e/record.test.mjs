// From a click on a program to its numbers. The Python is one that copies a recording in place of making it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { Bench, REPOSITORY, WHEELS, keepFailure, until } from './bench.mjs';
import { RECORDING, slowModel } from './workspaces.mjs';

const PROGRAM = `import slow_model


def main():
    slow_model.train()


if __name__ == "__main__":
    main()
`;

const TESTS = `import torch


class TestModel:
    def test_step(self):
        pass
`;

/** A program with steps, for the stand-in of PyTorch. */
const STEPS = `import torch


def main():
    optimizer = torch.optim.Optimizer()
    for _ in range(20):
        optimizer.step()


if __name__ == "__main__":
    main()
`;

const CONFIGURATIONS = [
  {
    name: 'Train',
    type: 'debugpy',
    request: 'launch',
    program: '${workspaceFolder}/train.py',
    args: ['--name', 'two words'],
    cwd: '${workspaceFolder}/work',
    env: { MODE: 'of ${workspaceFolderBasename}' },
    justMyCode: false,
  },
  { name: 'Attach', type: 'debugpy', request: 'attach', processId: '${command:pickProcess}' },
  { name: 'Record training', type: 'perfline', request: 'launch', configuration: 'Train', args: ['--short'] },
];

/** Lacks the package until it is installed; records, and runs on until there is a file \`done\`. */
const PYTHON = `#!/bin/sh
echo "$*" >> "$CALLS"
echo "$MODE $PWD" > "$CALLS.from"
case "$*" in
  *--help | "-m pip --version")
    [ -e "$CALLS.installed" ] || [ "$2" = pip ] || { echo "python: No module named perfline" >&2; exit 1; } ;;
  "-m pip install perfline")
    touch "$CALLS.installed" ;;
  *broken.py)
    echo "broken.py: there is no data" >&2
    exit 3 ;;
  *)
    echo "epoch 1"
    cd "$(dirname "$CALLS")"
    mkdir -p perfline-runs
    cp "${RECORDING}" perfline-runs/partial
    mv perfline-runs/partial "perfline-runs/host_1.$(date +%s%N).pt.trace.json.gz"
    until [ -e done ]; do sleep 0.1; done
    echo "perfline: 3 findings" ;;
esac
`;

let bench;
let folder;

before(async () => {
  folder = slowModel({ recording: false });
  bench = await Bench.start({
    settings: { 'perfline.record.options': ['--steps', '3'] },
    env: { CALLS: path.join(folder, 'calls') },
  });
  writeFileSync(path.join(folder, 'train.py'), PROGRAM);
  writeFileSync(path.join(folder, 'broken.py'), 'import data\n');
  writeFileSync(path.join(folder, 'test_model.py'), TESTS);
  mkdirSync(path.join(folder, '.vscode'));
  mkdirSync(path.join(folder, 'work'));
  writeFileSync(path.join(folder, '.vscode/launch.json'), JSON.stringify({ configurations: CONFIGURATIONS }));
  const python = path.join(folder, '.venv/bin/python');
  mkdirSync(path.dirname(python), { recursive: true });
  writeFileSync(python, PYTHON);
  chmodSync(python, 0o755);
});
afterEach(keepFailure);
after(() => bench.stop());

const calls = () => readFileSync(path.join(folder, 'calls'), 'utf8').trim().split('\n');

test('a click above the start of a program leads to its hottest line while it runs on', async () => {
  const window = await bench.open(folder, 'train.py');
  const { page } = window;
  const lens = page.locator('.codelens-decoration a', { hasText: 'Record with Perfline' });
  // Lenses that are asked for again are drawn anew: for a moment there is none.
  await until(async () => (await lens.count()) === 1, 'one lens');
  await until(async () => {
    await lens.click({ timeout: 2000 }).catch(() => undefined);
    return existsSync(path.join(folder, 'calls'));
  }, 'a Python that was started');
  const dialog = page.locator('.monaco-dialog-box', { hasText: 'Install the Python package perfline?' });
  await dialog.getByRole('button', { name: 'Install' }).click();
  await window.status(/host_1\..*3 steps|host_1\./);
  await page.locator('.tab.active', { hasText: 'slow_model.py' }).waitFor();
  await window.line('loss.backward()', /4\.2 ms gpu/);
  assert.equal(await window.cursorLine(), 97);
  await window.screenshot('record');
  assert.deepEqual(calls(), [
    '-m perfline record --help',
    '-m pip --version',
    '-m pip install perfline',
    '-m perfline record --steps 3 train.py',
  ]);
  writeFileSync(path.join(folder, 'done'), '');
  await window.close();
});

test('arguments are asked for and remembered for the file', async () => {
  const window = await bench.open(folder, 'train.py');
  const { page } = window;
  await page.locator('.codelens-decoration a', { hasText: 'Record with Perfline' }).waitFor();
  await window.command('Perfline: Record This File with Arguments…');
  const input = page.locator('.quick-input-widget input.input').first();
  await until(async () => (await input.getAttribute('placeholder')) === '--epochs 1', 'a question for arguments');
  await input.fill('--name "two words"');
  await page.keyboard.press('Enter');
  await until(() => calls().at(-1) === '-m perfline record --steps 3 train.py --name two words', 'the arguments');
  await page.locator('.tab.active', { hasText: 'slow_model.py' }).waitFor();
  await window.quickOpen('train.py');
  await page.locator('.tab.active', { hasText: 'train.py' }).waitFor();
  await window.command('Perfline: Record This File with Arguments…');
  await until(async () => (await input.inputValue()) === '--name "two words"', 'the arguments of before');
  await window.escape();
  await window.close();
});

test('a test is recorded by a click above it, or at the cursor', async () => {
  const window = await bench.open(folder, 'test_model.py');
  const { page } = window;
  const lens = page.locator('.codelens-decoration a', { hasText: 'Record Test with Perfline' });
  await until(async () => (await lens.count()) === 1, 'one lens');
  const test = '-m pytest -p perfline.pytest test_model.py::TestModel::test_step';
  await until(async () => {
    await lens.click({ timeout: 2000 }).catch(() => undefined);
    return calls().includes(test);
  }, 'a test that was started');
  await page.locator('.tab.active', { hasText: 'slow_model.py' }).waitFor();
  await window.quickOpen('test_model.py');
  await window.goTo(6);
  await window.command('Perfline: Record Test at Cursor');
  await until(() => calls().filter((it) => it === test).length === 2, 'the same test again');
  await window.close();
});

test('what a configuration of launch.json runs is recorded, with its arguments, folder and environment', async () => {
  const window = await bench.open(folder, 'train.py');
  const { page } = window;
  await page.locator('.codelens-decoration a', { hasText: 'Record with Perfline' }).waitFor();
  const record = `-m perfline record --folder ${folder}/perfline-runs --steps 3 ${folder}/train.py`;
  await window.command('Perfline: Record Launch Configuration…');
  const rows = page.locator('.quick-input-list .monaco-list-row');
  await rows.filter({ hasText: 'Record training' }).waitFor();
  assert.equal(await rows.count(), 2, 'none that attaches');
  await window.screenshot('record-configuration');
  await window.pick(/^Train/);
  await until(() => calls().at(-1) === `${record} --name two words`, 'the program of the configuration');
  await window.status(/host_1\./);
  assert.equal(readFileSync(path.join(folder, 'calls.from'), 'utf8'), `of slow-model ${folder}/work\n`);
  await page.locator('.tab.active', { hasText: 'slow_model.py' }).waitFor();
  // The same from Run and Debug.
  await window.quickOpen('debug Record training', 'Record training');
  await until(() => calls().at(-1) === `${record} --short`, 'the program of the configuration that another one names');
  assert.equal(await page.locator('.monaco-dialog-box').count(), 0);
  await window.close();
});

test('the calls of the function at the cursor are recorded, in the program that was recorded last', async () => {
  const window = await bench.open(folder, 'train.py');
  const { page } = window;
  await page.locator('.codelens-decoration a', { hasText: 'Record with Perfline' }).waitFor();
  await window.goTo(5);
  await window.command('Perfline: Record Function at Cursor');
  const inProgram = '-m perfline record --steps 3 --function train.py:main train.py';
  await until(() => calls().at(-1) === inProgram, 'the function of the program');
  await page.locator('.tab.active', { hasText: 'slow_model.py' }).waitFor();
  await window.goTo(46);
  await window.command('Perfline: Record Function at Cursor');
  const ofModule = inProgram.replace('train.py:main', 'slow_model.py:SlowModel.forward');
  await until(() => calls().at(-1) === ofModule, 'the function of the module');
  await window.close();
});

test('with the package in the environment of the project, a click leads to numbers', async () => {
  const project = slowModel({ recording: false });
  writeFileSync(path.join(project, 'steps.py'), STEPS);
  const python = path.join(project, '.venv/bin/python');
  execFileSync('python3', ['-m', 'venv', path.join(project, '.venv')]);
  const [wheel] = readdirSync(WHEELS);
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', '--no-index', path.join(WHEELS, wheel)]);
  const where = ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'];
  const libraries = execFileSync(python, where, { encoding: 'utf8' }).trim();
  // PyTorch is several GB. What stands in for it has steps and a profiler, whose trace is a real one.
  cpSync(path.join(REPOSITORY, 'python/tests/stand_in.py'), path.join(libraries, 'stand_in.py'));
  cpSync(path.join(REPOSITORY, 'python/tests/programs/torch'), path.join(libraries, 'torch'), { recursive: true });
  const trace = `stand_in.Profile.trace = json.load(gzip.open("${RECORDING}"))`;
  writeFileSync(path.join(libraries, 'torch/__init__.py'), `import gzip, json\n${trace}\n`, { flag: 'a' });
  const window = await bench.open(project, 'steps.py');
  const lens = window.page.locator('.codelens-decoration a', { hasText: 'Record with Perfline' });
  await until(async () => (await lens.count()) === 1, 'one lens');
  const began = performance.now();
  await until(async () => {
    await lens.click({ timeout: 2000 }).catch(() => undefined);
    return existsSync(path.join(project, 'perfline-runs'));
  }, 'a recording');
  await window.page.locator('.tab.active', { hasText: 'slow_model.py' }).waitFor();
  await window.line('loss.backward()', /4\.2 ms gpu/);
  console.log(`from the click to numbers: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  await window.screenshot('record-wheel');
  await window.close();
});

test('a program that fails before anything is recorded', async () => {
  const window = await bench.open(folder, 'broken.py');
  await until(async () => {
    await window.command('Perfline: Record This File');
    return calls().at(-1).endsWith('broken.py');
  }, 'a program that was started');
  await window.notification('broken.py ended, and nothing was recorded. The terminal says why.');
  await window.page.locator('.terminal-wrapper').filter({ visible: true }).first().waitFor();
  await window.close();
});
