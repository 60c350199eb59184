import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import type { HeatLine } from '../../src/api';
import { LEVELS, barOf, following, grouped, levelOf, worthShowing } from '../../src/levels';

test('levels', () => {
  assert.deepEqual([0, 0.01, 1 / 6, 0.17, 0.5, 0.99, 1].map(levelOf), [1, 1, 1, 2, 3, 6, 6]);
});

test('bars show how a line is known', () => {
  assert.equal(barOf('exact', false), 'solid');
  assert.equal(barOf('inferred', false), 'dashed');
  assert.equal(barOf('function', false), 'dotted');
  assert.equal(barOf('exact', true), 'dotted');
});

test('lines of nothing are not shown', () => {
  const lines = [{ value: 9 }, { value: 1 }, { value: 0 }];
  assert.equal(worthShowing(lines).length, 2);
});

test('lines by level and bar', () => {
  const line = (line: number, heat: number, changes: Partial<HeatLine> = {}): HeatLine => ({
    line,
    range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
    value: 1,
    text: '1 ns',
    share: heat,
    shareText: '',
    mark: '',
    heat,
    evidence: 'exact',
    stale: false,
    function: 'f',
    ...changes,
  });
  const groups = grouped([
    line(1, 1),
    line(2, 0.95),
    line(3, 1, { evidence: 'inferred' }),
    line(4, 0.1, { stale: true }),
  ]);
  const numbers = [...groups].map(([key, lines]) => [key, lines.map((it) => it.line)]);
  assert.deepEqual(numbers, [
    ['6 solid', [1, 2]],
    ['6 dashed', [3]],
    ['1 dotted', [4]],
  ]);
});

test('the next line, round and round', () => {
  const lines = [46, 12, 97, 46];
  assert.equal(following(lines, 12, 'next'), 46);
  assert.equal(following(lines, 50, 'next'), 97);
  assert.equal(following(lines, 97, 'next'), 12);
  assert.equal(following(lines, 46, 'previous'), 12);
  assert.equal(following(lines, 12, 'previous'), 97);
  assert.equal(following([46], 46, 'next'), 46);
  assert.equal(following([], 1, 'next'), undefined);
});

interface Color {
  id: string;
  defaults: Record<'dark' | 'light' | 'highContrast' | 'highContrastLight', string>;
}

const { contributes } = JSON.parse(readFileSync('package.json', 'utf8')) as { contributes: { colors: Color[] } };

/** Relative luminance, as WCAG defines it. */
function luminance(hex: string): number {
  const channels = [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16) / 255);
  const [r = 0, g = 0, b = 0] = channels.map((it) => (it <= 0.03928 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

test('hotter differs from cooler in lightness, so that no colour has to be distinguished from another', () => {
  for (const theme of ['dark', 'light', 'highContrast', 'highContrastLight'] as const) {
    const bars = contributes.colors
      .filter((it) => it.id.startsWith('perfline.heatBar'))
      .map((it) => luminance(it.defaults[theme]));
    assert.equal(bars.length, LEVELS);
    const direction = theme === 'dark' || theme === 'highContrast' ? 1 : -1;
    for (let i = 1; i < bars.length; i += 1) {
      assert.ok(direction * ((bars[i] ?? 0) - (bars[i - 1] ?? 0)) > 0.02, `${theme} ${i}: ${bars.join(' ')}`);
    }
    const backgrounds = contributes.colors
      .filter((it) => it.id.startsWith('perfline.heatBackground'))
      .map((it) => it.defaults[theme]);
    const alphas = backgrounds.map((it) => parseInt(it.slice(7), 16));
    assert.equal(alphas.length, LEVELS);
    assert.deepEqual(
      alphas,
      alphas.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(backgrounds.map((it) => it.slice(0, 7))).size, 1);
  }
});
