/** The flame graph on a page: canvas, choices, search, keys, and the same as a table. */

import { type FlameData, type Frame, framesOf, KINDS } from './data';
import { type BothRuns, changeOf, colourOf, LEGEND, type Level, levelOf, signOf } from './difference';
import { button, element, fillTable, heading, labelled, type PictureHost, placeTooltip } from './elements';
import { boxesOf, framesBelow, layOut, type Layout, nodeAt, type Span, spanOf, sumOf } from './layout';
import { percent, text } from './numbers';
import { PictureView } from './pictureView';
import { SearchBox } from './search';
import { type DrawnNode, fitting, ROW_HEIGHT, svgOf } from './svg';
import { at, bottomUp, callersOf, ofUserCode, type Tree } from './tree';

/** Rows of the table. */
const MAX_ROWS = 25;
const ZOOM_MS = 150;
/** The opacity of what a search does not find: labels on it stay legible in every theme. */
const DIMMED = 0.72;
const PADDING = 3;
/** Which tree is shown: with callers above, with callees above, or the callers of one frame. */
type Direction = 'down' | 'up' | { frame: number };

export class FlameView extends PictureView {
  private readonly frames: Frame[];
  private readonly openButton = button('Open line', () => this.openSelected());
  private readonly callersButton = button('All callers', () => this.showCallers());
  private readonly metric = element('select', {});
  private readonly direction = element('select', {});
  /** Of two runs: whose values frames are as wide as, and what colours say. */
  private readonly sized = element('select', {});
  private readonly coloured = element('select', {});
  private readonly legend = element('div', { className: 'flame-legend' });
  private readonly libraries = element('input', { type: 'checkbox' });
  private readonly search = new SearchBox(
    () => this.updateSearch(),
    () => this.canvas.focus(),
  );
  private readonly table = element('table', {});

  private shown: Direction = 'down';
  private layout: Layout;
  /** The node that is as wide as the picture. */
  private zoomed = 0;
  private view: Span = { from: 0, to: 1 };
  private selected: number | undefined;
  private matches: Uint8Array | undefined;
  private letter = 7;
  private animation = 0;

