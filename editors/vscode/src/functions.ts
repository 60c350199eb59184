/** The functions of a text. */

/** What a line begins, or is in. */
interface Block {
  indent: number;
  name: string;
  isFunction: boolean;
}

/**
 * The innermost function that a 0-based line is in, or that it or the decorator on it begins, with the names of its classes and
 * outer functions (`Model.forward`); nothing outside of functions.
 */
export function functionAt(text: string, line: number): string | undefined {
  const lines = text.split('\n');
  const isDecorator = (it: string | undefined) => it !== undefined && /^\s*@/.test(it);
  let last = line;
  while (isDecorator(lines[last])) {
    last += 1;
  }
  let blocks: Block[] = [];
  for (const code of lines.slice(0, last + 1)) {
    // What closes a bracket ends no block.
    if (/^\s*(?:#|$|[)\]}])/.test(code)) {
      continue;
    }
    const indent = code.length - code.trimStart().length;
    blocks = blocks.filter((it) => it.indent < indent);
    const [, keyword, name] = /^\s*(?:async\s+)?(def|class)\s+(\w+)/.exec(code) ?? [];
    if (name !== undefined) {
      blocks.push({ indent, name, isFunction: keyword === 'def' });
    }
  }
  const n = blocks.findLastIndex((it) => it.isFunction) + 1;
  return n === 0
    ? undefined
    : blocks
        .slice(0, n)
        .map((it) => it.name)
        .join('.');
}
