/** Memory over time on a page: canvas, choices, search, keys, and what is in use at one moment as tables. */

import { button, element, fillTable, labelled, placeCell, type PictureHost, placeTooltip } from '../flame/elements';
import type { Span } from '../flame/layout';
import { percent, text as amountOf } from '../flame/numbers';
import { PictureView } from '../flame/pictureView';
import { SearchBox } from '../flame/search';
import { escape, fitting, LETTER_WIDTH, svgPage } from '../flame/svg';
import { ticks } from '../timeline/layout';
import { wheelOf, within, zoomed } from '../timeline/zoom';
import type { MemoryData } from './data';
import {
  type Band,
  bandAt,
  blocksAt,
  endOf,
  type Grouping,
  type Drawing,
  hasRoomForBefore,
  highestMoment,
  labelPlace,
  layOutMemory,
  type MemoryLayout,
  momentAt,
  sizeTicks,
} from './layout';
import { SegmentPicture } from './segments';

/** What the page cannot do by itself. */
export interface MemoryHost extends PictureHost {
  /** Asks for a part of the recording, or another device; without it, there is no more than what the page holds. */
  request?: (wanted: { from?: number; to?: number; rank: number; device: number; moment?: number }) => void;
}

const HEIGHT = 360;
const AXIS = 18;
const LABEL_HEIGHT = 14;
/** Of the axis of sizes, at the left. */
const SIZES_WIDTH = 56;
const MAX_ROWS = 25;
const DIMMED = 0.3;
/** Above this ratio of reserved memory to what is in use, the areas would be too low if both were shown. */
const MAX_RESERVED = 1.5;
/** The least that is shown: nanoseconds, or events. */
const MIN_SPAN = { ns: 100, events: 5 };
/** How long a range must stay before it is asked for. */
const WAIT_MS = 250;
/** Degrees between the hues of neighbours: the golden angle never repeats one. */
const HUE_STEP = 137.508;

const GROUPINGS: [Grouping, string][] = [
  ['line', 'line'],
  ['function', 'function'],
  ['file', 'file'],
  ['phase', 'part of the step'],
];

/** What is drawn on: a canvas, or the text of a picture. */
interface Surface {
  area(points: [number, number][], fill: string, opacity: number, title: string): void;
  text(text: string, x: number, y: number, fill: string): void;
  line(points: [number, number][], stroke: string, dash?: number): void;
}

export class MemoryView extends PictureView {
  private layout: MemoryLayout;
  private view: Span;
  /** The moment whose memory the tables list. */
  private moment: number;
  /** Whether the peak was asked for, which the part that is there does not have. */
  private awaitsPeak = false;
  private selected: string | undefined;
  private matches: ReadonlySet<string> | undefined;
  private timer = 0;

  private readonly openButton = button('Open line', () => this.openSelected());
  private readonly device = element('select', {});
  private readonly grouping = element('select', {});
  private readonly before = element('input', { type: 'checkbox' });
  private readonly reserved = element('input', { type: 'checkbox' });
  private readonly reservedChoice = labelled('Reserved', this.reserved);
  private readonly search = new SearchBox(
    () => this.updateSearch(),
    () => this.canvas.focus(),
  );
  private readonly holders = element('table', {});
  private readonly blocks = element('table', {});
  private readonly blockDetails = element('details', { className: 'flame-table' });
  private readonly segments = new SegmentPicture(
    {
      colours: () => this.colours,
      drawn: (holder) => this.drawnHolder(holder),
      select: (holder) => this.select(this.bandOf(holder)?.band.label),
      opened: () => this.showSegments(),
      save: (svg) => this.host.save(svg),
    },
    this.tooltip,
  );

  constructor(
    root: HTMLElement,
    data: MemoryData,
    private readonly host: MemoryHost,
  ) {
    super(root);
    this.before.checked = hasRoomForBefore(data);
    this.layout = layOutMemory(data, { grouping: 'line', hasBefore: this.before.checked });
    this.view = { from: data.from, to: data.to };
    this.moment = highestMoment(data);
    const most = Math.max(...data.inUse);
    this.reserved.checked = Math.max(...data.reserved) <= most * MAX_RESERVED;
    this.build();
    this.listen();
    this.take();
  }

