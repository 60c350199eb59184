// Makes the VSIX. `npm run package` makes the one for all platforms, which comes without a server;
// `npm run package -- --target linux-x64 --server ../../target/release/perfline` the one for a platform, with it.
// `--pictures URL` says where this folder can be read on the web: the page of the extension shows no pictures of the package.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { parseArgs } from 'node:util';

const LICENCES = ['LICENSE', 'LICENSE-APACHE', 'LICENSE-MIT'];

const { values } = parseArgs({
  options: {
    target: { type: 'string' },
    server: { type: 'string' },
    pictures: { type: 'string' },
    out: { type: 'string' },
  },
});
if ((values.target === undefined) !== (values.server === undefined)) {
  throw new Error('--target and --server go together: a server runs on one platform');
}

rmSync('bin', { recursive: true, force: true });
for (const name of LICENCES) {
  copyFileSync(`../../${name}`, name);
}
const args = ['package', '--no-dependencies', '--allow-missing-repository'];
args.push(...(values.pictures === undefined ? ['--no-rewrite-relative-links'] : ['--baseImagesUrl', values.pictures]));
if (values.server !== undefined) {
  const server = values.target.startsWith('win32') ? 'bin/perfline.exe' : 'bin/perfline';
  mkdirSync('bin');
  copyFileSync(values.server, server);
  chmodSync(server, 0o755);
  args.push('--target', values.target);
}
const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'));
const suffix = values.target === undefined ? '' : `-${values.target}`;
args.push('--out', values.out ?? `${name}${suffix}-${version}.vsix`);
execFileSync(process.execPath, ['node_modules/@vscode/vsce/vsce', ...args], { stdio: 'inherit' });
rmSync('bin', { recursive: true, force: true });
