/** Where the cells of the map of ranks and steps are, and how strong their colours. Nothing here draws. */

import type { RankMetric, RankStepsData } from './data';

/** Cells that differ by less than this share (of 1) of the largest amount are not made to look different. */
const MIN_RANGE = 0.1;

/** A cell, by the places of its rank and its step. */
export interface Cell {
  rank: number;
  step: number;
}

/** The amount of a cell; nothing where it is not known. */
export function amountAt(data: RankStepsData, metric: RankMetric, { rank, step }: Cell): number | undefined {
  const index = metric.isByStep ? rank * data.steps.length + step : rank;
  return metric.amount[index] ?? undefined;
}

/** How strongly an amount is coloured, from 0 for the least to 1 for the largest of its metric. */
export function shades({ amount }: RankMetric): (value: number) => number {
  let [least, most] = [Infinity, 0];
  for (const it of amount) {
    if (it !== null) {
      least = Math.min(least, it);
      most = Math.max(most, it);
    }
  }
  const range = Math.max(most - least, MIN_RANGE * most);
  return (value) => (range > 0 ? (value - least) / range : 0);
}

/** The columns that are drawn: the steps, or one that stands for all of them. */
export function columnsOf(data: RankStepsData, metric: RankMetric): number {
  return metric.isByStep ? data.steps.length : 1;
}

/** The cell that a key goes to from another one; nothing for keys that move nowhere. */
export function neighbour(data: RankStepsData, { rank, step }: Cell, key: string): Cell | undefined {
  const last = { rank: data.ranks.length - 1, step: data.steps.length - 1 };
  switch (key) {
    case 'ArrowLeft':
      return { rank, step: Math.max(0, step - 1) };
    case 'ArrowRight':
      return { rank, step: Math.min(last.step, step + 1) };
    case 'ArrowUp':
      return { rank: Math.max(0, rank - 1), step };
    case 'ArrowDown':
      return { rank: Math.min(last.rank, rank + 1), step };
    case 'Home':
      return { rank, step: 0 };
    case 'End':
      return { rank, step: last.step };
    default:
      return undefined;
  }
}

/** The cell with the largest amount. */
export function largest(data: RankStepsData, metric: RankMetric): Cell {
  let found = { rank: 0, step: 0 };
  for (let rank = 0; rank < data.ranks.length; rank++) {
    for (let step = 0; step < columnsOf(data, metric); step++) {
      const cell = { rank, step };
      if ((amountAt(data, metric, cell) ?? 0) > (amountAt(data, metric, found) ?? 0)) {
        found = cell;
      }
    }
  }
  return found;
}