  /** Shows other data; a part that was asked for because of the view keeps the view. */
  update(data: MemoryData): void {
    const { data: before } = this.layout;
    const isOther = before.rank !== data.rank || before.device !== data.device || before.title !== data.title;
    const event = before.event[this.moment];
    const time = before.at[this.moment] ?? 0;
    this.layout = layOutMemory(data, this.drawing());
    if (isOther) {
      this.view = { from: data.from, to: data.to };
    }
    if (isOther || this.awaitsPeak) {
      this.moment = highestMoment(data);
      this.awaitsPeak = false;
    } else {
      const same = data.event.indexOf(event ?? -2);
      this.moment = same === -1 ? momentAt(data, time) : same;
    }
    this.take();
  }

  /** Highlights what a line holds. */
  focusLine(file: string, line: number): void {
    this.grouping.value = 'line';
    this.regroup();
    const band = this.layout.bands.find((it) => it.place?.file === file && it.place.line === line);
    if (band === undefined) {
      this.search.set(`(${file}:${line})`);
      this.updateSearch();
    }
    this.select(band?.label);
  }

  private drawing(): Drawing {
    return { grouping: this.grouping.value as Grouping, hasBefore: this.before.checked };
  }

  private take(): void {
    const { data } = this.layout;
    this.device.replaceChildren(
      ...data.devices.map(([rank, device], row) => {
        const isOneRank = data.devices.every((it) => it[0] === rank);
        const name = data.names[row] ?? '';
        const textContent = isOneRank ? name : `rank ${rank}, ${name}`;
        return element('option', { value: `${rank}/${device}`, textContent });
      }),
    );
    this.device.value = `${data.rank}/${data.device}`;
    const isWhole = data.from <= 0 && data.to >= data.duration;
    const what = isWhole ? 'The whole recording' : 'A part of the recording';
    const length = this.timeOf(data.to - data.from);
    const peak = `The most in use is ${amountOf(data.peak.bytes, 'bytes')}, after ${this.timeOf(data.peak.at)}.`;
    const more = this.host.request === undefined ? '' : ' Zooming in shows more.';
    const row = data.devices.findIndex(([rank, device]) => rank === data.rank && device === data.device);
    this.note.textContent =
      `${what}, rank ${data.rank}, ${data.names[row] ?? ''}, ${length}. ${peak} ` +
      `Where a pixel or a part of the range has several events, the one with the most in use is shown.${more}`;
    this.canvas.setAttribute(
      'aria-label',
      `Memory in use over ${length}, ${this.layout.bands.length} areas. Left and right move to other moments, up and down ` +
        'select areas, P goes to the peak, W and S zoom, A and D pan, Escape shows everything, slash searches. The tables ' +
        'below list what is in use at the moment.',
    );
    // A trace knows no segments, and of the host's memory not what is reserved.
    this.reservedChoice.hidden = !hasReserved(data);
    this.segments.root.hidden = data.segments.bytes.length === 0;
    this.updateSearch();
    this.resize();
    this.describe();
    this.fillTables();
    this.showSegments();
  }

  private build(): void {
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-roledescription', 'memory over time');
    this.grouping.append(...GROUPINGS.map(([value, textContent]) => element('option', { value, textContent })));
    this.openButton.hidden = true;
    const tools = element('div', { className: 'flame-tools' });
    tools.append(
      ...(this.host.request === undefined ? [] : [labelled('Device', this.device)]),
      labelled('By', this.grouping),
      labelled('Before recording', this.before),
      this.reservedChoice,
      ...this.search.controls,
      button('Peak', () => this.goToPeak()),
      button('Reset zoom', () => this.reset()),
      button('Save as SVG', () => this.host.save(this.svg())),
    );
    const status = element('div', { className: 'flame-status' });
    status.append(this.selection, this.openButton);
    this.details.open = true;
    this.details.append(element('summary', { textContent: 'In use at this moment' }), this.holders);
    this.blockDetails.append(element('summary', { textContent: 'Largest allocations of this moment' }), this.blocks);
    this.root.replaceChildren(
      tools,
      this.scroller,
      status,
      this.tooltip,
      this.note,
      this.details,
      this.blockDetails,
      this.segments.root,
    );
  }

