/** Where a flame graph comes from: data in the page (`perfline report --html`), or the extension that made the panel. */

import './flame.css';

import type { FlameData } from './data';
import { type Host, FlameView } from './view';

/** What the extension sends. */
type Message =
  { kind: 'data'; data: FlameData } | { kind: 'focus'; file: string; line: number } | { kind: 'text'; text: string };

interface Editor {
  postMessage(message: unknown): void;
}
declare const acquireVsCodeApi: (() => Editor) | undefined;

const root = document.querySelector<HTMLElement>('.flame');
const embedded = document.querySelector('#flame-data');
if (root !== null && embedded !== null) {
  const data = JSON.parse(embedded.textContent) as FlameData;
  const folder = root.closest('details');
  const show = () => {
    if (folder?.open !== false && root.childElementCount === 0) {
      new FlameView(root, data, { save: download });
    }
  };
  // A picture that is folded away has no size.
  folder?.addEventListener('toggle', show);
  show();
} else if (root !== null && typeof acquireVsCodeApi === 'function') {
  attach(root, acquireVsCodeApi());
}

function attach(root: HTMLElement, editor: Editor): void {
  let view: FlameView | undefined;
  const host: Host = {
    open: (place) => editor.postMessage({ kind: 'open', ...place }),
    save: (svg) => editor.postMessage({ kind: 'save', svg }),
  };
  addEventListener('message', ({ data: message }: MessageEvent<Message>) => {
    switch (message.kind) {
      case 'data':
        view = new FlameView(root, message.data, host);
        break;
      case 'focus':
        view?.focusLine(message.file, message.line);
        break;
      case 'text':
        view = undefined;
        root.replaceChildren(message.text);
        break;
    }
  });
  editor.postMessage({ kind: 'ready' });
}

function download(svg: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  link.download = 'flame-graph.svg';
  link.click();
  URL.revokeObjectURL(link.href);
}
