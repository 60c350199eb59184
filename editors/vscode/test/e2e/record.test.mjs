// From a click on a program to its numbers. The Python is one that copies a recording in place of making it.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { Bench, keepFailure, until } from './bench.mjs';
import { RECORDING, slowModel } from './workspaces.mjs';

const PROGRAM = `import slow_model


def main():
    slow_model.train()


if __name__ == "__main__":
    main()
`;

/** Lacks the package until it is installed; records, and runs on until there is a file \`done\`. */
const PYTHON = `#!/bin/sh
echo "$*" >> calls
case "$*" in
  *--help | "-m pip --version")
    [ -e installed ] || [ "$2" = pip ] || { echo "python: No module named perfline" >&2; exit 1; } ;;
  "-m pip install perfline")
    touch installed ;;
  *broken.py)
    echo "broken.py: there is no data" >&2
    exit 3 ;;
  *)
    echo "epoch 1"
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
  bench = await Bench.start({ settings: { 'perfline.record.options': ['--steps', '3'] } });
  folder = slowModel({ recording: false });
  writeFileSync(path.join(folder, 'train.py'), PROGRAM);
  writeFileSync(path.join(folder, 'broken.py'), 'import data\n');
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
  await window.quickInput('Control+p', 'train.py');
  await window.pick('train.py');
  await page.locator('.tab.active', { hasText: 'train.py' }).waitFor();
  await window.command('Perfline: Record This File with Arguments…');
  await until(async () => (await input.inputValue()) === '--name "two words"', 'the arguments of before');
  await window.escape();
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
