/** What the pure parts use of the editor's module: the translation of texts. */

export const l10n = {
  t: (text: string, ...args: unknown[]): string =>
    text.replace(/\{(\d+)\}/g, (_, index: string) => String(args[Number(index)])),
};
