/** The colours of pictures, which the style sheet has for each theme. */

import { LEVELS } from './difference';
import type { Colours } from './svg';

const COLOURS: (keyof Colours)[] = [
  'user',
  'library',
  'noLine',
  'call',
  'operator',
  'runtime',
  'device',
  'smaller',
  'annotation',
  'collective',
  'wait',
  ...LEVELS,
  'match',
  'heat',
  'label',
  'text',
  'faint',
  'ground',
  'border',
  'focus',
];

/** The colours that an element has. */
export function coloursOf(root: HTMLElement): Colours {
  const style = getComputedStyle(root);
  const colour = (name: string) => [name, style.getPropertyValue(`--flame-${name}`).trim()];
  return Object.fromEntries(COLOURS.map(colour)) as Colours;
}

/** Calls for another theme: of the page, or of the editor, which changes a class of the body. */
export function onTheme(change: () => void): void {
  new MutationObserver(change).observe(document.body, { attributes: true });
  for (const query of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)']) {
    matchMedia(query).addEventListener('change', change);
  }
}
