/** The segments of a moment below memory over time: a bar of each, with what is in use in it, and the same as a table. */

import { PictureCanvas } from '../flame/canvas';
import { button, element, fillTable, placeTooltip } from '../flame/elements';
import { percent, text as amountOf } from '../flame/numbers';
import { type Colours, escape, fitting, LETTER_WIDTH, svgPage } from '../flame/svg';
import type { SegmentsData } from './data';
import { barAt, barsOf, blocksBySegment, widthOf } from './segmentLayout';

/** What is around the map. */
export interface SegmentHost {
  colours(): Colours;
  /** How an allocation is drawn, and by whom it was made. */
  drawn(holder: number): { fill: string; label: string; isDimmed: boolean };
  /** Selects who made an allocation. */
  select(holder: number): void;
  /** It is open: says what of the moment it should have, and asks for that. */
  opened(): void;
  save(svg: string): void;
}

const ROW = 16;
const GAP = 3;
/** Of the sizes of segments, at the left. */
const NAMES_WIDTH = 150;
const PADDING = 4;
const DIMMED = 0.3;
const SVG_WIDTH = 1200;

/** What is drawn on: a canvas, or the text of a picture. */
interface Surface {
  bar(x: number, y: number, width: number, fill: string, opacity: number, title: () => string): void;
  frame(x: number, y: number, width: number): void;
  text(text: string, x: number, y: number, fill: string): void;
}

export class SegmentPicture {
  readonly root = element('details', { className: 'flame-table' });
  private data: SegmentsData | undefined;
  private blocks: number[][] = [];
  private readonly picture = new PictureCanvas((context) => this.draw(context));
  private readonly sums = element('p', { className: 'memory-sums' });
  private readonly table = element('table', {});
  private readonly tableDetails = element('details', { className: 'flame-table' });

  constructor(
    private readonly host: SegmentHost,
    private readonly tooltip: HTMLElement,
  ) {
    const { canvas, scroller } = this.picture;
    canvas.setAttribute('role', 'img');
    canvas.tabIndex = -1;
    const tools = element('div', { className: 'flame-tools' });
    tools.append(button('Save as SVG', () => this.host.save(this.svg())));
    this.tableDetails.append(element('summary', { textContent: 'Segments as a table' }), this.table);
    const map = element('div', { className: 'memory-segments' });
    map.append(this.sums, scroller, tools, this.tableDetails);
    this.root.append(element('summary', { textContent: 'Segments at this moment' }));
    this.root.addEventListener('toggle', () => {
      if (this.isOpen) {
        this.root.append(map);
        this.host.opened();
        this.resize();
      }
    });
    this.tableDetails.addEventListener('toggle', () => this.fillTable());
    scroller.addEventListener('scroll', () => this.picture.drawSoon());
    canvas.addEventListener('mousemove', (event) => this.point(event));
    canvas.addEventListener('mouseleave', () => (this.tooltip.hidden = true));
    canvas.addEventListener('click', (event) => {
      const block = this.under(event)?.block;
      this.host.select(this.data?.blocks.holder[block ?? -1] ?? -1);
    });
    new ResizeObserver(() => this.resize()).observe(scroller);
  }

  get isOpen(): boolean {
    return this.root.open;
  }

  /** Shows the segments of a moment, of which `note` says something more. */
  show(data: SegmentsData, note: string): void {
    this.data = data;
    this.blocks = blocksBySegment(data);
    const n = data.bytes.length + data.leftOut;
    const share = percent(data.free / Math.max(1, data.reserved));
    const sums =
      `${n} ${n === 1 ? 'segment' : 'segments'}, ${amountOf(data.reserved, 'bytes')} reserved, of which ` +
      `${amountOf(data.free, 'bytes')} (${share}) are free; the largest free piece is ${amountOf(data.largestFree, 'bytes')}.`;
    const left = data.leftOut === 0 ? '' : ` The ${data.bytes.length} largest are drawn.`;
    this.sums.textContent = `${sums}${left}${note}`;
    this.picture.canvas.setAttribute('aria-label', `${sums} The table below lists them.`);
    this.resize();
    this.fillTable();
  }

  drawSoon(): void {
    if (this.isOpen) {
      this.picture.drawSoon();
    }
  }

  private resize(): void {
    if (this.isOpen) {
      this.picture.resize(this.blocks.length * ROW + GAP);
    }
  }

  private room(width: number): number {
    return Math.max(1, width - NAMES_WIDTH - PADDING);
  }

  private under(event: MouseEvent): { segment: number; block: number | undefined } | undefined {
    const { data } = this;
    const box = this.picture.canvas.getBoundingClientRect();
    const segment = Math.floor((event.clientY - box.top + this.picture.scroller.scrollTop) / ROW);
    const x = event.clientX - box.left - NAMES_WIDTH;
    const room = this.room(this.picture.width);
    if (data === undefined || segment >= this.blocks.length || x < 0 || x > widthOf(data, segment, room)) {
      return undefined;
    }
    return { segment, block: barAt(barsOf(data, this.blocks[segment] ?? [], room), x)?.block };
  }

  private point(event: MouseEvent): void {
    const found = this.under(event);
    this.tooltip.hidden = found === undefined;
    if (found !== undefined) {
      placeTooltip(this.tooltip, [...this.describe(found.block), this.nameOf(found.segment)], event);
    }
  }

