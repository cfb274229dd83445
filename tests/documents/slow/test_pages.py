"""Every block of code in README and docs is run, checked by another test, or says why not."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from build_site import list_pages
from fences import ROOT, Fence, read_fences
from page_runner import PageRunner, split_session

from njc.commands import njc
from njc.commands.init import fill_templates
from spsbench.cli import main as spsbench

PAGES = [
    *sorted(ROOT.glob("*.md")),
    *list_pages(),
    ROOT / "njc/skill/SKILL.md",
]


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PageRunner:
    """Return an empty folder that is the working directory and first on sys.path; no model, no key."""
    for name in os.environ:
        if name.startswith(("NJC_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return PageRunner(tmp_path)


def run_page(page: Path, runner: PageRunner) -> None:
    if page.name == "SKILL.md":  # for a project that is there
        values = {"name": "shop", "version": "0", "runtime": "njpy-runtime", "njpy": "njpy"}
        for path, text in fill_templates(values).items():
            (runner.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (runner.folder / path).write_text(text)
    for fence in read_fences(page):
        try:
            runner.run(fence)
        except Exception as error:
            error.add_note(f"in the block at {fence}")
            raise


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_the_blocks_of_the_page_run(page: Path, runner: PageRunner) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]  # of another test, and not the one of the page
    loaded = set(sys.modules)
    try:
        run_page(page, runner)
    finally:
        for name in set(sys.modules) - loaded:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(str(runner.folder)):
                del sys.modules[name]


# ── What is not run ──────────────────────────────────────────────────────────────────────────────

FENCES = [fence for page in PAGES for fence in read_fences(page)]
NOT_RUN = [fence for fence in FENCES if fence.reason]
MOST_NOT_RUN = 60
"""Most of them ask a model or are parts of a longer text; raise it only for those."""


def test_few_blocks_are_not_run() -> None:
    assert len(NOT_RUN) <= MOST_NOT_RUN, [str(fence) for fence in NOT_RUN]


@pytest.mark.parametrize("fence", [fence for fence in NOT_RUN if fence.kind == "console"], ids=str)
def test_the_commands_that_are_not_run_and_their_options_exist(fence: Fence) -> None:
    """Commands of njc and spsbench; of others nothing is known."""
    for command, _ in split_session(fence.text):
        for words in re.split(r"\s(?:&&|--|\|)\s", command.partition(" #")[0]):
            assert list(find_unknown_options(words)) == [], command


def find_unknown_options(command: str) -> Iterator[str]:
    """Yield the name of a command, or the options, that do not exist."""
    words = command.replace("[", " ").replace("]", " ").split()
    names = [word for word in words if word in ("njc", "spsbench")]
    if not names:
        return
    group: click.Command = {"njc": njc, "spsbench": spsbench}[names[0]]
    words = words[words.index(names[0]) + 1 :]
    options = {"-h", "--help"}
    while isinstance(group, click.Group) and words:
        options |= {name for parameter in group.params for name in parameter.opts}
        found = group.get_command(click.Context(group), words[0])
        if found is None:
            yield words[0]
            return
        group, words = found, words[1:]
    options |= {name for parameter in group.params for name in parameter.opts}
    options |= {name for parameter in group.params for name in parameter.secondary_opts}
    for word in words:
        name = word.partition("=")[0]
        if name.startswith("-") and name not in options and name[:2] not in options:
            yield name


# ── The runner itself ────────────────────────────────────────────────────────────────────────────

RIGHT = {
    "python in one namespace": "```python\nx = 1\n```\n\n```python\nassert x == 1\n```\n",
    "output of python": '```python\nprint("a b c")\n```\n\n<!-- output -->\n```text\na ... c\n```\n',
    "a natural block": '```python\ndef f(x):\n    """natural\n    Return <x>.\n    """\n```\n\n'
    '```python\nimport njrt\nwith njrt.using(model=njrt.Scripted(["```python\\nreturn x\\n```"], '
    "protocol='text')):\n    assert f(3) == 3\n```\n",
    "hidden python": "<!-- python\nx = 1\n-->\n```python\nassert x == 1\n```\n",
    "a file": "<!-- file: a/b.txt -->\n```text\nhere\n```\n\n```console\n$ cat a/b.txt\nhere\n```\n",
    "a session": "```console\n$ export A=b\n$ mkdir c\n$ cd c\n$ echo $A \\\n  d\nb d\n```\n",
    "an exit status": "<!-- exit 3 -->\n```console\n$ exit 3\n```\n",
    "in a list": "- one\n\n  ```python\n  x = 1\n  ```\n",
    "lines of JSON": '```json\n{"a": 1}\n{"b": 2}\n```\n',
    "settings": "```toml\n[tool.njc]\nsrc = 'src'\n```\n",
    "checked elsewhere": "<!-- checked by tests/documents/slow/test_pages.py -->\n```text\nx\n```\n",
}
WRONG = {
    "an exception": "```python\n1 / 0\n```\n",
    "a finding": '```python\n"""natural\nRead <nothing> into <:n: int>.\n"""\n```\n',
    "another output of python": "```python\nprint(1)\n```\n\n<!-- output -->\n```text\n2\n```\n",
    "another output": "```console\n$ echo a\nb\n```\n",
    "an output that is indented": "```console\n$ echo '  a'\na\n```\n",
    "a status": "```console\n$ false\n```\n",
    "no error where one is announced": "<!-- exit 1 -->\n```console\n$ true\n```\n",
    "the first of two": "<!-- exit 1 -->\n```console\n$ false\n$ false\n```\n",
    "an unknown command": "```console\nnjc chekc\n```\n",
    "a key that does not exist": "```toml\n[tool.njc]\nsrcs = 'src'\n```\n",
    "not TOML": "```toml\na = \n```\n",
    "not JSON": "```json\n{'a': 1}\n```\n",
    "a text that nobody checks": "```text\nx\n```\n",
    "an indented block": "Text:\n\n    njc check\n",
    "a language without a test": "```rust\nfn main() {}\n```\n",
    "a test that does not exist": "<!-- checked by tests/no.py -->\n```text\nx\n```\n",
    "a test of another page": "<!-- checked by tests/slow/test_examples.py -->\n```text\nx\n```\n",
    "a mark with a word between": "<!-- not run: x -->\nA word.\n\n```text\nx\n```\n",
    "a mark that is misspelt": "<!-- not runn: x -->\n```text\nx\n```\n",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT.keys())
def test_a_right_page_passes(text: str, runner: PageRunner) -> None:
    page = runner.folder / "test_pages.py.md"
    page.write_text(text)
    run_page(page, runner)


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_page_fails_with_its_line(text: str, runner: PageRunner) -> None:
    page = runner.folder / "page.md"
    page.write_text(text)
    with pytest.raises(Exception, match=r".") as caught:
        run_page(page, runner)
    assert f"{page}:" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("command", "unknown"),
    [
        ("njc build src -o out --mode static", []),
        ("njc build --mod static", ["--mod"]),
        ("njc bild", ["bild"]),
        ("NJC_MODE=static njc run -q prog.njpy", []),
        ("spsbench run --methods all --no-such", ["--no-such"]),
        ("pip install x --upgrade", []),
    ],
)
def test_options_are_looked_up(command: str, unknown: list[str]) -> None:
    assert list(find_unknown_options(command)) == unknown
