"""Measure the milliseconds from a change of one character to its findings, and to names, in the client.

    2,000 lines, 100 blocks, in prompts        p50 106 ms   p95 138 ms     at most 150 ms
    ... in the code between them               p50 125 ms   p95 178 ms     at most 150 ms
    ... without the wait for further typing    p50 110 ms   p95 165 ms
    names to complete after `<` is typed       p50  46 ms   p95 102 ms     at most 100 ms
    ... processor time of one change           p50  80 ms   p95 121 ms

(Measured with Python 3.11 on two cores that other machines share: p95 of the names was 80 to 102 ms in four runs.
Each change is followed by an analysis of the whole text.)
`njc lsp` runs in a separate process; a text is opened, then characters are inserted and deleted in it, one at a time.
The server waits 10 ms for further changes before it analyses a text; this wait is part of the first two rows.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

from njc.editors.language_server.serving.server import DEBOUNCE_SECONDS
from njc.editors.language_server.texts.documents import ContentChange, Document, apply_changes

Message = dict[str, Any]

FUNCTION = '''
def handle_{number}(messages: list[str], limit: int = {number}) -> dict[str, int]:
    """Count the messages of one kind."""
    counts: dict[str, int] = {{}}
    for position, message in enumerate(messages):
        if position > limit or not message.strip():
            continue
        words = [word.lower() for word in message.split() if word.isalpha()]
        """natural
        Decide on a <:kind> for the <message>, given its <words>.
        Break if the <message> asks to stop.
        """
        counts[kind] = counts.get(kind, 0) + 1
    try:
        total = sum(len(name) for name in counts) / max(1, len(counts))
    except ZeroDivisionError as error:
        raise ValueError(f"no words at {{limit}}") from error
    return {{name: count for name, count in sorted(counts.items()) if total}}

'''
BLOCKS = 100
EDITS = 100
TYPING_SECONDS = 0.05
"""The time between the findings of a change and the next change."""
URI = "file:///bench/bench.njpy"


def main() -> None:
    """Measure, and print a table."""
    text = "".join(FUNCTION.format(number=number) for number in range(BLOCKS))
    text += "#\n" * (2000 - text.count("\n"))
    with subprocess.Popen(
        [sys.executable, "-m", "njc", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        client = Client(process)
        client.start(text)
        wait = DEBOUNCE_SECONDS * 1000
        in_prompts = client.measure(text, "Break if the")
        in_code = client.measure(text, "words = [word.lower()")
        show("2,000 lines, 100 blocks, in prompts", in_prompts, "at most 150 ms")
        show("... in the code between them", in_code, "at most 150 ms")
        show("... without the wait for further typing", [t - wait for t in in_prompts + in_code])
        names = client.measure_completions(text, "Break if the")
        show("names to complete after `<` is typed", names, "at most 100 ms")
        client.stop()
    show("... processor time of one change", time_changes(text, "Break if the"))


def time_changes(text: str, mark: str) -> list[float]:
    """Return the milliseconds of processor time of each change, without the protocol."""
    document = Document(URI, "bench.njpy", text)
    gc.disable()
    times = []
    for line in list(find_lines(text, mark))[: EDITS // 2]:
        for new in ("x", ""):
            change = ContentChange(new, (line, 10, line, 10 + (not new)))
            gc.collect()  # as the server does between two changes
            begin = time.process_time()
            document = apply_changes(document, [change], None, "utf-16")
            document.analysis  # noqa: B018
            times.append((time.process_time() - begin) * 1000)
    return times


class Client:
    """A minimal client of the server (state: the process, the version of the text)."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.input: IO[bytes] = process.stdin
        self.output: IO[bytes] = process.stdout
        self.version = 1

    def start(self, text: str) -> None:
        """Start a session, and open the text."""
        self.send("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
        self.send("initialized", {})
        document = {"uri": URI, "languageId": "njpy", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})
        for _ in range(2):  # at once, and with the hints
            self.wait_for_findings()

    def stop(self) -> None:
        """End the session."""
        self.send("shutdown", None, 2)
        self.wait_for(lambda message: message.get("id") == 2)
        self.send("exit", None)

    def measure(self, text: str, mark: str) -> list[float]:
        """Return the milliseconds from each change to its findings, for changes in lines with the mark."""
        times = []
        for number, line in enumerate(find_lines(text, mark)):
            for new in ("x", ""):
                begin = time.perf_counter()
                self.send_change(line, 10, new)
                self.wait_for_findings()
                times.append((time.perf_counter() - begin) * 1000)
                time.sleep(TYPING_SECONDS)
            if number * 2 > EDITS:
                break
        return times

    def measure_completions(self, text: str, mark: str) -> list[float]:
        """Return the milliseconds from typing `<` to the names, for changes in lines with the mark."""
        times = []
        for line in list(find_lines(text, mark))[:EDITS]:
            begin = time.perf_counter()
            self.send_change(line, 8, "<")
            place = {"textDocument": {"uri": URI}, "position": {"line": line, "character": 9}}
            self.send("textDocument/completion", place, self.version)
            answer = self.wait_for(lambda message: message.get("id") == self.version)
            times.append((time.perf_counter() - begin) * 1000)
            assert answer["result"], answer
            self.wait_for_findings()
            time.sleep(TYPING_SECONDS)
            self.send_change(line, 8, "")
            self.wait_for_findings()
            time.sleep(TYPING_SECONDS)
        return times

    def send_change(self, line: int, column: int, new: str) -> None:
        """Insert a text at a place, or delete the character there if the text is empty."""
        start, end = ({"line": line, "character": at} for at in (column, column + (not new)))
        self.version += 1
        document = {"uri": URI, "version": self.version}
        changes = [{"range": {"start": start, "end": end}, "text": new}]
        self.send("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def send(self, method: str, params: Any, identifier: int | None = None) -> None:
        """Send a request or a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if identifier is not None:
            message["id"] = identifier
        body = json.dumps(message).encode()
        self.input.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.input.flush()

    def wait_for_findings(self) -> None:
        """Wait for the findings of this version of the text."""
        self.wait_for(
            lambda message: (
                message.get("method") == "textDocument/publishDiagnostics"
                and message["params"]["version"] == self.version
            )
        )

    def wait_for(self, is_wanted: Callable[[Message], bool]) -> Message:
        """Read messages until one is wanted, and return it."""
        while True:
            length = 0
            while line := self.output.readline().strip():
                if line.startswith(b"Content-Length:"):
                    length = int(line.partition(b":")[2])
            message: Message = json.loads(self.output.read(length))
            if is_wanted(message):
                return message


def find_lines(text: str, mark: str) -> Iterator[int]:
    """Return the numbers of the lines that contain a mark, from 0."""
    return (number for number, line in enumerate(text.split("\n")) if mark in line)


def show(title: str, times: list[float], limit: str = "") -> None:
    """Print one row."""
    ordered = sorted(times)
    middle, late = ordered[len(ordered) // 2], ordered[len(ordered) * 95 // 100]
    print(f"{title:<42} p50 {middle:3.0f} ms   p95 {late:3.0f} ms     {limit}".rstrip())


if __name__ == "__main__":
    main()
