"""Commands that report on a project leave every file of it as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from workplace import GREETING, Workplace

PROJECT = {
    "pyproject.toml": '[tool.njc]\nsrc = "src"\nout = "out"\n',
    ".gitignore": ".venv/\nout/\n",
    ".gitattributes": "* text=auto\n",
    ".editorconfig": "root = true\n",
    "mypy.ini": "[mypy]\n",
    "src/.gitignore": "*.log\n",
    "src/shop/__init__.py": "",
    "src/shop/mail.njpy": GREETING,
    "src/plain.py": "x = 1\n",
    "src/main.njpy": "print('done')\n",
    "trace.jsonl": '{"event": "ended"\n',
}
COMMANDS = {
    "build --check": 1,
    "check": 0,
    "check --output-format json": 0,
    "build --clean": 0,
    "doctor": 2,
    "explain NJ201": 0,
    "lock": 0,
    "run src/main.njpy": 0,
    "show src/shop/mail.njpy": 0,
    "show --stage lower src/shop/mail.njpy": 0,
    "trace trace.jsonl": 2,
}
"""Each with its exit code."""


def read_project(folder: Path) -> dict[str, bytes]:
    """Return the project's files, without the copy for type checkers and compiled bytecode."""
    return {
        os.path.relpath(file, folder): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and not {".njc_types", "__pycache__"} & {*file.parts}
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_the_project_is_left_as_it_was(here: Workplace, command: str) -> None:
    here.write(PROJECT)
    before = read_project(here.folder)
    for _ in range(2):  # a second run finds what the first one has left
        here.njc(*command.split(), code=COMMANDS[command])
    assert read_project(here.folder) == before


@pytest.mark.parametrize("words", ["usage", "usage --json", "cache", "clear"])
def test_a_store_that_does_not_exist_is_not_created(
    here: Workplace, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    place = here.folder / "no folder" / "store.sqlite3"
    monkeypatch.setenv("NJC_STORE", str(place))
    result = here.njc("store", *words.split())
    assert str(place) in result.stdout + result.stderr
    assert not place.parent.exists()
