/** How a load gets on, with a way to stop it. */

import * as vscode from 'vscode';
import {
  type LanguageClient,
  type ProgressToken,
  type WorkDoneProgressBegin,
  WorkDoneProgressCancelNotification,
  type WorkDoneProgressEnd,
  type WorkDoneProgressReport,
} from 'vscode-languageclient/node';

/** A load that is done sooner only turns the wheel in the status bar. */
const PATIENCE_MS = 1000;

interface Load {
  last: WorkDoneProgressBegin | WorkDoneProgressReport;
  timer: NodeJS.Timeout;
  percentage: number;
  report(params: WorkDoneProgressBegin | WorkDoneProgressReport): void;
  end(): void;
}

export class LoadProgress {
  private readonly loads = new Map<ProgressToken, Load>();

  constructor(private readonly client: () => LanguageClient) {}

  handle(token: ProgressToken, params: WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd): void {
    const load = this.loads.get(token);
    switch (params.kind) {
      case 'begin': {
        const timer = setTimeout(() => this.show(token), PATIENCE_MS);
        const nothing = () => undefined;
        this.loads.set(token, { last: params, timer, percentage: 0, report: nothing, end: nothing });
        break;
      }
      case 'report':
        if (load !== undefined) {
          load.last = params;
          load.report(params);
        }
        break;
      case 'end':
        if (load !== undefined) {
          clearTimeout(load.timer);
          load.end();
          this.loads.delete(token);
        }
        break;
    }
  }

  private show(token: ProgressToken): void {
    const load = this.loads.get(token);
    if (load === undefined) {
      return;
    }
    const options = {
      location: vscode.ProgressLocation.Notification,
      title: vscode.l10n.t('Perfline: loading recording'),
      cancellable: true,
    };
    void vscode.window.withProgress(options, (progress, cancelled) => {
      load.report = (params) => {
        const percentage = params.percentage ?? load.percentage;
        const report = { increment: percentage - load.percentage };
        load.percentage = percentage;
        progress.report(params.message === undefined ? report : { ...report, message: params.message });
      };
      load.report(load.last);
      cancelled.onCancellationRequested(() => {
        void this.client().sendNotification(WorkDoneProgressCancelNotification.type, { token });
      });
      return new Promise<void>((resolve) => {
        load.end = resolve;
      });
    });
  }
}
