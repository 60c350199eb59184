"""Works for a long time in one `perfline lsp`: a million edits of a file of 5,000 lines, and a thousand loads of its recording.

    python3 benches/long_session.py [--binary target/release/perfline] [--edits 1000000] [--loads 1000] [--seed 1]

The program and its recording are those of `latency.py`. Characters are typed and deleted, lines put in and taken out, functions
pasted, at places that follow the seed. Behind every hundredth edit the hints of the 60 lines around it are asked for, as an editor
does, and between two loads once all hints, the lenses, a hover, code actions and the heat of the file. Behind about every tenth load
the text that was recorded comes back in one change, as after `git checkout`.

The table has a row for each tenth of the session: the resident memory of the server, its CPU time, and the time from when a hundred
edits were sent until the hints behind them were read. After each tenth another server loads the recording and opens the text as it
is: where it does not show the same hints and lenses, to the byte, the session ends with an error. Needs Linux (/proc).
"""

import random
import time

from latency import MS, Server, arguments, lines, percentile, project

AROUND = 30
ROWS = 10
RESTORED_EVERY = 10


class Document:
    """The text as it is, and how it comes to be another one."""

    def __init__(self, uri, text, seed):
        self.uri, self.lines, self.version, self.random = uri, text.split("\n"), 1, random.Random(seed)
        self.n_lines = len(self.lines)
        self.at = 0

    def text(self):
        return "\n".join(self.lines)

    def open(self, server):
        document = {"uri": self.uri, "languageId": "python", "version": self.version, "text": self.text()}
        server.notify("textDocument/didOpen", textDocument=document)

    def edit(self, server):
        """One edit: mostly of a character, close to the one before."""
        dice = self.random
        if dice.random() < 0.05:
            self.at = dice.randrange(len(self.lines))
        self.at = min(self.at, len(self.lines) - 2)
        line, kind = self.at, dice.random()
        # The file stays about as long as it is.
        grows = len(self.lines) < self.n_lines
        if kind < 0.7:
            column = dice.randrange(len(self.lines[line]) + 1)
            self.replace(server, line, column, line, column, dice.choice("abcxyz_ 0()=#"))
        elif kind < 0.9:
            length = len(self.lines[line])
            column = dice.randrange(length + 1)
            self.replace(server, line, column, line, min(length, column + 1), "")
        elif kind < 0.99:
            end = line if grows else line + 1
            self.replace(server, line, 0, end, 0, f"    x = torch.relu(x) + {dice.randrange(99)}\n" if grows else "")
        elif grows:
            self.replace(server, line, 0, line, 0, "".join(f"{it}\n" for it in self.lines[max(0, line - 20) : line]))
        else:
            end = min(line + 20, len(self.lines) - 1)
            self.replace(server, line, 0, end, 0, "")

    def restore(self, server, text):
        last = len(self.lines) - 1
        self.replace(server, 0, 0, last, len(self.lines[last]), text)

    def replace(self, server, line, column, end_line, end, text):
        replaced = self.lines[line][:column] + text + self.lines[end_line][end:]
        self.lines[line : end_line + 1] = replaced.split("\n")
        self.version += 1
        # No character is outside the basic plane, so that columns are those of the protocol.
        places = {"start": {"line": line, "character": column}, "end": {"line": end_line, "character": end}}
        server.notify(
            "textDocument/didChange",
            textDocument={"uri": self.uri, "version": self.version},
            contentChanges=[{"range": places, "text": text}],
        )


def shown(server, uri):
    """Hints and lenses of all lines."""
    hints, _ = server.ask("textDocument/inlayHint", textDocument={"uri": uri}, range=lines(0, 1_000_000))
    lenses, _ = server.ask("textDocument/codeLens", textDocument={"uri": uri})
    return hints, lenses


def look(server, uri, line):
    """What an editor asks for when somebody stops typing."""
    document = {"uri": uri}
    shown(server, uri)
    server.ask("textDocument/hover", textDocument=document, position={"line": line, "character": 5})
    server.ask("textDocument/codeAction", textDocument=document, range=lines(line, line), context={"diagnostics": []})
    server.command("heat", uri=uri)


def check(binary, folder, document, server):
    """Holds what the server shows against another one, which begins with the text as it is."""
    server.command("load")
    other = Server(binary, folder)
    document.open(other)
    other.command("load")
    expected = shown(other, document.uri)
    other.process.kill()
    if shown(server, document.uri) != expected:
        raise SystemExit(f"after {document.version - 1} edits the server shows other hints or lenses than a new one")
    return len(expected[0])


def session(options, folder, text):
    server = Server(options.binary, folder)
    document = Document((folder / "big.py").as_uri(), text, options.seed)
    document.open(server)
    server.command("load")
    print("| edits | loads | resident MiB | at most | CPU s | 100 edits, hints: p50 ms | p99 ms | hints of all lines |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    edits_per_load = max(1, options.edits // options.loads)
    n_loads, began, waits = 1, server.cpu(), []
    for n in range(1, options.edits + 1):
        document.edit(server)
        if n % 100 == 0:
            at = document.at
            sent = time.perf_counter_ns()
            around = lines(max(0, at - AROUND), at + AROUND)
            _, read = server.ask("textDocument/inlayHint", textDocument={"uri": document.uri}, range=around)
            waits.append(read - sent)
        if n % edits_per_load == edits_per_load // 2:
            look(server, document.uri, document.at)
        if n % edits_per_load == 0:
            server.command("load")
            n_loads += 1
            if n_loads % RESTORED_EVERY == 0:
                document.restore(server, text)
        if n % (options.edits // ROWS) == 0:
            cpu = (server.cpu() - began) / 1e9
            n_hints = check(options.binary, folder, document, server)
            n_loads += 1
            now, most = server.memory()
            cells = [n, n_loads, f"{now:.0f}", f"{most:.0f}", f"{cpu:.0f}"]
            cells += [f"{percentile(waits, part) / MS:.1f}" for part in (0.5, 0.99)]
            print("| " + " | ".join(map(str, [*cells, n_hints])) + " |", flush=True)
            began, waits = server.cpu(), []
    server.ask("shutdown")
    server.notify("exit")
    if server.process.wait(60) != 0:
        raise SystemExit(f"the server ended with {server.process.returncode}")


def main():
    parser = arguments(__doc__)
    parser.add_argument("--edits", type=int, default=1_000_000, help="edits of the session")
    parser.add_argument("--loads", type=int, default=1000, help="loads of the recording")
    parser.add_argument("--seed", type=int, default=1, help="decides where is edited")
    options = parser.parse_args()
    with project() as (folder, text):
        session(options, folder, text)


if __name__ == "__main__":
    main()
