/** The flame graph on a page: canvas, choices, search, keys, and the same as a table. */

import { PictureCanvas } from './canvas';
import { type FlameData, type Frame, framesOf, KINDS } from './data';
import { button, element, fillTable, heading, labelled, type PictureHost, placeTooltip } from './elements';
import { boxesOf, framesBelow, layOut, type Layout, nodeAt, type Span, spanOf, sumOf } from './layout';
import { percent, text } from './numbers';
import { SearchBox } from './search';
import { type Colours, fitting, ROW_HEIGHT, svgOf } from './svg';
import { coloursOf, onTheme } from './theme';
import { at, bottomUp, callersOf, ofUserCode, type Tree } from './tree';

/** Rows of the table. */
const MAX_ROWS = 25;
const ZOOM_MS = 150;
/** The opacity of what a search does not find: labels on it stay legible in every theme. */
const DIMMED = 0.72;
const PADDING = 3;
/** Which tree is shown: with callers above, with callees above, or the callers of one frame. */
type Direction = 'down' | 'up' | { frame: number };

export class FlameView {
  private readonly frames: Frame[];
  private readonly picture = new PictureCanvas((context) => {
    this.draw(context);
  });
  private readonly canvas = this.picture.canvas;
  private readonly scroller = this.picture.scroller;
  private readonly tooltip = element('div', { className: 'flame-tooltip', hidden: true });
  private readonly selection = element('span', { className: 'flame-selection' });
  private readonly openButton = button('Open line', () => this.openSelected());
  private readonly callersButton = button('All callers', () => this.showCallers());
  private readonly metric = element('select', {});
  private readonly direction = element('select', {});
  private readonly libraries = element('input', { type: 'checkbox' });
  private readonly search = new SearchBox(
    () => this.updateSearch(),
    () => this.canvas.focus(),
  );
  private readonly table = element('table', {});
  private readonly details = element('details', { className: 'flame-table' });

  private shown: Direction = 'down';
  private layout: Layout;
  /** The node that is as wide as the picture. */
  private zoomed = 0;
  private view: Span = { from: 0, to: 1 };
  private selected: number | undefined;
  private matches: Uint8Array | undefined;
  private colours: Colours;
  private letter = 7;
  private animation = 0;

  constructor(
    private readonly root: HTMLElement,
    private readonly data: FlameData,
    private readonly host: PictureHost,
  ) {
    this.frames = framesOf(data);
    this.colours = coloursOf(this.root);
    this.build();
    this.layout = layOut(this.tree());
    this.listen();
    this.rebuild();
  }

  /** Shows where a line is: its frames are found, and the widest is selected. */
  focusLine(file: string, line: number): boolean {
    this.setDirection('down');
    const isThere = (frame: number) => {
      const place = this.frames[frame]?.place;
      return place?.file === file && place.line === line;
    };
    let node = this.widest(isThere);
    if (node === undefined && !this.libraries.checked) {
      this.libraries.checked = true;
      this.rebuild();
      node = this.widest(isThere);
    }
    this.search.set(`(${file}:${line})`);
    this.updateSearch();
    this.select(node, true);
    return node !== undefined;
  }

  private widest(isWanted: (frame: number) => boolean): number | undefined {
    const { tree, total } = this.layout;
    let widest: number | undefined;
    for (let node = 1; node < tree.parent.length; node++) {
      if (isWanted(at(tree.frame, node)) && at(total, node) > (widest === undefined ? 0 : at(total, widest))) {
        widest = node;
      }
    }
    return widest;
  }

  private build(): void {
    this.data.metrics.forEach(({ label }, index) =>
      this.metric.append(element('option', { value: String(index), textContent: label })),
    );
    this.direction.append(
      element('option', { value: 'down', textContent: 'Top down' }),
      element('option', { value: 'up', textContent: 'Bottom up' }),
    );
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-roledescription', 'flame graph');
    this.selection.setAttribute('aria-live', 'polite');
    const tools = element('div', { className: 'flame-tools' });
    tools.append(
      labelled('Metric', this.metric),
      labelled('Order', this.direction),
      labelled('Library lines', this.libraries),
      ...this.search.controls,
      button('Reset zoom', () => this.zoomTo(0)),
      button('Save as SVG', () => this.host.save(this.svg())),
    );
    const status = element('div', { className: 'flame-status' });
    this.openButton.hidden = true;
    this.callersButton.hidden = true;
    status.append(this.selection, this.openButton, this.callersButton);
    this.details.append(element('summary', { textContent: 'As a table' }), this.table);
    const { leftOut, minShare, part } = this.data;
    const least = Number((100 * minShare).toPrecision(3));
    const smaller = `${leftOut} frames with less than ${least} % of each metric are drawn together as “[smaller]”.`;
    const whole = 'Amounts are sums over the recording and all ranks.';
    const sums = part === null ? whole : `Amounts are sums over a part of the recording, ${part}.`;
    const note = `${sums} ${leftOut > 0 ? smaller : ''}`;
    this.root.replaceChildren(
      tools,
      this.scroller,
      status,
      this.tooltip,
      element('p', { className: 'flame-note', textContent: note }),
      this.details,
    );
  }

