"""Measures what an editor waits for: requests to `perfline lsp` on a file of 5,000 lines with more than 2,000 hints.

    python3 benches/latency.py [--binary target/release/perfline] [--rounds 200] [--trace TRACE]

The file and its recording are made up: 250 functions whose lines launch kernels, and some wait for them; beside them
20,000 lines of libraries. Everything worth a hint has one (`threshold` is 0), and every tenth line a diagnostic.

Of each kind of request the table shows CPU time (user and system, of all threads of the server: what counts on a machine
that others use too) and time until the reply is read, each as median and 99th percentile, in milliseconds. With `--trace`,
the resident memory of a server before and after loading that recording. Needs Linux (/proc).
"""

import argparse
import contextlib
import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

LINES, STEPS, LIBRARY_LINES = 5000, 3, 20000
MS = 1_000_000


def source():
    """Functions of 20 lines, eight of which launch kernels and one of which reads a result."""
    lines = []
    while len(lines) < LINES:
        lines.append(f"def f{len(lines) // 20}(x, y, step):")
        for n in range(1, 19):
            if n == 17:
                lines.append("    v = x.item()")
            elif n % 2:
                lines.append(f"    x = torch.relu(x @ y) + {n}  # é line {n}")
            else:
                lines.append(f"    z{n} = [i for i in range({n})]")
        lines.append("    return x")
    return "\n".join(lines)


