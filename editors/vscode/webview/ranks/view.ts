/** The map of ranks and steps on a page: canvas, the choice of the amount, keys, and the same as a table. */

import { button, element, fillTable, heading, labelled, type PictureHost, placeTooltip } from '../flame/elements';
import { text } from '../flame/numbers';
import { PictureView } from '../flame/pictureView';
import { escape, fitting, LETTER_WIDTH, svgPage } from '../flame/svg';
import type { RankMetric, RankStepsData } from './data';
import { amountAt, type Cell, columnsOf, largest, neighbour, shades } from './layout';

/** What the page cannot do by itself. */
export interface RanksHost extends PictureHost {
  /** Shows the timeline of a rank, at a step where one is named; without it, there are no other timelines. */
  timeline?: (wanted: { rank: number; step?: number }) => void;
}

const ROW_HEIGHT = 20;
/** Of the numbers of steps, at the top. */
const HEAD = 20;
/** Of the names of ranks, at the left. */
const NAMES_WIDTH = 72;
/** The opacity of the colour of the largest amount: the number on it stays legible in every theme. */
const MAX_OPACITY = 0.5;
const PADDING = 4;
/** Cells that are narrower, in pixels, have no number. */
const MIN_LABELLED = 20;

/** What is drawn on: a canvas, or the text of a picture. */
interface Surface {
  cell(x: number, y: number, width: number, height: number, opacity: number, title: () => string): void;
  text(text: string, x: number, y: number, fill: string): void;
}

export class RanksView extends PictureView {
  private selected: Cell | undefined;

  private readonly openButton = button('Open timeline', () => this.openSelected());
  private readonly metric = element('select', {});
  private readonly table = element('table', {});

  constructor(
    root: HTMLElement,
    private readonly data: RankStepsData,
    private readonly host: RanksHost,
  ) {
    super(root);
    this.build();
    this.listen();
    this.choose();
  }

  private build(): void {
    const options = this.data.metrics.map(({ label }, index) =>
      element('option', { value: String(index), textContent: label }),
    );
    this.metric.append(...options);
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-roledescription', 'map of ranks and steps');
    const tools = element('div', { className: 'flame-tools' });
    tools.append(
      labelled('Amount', this.metric),
      button('Largest', () => this.select(largest(this.data, this.chosen()))),
      button('Save as SVG', () => this.host.save(this.svg())),
    );
    const status = element('div', { className: 'flame-status' });
    this.openButton.hidden = true;
    status.append(this.selection, this.openButton);
    this.details.append(element('summary', { textContent: 'As a table' }), this.table);
    this.root.replaceChildren(tools, this.scroller, status, this.tooltip, this.note, this.details);
  }

  private listen(): void {
    this.metric.addEventListener('change', () => this.choose());
    this.details.addEventListener('toggle', () => this.fillTable());
    this.scroller.addEventListener('scroll', () => this.picture.drawSoon());
    this.listenToCanvas({
      point: (event) => this.point(event),
      click: (event) => this.select(this.under(event)),
      open: () => this.openSelected(),
      key: (event) => this.key(event),
    });
    this.followPage();
  }

  private chosen(): RankMetric {
    const { metrics } = this.data;
    return (
      metrics[Number(this.metric.value)] ?? { id: '', label: '', about: '', unit: 'ns', isByStep: true, amount: [] }
    );
  }

  /** Shows the amount that is chosen. */
  private choose(): void {
    const { ranks, steps, leftOut } = this.data;
    const { label, about } = this.chosen();
    const left = [
      ...(leftOut.ranks === 0 ? [] : [`${leftOut.ranks} ranks that others waited less for`]),
      ...(leftOut.steps === 0 ? [] : [`${leftOut.steps} earlier steps`]),
    ].join(' and ');
    this.note.textContent = `${about}${left === '' ? '' : ` Left out: ${left}.`}`;
    const opens = this.host.timeline === undefined ? '' : ' Enter opens the timeline of the rank at the step.';
    this.canvas.setAttribute(
      'aria-label',
      `Map of ${label}: ${ranks.length} ranks, ${steps.length} steps. Arrow keys move between cells, Home and End go to the ` +
        `first and the last step, M to the largest amount.${opens}`,
    );
    this.select(this.selected);
    this.resize();
    this.fillTable();
  }

