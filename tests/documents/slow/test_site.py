"""The documentation site: its navigation is whole, and so are the pages made from the product."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import build_site
import pytest
from build_site import list_pages, name_page, prepare_page
from fences import ROOT
from reference import PAGES

import njrt
from njc.commands import COMMANDS
from njc.commands import njc as njc_command
from njc.compiler.frontend.diagnostics import SEVERITIES
from spsbench.cli import main as spsbench


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    """Return the text of each page that is made from the product."""
    return {name: "\n".join(write()) for name, write in PAGES.items()}


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
        if f"njrt.{name}" not in reference["python"] and f".{name}\n" not in reference["python"]
    ]
    assert missing == []


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
    assert build_site.format_repository(origin) == address


def list_files(navigation: Any) -> Iterator[str]:
    """Yield the files of the navigation."""
    for entry in navigation:
        for inner in entry.values():
            yield from [inner] if isinstance(inner, str) else list_files(inner)


def test_every_page_is_once_in_the_navigation_and_on_the_first_page() -> None:
    settings = tomllib.loads((ROOT / "docs/site/zensical.toml").read_text(encoding="utf-8"))
    files = [*list_files(settings["project"]["nav"])]
    pages = {*map(name_page, list_pages()), *build_site.OTHER_PAGES.values()}
    made = {f"reference/{name}.md" for name in PAGES}
    assert sorted(files) == sorted(pages | made)
    index = prepare_page((ROOT / "docs/index.md").read_text(), ROOT / "docs/index.md", "")
    assert {*re.findall(r"^- \[[^]]+\]\(([^)#]+)\)", index, re.MULTILINE)} >= pages - {"index.md"}


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("[a](language.md#options)", "[a](language.md#options)"),
        ("[a](../SECURITY.md)", "[a](security.md)"),
        ("[a](../SECURITY.md#approval)", "[a](security.md#approval)"),
        (
            "[a](../examples/tickets.njpy)",
            "[a](https://example.org/x/blob/HEAD/examples/tickets.njpy)",
        ),
        ("[a](https://example.org/x)", "[a](https://example.org/x)"),
        ("[a](#here)", "[a](#here)"),
        ("[a](no.md)", "[a](no.md)"),
        ("<!-- not run: x -->\n```console\nx\n```\n", "```console\nx\n```\n"),
        ("<!-- python\nx = 1\n-->\ntext\n", "text\n"),
    ],
)
def test_a_page_is_prepared(text: str, prepared: str) -> None:
    page = ROOT / "docs" / "x.md"
    assert prepare_page(text, page, "https://example.org/x") == prepared


def test_links_to_other_files_are_text_without_a_repository() -> None:
    assert prepare_page("[a](../examples)", ROOT / "docs" / "x.md", "") == "a"
