/** The roofline on a page: what lines and kernels achieve below what the device allows, by keys and mouse, and the same as a table. */

import { button, element, fillTable, labelled, type PictureHost, placeCell, placeTooltip } from '../flame/elements';
import { digits, flopRate, flops, percent, text } from '../flame/numbers';
import { PictureView } from '../flame/pictureView';
import { escape, fitting, LETTER_WIDTH, svgPage } from '../flame/svg';
import type { Point, RooflineData } from './data';
import { at, type Axes, axesOf, neighbour, radius, roof, ticks } from './layout';

const HEIGHT = 440;
/** Of the numbers beside and below the axes. */
const LEFT = 72;
const BOTTOM = 36;
const TOP = 10;
const RIGHT = 12;
/** Pixels from one number of an axis to the next at least. */
const TICK_SPACE = 56;
const ROW = 14;
const PADDING = 4;
/** The longest name of a point in the picture, in letters. */
const MAX_LETTERS = 32;
/** How far from a point the pointer may be, in pixels. */
const REACH = 6;
const OPACITY = 0.75;

/** What is drawn on: a canvas, or the text of a picture. */
interface Surface {
  path(points: { x: number; y: number }[], colour: string, isStrong: boolean): void;
  point(x: number, y: number, radius: number, fill: string, title: () => string): void;
  text(text: string, x: number, y: number, fill: string): void;
}

interface Box {
  x: number;
  /** Of its middle. */
  y: number;
  width: number;
  height: number;
}

const SHOWN = ['line', 'kernel', 'both'] as const;
const NAMES: Record<(typeof SHOWN)[number], string> = { line: 'lines', kernel: 'kernels', both: 'lines and kernels' };

export class RooflineView extends PictureView {
  private points: Point[] = [];
  private allTime = 0;
  private selected: number | undefined;
  private readonly axes: Axes;

  private readonly openButton = button('Open line', () => this.openSelected());
  private readonly choice = element('select', {});
  private readonly table = element('table', {});

  constructor(
    root: HTMLElement,
    private readonly data: RooflineData,
    private readonly host: PictureHost,
  ) {
    super(root);
    this.axes = axesOf(data);
    this.build();
    this.listen();
    this.choose();
  }

  /** Selects the point of a line with most time. */
  focusLine(file: string, line: number): void {
    const find = () => this.points.findIndex(({ place }) => place.file === file && place.line === line);
    if (find() < 0) {
      this.choice.value = 'line';
      this.choose();
    }
    const found = find();
    this.select(found < 0 ? undefined : found);
  }

  private build(): void {
    const there = SHOWN.filter((it) => it === 'both' || this.data.points.some(({ of }) => of === it));
    const options = there.length < 3 ? there.slice(0, 1) : there;
    this.choice.append(...options.map((it) => element('option', { value: it, textContent: NAMES[it] })));
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-roledescription', 'roofline');
    const tools = element('div', { className: 'flame-tools' });
    tools.append(
      labelled('Points', this.choice),
      button('Most time', () => this.select(0)),
      button('Save as SVG', () => this.host.save(this.svg())),
    );
    const status = element('div', { className: 'flame-status' });
    this.openButton.hidden = true;
    status.append(this.selection, this.openButton);
    this.details.append(element('summary', { textContent: 'As a table' }), this.table);
    this.root.replaceChildren(tools, this.scroller, status, this.tooltip, this.note, this.details);
  }

  private listen(): void {
    this.choice.addEventListener('change', () => this.choose());
    this.details.addEventListener('toggle', () => this.fillTable());
    this.listenToCanvas({
      point: (event) => this.point(event),
      click: (event) => this.select(this.under(event)),
      open: () => this.openSelected(),
      key: (event) => this.key(event),
    });
    this.followPage();
  }

