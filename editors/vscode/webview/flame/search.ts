/** The search of a picture: a text or a regular expression, and what it found. */

import { matcher } from './data';
import { element, labelled } from './elements';

export class SearchBox {
  private readonly input = element('input', { type: 'search', placeholder: 'Search (/)' });
  private readonly regex = element('input', { type: 'checkbox' });
  private readonly found = element('output', {});
  /** What is put among the choices of a picture. */
  readonly controls: readonly HTMLElement[] = [this.input, labelled('Regular expression', this.regex), this.found];

  /** Calls `change` for other texts, and `leave` when the search is ended by Escape. */
  constructor(change: () => void, leave: () => void) {
    this.found.setAttribute('aria-live', 'polite');
    this.input.setAttribute('aria-label', 'Search');
    this.input.addEventListener('input', change);
    this.regex.addEventListener('change', change);
    this.input.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        this.input.value = '';
        change();
        leave();
      }
    });
  }

  focus(): void {
    this.input.focus();
  }

  /** Searches for a text as it is. */
  set(text: string): void {
    this.regex.checked = false;
    this.input.value = text;
  }

  /** Says what was found. */
  report(text: string): void {
    this.found.textContent = text;
  }

  /** Which labels are found; nothing where nothing is searched, or it cannot be, which is then said. */
  matcher(): ((label: string) => boolean) | undefined {
    this.report('');
    this.input.setAttribute('aria-invalid', 'false');
    try {
      return this.input.value === '' ? undefined : matcher(this.input.value, this.regex.checked);
    } catch {
      this.input.setAttribute('aria-invalid', 'true');
      this.report('This is not a regular expression.');
      return undefined;
    }
  }
}
