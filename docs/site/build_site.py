"""Build the documentation site: `make site` writes it to build/site.

    docs/**/*.md, spsbench/docs/*.md, CHANGELOG.md, ...
      ──>  build/docs/*.md  ──Zensical──>  build/site/*.html

zensical.toml has the navigation, also of the pages that reference.py makes from the product. Files outside of the
pages are linked in the repository that this clone was made from. The build is strict: Zensical refuses a link or an
anchor that leads nowhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from reference import PAGES
from try_page import VENDORED, write_try_files

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


def main() -> None:
    """Build the site; exit with 1 if anything in it is wrong."""
    for folder in (SOURCE, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    asked = ["git", "remote", "get-url", "origin"]
    origin = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    repository, texts, is_vendored = format_repository(origin), {}, VENDORED.exists()
    for path in [*list_pages(), *(ROOT / name for name in OTHER_PAGES)]:
        texts[name_page(path)] = prepare_page(path.read_text(encoding="utf-8"), path, repository)
    texts |= {f"reference/{name}.md": "\n".join(write()) for name, write in PAGES.items()}
    page = (DOCS / "site" / "try" / "page.html").read_text(encoding="utf-8")
    texts["try.md"] = texts["try.md"].replace("<!-- page.html -->\n", page)
    settings = (DOCS / "site" / "zensical.toml").read_text(encoding="utf-8")
    settings = settings.replace("../runtime", f"{ROOT}/runtime")
    if repository:
        settings = settings.replace("# REPOSITORY\n", f'repo_url = "{repository}"\n')
    if not is_vendored:
        del texts["try.md"]
        texts["index.md"], settings = (
            re.sub(r".*\btry\.md.*\n", "", text) for text in (texts["index.md"], settings)
        )
        print("without the page try.html, which `python docs/site/try_page.py` adds")
    for name, text in texts.items():
        (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
        (SOURCE / name).write_text(text, encoding="utf-8")
    shutil.copytree(DOCS / "site" / "assets", SOURCE / "assets")
    config = SOURCE.with_name("zensical.toml")
    config.write_text(settings, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", config]
    if subprocess.run(command, timeout=300).returncode:
        sys.exit(1)
    if is_vendored:
        write_try_files(SITE / "try")
    print(f"{len(list(SITE.rglob('*.html')))} pages in {SITE}")


def format_repository(origin: str) -> str:
    """Return the address of the repository, which every page has; "" for a folder."""
    address = re.fullmatch(
        r"(?:https?://(?:[^@/]*@)?|(?:ssh://)?git@)([\w.-]+)[:/](.+?)(?:\.git)?/?", origin
    )
    return f"https://{address[1]}/{address[2]}" if address else ""


def list_pages() -> list[Path]:
    """Return the pages of the guide, of the reference and of the benchmark."""
    folders = (DOCS, DOCS / "reference", BENCHMARK)
    return [page for folder in folders for page in sorted(folder.glob("*.md"))]


def name_page(path: Path) -> str:
    """Return the name of a page on the site."""
    if path.parent == BENCHMARK:
        return f"spsbench/{path.name}"
    return OTHER_PAGES.get(path.name) or path.relative_to(DOCS).as_posix()


def prepare_page(text: str, path: Path, repository: str) -> str:
    """Remove the comments for tests, name the language of natural code, and keep links within the site.

    Links to other files lead to the repository; without its address, they are plain text.
    """
    text = re.sub(r"^<!-- (?!page\.html).*?-->\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(
        r"^```python\n(?=(?:(?!^```).*\n)*?.*\"\"\"natural)", "```njpy\n", text, flags=re.MULTILINE
    )
    folder = Path(name_page(path)).parent

    def rewrite(match: re.Match[str]) -> str:
        target, _, anchor = match[2].partition("#")
        if not target or "://" in target:
            return match[0]
        file = (path.parent / target).resolve()
        if file.suffix == ".md" and (file in pages or file.parent == ROOT):
            target = name_page(file)
        elif file.parent == DOCS / "site" / "assets":
            target = f"assets/{file.name}"
        elif file.exists():
            place = file.relative_to(ROOT).as_posix()
            return f"[{match[1]}]({repository}/blob/HEAD/{place})" if repository else match[1]
        return f"[{match[1]}]({os.path.relpath(target, folder)}{'#' * bool(anchor)}{anchor})"

    pages = list_pages()
    return re.sub(r"\[([^][]*)\]\(([^)\s]+)\)", rewrite, text)


if __name__ == "__main__":
    main()