  /** Shows the points that are chosen. */
  private choose(): void {
    const chosen = this.choice.value;
    this.points = this.data.points.filter((it) => chosen === 'both' || it.of === chosen);
    this.allTime = this.points.reduce((sum, it) => sum + it.time, 0);
    this.note.textContent = this.about();
    const opens = this.host.open === undefined ? '' : ' Enter opens the line.';
    this.canvas.setAttribute(
      'aria-label',
      `Roofline of ${this.points.length} ${NAMES[chosen as keyof typeof NAMES]}. Arrow keys move between points by their time, ` +
        `Home goes to the one with most.${opens}`,
    );
    this.select(undefined);
    this.resize();
    this.fillTable();
  }

  /** What is drawn, and what was left out. */
  private about(): string {
    const { device, isDevice, leftOut } = this.data;
    const roofs =
      device === null
        ? 'The device is not known, so that there is no roof.'
        : `The roof is what ${device.name} can do at most by its data sheet.`;
    const left = [
      ...(leftOut.lines === 0 ? [] : [`${leftOut.lines} lines`]),
      ...(leftOut.kernels === 0 ? [] : [`${leftOut.kernels} kernels`]),
    ].join(' and ');
    return (
      `${roofs} A point is as large as its ${isDevice ? 'device' : 'CPU'} time. FLOPs are counted from the sizes of operators, ` +
      `bytes are what they read and write at least.${left === '' ? '' : ` Left out, with less time: ${left}.`}`
    );
  }

  private select(index: number | undefined): void {
    const point = this.points[index ?? -1];
    this.selected = point === undefined ? undefined : index;
    this.selection.textContent = point === undefined ? '' : this.describe(point).join(' · ');
    this.openButton.hidden = point === undefined || this.host.open === undefined;
    this.picture.drawSoon();
  }

  private describe(point: Point): string[] {
    const { name, precision, operators, rate, intensity, ofRoof, bound, time } = point;
    return [
      name,
      `${text(time, 'ns')}, ${operators} ${operators === 1 ? 'operator' : 'operators'} in ${precision}`,
      flopRate(rate),
      `${digits(intensity)} FLOPs per byte`,
      ...(ofRoof === null || bound === null
        ? []
        : [`${percent(ofRoof)} of what ${bound === 'memory' ? 'the memory' : 'its arithmetic'} allows`]),
    ];
  }

  private openSelected(): void {
    const place = this.points[this.selected ?? -1]?.place;
    if (place !== undefined) {
      this.host.open?.(place);
    }
  }

  private key(event: KeyboardEvent): void {
    const { key } = event;
    if (key === 'Enter' || key === 'o') {
      this.openSelected();
    } else if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (key === 'Escape') {
      this.select(undefined);
    } else {
      const next = neighbour(this.points.length, this.selected, key);
      if (next === undefined) {
        return;
      }
      this.select(next);
    }
    event.preventDefault();
  }

  private under(event: MouseEvent): number | undefined {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let found: { index: number; distance: number } | undefined;
    this.points.forEach((point, index) => {
      const place = this.placeOf(point, this.picture.width);
      const distance = Math.hypot(place.x - x, place.y - y);
      const isOver = distance <= radius(point, this.allTime) + REACH;
      if (isOver && (found === undefined || distance < found.distance)) {
        found = { index, distance };
      }
    });
    return found?.index;
  }

  private point(event: MouseEvent): void {
    const point = this.points[this.under(event) ?? -1];
    const opens = point !== undefined && this.host.open !== undefined;
    this.tooltip.hidden = point === undefined;
    this.canvas.classList.toggle('flame-over', opens);
    if (point !== undefined) {
      placeTooltip(
        this.tooltip,
        [...this.describe(point), ...(opens ? ['Ctrl-click or double-click opens the line'] : [])],
        event,
      );
    }
  }

  protected override resize(): void {
    this.picture.resize(HEIGHT);
  }

  private fillTable(): void {
    if (!this.details.open) {
      return;
    }
    const rows = this.points.map((point) => [
      placeCell('th', point.name, point.place, this.host.open),
      point.precision,
      text(point.time, 'ns'),
      String(point.operators),
      flops(point.flops),
      flops(point.rate),
      digits(point.intensity),
      point.ofRoof === null ? '' : percent(point.ofRoof),
      point.bound ?? '',
    ]);
    const titles = ['', 'precision', 'time', 'operators', 'FLOPs', 'FLOP/s', 'FLOPs per byte', 'of the roof', 'limit'];
    fillTable(this.table, 'Roofline', titles, rows);
  }

