/** Where the mouse has to rest on a line for what is known of it. */

/** On the hint and the first word, anywhere, or nowhere. */
export type HoverPlace = 'hint' | 'line' | 'off';

/** Whether what is known of a line is shown at this column of its text. A hint stands behind the last one, or before the first. */
export function isHovered(where: HoverPlace, line: string, character: number): boolean {
  const first = /^\s*(?:\w+|\S)/.exec(line)?.[0].length ?? 0;
  return where === 'line' || (where === 'hint' && (character <= first || character >= line.length));
}
