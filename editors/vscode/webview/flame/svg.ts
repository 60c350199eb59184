/** A flame graph as a picture that needs nothing else. */

import type { Kind } from './data';
import type { LEVELS } from './difference';
import { boxesOf, type Layout, type Span } from './layout';

export const ROW_HEIGHT = 18;
/** Of a letter of the font of boxes, in pixels. */
export const LETTER_WIDTH = 6.7;

/** Colours as CSS texts. */
export type Colours = Record<
  Kind | (typeof LEVELS)[number] | 'match' | 'heat' | 'label' | 'text' | 'faint' | 'ground' | 'border' | 'focus',
  string
>;

/** How a node is drawn. */
export interface DrawnNode {
  fill: string;
  label: string;
}

/** A label as far as it fits. */
export function fitting(label: string, width: number, letter: number): string {
  const letters = Math.floor((width - 6) / letter);
  if (label.length <= letters) {
    return label;
  }
  return letters < 3 ? '' : `${label.slice(0, letters - 1)}…`;
}

/** All depths of a part of a flame graph. */
export function svgOf(
  layout: Layout,
  view: Span,
  drawn: (node: number) => DrawnNode | undefined,
  colours: Colours,
  { title, width }: { title: string; width: number },
): string {
  const boxes = layout.rows.flatMap((_, level) =>
    level === 0 ? [] : boxesOf(layout, level, view, width).map((it) => ({ ...it, level })),
  );
  const deepest = boxes.reduce((most, it) => Math.max(most, it.level), 0);
  const height = (deepest + 1) * ROW_HEIGHT + 4;
  const shapes = boxes.map(({ node, x, width, level }) => {
    const y = level * ROW_HEIGHT + 2;
    const size = `x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.5, width - 0.5).toFixed(1)}" height="${ROW_HEIGHT - 1}"`;
    const box = node === undefined ? undefined : drawn(node);
    if (box === undefined) {
      return `<rect ${size} fill="${colours.smaller}"/>`;
    }
    const label = fitting(box.label, width, LETTER_WIDTH);
    const text = label === '' ? '' : `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escape(label)}</text>`;
    return `<g><title>${escape(box.label)}</title><rect ${size} fill="${box.fill}"/>${text}</g>`;
  });
  const heading = `<text x="3" y="14" fill="${colours.faint}">${escape(title)}</text>`;
  return svgPage(width, height, colours.ground, [heading, ...shapes], ` g text { fill: ${colours.text}; }`);
}

/** A picture of shapes with labels. */
export function svgPage(width: number, height: number, ground: string, shapes: string[], style = ''): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<style>text { font: 11px ui-monospace, Menlo, Consolas, monospace; }${style}</style>
<rect width="${width}" height="${height}" fill="${ground}"/>
${shapes.join('\n')}
</svg>
`;
}

export function escape(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (it) => entities[it] ?? it);
}
