/** Which span of time is in view. */

import type { Span } from '../flame/layout';

/** A span of at least some length, moved to where there is something. */
export function within({ from, to }: Span, whole: Span, least: number): Span {
  const size = Math.min(whole.to - whole.from, Math.max(least, to - from));
  const begin = Math.min(Math.max(whole.from, from), whole.to - size);
  return { from: begin, to: begin + size };
}

/** A view that is `factor` times as long; what is at the centre stays where it is. */
export function zoomed({ from, to }: Span, factor: number, centre: number, whole: Span, least: number): Span {
  const size = Math.min(whole.to - whole.from, Math.max(least, (to - from) * factor));
  const begin = centre - ((centre - from) / (to - from)) * size;
  return { from: begin, to: begin + size };
}

/** What a wheel does to a view: with Ctrl it zooms by a factor, sideways or with Shift it pans by a share of the view; else the
 * page or the picture scrolls. */
export function wheelOf(event: WheelEvent, width: number): { factor: number } | { share: number } | undefined {
  const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
  if (event.ctrlKey) {
    return { factor: Math.exp(event.deltaY / 200) };
  }
  const isSideways = sideways !== 0 && Math.abs(sideways) >= Math.abs(event.shiftKey ? 0 : event.deltaY);
  return isSideways ? { share: sideways / width } : undefined;
}
