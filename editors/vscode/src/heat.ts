/** Line heat: background or gutter bars, and marks in the overview ruler. */

import * as vscode from 'vscode';

import type { Heat, HeatLine, HeatScope } from './api';
import { BARS, type Bar, LEVELS, groupKey, grouped, worthShowing } from './levels';
import { LineDrawing } from './lineDrawing';
import type { Session } from './session';

type Style = 'background' | 'gutter' | 'off';

/** Colours of gutter bars: images cannot use the colours of a theme. The same as `perfline.heatBar…` in package.json. */
const GUTTER = {
  dark: ['#5a3a12', '#7d4f12', '#a66508', '#d07f00', '#f2a01e', '#ffd166'],
  light: ['#f3d9b1', '#edbd78', '#e39b3f', '#cf7412', '#a84f00', '#7a3000'],
};

export class HeatDecorations extends LineDrawing {
  private types = new Map<string, vscode.TextEditorDecorationType>();
  private isOn = true;

  constructor(session: Session) {
    super(session);
    this.makeTypes();
    this.subscriptions.push(
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
        if (scope() === 'function') {
          this.drawLater(textEditor.document);
        }
      }),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('perfline.heat') || change.affectsConfiguration('perfline.view')) {
          this.makeTypes();
          this.drawAll();
        }
      }),
    );
  }

  /** Turns heat on or off in this window, whatever the settings say. */
  toggle(): void {
    this.isOn = !this.isOn;
    this.drawAll();
  }

  override dispose(): void {
    super.dispose();
    this.types.forEach((it) => it.dispose());
  }

  protected override async prepare(editor: vscode.TextEditor): Promise<() => void> {
    const groups = grouped(await this.linesOf(editor));
    return () => {
      for (const [key, type] of this.types) {
        const lines = groups.get(key) ?? [];
        editor.setDecorations(
          type,
          lines.map((it) => rangeOf(editor.document, it)),
        );
      }
    };
  }

  private async linesOf(editor: vscode.TextEditor): Promise<HeatLine[]> {
    if (!this.isOn || style() === 'off' || this.session.status?.loaded !== true) {
      return [];
    }
    const uri = editor.document.uri.toString();
    const cursor = editor.selection.active.line + 1;
    const at = scope() === 'function' ? { firstLine: cursor, lastLine: cursor } : {};
    const heat = await this.session.server.ask<Heat>('perfline.heat', { uri, scope: scope(), ...at });
    return worthShowing(heat?.lines ?? []);
  }

  private makeTypes(): void {
    for (const type of this.types.values()) {
      type.dispose();
    }
    const hasRuler = vscode.workspace.getConfiguration('perfline').get<boolean>('heat.overviewRuler', true);
    this.types = new Map();
    for (let level = 1; level <= LEVELS; level += 1) {
      for (const bar of BARS) {
        const options = style() === 'gutter' ? gutter(level, bar) : background(level, bar);
        const ruler: vscode.DecorationRenderOptions = hasRuler
          ? {
              overviewRulerColor: new vscode.ThemeColor(`perfline.heatBar${level}`),
              overviewRulerLane: vscode.OverviewRulerLane.Left,
            }
          : {};
        this.types.set(groupKey(level, bar), vscode.window.createTextEditorDecorationType({ ...options, ...ruler }));
      }
    }
  }
}

function background(level: number, bar: Bar): vscode.DecorationRenderOptions {
  return {
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor(`perfline.heatBackground${level}`),
    borderColor: new vscode.ThemeColor(`perfline.heatBar${level}`),
    borderStyle: bar,
    borderWidth: '0 0 0 3px',
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  };
}

function gutter(level: number, bar: Bar): vscode.DecorationRenderOptions {
  return {
    isWholeLine: true,
    dark: { gutterIconPath: gutterIcon(level, bar, GUTTER.dark) },
    light: { gutterIconPath: gutterIcon(level, bar, GUTTER.light) },
    gutterIconSize: 'contain',
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  };
}

/** A bar from the right: longer and stronger where the line is hotter. */
function gutterIcon(level: number, bar: Bar, colours: string[]): vscode.Uri {
  const length = (16 * level) / LEVELS;
  const dashes = { solid: '', dashed: 'stroke-dasharray="4 2"', dotted: 'stroke-dasharray="2 2"' }[bar];
  const line = `<line x1="${16 - length}" x2="16" y1="8" y2="8" stroke="${colours[level - 1] ?? ''}" stroke-width="10" ${dashes}/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">${line}</svg>`;
  return vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`);
}

/** The text may be shorter than when the server looked at it. */
function rangeOf(document: vscode.TextDocument, line: HeatLine): vscode.Range {
  return document.validateRange(new vscode.Range(line.line - 1, 0, line.line - 1, Number.MAX_SAFE_INTEGER));
}

function style(): Style {
  return vscode.workspace.getConfiguration('perfline').get<Style>('heat.style', 'background');
}

function scope(): HeatScope {
  return vscode.workspace.getConfiguration('perfline').get<HeatScope>('heat.scope', 'step');
}
