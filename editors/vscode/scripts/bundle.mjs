// Bundles the extension into dist/extension.js, with the licences of what is in it, and puts the flame graph and the sample
// beside it: its recording is one of the fixtures.
import { copyFileSync, cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { build } from 'esbuild';

import { writeFlame } from './flame.mjs';

const isProduction = process.argv.includes('--production');

const { metafile } = await build({
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
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});

const folders = Object.keys(metafile.inputs).map((it) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(it)?.[1]);
writeFileSync('dist/NOTICES.txt', [...new Set(folders.filter((it) => it !== undefined))].sort().map(notice).join('\n'));

await writeFlame('dist/flame');

cpSync('sample', 'dist/sample', { recursive: true });
copyFileSync('../../fixtures/workloads/slow_model.py', 'dist/sample/slow_model.py');
copyFileSync('../../fixtures/simulated_cuda/torch2.15.0/slow_model.json.gz', 'dist/sample/slow_model.json.gz');

/** The name, version and licence of a package. */
function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder).filter((it) => /^(licen[cs]e|copying)/i.test(it));
  if (files.length === 0) {
    throw new Error(`${name} comes without its licence`);
  }
  const texts = files.map((it) => readFileSync(path.join(folder, it), 'utf8'));
  return `== ${name} ${version} (${license})\n\n${texts.join('\n')}`;
}
