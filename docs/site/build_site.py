"""Build the documentation site: `make site` writes it to build/site.

    docs/**/*.md, spsbench/docs/*.md, CHANGELOG.md, ...
      ──>  build/docs/*.md  ──Zensical──>  build/site/*.html, llms.txt, ...

docs/index.md is the navigation: each section is a list of links to pages. The pages that reference.py makes from the
product are added to the section Reference, and pages that no section lists to a section "More". A link that leads out of
docs takes the file along. The build is strict: a link or an anchor that leads nowhere fails it.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from reference import write_reference
from try_page import is_vendored, read_try_page, write_try_files

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BENCHMARK = ROOT / "spsbench" / "docs"
"""The pages about the benchmark; they are in `spsbench/` on the site."""
SOURCE = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
OTHER_PAGES = {
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Pages that do not lie in docs, and their names on the site."""
SEPARATE_PARTS = ("From other tools", "Reference", "The project", "Benchmark")
"""The sections that are parts of the site beside the guide."""


@dataclass(frozen=True, slots=True)
class Page:
    """An entry of the navigation."""

    title: str
    file: str
    summary: str


def main() -> None:
    """Build the site; exit with 1 if anything in it is wrong."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    generated = [Page(*entry) for entry in write_reference(SOURCE / "reference")]
    index = add_entries(index, "Reference", generated)
    pages = list_pages()
    if not is_vendored():
        pages.remove(DOCS / "try.md")
        index = re.sub(r"^- \[[^]]*\]\(try\.md\): .*\n", "", index, flags=re.MULTILINE)
        print("without the page try.html, which `python docs/site/try_page.py` adds")
    if unlisted := list(find_unlisted(index, pages)):
        index += f"\n## More\n\n{format_entries(unlisted)}"
    for path in [*pages, *(ROOT / name for name in OTHER_PAGES)]:
        name = name_page(path)
        text = index if name == "index.md" else path.read_text(encoding="utf-8")
        if name == "try.md":
            text = text.replace("<!-- page.html -->\n", read_try_page())
        (SOURCE / name).parent.mkdir(exist_ok=True)
        (SOURCE / name).write_text(prepare_page(text, path), encoding="utf-8")
    sections = dict(read_sections((SOURCE / "index.md").read_text(encoding="utf-8")))
    shutil.copytree(DOCS / "site" / "assets", SOURCE / "assets")
    config = SOURCE.with_name("zensical.toml")
    template = (
        (DOCS / "site" / "zensical.toml").read_text().replace("../runtime", f"{ROOT}/runtime")
    )
    settings = f"{format_navigation(sections)}\n{format_repository(read_origin())}"
    config.write_text(template.replace("# NAVIGATION\n", settings))
    subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", config],
        check=True,
        timeout=300,
    )
    write_llms_files(index, sections)
    if is_vendored():
        write_try_files(SITE / "try")
    problems = list(find_broken_links(SITE))
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(list(SITE.rglob('*.html')))} pages in {SITE}, {len(problems)} problems")
    sys.exit(bool(problems))


def read_origin() -> str:
    """Return the URL that this clone was made from, as git knows it; "" if there is none."""
    command = ["git", "remote", "get-url", "origin"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def format_repository(origin: str) -> str:
    """Return the setting for the link to the repository, which every page has; "" for a folder."""
    address = re.fullmatch(
        r"(?:https?://(?:[^@/]*@)?|(?:ssh://)?git@)([\w.-]+)[:/](.+?)(?:\.git)?/?", origin
    )
    return f'repo_url = "https://{address[1]}/{address[2]}"\n' if address else ""


def list_pages() -> list[Path]:
    """Return the pages of the guide, of the reference and of the benchmark."""
    folders = (DOCS, DOCS / "reference", BENCHMARK)
    return [page for folder in folders for page in sorted(folder.glob("*.md"))]


def name_page(path: Path) -> str:
    """Return the name of a page on the site."""
    if path.parent == BENCHMARK:
        return f"spsbench/{path.name}"
    return OTHER_PAGES.get(path.name) or path.relative_to(DOCS).as_posix()


def prepare_page(text: str, path: Path) -> str:
    """Remove the comments for tests, name the language of natural code, and keep links within the site."""
    text = re.sub(r"^<!-- .*?-->\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(
        r"^```python\n(?=(?:(?!^```).*\n)*?.*\"\"\"natural)", "```njpy\n", text, flags=re.MULTILINE
    )
    here = path.parent
    folder = Path(name_page(path)).parent

    def rewrite(match: re.Match[str]) -> str:
        target, _, anchor = match[1].partition("#")
        if not target or "://" in target:
            return match[0]
        file = (here / target).resolve()
        if file.name in OTHER_PAGES and file.parent == ROOT:
            target = OTHER_PAGES[file.name]
        elif file.suffix == ".md" and (file.is_relative_to(DOCS) or file.parent == BENCHMARK):
            target = name_page(file)
        elif file.parent == DOCS / "site" / "assets":
            target = f"assets/{file.name}"
        elif file.is_file() and file.is_relative_to(ROOT):
            target = copy_file(file)
        elif file.is_dir():
            return match[0].partition("](")[0].removeprefix("[")
        target = os.path.relpath(target, folder)
        return f"{match[0].partition('](')[0]}]({target}{'#' if anchor else ''}{anchor})"

    return re.sub(r"\[[^][]*\]\(([^)\s]+)\)", rewrite, text)


def copy_file(file: Path) -> str:
    """Copy a file that a page links to, so that a browser shows it as text; return its name on the site."""
    name = f"files/{file.relative_to(ROOT).as_posix()}.txt"
    (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, SOURCE / name)
    return name


def read_sections(index: str) -> Iterator[tuple[str, list[Page]]]:
    """Yield each section of docs/index.md with its pages."""
    for section in index.split("\n## ")[1:]:
        pages = re.findall(
            r"^- \[([^]]+)\]\(([^)#]+\.md)\): ((?:.+\n)(?:  .+\n)*)", section, re.MULTILINE
        )
        yield (
            section.splitlines()[0],
            [Page(title, file, " ".join(text.split())) for title, file, text in pages],
        )


def format_navigation(sections: dict[str, list[Page]]) -> str:
    """Write the navigation as Zensical's setting `nav`: a guide of most sections, and the separate parts."""
    groups = {}
    for name, pages in sections.items():
        entries = ", ".join(f'{{ "{page.title}" = "{page.file}" }}' for page in pages)
        groups[name] = f'{{ "{name}" = [{entries}] }}'
    parts = [f"  {groups.pop(name)}," for name in SEPARATE_PARTS if name in groups]
    guide = ", ".join(['{ "Home" = "index.md" }', *groups.values()])
    return "\n".join(["nav = [", f'  {{ "Guide" = [{guide}] }},', *parts, "]"])


