/** What a flame graph is drawn from: the object `perfline.flame/1`, as docs/pictures.md describes it. */

export type Unit = 'ns' | 'bytes';

export interface FlameData {
  schema: 'perfline.flame/1';
  title: string;
  /** Which part of the recording it is, where it is not all of it. */
  part: string | null;
  /** Names of the kinds of frames. */
  kinds: string[];
  strings: string[];
  /** By frame: `name` and `file` in `strings` (0 is the empty text), `kind` in `kinds`, `evidence` in `EVIDENCE`. */
  frames: { name: number[]; kind: number[]; file: number[]; line: number[]; evidence: number[] };
  /** By node, parents first. Node 0 is the root, whose parent is itself and whose frame is never read. */
  nodes: { parent: number[]; frame: number[] };
  metrics: {
    id: string;
    label: string;
    unit: Unit;
    total: number;
    /** The nodes that have an amount themselves, and these amounts. */
    node: number[];
    amount: number[];
    /** Of a comparison: the same in the base, and on which nodes something differs. */
    base?: MetricBase;
  }[];
  /** Below this share (of 1) of each metric, what is below a node stands together as one frame. */
  minShare: number;
  /** How many nodes stand in such frames. */
  leftOut: number;
  /** The run that this one is compared with. */
  base?: FlameBase;
}

/** A metric in the base. */
interface MetricBase {
  total: number;
  node: number[];
  amount: number[];
  /** The nodes on which something stands whose line differs by more than the noise. */
  differs: number[];
  /** What the difference of a frame must reach: an amount of the mean step, and a share (of 1) of the larger of both. */
  least: number;
  leastShare: number;
}

interface FlameBase {
  title: string;
  /** By which sums of the base and of this run are divided; 0 where they are not. */
  steps: [number, number];
  /** Whether there are enough steps to say what is noise. */
  isTested: boolean;
  /** The frames that the base alone has. Their places are those in the base. */
  gone: number[];
  /** Where lines were in the base that stand elsewhere now: `frame`, and `file` in `strings`. */
  was: { frame: number[]; file: number[]; line: number[] };
}

export const EVIDENCE = ['exact', 'inferred', 'function'] as const;
/** What stands behind a line that is not exact, as in the terminal. */
const MARKS = ['', ' ~', ' fn'];

/** A kind of frames, by which it is coloured. */
export type Kind =
  | 'user'
  | 'library'
  | 'noLine'
  | 'call'
  | 'operator'
  | 'runtime'
  | 'device'
  | 'smaller'
  | 'annotation'
  | 'collective'
  | 'wait';

/** What a kind of frames is called. */
export const KINDS: Record<Kind, string> = {
  user: 'line of your code',
  library: 'line of a library',
  noLine: 'no line is known',
  call: 'call',
  operator: 'operator',
  runtime: 'call of the device’s runtime',
  device: 'kernel, copy or fill',
  smaller: 'frames that are too small to be shown',
  annotation: 'annotation',
  collective: 'collective',
  wait: 'wait for another rank',
};

/** A frame as it is shown. */
export interface Frame {
  /** `forward (model.py:31)`, `aten::linear`. */
  label: string;
  kind: Kind;
  /** Of a line that there is. */
  place: { file: string; line: number } | undefined;
  evidence: (typeof EVIDENCE)[number];
  /** Where a line was in the base, if that is elsewhere. */
  was?: string;
}

export function framesOf(data: Pick<FlameData, 'kinds' | 'strings' | 'frames' | 'base'>): Frame[] {
  const { name, kind, file, line, evidence } = data.frames;
  const gone = new Set(data.base?.gone);
  const frames = name.map((it, index): Frame => {
    const text = data.strings[it] ?? '';
    const path = data.strings[file[index] ?? 0] ?? '';
    const known = evidence[index] ?? 0;
    const place = path === '' ? undefined : { file: path, line: line[index] ?? 0 };
    const before = gone.has(index) ? ', in the base' : '';
    return {
      label: place === undefined ? text : `${text} (${path}:${place.line}${before})${MARKS[known] ?? ''}`,
      kind: (data.kinds[kind[index] ?? 0] ?? 'noLine') as Kind,
      place: gone.has(index) ? undefined : place,
      evidence: EVIDENCE[known] ?? 'exact',
    };
  });
  data.base?.was.frame.forEach((row, index) => {
    const { was } = data.base ?? {};
    const frame = frames[row];
    if (frame !== undefined) {
      frame.was = `${data.strings[was?.file[index] ?? 0] ?? ''}:${was?.line[index] ?? 0}`;
    }
  });
  return frames;
}

/** Which frames a search finds: a part of their label whatever its case, or a regular expression. */
export function matcher(query: string, isRegex: boolean): (label: string) => boolean {
  if (isRegex) {
    const pattern = new RegExp(query, 'iu');
    return (label) => pattern.test(label);
  }
  const wanted = query.toLowerCase();
  return (label) => label.toLowerCase().includes(wanted);
}
