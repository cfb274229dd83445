"""The natural programs of the repository, as documents, and features that every test of the language server asks."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from njc.editors.lsp.texts.documents import Document

ROOT = Path(__file__).parents[3]
PROGRAMS = sorted([*ROOT.glob("examples/*.njpy"), *ROOT.glob("spsbench/programs/*/*.njpy")])


def name_program(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def open_program(file: Path) -> Document:
    return make_document(file.read_text(encoding="utf-8"))


def make_document(text: str, path: str = "mail.njpy") -> Document:
    return Document(f"file:///{path}", path, text)


PIECES = (
    *("<", ">", ":", "<x>", "<:y>", "<:z: int>", "<self.", "<<", '"""', "'''", "natural"),
    *("(", ")", "{", "}", "\\", "\n", "\r\n", "\t", "    ", " ", ";", "#", "x", "1", ".", ","),
    *("# njc: ignore[NJ201]\n", "global x\n", "pass\n", "é", "😀", "\u2028", '"""natural\n'),
    *("def f():\n", "    return 1\n", "class A:\n", "f'{x}'", "break ", "\f"),
)


def edit_at_random(text: str, count: int, generator: random.Random) -> Iterator[str]:
    """Texts that differ by one edit each: pieces are inserted and deleted, often taken back, half of them in prompts."""
    original = text
    for _ in range(count):
        if generator.random() < 0.3:
            text = original
        places = [match.start() for match in re.finditer(r"[<>:\"]|\n", text)] or [0]
        at = generator.choice(places) + generator.randrange(3)
        if generator.random() < 0.3:
            at = generator.randrange(len(text) + 1)
        at = min(at, len(text))
        if generator.random() < 0.5:
            text = text[:at] + generator.choice(PIECES) + text[at:]
        else:
            text = text[:at] + text[at + generator.choice((1, 1, 1, 2, 5, 30)) :]
        yield text