  private placeOf({ intensity, rate }: Point, width: number): { x: number; y: number } {
    return this.onPage({ x: Math.log10(intensity), y: Math.log10(rate) }, width);
  }

  /** Where logarithms are in pixels. */
  private onPage(point: { x: number; y: number }, width: number): { x: number; y: number } {
    const { x, y } = this.axes;
    return {
      x: LEFT + at(point.x, x, width - LEFT - RIGHT),
      y: HEIGHT - BOTTOM - at(point.y, y, HEIGHT - BOTTOM - TOP),
    };
  }

  private paint(surface: Surface, width: number): void {
    this.paintAxes(surface, width);
    const labels = this.paintRoofs(surface, width);
    // Those with little time stand on the others.
    for (const point of this.points) {
      const { x, y } = this.placeOf(point, width);
      const fill = point.of === 'line' ? this.colours.user : this.colours.device;
      surface.point(x, y, radius(point, this.allTime), fill, () => this.describe(point).join(' · '));
    }
    const taken = [...labels, ...this.points.map((it) => this.boxOf(it, width))];
    for (const point of this.points) {
      const { x, y } = this.placeOf(point, width);
      const beside = radius(point, this.allTime) + PADDING;
      const label = fitting(shortName(point), MAX_LETTERS * LETTER_WIDTH, LETTER_WIDTH);
      const size = label.length * LETTER_WIDTH;
      const places = [x + beside, x - beside - size].map((left) => ({ x: left, y, width: size, height: ROW }));
      const place = places.find((box) => this.isInside(box, width) && taken.every((it) => !overlap(it, box)));
      if (place !== undefined) {
        taken.push(place);
        surface.text(label, place.x, y, this.colours.label);
      }
    }
  }

  /** The circle of a point, which labels leave free. */
  private boxOf(point: Point, width: number): Box {
    const { x, y } = this.placeOf(point, width);
    const size = 2 * radius(point, this.allTime);
    return { x: x - size / 2, y, width: size, height: size };
  }

  private isInside(box: Box, width: number): boolean {
    return box.x >= LEFT && box.x + box.width <= width - RIGHT;
  }

  private paintAxes(surface: Surface, width: number): void {
    const { colours, axes } = this;
    const [left, right, bottom] = [LEFT, width - RIGHT, HEIGHT - BOTTOM];
    for (const power of ticks(axes.x, (right - left) / TICK_SPACE)) {
      const { x } = this.onPage({ x: power, y: axes.y.from }, width);
      surface.path(
        [
          { x, y: TOP },
          { x, y: bottom },
        ],
        colours.faint,
        false,
      );
      surface.text(digits(10 ** power), x - PADDING, bottom + ROW / 2 + 2, colours.faint);
    }
    for (const power of ticks(axes.y, (bottom - TOP) / (2 * ROW))) {
      const { y } = this.onPage({ x: axes.x.from, y: power }, width);
      surface.path(
        [
          { x: left, y },
          { x: right, y },
        ],
        colours.faint,
        false,
      );
      surface.text(flops(10 ** power), PADDING, y, colours.faint);
    }
    surface.text('FLOPs per byte', (left + right) / 2 - 7 * LETTER_WIDTH, bottom + ROW * 1.5 + 4, colours.label);
    surface.text('FLOP/s', left + PADDING, TOP + ROW / 2, colours.label);
  }

