// Writes l10n/bundle.l10n.json: every text of the code, for translators. Translations stand beside it
// (bundle.l10n.de.json), those of the manifest beside package.nls.json.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';

const texts = readdirSync('src').flatMap((name) =>
  [...readFileSync(`src/${name}`, 'utf8').matchAll(/l10n\.t\(\s*'((?:[^'\\]|\\.)*)'/g)].map(([, text]) =>
    text.replaceAll("\\'", "'"),
  ),
);
const bundle = Object.fromEntries([...new Set(texts)].sort().map((text) => [text, text]));
writeFileSync('l10n/bundle.l10n.json', `${JSON.stringify(bundle, undefined, 2)}\n`);
