/** Numbers that the extension adds up itself, as the server writes them. */

import type { Metric } from './api';

/** A sum of values of a metric: `6.3 ms`, `24 MiB`. */
export function valueText(value: number, metric: Metric): string {
  return metric === 'memory'
    ? scaled(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB'])
    : scaled(value, 1000, ['ns', 'µs', 'ms', 's']);
}

/** A share of 1: `38 %`. */
export function percentText(share: number): string {
  const percent = share * 100;
  return Math.abs(percent) < 0.995 ? `${Number(percent.toFixed(2))} %` : `${digits(percent)} %`;
}

function scaled(value: number, base: number, units: string[]): string {
  let unit = 0;
  // What would be rounded to 1000 belongs to the next unit.
  while (unit + 1 < units.length && 999.5 <= Math.abs(value)) {
    value /= base;
    unit += 1;
  }
  return value === 0 ? '0' : `${digits(value)} ${units[unit]}`;
}

/** Three significant digits in plain notation. */
function digits(value: number): string {
  return String(Math.abs(value) < 999.5 ? Number(value.toPrecision(3)) : Math.round(value));
}