  /** Draws the roofs, and says where their names are. */
  private paintRoofs(surface: Surface, width: number): Box[] {
    const { device } = this.data;
    const boxes: Box[] = [];
    if (device === null) {
      return boxes;
    }
    const label = (text: string, x: number, y: number, align: 'begin' | 'end') => {
      const size = text.length * LETTER_WIDTH;
      const box = { x: align === 'end' ? x - size : x, y, width: size, height: ROW };
      if (boxes.every((it) => !overlap(it, box))) {
        boxes.push(box);
        surface.text(text, box.x, box.y, this.colours.label);
      }
    };
    const paths = device.peaks.map(({ flops }) => roof(device, flops, this.axes).map((it) => this.onPage(it, width)));
    paths.forEach((path, index) => {
      surface.path(path, this.colours.label, true);
      const [peak, end] = [device.peaks[index], path.at(-1)];
      if (peak !== undefined && end !== undefined) {
        label(`${peak.precision}: ${flopRate(peak.flops)}`, end.x - PADDING, end.y - ROW / 2, 'end');
      }
    });
    // All have the same slope.
    const start = paths[0]?.[0];
    if (device.bandwidth > 0 && start !== undefined) {
      const y = Math.min(start.y + PADDING, HEIGHT - BOTTOM - ROW);
      label(`memory: ${text(device.bandwidth, 'bytes')}/s`, start.x + 2 * ROW, y, 'begin');
    }
    return boxes;
  }

  protected override draw(context: CanvasRenderingContext2D): void {
    const { colours } = this;
    const { width, height } = this.picture;
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    const surface: Surface = {
      path: (points, colour, isStrong) => {
        context.strokeStyle = colour;
        context.globalAlpha = isStrong ? 1 : 0.25;
        context.lineWidth = isStrong ? 1.5 : 1;
        context.beginPath();
        points.forEach(({ x, y }) => context.lineTo(x, y));
        context.stroke();
        context.globalAlpha = 1;
        context.lineWidth = 1;
      },
      point: (x, y, size, fill) => {
        context.beginPath();
        context.arc(x, y, size, 0, 2 * Math.PI);
        context.fillStyle = fill;
        context.globalAlpha = OPACITY;
        context.fill();
        context.globalAlpha = 1;
        context.strokeStyle = colours.border === 'transparent' ? colours.ground : colours.border;
        context.stroke();
      },
      text: (label, x, y, fill) => {
        context.fillStyle = fill;
        context.fillText(label, x, y);
      },
    };
    this.paint(surface, width);
    const selected = this.points[this.selected ?? -1];
    if (selected !== undefined) {
      const { x, y } = this.placeOf(selected, width);
      context.beginPath();
      context.arc(x, y, radius(selected, this.allTime) + 2, 0, 2 * Math.PI);
      context.strokeStyle = colours.focus;
      context.lineWidth = 2;
      context.stroke();
      context.lineWidth = 1;
    }
  }

  private svg(): string {
    const { colours, data } = this;
    const [width, shapes] = [1200, [] as string[]];
    const place = ({ x, y }: { x: number; y: number }) => `${x.toFixed(1)},${y.toFixed(1)}`;
    const surface: Surface = {
      path: (points, colour, isStrong) =>
        shapes.push(
          `<polyline points="${points.map(place).join(' ')}" fill="none" stroke="${colour}" ` +
            `stroke-width="${isStrong ? 1.5 : 1}" stroke-opacity="${isStrong ? 1 : 0.25}"/>`,
        ),
      point: (x, y, size, fill, title) =>
        shapes.push(
          `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${size.toFixed(1)}" fill="${fill}" ` +
            `fill-opacity="${OPACITY}"><title>${escape(title())}</title></circle>`,
        ),
      text: (label, x, y, fill) =>
        shapes.push(`<text x="${x.toFixed(1)}" y="${(y + 4).toFixed(1)}" fill="${fill}">${escape(label)}</text>`),
    };
    this.paint(surface, width);
    surface.text(data.title, LEFT + PADDING, HEIGHT + ROW / 2, colours.faint);
    return svgPage(width, HEIGHT + ROW + 4, colours.ground, shapes);
  }
}

/** A kernel, or a line without the folders of its file, which leave no room for what distinguishes it. */
function shortName({ of, name }: Point): string {
  return of === 'line' ? name.slice(name.lastIndexOf('/') + 1) : name;
}

/** Whether two things would stand on each other. */
function overlap(one: Box, other: Box): boolean {
  const isBeside = one.x >= other.x + other.width || other.x >= one.x + one.width;
  return !isBeside && Math.abs(one.y - other.y) < (one.height + other.height) / 2;
}
