/** What the roofline is drawn from: the object `perfline.roofline/1`, as docs/pictures.md describes it. */

export interface RooflineData {
  schema: 'perfline.roofline/1';
  title: string;
  /** What the device can do at most, by its data sheet; null where it is not known which device it is. */
  device: {
    name: string;
    /** Bytes per second of its memory. */
    bandwidth: number;
    /** FLOP/s of each precision that points have, where the data sheet has it. */
    peaks: { precision: string; flops: number }[];
  } | null;
  /** Whether times are of devices; else of the host. */
  isDevice: boolean;
  /** Those with most time first. */
  points: Point[];
  /** How many other lines and kernels there are. */
  leftOut: { lines: number; kernels: number };
}

/** A line or a kernel, in one precision. */
export interface Point {
  of: 'line' | 'kernel';
  name: string;
  /** Of a kernel, that of the line that ran most of it. */
  place: { file: string; line: number };
  precision: string;
  operators: number;
  flops: number;
  /** What is read and written at least. */
  bytes: number;
  /** ns. */
  time: number;
  /** FLOPs per byte. */
  intensity: number;
  /** FLOP/s. */
  rate: number;
  /** The share (of 1) of what the roof allows at this intensity; null without a roof. */
  ofRoof: number | null;
  /** What the roof is of there. */
  bound: 'compute' | 'memory' | null;
}