  /** What is known of a block, or of what is between blocks. */
  private describe(block: number | undefined): string[] {
    const { blocks } = this.data ?? {};
    if (block === undefined || blocks === undefined) {
      return ['free'];
    }
    const [size, used, n] = [blocks.bytes[block] ?? 0, blocks.used[block] ?? 0, blocks.allocations[block] ?? 1];
    const holder = blocks.holder[block] ?? -1;
    const label = holder === -1 ? 'small allocations of several lines' : this.host.drawn(holder).label;
    const several = `${n} allocations, ${amountOf(used, 'bytes')} of ${amountOf(size, 'bytes')} in use`;
    return [label, n === 1 ? amountOf(size, 'bytes') : several];
  }

  private nameOf(segment: number): string {
    const { data } = this;
    const isPrivate = data?.isPrivate[segment] === true ? ', private pool' : '';
    return `segment of ${amountOf(data?.bytes[segment] ?? 0, 'bytes')} at ${data?.address[segment] ?? ''}, stream ${data?.stream[segment] ?? 0}${isPrivate}`;
  }

  private fillTable(): void {
    const { data } = this;
    if (data === undefined || !this.tableDetails.open) {
      return;
    }
    const rows = data.bytes.map((size, segment) => [
      element('th', { scope: 'row', textContent: data.address[segment] ?? '' }),
      amountOf(size, 'bytes'),
      `${data.stream[segment] ?? 0}${data.isPrivate[segment] === true ? ' (private pool)' : ''}`,
      String(data.allocations[segment] ?? 0),
      amountOf(data.freeBytes[segment] ?? 0, 'bytes'),
      amountOf(data.largestFreeBytes[segment] ?? 0, 'bytes'),
    ]);
    const titles = ['Segment', 'Size', 'Stream', 'Allocations', 'Free', 'Largest free piece'];
    fillTable(this.table, this.sums.textContent, titles, rows);
  }

  private paint(surface: Surface, width: number, rows: { from: number; to: number }, top: number): void {
    const { data } = this;
    if (data === undefined) {
      return;
    }
    const colours = this.host.colours();
    const room = this.room(width);
    // Of a few lines there are thousands of allocations.
    const known = new Map<number, ReturnType<SegmentHost['drawn']>>();
    const drawn = (holder: number) => {
      const made = known.get(holder) ?? this.host.drawn(holder);
      known.set(holder, made);
      return made;
    };
    for (let segment = rows.from; segment < rows.to; segment++) {
      const y = top + (segment - rows.from) * ROW;
      const name = `${amountOf(data.bytes[segment] ?? 0, 'bytes')} · stream ${data.stream[segment] ?? 0}`;
      surface.text(fitting(name, NAMES_WIDTH, LETTER_WIDTH), PADDING, y + ROW / 2, colours.label);
      for (const { block, x, width } of barsOf(data, this.blocks[segment] ?? [], room)) {
        const holder = data.blocks.holder[block] ?? -1;
        const { fill, isDimmed } = drawn(holder);
        surface.bar(NAMES_WIDTH + x, y, width, fill, isDimmed ? DIMMED : 1, () => this.describe(block).join(' · '));
      }
      surface.frame(NAMES_WIDTH, y, widthOf(data, segment, room));
    }
  }

  private draw(context: CanvasRenderingContext2D): void {
    const colours = this.host.colours();
    const { width, height, scroller } = this.picture;
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    const surface: Surface = {
      bar: (x, y, size, fill, opacity) => {
        context.globalAlpha = opacity;
        context.fillStyle = fill;
        context.fillRect(x, y + GAP, size, ROW - GAP);
        context.globalAlpha = 1;
      },
      frame: (x, y, size) => {
        context.strokeStyle = colours.faint;
        context.strokeRect(x - 0.5, y + GAP - 0.5, size + 1, ROW - GAP + 1);
      },
      text: (label, x, y, fill) => {
        context.fillStyle = fill;
        context.fillText(label, x, y + GAP / 2);
      },
    };
    const from = Math.floor(scroller.scrollTop / ROW);
    const to = Math.min(this.blocks.length, Math.ceil((scroller.scrollTop + height) / ROW));
    this.paint(surface, width, { from, to }, from * ROW - scroller.scrollTop);
  }

  private svg(): string {
    const colours = this.host.colours();
    const shapes: string[] = [];
    const rect = (x: number, y: number, width: number, rest: string) =>
      `<rect x="${x.toFixed(1)}" y="${y + GAP}" width="${width.toFixed(1)}" height="${ROW - GAP}" ${rest}`;
    const surface: Surface = {
      bar: (x, y, size, fill, opacity, title) =>
        shapes.push(
          `${rect(x, y, size, `fill="${fill}" fill-opacity="${opacity}"`)}><title>${escape(title())}</title></rect>`,
        ),
      frame: (x, y, size) => shapes.push(`${rect(x, y, size, `fill="none" stroke="${colours.faint}"`)}/>`),
      text: (label, x, y, fill) =>
        shapes.push(
          `<text x="${x.toFixed(1)}" y="${(y + 4 + GAP / 2).toFixed(1)}" fill="${fill}">${escape(label)}</text>`,
        ),
    };
    this.paint(surface, SVG_WIDTH, { from: 0, to: this.blocks.length }, 0);
    return svgPage(SVG_WIDTH, this.blocks.length * ROW + GAP + PADDING, colours.ground, shapes);
  }
}
