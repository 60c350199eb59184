"""``perfline diff`` on real recordings: a program as it is, after optimisations, after refactorings that change nothing, and again.

Needs the program ``perfline`` on the ``PATH``. It is to run on a machine that does nothing else: what is found depends on it.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from recorded import PROGRAMS, package_path

COMPARED = os.path.join(PROGRAMS, "compared")
N_AGAIN = 10

Variant = collections.namedtuple("Variant", ["kind", "name", "function", "text"])


def patched(lines, hunks):
    """The lines of a text after hunks of a unified diff of it; raises ValueError where they are of another text."""
    result, place = [], 0
    for line in hunks:
        if found := re.match(r"@@ -(\d+)(,0)?", line):
            # Of a hunk that only adds, the number is that of the line before.
            start = int(found[1]) - (0 if found[2] else 1)
            result += lines[place:start]
            place = start
        elif line[0] == "+":
            result.append(line[1:])
        elif lines[place] == line[1:]:
            result += [] if line[0] == "-" else [lines[place]]
            place += 1
        else:
            raise ValueError(f"line {place + 1} is {lines[place]!r}, not {line[1:]!r}")
    return result + lines[place:]


def variants(program):
    """The program as it is, its variants, and the program again, some times."""
    with open(os.path.join(COMPARED, f"{program}.py"), encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(COMPARED, f"{program}.variants.diff"), encoding="utf-8") as file:
        _, *parts = re.split("^=== ", file.read(), flags=re.MULTILINE)
    yield Variant("base", "", None, text)
    for part in parts:
        head, *hunks = part.splitlines(keepends=True)
        kind, name, *function = head.split()
        yield Variant(kind, name, *function or [None], "".join(patched(text.splitlines(keepends=True), hunks)))
    for number in range(N_AGAIN):
        yield Variant("again", str(number), None, text)


def differing(rows):
    return [it for it in rows if it["significant"] and it["metric"] not in ("alloc", "peak")]


class Comparison(unittest.TestCase):
    maxDiff = None

    def record(self, folder, program, text):
        os.makedirs(folder)
        path = os.path.join(folder, f"{program}.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        environment = {**os.environ, "PYTHONPATH": package_path(), "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, path], cwd=folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])

    def check(self, program):
        with tempfile.TemporaryDirectory() as root:
            all_variants = list(variants(program))
            # The first process after a pause may be slower: a virtual machine gets memory back that its host took meanwhile.
            self.record(os.path.join(root, "first"), program, all_variants[0].text)
            recorded = []
            for number, variant in enumerate(all_variants):
                folder = os.path.join(root, str(number))
                self.record(folder, program, variant.text)
                recorded.append((variant, folder))
            (_, base), *others = recorded
            missed = []
            for variant, folder in others:
                found = subprocess.run(
                    ["perfline", "diff", base, folder, "--base-root", base, "--root", folder, "--format", "json"],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                found = json.loads(found.stdout)
                lines, functions = differing(found["lines"]), differing(found["functions"])
                if variant.kind != "faster":
                    with self.subTest(program=program, variant=variant.name):
                        differing_rows = (lines, functions, found["other_work"])
                        self.assertEqual((*differing_rows, found["steps"]["significant"]), ([], [], [], False))
                    continue
                named = [it["function"] for it in lines + functions if it["delta_us"] < 0]
                named += [it["function"] for it in found["other_work"]]
                if variant.function not in named:
                    missed.append(variant.name)
            self.assertEqual(missed, [], f"{program}: optimisations that are not found")

    def test_a_language_model(self):
        self.check("words")

    def test_a_network_for_pictures(self):
        self.check("digits")


if __name__ == "__main__":
    unittest.main()
