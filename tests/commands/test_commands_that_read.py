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
COMMANDS = [
    ["build", "--check"],
    ["check"],
    ["check", "--output-format", "json"],
    ["build", "--clean"],
    ["doctor"],
    ["explain", "NJ201"],
    ["lock"],
    ["run", "src/main.njpy"],
    ["show", "src/shop/mail.njpy"],
    ["show", "--stage", "lower", "src/shop/mail.njpy"],
    ["trace", "trace.jsonl"],
]


def read_project(folder: Path) -> dict[str, bytes]:
    """Return the project's files, without the copy for type checkers and compiled bytecode."""
    return {
        os.path.relpath(file, folder): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and not {".njc_types", "__pycache__"} & {*file.parts}
    }


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_project_is_left_as_it_was(here: Workplace, words: list[str]) -> None:
    here.write(PROJECT)
    before = read_project(here.folder)
    for _ in range(2):  # a second run finds what the first one has left
        assert here.njc(*words).exit_code in (0, 1, 2)
    assert read_project(here.folder) == before


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["store", "usage"], 0),
        (["store", "usage", "--json"], 0),
        (["store", "cache"], 0),
        (["store", "clear"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_store_that_does_not_exist_is_not_created(
    here: Workplace, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int
) -> None:
    place = here.folder / "no folder" / "store.sqlite3"
    monkeypatch.setenv("NJC_STORE", str(place))
    result = here.njc(*words)
    assert result.exit_code == code
    assert str(place) in result.stdout + result.stderr
    assert not place.parent.exists()
