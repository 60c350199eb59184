/** Lets the user choose what is shown: metric, own or total, step, rank, which part of the recording. */

import * as vscode from 'vscode';

import { METRICS, type Filter, type View } from './api';
import { ALL, filterWords, patterns } from './filter';
import type { Session } from './session';
import { chargeName, metricMeaning, metricName, rankName, stepName } from './wording';

type Part = 'metric' | 'charge' | 'step' | 'rank' | 'filter';

interface Choice extends vscode.QuickPickItem {
  apply?: () => Promise<void>;
}

export class ViewChooser {
  constructor(private readonly session: Session) {}

  /** Asks for one of the parts, or for any. */
  async choose(...parts: Part[]): Promise<void> {
    const view = this.session.status?.view;
    if (view === undefined) {
      return;
    }
    const wanted: Part[] = parts.length > 0 ? parts : ['metric', 'charge', 'step', 'rank', 'filter'];
    const groups = wanted
      .map((part) => this.choices(part, view))
      .filter(({ items }) => items.length > 1 || parts.length > 0);
    const items = groups.flatMap(({ title, items }): Choice[] => [
      { label: title, kind: vscode.QuickPickItemKind.Separator },
      ...items,
    ]);
    const chosen = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t('What Perfline shows'),
      placeHolder: this.session.status?.summary ?? '',
      matchOnDescription: true,
    });
    await chosen?.apply?.();
  }

  async toggleCharge(): Promise<void> {
    const view = this.session.status?.view;
    if (view !== undefined) {
      await this.session.setMetric(view.metric, view.charge === 'own' ? 'total' : 'own');
    }
  }

  /** Asks which part of the recording is shown: first which kind of part, then which of that kind. */
  async chooseFilter(): Promise<void> {
    const filter = this.session.status?.view.filter;
    const values = await this.session.filterValues();
    if (filter === undefined || values === undefined) {
      return;
    }
    const set = (change: Partial<Filter>) => this.session.setFilter({ ...filter, ...change });
    const items: Choice[] = [
      {
        label: vscode.l10n.t('Files…'),
        description: filter.files.join(', '),
        apply: async () => {
          const text = await vscode.window.showInputBox({
            title: vscode.l10n.t('Perfline: Files'),
            prompt: vscode.l10n.t('Files whose lines are shown, as patterns with commas between them; empty for all'),
            placeHolder: 'model.py, models/**',
            value: filter.files.join(', '),
          });
          if (text !== undefined) {
            await set({ files: patterns(text) });
          }
        },
      },
      {
        label: vscode.l10n.t('Functions…'),
        description: filter.functions.join('|'),
        apply: async () => {
          const text = await vscode.window.showInputBox({
            title: vscode.l10n.t('Perfline: Functions'),
            prompt: vscode.l10n.t(
              'Functions whose lines are shown: a regular expression found in their names; empty for all',
            ),
            placeHolder: '^Model\\.|forward$',
            value: filter.functions.join('|'),
          });
          if (text !== undefined) {
            await set({ functions: text === '' ? [] : [text] });
          }
        },
      },
      {
        label: vscode.l10n.t('Phase…'),
        description: filter.phase ?? '',
        apply: async () => {
          const all = vscode.l10n.t('All phases');
          const phase = await vscode.window.showQuickPick([all, ...values.phases], {
            title: vscode.l10n.t('Perfline: Phase of Training'),
          });
          if (phase !== undefined) {
            await set({ phase: phase === all ? null : phase });
          }
        },
      },
      this.several(vscode.l10n.t('Modules…'), values.modules, filter.modules, (modules) => set({ modules })),
      this.several(vscode.l10n.t('Steps…'), values.steps.map(String), filter.steps, (steps) => set({ steps })),
      this.several(vscode.l10n.t('Threads…'), values.threads, filter.threads, (threads) => set({ threads })),
      this.several(vscode.l10n.t('Streams…'), values.streams.map(String), filter.streams.map(String), (streams) =>
        set({ streams: streams.map(Number) }),
      ),
    ];
    if (filterWords(filter) !== '') {
      items.unshift({ label: vscode.l10n.t('Show All'), apply: () => this.session.setFilter(ALL) });
    }
    const chosen = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t('Perfline: Filter'),
      placeHolder: vscode.l10n.t(
        'Files and functions choose lines, all others the part of the recording that numbers are of',
      ),
    });
    await chosen?.apply?.();
  }

  /** Asks for some of `values`; what was chosen and is none of them can be left out. */
  private several(label: string, values: string[], chosen: string[], set: (chosen: string[]) => Promise<void>): Choice {
    const all = [...chosen.filter((it) => !values.includes(it)), ...values];
    return {
      label,
      description: chosen.join(', '),
      apply: async () => {
        const items = all.map((it) => ({ label: it, picked: chosen.includes(it) }));
        const picked = await vscode.window.showQuickPick(items, {
          title: `Perfline: ${label}`,
          canPickMany: true,
          placeHolder: vscode.l10n.t('None for all'),
        });
        if (picked !== undefined) {
          await set(picked.map((it) => it.label));
        }
      },
    };
  }

  private choices(part: Part, view: View): { title: string; items: Choice[] } {
    const { session } = this;
    switch (part) {
      case 'metric': {
        const auto = {
          label: vscode.l10n.t('Automatic'),
          description: vscode.l10n.t('now: {0}', metricName(view.effectiveMetric)),
          current: view.metric === 'auto',
          apply: () => session.setMetric('auto'),
        };
        const metrics = METRICS.map((metric) => ({
          label: metricName(metric),
          description: metricMeaning(metric),
          current: view.metric === metric,
          apply: () => session.setMetric(metric),
        }));
        return { title: vscode.l10n.t('Metric'), items: [auto, ...metrics].map(marked) };
      }
      case 'charge': {
        const items = (['own', 'total'] as const).map((charge) => ({
          label: chargeName(charge),
          description:
            charge === 'own'
              ? vscode.l10n.t('charges the innermost line of your code')
              : vscode.l10n.t('charges every line on the stack'),
          current: view.charge === charge,
          apply: () => session.setMetric(view.metric, charge),
        }));
        return { title: vscode.l10n.t('Charge'), items: items.map(marked) };
      }
      case 'step': {
        const steps: View['step'][] = view.steps.length === 0 ? ['run'] : ['mean', 'run', ...view.steps];
        const items = steps.map((step) => ({
          label: stepName(step, view.steps),
          current: view.step === step,
          apply: () => session.setStep(step),
        }));
        return { title: vscode.l10n.t('Step'), items: items.map(marked) };
      }
      case 'rank': {
        const ranks: View['rank'][] = view.ranks.length < 2 ? ['all'] : ['all', ...view.ranks];
        const items = ranks.map((rank) => ({
          label: rankName(rank),
          current: view.rank === rank,
          apply: () => session.setRank(rank),
        }));
        return { title: vscode.l10n.t('Rank'), items: items.map(marked) };
      }
      case 'filter': {
        const chosen = filterWords(view.filter);
        const items = [
          { label: vscode.l10n.t('All'), current: chosen === '', apply: () => session.setFilter(ALL) },
          {
            label: vscode.l10n.t('Filter…'),
            description: chosen,
            current: chosen !== '',
            apply: () => this.chooseFilter(),
          },
        ];
        return { title: vscode.l10n.t('Filter'), items: items.map(marked) };
      }
    }
  }
}

/** A check mark before what is chosen, and as much room before the rest. */
function marked(item: { label: string; description?: string; current: boolean; apply: () => Promise<void> }): Choice {
  return {
    label: `$(${item.current ? 'check' : 'blank'}) ${item.label}`,
    apply: item.apply,
    ...(item.description === undefined ? {} : { description: item.description }),
  };
}