def recording(text):
    """A trace of `STEPS` steps that call every function of the text once."""
    events, now, ids = [], 1000.0, 1

    def event(category, name, start, length, process=7, thread=7, **args):
        row = {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": process,
            "tid": thread,
            "ts": start,
            "dur": length,
            "args": args,
        }
        events.append(row)

    hot = [(row + 1, "item" in line) for row, line in enumerate(text.split("\n")) if "torch" in line or "item" in line]
    for step in range(1, STEPS + 1):
        began = now
        for function in range(LINES // 20):
            entered, now = now, now + 1
            for line, is_wait in hot[function * 9 : function * 9 + 9]:
                length = 10 + (line * 7919 % 400) / 10
                call = "item of Tensor" if is_wait else "relu of type"
                operator = "aten::item" if is_wait else "aten::relu"
                ids += 1
                launch = {"correlation": ids, "External id": ids}
                frame = {"CallFrom": f"big.py:{line}", "Python id": ids}
                event("python_function", f"<built-in method {call} object at 0x7f>", now, length, **frame)
                event("cpu_op", operator, now + 1, length - 2, **{"External id": ids})
                runtime, waited = ("cudaStreamSynchronize", length - 4) if is_wait else ("cudaLaunchKernel", 3)
                event("cuda_runtime", runtime, now + 2, waited, **launch)
                if not is_wait:
                    shape = {"device": 0, "stream": 7, "grid": [6, 2, 1], "block": [256, 1, 1]}
                    event("kernel", f"void relu{line % 7}<4>(int)", now + 6, length * 0.8, 0, 7, **launch, **shape)
                now += length + 0.5
            ids += 1
            frame = {"CallFrom": "run.py:3", "Python id": ids}
            event("python_function", f"big.py({function * 20 + 1}): f{function}", entered, now - entered, **frame)
            now += 2
        event("user_annotation", f"ProfilerStep#{step}", began, now - began)
        now += 5
    event("python_function", "run.py(1): <module>", 995.0, now - 990, **{"Python id": 0})
    for n in range(LIBRARY_LINES):
        file, line = f"torch/lib{n // 500}.py", n % 500 * 3
        frame = {"Python id": ids + n + 1, "CallFrom": f"{file}:{line + 2}"}
        event("python_function", f"{file}({line + 1}): g", 1000 + n * 10, 9, 7, 99, **frame)
    return {
        "schemaVersion": 1,
        "with_stack": 1,
        "traceEvents": events,
        "deviceProperties": [{"id": 0, "name": "made up"}],
    }


@contextlib.contextmanager
def project():
    """A folder with the program and its recording, and the text of the program."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        text = source()
        (folder / "big.py").write_text(text)
        (folder / "run.py").write_text("import big\n\nbig.f0(1, 2, 3)\n")
        with gzip.open(folder / "trace.json.gz", "wt", compresslevel=1) as out:
            json.dump(recording(text), out)
        yield folder, text


def lines(first, last):
    """From the beginning of a line to that of another one, as the protocol counts them."""
    return {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}


def arguments(description):
    """The options of a bench, with those that all have."""
    # What was kept of a recording would not be read again.
    os.environ["PERFLINE_CACHE_DIR"] = ""
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=root / "target/release/perfline", help="what is measured")
    return parser


class Server:
    """`perfline lsp` and its client."""

    def __init__(self, binary, folder):
        command = [binary, "lsp"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.replies, self.diagnostics, self.ids = {}, {}, 0
        self.news = threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()
        capabilities = {
            "workspace": {"inlayHint": {"refreshSupport": True}, "workspaceEdit": {"documentChanges": True}},
            "textDocument": {
                "inlayHint": {"resolveSupport": {"properties": ["tooltip"]}},
                "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}},
                "publishDiagnostics": {"relatedInformation": True},
            },
        }
        self.ask(
            "initialize",
            capabilities=capabilities,
            workspaceFolders=[{"uri": folder.as_uri(), "name": "bench"}] if folder else [],
            initializationOptions={"view": {"threshold": 0}},
        )
        self.notify("initialized")

    def listen(self):
        while header := self.process.stdout.readline():
            while (line := self.process.stdout.readline()) != b"\r\n":
                header = line if line.startswith(b"Content-Length") else header
            body = self.process.stdout.read(int(header.split(b":")[1]))
            now, message = time.perf_counter_ns(), json.loads(body)
            with self.news:
                if "method" not in message:
                    self.replies[message["id"]] = (now, message)
                elif "id" in message:
                    items = (message.get("params") or {}).get("items", [])
                    self.send(id=message["id"], result=[None for _ in items] or None)
                elif message["method"] == "textDocument/publishDiagnostics":
                    self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
                self.news.notify_all()

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def notify(self, method, **params):
        self.send(method=method, params=params)

    def ask(self, method, **params):
        """The result, and when it was there."""
        self.ids += 1
        request = self.ids
        self.send(id=request, method=method, params=params)
        with self.news:
            self.news.wait_for(lambda: request in self.replies)
            at, message = self.replies.pop(request)
        if "error" in message:
            raise SystemExit(f"{method}: {message['error']}")
        return message["result"], at

    def command(self, name, **arguments):
        return self.ask("workspace/executeCommand", command=f"perfline.{name}", arguments=[arguments])

    def cpu(self):
        """Nanoseconds of user and system time of all threads so far."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(it.read_text().split()[0]) for it in tasks)

    def memory(self):
        """Resident and highest resident MiB."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        rows = dict(line.split(":", 1) for line in lines)
        return [int(rows[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")]

    def wait_until_idle(self):
        """Until nothing was done for half a second."""
        before = None
        while before != (before := self.cpu()):
            time.sleep(0.5)


def measure(server, name, work, rounds):
    """A row of the table: `work` of 0, 1, … is done once to warm up, then `rounds` times; it gives its result and when."""
    work(rounds)
    server.wait_until_idle()
    cpu, wall = [], []
    for n in range(rounds):
        before, began = server.cpu(), time.perf_counter_ns()
        _, at = work(n)
        wall.append(at - began)
        # Threads that have just replied may still put things away.
        time.sleep(0.002)
        cpu.append(server.cpu() - before)
    cells = [it for times in (cpu, wall) for it in (percentile(times, 0.5), percentile(times, 0.99))]
    print(f"| {name:44} | " + " | ".join(f"{it / MS:8.2f}" for it in cells) + " |", flush=True)


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def requests(server, uri, text, rounds):
    n_lines = text.count("\n") + 1
    document = {"uri": uri}
    server.notify("textDocument/didOpen", textDocument={"uri": uri, "languageId": "python", "version": 1, "text": text})
    server.wait_until_idle()

    def hints(first, last):
        return server.ask("textDocument/inlayHint", textDocument=document, range=lines(first, last))

    def actions(line):
        return server.ask(
            "textDocument/codeAction", textDocument=document, range=lines(line, line), context={"diagnostics": []}
        )

    all_hints, _ = hints(0, n_lines)
    hot = [it["position"]["line"] for it in all_hints]
    found = [it["range"]["start"]["line"] for it in server.diagnostics.get(uri, [])]
    print(f"\n{n_lines} lines, {len(hot)} hints, {len(found)} diagnostics; milliseconds\n")
    print(f"| {'':44} | CPU p50 | CPU p99 | time p50 | time p99 |\n|---|---|---|---|---|")

    def row(name, work):
        measure(server, name, work, rounds)

    def hot_line(n):
        return hot[n * 31 % len(hot)]

    def pick(n):
        return {"line": hot_line(n), "character": 5}

    row("hints of 60 lines", lambda n: hints(n * 37 % (n_lines - 60), n * 37 % (n_lines - 60) + 60))
    row("hints of all lines", lambda n: hints(0, n_lines))
    row("tooltip of a hint", lambda n: server.ask("inlayHint/resolve", **all_hints[n * 7 % len(hot)]))
    row("hover", lambda n: server.ask("textDocument/hover", textDocument=document, position=pick(n)))
    row("lenses", lambda n: server.ask("textDocument/codeLens", textDocument=document))
    row("code actions on a finding", lambda n: actions(found[n * 7 % len(found)]))
    row("code actions elsewhere", lambda n: actions(hot_line(n) + 1))
    row("`perfline.heat` of all lines", lambda n: server.command("heat", uri=uri))
    row(
        "`perfline.heat` of a function",
        lambda n: server.command("heat", uri=uri, firstLine=hot_line(n), scope="function"),
    )
    row("`perfline.details`", lambda n: server.command("details", uri=uri, line=hot_line(n) + 1))
    row("`perfline.hotLines`, 20", lambda n: server.command("hotLines"))
    row("`perfline.hotLines`, 2,000", lambda n: server.command("hotLines", limit=2000))
    row("`perfline.status`", lambda n: server.command("status"))

    version = 1

    def key(n):
        nonlocal version
        version += 1
        line = n * 997 % n_lines
        change = {"range": lines(line, line), "text": " "}
        server.notify("textDocument/didChange", textDocument={**document, "version": version}, contentChanges=[change])
        return line

    def typed(n):
        key(n)
        return server.ask(
            "textDocument/hover", textDocument={"uri": "untitled:none"}, position={"line": 0, "character": 0}
        )

    def all_of_it(n):
        began = server.cpu()
        typed(n)
        # What is published is gathered for a moment.
        time.sleep(0.3)
        while began != (began := server.cpu()):
            time.sleep(0.05)
        return None, time.perf_counter_ns()

    def typed_with_hints(n):
        line = key(n)
        return hints(max(0, line - 30), line + 30)

    row("a key, until the server is ready for more", typed)
    row("a key, and the hints of 60 lines", typed_with_hints)
    measure(server, "a key, until everything is published (CPU)", all_of_it, min(rounds, 50))


def memory(binary, trace):
    """What a server takes of memory to load a trace, and keeps."""
    server = Server(binary, None)
    server.wait_until_idle()
    before, _ = server.memory()
    began = time.perf_counter()
    server.command("load", paths=[str(trace)])
    seconds = time.perf_counter() - began
    server.wait_until_idle()
    after, most = server.memory()
    print(f"\n{trace.name}, {trace.stat().st_size / (1 << 20):.0f} MiB, loaded in {seconds:.1f} s; resident MiB:")
    print(f"{before:.0f} before, {most:.0f} at most, {after:.0f} afterwards")
    server.process.kill()


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="requests of each kind")
    parser.add_argument("--trace", type=pathlib.Path, help="a recording to load, too")
    options = parser.parse_args()
    with project() as (folder, text):
        server = Server(options.binary, folder)
        server.command("load")
        requests(server, (folder / "big.py").as_uri(), text, options.rounds)
        server.process.kill()
    if options.trace:
        memory(options.binary, options.trace.resolve())


if __name__ == "__main__":
    main()
