/** A page that `perfline view` or the language server gives: its lines open in an editor, its pictures ask for more, and it is loaded again when
 * something else is shown there. */

import { element, type Place } from './elements';

/** How long a message stands. */
const MESSAGE_MS = 8000;
/** How long it takes until a server that is gone is asked again. */
const PAUSE_MS = 2000;

/** Asks the server that gave the page, and returns what it answers. */
type Ask = (name: 'open' | 'picture', body: object, signal?: AbortSignal) => Promise<string>;

/** The editor that shows the page in a panel of its own. */
export interface Editor {
  postMessage(message: unknown): void;
}

/** What the editor answers. */
interface Answer {
  kind: 'answer';
  id: number;
  text: string | null;
  failure: string | null;
}

/** The server that gave the page; `undefined` of a page that is a file. */
export class PageServer {
  private readonly message = element('div', { className: 'message', hidden: true });
  private timer = 0;

  static ofPage(editor: Editor | undefined): PageServer | undefined {
    const version = document.body.dataset['served'];
    if (version === undefined) {
      return undefined;
    }
    // The editor sees itself that something else is shown.
    const server = new PageServer(editor === undefined ? post : throughEditor(editor));
    if (editor === undefined) {
      void follow(Number(version));
    }
    return server;
  }

  private constructor(private readonly ask: Ask) {
    this.message.role = 'status';
    document.body.append(this.message);
    for (const shown of document.querySelectorAll<HTMLElement>('.place')) {
      const place = placeOf(shown.textContent);
      if (place !== undefined) {
        const link = element('button', { type: 'button', className: 'place', textContent: shown.textContent });
        link.addEventListener('click', () => this.open(place));
        shown.replaceWith(link);
      }
    }
  }

  /** Opens a line in the editor. */
  open(place: Place): void {
    this.ask('open', place).catch((error: unknown) => this.say(error));
  }

  /** A part of a picture. What was asked for before and is not there yet is not wanted any more. */
  asking(picture: string, show: (data: unknown) => void): (wanted: object) => void {
    let request = new AbortController();
    return (wanted) => {
      request.abort();
      const { signal } = (request = new AbortController());
      this.ask('picture', { picture, ...wanted }, signal)
        .then((answer) => show(JSON.parse(answer)))
        .catch((error: unknown) => {
          if (!signal.aborted) {
            this.say(error);
          }
        });
    };
  }

  private say(error: unknown): void {
    this.message.textContent = error instanceof Error ? error.message : String(error);
    this.message.hidden = false;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (this.message.hidden = true), MESSAGE_MS);
  }
}

async function post(name: string, body: object, signal?: AbortSignal): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const options = { method: 'POST', headers, body: JSON.stringify(body) };
  const answer = await fetch(name, signal === undefined ? options : { ...options, signal }).catch(() => {
    throw new Error('The server of this page has ended.');
  });
  const text = await answer.text();
  if (!answer.ok) {
    throw new Error(text);
  }
  return text;
}

/** Loads the page again when something else is shown, where the reader was. */
async function follow(version: number): Promise<void> {
  for (;;) {
    const answer = await fetch(`changed?from=${version}`).catch(() => undefined);
    if (answer?.ok === true && Number(await answer.text()) !== version) {
      location.reload();
      return;
    }
    if (answer?.ok !== true) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

function throughEditor(editor: Editor): Ask {
  const waiting = new Map<number, (answer: Answer) => void>();
  let last = 0;
  addEventListener('message', ({ data }: MessageEvent<Answer | { kind: 'text' }>) => {
    if (data.kind === 'answer') {
      waiting.get(data.id)?.(data);
      waiting.delete(data.id);
    }
  });
  return (name, body, signal) =>
    new Promise((resolve, reject) => {
      const id = (last += 1);
      waiting.set(id, ({ text, failure }) => {
        if (signal?.aborted === true || failure !== null) {
          reject(new Error(failure ?? ''));
        } else {
          resolve(text ?? '');
        }
      });
      editor.postMessage({ kind: 'ask', id, name, body });
    });
}

/** `model.py:31`; what is no file, as `<string>:1`, is no place. */
export function placeOf(text: string): Place | undefined {
  const colon = text.lastIndexOf(':');
  const line = Number(text.slice(colon + 1));
  return colon > 0 && !text.startsWith('<') && Number.isInteger(line) && line > 0
    ? { file: text.slice(0, colon), line }
    : undefined;
}
