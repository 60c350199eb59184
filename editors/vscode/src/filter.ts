/** What the user writes of the lines to show. */

/** Patterns that have commas between them; a comma within braces is part of a pattern (`{a,b}.py`). */
export function patterns(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let pattern = '';
  for (const letter of `${text},`) {
    depth += letter === '{' ? 1 : letter === '}' ? -1 : 0;
    if (letter === ',' && depth <= 0) {
      found.push(pattern.trim());
      pattern = '';
    } else {
      pattern += letter;
    }
  }
  return [...found, pattern.trim()].filter((it) => it !== '');
}
