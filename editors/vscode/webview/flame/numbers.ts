/** Amounts as text: three significant digits and the unit that fits, as the crate `metrics` writes them everywhere else. */

import type { Unit } from './data';

export function text(value: number, unit: Unit): string {
  return unit === 'ns'
    ? scaled(value, 1000, [' ns', ' µs', ' ms', ' s'])
    : scaled(value, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']);
}

const PREFIXES = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

/** Floating-point operations, as `metrics::flops` writes them: `1.5 T`. */
export function flops(value: number): string {
  return scaled(
    value,
    1000,
    PREFIXES.map((it) => (it === '' ? '' : ` ${it}`)),
  );
}

/** Floating-point operations in a second: `1.5 TFLOP/s`. */
export function flopRate(value: number): string {
  return scaled(
    value,
    1000,
    PREFIXES.map((it) => ` ${it}FLOP/s`),
  );
}

/** A share of 1: `38 %`. */
export function percent(share: number): string {
  const value = share * 100;
  return `${Math.abs(value) < 0.995 ? trimmed(value.toFixed(2)) : digits(value)} %`;
}

function scaled(value: number, base: number, units: string[]): string {
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(value) >= 999.5) {
    value /= base;
    unit += 1;
  }
  return value === 0 ? '0' : `${digits(value)}${units[unit] ?? ''}`;
}

/** Three significant digits. */
export function digits(value: number): string {
  if (value === 0 || !Number.isFinite(value)) {
    return '0';
  }
  const exponent = Number(value.toExponential(2).split('e')[1]);
  return trimmed(value.toFixed(Math.max(0, 2 - exponent)));
}

function trimmed(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
