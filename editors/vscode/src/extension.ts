/** Perfline for VS Code: what the language server protocol cannot carry. Everything else comes from the server. */

import * as vscode from 'vscode';

import type { FoundRecording, Place } from './api';
import { DetailsView } from './details';
import type { FindingItem } from './findingTree';
import { FindingsView } from './findings';
import { PicturePanel } from './picture';
import { HeatDecorations } from './heat';
import { HintDecorations } from './hints';
import { HotLinesView } from './hotLines';
import { goToHotLine } from './navigate';
import { Recorder } from './record';
import { recordCell } from './recordCell';
import { RecordedRuns } from './recordedRuns';
import { RecordingEditors } from './recordingEditor';
import { Recordings } from './recordings';
import { RecordingsView } from './recordingsView';
import { reveal } from './reveal';
import { RulePages } from './rulePage';
import { openSample, welcome } from './sample';
import { Server } from './server';
import { Session } from './session';
import { copySnippet } from './snippet';
import { SourcePlaces } from './sourcePlaces';
import { StatusItems } from './statusBar';
import { ViewChooser } from './view';

let running: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel('Perfline', { log: true });
  const server = new Server(context, log);
  running = server;
  const session = new Session(server, context.workspaceState);
  const recordings = new Recordings(session, context.workspaceState);
  const view = new ViewChooser(session);
  const heat = new HeatDecorations(session);
  const hints = new HintDecorations(session);
  const hot = new HotLinesView(session);
  const findings = new FindingsView(session, context.workspaceState);
  const list = new RecordingsView(session, recordings);
  const pages = new RulePages(session);
  const details = new DetailsView(session, context.extensionUri);
  const flame = new PicturePanel(session, context.extensionUri, {
    name: 'flame',
    command: 'perfline.flame',
    title: vscode.l10n.t('Flame Graph'),
    reading: vscode.l10n.t('Reading the stacks of the recording…'),
    file: 'flame-graph.svg',
  });
  const timeline = new PicturePanel(session, context.extensionUri, {
    name: 'timeline',
    command: 'perfline.timeline',
    title: vscode.l10n.t('Timeline'),
    reading: vscode.l10n.t('Reading the events of the recording…'),
    file: 'timeline.svg',
  });
  const memory = new PicturePanel(session, context.extensionUri, {
    name: 'memory',
    command: 'perfline.memoryTimeline',
    title: vscode.l10n.t('Memory over Time'),
    reading: vscode.l10n.t('Reading the memory events of the recording…'),
    file: 'memory-over-time.svg',
  });
  const sources = new SourcePlaces(session, context.workspaceState);
  const ranks = new PicturePanel(session, context.extensionUri, {
    name: 'ranks',
    command: 'perfline.rankSteps',
    title: vscode.l10n.t('Ranks by Step'),
    reading: vscode.l10n.t('Reading the ranks of the recording…'),
    file: 'ranks-by-step.svg',
    timeline: (wanted) => void timeline.showPart(wanted),
  });
  const roofline = new PicturePanel(session, context.extensionUri, {
    name: 'roofline',
    command: 'perfline.roofline',
    title: vscode.l10n.t('Roofline'),
    reading: vscode.l10n.t('Reading the arithmetic of the recording…'),
    file: 'roofline.svg',
  });
  const editors = new RecordingEditors(session);
  const recorder = new Recorder(new RecordedRuns(session, recordings, log), context.workspaceState);
  server.onLens = ([args]) => hot.pick(args as object);
  server.onExplain = (rule) => pages.show(rule);
  context.subscriptions.push(log, session, new StatusItems(session), heat, hints, hot, findings, list, pages, recorder);
  context.subscriptions.push(details, flame, timeline, memory, ranks, roofline, sources, editors);

  const commands: Record<string, (...args: never[]) => unknown> = {
    recordFile: (clicked: unknown) => recorder.record(clicked),
    recordFileWithArguments: (clicked: unknown) => recorder.recordWithArguments(clicked),
    recordFunction: () => recorder.recordFunction(),
    recordCell: (clicked: unknown) => recordCell(clicked),
    recordTest: (clicked: unknown, id: unknown) => recorder.recordTest(clicked, id),
    recordConfiguration: () => recorder.recordConfiguration(),
    copySnippet: () => copySnippet(context),
    loadRecording: (clicked: unknown, selected: unknown) => recordings.load(clicked, selected),
    loadFile: (clicked: unknown, selected: unknown) => recordings.load(clicked, selected),
    loadNewest: () => recordings.loadNewest(),
    loadRecent: () => recordings.loadRecent(),
    showRecording: (recording: FoundRecording) => list.load(recording),
    setRecordingAsBaseline: (recording: FoundRecording) => list.setBaseline(recording),
    compareNewest: () => recordings.compareNewest(),
    stopComparing: () => session.clearBaseline(),
    revealRecording: (recording: FoundRecording) => list.reveal(recording),
    deleteRecording: (recording: FoundRecording) => list.delete(recording),
    refreshRecordings: () => list.refresh(),
    unloadRecording: () => recordings.unload(),
    locateFolder: () => sources.locateFolder(),
    chooseSources: () => sources.chooseSources(),
    chooseView: () => view.choose(),
    chooseMetric: () => view.choose('metric'),
    chooseStep: () => view.choose('step'),
    chooseRank: () => view.choose('rank'),
    chooseFilter: () => view.chooseFilter(),
    toggleCharge: () => view.toggleCharge(),
    toggleHeat: () => heat.toggle(),
    nextHotLine: () => goToHotLine(session, 'next'),
    previousHotLine: () => goToHotLine(session, 'previous'),
    goToHotLine: () => hot.pick(),
    sortHotLines: () => hot.sort(),
    showLibraryLines: () => hot.setOwnOnly(false),
    hideLibraryLines: () => hot.setOwnOnly(true),
    copyHotLines: (node: Parameters<HotLinesView['copy']>[0]) => hot.copy(node),
    groupFindings: () => findings.group(true),
    listFindings: () => findings.group(false),
    fixFinding: (node: FindingItem) => findings.fix(node),
    ignoreFinding: (node: FindingItem) => findings.ignore(node),
    explainFinding: ({ finding }: FindingItem) => pages.show(finding.rule),
    explainRule: (rule: string) => pages.show(rule),
    showDetails: () => details.show(),
    pinDetails: () => details.pin(true),
    unpinDetails: () => details.pin(false),
    copyDetails: () => details.copy(),
    showFlameGraph: () => flame.show(),
    showInFlameGraph: () => flame.showLine(),
    showTimeline: () => timeline.show(),
    showInTimeline: () => timeline.showLine(),
    showMemory: () => memory.show(),
    showInMemory: () => memory.showLine(),
    showRanks: () => ranks.show(),
    showRoofline: () => roofline.show(),
    showInRoofline: () => roofline.showLine(),
    showAgain: () => editors.showAgain(),
    openAsText: () => editors.openAsText(),
    reveal: (place: Place) => reveal(place),
    openSample: () => openSample(context),
    restartServer: () => server.restart(),
    showLog: () => log.show(),
  };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(`perfline.${name}`, run));
  }
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('perfline.server.path')) {
        void server.restart();
      }
    }),
    // Settings of the workspace begin to count.
    vscode.workspace.onDidGrantWorkspaceTrust(() => void server.restart()),
  );
  void welcome(context, session);
  await server.restart();
}

export async function deactivate(): Promise<void> {
  await running?.dispose();
}
