/** Elements of the pages of pictures. */

export interface Place {
  file: string;
  line: number;
}

/** What the page of a picture cannot do by itself. */
export interface PictureHost {
  /** Opens a line; without it, lines cannot be opened. */
  open?: (place: Place) => void;
  save: (svg: string) => void;
}

/** An element with properties. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Partial<HTMLElementTagNameMap[K]>,
): HTMLElementTagNameMap[K] {
  return Object.assign(document.createElement(name), properties);
}

export function button(label: string, onClick: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button', textContent: label });
  made.addEventListener('click', onClick);
  return made;
}

export function labelled(label: string, control: HTMLElement): HTMLLabelElement {
  const made = element('label', {});
  const isBox = control instanceof HTMLInputElement && control.type === 'checkbox';
  made.append(...(isBox ? [control, label] : [label, control]));
  return made;
}

export function heading(scope: string, label: string): HTMLTableCellElement {
  return element('th', { scope, textContent: label });
}

/** A cell with a name, which opens its place where that can be done. */
export function placeCell(
  kind: 'th' | 'td',
  label: string,
  place: Place | undefined,
  open: PictureHost['open'],
): HTMLTableCellElement {
  const cell = kind === 'th' ? heading('row', '') : element('td', { className: 'flame-name' });
  cell.append(open === undefined || place === undefined ? label : button(label, () => open(place)));
  return cell;
}

/** Fills a table with rows of cells or their texts, of which the first is the heading of the row. */
export function fillTable(
  table: HTMLTableElement,
  caption: string,
  titles: string[],
  rows: (string | HTMLTableCellElement)[][],
): void {
  const row = (cells: (string | HTMLTableCellElement)[]) => {
    const made = element('tr', {});
    made.append(...cells.map((it) => (typeof it === 'string' ? element('td', { textContent: it }) : it)));
    return made;
  };
  const [thead, tbody] = [element('thead', {}), element('tbody', {})];
  thead.append(row(titles.map((it) => heading('col', it))));
  tbody.append(...rows.map(row));
  table.replaceChildren(element('caption', { textContent: caption }), thead, tbody);
}

/** Shows lines of text beside the pointer. */
export function placeTooltip(tooltip: HTMLElement, lines: string[], event: MouseEvent): void {
  tooltip.hidden = false;
  tooltip.replaceChildren(...lines.map((it) => element('div', { textContent: it })));
  const { offsetWidth, offsetHeight } = tooltip;
  const left = Math.min(event.clientX + 12, innerWidth - offsetWidth - 4);
  const above = event.clientY - offsetHeight - 8;
  const top = event.clientY + 16 + offsetHeight > innerHeight ? above : event.clientY + 16;
  tooltip.style.left = `${Math.max(4, left)}px`;
  tooltip.style.top = `${Math.max(4, top)}px`;
}
