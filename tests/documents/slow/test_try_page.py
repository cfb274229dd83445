"""The page "Try it" in Chromium: what is typed is compiled, and replies change the program as at run time.

The site is built and served from a loopback server, with Pyodide as npm's registry and PyPI have it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import try_program
from fences import ROOT
from try_page import EXAMPLES, vendor_pyodide

from chromium import Chromium, find_chromium
from njc.compiler.frontend.diagnostics import SEVERITIES

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium is installed"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed"),
    pytest.mark.timeout(600),
]

BUILD = """\
import sys, build_site
from pathlib import Path
build_site.SOURCE, build_site.SITE = Path(sys.argv[1], "docs"), Path(sys.argv[1], "site")
build_site.main()
"""
ENDLESS = '''\
def judge(letter: str) -> str:
    """natural
    Put into <:kind: str> what <letter> is.
    """
    return kind


while judge("Hello") == "again":
    pass
while True:
    pass
'''


SCREENS = [(1300, False), (375, True)]


class Site(SimpleHTTPRequestHandler):
    """Serves the site, and a model at /v1."""

    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        """Answer as an OpenAI-compatible server."""
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        message = {"role": "assistant", "content": '{"topic": "prizes"}'}
        body = json.dumps({"choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    vendor_pyodide()
    folder = tmp_path_factory.mktemp("try")
    subprocess.run(
        [sys.executable, "-c", BUILD, folder], check=True, timeout=300, cwd=ROOT / "docs" / "site"
    )
    return folder / "site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    Site.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class TryPage:
    """The page in a browser."""

    def __init__(self, browser: Chromium, address: str) -> None:
        self.browser, self.address = browser, address
        self.open(f"{address}/try.html")

    def open(self, url: str) -> None:
        self.browser.send("Page.navigate", url="about:blank")
        self.browser.wait_for("location.href == 'about:blank'")
        self.browser.send("Page.navigate", url=url)
        self.settle(120)

    def settle(self, timeout: float = 60) -> None:
        self.browser.wait_for("document.body && document.body.dataset.try == 'done'", timeout)

    def read(self, name: str) -> str:
        text = self.browser.evaluate(f"document.getElementById('try-{name}').innerText")
        assert isinstance(text, str)
        return text.strip()

    def type(self, name: str, text: str, event: str = "input") -> None:
        state = "" if name in ("reply", "server") else "document.body.dataset.try = 'typing';"
        self.browser.evaluate(
            f"((node) => {{ {state} node.value = {json.dumps(text)}; node.dispatchEvent(new Event('{event}')) }})"
            f"(document.getElementById('try-{name}'))"
        )
        self.settle()

    def click(self, name: str) -> None:
        self.browser.evaluate(f"document.getElementById('try-{name}').click()")
        self.settle()

    def reply(self, text: str) -> None:
        self.type("reply", text)
        self.click("send")

    def reply_as_recorded(self) -> None:
        self.browser.evaluate("document.querySelector('.try-exact').click()")
        self.click("send")

    def check(self) -> None:
        """Nothing is loaded from elsewhere, nothing is wider than a screen or a phone, nothing is wrong in the log."""
        loaded = self.browser.evaluate(
            "performance.getEntriesByType('resource').map((e) => e.name)"
        )
        assert [url for url in loaded if not url.startswith((self.address, "blob:"))] == []
        for width, dark in SCREENS:
            self.browser.set_screen(width, 800, dark)
            self.browser.wait_for(f"innerWidth == {width}")
            root = "document.documentElement"
            assert self.browser.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
        assert self.browser.find_complaints() == []


@pytest.fixture(scope="module")
def opened(address: str) -> Iterator[TryPage]:
    """Yield the page in one browser, as Python takes seconds to start in each."""
    with Chromium(1300, 800) as browser:
        yield TryPage(browser, address)


@pytest.fixture
def page(opened: TryPage) -> Iterator[TryPage]:
    """Yield the page with its first example, and check it on all screens."""
    opened.browser.set_screen(1300, 800, False)
    opened.type("example", "mailbox", "change")
    yield opened
    opened.check()


def test_a_reader_plays_the_model(page: TryPage) -> None:
    assert "effects  answer (decision)\nbecause  its outputs are data" in page.read("blocks")
    assert "except _nj.Continue:" in page.read("compiled")
    assert "You are a function in a Python program" in page.read("prompt")
    page.reply('{"topic": "poems"}')
    assert page.read("steps").count("refused:") == 1
    page.reply('{"topic": "prizes"}')
    assert "topic: str = 'prizes'" in page.read("steps")
    page.reply("```python\ncontinue\n```")
    assert "continued" in page.read("steps")
    page.reply('{"topic": "bills"}')
    page.reply('self.folders["rent"].append(mail)')
    assert "KeyError: 'rent'" in page.read("steps")
    assert "KeyError: 'rent'" in page.read("prompt")
    page.click("back")
    assert "KeyError" not in page.read("prompt")
    page.reply("self.folders[topic].append(mail)")
    page.reply('{"topic": "prizes"}')
    page.reply("continue")
    assert page.read("place") == "The program has ended."
    assert page.read("printed").endswith("1 of 3 mails are worth reading")
    page.click("link")
    page.browser.wait_for("location.hash")
    link = page.browser.evaluate("location.href")
    page.type("source", "x = 1\n")
    assert "mails" not in page.read("printed")
    page.open(link)
    assert page.read("printed").endswith("1 of 3 mails are worth reading")


def test_the_recorded_replies_are_those_of_the_examples(page: TryPage) -> None:
    printed = {}
    for name in EXAMPLES:
        page.type("example", name, "change")
        for _ in range(10):
            if not page.browser.evaluate("document.querySelector('.try-exact') !== null"):
                break
            page.reply_as_recorded()
        printed[name] = page.read("printed")
    assert printed["mailbox"].endswith("2 of 3 mails are worth reading")
    assert "Line(article='three teapots', quantity=1)" in printed["order"]
    assert printed["citations"].endswith("paper 14 is now cited by [3, 8, 20]")
    assert printed["rules"].split("\n")[-1] == "['level', 'rotor', 'noon']"
    assert printed["findings"] == "Nothing yet"


def test_findings_follow_what_is_typed(page: TryPage) -> None:
    page.type("example", "findings", "change")
    assert page.read("findings").count("error NJ201") == 1
    assert (
        page.browser.evaluate("document.querySelector('#try-marks .error').textContent")
        == "<leter>"
    )
    assert page.read("place") == "The program does not run, because it has errors."
    source = page.browser.evaluate("document.getElementById('try-source').value")
    page.type("source", source.replace("<leter>", "<letter>"))
    assert "NJ201" not in page.read("findings")
    assert page.read("place").startswith("The block at findings.njpy:9 asks")
    page.type("source", source.replace("letters:", ":"))
    assert "error NJ001" in page.read("findings")
    page.type("source", "def f(:\n")
    assert "SyntaxError: invalid syntax" in page.read("printed")
    page.type("source", "x = '<img src=x onerror=document.title=1>'\nprint(x)\n")
    assert "<img" in page.read("printed")


def test_a_server_of_the_reader_is_asked(page: TryPage) -> None:
    Site.asked.clear()
    page.type("server", f"{page.address}/v1/")
    page.settle()
    page.browser.evaluate("document.getElementById('try-ask').click()")
    page.browser.wait_for("document.getElementById('try-reply').value")
    page.click("send")
    assert "topic: str = 'prizes'" in page.read("steps")
    (asked,) = Site.asked
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert asked["response_format"]["type"] == "json_schema"


def test_an_endless_program_is_stopped(page: TryPage) -> None:
    page.type("source", ENDLESS)
    page.reply('{"kind": "again"}')
    page.reply('{"kind": "letter"}')
    page.browser.wait_for("document.body.dataset.try == 'done'", 60)
    page.browser.wait_for("document.getElementById('try-place').innerText.includes('taken back')")
    assert page.read("steps").count("completed") == 1
    page.reply('{"kind": "again"}')
    assert page.read("steps").count("completed") == 2


def test_programs_with_asyncio_run(page: TryPage) -> None:
    page.type("source", (ROOT / "examples" / "tickets.njpy").read_text())
    for team in ("billing", "shipping", "technical"):
        page.reply(json.dumps({"team": team}))
    assert page.read("printed").startswith("billing    I was charged twice")


def test_every_finding_links_to_its_explanation(site: Path) -> None:
    anchors = (site / "reference/diagnostics.html").read_text(encoding="utf-8")
    assert [
        code for code in SEVERITIES if f'id="{try_program.make_anchor(code)}"' not in anchors
    ] == []