def write_llms_files(index: str, sections: dict[str, list[Page]]) -> None:
    """Write llms.txt (https://llmstxt.org), llms-full.txt and the Markdown of each page beside its HTML."""
    title, _, rest = index.partition("\n")
    short, full = [f"{title}\n\n> {' '.join(rest.strip().partition(chr(10) * 2)[0].split())}\n"], []
    for name, pages in sections.items():
        short.append(f"## {name}\n")
        short += [f"- [{page.title}]({page.file}): {page.summary}" for page in pages]
        short.append("")
        for page in pages:
            text = (SOURCE / page.file).read_text(encoding="utf-8")
            full.append(text)
            (SITE / page.file).parent.mkdir(parents=True, exist_ok=True)
            (SITE / page.file).write_text(text, encoding="utf-8")
    (SITE / "llms.txt").write_text("\n".join(short), encoding="utf-8")
    (SITE / "llms-full.txt").write_text("\n\n".join(full), encoding="utf-8")


def find_unlisted(index: str, paths: Iterable[Path]) -> Iterator[Page]:
    """Yield the pages that no section of docs/index.md lists, with their first sentence as the summary."""
    files = ["index.md", *(page.file for _, pages in read_sections(index) for page in pages)]
    listed = {(DOCS / file).resolve() for file in files}
    for path in paths:
        if path not in listed:
            title, _, rest = path.read_text(encoding="utf-8").partition("\n")
            sentence = re.split(r"(?<=\.)\s|:\n|\n\n", rest.strip())[0]
            yield Page(title.removeprefix("# "), name_page(path), " ".join(sentence.split()))


def add_entries(index: str, section: str, pages: Iterable[Page]) -> str:
    """Add entries at the end of a section of docs/index.md."""
    before, heading, rest = index.partition(f"\n## {section}\n")
    entries, end, after = rest.partition("\n\n## ")
    return f"{before}{heading}{entries.rstrip()}\n{format_entries(pages).rstrip()}{end}{after}"


def format_entries(pages: Iterable[Page]) -> str:
    """Write the entries of a section."""
    return "".join(f"- [{page.title}]({page.file}): {page.summary}\n" for page in pages)


# ── The links of what was built ──────────────────────────────────────────────────────────────────


class LinkReader(HTMLParser):
    """The targets of the links and images of a page, and the anchors in it."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.anchors: set[str] = {""}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.add(html.unescape(value))
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def find_broken_links(site: Path) -> Iterator[str]:
    """Yield links within the site that lead to no file or no anchor, and files loaded from elsewhere."""
    pages = {path: LinkReader() for path in sorted(site.rglob("*.html"))}
    for path, reader in pages.items():
        reader.feed(path.read_text(encoding="utf-8"))
    for path, reader in pages.items():
        if path.name == "404.html":
            continue  # its links are relative to any address
        for target in sorted(reader.targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            file = file / "index.html" if file.is_dir() else file
            place = path.relative_to(site)
            if not file.exists():
                yield f"{place}: {target} leads nowhere"
            elif file in pages and unquote(parts.fragment) not in pages[file].anchors:
                yield f"{place}: {target}: no such anchor"


if __name__ == "__main__":
    main()
