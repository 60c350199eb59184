import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

const manifest = readFileSync('package.json', 'utf8');
const nls = JSON.parse(readFileSync('package.nls.json', 'utf8')) as Record<string, string>;
const { contributes } = JSON.parse(manifest) as { contributes: { commands: { command: string }[] } };

test('the manifest uses every text of package.nls.json, and no other', () => {
  const used = new Set([...manifest.matchAll(/"%([\w.]+)%"/g)].map((it) => it[1]));
  assert.deepEqual([...used].sort(), Object.keys(nls).sort());
});

test('every text of the code can be translated', () => {
  const bundle = JSON.parse(readFileSync('l10n/bundle.l10n.json', 'utf8')) as Record<string, string>;
  const sources = readdirSync('src').map((it) => readFileSync(`src/${it}`, 'utf8'));
  const texts = sources.flatMap((it) =>
    [...it.matchAll(/l10n\.t\(\s*'((?:[^'\\]|\\.)*)'/g)].map((match) => (match[1] ?? '').replaceAll("\\'", "'")),
  );
  const calls = sources.flatMap((it) => it.match(/l10n\.t\(/g) ?? []).length;
  assert.equal(texts.length, calls, 'every text is a literal in single quotes');
  const wanted = Object.fromEntries([...new Set(texts)].sort().map((it) => [it, it]));
  assert.deepEqual(bundle, wanted, 'l10n/bundle.l10n.json: npm run l10n');
});

test('every command of the manifest is registered', () => {
  const code = readFileSync('src/extension.ts', 'utf8');
  const registered = new Set([...code.matchAll(/^ {4}(\w+): \(/gm)].map((it) => `perfline.${it[1]}`));
  const missing = contributes.commands.map((it) => it.command).filter((it) => !registered.has(it));
  assert.deepEqual(missing, []);
});

test('the README names every setting, with its default', () => {
  const readme = readFileSync('README.md', 'utf8');
  const sections = (
    JSON.parse(manifest) as { contributes: { configuration: { properties: Record<string, { default: unknown }> }[] } }
  ).contributes.configuration;
  const settings = sections.flatMap((it) => Object.entries(it.properties));
  const rows = settings.map(([name, { default: value }]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text === '' ? `| \`${name}\` | |` : `| \`${name}\` | \`${text}\` |`;
  });
  assert.deepEqual(
    rows.filter((it) => !readme.includes(it)),
    [],
  );
});
