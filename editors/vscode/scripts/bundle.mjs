// Bundles the extension into dist/extension.js, and puts the sample beside it: its recording is one of the fixtures.
import { copyFileSync, cpSync } from 'node:fs';

import { build } from 'esbuild';

const isProduction = process.argv.includes('--production');

await build({
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  // The libraries' modules written for bundlers; their main ones load parts at run time.
  mainFields: ['module', 'main'],
  minify: isProduction,
  sourcemap: !isProduction,
  legalComments: 'linked',
  logLevel: 'warning',
});

cpSync('sample', 'dist/sample', { recursive: true });
copyFileSync('../../fixtures/workloads/slow_model.py', 'dist/sample/slow_model.py');
copyFileSync('../../fixtures/simulated_cuda/torch2.15.0/slow_model.json.gz', 'dist/sample/slow_model.json.gz');
