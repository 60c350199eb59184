/** Elements of the pages of pictures. */

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
