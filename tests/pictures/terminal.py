"""Writes what a terminal shows as a picture: text with escape sequences from standard input, SVG to standard output.

Each piece of text has its own place and width, so that columns stand below each other whatever font the reader has.
"""

import argparse
import re
import sys
from html import escape

BASIC = "#3b4048 #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #d7dae0".split()
BRIGHT = "#7f848e #ff7b86 #b5e890 #ffd78a #7cc4ff #e29bf5 #7fe0ea #ffffff".split()
TEXT, GROUND = "#d7dae0", "#14161b"
SIZE, WIDTH, HEIGHT, PAD, BAR = 14, 8.43, 19, 12, 30
SEQUENCE = re.compile(r"\x1b\[([\d;:]*)m|\x1b\[[\d;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\(.|[\r\x0f\x0e]")


def indexed(number):
    """A colour of the table of 256."""
    if number < 16:
        return (BASIC + BRIGHT)[number]
    if number >= 232:
        return "#" + f"{8 + (number - 232) * 10:02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    number -= 16
    return "#" + "".join(f"{levels[it]:02x}" for it in (number // 36, number // 6 % 6, number % 6))


def named(codes):
    """The colour that the next codes name, which are taken away."""
    if codes.pop(0) == 2:
        return "#" + "".join(f"{codes.pop(0):02x}" for _ in range(3))
    return indexed(codes.pop(0))


class Style:
    """How characters look from here on."""

    def __init__(self):
        self.text = self.ground = None
        self.bold = self.dim = self.italic = self.underlined = self.reversed = False

    def change(self, codes):
        codes = [int(it or 0) for it in re.split("[;:]", codes)]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.__init__()
            elif code in (1, 22):
                self.bold, self.dim = code == 1, self.dim and code == 1
            elif code == 2:
                self.dim = True
            elif code in (3, 23):
                self.italic = code == 3
            elif code in (4, 24):
                self.underlined = code == 4
                # The kind of line, as in `4:3`.
                if code == 4 and codes and codes[0] == 3:
                    codes.pop(0)
            elif code in (7, 27):
                self.reversed = code == 7
            elif code in (38, 48, 58):
                colour = named(codes)
                if code != 58:
                    setattr(self, "text" if code == 38 else "ground", colour)
            elif code in (39, 49):
                setattr(self, "text" if code == 39 else "ground", None)
            elif 30 <= code % 60 <= 37 and code < 100:
                self.text = (BASIC if code < 40 else BRIGHT)[code % 10]
            elif 40 <= code % 60 <= 47:
                self.ground = (BASIC if code < 50 else BRIGHT)[code % 10]

    def look(self):
        text, ground = self.text or TEXT, self.ground
        if self.reversed:
            text, ground = ground or GROUND, text
        attributes = f' fill="{text}"' if text != TEXT else ""
        attributes += ' font-weight="bold"' if self.bold else ""
        attributes += ' fill-opacity="0.55"' if self.dim else ""
        attributes += ' font-style="italic"' if self.italic else ""
        attributes += ' text-decoration="underline"' if self.underlined else ""
        return ground, attributes


def cells(text):
    """The lines of the screen: for each character itself and how it looks."""
    style = Style()
    rows = [[]]
    at = 0
    while at < len(text):
        found = SEQUENCE.match(text, at)
        if found:
            if found[1] is not None:
                style.change(found[1])
            at = found.end()
        elif text[at] == "\n":
            rows.append([])
            at += 1
        else:
            rows[-1].append((text[at], *style.look()))
            at += 1
    while rows and not any(it[0].strip() or it[1] for it in rows[-1]):
        rows.pop()
    return rows


def runs(row, column):
    """Stretches of a line of which `column` is the same: where they begin, and what is in them."""
    begin = 0
    for at in range(1, len(row) + 1):
        if at == len(row) or row[at][column] != row[begin][column]:
            yield begin, row[begin:at]
            begin = at


def number(it):
    return f"{it:.2f}".rstrip("0").rstrip(".")


def picture(rows, title, columns):
    width, height = columns * WIDTH + 2 * PAD, len(rows) * HEIGHT + BAR + PAD
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}" '
        f'font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="{SIZE}" fill="{TEXT}">'
    )
    yield f'<rect width="{number(width)}" height="{number(height)}" rx="8" fill="{GROUND}"/>'
    yield (
        f'<text x="{number(width / 2)}" y="20" text-anchor="middle" font-family="sans-serif" font-size="13" '
        f'fill-opacity="0.75">{escape(title)}</text>'
    )
    for place, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        yield f'<circle cx="{16 + place * 18}" cy="15" r="5.5" fill="{colour}"/>'
    for line, row in enumerate(rows):
        top = BAR + line * HEIGHT
        for begin, run in runs(row, 1):
            if run[0][1]:
                x, wide = PAD + begin * WIDTH, len(run) * WIDTH
                yield (f'<rect x="{number(x)}" y="{top}" width="{number(wide)}" height="{HEIGHT}" fill="{run[0][1]}"/>')
        for begin, run in runs(row, 2):
            text = "".join(it[0] for it in run)
            for piece in re.finditer(r"\S+(?: \S+)*", text):
                x, wide = PAD + (begin + piece.start()) * WIDTH, len(piece[0]) * WIDTH
                yield (
                    f'<text x="{number(x)}" y="{top + 14}" textLength="{number(wide)}"{run[0][2]}>'
                    f"{escape(piece[0], quote=False)}</text>"
                )
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--title", required=True)
    parser.add_argument("--columns", type=int, required=True, help="how wide the terminal was")
    options = parser.parse_args()
    rows = cells(sys.stdin.read())
    print("\n".join(picture(rows, options.title, options.columns)))


if __name__ == "__main__":
    main()
