/** Where hints stand that the extension draws: how far from the code, and how wide a column of them is. */

/** At the end of the line, in a column of their own to the right of the code, or in one before it. */
export type HintPlace = 'line' | 'column' | 'gutter';

/** Between code and a hint at the end of its line. */
export const MARGIN = '2em';

/** Characters of the column before the code at most: most hints of the format `auto` have fewer. */
const WIDEST = 26;

/** Columns that a line takes on the screen; a wide character takes two. */
export function columnsOf(text: string, tabSize: number): number {
  let columns = 0;
  for (const character of text) {
    columns += character === '\t' ? tabSize - (columns % tabSize) : isWide(character) ? 2 : 1;
  }
  return columns;
}

/** The margin that puts a hint into the column; one that begins further right stands at the end of its line. */
export function marginTo(column: number, text: string, tabSize: number): string {
  const room = column - columnsOf(text, tabSize);
  return room < 2 ? MARGIN : `${room}ch`;
}

/** Characters of the column before the code: it has room for the longest hint of the file. */
export function gutterWidth(hints: string[]): number {
  return Math.min(WIDEST, Math.max(0, ...hints.map((it) => it.length)));
}

/** A hint that is no longer than the column before the code. */
export function fitted(hint: string, width: number): string {
  return hint.length <= width ? hint : `${hint.slice(0, width - 1)}…`;
}

/** East Asian characters and emoji, as VS Code measures them. */
function isWide(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return (
    (0x1100 <= code && code <= 0x115f) ||
    (0x2e80 <= code && code <= 0xd7af) ||
    (0xf900 <= code && code <= 0xfaff) ||
    (0xfe30 <= code && code <= 0xfe4f) ||
    (0xff01 <= code && code <= 0xff60) ||
    (0xffe0 <= code && code <= 0xffe6) ||
    (0x1f300 <= code && code <= 0x1faff)
  );
}