  constructor(
    root: HTMLElement,
    private readonly data: FlameData,
    private readonly host: PictureHost,
  ) {
    super(root);
    this.frames = framesOf(data);
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
    this.sized.append(
      element('option', { value: 'now', textContent: 'New run' }),
      element('option', { value: 'base', textContent: 'Base' }),
    );
    this.coloured.append(
      element('option', { value: 'difference', textContent: 'Difference' }),
      element('option', { value: 'kind', textContent: 'Kind of frame' }),
    );
    this.legend.append(
      ...LEGEND.map(([colour, textContent]) => {
        const chip = element('span', { className: 'flame-chip', textContent });
        chip.style.background = `var(--flame-${colour})`;
        return chip;
      }),
    );
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-roledescription', 'flame graph');
    const tools = element('div', { className: 'flame-tools' });
    tools.append(
      labelled('Metric', this.metric),
      labelled('Order', this.direction),
      ...(this.data.base === undefined ? [] : [labelled('Sized by', this.sized), labelled('Colours', this.coloured)]),
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
    this.root.replaceChildren(tools, this.legend, this.scroller, status, this.tooltip, this.note, this.details);
  }

  /** What the amounts are, and what is not drawn. */
  private noteText(): string {
    const { leftOut, minShare, part, base } = this.data;
    const least = Number((100 * minShare).toPrecision(3));
    const smaller = `${leftOut} frames with less than ${least} % of each metric are drawn together as “[smaller]”.`;
    const whole = 'Amounts are sums over the recording and all ranks.';
    const sums = part === null ? whole : `Amounts are sums over a part of the recording, ${part}.`;
    const metric = this.data.metrics[Number(this.metric.value)];
    const compared = metric?.base;
    if (base === undefined || compared === undefined) {
      const peak = 'These are bytes that were in use when each memory was fullest, on the stacks that allocated them.';
      return [sums, ...(metric?.id === 'peak' ? [peak] : []), ...(leftOut > 0 ? [smaller] : [])].join(' ');
    }
    const [before, now] = base.steps;
    const divided = (steps: number) => (steps === 0 ? 'the whole recording' : `${steps} steps`);
    const share = compared.leastShare === 0 ? '' : ` and ${percent(compared.leastShare)} of the larger of both`;
    const large = `at least ${this.amount(compared.least)}${share}`;
    const noise = base.isTested
      ? `lines on it or below it that differ by more than the noise make ${large}`
      : `it differs by ${large}: there are too few steps to say what is noise`;
    return (
      `Compared with ${base.title}: sums over each recording and all ranks, divided by its steps ` +
      `(${divided(before)} in the base, ${divided(now)} now). A frame has a colour where ${noise}. ` +
      (leftOut > 0 ? smaller : '')
    );
  }

  private listen(): void {
    this.sized.addEventListener('change', () => this.rebuild());
    this.coloured.addEventListener('change', () => {
      this.legend.hidden = !this.showsDifference();
      this.picture.drawSoon();
    });
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
    this.followPage();
  }

  /** The tree that is shown. */
  private tree(): Tree {
    const { nodes } = this.data;
    const metric = this.data.metrics[Number(this.metric.value)];
    const n = nodes.parent.length;
    const [before, now] = this.data.base?.steps ?? [0, 0];
    const mean = (column: { node: number[]; amount: number[] } | undefined, steps: number) => {
      const amounts = new Float64Array(n);
      column?.node.forEach((node, index) => (amounts[node] = (column.amount[index] ?? 0) / Math.max(1, steps)));
      return amounts;
    };
    const whole: Tree = {
      parent: Int32Array.from(nodes.parent),
      frame: Int32Array.from(nodes.frame),
      self: mean(metric, now),
    };
    if (metric?.base !== undefined) {
      whole.other = mean(metric.base, before);
      const { self, other } = whole;
      const beyond = (whole.beyond = new Float64Array(n));
      metric.base.differs.forEach((node) => (beyond[node] = at(self, node) - at(other, node)));
      if (this.sized.value === 'base') {
        [whole.self, whole.other] = [whole.other, whole.self];
      }
    }
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
    this.note.textContent = this.noteText();
    this.legend.hidden = !this.showsDifference();
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
    const both = this.bothOf(node);
    return [
      frame?.label ?? '',
      KINDS[frame?.kind ?? 'noLine'],
      ...(both === undefined ? [] : this.describeBoth(both)),
      ...(frame?.was === undefined ? [] : [`was ${frame.was} in the base`]),
      ...(both === undefined ? [`${isDown ? 'total ' : ''}${this.amount(amount)} (${percent(amount / whole)})`] : []),
      ...(this.zoomed === 0 || amount > zoomed ? [] : [`${percent(amount / zoomed)} of what is zoomed`]),
      ...(isDown && self !== amount && both === undefined
        ? [`self ${this.amount(self)} (${percent(self / whole)})`]
        : []),
      ...(frame?.evidence === 'inferred' ? ['the line is inferred'] : []),
      ...(frame?.evidence === 'function' ? ['only the function is known, not the line'] : []),
    ];
  }

  /** Whether colours say what differs. */
  private showsDifference(): boolean {
    return this.data.base !== undefined && this.coloured.value === 'difference';
  }

  /** What a node has in both runs; nothing where one is shown. */
  private bothOf(node: number): BothRuns | undefined {
    const { total, other, beyond } = this.layout;
    return other === undefined || beyond === undefined
      ? undefined
      : this.inOrder(at(total, node), at(other, node), at(beyond, node));
  }

  /** Amounts of the run by which frames are sized, and of the other one. */
  private inOrder(sized: number, other: number, beyond: number): BothRuns {
    const [now, base] = this.sized.value === 'base' ? [other, sized] : [sized, other];
    return { now, base, beyond };
  }

  private levelOf(both: BothRuns): Level {
    const compared = this.data.metrics[Number(this.metric.value)]?.base;
    return compared === undefined ? 0 : levelOf(both, compared);
  }

  private describeBoth(both: BothRuns): string[] {
    const whole = this.bothOf(0);
    const each = this.data.base?.steps.includes(0) === true ? '' : ' per step';
    const of = (amount: number, whole = 0) =>
      `${this.amount(amount)}${amount === 0 ? '' : `${each} (${percent(amount / Math.max(1, whole))})`}`;
    const change = changeOf(both);
    const { now, base, beyond } = both;
    // All of it, but for what computers add.
    const isAll = Math.abs(beyond - (now - base)) < 0.5;
    const noise =
      this.levelOf(both) === 0
        ? 'within the noise'
        : `beyond the noise ${this.signed(beyond)}${base === 0 || now === 0 ? '' : ` (${changeOf(both, beyond)})`}`;
    return [
      `new ${of(both.now, whole?.now)}`,
      `base ${of(both.base, whole?.base)}`,
      `change ${this.signed(now - base)}${change === '' ? '' : ` (${change})`}`,
      ...(now === base || (isAll && this.levelOf(both) !== 0) ? [] : [noise]),
    ];
  }

  /** What the new run has more, with its sign. */
  private signed(more: number): string {
    return `${more < 0 ? '−' : more > 0 ? '+' : ''}${this.amount(Math.abs(more))}`;
  }

  /** How a node is drawn; nothing where it has no frame. */
  private drawnOf(node: number): DrawnNode | undefined {
    const { colours, matches } = this;
    const row = at(this.layout.tree.frame, node);
    const frame = this.frames[row];
    if (frame === undefined) {
      return undefined;
    }
    const both = this.showsDifference() ? this.bothOf(node) : undefined;
    const level = both === undefined ? 0 : this.levelOf(both);
    const isMatch = matches !== undefined && at(matches, row) === 1;
    return {
      fill: isMatch ? colours.match : both === undefined ? colours[frame.kind] : colours[colourOf(level)],
      label: both === undefined ? frame.label : `${signOf(level, both)}${frame.label}`,
    };
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
      const isMatching = (frame: number) => at(matches, frame) === 1;
      const sum = sumOf(this.layout, isMatching);
      const whole = Math.max(1, at(this.layout.total, 0));
      const { other } = this.layout;
      if (other === undefined) {
        this.search.report(`${this.amount(sum)} (${percent(sum / whole)})`);
      } else {
        const both = this.inOrder(sum, sumOf({ ...this.layout, total: other }, isMatching), 0);
        this.search.report(
          `new ${this.amount(both.now)} · base ${this.amount(both.base)} · ${this.signed(both.now - both.base)}`,
        );
      }
    }
    this.picture.drawSoon();
  }

