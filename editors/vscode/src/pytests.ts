/** The tests in a file that pytest collects. */

export interface FoundTest {
  /** The 0-based line of its `def`. */
  line: number;
  /** As pytest names it, behind the file: `TestModel::test_step`. */
  id: string;
}

/** Whether pytest looks for tests in a file of this name, without settings of its own. */
export function isTestFile(name: string): boolean {
  return /^test_.*\.py$|_test\.py$/.test(name);
}

/** The test functions of a text, and the methods of its test classes; those of nested classes are left out. */
export function testsOf(text: string): FoundTest[] {
  const tests: FoundTest[] = [];
  let of: { name: string; indent: string | undefined } | undefined;
  for (const [line, code] of text.split('\n').entries()) {
    const [, indent = '', keyword, name = ''] = /^([ \t]*)(?:async\s+)?(def|class)\s+(\w+)/.exec(code) ?? [];
    if (keyword === undefined) {
      continue;
    }
    if (indent === '') {
      const isOfTests = keyword === 'class' && (name.startsWith('Test') || /\(.*TestCase\b/.test(code));
      of = isOfTests ? { name, indent: undefined } : undefined;
      if (keyword === 'def' && name.startsWith('test')) {
        tests.push({ line, id: name });
      }
    } else if (of !== undefined) {
      // What stands deeper than the first member is within a member.
      of.indent ??= indent;
      if (keyword === 'def' && indent === of.indent && name.startsWith('test')) {
        tests.push({ line, id: `${of.name}::${name}` });
      }
    }
  }
  return tests;
}

/** The test that a line is in: the last one that begins at it or above it. */
export function testAt(tests: FoundTest[], line: number): FoundTest | undefined {
  return tests.findLast((it) => it.line <= line);
}

/** Whether a file of tests uses PyTorch itself. */
export function importsTorch(text: string): boolean {
  return /^\s*(?:import|from)\s+torch\b/m.test(text);
}
