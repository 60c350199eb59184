/** Names that several views share. */

import * as vscode from 'vscode';

import type { Charge, Evidence, Metric, View } from './api';

export function metricName(metric: Metric): string {
  switch (metric) {
    case 'cuda':
      return vscode.l10n.t('GPU time');
    case 'cpu':
      return vscode.l10n.t('CPU time');
    case 'backward':
      return vscode.l10n.t('Backward time');
    case 'wait':
      return vscode.l10n.t('Waits for the GPU');
    case 'idle':
      return vscode.l10n.t('GPU idle time');
    case 'comm':
      return vscode.l10n.t('Communication');
    case 'memory':
      return vscode.l10n.t('Memory');
  }
}

export function metricMeaning(metric: Metric): string {
  switch (metric) {
    case 'cuda':
      return vscode.l10n.t('device time of what the line launched');
    case 'cpu':
      return vscode.l10n.t('thread time');
    case 'backward':
      return vscode.l10n.t('time of the backward pass that the line caused');
    case 'wait':
      return vscode.l10n.t('time in which the CPU waited for the device');
    case 'idle':
      return vscode.l10n.t('time in which the device had nothing to do because of the line');
    case 'comm':
      return vscode.l10n.t('device time of collectives');
    case 'memory':
      return vscode.l10n.t('bytes alive at the peak, or allocated');
  }
}

export function chargeName(charge: Charge): string {
  return charge === 'own' ? vscode.l10n.t('Own') : vscode.l10n.t('Total');
}

export function stepName(step: View['step'], steps: number[]): string {
  if (step === 'mean') {
    return steps.length === 0 ? vscode.l10n.t('Whole recording') : vscode.l10n.t('Mean of {0} steps', steps.length);
  }
  return step === 'run' ? vscode.l10n.t('Whole recording') : vscode.l10n.t('Step {0}', step);
}

export function rankName(rank: View['rank']): string {
  return rank === 'all' ? vscode.l10n.t('All ranks') : vscode.l10n.t('Rank {0}', rank);
}

export function evidenceMeaning(evidence: Evidence): string {
  switch (evidence) {
    case 'exact':
      return vscode.l10n.t('The recording names the line.');
    case 'inferred':
      return vscode.l10n.t('Inferred: the line follows from the source and the order of events.');
    case 'function':
      return vscode.l10n.t('Only the function is known, not the line.');
  }
}
