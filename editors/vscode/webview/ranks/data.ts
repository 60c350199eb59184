/** What the map of ranks and steps is drawn from: the object `perfline.rankSteps/1`, as docs/pictures.md describes it. */

import type { Unit } from '../flame/data';

export interface RankMetric {
  id: string;
  label: string;
  /** What it is, in a sentence. */
  about: string;
  unit: Unit;
  /** Whether it is known of each step; else `amount` has one value for each rank. */
  isByStep: boolean;
  /** Rank by rank, of each the steps in their order; null where nothing is known. */
  amount: (number | null)[];
}

export interface RankStepsData {
  schema: 'perfline.rankSteps/1';
  title: string;
  ranks: number[];
  steps: number[];
  metrics: RankMetric[];
  /** How many other ranks and steps there are. */
  leftOut: { ranks: number; steps: number };
}
