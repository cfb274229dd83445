"""README and docs: their programs compile, their tables are complete, their links lead somewhere."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from build_site import list_pages

import njrt
from njc.commands import njc as njc_command
from processes import run_python

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *list_pages()]
README = (ROOT / "README.md").read_text()
LANGUAGE = (ROOT / "docs" / "reference" / "language.md").read_text()
BUILDING = (ROOT / "docs" / "reference" / "building.md").read_text()


def listings(text: str, kind: str = "python") -> list[str]:
    """Return the code in fences of a kind; a fence without one has the kind ``."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [body for its_kind, body in fences if its_kind == kind]


# ── README ───────────────────────────────────────────────────────────────────────────────────────


SHOPPING = ROOT / "compiled_out" / "examples" / "shopping.py"
INDEX = (ROOT / "docs" / "index.md").read_text()


def test_the_program_at_the_top_is_the_example_and_its_compiled_form() -> None:
    program, compiled = listings(README)
    assert (ROOT / "examples" / "shopping.njpy").read_text() == program
    assert listings(INDEX) == [program]
    assert compiled in SHOPPING.read_text()


def test_the_program_at_the_top_prints_the_output_at_the_top() -> None:
    recording = ROOT / "examples" / "recordings" / "shopping.jsonl"
    printed = run_python(
        str(SHOPPING), env=os.environ | {"NJC_RECORD": f"none:{recording}"}, check=True
    ).stdout
    assert [printed] == listings(README, "text") == listings(INDEX, "text")


def test_readme_is_short_with_the_output_on_its_first_screen() -> None:
    until_output = README.partition(listings(README, "text")[0])[0]
    assert len(until_output.splitlines()) < 40
    assert len(README.split()) <= 700


def test_the_figures_of_the_readme_are_those_of_the_project() -> None:
    text = " ".join(README.split())
    comparison = " ".join((ROOT / "docs" / "comparison.md").read_text().split())
    (ours,) = re.findall(
        r"a block over 100,000 objects takes one call of (\S+) prompt tokens", text
    )
    assert f"| | prompt tokens | {ours} | " in comparison.partition("100,000")[2]
    compiled = [path.read_text() for path in ROOT.glob("compiled_out/spsbench/*/natural.py")]
    blocks = sum(len(re.findall(r"_nj\.a?run\(", program)) for program in compiled)
    data = sum(
        len(re.findall(r'^ +effects="answer",$', program, re.MULTILINE)) for program in compiled
    )
    assert f"{data} of the {blocks} blocks of our [benchmark](" in text
    recording = ROOT / "examples" / "recordings" / "shopping.jsonl"
    replies = len(recording.read_text().splitlines()) - 1
    assert f"{replies} replies in {recording.stat().st_size / 1000:.1f} KB" in text


def test_every_page_is_in_the_index() -> None:
    docs = ROOT / "docs"
    linked = re.findall(r"\]\(([\w./-]*\.md)", (docs / "index.md").read_text())
    assert {*list_pages()} - {(docs / page).resolve() for page in linked} == {docs / "index.md"}


def find_short_pages() -> list[str]:
    """Return the pages of the guide: the first sections of the index."""
    guide = INDEX.partition("\n## From other tools")[0]
    return re.findall(r"^- \[[^]]+\]\(([\w.]+\.md)\)", guide, re.MULTILINE)


@pytest.mark.parametrize("page", find_short_pages())
def test_a_page_of_the_guide_is_short(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    code = r"<!--.*?-->|^(`{3,}).*?^\1$"
    assert len(re.sub(code, "", text, flags=re.DOTALL | re.MULTILINE).split()) <= 500


PROTECTION = r"By default, a model's code runs \[contained\]\([^)]*\) where possible; require it for text that you do not trust"
"""The sentence about protection on each page about production, tools and text of others."""


def list_pages_about_protection() -> list[Path]:
    """Return the pages of two sections of the guide, and those that name untrusted data."""
    sections = (section.split("\n", 1) for section in INDEX.split("\n## "))
    guide = "".join(rest for name, rest in sections if name in ("Permissions", "Ship"))
    listed = {(ROOT / "docs" / file).resolve() for file in re.findall(r"\]\(([^)#]+)\)", guide)}
    subject = re.compile(r"untrusted (?:input|text|data)|prompt injection", re.IGNORECASE)
    return [page for page in DOCUMENTS if page in listed or subject.search(page.read_text())]


@pytest.mark.parametrize("page", list_pages_about_protection(), ids=lambda page: page.name)
def test_a_page_about_production_says_what_code_may_do_by_default(page: Path) -> None:
    assert re.search(PROTECTION, " ".join(page.read_text().split()))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_rows_are_in_tables(document: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert re.match(r"\|.*\n\|[ :|-]+\|\n", table), table


def test_every_command_that_documents_name_exists() -> None:
    named = {
        name
        for document in DOCUMENTS
        if document.name != "CHANGELOG.md"  # which names commands that have left
        for name in re.findall(r"(?:^|[`$ ])njc ([a-z]+)\b(?=[ `])", "\n".join(code_in(document)))
    }
    assert named
    assert named <= set(njc_command.list_commands(None)) | {"build"}  # type: ignore[arg-type]


def code_in(document: Path) -> list[str]:
    text = document.read_text()
    indented = [line.strip() for line in text.splitlines() if line.startswith("    njc ")]
    return [*re.findall(r"`njc [^`]*`", text), *listings(text, "console"), *indented]


def test_every_make_target_that_documents_name_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for document in DOCUMENTS:
        for target in re.findall(r"(?:`|^ {4})make ([a-z][a-z-]*)", document.read_text(), re.M):
            assert re.search(rf"^{target}:", makefile, re.M), (document.name, target)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)", document.read_text()):
        assert not target or (document.parent / target).exists(), target


# ── docs/reference/language.md ───────────────────────────────────────────────────────────────────


def test_the_errors_of_the_reference_exist() -> None:
    named = re.findall(r"^\| `njrt\.(\w+)`", LANGUAGE, re.M)
    assert len(named) > 3
    assert all(issubclass(getattr(njrt, name), njrt.NaturalError) for name in named)


# ── docs/reference/building.md ──────────────────────────────────────────────────────────────────────────────


def test_the_call_that_is_shown_stands_in_a_compiled_file() -> None:
    shown = next(listing for listing in listings(BUILDING) if "_nj.run" in listing)
    assert shown in SHOPPING.read_text()
