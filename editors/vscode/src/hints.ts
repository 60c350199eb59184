/** Hints as decorations: a little apart from the code, in a colour of their own that can be read on the hottest line, and whatever
 * `editor.inlayHints.enabled` says. */

import * as vscode from 'vscode';

import { type HintPlace, MARGIN, fitted, gutterWidth, marginTo } from './hintPlace';
import { LineDrawing } from './lineDrawing';
import type { Session } from './session';

/** A hint and the line that it is of, from 0. */
interface Hint {
  line: number;
  text: string;
}

export class HintDecorations extends LineDrawing {
  private readonly type = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor('perfline.hintForeground'), margin: `0 0 0 ${MARGIN}`, fontStyle: 'italic' },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  /** The column before the code, on lines with a hint and without. */
  private readonly gutter = vscode.window.createTextEditorDecorationType({
    before: { color: new vscode.ThemeColor('perfline.hintForeground'), margin: '0 2ch 0 1ch' },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedOpen,
  });

  /** The same on lines that were just typed, until hints are asked for again: they would stand further left meanwhile. */
  private readonly fresh = vscode.window.createTextEditorDecorationType({ before: { margin: '0 2ch 0 1ch' } });
  private readonly widths = new WeakMap<vscode.TextEditor, number>();

  constructor(session: Session) {
    super(session);
    this.subscriptions.push(
      vscode.workspace.onDidChangeTextDocument((change) => this.widen(change)),
      session.server.onDidChangeHints(() => this.drawAll()),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('perfline.hints.provider')) {
          session.server.refreshHints();
        }
        if (change.affectsConfiguration('perfline.hints')) {
          this.drawAll();
        }
      }),
    );
  }

  override dispose(): void {
    super.dispose();
    this.type.dispose();
    this.gutter.dispose();
    this.fresh.dispose();
  }

  protected override async prepare(editor: vscode.TextEditor): Promise<() => void> {
    const found = areDecorations() ? await this.session.server.hints(editor.document) : [];
    const hints = found.map(hintOf);
    const settings = vscode.workspace.getConfiguration('perfline', editor.document);
    const place = settings.get<HintPlace>('hints.place', 'line');
    const column = settings.get<number>('hints.column', 100);
    return () => {
      const width = place === 'gutter' ? gutterWidth(hints.map((it) => it.text)) : 0;
      this.widths.set(editor, width);
      editor.setDecorations(this.gutter, width === 0 ? [] : before(editor.document, hints, width));
      editor.setDecorations(this.fresh, []);
      editor.setDecorations(this.type, place === 'gutter' ? [] : hints.map((it) => after(editor, it, place, column)));
    };
  }

  /** Sets lines that were typed as far from the left as the others. */
  private widen({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const lines = contentChanges.flatMap(({ range, text }) => {
      const added = text.split('\n').length - 1;
      return Array.from({ length: added }, (_, index) => range.start.line + 1 + index);
    });
    for (const editor of lines.length === 0 ? [] : vscode.window.visibleTextEditors) {
      const width = editor.document === document ? (this.widths.get(editor) ?? 0) : 0;
      if (width > 0) {
        editor.setDecorations(
          this.fresh,
          lines.map((line) => blank(line, width)),
        );
      }
    }
  }
}

/** Whether hints are decorations, or else inlay hints of the editor. */
export function areDecorations(): boolean {
  return vscode.workspace.getConfiguration('perfline').get<string>('hints.provider') !== 'inlay';
}

function hintOf({ position, label }: vscode.InlayHint): Hint {
  return { line: position.line, text: typeof label === 'string' ? label : label.map((it) => it.value).join('') };
}

/** A hint after the code of its line. */
function after(
  { document, options }: vscode.TextEditor,
  { line, text }: Hint,
  place: HintPlace,
  column: number,
): vscode.DecorationOptions {
  const { range, text: code } = document.lineAt(line);
  const tabSize = typeof options.tabSize === 'number' ? options.tabSize : 4;
  const margin = place === 'column' ? { margin: `0 0 0 ${marginTo(column, code, tabSize)}` } : {};
  return {
    range: new vscode.Range(range.end, range.end),
    renderOptions: { after: { contentText: text, ...colourOf(text), ...margin } },
  };
}

/** The column before the code, of the same width on each line of a file that has hints. */
function before(document: vscode.TextDocument, hints: Hint[], width: number): vscode.DecorationOptions[] {
  const byLine = new Map(hints.map((it) => [it.line, it.text]));
  return Array.from({ length: document.lineCount }, (_, line) => blank(line, width, byLine.get(line)));
}

/** What a line only calls steps back behind what lines cost themselves. */
function colourOf(text: string): { color?: vscode.ThemeColor } {
  return text.includes('↳') ? { color: new vscode.ThemeColor('perfline.hintBelowForeground') } : {};
}

/** A line of that column. A blank that is no text has no width of its own. */
function blank(line: number, width: number, text = '\u00a0'): vscode.DecorationOptions {
  return {
    range: new vscode.Range(line, 0, line, 0),
    renderOptions: { before: { contentText: fitted(text, width), ...colourOf(text), width: `${width}ch` } },
  };
}
