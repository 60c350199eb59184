/** Where pictures come from: data in the page (`perfline report --html`), or the extension that made the panel. */

import './flame.css';

import type { MemoryData } from '../memory/data';
import { type MemoryHost, MemoryView } from '../memory/view';
import type { TimelineData } from '../timeline/data';
import { type TimelineHost, TimelineView } from '../timeline/view';
import type { FlameData } from './data';
import { FlameView } from './view';

type PictureData = FlameData | TimelineData | MemoryData;

/** What the extension sends. */
type Message =
  { kind: 'data'; data: PictureData } | { kind: 'focus'; file: string; line: number } | { kind: 'text'; text: string };

interface Editor {
  postMessage(message: unknown): void;
}
declare const acquireVsCodeApi: (() => Editor) | undefined;

/** A picture that is on the page. */
type View = FlameView | TimelineView | MemoryView;

type Host = TimelineHost & MemoryHost;

const editor = typeof acquireVsCodeApi === 'function' ? acquireVsCodeApi() : undefined;
for (const name of ['memory', 'timeline', 'flame']) {
  const root = document.querySelector<HTMLElement>(`.${name}`);
  const embedded = document.querySelector(`#${name}-data`);
  if (root !== null && embedded !== null) {
    embed(root, embedded.textContent, name);
  } else if (root !== null && editor !== undefined) {
    attach(root, editor);
  }
}

function viewOf(root: HTMLElement, data: PictureData, host: Host): View {
  switch (data.schema) {
    case 'perfline.flame/1':
      return new FlameView(root, data, host);
    case 'perfline.timeline/1':
      return new TimelineView(root, data, host);
    case 'perfline.memoryTimeline/1':
      return new MemoryView(root, data, host);
  }
}

function embed(root: HTMLElement, text: string, name: string): void {
  const folder = root.closest('details');
  const show = () => {
    if (folder?.open !== false && root.childElementCount === 0) {
      viewOf(root, JSON.parse(text) as PictureData, { save: (svg) => download(svg, name) });
    }
  };
  // A picture that is folded away has no size.
  folder?.addEventListener('toggle', show);
  show();
}

function attach(root: HTMLElement, editor: Editor): void {
  let view: View | undefined;
  const host: Host = {
    open: (place) => editor.postMessage({ kind: 'open', ...place }),
    save: (svg) => editor.postMessage({ kind: 'save', svg }),
    request: (wanted) => editor.postMessage({ kind: 'request', wanted }),
  };
  addEventListener('message', ({ data: message }: MessageEvent<Message>) => {
    switch (message.kind) {
      case 'data':
        if (view instanceof TimelineView && message.data.schema === 'perfline.timeline/1') {
          view.update(message.data);
        } else if (view instanceof MemoryView && message.data.schema === 'perfline.memoryTimeline/1') {
          view.update(message.data);
        } else {
          view = viewOf(root, message.data, host);
        }
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

function download(svg: string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  link.download = name === 'flame' ? 'flame-graph.svg' : name === 'memory' ? 'memory-over-time.svg' : `${name}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
}
