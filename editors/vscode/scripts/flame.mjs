// Builds the flame graph, which the panel of the extension and the page of `perfline report --html` share. `npm run flame`
// writes it to the crate `report`, where it is committed so that Rust is enough to build Perfline.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

/** Where it is committed. */
export const COMMITTED = '../../server/crates/report/src/html/flame';

/** The files by name: script, style, and the hash by which the policy of a page allows the script. */
export async function flameFiles() {
  const { outputFiles } = await build({
    entryPoints: ['webview/flame/main.ts'],
    outdir: 'flame',
    entryNames: 'flame',
    bundle: true,
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    minify: true,
    legalComments: 'none',
    write: false,
    logLevel: 'warning',
  });
  const files = Object.fromEntries(outputFiles.map((it) => [path.basename(it.path), it.text]));
  const hash = createHash('sha256').update(files['flame.js']).digest('base64');
  return { ...files, 'flame.js.sha256': `sha256-${hash}` };
}

/** Writes them to a folder. */
export async function writeFlame(folder) {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(await flameFiles())) {
    writeFileSync(path.join(folder, name), text);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFlame(COMMITTED);
}
