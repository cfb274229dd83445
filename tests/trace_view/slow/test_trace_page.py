"""The page of `njc trace --html`: what is in it, that no text of a trace becomes a part of it, how it behaves."""

from __future__ import annotations

import base64
import gzip
import hashlib
import itertools
import json
import re
from array import array
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chromium import Chromium, find_chromium
from njc.commands import njc as njc_command
from njc.runs.trace_view import page as page_module
from njc.runs.trace_view.index import Selection, read_index
from njc.runs.trace_view.page import RUN_COLUMN_TYPES, STEP_COLUMN_TYPES, write_page

ROOT = Path(__file__).parents[3]
FIRST, SECOND = (ROOT / "examples/traces" / name for name in ("mailbox.jsonl", "mailbox-2.jsonl"))
TEMPLATES = Path(page_module.__file__).parent / "templates"

HOSTILE = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "<!--<script>window.pwned=1",
    "--><img src=x onerror=window.pwned=1>",
    "]]><svg onload=window.pwned=1>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    '"\'><img src=x onerror="window.pwned=1">',
    "javascript:window.pwned=1",
    "${window.pwned=1}`+window.pwned=1+`",
    "{{ 7 * 7 }}{% raw %}",
    "');window.pwned=1;//\\",
    "\u2028window.pwned=1\u2029",
    "</style><style>*{display:none}</style>",
    "</title><base href='https://example.com'><meta http-equiv=refresh content=0>",
    "__proto__",
    "<a href=javascript:window.pwned=1 autofocus onfocus=window.pwned=1>x</a>",
    "&lt;img src=x onerror=window.pwned=1&gt;",
    "\x00\x1b\ud800\ufffe",
)
"""Texts that run or change something where they are put into a page without care."""


def make_hostile_lines() -> Iterator[dict[str, Any]]:
    """Yield a run for each hostile text, with that text in every field that can hold one."""
    for number, text in enumerate(HOSTILE):
        both = {"run": f"{text}-{number}", "at": f"2026-03-01T09:30:{number:02}.000000Z"}
        usage = {"input": 10, "output": 2, "usd": 0.5}
        call = {"id": text, "name": text, "code": [text], "arguments": {text: text}}
        yield both | {"event": "began", "place": text, "model": text, "effects": text, "tried": text,
                      "parent": text, "instruction": [text], "state": {text: text}}  # fmt: skip
        yield both | {"event": "asked", "turn": 1, "system": [text], "tools": [text],
                      "shown": [{"user": [text]}, {"results": [{"name": text, "text": [text]}]}, text]}  # fmt: skip
        yield both | {"event": "replied", "turn": 1, "seconds": 0.5, "model": text, "source": text,
                      "reply": {"text": [text], "calls": [call, text], "stop": text, "usage": usage}}  # fmt: skip
        yield both | {"event": "performed", "turn": 1, "seconds": 0.1, "effect": {"kind": text, "code": text},
                      "kind": "refusal", "result": text, "changes": {text: text}, "printed": text,
                      "prediction": {"expected": {text: text}, "mismatches": [text]}}  # fmt: skip
        yield both | {"event": "asked", "turn": 2, "shown": [text]}
        yield both | {"event": "unanswered", "turn": 2, "seconds": 0.1, "error": text}
        yield both | {"event": "ended", "seconds": 1, "outcome": text, "error": text, "printed": text,
                      "changes": {text: None, "x": text}}  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    trace = tmp_path / "<img src=x onerror=window.pwned=1>.jsonl"
    trace.write_text("".join(json.dumps(line) + "\n" for line in make_hostile_lines()))
    return trace


