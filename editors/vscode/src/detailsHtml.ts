/** What the Line Details view says, as HTML without script and without style attributes: its policy allows neither. */

import * as vscode from 'vscode';

import type { Details, Kernel, Place } from './api';
import { evidenceMeaning, metricName, stepName } from './wording';

/** Of the bars for the steps, in pixels. */
const SPARK_HEIGHT = 18;

/** Lines of generated code that are shown. */
const MAX_GENERATED = 8;

export function emptyHtml(text: string): string {
  return `<p class="empty">${escape(text)}</p>`;
}

export function detailsHtml(details: Details): string {
  const { callers, findings, generated, replays, waits } = details;
  return [
    header(details),
    ...findings.map(finding),
    '<div class="columns">',
    `<section>${numbers(details)}</section>`,
    '<section class="wide">',
    kernels(details.kernels),
    operators(details),
    places(vscode.l10n.t('Called from'), callers, 0, (it) => it.shareText),
    callees(details),
    places(vscode.l10n.t('Waits for kernels of'), waits, callers.length),
    places(vscode.l10n.t('Replayed from'), replays, callers.length + waits.length, (it) => it.shareText),
    compiled(generated, callers.length + waits.length + replays.length),
    allocations(details),
    '</section>',
    '</div>',
  ].join('\n');
}

function header(details: Details): string {
  const { place, view } = details;
  const badges = [badge(place.evidence, evidenceName(place), evidenceMeaning(place.evidence))];
  if (place.stale) {
    badges.push(
      badge('stale', vscode.l10n.t('≈ changed since'), vscode.l10n.t('The line was changed since the recording.')),
    );
  }
  const code = (place.source ?? '').trim();
  return `<header>
<span class="place">${escape(place.file)}:${place.line ?? place.recordedLine}</span>
<span class="function">${escape(place.function)}</span>
${badges.join('\n')}
<span class="view">${escape(`${metricName(view.effectiveMetric)} · ${stepName(view.step, view.steps)}`)}</span>
${sparkline(details)}
${code === '' ? '' : `<pre>${escape(code)}</pre>`}
</header>`;
}

/** Its message begins with the name of its rule. */
function finding({ severity, message, remedy }: Details['findings'][number]): string {
  return `<div class="finding ${severity}">${escape(message)}<p>${escape(remedy)}</p></div>`;
}

function badge(kind: string, text: string, title: string): string {
  return `<span class="badge ${kind}" title="${escape(title)}">${escape(text)}</span>`;
}

function evidenceName({ evidence }: Place): string {
  switch (evidence) {
    case 'exact':
      return vscode.l10n.t('exact');
    case 'inferred':
      return vscode.l10n.t('~ inferred');
    case 'function':
      return vscode.l10n.t('fn: line not known');
  }
}

function numbers({ numbers }: Details): string {
  const rows = numbers
    .filter((it) => it.value !== 0)
    .map((it) => {
      const share = escape(it.shareText ?? '');
      return `<tr><th scope="row">${escape(it.label)}</th><td>${escape(it.text)}</td><td class="share">${share}</td><td>${shareBar(it.share)}</td></tr>`;
    });
  return rows.length === 0 ? '' : `<table class="numbers"><tbody>${rows.join('')}</tbody></table>`;
}

function shareBar(share: number | null): string {
  if (share === null) {
    return '';
  }
  const width = Math.round(Math.min(1, Math.max(0, share)) * 48);
  return `<svg class="bar" width="48" height="8" aria-hidden="true"><rect class="track" width="48" height="8"/><rect class="value" width="${width}" height="8"/></svg>`;
}

/** The cost by step: one bar for each. */
function sparkline({ steps, view }: Details): string {
  if (steps.length < 2) {
    return '';
  }
  const values = steps.map((it) => it.value);
  const most = Math.max(...values, 1);
  const width = Math.max(1, Math.min(12, Math.floor(160 / steps.length)));
  const gap = width > 3 ? 2 : 0;
  const bars = steps.map((it, index) => {
    const height = Math.max(1, Math.round((it.value / most) * SPARK_HEIGHT));
    const shown = view.step === it.step ? ' shown' : '';
    const title = `<title>${escape(`${vscode.l10n.t('Step {0}', it.step)}: ${it.text}`)}</title>`;
    return `<rect class="value${shown}" x="${index * width}" y="${SPARK_HEIGHT - height}" width="${width - gap}" height="${height}">${title}</rect>`;
  });
  const textOf = (value: number) => steps.find((it) => it.value === value)?.text ?? '';
  const extremes = vscode.l10n.t('{0} to {1}', textOf(Math.min(...values)), textOf(Math.max(...values)));
  const size = `width="${steps.length * width}" height="${SPARK_HEIGHT}"`;
  return `<span class="view">${escape(extremes)}</span>
<svg class="steps" ${size} role="img" aria-label="${escape(`${vscode.l10n.t('By step')}: ${extremes}`)}">${bars.join('')}</svg>`;
}

/** A table for each class. */
function kernels(kernels: Kernel[]): string {
  const classes = [...new Set(kernels.map((it) => it.class))];
  return classes.map((it) => kernelsOf(it, kernels)).join('\n');
}

