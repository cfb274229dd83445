"""The natural programs of the repository, as documents, and features that every test of the language server asks."""

from __future__ import annotations

from pathlib import Path

from njc.language_server.documents import Document

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted([*ROOT.glob("examples/*.njpy"), *ROOT.glob("spsbench/programs/*/*.njpy")])


def name_program(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def open_program(file: Path) -> Document:
    return make_document(file.read_text(encoding="utf-8"))


def make_document(text: str, path: str = "mail.njpy") -> Document:
    return Document(f"file:///{path}", path, text)