  private listen(): void {
    this.metric.addEventListener('change', () => this.rebuild());
    this.direction.addEventListener('change', () => this.setDirection(this.direction.value === 'up' ? 'up' : 'down'));
    this.libraries.addEventListener('change', () => this.rebuild());
    this.details.addEventListener('toggle', () => this.fillTable());
    this.scroller.addEventListener('scroll', () => this.picture.drawSoon());
    this.canvas.addEventListener('mousemove', (event) => this.point(event));
    this.canvas.addEventListener('mouseleave', () => (this.tooltip.hidden = true));
    this.canvas.addEventListener('click', (event) => this.click(event));
    this.canvas.addEventListener('dblclick', () => this.openSelected());
    this.canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    onTheme(() => this.recolour());
  }

  /** The tree that is shown. */
  private tree(): Tree {
    const { nodes } = this.data;
    const metric = this.data.metrics[Number(this.metric.value)];
    const whole: Tree = {
      parent: Int32Array.from(nodes.parent),
      frame: Int32Array.from(nodes.frame),
      self: new Float64Array(nodes.parent.length),
    };
    metric?.node.forEach((node, index) => (whole.self[node] = metric.amount[index] ?? 0));
    const tree = this.libraries.checked ? whole : ofUserCode(whole, this.frames);
    if (this.shown === 'down') {
      return tree;
    }
    const nFrames = this.frames.length;
    return this.shown === 'up' ? bottomUp(tree, nFrames) : callersOf(tree, this.shown.frame, nFrames);
  }

  private rebuild(): void {
    this.layout = layOut(this.tree());
    this.zoomed = 0;
    this.view = this.whole();
    this.select(undefined, false);
    this.updateSearch();
    this.resize();
    this.fillTable();
    const { label = '' } = this.data.metrics[Number(this.metric.value)] ?? {};
    const sum = this.amount(at(this.layout.total, 0));
    this.canvas.setAttribute(
      'aria-label',
      `Flame graph of ${label}: ${sum}. Arrow keys move between frames, Enter zooms, Escape shows everything, slash searches.`,
    );
  }

  private setDirection(direction: Direction): void {
    this.shown = direction;
    // The callers of one frame are a choice of their own for as long as they are shown.
    this.direction.querySelector('[value=callers]')?.remove();
    if (typeof direction === 'object') {
      const label = `Callers of ${this.frames[direction.frame]?.label ?? ''}`;
      this.direction.append(element('option', { value: 'callers', textContent: label }));
    }
    this.direction.value = typeof direction === 'object' ? 'callers' : direction;
    this.rebuild();
  }

  private showCallers(): void {
    if (this.selected !== undefined) {
      this.setDirection({ frame: at(this.layout.tree.frame, this.selected) });
      this.canvas.focus();
    }
  }

  private whole(): Span {
    return { from: 0, to: Math.max(1, at(this.layout.total, 0)) };
  }

  private zoomTo(node: number): void {
    this.zoomed = node;
    const target = node === 0 ? this.whole() : spanOf(this.layout, node);
    const { from, to } = this.view;
    const began = performance.now();
    cancelAnimationFrame(this.animation);
    const duration = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : ZOOM_MS;
    const frame = (now: number) => {
      const part = duration === 0 ? 1 : Math.min(1, Math.max(0, now - began) / duration);
      this.view = { from: from + (target.from - from) * part, to: to + (target.to - to) * part };
      this.picture.draw();
      if (part < 1) {
        this.animation = requestAnimationFrame(frame);
      }
    };
    this.animation = requestAnimationFrame(frame);
    this.fillTable();
  }

  private select(node: number | undefined, isScrolled: boolean): void {
    this.selected = node;
    const frame = node === undefined ? undefined : this.frames[at(this.layout.tree.frame, node)];
    this.selection.textContent = node === undefined ? '' : this.describe(node).join(' · ');
    this.openButton.hidden = this.host.open === undefined || frame?.place === undefined;
    this.callersButton.hidden = node === undefined;
    if (node !== undefined && isScrolled) {
      const top = (at(this.layout.depth, node) - 1) * ROW_HEIGHT;
      const { scrollTop, clientHeight } = this.scroller;
      if (top < scrollTop || top + 2 * ROW_HEIGHT > scrollTop + clientHeight) {
        this.scroller.scrollTop = top - clientHeight / 3;
      }
      const span = spanOf(this.layout, node);
      if (span.to <= this.view.from || span.from >= this.view.to) {
        this.zoomTo(0);
      }
    }
    this.picture.drawSoon();
  }

