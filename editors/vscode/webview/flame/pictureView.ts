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

  /** Follows the size and the theme of the page. */
  protected followPage(): void {
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    onTheme(() => {
      this.colours = coloursOf(this.root);
      this.recolour();
    });
  }
}