  private select(cell: Cell | undefined): void {
    this.selected = cell;
    this.selection.textContent = cell === undefined ? '' : this.describe(cell).join(' · ');
    this.openButton.hidden = cell === undefined || this.host.timeline === undefined;
    if (cell !== undefined) {
      const top = HEAD + cell.rank * ROW_HEIGHT;
      const { scrollTop, clientHeight } = this.scroller;
      if (top < scrollTop + HEAD || top + ROW_HEIGHT > scrollTop + clientHeight) {
        this.scroller.scrollTop = top - clientHeight / 2;
      }
    }
    this.picture.drawSoon();
  }

  /** All that is known of a cell, what is chosen first. */
  private describe(cell: Cell): string[] {
    const { ranks, steps, metrics } = this.data;
    const chosen = this.chosen();
    const others = metrics.filter((it) => it !== chosen);
    const where = `rank ${ranks[cell.rank] ?? 0}${chosen.isByStep ? `, step ${steps[cell.step] ?? 0}` : ''}`;
    const amounts = [chosen, ...others].flatMap((metric) => {
      const amount = amountAt(this.data, metric, cell);
      const isOfStep = chosen.isByStep || !metric.isByStep;
      return amount === undefined || !isOfStep ? [] : [`${metric.label} ${text(amount, metric.unit)}`];
    });
    return [where, ...amounts];
  }

  private openSelected(): void {
    const { selected, data } = this;
    const rank = data.ranks[selected?.rank ?? -1];
    const step = data.steps[selected?.step ?? -1];
    if (rank !== undefined) {
      this.host.timeline?.(step === undefined || !this.chosen().isByStep ? { rank } : { rank, step });
    }
  }

  private key(event: KeyboardEvent): void {
    const { key } = event;
    const isCommand = event.ctrlKey || event.metaKey;
    const first = { rank: 0, step: 0 };
    const next = this.selected === undefined ? first : neighbour(this.data, this.selected, key);
    if (key === 'Enter' || key === 'o') {
      this.openSelected();
    } else if (isCommand || event.altKey) {
      return;
    } else if (key === 'Escape') {
      this.select(undefined);
    } else if (key === 'm') {
      this.select(largest(this.data, this.chosen()));
    } else if (neighbour(this.data, first, key) !== undefined) {
      this.select(next);
    } else {
      return;
    }
    event.preventDefault();
  }

  private under(event: MouseEvent): Cell | undefined {
    const box = this.canvas.getBoundingClientRect();
    const y = event.clientY - box.top;
    const rank = Math.floor((y + this.scroller.scrollTop - HEAD) / ROW_HEIGHT);
    const columns = columnsOf(this.data, this.chosen());
    const width = (this.picture.width - NAMES_WIDTH) / columns;
    const step = Math.floor((event.clientX - box.left - NAMES_WIDTH) / width);
    const isInside = y >= HEAD && rank < this.data.ranks.length && step >= 0 && step < columns;
    return isInside ? { rank, step } : undefined;
  }

  private point(event: MouseEvent): void {
    const cell = this.under(event);
    this.tooltip.hidden = cell === undefined;
    this.canvas.classList.toggle('flame-over', cell !== undefined && this.host.timeline !== undefined);
    if (cell !== undefined) {
      const opens = this.host.timeline === undefined ? [] : ['Ctrl-click or double-click opens the timeline'];
      placeTooltip(this.tooltip, [...this.describe(cell), ...opens], event);
    }
  }

  protected override resize(): void {
    this.picture.resize(HEAD + this.data.ranks.length * ROW_HEIGHT);
  }

  private fillTable(): void {
    if (!this.details.open) {
      return;
    }
    const { ranks, steps } = this.data;
    const metric = this.chosen();
    const cells = Array.from({ length: columnsOf(this.data, metric) }, (_, step) => step);
    const rows = ranks.map((rank, row) => [
      heading('row', `rank ${rank}`),
      ...cells.map((step) => this.shown(metric, { rank: row, step })),
    ]);
    const titles = metric.isByStep ? steps.map((it) => `step ${it}`) : [metric.label];
    fillTable(this.table, metric.label, ['', ...titles], rows);
  }

  /** The number of a cell. */
  private shown(metric: RankMetric, cell: Cell): string {
    const amount = amountAt(this.data, metric, cell);
    return amount === undefined ? '' : text(amount, metric.unit);
  }

