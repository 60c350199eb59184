/** What the Recordings view says of a recording. */

import * as vscode from 'vscode';

import type { FoundRecording } from './api';

/** What stands beside its name, after the time. */
export function factsOf({ paths, ranks, steps, timeText, commit, dirty, bytesText }: FoundRecording): string[] {
  const more = paths.length > 1 ? [vscode.l10n.t('{0} files', paths.length)] : [];
  return [
    ...(commit === null ? [] : [dirty === true ? `${commit}-dirty` : commit]),
    ...(timeText === null ? [] : [timeText]),
    ...(steps === null || steps === 0 ? [] : [vscode.l10n.t('{0} steps', steps)]),
    ...(ranks > 1 ? [vscode.l10n.t('{0} ranks', ranks)] : more),
    bytesText,
  ];
}

/** Lines of the tooltip: the commit, or that this and more is known once the recording was shown. */
export function knownOnceShown({ steps, timeText, commit, dirty }: FoundRecording): string[] {
  if (timeText === null && steps === null) {
    return [vscode.l10n.t('Steps, times and the commit are known once it was shown.')];
  }
  if (commit === null) {
    return [];
  }
  return [
    dirty === true
      ? vscode.l10n.t('Commit {0} was checked out when recording began; files differed from it.', commit)
      : vscode.l10n.t('Commit {0} was checked out when recording began.', commit),
  ];
}
