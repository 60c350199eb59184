/** Where pictures come from: data in the page (`perfline report --html`, `perfline view`, a recording in an editor), or the extension that
 * made the panel. */

import './flame.css';

import type { MemoryData } from '../memory/data';
import { type MemoryHost, MemoryView } from '../memory/view';
import type { RankStepsData } from '../ranks/data';
import { type RanksHost, RanksView } from '../ranks/view';
import type { RooflineData } from '../roofline/data';
import { RooflineView } from '../roofline/view';
import type { TimelineData } from '../timeline/data';
import { type TimelineHost, TimelineView } from '../timeline/view';
import type { FlameData } from './data';
import type { Place } from './elements';
import { type Editor, PageServer, placeOf } from './served';
import { FlameView } from './view';

type PictureData = FlameData | TimelineData | MemoryData | RankStepsData | RooflineData;

/** What the extension sends. */
type Message =
  { kind: 'data'; data: PictureData } | { kind: 'focus'; file: string; line: number } | { kind: 'text'; text: string };

declare const acquireVsCodeApi: (() => Editor) | undefined;

/** A picture that is on the page. */
type View = FlameView | TimelineView | MemoryView | RanksView | RooflineView;

type Host = TimelineHost & MemoryHost & RanksHost;

const editor = typeof acquireVsCodeApi === 'function' ? acquireVsCodeApi() : undefined;
const server = PageServer.ofPage(editor);
/** Shows the timeline of the page at a step of a rank. */
let showTimeline: ((wanted: object) => void) | undefined;
for (const name of ['timeline', 'ranks', 'roofline', 'memory', 'flame']) {
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
    case 'perfline.rankSteps/1':
      return new RanksView(root, data, host);
    case 'perfline.roofline/1':
      return new RooflineView(root, data, host);
  }
}

/** Shows another part of what a picture is of; whether it can. */
function update(view: View | undefined, data: PictureData): boolean {
  if (view instanceof TimelineView && data.schema === 'perfline.timeline/1') {
    view.update(data);
  } else if (view instanceof MemoryView && data.schema === 'perfline.memoryTimeline/1') {
    view.update(data);
  } else {
    return false;
  }
  return true;
}

/** Which picture the address of the page asks for, and whose line: `#flame:train.py:31`. */
function wantedOf(hash: string): { name: string; place: Place | undefined } {
  const [name = '', ...rest] = hash.slice(1).split(':');
  return { name, place: placeOf(decoded(rest.join(':'))) };
}

/** A part of an address; as it is where somebody typed what is none. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function embed(root: HTMLElement, text: string, name: string): void {
  const folder = root.closest('details');
  const wanted = server !== undefined ? wantedOf(location.hash) : undefined;
  const isWanted = wanted?.name === name;
  const save = (svg: string) => download(svg, name);
  const ask = server?.asking(name, (part) => update(view, part as PictureData));
  let view: View | undefined;
  const show = () => {
    if (folder?.open !== false && root.childElementCount === 0) {
      view = viewOf(root, JSON.parse(text) as PictureData, {
        save,
        ...(server === undefined ? {} : { open: (place) => server.open(place), request: (wanted) => ask?.(wanted) }),
        ...(showTimeline === undefined ? {} : { timeline: showTimeline }),
      });
      if (isWanted && wanted.place !== undefined && !(view instanceof RanksView)) {
        view.focusLine(wanted.place.file, wanted.place.line);
      }
    }
  };
  if (name === 'timeline' && ask !== undefined && folder !== null) {
    showTimeline = (wanted) => {
      folder.open = true;
      show();
      ask(wanted);
      folder.scrollIntoView();
    };
  }
  // A picture that is folded away has no size.
  folder?.addEventListener('toggle', show);
  if (isWanted && folder !== null) {
    folder.open = true;
  }
  show();
  if (isWanted) {
    root.scrollIntoView();
  }
}

function attach(root: HTMLElement, editor: Editor): void {
  let view: View | undefined;
  const host: Host = {
    open: (place) => editor.postMessage({ kind: 'open', ...place }),
    save: (svg) => editor.postMessage({ kind: 'save', svg }),
    request: (wanted) => editor.postMessage({ kind: 'request', wanted }),
    timeline: (wanted) => editor.postMessage({ kind: 'timeline', wanted }),
  };
  addEventListener('message', ({ data: message }: MessageEvent<Message>) => {
    switch (message.kind) {
      case 'data':
        if (!update(view, message.data)) {
          view = viewOf(root, message.data, host);
        }
        break;
      case 'focus':
        if (!(view instanceof RanksView)) {
          view?.focusLine(message.file, message.line);
        }
        break;
      case 'text':
        view = undefined;
        root.replaceChildren(message.text);
        break;
    }
  });
  editor.postMessage({ kind: 'ready' });
}

/** Names of files of pictures that are not called as they are. */
const FILES: Record<string, string> = { flame: 'flame-graph', memory: 'memory-over-time', ranks: 'ranks-by-step' };

function download(svg: string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  link.download = `${FILES[name] ?? name}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
}