  private fillTable(): void {
    if (!this.details.open) {
      return;
    }
    const whole = Math.max(1, at(this.layout.total, 0));
    const sums = framesBelow(this.layout, this.zoomed, MAX_ROWS);
    const where =
      this.zoomed === 0 ? 'everything' : (this.frames[at(this.layout.tree.frame, this.zoomed)]?.label ?? '');
    if (this.data.base !== undefined) {
      const rows = sums.map(({ frame, total, other, beyond }) => {
        const both = this.inOrder(total, other, beyond);
        const { now, base } = both;
        const label = heading('row', this.frames[frame]?.label ?? '');
        const notable = this.levelOf(both) === 0 ? '' : this.signed(beyond);
        return [label, this.amount(now), this.amount(base), this.signed(now - base), changeOf(both), notable];
      });
      const titles = ['Frame', 'New', 'Base', 'Change', 'Of base', 'Beyond the noise'];
      fillTable(this.table, `What differs most in total, of ${where}`, titles, rows);
      return;
    }
    const rows = sums.map(({ frame, total, self }) => [
      heading('row', this.frames[frame]?.label ?? ''),
      this.amount(total),
      percent(total / whole),
      this.amount(self),
    ]);
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
    const both = this.bothOf(this.zoomed);
    const sum =
      both === undefined
        ? this.amount(at(this.layout.total, this.zoomed))
        : `${this.amount(both.now)}, in ${this.data.base?.title ?? ''} ${this.amount(both.base)}`;
    const title = `${this.data.title} · ${label} ${sum}`;
    return svgOf(this.layout, this.view, (node) => this.drawnOf(node), this.colours, { title, width: 1200 });
  }

  protected override resize(): void {
    const levels = this.layout.rows.length;
    this.picture.resize(levels * ROW_HEIGHT);
  }

  protected override draw(context: CanvasRenderingContext2D): void {
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
    const drawn = this.drawnOf(node);
    if (drawn === undefined) {
      return;
    }
    const isFound = matches === undefined || at(matches, at(this.layout.tree.frame, node)) === 1;
    context.fillStyle = drawn.fill;
    context.globalAlpha = isFound ? 1 : DIMMED;
    context.fillRect(x, y, inner, ROW_HEIGHT - 1);
    if (colours.border !== 'transparent') {
      context.strokeStyle = colours.border;
      context.strokeRect(x + 0.5, y + 0.5, Math.max(0, inner - 1), ROW_HEIGHT - 2);
    }
    const label = fitting(drawn.label, width, this.letter);
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
