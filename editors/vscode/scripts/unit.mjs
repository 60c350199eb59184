// Runs the unit tests: bundled, with a stand-in for the module that only the editor has.
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const folder = 'test/unit';
const out = 'dist/test';
rmSync(out, { recursive: true, force: true });
const tests = readdirSync(folder).filter((it) => it.endsWith('.test.ts'));
await build({
  entryPoints: tests.map((it) => path.join(folder, it)),
  outdir: out,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  alias: { vscode: path.resolve(folder, 'vscode.ts') },
  logLevel: 'warning',
});
const built = tests.map((it) => path.join(out, it.replace(/\.ts$/, '.js')));
execFileSync(process.execPath, ['--test', '--test-reporter=spec', ...built], { stdio: 'inherit' });
