/** What pictures are drawn on. */

import { element } from './elements';

/** A canvas as large as what is visible of its scroller, in the pixels of the screen, drawn at most once a frame. */
export class PictureCanvas {
  readonly canvas = element('canvas', { tabIndex: 0 });
  readonly scroller = element('div', { className: 'flame-scroller' });
  /** What is visible, in CSS pixels. */
  width = 0;
  height = 0;

  private readonly spacer = element('div', { className: 'flame-spacer' });
  private isDue = false;

  constructor(private readonly paint: (context: CanvasRenderingContext2D) => void) {
    this.spacer.append(this.canvas);
    this.scroller.append(this.spacer);
  }

  /** Fits it to what is visible of a picture of this height. */
  resize(needed: number): void {
    this.spacer.style.height = `${needed}px`;
    const { clientWidth, clientHeight } = this.scroller;
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.round(clientWidth * devicePixelRatio);
    this.canvas.height = Math.round(clientHeight * devicePixelRatio);
    this.canvas.style.width = `${clientWidth}px`;
    this.canvas.style.height = `${clientHeight}px`;
    this.draw();
  }

  drawSoon(): void {
    if (!this.isDue) {
      this.isDue = true;
      requestAnimationFrame(() => {
        this.isDue = false;
        this.draw();
      });
    }
  }

  draw(): void {
    const context = this.canvas.getContext('2d', { alpha: false });
    if (context === null || this.width === 0) {
      return;
    }
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.font = '11px ui-monospace, Menlo, Consolas, monospace';
    context.textBaseline = 'middle';
    this.paint(context);
  }
}
