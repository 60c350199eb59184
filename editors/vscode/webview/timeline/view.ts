/** The timeline on a page: canvas, choices, search, keys, and sums by line as a table. */

import { KINDS } from '../flame/data';
import { button, element, fillTable, labelled, placeCell, type PictureHost, placeTooltip } from '../flame/elements';
import type { Span } from '../flame/layout';
import { text as amountOf } from '../flame/numbers';
import { PictureView } from '../flame/pictureView';
import { SearchBox } from '../flame/search';
import { escape, fitting, LETTER_WIDTH, svgPage } from '../flame/svg';
import { at } from '../flame/tree';
import type { TimelineData } from './data';
import {
  boxAt,
  drawnOf,
  firstAfter,
  type HeadGraph,
  headGraphs,
  launchedIn,
  layOutTimeline,
  nodesOf,
  stackOf,
  sumsOf,
  ticks,
  type TimelineLayout,
} from './layout';
import { wheelOf, within, zoomed } from './zoom';

/** What the page cannot do by itself. */
export interface TimelineHost extends PictureHost {
  /** Asks for a part of the recording, or a step; without it, there is no more than what the page holds. */
  request?: (wanted: { rank: number } & ({ from: number; to: number } | { step: number })) => void;
}

const ROW = 16;
/** Above the rows: the axis, and graphs. */
const AXIS = 18;
const GRAPH = 28;
const LABEL = 15;
const MAX_ROWS = 25;
const MAX_ARROWS = 200;
const DIMMED = 0.35;
/** The least that is shown, in nanoseconds. */
const MIN_SPAN = 100;
/** How long a range must stay before it is asked for. */
const WAIT_MS = 250;

/** What is drawn on: a canvas, or the text of a picture. */
interface Surface {
  box(x: number, y: number, width: number, height: number, fill: string, opacity: number, title: string): void;
  /** A part of a graph: many stand beside each other, so that none has a border. */
  bar(x: number, y: number, width: number, height: number, fill: string, title: string): void;
  text(text: string, x: number, y: number, fill: string): void;
  line(points: [number, number, number, number], stroke: string): void;
}

export class TimelineView extends PictureView {
  private layout: TimelineLayout;
  private graphs: HeadGraph[];
  private view: Span;
  private span: Span | undefined;
  private selected: number | undefined;
  private arrows: number[] = [];
  private matches: Uint8Array | undefined;
  private timer = 0;
  private drag: { x: number; time: number; hasMoved: boolean } | undefined;

  private readonly openButton = button('Open line', () => this.openSelected());
  private readonly step = element('select', {});
  private readonly search = new SearchBox(
    () => this.updateSearch(),
    () => this.canvas.focus(),
  );
  private readonly table = element('table', {});

  constructor(
    root: HTMLElement,
    data: TimelineData,
    private readonly host: TimelineHost,
  ) {
    super(root);
    this.layout = layOutTimeline(data);
    this.graphs = headGraphs(data);
    this.view = { from: data.from, to: data.to };
    this.build();
    this.listen();
    this.take(data);
  }

  /** Shows other data; a part that was asked for because of the view keeps the view. */
  update(data: TimelineData): void {
    const isOther = data.rank !== this.layout.data.rank;
    this.layout = layOutTimeline(data);
    this.graphs = headGraphs(data);
    if (data.step !== null || isOther) {
      this.view = { from: data.from, to: data.to };
      this.span = undefined;
    }
    this.select(undefined);
    this.take(data);
  }

  /** Highlights what a line ran. */
  focusLine(file: string, line: number): void {
    this.search.set(`(${file}:${line})`);
    this.updateSearch();
    const first = this.layout.node.findIndex((node) => this.matches !== undefined && at(this.matches, node) === 1);
    this.select(first === -1 ? undefined : first);
  }

