"""Measure the build: seconds, and the ratio to parsing the same sources with `ast.parse`.

    one file of 7,000 lines            0.29 s    3.2 x parsing   at most 6 x
    njc check of 5,000 blocks          1.36 s    7.5 x parsing   at most 8 x
    njc check of 200 files, cold       1.13 s    2.2 x parsing   at most 2.5 x
    njc build of 200 files, cold       1.32 s    2.8 x parsing   at most 2.5 s
    ... and nothing changed            0.17 s    0.4 x parsing   at most 0.3 s

(Measured with Python 3.11 on two cores.)
The sources are generated in a temporary directory: functions with a natural block every 40 lines.
The seconds are the best of five, in a new process as for users, and each ratio is the median of five pairs.
"""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

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
            total = sum(len(word) for word in words) / max(1, len(words))
        except ZeroDivisionError as error:
            raise ValueError(f"no words in {{message!r}} at {{position}}") from error
        finally:
            limit -= 1
        while total > 10:
            total = total / 2 if total % 2 else total - 1
            if total in (1, 2, 3):
                break
    return {{name: count for name, count in sorted(counts.items()) if count}}


class Box_{number}:
    """Holds items, for a while."""

    def __init__(self, items: list[int] | None = None) -> None:
        self.items = list(items or ())
        self.seen: set[int] = set()

    def add(self, item: int, *others: int, twice: bool = False) -> "Box_{number}":
        for each in (item, *others):
            self.items.append(each * 2 if twice else each)
            self.seen.add(each)
        return self

'''
BLOCK = '''
def handle_{number}(message: str, items: list[str]) -> str:
    """natural
    Decide on a <:kind> for the <message>, given its <items>.
    """
    return kind
'''
LINES = FUNCTION.count("\n")


def main() -> None:
    """Measure, and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        one, many = root / "one", root / "many"
        write_sources(one, files=1, lines=7_000)
        write_sources(many, files=200, lines=340)
        show("one file of 7,000 lines", *time_in_process(one), "at most 6 x")
        blocks = root / "blocks"
        blocks.mkdir()
        text = "".join(BLOCK.format(number=each) for each in range(5_000))
        (blocks / "module.njpy").write_text(text, encoding="utf-8")
        checking = time_beside(lambda: njc("check", blocks), lambda: parse_all(blocks))
        show("njc check of 5,000 blocks", *checking, "at most 8 x")
        checking = time_beside(lambda: njc("check", many), lambda: parse_all(many))
        show("njc check of 200 files, cold", *checking, "at most 2.5 x")
        out = root / "out"
        building = time_beside(
            lambda: njc("build", many, "-o", out, "--force"), lambda: parse_all(many)
        )
        show("njc build of 200 files, cold", *building, "at most 2.5 s")
        again = time_beside(lambda: njc("build", many, "-o", out), lambda: parse_all(many))
        show("... and nothing changed", *again, "at most 0.3 s")


def time_in_process(sources: Path) -> tuple[float, float]:
    """Time compiling, without starting a process."""
    from njc.compiler.compiler import compile_source
    from njc.compiler.frontend.source import SourceFile

    (file,) = sources.iterdir()
    data = file.read_bytes()
    return time_beside(lambda: compile_source(SourceFile(file.name, data)), lambda: ast.parse(data))


def write_sources(folder: Path, files: int, lines: int) -> None:
    """Write natural programs of at least `lines` lines each."""
    folder.mkdir()
    for number in range(files):
        text = "".join(FUNCTION.format(number=each) for each in range(lines // LINES + 1))
        (folder / f"module_{number}.njpy").write_text(text, encoding="utf-8")


def parse_all(folder: Path) -> None:
    """Parse every source."""
    for file in folder.iterdir():
        ast.parse(file.read_bytes())


def njc(*arguments: object) -> None:
    """Run the command in a fresh process."""
    subprocess.run(
        [sys.executable, "-m", "njc", *map(str, arguments)], check=True, capture_output=True
    )


def time_beside(act: Callable[[], object], parse: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of the fastest of five runs, and the median of their ratios to parsing just before."""

    def time_once(run: Callable[[], object]) -> float:
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin

    pairs = [(time_once(parse), time_once(act)) for _ in range(5)]
    return min(second for _, second in pairs), statistics.median(
        second / first for first, second in pairs
    )


def show(what: str, seconds: float, ratio: float, bound: str) -> None:
    """Print one row."""
    print(f"{what:<32} {seconds:6.2f} s   {ratio:4.1f} x parsing   {bound}")


if __name__ == "__main__":
    main()
