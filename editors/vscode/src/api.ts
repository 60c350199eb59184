/** What the server answers beyond the protocol: the commands and the notification that docs/lsp.md describes. */

/** What a line can be measured in. `auto` is one of the others, by what the recording has. */
export const METRICS = ['cuda', 'cpu', 'backward', 'wait', 'idle', 'comm', 'memory'] as const;
export type Metric = (typeof METRICS)[number];

export type Charge = 'own' | 'total';
export type Evidence = 'exact' | 'inferred' | 'function';

/** Which lines are shown, and which part of the recording their numbers are of. */
export interface Filter {
  /** Globs. */
  files: string[];
  /** Regular expressions. */
  functions: string[];
  /** Globs of names, or classes. */
  modules: string[];
  /** Numbers, ranges or kinds: `3`, `3-7`, `decode`. */
  steps: string[];
  /** Ids or names. */
  threads: string[];
  streams: number[];
  /** Of training: `forward`, `backward`, `recompute`, `optimizer`, `loader`. */
  phase: string | null;
}

/** What a filter can be given of a recording. */
export interface FilterValues {
  files: string[];
  functions: string[];
  modules: string[];
  /** What steps do, where the recording says it, and all numbers. */
  steps: (number | string)[];
  threads: string[];
  streams: number[];
  phases: string[];
}