  private take(data: TimelineData): void {
    this.step.replaceChildren(
      ...data.steps.map(([number]) => element('option', { value: String(number), textContent: `Step ${number}` })),
      ...(data.step === null ? [element('option', { value: '', textContent: 'Range' })] : []),
    );
    this.step.value = data.step === null ? '' : String(data.step);
    const isWhole = data.from <= 0 && data.to >= data.duration;
    const part = isWhole ? 'The whole recording' : 'A part of the recording';
    const what = data.step === null ? part : `Step ${data.step}, one of ${data.steps.length} recorded`;
    const merged = `Boxes below ${amountOf(data.resolution, 'ns')} are merged with those beside them.`;
    const more = this.host.request === undefined ? [] : ['Zooming in shows more.'];
    const parts = [
      `${what}, rank ${data.rank}, ${amountOf(data.to - data.from, 'ns')}.`,
      merged,
      ...more,
      ...ranksOf(data),
    ];
    this.note.textContent = parts.join(' ');
    this.canvas.setAttribute(
      'aria-label',
      `Timeline of ${amountOf(data.to - data.from, 'ns')} on ${data.lanes.length} lanes. W and S zoom, A and D pan, ` +
        'arrow keys move between boxes, Escape shows everything, slash searches. The table below has the same as sums by line.',
    );
    this.updateSearch();
    this.resize();
    this.fillTable();
  }

  private build(): void {
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-roledescription', 'timeline');
    this.openButton.hidden = true;
    const tools = element('div', { className: 'flame-tools' });
    tools.append(
      ...(this.host.request === undefined ? [] : [labelled('Show', this.step)]),
      ...this.search.controls,
      button('Reset zoom', () => this.reset()),
      button('Save as SVG', () => this.host.save(this.svg())),
    );
    const status = element('div', { className: 'flame-status' });
    status.append(this.selection, this.openButton);
    this.details.append(element('summary', { textContent: 'Sums by line' }), this.table);
    this.root.replaceChildren(tools, this.scroller, status, this.tooltip, this.note, this.details);
  }

  private listen(): void {
    this.step.addEventListener('change', () =>
      this.host.request?.({ rank: this.layout.data.rank, step: Number(this.step.value) }),
    );
    this.details.addEventListener('toggle', () => this.fillTable());
    this.scroller.addEventListener('scroll', () => this.picture.drawSoon());
    this.canvas.addEventListener('mousedown', (event) => {
      this.drag = event.button === 0 ? { x: event.clientX, time: this.timeOf(event), hasMoved: false } : undefined;
    });
    this.canvas.addEventListener('mousemove', (event) => this.point(event));
    addEventListener('mouseup', (event) => this.release(event));
    this.canvas.addEventListener('mouseleave', () => (this.tooltip.hidden = true));
    this.canvas.addEventListener('dblclick', (event) => {
      const box = this.boxUnder(event);
      if (box !== undefined) {
        this.select(box);
        this.openSelected();
      }
    });
    this.canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.followPage();
  }

  /** What can be shown at most. */
  private whole(): Span {
    const { from, to, duration } = this.layout.data;
    return this.host.request === undefined ? { from, to } : { from: 0, to: duration };
  }

  private reset(): void {
    this.span = undefined;
    const { steps, step } = this.layout.data;
    const first = steps[0];
    if (step === null && first !== undefined) {
      this.host.request?.({ rank: this.layout.data.rank, step: first[0] });
    }
    this.show({ from: this.layout.data.from, to: this.layout.data.to });
    this.fillTable();
  }

