/** What the server answers beyond the protocol: the commands and the notification that docs/lsp.md describes. */

/** What a line can be measured in. `auto` is one of the others, by what the recording has. */
export const METRICS = ['cuda', 'cpu', 'backward', 'wait', 'idle', 'comm', 'memory'] as const;
export type Metric = (typeof METRICS)[number];

export type Charge = 'own' | 'total';
export type Evidence = 'exact' | 'inferred' | 'function';

export interface View {
  metric: Metric | 'auto';
  /** What `auto` stands for. */
  effectiveMetric: Metric;
  charge: Charge;
  step: 'mean' | 'run' | number;
  rank: 'all' | number;
  steps: number[];
  ranks: number[];
}

export interface Input {
  path: string;
  kind: string;
  rank: number | null;
  events: number;
  bytes: number;
  complete: boolean;
}

export interface Status {
  version: string;
  view: View;
  loaded: boolean;
  loading: boolean;
  inputs: Input[];
  failures: string[];
  /** Lines with numbers. */
  lines: number;
  /** Shares of 1 that lines were charged with; null where there is no such time. */
  attributed: { cpu: number | null; cuda: number | null };
  /** Lines by how they are known. */
  evidence: Record<Evidence, number>;
  sources: { found: number; edited: number; missing: number };
  sitePackages: string[];
  summary: string;
}

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

/** A number of a line: nanoseconds or bytes, as text, and as share (of 1) of the step or run. */
export interface Value {
  value: number;
  text: string;
  share: number;
}

export interface HeatLine extends Value {
  /** 1-based, in the text as it is now. */
  line: number;
  range: Range;
  /** 0 to 1, perceptually even. */
  heat: number;
  evidence: Evidence;
  stale: boolean;
  function: string;
}

export interface Heat {
  view: View;
  lines: HeatLine[];
}

export type HeatScope = 'step' | 'file' | 'function';

export interface Place {
  file: string;
  /** Absent where the file is not there. */
  uri?: string | null;
  /** 1-based, in the text as it is now; absent where the line is gone. */
  line?: number | null;
  range?: Range | null;
  /** The text of the line. */
  source?: string | null;
  stale: boolean;
  function: string;
  evidence: Evidence;
  /** 1-based, in the text that ran. */
  recordedLine: number;
}

export interface HotLine extends Place, Value {
  heat: number;
}

export interface HotLines {
  view: View;
  lines: HotLine[];
}

export interface DetailNumber {
  name: string;
  label: string;
  value: number;
  unit: 'ns' | 'bytes' | 'count';
  text: string;
  share: number | null;
}

export interface Kernel {
  name: string;
  shortName: string;
  calls: number;
  total: number;
  mean: number;
  min: number;
  max: number;
  grid?: number[] | null;
  block?: number[] | null;
  /** Share of 1. */
  occupancy?: number | null;
  streams: number[];
  bytes: number;
  text: string;
}

export interface Details {
  view: View;
  place: Place;
  numbers: DetailNumber[];
  kernels: Kernel[];
  operators: { name: string; calls: number; cpu: number; cuda: number; text: string }[];
  callers: (Place & Value)[];
  callees: ({ name: string; calls: number } & Value)[];
  waits: (Place & { value: number; text: string })[];
  allocations: { memory: string; allocs: number; alloc: number; peak: number; live: number; text: string }[];
  steps: { step: number; value: number; text: string }[];
  markdown: string;
}
