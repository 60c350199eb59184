/** A page that `perfline view` or the language server gives: its lines open in an editor, its pictures ask for more, and it is loaded again when
 * something else is shown there. */

import { element, type Place } from './elements';

/** How long a message stands. */
const MESSAGE_MS = 8000;
/** How long it takes until a server that is gone is asked again. */
const PAUSE_MS = 2000;

/** The server that gave the page; `undefined` of a page that is a file. */
export class PageServer {
  private readonly message = element('div', { className: 'message', hidden: true });
  private timer = 0;

  static ofPage(): PageServer | undefined {
    const version = document.body.dataset['served'];
    return version === undefined ? undefined : new PageServer(Number(version));
  }

  private constructor(private readonly version: number) {
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
    void this.follow();
  }

  /** Opens a line in the editor. */
  open(place: Place): void {
    this.post('open', place).catch((error: unknown) => this.say(error));
  }

  /** A part of a picture. What was asked for before and is not there yet is not wanted any more. */
  asking(picture: string, show: (data: unknown) => void): (wanted: object) => void {
    let request = new AbortController();
    return (wanted) => {
      request.abort();
      const { signal } = (request = new AbortController());
      this.post('picture', { picture, ...wanted }, signal)
        .then((answer) => answer.json())
        .then(show)
        .catch((error: unknown) => {
          if (!signal.aborted) {
            this.say(error);
          }
        });
    };
  }

  private async post(name: string, body: object, signal?: AbortSignal): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    const options = { method: 'POST', headers, body: JSON.stringify(body) };
    const answer = await fetch(name, signal === undefined ? options : { ...options, signal }).catch(() => {
      throw new Error('The server of this page has ended.');
    });
    if (!answer.ok) {
      throw new Error(await answer.text());
    }
    return answer;
  }

  private say(error: unknown): void {
    this.message.textContent = error instanceof Error ? error.message : String(error);
    this.message.hidden = false;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (this.message.hidden = true), MESSAGE_MS);
  }

  /** Loads the page again when something else is shown, where the reader was. */
  private async follow(): Promise<void> {
    for (;;) {
      const answer = await fetch(`changed?from=${this.version}`).catch(() => undefined);
      if (answer?.ok === true && Number(await answer.text()) !== this.version) {
        location.reload();
        return;
      }
      if (answer?.ok !== true) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  }
}

/** `model.py:31`; what is no file, as `<string>:1`, is no place. */
export function placeOf(text: string): Place | undefined {
  const colon = text.lastIndexOf(':');
  const line = Number(text.slice(colon + 1));
  return colon > 0 && !text.startsWith('<') && Number.isInteger(line) && line > 0
    ? { file: text.slice(0, colon), line }
    : undefined;
}