  private show(wanted: Span): void {
    this.view = within(wanted, this.whole(), MIN_SPAN);
    this.picture.drawSoon();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.request(), WAIT_MS);
  }

  /** The view stays: asks for what it needs, and sums up what it shows. */
  private request(): void {
    const { data } = this.layout;
    const { from, to } = this.view;
    const size = to - from;
    const isOutside = from < data.from || to > data.to;
    const isFiner = data.resolution > 1 && size < (data.to - data.from) / 3;
    if (isOutside || isFiner) {
      const whole = this.whole();
      this.host.request?.({
        rank: data.rank,
        from: Math.floor(Math.max(whole.from, from - size / 2)),
        to: Math.ceil(Math.min(whole.to, to + size / 2)),
      });
    }
    this.fillTable();
  }

  private timeOf(event: MouseEvent): number {
    const { from, to } = this.view;
    return from + ((event.clientX - this.canvas.getBoundingClientRect().left) / this.picture.width) * (to - from);
  }

  private top(): number {
    return AXIS + this.graphs.length * GRAPH;
  }

  /** Where each row is, below the axis: the first one of a lane has its name above it. */
  private rowTops(): number[] {
    let y = 0;
    return this.layout.rows.map(({ lane }, row) => {
      y += this.layout.rows[row - 1]?.lane === lane ? 0 : LABEL;
      y += ROW;
      return y - ROW;
    });
  }

  private boxUnder(event: MouseEvent): number | undefined {
    const y = event.clientY - this.canvas.getBoundingClientRect().top - this.top();
    if (y < 0) {
      return undefined;
    }
    const wanted = y + this.scroller.scrollTop;
    const row = this.rowTops().findIndex((top) => top <= wanted && wanted < top + ROW);
    return row === -1 ? undefined : boxAt(this.layout, row, this.timeOf(event));
  }

  /** What the graph under the pointer says of its part of the range. */
  private amountUnder(event: MouseEvent): string | undefined {
    const { from, to } = this.layout.data;
    const y = event.clientY - this.canvas.getBoundingClientRect().top - AXIS;
    const graph = this.graphs[Math.floor(y / GRAPH)];
    const part = Math.floor(((this.timeOf(event) - from) / (to - from)) * (graph?.parts.length ?? 0));
    const amount = graph?.parts[part];
    return amount === undefined ? undefined : graph?.textOf(amount);
  }

  private point(event: MouseEvent): void {
    const { drag } = this;
    if (drag !== undefined && (drag.hasMoved || Math.abs(event.clientX - drag.x) > 3)) {
      drag.hasMoved = true;
      const time = this.timeOf(event);
      this.span = { from: Math.min(drag.time, time), to: Math.max(drag.time, time) };
      this.tooltip.hidden = true;
      this.picture.drawSoon();
      return;
    }
    const box = this.boxUnder(event);
    const amount = this.amountUnder(event);
    this.tooltip.hidden = box === undefined && amount === undefined;
    this.canvas.classList.toggle('flame-over', box !== undefined);
    if (amount !== undefined) {
      placeTooltip(this.tooltip, [amount], event);
    } else if (box !== undefined) {
      const hint =
        this.host.open === undefined || this.placeOf(box) === undefined ? [] : ['Double-click opens the line'];
      placeTooltip(this.tooltip, [...this.describe(box), ...hint], event);
    }
  }

  private release(event: MouseEvent): void {
    const { drag } = this;
    this.drag = undefined;
    if (drag === undefined || event.detail > 1) {
      return;
    }
    if (drag.hasMoved) {
      this.details.open = true;
      this.fillTable();
    } else {
      this.span = undefined;
      this.select(this.boxUnder(event));
      this.fillTable();
      if (event.ctrlKey || event.metaKey) {
        this.openSelected();
      }
    }
  }

  private select(box: number | undefined): void {
    this.selected = box;
    this.arrows = [];
    this.selection.textContent = box === undefined ? '' : this.describe(box).join(' · ');
    this.openButton.hidden = box === undefined || this.host.open === undefined || this.placeOf(box) === undefined;
    if (box !== undefined) {
      const kind = this.layout.data.lanes[at(this.layout.lane, box)]?.kind;
      this.arrows =
        kind === 'thread' ? launchedIn(this.layout, box) : at(this.layout.launchLane, box) >= 0 ? [box] : [];
      const { from, to } = this.view;
      const [start, end] = [at(this.layout.start, box), at(this.layout.end, box)];
      if (end <= from || start >= to) {
        this.show({ from: (start + end - to + from) / 2, to: (start + end + to - from) / 2 });
      }
      const y = this.rowTops()[at(this.layout.rowOf, box)] ?? 0;
      const { scrollTop, clientHeight } = this.scroller;
      if (y < scrollTop || y + ROW > scrollTop + clientHeight - this.top()) {
        this.scroller.scrollTop = y - (clientHeight - this.top()) / 3;
      }
    }
    this.picture.drawSoon();
  }

  /** The innermost line of a box. */
  private placeOf(box: number) {
    return stackOf(this.layout, box).find((it) => it.place !== undefined)?.place;
  }

  private describe(box: number): string[] {
    const { layout } = this;
    const stack = stackOf(layout, box);
    const lane = layout.data.lanes[at(layout.lane, box)];
    const [start, count] = [at(layout.start, box), at(layout.count, box)];
    const label = stack[0]?.label ?? '';
    const line = stack.find((it) => it.place !== undefined);
    const operator = stack.slice(1).find((it) => it.kind === 'operator');
    const collective = stack.slice(1).find((it) => it.kind === 'collective');
    const inside = lane?.kind === 'thread' ? launchedIn(layout, box) : [];
    const ran = inside.reduce((sum, it) => sum + at(layout.busy, it), 0);
    const events = inside.reduce((sum, it) => sum + at(layout.count, it), 0);
    return [
      lane?.kind === 'idle' ? 'the device is idle' : label,
      ...(lane?.kind === 'idle' ? [] : [KINDS[stack[0]?.kind ?? 'noLine']]),
      count > 1
        ? `${count} short events, of which this is the longest, busy ${amountOf(at(layout.busy, box), 'ns')}`
        : amountOf(at(layout.busy, box), 'ns'),
      `at ${amountOf(start - layout.data.from, 'ns')}`,
      ...(line === undefined || line.label === label
        ? []
        : [`${lane?.kind === 'stream' || lane?.kind === 'rank' ? 'launched by' : 'on'} ${line.label}`]),
      ...(collective === undefined ? [] : [`in ${collective.label}`]),
      ...(lane?.kind === 'stream' && at(layout.launchLane, box) >= 0
        ? [`launched ${amountOf(Math.max(0, start - at(layout.launchAt, box)), 'ns')} before`]
        : []),
      ...(operator === undefined ? [] : [`operator ${operator.label}`]),
      ...(events === 0
        ? []
        : [
            `${events === 1 ? 'launches one device event, which runs' : `launches ${events} device events, which run`} ${amountOf(ran, 'ns')}`,
          ]),
    ];
  }

  private openSelected(): void {
    const place = this.selected === undefined ? undefined : this.placeOf(this.selected);
    if (place !== undefined) {
      this.host.open?.(place);
    }
  }

  private updateSearch(): void {
    const isMatch = this.search.matcher();
    this.matches = undefined;
    if (isMatch !== undefined) {
      const isWanted = this.layout.frames.map((it) => isMatch(it.label));
      const matches = nodesOf(this.layout, (frame) => isWanted[frame] === true);
      this.matches = matches;
      let [time, count] = [0, 0];
      this.layout.node.forEach((node, box) => {
        if (at(matches, node) === 1 && this.layout.data.lanes[at(this.layout.lane, box)]?.kind === 'stream') {
          time += at(this.layout.busy, box);
          count += at(this.layout.count, box);
        }
      });
      this.search.report(`${count} device events, ${amountOf(time, 'ns')}`);
    }
    this.picture.drawSoon();
  }

  private fillTable(): void {
    if (!this.details.open) {
      return;
    }
    const span = this.span ?? this.view;
    const rows = sumsOf(this.layout, span)
      .slice(0, MAX_ROWS)
      .map(({ label, place, thread, device, idle }) => [
        placeCell('th', label, place, this.host.open),
        ...[device, idle, thread].map((it) => amountOf(Math.max(0, it), 'ns')),
      ]);
    const of = this.span === undefined ? 'what is shown' : 'the selected span';
    const caption = `Sums by line of ${of}, ${amountOf(span.to - span.from, 'ns')}`;
    fillTable(this.table, caption, ['Line', 'Device', 'Device idle', 'Thread, self'], rows);
  }

  private wheel(event: WheelEvent): void {
    const { from, to } = this.view;
    const wheel = wheelOf(event, this.picture.width);
    if (wheel === undefined) {
      return;
    }
    event.preventDefault();
    if ('factor' in wheel) {
      this.zoom(wheel.factor, this.timeOf(event));
    } else {
      const by = wheel.share * (to - from);
      this.show({ from: from + by, to: to + by });
    }
  }

  private zoom(factor: number, centre = (this.view.from + this.view.to) / 2): void {
    this.show(zoomed(this.view, factor, centre, this.whole(), MIN_SPAN));
  }

  private key(event: KeyboardEvent): void {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const { from, to } = this.view;
    const isCommand = event.ctrlKey || event.metaKey;
    const by = (to - from) / 5;
    if (key === 'Enter' && isCommand) {
      this.openSelected();
    } else if (isCommand || event.altKey) {
      return;
    } else if (key === 'w' || key === 's') {
      this.zoom(key === 'w' ? 0.7 : 1 / 0.7);
    } else if (key === 'a' || key === 'd') {
      this.show(key === 'a' ? { from: from - by, to: to - by } : { from: from + by, to: to + by });
    } else if (key === 'Enter' && this.selected !== undefined) {
      this.show({ from: at(this.layout.start, this.selected), to: at(this.layout.end, this.selected) });
    } else if (key === 'Escape' || key === 'Backspace' || key === 'Home') {
      this.reset();
    } else if (key === '/') {
      this.search.focus();
    } else if (key === 'o') {
      this.openSelected();
    } else if (key.startsWith('Arrow')) {
      this.select(this.neighbour(key));
    } else {
      return;
    }
    event.preventDefault();
  }

  /** The box that an arrow key goes to: beside the selected one, or in the next row with one at its time. */
  private neighbour(key: string): number | undefined {
    const { layout, selected } = this;
    const { rows } = layout;
    if (selected === undefined) {
      const first = rows[0];
      return first?.boxes[firstAfter(layout, first, this.view.from)];
    }
    const row = at(layout.rowOf, selected);
    if (key === 'ArrowLeft' || key === 'ArrowRight') {
      const boxes = rows[row]?.boxes ?? new Int32Array();
      return boxes[boxes.indexOf(selected) + (key === 'ArrowRight' ? 1 : -1)] ?? selected;
    }
    const step = key === 'ArrowDown' ? 1 : -1;
    const time = Math.max(this.view.from, at(layout.start, selected));
    for (let other = row + step; other >= 0 && other < rows.length; other += step) {
      const line = rows[other];
      const box = line?.boxes[firstAfter(layout, line, time)];
      if (box !== undefined && at(layout.start, box) < Math.min(this.view.to, at(layout.end, selected))) {
        return box;
      }
    }
    return selected;
  }

  protected override resize(): void {
    const tops = this.rowTops();
    const needed = this.top() + (tops.at(-1) ?? 0) + ROW + 4;
    this.picture.resize(needed);
  }

  protected override draw(context: CanvasRenderingContext2D): void {
    const { colours } = this;
    const { width, height } = this.picture;
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    const fillBar = (x: number, y: number, size: number, tall: number, fill: string) => {
      context.fillStyle = fill;
      context.fillRect(x, y, size, tall);
    };
    const surface: Surface = {
      bar: fillBar,
      box: (x, y, size, tall, fill, opacity) => {
        context.globalAlpha = opacity;
        fillBar(x, y, size, tall, fill);
        if (colours.border !== 'transparent' && size > 2) {
          context.strokeStyle = colours.border;
          context.strokeRect(x + 0.5, y + 0.5, Math.max(0, size - 1), tall - 1);
        }
        context.globalAlpha = 1;
      },
      text: (text, x, y, fill) => {
        context.fillStyle = fill;
        context.fillText(text, x, y);
      },
      line: ([x, y, toX, toY], stroke) => {
        context.strokeStyle = stroke;
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(toX, toY);
        context.stroke();
      },
    };
    context.save();
    context.beginPath();
    context.rect(0, this.top(), width, height);
    context.clip();
    this.paintRows(surface, width, this.scroller.scrollTop, height);
    this.paintSelection(context);
    context.restore();
    this.paintHead(surface, width);
    if (this.span !== undefined) {
      const scale = width / (this.view.to - this.view.from);
      const x = (this.span.from - this.view.from) * scale;
      const size = (this.span.to - this.span.from) * scale;
      context.globalAlpha = 0.15;
      context.fillStyle = colours.focus;
      context.fillRect(x, 0, size, height);
      context.globalAlpha = 1;
      context.strokeStyle = colours.focus;
      context.strokeRect(x, 0, size, height);
    }
  }

  /** The axis, and the graphs. */
  private paintHead(surface: Surface, width: number): void {
    const { view, colours } = this;
    const { data } = this.layout;
    const scale = width / (view.to - view.from);
    const relative = { from: view.from - data.from, to: view.to - data.from };
    for (const time of ticks(relative, width / 120)) {
      const x = (time - relative.from) * scale;
      surface.line([x, 0, x, this.top()], colours.faint);
      const label = time < 0 ? `−${amountOf(-time, 'ns')}` : amountOf(time, 'ns');
      // Beside the right edge there is room before the tick only.
      const size = label.length * LETTER_WIDTH;
      surface.text(label, x + 3 + size < width ? x + 3 : x - 3 - size, AXIS / 2, colours.faint);
    }
    this.graphs.forEach(({ title, parts, most, textOf, colour }, row) => {
      const bottom = AXIS + (row + 1) * GRAPH - 3;
      const part = (data.to - data.from) / parts.length;
      parts.forEach((amount, index) => {
        // On whole pixels, so that no edges are seen between parts.
        const [x = 0, end = 0] = [index, index + 1].map((it) =>
          Math.round((data.from + it * part - view.from) * scale),
        );
        if (amount > 0 && end >= 0 && x < width) {
          const tall = ((GRAPH - 4) * amount) / most;
          surface.bar(x, bottom - tall, Math.max(1, end - x), tall, colours[colour], textOf(amount));
        }
      });
      surface.line([0, bottom, width, bottom], colours.faint);
      surface.text(title, 3, bottom - GRAPH / 2 + 4, colours.focus);
    });
  }

  private paintRows(surface: Surface, width: number, scrolled: number, height: number): void {
    const { layout, view, colours, matches } = this;
    const tops = this.rowTops();
    layout.rows.forEach((row, index) => {
      const y = this.top() + (tops[index] ?? 0) - scrolled;
      if (y + ROW < this.top() || y - LABEL > height) {
        return;
      }
      if (layout.rows[index - 1]?.lane !== row.lane) {
        surface.text(this.laneName(row.lane), 3, y - LABEL / 2, colours.faint);
      }
      const isIdle = layout.data.lanes[row.lane]?.kind === 'idle';
      for (const { box, x, width: size } of drawnOf(layout, row, view, width)) {
        const node = box === undefined ? 0 : at(layout.node, box);
        const frame = layout.frames[layout.data.nodes.frame[node] ?? 0];
        const isMatch = matches !== undefined && node !== 0 && at(matches, node) === 1;
        const isMerged = box === undefined || at(layout.count, box) > 1 || frame === undefined;
        const kind = isIdle ? 'noLine' : isMerged ? 'smaller' : frame.kind;
        const opacity = matches === undefined || isMatch ? 1 : DIMMED;
        const label = this.labelOf(box);
        surface.box(x, y, Math.max(0.5, size - 0.5), ROW - 1, isMatch ? colours.match : colours[kind], opacity, label);
        const shown = fitting(label, size, LETTER_WIDTH);
        if (shown !== '') {
          surface.text(shown, x + 3, y + ROW / 2, opacity < 1 ? colours.faint : colours.text);
        }
      }
    });
  }

  private labelOf(box: number | undefined): string {
    if (box === undefined) {
      return '';
    }
    const { layout } = this;
    const count = at(layout.count, box);
    if (count > 1) {
      return `${count} events, busy ${amountOf(at(layout.busy, box), 'ns')}`;
    }
    const stack = stackOf(layout, box);
    const isIdle = layout.data.lanes[at(layout.lane, box)]?.kind === 'idle';
    const line = isIdle ? stack.find((it) => it.place !== undefined) : undefined;
    return (isIdle ? `idle: ${(line ?? stack[0])?.label ?? ''}` : stack[0]?.label) ?? '';
  }

  private laneName(lane: number): string {
    const { kind, label, device } = this.layout.data.lanes[lane] ?? { kind: 'thread', label: '', device: null };
    switch (kind) {
      case 'annotations':
        return `annotations of ${label.startsWith('thread') ? label : `thread ${label}`}`;
      case 'thread':
        return label.startsWith('thread') ? label : `thread ${label}`;
      case 'idle':
        return `device ${device ?? ''}: idle, by the line that the launching thread was on`;
      case 'stream':
        return `device ${device ?? ''}, stream ${label}`;
      case 'rank':
        return `rank ${label}: collectives`;
    }
  }

  private paintSelection(context: CanvasRenderingContext2D): void {
    const { layout, view, selected, colours } = this;
    if (selected === undefined) {
      return;
    }
    const scale = this.picture.width / (view.to - view.from);
    const tops = this.rowTops();
    const yOf = (row: number) => this.top() + (tops[row] ?? 0) - this.scroller.scrollTop;
    const x = (at(layout.start, selected) - view.from) * scale;
    const size = Math.max(2, (at(layout.end, selected) - at(layout.start, selected)) * scale);
    context.strokeStyle = colours.focus;
    context.lineWidth = 2;
    context.strokeRect(x + 1, yOf(at(layout.rowOf, selected)) + 1, Math.max(1, size - 2), ROW - 3);
    context.lineWidth = 1;
    for (const box of this.arrows.slice(0, MAX_ARROWS)) {
      const lane = at(layout.launchLane, box);
      const time = at(layout.launchAt, box);
      // From the innermost box of the thread that is open then.
      let from = layout.rows.findIndex((row) => row.lane === lane);
      for (let row = from; layout.rows[row]?.lane === lane; row++) {
        from = boxAt(layout, row, time) === undefined ? from : row;
      }
      if (from >= 0) {
        const to = [(at(layout.start, box) - view.from) * scale, yOf(at(layout.rowOf, box)) + ROW / 2] as const;
        context.strokeStyle = colours.match;
        context.beginPath();
        context.moveTo((time - view.from) * scale, yOf(from) + ROW / 2);
        context.lineTo(...to);
        context.stroke();
        context.fillStyle = colours.match;
        context.fillRect(to[0] - 2, to[1] - 2, 4, 4);
      }
    }
  }

  private svg(): string {
    const { colours } = this;
    const width = 1200;
    const height = this.top() + (this.rowTops().at(-1) ?? 0) + ROW + 24;
    const shapes: string[] = [];
    const box: Surface['box'] = (x, y, size, tall, fill, opacity, title) =>
      shapes.push(
        `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${size.toFixed(1)}" height="${tall.toFixed(1)}" ` +
          `fill="${fill}" fill-opacity="${opacity}"><title>${escape(title)}</title></rect>`,
      );
    const surface: Surface = {
      box,
      bar: (x, y, size, tall, fill, title) => box(x, y, size, tall, fill, 1, title),
      text: (text, x, y, fill) =>
        shapes.push(`<text x="${x.toFixed(1)}" y="${(y + 4).toFixed(1)}" fill="${fill}">${escape(text)}</text>`),
      line: ([x, y, toX, toY], stroke) =>
        shapes.push(
          `<path d="M${x.toFixed(1)} ${y.toFixed(1)}L${toX.toFixed(1)} ${toY.toFixed(1)}" stroke="${stroke}"/>`,
        ),
    };
    this.paintRows(surface, width, 0, height);
    this.paintHead(surface, width);
    surface.text(this.layout.data.title, 3, height - 10, colours.faint);
    return svgPage(width, height, colours.ground, shapes);
  }
}

/** What is to be said of the lanes of ranks. */
function ranksOf({ ranks }: TimelineData): string[] {
  const others = ranks?.leftOut ?? 0;
  return [
    ...(others === 0 ? [] : [`${others} other ranks, which were waited for less, are left out.`]),
    ...(ranks?.uncertainty == null ? [] : [`Clocks of ranks are aligned, to ±${amountOf(ranks.uncertainty, 'ns')}.`]),
  ];
}