function kernelsOf(wanted: Kernel['class'], kernels: Kernel[]): string {
  const head = [
    classTitle(wanted),
    vscode.l10n.t('Calls'),
    vscode.l10n.t('Total'),
    vscode.l10n.t('Mean'),
    vscode.l10n.t('Max'),
  ];
  const rows = kernels
    .filter((it) => it.class === wanted)
    .map((it) => [
      `${named(it.shortName, it.name)}<div class="note">${escape(launch(it))}</div>`,
      escape(it.texts.calls),
      escape(it.texts.total),
      escape(it.texts.mean),
      escape(it.texts.max),
    ]);
  return table(head, rows);
}

function classTitle(of: Kernel['class']): string {
  switch (of) {
    case 'compute':
      return vscode.l10n.t('Kernel');
    case 'communication':
      return vscode.l10n.t('Collective');
    case 'memory':
      return vscode.l10n.t('Copy or fill');
  }
}

/** How it was launched. Copies and fills have no grid, but bytes. */
function launch({ grid, block, shapes, streams, texts }: Kernel): string {
  const has = (size: number[] | null | undefined) => size?.some((it) => it > 0) === true;
  const size = (it: number[] | null | undefined) => (it ?? []).join('·');
  return [
    ...(has(grid) && has(block) ? [vscode.l10n.t('grid {0}, block {1}', size(grid), size(block))] : []),
    ...(shapes > 1 ? [vscode.l10n.t('the costliest of {0} shapes', shapes)] : []),
    ...(texts.occupancy === null ? [] : [vscode.l10n.t('occupancy {0}', texts.occupancy)]),
    ...(texts.bytes === null ? [] : [texts.bytes]),
    ...(streams.length > 0 ? [vscode.l10n.t('stream {0}', streams.join(', '))] : []),
  ].join(' · ');
}

function operators({ operators }: Details): string {
  const head = [vscode.l10n.t('Operator'), vscode.l10n.t('Calls'), vscode.l10n.t('CPU'), vscode.l10n.t('GPU')];
  const rows = operators.map((it) => [
    named(it.name),
    escape(it.texts.calls),
    escape(it.texts.cpu),
    escape(it.texts.cuda),
  ]);
  return table(head, rows);
}

function callees({ callees }: Details): string {
  const head = [vscode.l10n.t('Calls'), vscode.l10n.t('Times'), vscode.l10n.t('Total'), vscode.l10n.t('Share')];
  const rows = callees.map((it) => [
    named(it.name),
    escape(it.texts.calls),
    escape(it.texts.total),
    escape(it.texts.share),
  ]);
  return table(head, rows);
}

function allocations({ allocations }: Details): string {
  const head = [
    vscode.l10n.t('Memory'),
    vscode.l10n.t('Allocations'),
    vscode.l10n.t('Allocated'),
    vscode.l10n.t('At the peak'),
    vscode.l10n.t('At the end'),
  ];
  const rows = allocations.map((it) => [
    named(it.memory),
    escape(it.texts.allocs),
    escape(it.texts.alloc),
    escape(it.texts.peak),
    escape(it.texts.live),
  ]);
  return table(head, rows);
}

/** The costliest of the generated lines: a line of yours is part of a hundred and more. */
function compiled(generated: Details['generated'], first: number): string {
  const shown = generated.slice(0, MAX_GENERATED);
  const more = generated.length - shown.length;
  const rest = more > 0 ? `<p class="note">${escape(vscode.l10n.t('and {0} lines that cost less', more))}</p>` : '';
  return places(vscode.l10n.t('Compiled into'), shown, first, (it) => it.shareText) + rest;
}

/** Places to go to: the script sends the extension the number of the one that was clicked. */
function places<T extends Place & { text: string }>(
  title: string,
  places: T[],
  first: number,
  share: (it: T) => string = () => '',
): string {
  const rows = places.map((it, index) => {
    const place = `${it.file}:${it.line ?? it.recordedLine}`;
    const link = it.uri == null ? escape(place) : `<a href="#" data-index="${first + index}">${escape(place)}</a>`;
    const code = (it.source ?? '').trim();
    return [
      `${link} <span class="code">${escape(code === '' ? it.function : code)}</span>`,
      escape(it.text),
      escape(share(it)),
    ];
  });
  return table([title, '', ''], rows);
}

/** A table whose first column is text and whose others are numbers; nothing without rows. Cells are HTML. */
function table(head: string[], rows: string[][]): string {
  if (rows.length === 0) {
    return '';
  }
  const heads = head.map((it) => `<th scope="col">${escape(it)}</th>`).join('');
  const body = rows.map((cells) => `<tr>${cells.map((it) => `<td>${it}</td>`).join('')}</tr>`).join('');
  return `<table><thead><tr>${heads}</tr></thead><tbody>${body}</tbody></table>`;
}

function named(short: string, long = short): string {
  return `<span class="name" title="${escape(long)}">${escape(short)}</span>`;
}

export function escape(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (it) => entities[it] ?? it);
}
