"""Measure the page of a large trace: how long it takes to write, to load, to scroll and to search.

    python bench/trace_page.py                 100 MB
    python bench/trace_page.py 1000            1,000 MB
    python bench/trace_page.py 100 --keep DIR  keeps the trace, the page and pictures of it

The trace is generated, with nested runs, refusals, jumps and hostile texts. `njc trace --html` runs in a
separate process. A headless Chromium opens the page; without one, only the writing is measured. Loading is measured
from the start of the navigation until rows are shown and a click is answered. Scrolling is measured as the time from
one frame to the next over 120 jumps through the whole list.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "servers"))
from chromium import Chromium, find_chromium

WORDS = (
    "order",
    "total",
    "price",
    "mail",
    "letter",
    "teapot",
    "mug",
    "lamp",
    "shelf",
    "item",
    "user",
    "page",
)
PLACES = [f"{name}.njpy:{line}" for name in ("shop", "mail", "route") for line in range(10, 60, 7)]
START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"


class TraceGenerator:
    """Generates the lines of a trace (state: the random numbers, the time, the number of runs)."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._at = START
        self._runs = 0

    def make_run(self, parent: str | None = None, depth: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the lines of a run, and of the runs that its code starts."""
        choose = self._random
        self._runs += 1
        run = f"b3c41f20-{self._runs}"
        first = self._at
        begin: dict[str, Any] = {
            "place": choose.choice(PLACES),
            "model": "openai/gpt-4.1",
            "effects": "direct",
        }
        instruction = f"Put into <:total> what <letter> asks of <{choose.choice(WORDS)}>. {HOSTILE if self._runs % 50 == 0 else ''}"
        state = {word: self._write_value() for word in choose.sample(WORDS, 5)}
        begin |= {"parent": parent} if parent else {}
        begin |= {"instruction": [instruction], "state": state, "digest": self._write_digest()}
        yield self._make_line("began", run, 0.001, begin)
        for turn in range(1, choose.choice((1, 1, 1, 2, 3, 6)) + 1):
            shown = [instruction, "---", *(f"{name}: {value}" for name, value in state.items())]
            shown += [self._write_text(12) for _ in range(30)]
            yield self._make_line("asked", run, 0.001, {"turn": turn, "shown": [{"user": shown}]})
            seconds = choose.uniform(0.4, 6)
            code = "\n".join(
                f"{choose.choice(WORDS)} = {choose.choice(WORDS)}[{choose.randrange(99)}]  # {self._write_text(5)}"
                for _ in range(choose.randrange(2, 14))
            )
            usage = {
                "input": choose.randrange(300, 4000),
                "output": len(code) // 4,
                "usd": round(choose.uniform(0.0005, 0.03), 6),
            }
            reply = {"text": ["```python", *code.split("\n"), "```"], "usage": usage}
            fields = {
                "turn": turn,
                "seconds": seconds,
                "model": "gpt-4.1-2025",
                "source": "model",
                "reply": reply,
            }
            yield self._make_line("replied", run, seconds, fields)
            if depth < 3 and choose.random() < 0.15:
                yield from self.make_run(run, depth + 1)
            refused = choose.random() < 0.1
            effect = {"kind": "Run", "code": code, "done": not refused}
            changes = {word: self._write_value() for word in choose.sample(WORDS, 2)}
            fields = {
                "turn": turn,
                "seconds": 0.002,
                "effect": effect,
                "kind": "refusal" if refused else "answer",
            }
            fields |= {
                "result": self._write_text(20),
                "changes": changes,
                "digest": self._write_digest(),
            }
            yield self._make_line(
                "performed", run, 0.002, fields | {"printed": self._write_text(8)}
            )
        outcome = choose.choice(("completed",) * 8 + ("continued", "broke", "raised"))
        seconds = (self._at - first).total_seconds()
        fields = {
            "outcome": outcome,
            "seconds": seconds,
            "changes": {},
            "digest": self._write_digest(),
        }
        yield self._make_line("ended", run, 0.001, fields)

    def _make_line(
        self, event: str, run: str, seconds: float, fields: dict[str, Any]
    ) -> dict[str, Any]:
        self._at += timedelta(seconds=seconds)
        at = self._at.isoformat(timespec="microseconds").replace("+00:00", "Z")
        return {"event": event, "run": run, "at": at} | fields

    def _write_text(self, words: int) -> str:
        return " ".join(
            f"{self._random.choice(WORDS)}{self._random.randrange(999)}" for _ in range(words)
        )

    def _write_value(self) -> str:
        return f"list[str], {self._random.randrange(9)} items = ['{self._write_text(9)}']"

    def _write_digest(self) -> str:
        return f"{self._random.getrandbits(128):032x}"


def write_trace(target: Path, megabytes: int, seed: int = 1) -> int:
    """Write a trace of at least this size; return the number of its runs."""
    generator, runs, size = TraceGenerator(seed), 0, 0
    with open(target, "w", encoding="utf-8") as file:
        while size < megabytes * 1_000_000:
            for line in generator.make_run():
                size += file.write(json.dumps(line, ensure_ascii=False) + "\n")
                runs += line["event"] == "began"
    return runs


SCROLL = """
(async () => {
  const list = document.getElementById("list"), frames = [];
  const nextFrame = () => new Promise(requestAnimationFrame);
  for (let step = 0; step < 120; step++) {
    const began = performance.now();
    list.scrollTop = (list.scrollHeight - list.clientHeight) * ((step * 37) % 120) / 120;
    await nextFrame();
    await nextFrame();
    frames.push((performance.now() - began) / 2);
  }
  frames.sort((one, other) => one - other);
  return { median: frames[60], p95: frames[114], elements: document.querySelectorAll("*").length };
})()
"""

SEARCH = """
(async () => {
  const began = performance.now(), search = document.getElementById("search");
  search.value = "teapot77 lamp";
  search.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((resolve) => setTimeout(resolve, 260));
  while (document.getElementById("list").ariaBusy === "true") await new Promise((resolve) => setTimeout(resolve, 20));
  return { seconds: (performance.now() - began) / 1000, found: document.getElementById("found").textContent };
})()
"""


def measure_page(page: Path, pictures: Path | None) -> None:
    """Open a page and print how long its user waits."""
    with Chromium(1200, 800) as browser:
        began = time.perf_counter()
        browser.open(page)
        browser.wait_for(
            "document.documentElement?.dataset.ready && document.querySelector('.row')", 120
        )
        browser.evaluate("document.querySelector('.row .name').click()")
        browser.wait_for("!document.getElementById('detail').hidden")
        print(f"load until a click is answered   {time.perf_counter() - began:6.2f} s")
        browser.wait_for("document.readyState === 'complete'")
        print(f"all of the file read             {time.perf_counter() - began:6.2f} s")
        if pictures:
            browser.screenshot(pictures / "page.png")
        browser.evaluate("document.querySelector('.close').click()")
        frames = browser.evaluate(SCROLL, 120)
        print(
            f"a frame while scrolling          {frames['median']:6.1f} ms median, {frames['p95']:.1f} ms p95, {frames['elements']:,} elements"
        )
        browser.evaluate("document.getElementById('refusals').click()")
        frames = browser.evaluate(SCROLL, 120)
        print(
            f"the same with steps shown        {frames['median']:6.1f} ms median, {frames['p95']:.1f} ms p95"
        )
        browser.evaluate("document.getElementById('refusals').click()")
        search = browser.evaluate(SEARCH, 240)
        print(f"search of all texts              {search['seconds']:6.2f} s, {search['found']}")
        if pictures:
            browser.screenshot(pictures / "search.png")
        heap = browser.evaluate("performance.memory?.usedJSHeapSize ?? 0")
        print(f"memory of the page's script      {heap / 1e6:6.0f} MB")
        assert not browser.evaluate("window.pwned"), "a text of the trace was run as a script"
        assert not browser.find_complaints(), browser.find_complaints()


def main() -> None:
    """Generate a trace, and measure its page."""
    arguments = sys.argv[1:]
    kept = Path(arguments[arguments.index("--keep") + 1]) if "--keep" in arguments else None
    megabytes = int(arguments[0]) if arguments and arguments[0].isdecimal() else 100
    with tempfile.TemporaryDirectory() as temporary:
        folder = kept or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        trace, page = folder / "large.jsonl", folder / "large.html"
        runs = write_trace(trace, megabytes)
        print(
            f"trace                            {trace.stat().st_size / 1e6:6.0f} MB, {runs:,} runs"
        )
        for name, command in {
            "njc trace FILE": [str(trace)],
            "njc trace FILE --html": [str(trace), "--html", str(page)],
        }.items():
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "njc", "trace", *command],
                check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900,
            )  # fmt: skip
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(
                f"{name:32} {time.perf_counter() - began:6.1f} s, at most {peak:.0f} MB of memory"
            )
        print(f"page                             {page.stat().st_size / 1e6:6.1f} MB")
        if find_chromium():
            measure_page(page, kept)
        else:
            print("no Chromium is installed: loading and scrolling are not measured")


if __name__ == "__main__":
    main()
