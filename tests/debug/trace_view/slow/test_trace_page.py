"""The page of `njc trace --html`: what is in it, that no text of a trace becomes a part of it, how it behaves."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chromium import Chromium, find_chromium
from njc.commands import njc as njc_command
from njc.debug.trace_view.index import Selection, read_index
from njc.debug.trace_view.page import SCRIPTS, TEMPLATES, write_page

ROOT = Path(__file__).parents[4]
FIRST, SECOND = (ROOT / "examples/traces" / name for name in ("mailbox.jsonl", "mailbox-2.jsonl"))

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


def read_data(page: str) -> Any:
    (text,) = (text for attributes, text in Elements(page).scripts if "id" in attributes)
    return json.loads(gzip.decompress(base64.b64decode(text)))


def write(target: Path, trace: Path, selection: Selection = Selection()) -> str:  # noqa: B008
    write_page(target, read_index(trace, selection.search), selection)
    return target.read_text()


def test_the_page_has_every_step_of_the_trace(tmp_path: Path) -> None:
    data = read_data(write(tmp_path / "t.html", FIRST))
    index = read_index(FIRST)
    assert [(run["id"], run["start"], run["place"]) for run in data["runs"]] == [
        (run.id, run.start, run.place) for run in index.runs
    ]
    for run, shown in zip(index.runs, data["runs"], strict=True):
        steps = list(index.read_steps(run))
        assert [step["code"] for step in shown["steps"]] == [step.code for step in steps]
        assert [step["shown_text"] for step in shown["steps"]] == [it.shown_text for it in steps]
        assert [step["is_code"] for step in shown["steps"]] == [it.name == "Run" for it in steps]


def test_what_the_block_binds_did_not_come_in(tmp_path: Path) -> None:
    runs = read_data(write(tmp_path / "t.html", FIRST))["runs"]
    names = [[name for name, _ in run["inputs"]] for run in runs]
    assert names == [["mail"], ["topic", "mail", "self"]] * 3


def test_the_page_has_the_selected_runs(tmp_path: Path) -> None:
    page = write(tmp_path / "t.html", FIRST, Selection(search="continued"))
    assert [run["number"] for run in read_data(page)["runs"]] == [4]


def test_hostile_texts_add_nothing_to_the_page(tmp_path: Path, hostile: Path) -> None:
    harmless = write(tmp_path / "a.html", FIRST)
    page = write(tmp_path / "b.html", hostile)
    assert Elements(page).tags == Elements(harmless).tags
    assert "pwned" not in re.sub(r"<(h1|title)>.*?</\1>", "", page)
    assert "<img" not in page
    assert f"{HOSTILE[3]}-3" in {run["id"] for run in read_data(page)["runs"]}


def test_the_policy_of_the_page_allows_its_own_script_only(tmp_path: Path) -> None:
    page = write(tmp_path / "t.html", FIRST)
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)
    (script,) = [text for attributes, text in Elements(page).scripts if not attributes]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert (
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" in policy[1]
    )
    assert policy[1].endswith(f"script-src 'sha256-{digest}'")
    assert not re.search(r"https?://", page)


@pytest.mark.parametrize("name", SCRIPTS)
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
  for (let turn = 0; turn < 30; turn++) {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    await wait();
    document.querySelectorAll("#detail details").forEach((details) => { details.open = true; });
  }
  document.querySelector(".close").click();
  await wait();
})()
"""


@needs_browser
def test_hostile_texts_do_nothing_in_a_browser(tmp_path: Path, hostile: Path) -> None:
    write(tmp_path / "one.html", hostile)
    with Chromium() as browser:
        browser.open(tmp_path / "one.html")
        browser.wait_for(IS_READY)
        browser.evaluate(CLICK_EVERYTHING)
        assert browser.evaluate("window.pwned === undefined")
        assert (
            browser.evaluate("document.querySelectorAll('img, iframe, svg, base, a').length") == 0
        )
        rows = browser.evaluate("document.getElementById('list').textContent")
        assert "onerror=window.pwned=1" in rows
        assert browser.find_complaints() == []


SIZES = [(1280, 800), (400, 800)]


@needs_browser
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_page_shows_searches_and_filters(tmp_path: Path, size: tuple[int, int]) -> None:
    write(tmp_path / "one.html", SECOND)
    with Chromium(*size, dark=True) as browser:
        read: Callable[[str], Any] = browser.evaluate

        def count_rows(expected: int) -> None:
            browser.wait_for(f"document.querySelectorAll('.row').length === {expected}")

        browser.open(tmp_path / "one.html")
        browser.wait_for(IS_READY)
        assert read("document.documentElement.scrollWidth") == size[0]
        count_rows(2)
        rows = read("[...document.querySelectorAll('.row')].map((row) => row.textContent)")
        assert rows[0].startswith("mailbox.njpy:14mail='Can we talk about the …topic='meetings'")
        names = "[...document.querySelectorAll('.row .name')]"
        assert read(f"{names}.every((name) => name.scrollWidth <= name.clientWidth)")
        bars = (
            "[...document.querySelectorAll('.row')].map((row) => row.querySelectorAll('i').length)"
        )
        assert read(bars) == [3, 5]
        read("document.querySelectorAll('.row')[1].click()")
        browser.wait_for("!document.getElementById('detail').hidden")
        shown = read("document.getElementById('detail').textContent")
        assert "mails.append(mail)" in shown
        assert "`break` is not possible here" in shown
        prose = "document.querySelector('#detail .prose')"
        assert read(f"{prose}.textContent").startswith('Continue if <topic> is "prizes".')
        assert read(f"{prose}.children.length") == 0, "prose is not coloured as code"
        came_in, result = "'#detail .sides > :first-child'", "'#detail .sides > :last-child'"
        tops = f"[{came_in}, {result}].map((it) => document.querySelector(it).offsetTop)"
        assert len(set(read(tops))) == 1, "the result is beside the inputs"
        assert "mail" in read(f"document.querySelector({came_in}).textContent")
        read("document.querySelector('.close').click()")
        for name, expected in {"refusals": 1, "unchanged": 0}.items():
            read(f"document.getElementById('{name}').click()")
            count_rows(expected)
            read(f"document.getElementById('{name}').click()")
        one = "1 of 2 runs"
        for text, found in {"MAILS.append": one, "LOCAL": "", "mailbox.njpy:17": one}.items():
            read(
                f"document.getElementById('search').value = '{text}';"
                "document.getElementById('search').dispatchEvent(new Event('input', { bubbles: true }))"
            )
            browser.wait_for(f"document.getElementById('found').textContent === '{found}'")
        assert browser.find_complaints() == []


@needs_browser
def test_a_long_trace_is_shown_in_parts(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in FIRST.read_text().splitlines()]
    many = (line | {"run": f"{line['run']}-{copy}"} for copy in range(200) for line in lines)
    trace = tmp_path / "many.jsonl"
    trace.write_text("".join(json.dumps(line) + "\n" for line in many))
    write(tmp_path / "many.html", trace)
    with Chromium() as browser:
        browser.open(tmp_path / "many.html")
        browser.wait_for(IS_READY)
        for expected in (500, 1000, 1200):
            browser.wait_for(f"document.querySelectorAll('.row').length === {expected}")
            browser.evaluate("document.getElementById('more').click()")
        assert browser.evaluate("document.getElementById('more').hidden")
        assert browser.find_complaints() == []