class Elements(HTMLParser):
    """The elements of a page, and the texts of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)


def unpack(text: str) -> bytes:
    return gzip.decompress(base64.b64decode(text))


def read_data(page: str) -> dict[str, bytes]:
    return {
        str(attributes["id"]): unpack(text)
        for attributes, text in Elements(page).scripts
        if "id" in attributes
    }


def write_both(target: Path, *traces: Path) -> str:
    write_page(target, [read_index(trace) for trace in traces], Selection())
    return target.read_text()


def test_the_page_has_every_step_of_the_trace(tmp_path: Path) -> None:
    data = read_data(write_both(tmp_path / "t.html", FIRST, SECOND))
    names = json.loads(data["names"])
    indexes = [read_index(FIRST), read_index(SECOND)]
    runs = [run for index in indexes for run in index.runs]
    steps = [step for index in indexes for run in index.runs for step in index.read_steps(run)]
    assert names["ids"] == [run.id for run in runs]
    columns, offset = {}, 0
    for kind, types, length in (("run", RUN_COLUMN_TYPES, len(runs)), ("step", STEP_COLUMN_TYPES, len(steps))):  # fmt: skip
        for name, code in types.items():
            column = array(code)
            end = offset + length * column.itemsize
            column.frombytes(data["columns"][offset:end])
            columns[f"{kind} {name}"], offset = list(column), end
    assert offset == len(data["columns"])
    assert columns["run start"] == [run.start for run in runs]
    assert columns["run refusals"] == [run.refusals for run in runs]
    assert columns["step start"] == [step.start for step in steps]
    chunks = [data[f"chunk-{number}"] for number in range(len(names["chunks"]))]
    texts = list(itertools.chain(*(json.loads(chunk) for chunk in chunks)))
    assert [text[1] for text in texts] == [step.code for step in steps]
    assert [text[6] for text in texts] == [step.shown_text for step in steps]


def test_texts_are_in_chunks_of_bounded_size(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in FIRST.read_text().splitlines()]
    many = [line | {"run": f"{line['run']}-{copy}"} for copy in range(120) for line in lines]
    trace = tmp_path / "many.jsonl"
    trace.write_text("".join(json.dumps(line) + "\n" for line in many))
    data = read_data(write_both(tmp_path / "t.html", trace))
    names = json.loads(data["names"])
    sizes = [len(text) for name, text in data.items() if name.startswith("chunk-")]
    assert len(sizes) == len(names["chunks"]) > 3
    assert max(sizes) < 1.3 * page_module.CHUNK_CHARS
    assert names["chunks"] == sorted(set(names["chunks"]))


def test_hostile_texts_add_nothing_to_the_page(tmp_path: Path, hostile: Path) -> None:
    harmless = write_both(tmp_path / "a.html", FIRST)
    page = write_both(tmp_path / "b.html", hostile)
    assert Elements(page).tags == Elements(harmless).tags
    assert "pwned" not in re.sub(r"<(h1|title)>.*?</\1>", "", page)
    assert "<img" not in page
    names = json.loads(read_data(page)["names"])
    assert names["ids"][3] == f"{HOSTILE[3]}-3"


def test_the_policy_of_the_page_allows_its_own_script_only(tmp_path: Path) -> None:
    page = write_both(tmp_path / "t.html", FIRST)
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)
    (script,) = [text for attributes, text in Elements(page).scripts if not attributes]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert (
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" in policy[1]
    )
    assert policy[1].endswith(f"script-src 'sha256-{digest}'")
    assert not re.search(r"https?://", page)


@pytest.mark.parametrize("name", ["data.js", "steps.js", "list.js", "page.js"])
def test_the_viewer_never_writes_html(name: str) -> None:
    forbidden = r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|srcdoc|DOMParser|location"
    assert re.findall(forbidden, (TEMPLATES / name).read_text()) == []


def test_only_the_user_can_read_the_page_and_an_old_one_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "t.html"
    target.write_text("mine")
    result = CliRunner().invoke(njc_command, ["trace", str(FIRST), "--html", str(target)])
    assert (result.exit_code, target.read_text()) == (2, "mine")
    target.write_text('<meta name="generator" content="njc">')
    result = CliRunner().invoke(njc_command, ["trace", str(FIRST), "--html", str(target)])
    assert (result.exit_code, result.stdout) == (0, "")
    assert target.stat().st_mode & 0o077 == 0
    assert [file.name for file in tmp_path.iterdir()] == ["t.html"]


def test_a_page_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(njc_command, ["trace", str(FIRST), "--html", str(tmp_path / "no/t.html")])  # fmt: skip
    assert result.exit_code == 2
    assert "cannot write" in result.stderr


# ── In a browser ─────────────────────────────────────────────────────────────────────────────────

needs_browser = pytest.mark.skipif(find_chromium() is None, reason="no Chromium is installed")
IS_READY = "document.documentElement?.dataset.ready && document.querySelector('.row')"
CLICK_EVERYTHING = """
(async () => {
  const wait = () => new Promise((resolve) => setTimeout(resolve, 12));
  await wait();
  document.getElementById("refusals").click();
  await wait();
  for (let turn = 0; turn < 60; turn++) {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    await wait();
    document.querySelectorAll("#detail details").forEach((details) => { details.open = true; });
  }
  const close = document.querySelector(".close");
  if (close) close.click();
  await wait();
})()
"""


@needs_browser
def test_hostile_texts_do_nothing_in_a_browser(tmp_path: Path, hostile: Path) -> None:
    write_both(tmp_path / "one.html", hostile)
    write_both(tmp_path / "two.html", hostile, FIRST)
    with Chromium() as browser:
        for name in ("one.html", "two.html"):
            browser.open(tmp_path / name)
            browser.wait_for(IS_READY)
            browser.evaluate(CLICK_EVERYTHING)
            assert browser.evaluate("window.pwned === undefined")
            assert (
                browser.evaluate("document.querySelectorAll('img, iframe, svg, base, a').length")
                == 0
            )
            assert "onerror=window.pwned=1" in browser.evaluate(
                "document.getElementById('rows').textContent"
            )
        assert browser.find_complaints() == []


@needs_browser
def test_the_page_shows_searches_and_filters(tmp_path: Path) -> None:
    write_both(tmp_path / "one.html", SECOND)
    write_both(tmp_path / "two.html", FIRST, SECOND)
    with Chromium(390, 844, dark=True) as browser:

        def count_rows(expected: int) -> None:
            browser.wait_for(
                f"document.querySelectorAll('.row:not([hidden])').length === {expected}"
            )

        browser.open(tmp_path / "one.html")
        browser.wait_for(IS_READY)
        assert browser.evaluate("document.documentElement.scrollWidth") == 390
        count_rows(2)
        browser.evaluate("document.querySelectorAll('.row .caret')[1].click()")
        count_rows(5)
        browser.evaluate("document.querySelectorAll('.row .name')[2].click()")
        browser.wait_for("!document.getElementById('detail').hidden")
        shown = browser.evaluate("document.getElementById('detail').textContent")
        assert "mails.append(mail)" in shown
        assert "`break` is not possible here" in shown
        browser.evaluate("document.querySelector('.close').click()")
        assert "→ topic='meetings'" in browser.evaluate(
            "document.getElementById('rows').textContent"
        )
        for name in ("jumps", "unchanged"):
            browser.evaluate(f"document.getElementById('{name}').click()")
            count_rows(0)
            browser.evaluate(f"document.getElementById('{name}').click()")
        one = "1 of 2 runs"
        for text, found in {"MAILS.append": one, "LOCAL": "", "mailbox.njpy:17": one}.items():
            browser.evaluate(
                f"document.getElementById('search').value = '{text}';"
                "document.getElementById('search').dispatchEvent(new Event('input', { bubbles: true }))"
            )
            browser.wait_for(f"document.getElementById('found').textContent === '{found}'")

        browser.open(tmp_path / "two.html")
        browser.wait_for(f"{IS_READY} && document.querySelector('.pair.first')")
        first = browser.evaluate("document.querySelector('.pair.first').textContent")
        assert first.startswith("effect 1 first difference")
        marked = "[...document.querySelectorAll('.pair.first .different')].map((line) => line.textContent)"
        assert "    self.folders[topic].append(mail)" in browser.evaluate(marked)
        assert browser.find_complaints() == []