  private listen(): void {
    this.device.addEventListener('change', () => {
      const [rank, device] = this.device.value.split('/').map(Number);
      this.host.request?.({ rank: rank ?? 0, device: device ?? 0 });
    });
    this.grouping.addEventListener('change', () => this.regroup());
    this.before.addEventListener('change', () => this.regroup());
    this.reserved.addEventListener('change', () => this.picture.drawSoon());
    this.blockDetails.addEventListener('toggle', () => this.fillTables());
    this.details.addEventListener('toggle', () => this.fillTables());
    this.listenToCanvas({
      point: (event) => this.point(event),
      click: (event) => {
        const { moment, band } = this.under(event);
        this.go(moment);
        this.select(band?.label);
      },
      open: () => this.openSelected(),
      key: (event) => this.key(event),
    });
    this.canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.followPage();
  }

  private regroup(): void {
    this.layout = layOutMemory(this.layout.data, this.drawing());
    this.selected = undefined;
    this.updateSearch();
    this.describe();
    this.fillTables();
  }

  /** A duration, or a number of events. */
  private timeOf(length: number): string {
    const events = Math.round(length);
    const counted = events === 1 ? '1 event' : `${events} events`;
    return this.layout.data.unit === 'ns' ? amountOf(length, 'ns') : counted;
  }

  /** What can be shown at most. */
  private whole(): Span {
    const { from, to, duration } = this.layout.data;
    return this.host.request === undefined ? { from, to } : { from: 0, to: duration };
  }

  private reset(): void {
    this.show(this.whole());
  }

  private show(wanted: Span): void {
    this.view = within(wanted, this.whole(), MIN_SPAN[this.layout.data.unit]);
    this.picture.drawSoon();
    this.requestSoon();
  }

