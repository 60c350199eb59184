import assert from 'node:assert/strict';
import { test } from 'node:test';

import { percentText, valueText } from '../../src/format';

// The same as in server/crates/ide/src/numbers.rs: the texts stand beside each other.
test('numbers read as those of the server', () => {
  const durations: [number, string][] = [
    [0, '0'],
    [1, '1 ns'],
    [999.5, '1 µs'],
    [1_234, '1.23 µs'],
    [9_996, '10 µs'],
    [999_499, '999 µs'],
    [6_304_000, '6.3 ms'],
    [12_345_678_900, '12.3 s'],
    [3.6e12, '3600 s'],
  ];
  for (const [ns, text] of durations) {
    assert.equal(valueText(ns, 'cuda'), text);
  }
  const sizes: [number, string][] = [
    [512, '512 B'],
    [1_000, '0.977 KiB'],
    [1_536, '1.5 KiB'],
    [3.5 * 2 ** 30, '3.5 GiB'],
  ];
  for (const [bytes, text] of sizes) {
    assert.equal(valueText(bytes, 'memory'), text);
  }
  const shares: [number, string][] = [
    [0.38, '38 %'],
    [1, '100 %'],
    [0.005, '0.5 %'],
    [0.000456, '0.05 %'],
    [0.9876, '98.8 %'],
  ];
  for (const [share, text] of shares) {
    assert.equal(percentText(share), text);
  }
});