  /** Draws the ranks of some rows, the first of them at `top`. */
  private paint(surface: Surface, width: number, rows: { from: number; to: number }, top: number): void {
    const { data, colours } = this;
    const metric = this.chosen();
    const columns = columnsOf(data, metric);
    const size = (width - NAMES_WIDTH) / columns;
    const shade = shades(metric);
    const letter = LETTER_WIDTH;
    for (let rank = rows.from; rank < rows.to; rank++) {
      const y = top + (rank - rows.from) * ROW_HEIGHT;
      surface.text(`rank ${data.ranks[rank] ?? 0}`, PADDING, y + ROW_HEIGHT / 2, colours.label);
      for (let step = 0; step < columns; step++) {
        const x = NAMES_WIDTH + step * size;
        const amount = amountAt(data, metric, { rank, step });
        if (amount !== undefined) {
          const title = () => this.describe({ rank, step }).join(' · ');
          surface.cell(x, y, Math.max(0.5, size - 1), ROW_HEIGHT - 1, MAX_OPACITY * shade(amount), title);
          // Of narrow cells there are thousands.
          const label = size < MIN_LABELLED ? '' : text(amount, metric.unit);
          if (fitting(label, size, letter) === label) {
            surface.text(label, x + PADDING, y + ROW_HEIGHT / 2, colours.label);
          }
        }
      }
    }
  }

  /** Draws the numbers of steps, as many as fit. */
  private paintHead(surface: Surface, width: number): void {
    const { steps } = this.data;
    const metric = this.chosen();
    if (!metric.isByStep) {
      surface.text(metric.label, NAMES_WIDTH + PADDING, HEAD / 2, this.colours.faint);
      return;
    }
    const size = (width - NAMES_WIDTH) / steps.length;
    const longest = `step ${steps.at(-1) ?? 0}`.length * LETTER_WIDTH + 3 * PADDING;
    const each = Math.max(1, Math.ceil(longest / size));
    steps.forEach((step, index) => {
      if (index % each === 0) {
        surface.text(`step ${step}`, NAMES_WIDTH + index * size + PADDING, HEAD / 2, this.colours.faint);
      }
    });
  }

  protected override draw(context: CanvasRenderingContext2D): void {
    const { colours, selected, data } = this;
    const { width, height } = this.picture;
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    const surface: Surface = {
      cell: (x, y, size, tall, opacity) => {
        if (opacity > 0) {
          context.globalAlpha = opacity;
          context.fillStyle = colours.heat;
          context.fillRect(x, y, size, tall);
          context.globalAlpha = 1;
        }
        if (colours.border !== 'transparent') {
          context.strokeStyle = colours.border;
          context.strokeRect(x + 0.5, y + 0.5, Math.max(0, size - 1), tall - 1);
        }
      },
      text: (label, x, y, fill) => {
        context.fillStyle = fill;
        context.fillText(label, x, y);
      },
    };
    const { scrollTop } = this.scroller;
    const from = Math.floor(scrollTop / ROW_HEIGHT);
    const to = Math.min(data.ranks.length, Math.ceil((scrollTop + height) / ROW_HEIGHT));
    this.paint(surface, width, { from, to }, HEAD + from * ROW_HEIGHT - scrollTop);
    if (selected !== undefined) {
      const size = (width - NAMES_WIDTH) / columnsOf(data, this.chosen());
      const step = this.chosen().isByStep ? selected.step : 0;
      const y = HEAD + selected.rank * ROW_HEIGHT - scrollTop;
      context.strokeStyle = colours.focus;
      context.lineWidth = 2;
      context.strokeRect(NAMES_WIDTH + step * size, y, Math.max(2, size - 1), ROW_HEIGHT - 1);
      context.lineWidth = 1;
    }
    // The numbers of steps stay where they are while ranks scroll below them.
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, HEAD);
    this.paintHead(surface, width);
  }

  private svg(): string {
    const { colours, data } = this;
    const [width, shapes] = [1200, [] as string[]];
    const surface: Surface = {
      cell: (x, y, size, tall, opacity, title) =>
        shapes.push(
          `<rect x="${x.toFixed(1)}" y="${y}" width="${size.toFixed(1)}" height="${tall}" fill="${colours.heat}" ` +
            `fill-opacity="${opacity.toFixed(3)}"><title>${escape(title())}</title></rect>`,
        ),
      text: (label, x, y, fill) =>
        shapes.push(`<text x="${x.toFixed(1)}" y="${y + 4}" fill="${fill}">${escape(label)}</text>`),
    };
    const { label } = this.chosen();
    surface.text(`${data.title} · ${label}`, PADDING, HEAD / 2, colours.faint);
    const head: Surface = { ...surface, text: (it, x, y, fill) => surface.text(it, x, y + HEAD, fill) };
    this.paintHead(head, width);
    this.paint(surface, width, { from: 0, to: data.ranks.length }, 2 * HEAD);
    return svgPage(width, 2 * HEAD + data.ranks.length * ROW_HEIGHT + 4, colours.ground, shapes);
  }
}
