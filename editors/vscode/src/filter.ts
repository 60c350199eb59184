/** Which lines are shown, and which part of the recording: what the user writes and chooses. */

import type { Filter } from './api';

/** Everything. */
export const ALL: Filter = { files: [], functions: [], modules: [], steps: [], threads: [], streams: [], phase: null };

/** The filter in a few words; empty where all is shown. */
export function filterWords(filter: Filter): string {
  const named = (name: string, values: readonly (string | number)[]) =>
    values.length === 0 ? [] : [`${name} ${values.join(', ')}`];
  return [
    ...filter.files,
    ...filter.functions,
    ...(filter.phase === null ? [] : [filter.phase]),
    ...filter.modules,
    ...named('step', filter.steps),
    ...named('thread', filter.threads),
    ...named('stream', filter.streams),
  ].join(', ');
}

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
