/** What all pictures on a page have: a canvas, a tooltip, what is selected, a note, and the same as a table. */

import { PictureCanvas } from './canvas';
import { element } from './elements';
import type { Colours } from './svg';
import { coloursOf, onTheme } from './theme';

export abstract class PictureView {
  protected colours: Colours;
  protected readonly picture = new PictureCanvas((context) => {
    this.draw(context);
  });
  protected readonly canvas = this.picture.canvas;
  protected readonly scroller = this.picture.scroller;
  protected readonly tooltip = element('div', { className: 'flame-tooltip', hidden: true });
  protected readonly selection = element('span', { className: 'flame-selection' });
  protected readonly note = element('p', { className: 'flame-note' });
  protected readonly details = element('details', { className: 'flame-table' });

  constructor(protected readonly root: HTMLElement) {
    // The style sheet has the colours for it.
    root.classList.add('drawn');
    this.colours = coloursOf(root);
    this.selection.setAttribute('aria-live', 'polite');
  }

  protected abstract draw(context: CanvasRenderingContext2D): void;

  /** There is another size to be drawn in. */
  protected abstract resize(): void;

  /** There are other colours. */
  protected recolour(): void {
    this.picture.drawSoon();
  }

  /** Has the canvas answer to the pointer and to keys: `click` selects what is there, `open` opens what is selected. */
  protected listenToCanvas(on: {
    point: (event: MouseEvent) => void;
    click: (event: MouseEvent) => void;
    open: () => void;
    key: (event: KeyboardEvent) => void;
  }): void {
    this.canvas.addEventListener('mousemove', (event) => on.point(event));
    this.canvas.addEventListener('mouseleave', () => (this.tooltip.hidden = true));
    this.canvas.addEventListener('click', (event) => {
      on.click(event);
      if (event.ctrlKey || event.metaKey) {
        on.open();
      }
    });
    this.canvas.addEventListener('dblclick', () => on.open());
    this.canvas.addEventListener('keydown', (event) => on.key(event));
  }

  /** Follows the size and the theme of the page. */
  protected followPage(): void {
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    onTheme(() => {
      this.colours = coloursOf(this.root);
      this.recolour();
    });
  }
}
