/** How a cell of a notebook is recorded: by the magic of the Python package, which its kernel runs. */

export const LOAD = '%load_ext perfline';
const MAGIC = '%%perfline';

/** The text of a cell with the magic before it; nothing where the cell begins with another one, which cannot be combined with it. */
export function withMagic(text: string): string | undefined {
  const first = text.trimStart();
  if (first.startsWith(MAGIC)) {
    return text;
  }
  return first.startsWith('%%') ? undefined : `${MAGIC}\n${text}`;
}

/** The cell above another one that gives the kernel the magic. */
export function loaderAbove(texts: string[], index: number): number | undefined {
  const found = texts.slice(0, index).findLastIndex((it) => it.split('\n').some((line) => line.trim() === LOAD));
  return found < 0 ? undefined : found;
}
