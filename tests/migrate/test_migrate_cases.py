"""Programs for nightjarpy in tests/cases/migrate: NAME.py, what becomes of it in NAME.njpy, what is said in NAME.txt.

`pytest --update-cases` writes what comes out today into the expected files.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from njc.frontend.source import SourceFile
from njc.migrate.gathering import Remark
from njc.migrate.program import LeftAlone, Migration, migrate_program

CASES = Path(__file__).parents[1] / "cases" / "migrate"
NAMES = sorted(file.stem for file in CASES.glob("*.py"))


def migrated(name: str, data: bytes) -> Migration:
    migration = migrate_program(SourceFile(f"{name}.py", data), f"{name}.njpy")
    assert isinstance(migration, Migration)
    return migration


def said_of(migration: Migration) -> str:
    remarks = [f"old {remark.line}: {remark}" for remark in migration.remarks]
    remarks += [f"new {remark.line}: {remark}" for remark in migration.leftovers]
    found = migration.compilation.diagnostics
    remarks += [
        f"new {diagnostic.line}: {diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"
        for diagnostic in found
    ]
    return "".join(f"{remark}\n" for remark in remarks)


@pytest.mark.parametrize("name", NAMES)
def test_what_becomes_of_a_program_and_what_is_said(name: str, update_cases: bool) -> None:
    migration = migrated(name, (CASES / f"{name}.py").read_bytes())
    after, said = CASES / f"{name}.njpy", CASES / f"{name}.txt"
    if update_cases:
        after.write_bytes(migration.source.data)
        said.write_text(said_of(migration), encoding="utf-8")
    assert migration.source.data.decode() == after.read_bytes().decode()
    assert said_of(migration) == said.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_comment_is_kept(name: str) -> None:
    data = (CASES / f"{name}.py").read_bytes()
    comments = [line.partition("# ")[2] for line in data.decode().split("\n") if "# " in line]
    text = migrated(name, data).source.text
    assert [comment for comment in comments if f"# {comment}" not in text] == []


@pytest.mark.parametrize("name", NAMES)
def test_migrating_again_changes_nothing(name: str) -> None:
    data = (CASES / f"{name}.njpy").read_bytes()
    assert migrated(name, data).source.data.decode() == data.decode()


def test_line_ends_and_byte_order_mark_are_kept() -> None:
    before, after = (
        b"\xef\xbb\xbf" + (CASES / f"plain.{suffix}").read_bytes().replace(b"\n", b"\r\n")
        for suffix in ("py", "njpy")
    )
    assert migrated("plain", before).source.data == after


def test_a_file_that_is_not_python_is_said_to_be_none() -> None:
    said = migrate_program(SourceFile("x.py", b"import nightjarpy\ndef f(:\n"), "x.njpy")
    assert isinstance(said, Remark)
    assert said.line == 2
    assert said.message.startswith("not Python: ")


NATURAL = 'import nightjarpy as nj\n@nj.fn\ndef f(x):\n    """natural\n    Read <x>.\n    """\n'


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        ("# like nightjarpy\nx = 1\n", []),
        ('"""natural\n"""\nNAME = "nightjarpy"\n', None),
        ("import nightjarpy\n", ["1: `nightjarpy` is still imported"]),
        ("import nightjarpy as nj\nFAST = nj.DEFAULT_CONFIG\n", ["2: `nj.DEFAULT_CONFIG` is"]),
        ("from nightjarpy import NJ_TELEMETRY\nprint(NJ_TELEMETRY)\n", ["2: `NJ_TELEMETRY` is"]),
        ("from nightjarpy.utils import *\n", ["1: `from nightjarpy.utils import *` hides"]),
        ("from .nightjarpy import fn\n@fn\ndef f(): pass\n", []),
        ("import nightjarpy as nj\n@nj.fn\ndef f(): pass\n", None),
        ("import nightjarpy as nj\ndef f(): pass\nf = nj.fn(f)\n", None),
        (NATURAL, None),
    ],
)
def test_programs_without_natural_code_are_left_alone(text: str, remarks: list[str] | None) -> None:
    migration = migrate_program(SourceFile("x.py", text.encode()), "x.njpy")
    if remarks is None:
        assert isinstance(migration, Migration)
    else:
        assert isinstance(migration, LeftAlone)
        found = [f"{remark.line}: {remark.message}" for remark in migration.remarks]
        assert len(found) == len(remarks)
        assert all(line.startswith(words) for line, words in zip(found, remarks, strict=True))
