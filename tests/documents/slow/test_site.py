"""The documentation site: what is made from the product is whole, and broken links are found."""

from __future__ import annotations

from pathlib import Path

import build_site
import pytest
from build_site import Page, find_broken_links, format_navigation, prepare_page, read_sections
from fences import ROOT
from reference import PAGES, write_reference

import njrt
from njc.commands import COMMANDS
from njc.commands import njc as njc_command
from njc.compiler.frontend.diagnostics import SEVERITIES
from spsbench.cli import main as spsbench


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the text of each page of the reference, by the name of its file."""
    folder = tmp_path_factory.mktemp("reference") / "pages"
    assert [Path(file).stem for _, file, _ in write_reference(folder)] == [*PAGES]
    return {path.stem: path.read_text() for path in folder.iterdir()}


def test_the_operations_of_both_effect_sets_are_there(reference: dict[str, str]) -> None:
    sections = dict(part.split("\n", 1) for part in reference["effects"].split("\n## ")[1:])
    assert [*sections] == ["answer", "direct"]
    assert "`run(code, done)`" in sections["direct"]


def test_every_command_is_there_with_its_options(reference: dict[str, str]) -> None:
    for name in COMMANDS:
        assert f"### njc {name}\n" in reference["commands"]
    for name in spsbench.commands:
        assert f"### spsbench {name}\n" in reference["commands"]
    build = njc_command.get_command(None, "build")  # type: ignore[arg-type]
    assert build is not None
    assert all(
        parameter.opts[-1] in reference["commands"]
        for parameter in build.params
        if parameter.opts[0][0] == "-"
    )


def test_every_public_name_is_there(reference: dict[str, str]) -> None:
    missing = [
        name
        for name in njrt.__all__
        if f"njrt.{name}" not in reference["api"] and f".{name}\n" not in reference["api"]
    ]
    assert missing == []


def test_the_literal_prompts_are_those_that_the_guide_shows(reference: dict[str, str]) -> None:
    """docs/reference/authority.md shows two of them, which tests/test_literal_prompts.py compares with a run."""
    guide = (ROOT / "docs/reference/authority.md").read_text()
    shown = [part.split("\n```")[0] for part in guide.split("```text\n")[1:]]
    assert len(shown) >= 4
    for text in shown:
        assert text.split("\n\nExample:")[0] in reference["prompts"]


def test_every_code_has_its_anchor(reference: dict[str, str]) -> None:
    assert all(f"\n## {code}: " in reference["diagnostics"] for code in SEVERITIES)


# ── Navigation and links ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("https://example.org/ada/njc.git", "https://example.org/ada/njc"),
        ("https://ada:secret@example.org/ada/njc", "https://example.org/ada/njc"),
        ("git@example.org:ada/njc.git", "https://example.org/ada/njc"),
        ("ssh://git@example.org/ada/njc/", "https://example.org/ada/njc"),
        ("/srv/njc", ""),
        ("", ""),
    ],
)
def test_the_repository_is_the_origin_of_the_clone(origin: str, address: str) -> None:
    assert build_site.format_repository(origin) == (f'repo_url = "{address}"\n' if address else "")


def test_every_page_of_the_navigation_exists_and_is_listed_once() -> None:
    index = (ROOT / "docs/index.md").read_text()
    files = [page.file for _, pages in read_sections(index) for page in pages]
    assert len(files) == len(set(files))
    assert [file for file in files if not (ROOT / "docs" / file).exists()] == []
    assert all(page.summary for _, pages in read_sections(index) for page in pages)


def test_a_page_that_is_not_listed_gets_its_first_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paths = [tmp_path / name for name in ("index.md", "b.md", "new.md")]
    for path in paths:
        path.write_text("# New things\n\nWhat is\nnew. And more.\n")
    monkeypatch.setattr(build_site, "DOCS", tmp_path)
    assert list(build_site.find_unlisted("# x\n\n## A\n\n- [B](b.md): b\n", paths)) == [
        Page("New things", "new.md", "What is new.")
    ]


def test_entries_are_added_to_a_section() -> None:
    index = "# x\n\n## A\n\n- [B](b.md): b\n\n## C\n\n- [D](d.md): d\n"
    added = build_site.add_entries(index, "A", [Page("E", "e.md", "e")])
    assert [len(pages) for _, pages in read_sections(added)] == [2, 1]
    assert build_site.add_entries(added, "C", []) == added


def test_the_navigation_is_that_of_the_home_page() -> None:
    index = "# x\n\n## One\n\n- [A](a.md): first\n  and more\n- [B](b.md): second\n\n## Two\n\n- [C](c.md): third\n"
    sections = dict(read_sections(index))
    assert sections["One"] == [Page("A", "a.md", "first and more"), Page("B", "b.md", "second")]
    assert '{ "Two" = [{ "C" = "c.md" }] }' in format_navigation(sections)


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("[a](language.md#options)", "[a](language.md#options)"),
        ("[a](../SECURITY.md)", "[a](security.md)"),
        ("[a](../SECURITY.md#approval)", "[a](security.md#approval)"),
        ("[a](../examples/tickets.njpy)", "[a](files/examples/tickets.njpy.txt)"),
        ("[a](../examples)", "a"),
        ("[a](https://example.org/x)", "[a](https://example.org/x)"),
        ("[a](#here)", "[a](#here)"),
        ("[a](no.md)", "[a](no.md)"),
        ("<!-- not run: x -->\n```console\nx\n```\n", "```console\nx\n```\n"),
        ("<!-- python\nx = 1\n-->\ntext\n", "text\n"),
    ],
)
def test_a_page_is_prepared(
    text: str, prepared: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build_site, "SOURCE", tmp_path)
    assert prepare_page(text, ROOT / "docs" / "x.md") == prepared


@pytest.mark.parametrize(
    ("page", "problems"),
    [
        ('<a href="b.html">', 0),
        ('<a href="b.html#there">', 0),
        ('<a href="b.html#nowhere">', 1),
        ('<a href="c.html">', 1),
        ('<img src="c.png">', 1),
        ('<p id="x"><a href="#x">', 0),
        ('<a href="#y">', 1),
        ('<a href="sub/">', 0),
        ('<a href="https://example.org/c.html">', 0),
    ],
)
def test_broken_links_are_found(page: str, problems: int, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/index.html").touch()
    (tmp_path / "b.html").write_text('<h2 id="there">')
    (tmp_path / "a.html").write_text(page)
    assert len(list(find_broken_links(tmp_path))) == problems