export interface View {
  metric: Metric | 'auto';
  /** What `auto` stands for. */
  effectiveMetric: Metric;
  charge: Charge;
  step: 'mean' | 'run' | number;
  rank: 'all' | number;
  /** Which lines are shown, and which part of the recording; all, where there is nothing in it. */
  filter: Filter;
  /** Which part that is, as on the command line, and how much of the recording. */
  part: { filter: string; extent: string } | null;
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

/** What the recording that is shown is compared with. */
export interface BaselineStatus {
  paths: string[];
  name: string;
  /** Whether the steps differ and how many lines do; null until both are loaded. */
  verdict: string | null;
}

export interface Status {
  version: string;
  /** The folder of what is shown; null where nothing is. */
  folder: string | null;
  /** Whether the user named its files, so that no newer recording takes their place. */
  pinned: boolean;
  /** What is shown of other folders of the workspace. */
  others: OtherRecording[];
  view: View;
  loaded: boolean;
  loading: boolean;
  /** How much of a long recording is shown while the rest is read; null where all of it is. */
  soFar: { steps: number; share: number; text: string } | null;
  baseline: BaselineStatus | null;
  inputs: Input[];
  failures: string[];
  /** Lines with numbers. */
  lines: number;
  /** Why no line is known, and what to do about it. */
  withoutLines: string | null;
  /** Shares that lines were charged with, as text; null where there is no such time. */
  attributedText: { cpu: string | null; cuda: string | null };
  /** Lines by how they are known. */
  evidence: Record<Evidence, number>;
  sources: { found: number; edited: number; missing: number; ambiguous: number };
  sitePackages: string[];
  summary: string;
}

/** What is shown of a folder of the workspace that is not looked at. */
export interface OtherRecording {
  folder: string;
  pinned: boolean;
  loading: boolean;
  paths: string[];
  /** Null while it is being loaded the first time, or where it cannot be. */
  name: string | null;
}

/** What `perfline.load` loaded, as far as it is used. */
export interface LoadAnswer {
  folder: string;
}

/** Where the files of a recorded folder are, as a setting says it. */
export interface SourceMapping {
  recorded: string;
  folder: string;
}

/** A file that may be several, the one that it is taken for first. */
export interface SourceChoice {
  recorded: string;
  choices: { path: string; mapping: SourceMapping | null }[];
}

/** Your files that are not certain. `root` is the folder of the code. */
export interface UncertainSources {
  root: string;
  missing: string[];
  ambiguous: SourceChoice[];
}

export interface LocatedSources {
  root: string;
  mapping: SourceMapping;
  files: number;
}

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

/** A number of a line: nanoseconds or bytes, and its share (of 1) of the step or run; both also as text. */
export interface Value {
  value: number;
  text: string;
  share: number;
  shareText: string;
}

export interface HeatLine extends Value {
  /** 1-based, in the text as it is now. */
  line: number;
  range: Range;
  /** 0 to 1, perceptually even. */
  heat: number;
  evidence: Evidence;
  /** Stands before `text` where the number is not exactly that of the line. */
  mark: string;
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
  /** Stands before numbers that are not exactly those of the line. */
  mark: string;
  /** 1-based, in the text that ran. */
  recordedLine: number;
}

export interface HotLine extends Place, Value {
  heat: number;
  /** Null without a baseline, and where it has no such number. */
  difference: {
    baseText: string;
    deltaText: string;
    /** Whether it exceeds the noise; null where steps are too few to say. */
    significant: boolean | null;
  } | null;
}

/** What the lines of a file, or of a function in it, cost together. */
export interface HotSum extends Value {
  file: string;
  /** Null for the whole file. */
  function: string | null;
}

/** What the metric has on no line that may be listed. */
export interface HotRest extends Value {
  /** Whether lines of libraries are a part of it; else it is on no line at all. */
  libraries: boolean;
}

export interface HotLines {
  view: View;
  lines: HotLine[];
  /** The largest first. */
  sums: HotSum[];
  /** Null where it is nothing, or not known. */
  rest: HotRest | null;
}

/** A recording in the workspace. */
export interface FoundRecording {
  paths: string[];
  /** Files beside it that belong to it. */
  beside: string[];
  folder: string;
  /** The path below its folder. */
  name: string;
  /** In milliseconds since 1970. */
  modified: number;
  bytes: number;
  bytesText: string;
  kinds: string[];
  ranks: number;
  /** Null where it was never read. */
  steps: number | null;
  /** The mean step, or the recording where it has none. */
  timeText: string | null;
  /** The first digits of the commit that was checked out when recording began; null where it is not known. */
  commit: string | null;
  /** Whether files that git tracks differed from it then. */
  dirty: boolean | null;
  /** Whether it is shown: in a workspace of several folders, of one of them. */
  loaded: boolean;
  /** Whether the user named it, so that no newer recording of its folder takes its place. */
  pinned: boolean;
}

export interface FoundRecordings {
  mode: 'newest' | 'named' | 'off';
  /** The newest first. */
  recordings: FoundRecording[];
}

export type Severity = 'error' | 'warning' | 'information' | 'hint';

/** What a rule found on a line. */
export interface Finding extends Place {
  rule: string;
  /** That of the rule, in a few words. */
  title: string;
  severity: Severity;
  /** What can be won at most, in nanoseconds. */
  value: number;
  /** The same as text; null where it is no time. */
  text: string | null;
  share: number;
  shareText: string;
  message: string;
  /** What to do. */
  remedy: string;
}

export interface Findings {
  view: View;
  /** Those that cost most first. */
  findings: Finding[];
}

export interface DetailNumber {
  name: string;
  label: string;
  value: number;
  unit: 'ns' | 'bytes' | 'count';
  text: string;
  share: number | null;
  shareText: string | null;
}

export interface Kernel {
  name: string;
  shortName: string;
  /** Those of a class follow each other. */
  class: 'compute' | 'communication' | 'memory';
  calls: number;
  total: number;
  mean: number;
  min: number;
  max: number;
  grid?: number[] | null;
  block?: number[] | null;
  /** How many sizes it was launched with; `grid` and `block` are those that took most time. */
  shapes: number;
  /** Share of 1. */
  occupancy?: number | null;
  streams: number[];
  bytes: number;
  text: string;
  /** The numbers as text. */
  texts: { calls: string; total: string; mean: string; max: string; occupancy: string | null; bytes: string | null };
}

export interface Details {
  view: View;
  place: Place;
  /** Those of the line. */
  findings: Pick<Finding, 'severity' | 'message' | 'remedy'>[];
  numbers: DetailNumber[];
  kernels: Kernel[];
  operators: { name: string; text: string; texts: { calls: string; cpu: string; cuda: string } }[];
  callers: (Place & Value)[];
  callees: { name: string; text: string; texts: { calls: string; total: string; share: string } }[];
  waits: (Place & { value: number; text: string })[];
  /** Lines that replay the graphs that were captured on the line. */
  replays: (Place & Value)[];
  /** Lines of generated files. */
  generated: (Place & Value)[];
  allocations: { memory: string; text: string; texts: { allocs: string; alloc: string; peak: string; live: string } }[];
  steps: { step: number; value: number; text: string }[];
  markdown: string;
}