  /** What is said of a node. */
  private describe(node: number): string[] {
    const { tree, total } = this.layout;
    const frame = this.frames[at(tree.frame, node)];
    const [whole, zoomed] = [at(total, 0), at(total, this.zoomed)];
    const [amount, self] = [at(total, node), at(tree.self, node)];
    const isDown = this.shown === 'down';
    return [
      frame?.label ?? '',
      KINDS[frame?.kind ?? 'noLine'],
      `${isDown ? 'total ' : ''}${this.amount(amount)} (${percent(amount / whole)})`,
      ...(this.zoomed === 0 || amount > zoomed ? [] : [`${percent(amount / zoomed)} of what is zoomed`]),
      ...(isDown && self !== amount ? [`self ${this.amount(self)} (${percent(self / whole)})`] : []),
      ...(frame?.evidence === 'inferred' ? ['the line is inferred'] : []),
      ...(frame?.evidence === 'function' ? ['only the function is known, not the line'] : []),
    ];
  }

  private amount(value: number): string {
    return text(value, this.data.metrics[Number(this.metric.value)]?.unit ?? 'ns');
  }

  private openSelected(): void {
    const place =
      this.selected === undefined ? undefined : this.frames[at(this.layout.tree.frame, this.selected)]?.place;
    if (place !== undefined) {
      this.host.open?.(place);
    }
  }

  private updateSearch(): void {
    const isMatch = this.search.matcher();
    this.matches = undefined;
    if (isMatch !== undefined) {
      const matches = Uint8Array.from(this.frames, (it) => (isMatch(it.label) ? 1 : 0));
      this.matches = matches;
      const sum = sumOf(this.layout, (frame) => at(matches, frame) === 1);
      const whole = Math.max(1, at(this.layout.total, 0));
      this.search.report(`${this.amount(sum)} (${percent(sum / whole)})`);
    }
    this.picture.drawSoon();
  }

  private fillTable(): void {
    if (!this.details.open) {
      return;
    }
    const whole = Math.max(1, at(this.layout.total, 0));
    const rows = framesBelow(this.layout, this.zoomed, MAX_ROWS).map(({ frame, total, self }) => [
      heading('row', this.frames[frame]?.label ?? ''),
      this.amount(total),
      percent(total / whole),
      this.amount(self),
    ]);
    const where =
      this.zoomed === 0 ? 'everything' : (this.frames[at(this.layout.tree.frame, this.zoomed)]?.label ?? '');
    fillTable(this.table, `What costs most in total, of ${where}`, ['Frame', 'Total', 'Share', 'Self'], rows);
  }

  private nodeUnder(event: MouseEvent): number | undefined {
    const box = this.canvas.getBoundingClientRect();
    const level = Math.floor((event.clientY - box.top + this.scroller.scrollTop) / ROW_HEIGHT) + 1;
    const { from, to } = this.view;
    return nodeAt(this.layout, level, from + ((event.clientX - box.left) / this.picture.width) * (to - from));
  }

  private point(event: MouseEvent): void {
    const node = this.nodeUnder(event);
    this.tooltip.hidden = node === undefined;
    this.canvas.classList.toggle('flame-over', node !== undefined);
    if (node === undefined) {
      return;
    }
    const lines = this.describe(node);
    if (this.host.open !== undefined && this.frames[at(this.layout.tree.frame, node)]?.place !== undefined) {
      lines.push('Ctrl-click or double-click opens the line');
    }
    placeTooltip(this.tooltip, lines, event);
  }

  private click(event: MouseEvent): void {
    const node = this.nodeUnder(event);
    if (node === undefined || event.detail > 1) {
      return;
    }
    this.select(node, false);
    if (event.ctrlKey || event.metaKey) {
      this.openSelected();
    } else {
      this.zoomTo(node);
    }
  }

  /** With Ctrl: zooms at the pointer. Sideways or with Shift: pans. Else the page or the picture scrolls. */
  private wheel(event: WheelEvent): void {
    const { from, to } = this.view;
    const whole = this.whole();
    const size = to - from;
    const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
    if (event.ctrlKey) {
      const factor = Math.exp(event.deltaY / 200);
      const centre = from + ((event.clientX - this.canvas.getBoundingClientRect().left) / this.picture.width) * size;
      const wanted = Math.min(whole.to, Math.max(1, size * factor));
      this.pan(centre - ((centre - from) / size) * wanted, wanted);
    } else if (sideways !== 0 && Math.abs(sideways) >= Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      this.pan(from + (sideways / this.picture.width) * size, size);
    } else {
      return;
    }
    event.preventDefault();
  }

