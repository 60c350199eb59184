"""Checks that the links of all Markdown files under version control lead somewhere: to a file, and to a heading in it.

Links to other sites are not followed.
"""

import functools
import re
import subprocess
import sys
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^ *(```|~~~)")


def main():
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]
    broken = [problem for path in files for problem in problems(path)]
    print(*broken, f"{len(files)} Markdown files, {len(broken)} broken links", sep="\n")
    return 1 if broken else 0


def problems(path):
    """A line for each link of the file that leads nowhere."""
    for number, line in prose(path):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            file, _, anchor = target.partition("#")
            to = (path.parent / urllib.parse.unquote(file)).resolve() if file else path
            where = f"{path.relative_to(ROOT)}:{number}: {target}:"
            if not to.exists():
                yield f"{where} there is no such file"
            elif anchor and to.suffix == ".md" and anchor not in anchors(to):
                yield f"{where} there is no such heading"


def prose(path):
    """The lines outside of code blocks, with their numbers."""
    fence = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark = FENCE.match(line)
        if mark and fence in (None, mark[1]):
            fence = None if fence else mark[1]
        elif not fence:
            yield number, line


@functools.cache
def anchors(path):
    """The names that GitHub gives to the headings of the file."""
    found = {}
    for _, line in prose(path):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1])
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            seen = found.get(name, 0)
            found[name] = seen + 1
            if seen:
                found[f"{name}-{seen}"] = 1
    return set(found)


if __name__ == "__main__":
    sys.exit(main())
