// ESLint for the VS Code extension, run from its folder: see `tests/lint/run`. Layout is Prettier's to decide.
import path from 'node:path';
import process from 'node:process';

import eslint from '@eslint/js';
import { defineConfig } from 'eslint/config';
import globals from 'globals';
import typescript from 'typescript-eslint';

const types = ['tsconfig.json', 'webview/flame/tsconfig.json'].map((it) => path.join(process.cwd(), it));

export default defineConfig(
  { ignores: ['dist/', 'media/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [typescript.configs.strictTypeChecked, typescript.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: types } },
    rules: {
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // The runner waits for its tests by itself.
      '@typescript-eslint/no-floating-promises': [
        'error',
        { allowForKnownSafeCalls: [{ from: 'package', name: 'test', package: 'node:test' }] },
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    },
  },
  { files: ['scripts/**'], languageOptions: { globals: globals.node } },
  // The tests hand functions to the page in which VS Code runs.
  { files: ['test/e2e/**'], languageOptions: { globals: { ...globals.node, ...globals.browser } } },
  {
    files: ['webview/*.js'],
    languageOptions: { sourceType: 'script', globals: { ...globals.browser, acquireVsCodeApi: 'readonly' } },
  },
);