  private pan(from: number, size: number): void {
    cancelAnimationFrame(this.animation);
    const begin = Math.min(Math.max(0, from), this.whole().to - size);
    this.view = { from: begin, to: begin + size };
    this.picture.drawSoon();
  }

  private key(event: KeyboardEvent): void {
    const { key } = event;
    const isCommand = event.ctrlKey || event.metaKey;
    if (key === 'Enter' && isCommand) {
      this.openSelected();
    } else if (isCommand || event.altKey) {
      return;
    } else if (key === 'Escape' || key === 'Backspace' || key === 'Home') {
      this.zoomTo(0);
    } else if (key === 'Enter') {
      this.zoomTo(this.selected ?? 0);
    } else if (key === '/') {
      this.search.focus();
    } else if (key === 'o') {
      this.openSelected();
    } else if (key === 'c') {
      this.showCallers();
    } else if (key.startsWith('Arrow')) {
      this.select(this.neighbour(key), true);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** The frame that an arrow key goes to. */
  private neighbour(key: string): number | undefined {
    const { tree, depth, rows, start } = this.layout;
    const { selected } = this;
    if (selected === undefined) {
      return this.zoomed === 0 ? rows[1]?.[0] : this.zoomed;
    }
    const level = at(depth, selected);
    if (key === 'ArrowUp') {
      const above = at(tree.parent, selected);
      return above === 0 ? selected : above;
    }
    if (key === 'ArrowDown') {
      const first = nodeAt(this.layout, level + 1, at(start, selected));
      return first ?? selected;
    }
    const row = rows[level] ?? new Int32Array();
    const { from, to } = this.view;
    const next = row[row.indexOf(selected) + (key === 'ArrowRight' ? 1 : -1)];
    const isVisible = next !== undefined && spanOf(this.layout, next).to > from && at(start, next) < to;
    return isVisible ? next : selected;
  }

  private svg(): string {
    const { label = '' } = this.data.metrics[Number(this.metric.value)] ?? {};
    const title = `${this.data.title} · ${label} ${this.amount(at(this.layout.total, this.zoomed))}`;
    const isMatch = (frame: number) => this.matches !== undefined && at(this.matches, frame) === 1;
    return svgOf(this.layout, this.view, this.frames, this.colours, { title, width: 1200, isMatch });
  }

  private recolour(): void {
    this.colours = coloursOf(this.root);
    this.picture.drawSoon();
  }

  private resize(): void {
    const levels = this.layout.rows.length;
    this.picture.resize(levels * ROW_HEIGHT);
  }

  private draw(context: CanvasRenderingContext2D): void {
    const { layout, view, colours } = this;
    const { width, height } = this.picture;
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    this.letter = context.measureText('0123456789').width / 10;
    const { scrollTop } = this.scroller;
    const first = Math.floor(scrollTop / ROW_HEIGHT) + 1;
    const last = Math.min(layout.rows.length - 1, Math.ceil((scrollTop + height) / ROW_HEIGHT) + 1);
    for (let level = first; level <= last; level++) {
      const y = (level - 1) * ROW_HEIGHT - scrollTop;
      for (const { node, x, width: size } of boxesOf(layout, level, view, width)) {
        this.drawBox(context, node, x, y, size);
      }
    }
  }

  private drawBox(
    context: CanvasRenderingContext2D,
    node: number | undefined,
    x: number,
    y: number,
    width: number,
  ): void {
    const { colours, matches } = this;
    const inner = Math.max(0.5, width - 0.5);
    if (node === undefined) {
      context.fillStyle = colours.smaller;
      context.fillRect(x, y, inner, ROW_HEIGHT - 1);
      return;
    }
    const row = at(this.layout.tree.frame, node);
    const frame = this.frames[row];
    if (frame === undefined) {
      return;
    }
    const isMatch = matches !== undefined && at(matches, row) === 1;
    context.fillStyle = isMatch ? colours.match : colours[frame.kind];
    context.globalAlpha = matches === undefined || isMatch ? 1 : DIMMED;
    context.fillRect(x, y, inner, ROW_HEIGHT - 1);
    if (colours.border !== 'transparent') {
      context.strokeStyle = colours.border;
      context.strokeRect(x + 0.5, y + 0.5, Math.max(0, inner - 1), ROW_HEIGHT - 2);
    }
    const label = fitting(frame.label, width, this.letter);
    if (label !== '') {
      context.fillStyle = colours.text;
      context.globalAlpha = 1;
      context.fillText(label, x + PADDING, y + ROW_HEIGHT / 2, width - 2 * PADDING);
    }
    context.globalAlpha = 1;
    if (node === this.selected) {
      context.strokeStyle = colours.focus;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(0, inner - 2), ROW_HEIGHT - 3);
      context.lineWidth = 1;
    }
  }
}