  private requestSoon(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.request(), WAIT_MS);
  }

  /** The event of the moment. */
  private event(): number {
    return this.layout.data.event[this.moment] ?? -1;
  }

  /** Whether the segments that are to be seen are those of another moment. */
  private lacksSegments(): boolean {
    return this.segments.isOpen && this.layout.data.segments.event !== this.event();
  }

  /** View and moment stay: asks for what they need. */
  private request(): void {
    const { data } = this.layout;
    const { from, to } = this.view;
    const size = to - from;
    const isOutside = from < data.from || to > data.to;
    const isFiner = size < (data.to - data.from) / 3;
    const isOther = isOutside || isFiner;
    if (isOther || this.lacksSegments()) {
      const whole = this.whole();
      this.host.request?.({
        from: isOther ? Math.floor(Math.max(whole.from, from - size / 2)) : data.from,
        to: isOther ? Math.ceil(Math.min(whole.to, to + size / 2)) : data.to,
        rank: data.rank,
        device: data.device,
        ...(this.segments.isOpen ? { moment: this.event() } : {}),
      });
    }
  }

  private goToPeak(): void {
    const { data } = this.layout;
    const { peak } = data;
    const { from, to } = this.view;
    if (peak.at < from || peak.at >= to) {
      this.show({ from: peak.at - (to - from) / 2, to: peak.at + (to - from) / 2 });
    }
    this.awaitsPeak = peak.at < data.from || peak.at >= data.to;
    if (!this.awaitsPeak) {
      this.go(highestMoment(data));
    }
  }

  private go(moment: number): void {
    const { data } = this.layout;
    this.moment = Math.min(Math.max(0, moment), data.at.length - 1);
    const time = data.at[this.moment] ?? 0;
    const { from, to } = this.view;
    if (time >= to || endOf(data, this.moment) <= from) {
      this.show({ from: time - (to - from) / 2, to: time + (to - from) / 2 });
    }
    this.reportFound();
    this.describe();
    this.fillTables();
    this.showSegments();
    this.picture.drawSoon();
  }

  private select(label: string | undefined): void {
    this.selected = label;
    this.describe();
    this.fillTables();
    this.segments.drawSoon();
    this.picture.drawSoon();
  }

  private selectedBand(): Band | undefined {
    return this.layout.bands.find((it) => it.label === this.selected);
  }

  private openSelected(): void {
    const place = this.selectedBand()?.place;
    if (place !== undefined) {
      this.host.open?.(place);
    }
  }

  private describe(): void {
    const { data } = this.layout;
    const band = this.selectedBand();
    const all = data.inUse[this.moment] ?? 0;
    const event = this.event();
    const time = this.timeOf(data.at[this.moment] ?? 0);
    const when = event === -1 ? 'before the first event' : `around ${time}, after event ${event + 1}`;
    const total = `${amountOf(all, 'bytes')} in use ${when}`;
    const held = band?.bytes[this.moment] ?? 0;
    this.selection.textContent =
      band === undefined
        ? total
        : `${band.label}: ${amountOf(held, 'bytes')}, ${percent(held / Math.max(1, all))} of ${total}`;
    this.openButton.hidden = this.host.open === undefined || band?.place === undefined;
  }

  private updateSearch(): void {
    const isMatch = this.search.matcher();
    this.matches = isMatch && new Set(this.layout.bands.map((it) => it.label).filter(isMatch));
    this.reportFound();
    this.segments.drawSoon();
    this.picture.drawSoon();
  }

  /** Says what the areas that were found hold at the moment. */
  private reportFound(): void {
    const { matches } = this;
    if (matches !== undefined) {
      const bands = this.layout.bands.filter((it) => matches.has(it.label));
      const held = bands.reduce((sum, it) => sum + (it.bytes[this.moment] ?? 0), 0);
      this.search.report(`${bands.length} found, ${amountOf(held, 'bytes')}`);
    }
  }

  /** The segments that are there; those of the moment are asked for where they can be. */
  private showSegments(): void {
    if (!this.segments.isOpen) {
      return;
    }
    const { data } = this.layout;
    const { event } = data.segments;
    const when = event === -1 ? 'before the first event' : `after event ${event + 1}`;
    const isAlone = this.lacksSegments() && this.host.request === undefined;
    this.segments.show(data.segments, ` This is ${when}.${isAlone ? ' This page has those of the peak alone.' : ''}`);
    if (this.lacksSegments()) {
      this.requestSoon();
    }
  }

  /** The area in which a holder is. */
  private bandOf(holder: number): { band: Band; index: number } | undefined {
    const index = this.layout.bands.findIndex((it) => it.holders.has(holder));
    const band = this.layout.bands[index];
    return band === undefined ? undefined : { band, index };
  }

  private drawnHolder(holder: number): { fill: string; label: string; isDimmed: boolean } {
    const { data, frames } = this.layout;
    const found = this.bandOf(holder);
    const label = frames[data.holders.frame[holder] ?? -1]?.label ?? '';
    const fill = found === undefined ? this.colours.noLine : this.fillOf(found.band, found.index);
    const isSelected = this.selected === undefined || found?.band.label === this.selected;
    return { fill, label, isDimmed: !isSelected || this.matches?.has(found?.band.label ?? '') === false };
  }

  private fillTables(): void {
    const { layout } = this;
    const { data } = layout;
    if (this.details.open) {
      const all = Math.max(1, data.inUse[this.moment] ?? 0);
      const held = (band: Band) => band.bytes[this.moment] ?? 0;
      const bands = layout.bands.map((band, index) => ({ band, index })).filter(({ band }) => held(band) > 0);
      bands.sort((a, b) => held(b.band) - held(a.band));
      const rows = bands.map(({ band, index }) => {
        const swatch = element('span', { className: 'memory-swatch' });
        swatch.style.background = this.fillOf(band, index);
        const amount = held(band);
        const name = placeCell('th', band.label, band.place, this.host.open);
        name.prepend(swatch);
        return [name, amountOf(amount, 'bytes'), percent(amount / all)];
      });
      fillTable(this.holders, this.selection.textContent, ['Allocated by', 'In use', 'Share'], rows);
    }
    if (this.blockDetails.open) {
      const { blocks } = data;
      const listed = blocksAt(layout, this.moment, this.selectedBand()).slice(0, MAX_ROWS);
      const frameOf = (holder: number | undefined) => layout.frames[data.holders.frame[holder ?? -1] ?? -1];
      const timeOf = (time: number | undefined, none: string) =>
        time === undefined || time === -1 ? none : this.timeOf(time);
      const rows = listed.map((block) => {
        const by = frameOf(blocks.holder[block]);
        const released = frameOf(blocks.releasedBy[block]);
        const isKept = blocks.to[block] === -1;
        return [
          placeCell('th', by?.label ?? '', by?.place, this.host.open),
          amountOf(blocks.bytes[block] ?? 0, 'bytes'),
          timeOf(blocks.begin[block], 'before the recording'),
          isKept ? 'in use at the end' : timeOf(blocks.end[block], ''),
          isKept ? '' : placeCell('td', released?.label ?? 'not recorded', released?.place, this.host.open),
        ];
      });
      fillTable(this.blocks, this.selection.textContent, ['Allocated by', 'Size', 'From', 'To', 'Released by'], rows);
    }
  }

  /** Beside a part of what is in use, what is reserved for all of it would mislead. */
  private showsReserved(): boolean {
    return this.reserved.checked && this.before.checked && hasReserved(this.layout.data);
  }

  private most(): number {
    const { data } = this.layout;
    const [first, last] = [momentAt(data, this.view.from), momentAt(data, this.view.to)];
    const drawn = this.layout.tops.at(-1) ?? [];
    let most = 1;
    for (let moment = first; moment <= last; moment++) {
      const reserved = this.showsReserved() ? (data.reserved[moment] ?? 0) : 0;
      most = Math.max(most, drawn[moment] ?? 0, reserved);
    }
    return most * 1.05;
  }

  private pointedTime(event: MouseEvent): number {
    const { from, to } = this.view;
    return from + ((event.clientX - this.canvas.getBoundingClientRect().left) / this.picture.width) * (to - from);
  }

  private under(event: MouseEvent): { moment: number; band: Band | undefined } {
    const { top } = this.canvas.getBoundingClientRect();
    const height = this.picture.height - AXIS;
    const bytes = (1 - (event.clientY - top - AXIS) / height) * this.most();
    const moment = momentAt(this.layout.data, this.pointedTime(event));
    const band = bandAt(this.layout, moment, bytes);
    return { moment, band: band === undefined ? undefined : this.layout.bands[band] };
  }

  private point(event: MouseEvent): void {
    const { moment, band } = this.under(event);
    const { data } = this.layout;
    const all = data.inUse[moment] ?? 0;
    const held = band?.bytes[moment] ?? 0;
    const lines =
      band === undefined
        ? ['not in use']
        : [band.label, `${amountOf(held, 'bytes')}, ${percent(held / Math.max(1, all))} of what is in use`];
    placeTooltip(
      this.tooltip,
      [
        ...lines,
        `${amountOf(all, 'bytes')} in use${hasReserved(data) ? `, ${amountOf(data.reserved[moment] ?? 0, 'bytes')} reserved` : ''}`,
        `around ${this.timeOf(data.at[moment] ?? 0)}`,
        'A click lists what is in use here',
      ],
      event,
    );
  }

  private wheel(event: WheelEvent): void {
    const { from, to } = this.view;
    const wheel = wheelOf(event, this.picture.width);
    if (wheel === undefined) {
      return;
    }
    event.preventDefault();
    if ('factor' in wheel) {
      this.zoom(wheel.factor, this.pointedTime(event));
    } else {
      const by = wheel.share * (to - from);
      this.show({ from: from + by, to: to + by });
    }
  }

  private zoom(factor: number, centre: number): void {
    this.show(zoomed(this.view, factor, centre, this.whole(), MIN_SPAN[this.layout.data.unit]));
  }

  private key(event: KeyboardEvent): void {
    const { from, to } = this.view;
    const size = to - from;
    const cursor = this.layout.data.at[this.moment] ?? from;
    const around = cursor >= from && cursor < to ? cursor : from + size / 2;
    const actions: Record<string, () => void> = {
      w: () => this.zoom(0.7, around),
      s: () => this.zoom(1 / 0.7, around),
      a: () => this.show({ from: from - size / 5, to: to - size / 5 }),
      d: () => this.show({ from: from + size / 5, to: to + size / 5 }),
      p: () => this.goToPeak(),
      o: () => this.openSelected(),
      '/': () => this.search.focus(),
      ArrowLeft: () => this.go(this.moment - 1),
      ArrowRight: () => this.go(this.moment + 1),
      ArrowUp: () => this.selectNext(1),
      ArrowDown: () => this.selectNext(-1),
      Enter: () => (event.ctrlKey || event.metaKey ? this.openSelected() : undefined),
      Escape: () => this.reset(),
      Backspace: () => this.reset(),
      Home: () => this.reset(),
    };
    const action = actions[event.key];
    const isPlain = event.key === 'Enter' || !(event.ctrlKey || event.metaKey || event.altKey);
    if (action !== undefined && isPlain) {
      event.preventDefault();
      action();
    }
  }

  /** Selects the next area above or below that has something at the moment. */
  private selectNext(step: 1 | -1): void {
    const { bands } = this.layout;
    const here = bands.findIndex((it) => it.label === this.selected);
    const start = here === -1 && step === -1 ? bands.length : here;
    for (let band = start + step; band >= 0 && band < bands.length; band += step) {
      if ((bands[band]?.bytes[this.moment] ?? 0) > 0) {
        this.select(bands[band]?.label);
        return;
      }
    }
  }

  protected override recolour(): void {
    super.recolour();
    this.fillTables();
    this.segments.drawSoon();
  }

  protected override resize(): void {
    this.picture.resize(HEIGHT);
  }

  private fillOf(band: Band, index: number): string {
    const tone = getComputedStyle(this.root).getPropertyValue('--memory-tone').trim();
    return band.isUnknown ? this.colours.noLine : `hsl(${(index * HUE_STEP + 30).toFixed(0)} ${tone})`;
  }

  protected override draw(context: CanvasRenderingContext2D): void {
    const { colours } = this;
    const { width, height } = this.picture;
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    const trace = (points: [number, number][]) => {
      context.beginPath();
      points.forEach(([x, y], index) => (index === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    };
    const surface: Surface = {
      area: (points, fill, opacity) => {
        context.globalAlpha = opacity;
        context.fillStyle = fill;
        trace(points);
        context.fill();
        if (colours.border !== 'transparent') {
          // Thin, so that it leaves something of narrow areas.
          context.strokeStyle = colours.border;
          context.lineWidth = 0.5;
          context.stroke();
          context.lineWidth = 1;
        }
        context.globalAlpha = 1;
      },
      text: (text, x, y, fill) => {
        context.fillStyle = fill;
        context.fillText(text, x, y);
      },
      line: (points, stroke, dash) => {
        context.strokeStyle = stroke;
        context.setLineDash(dash === undefined ? [] : [dash, dash]);
        trace(points);
        context.stroke();
        context.setLineDash([]);
      },
    };
    this.paint(surface, width, height);
    const { data } = this.layout;
    const scale = width / (this.view.to - this.view.from);
    const [begin, end] = [data.at[this.moment] ?? 0, endOf(data, this.moment)];
    const x = (begin - this.view.from) * scale;
    context.strokeStyle = colours.focus;
    context.lineWidth = 1.5;
    context.strokeRect(x, AXIS, Math.max(0.5, (end - begin) * scale), height - AXIS);
    context.lineWidth = 1;
  }

  private paint(surface: Surface, width: number, height: number): void {
    const { layout, view, colours, matches } = this;
    const { data, bands, tops } = layout;
    const most = this.most();
    const scale = width / (view.to - view.from);
    const xOf = (time: number) => Math.min(width, Math.max(0, (time - view.from) * scale));
    const yOf = (bytes: number) => height - (bytes / most) * (height - AXIS);
    const [first, last] = [momentAt(data, view.from), momentAt(data, view.to)];
    const moments = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    const edge = (sums: readonly number[]) =>
      moments.flatMap((it): [number, number][] => {
        const y = yOf(sums[it] ?? 0);
        return [
          [xOf(data.at[it] ?? 0), y],
          [xOf(endOf(data, it)), y],
        ];
      });
    bands.forEach((band, index) => {
      const isDimmed =
        (this.selected !== undefined && this.selected !== band.label) || matches?.has(band.label) === false;
      const points = [...edge(tops[index + 1] ?? []), ...edge(tops[index] ?? []).reverse()];
      surface.area(points, this.fillOf(band, index), isDimmed ? DIMMED : 1, band.label);
      const place = labelPlace(layout, index, view, (LABEL_HEIGHT / (height - AXIS)) * most);
      if (place !== undefined) {
        const from = Math.max(SIZES_WIDTH, xOf(data.at[place.from] ?? 0));
        const label = fitting(band.label, xOf(endOf(data, place.to - 1)) - from, LETTER_WIDTH);
        surface.text(label, from + 3, yOf(place.middle), isDimmed ? colours.faint : colours.text);
      }
    });
    if (this.showsReserved()) {
      surface.line(edge(data.reserved), colours.faint, 3);
      const y = yOf(data.reserved[last] ?? 0);
      surface.text('reserved', width - 70, y < AXIS + LABEL_HEIGHT ? y + 10 : y - 8, colours.faint);
    }
    for (const size of sizeTicks(most, height / 80)) {
      const y = yOf(size);
      // The names of the steps stand there.
      if (y < AXIS + 2 * LABEL_HEIGHT) {
        continue;
      }
      surface.line(
        [
          [0, y],
          [width, y],
        ],
        colours.faint,
        1,
      );
      this.paintLabel(surface, amountOf(size, 'bytes'), 3, y - 7);
    }
    this.paintAxis(surface, width, height, xOf);
  }

  /** A text of an axis, with the ground below it: areas have any colour. */
  private paintLabel(surface: Surface, text: string, x: number, y: number): void {
    const [left, right, top, bottom] = [x - 2, x + text.length * LETTER_WIDTH + 2, y - 7, y + 6];
    const corners: [number, number][] = [
      [left, top],
      [right, top],
      [right, bottom],
      [left, bottom],
    ];
    surface.area(corners, this.colours.ground, 0.75, text);
    surface.text(text, x, y, this.colours.focus);
  }

  /** Times, and the steps with their names. */
  private paintAxis(surface: Surface, width: number, height: number, xOf: (time: number) => number): void {
    const { view, colours } = this;
    const { data } = this.layout;
    const steps = data.steps.filter(([, at]) => at >= view.from && at < view.to);
    let free = 0;
    for (const [name, at] of steps) {
      const x = xOf(at);
      surface.line(
        [
          [x, AXIS],
          [x, height],
        ],
        colours.faint,
        4,
      );
      if (x >= free && x + name.length * LETTER_WIDTH < width) {
        this.paintLabel(surface, name, x + 3, AXIS + 8);
        free = x + (name.length + 2) * LETTER_WIDTH;
      }
    }
    for (const time of ticks(view, width / 120)) {
      const x = xOf(time);
      surface.line(
        [
          [x, 0],
          [x, AXIS],
        ],
        colours.faint,
      );
      surface.text(this.timeOf(time), x + 3, AXIS / 2, colours.faint);
    }
  }

  private svg(): string {
    const { colours } = this;
    const [width, height] = [1200, HEIGHT];
    const shapes: string[] = [];
    const path = (points: [number, number][]) => points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L');
    const surface: Surface = {
      area: (points, fill, opacity, title) =>
        shapes.push(
          `<path d="M${path(points)}Z" fill="${fill}" fill-opacity="${opacity}" stroke="${colours.border}">` +
            `<title>${escape(title)}</title></path>`,
        ),
      text: (text, x, y, fill) =>
        shapes.push(`<text x="${x.toFixed(1)}" y="${(y + 4).toFixed(1)}" fill="${fill}">${escape(text)}</text>`),
      line: (points, stroke, dash) =>
        shapes.push(
          `<path d="M${path(points)}" fill="none" stroke="${stroke}"${dash === undefined ? '' : ` stroke-dasharray="${dash}"`}/>`,
        ),
    };
    this.paint(surface, width, height);
    surface.text(this.layout.data.title, 3, height + 12, colours.faint);
    return svgPage(width, height + 24, colours.ground, shapes);
  }
}

/** Whether it is known what is reserved. */
function hasReserved({ reserved }: MemoryData): boolean {
  return reserved.some((it) => it > 0);
}
