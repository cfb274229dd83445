"""A program's files: the program itself, and the modules beside it that it imports, directly or indirectly.

    list_program_files(Path("shop/mail.njpy"), [])      [shop/mail.njpy, shop/__init__.py, shop/rules.py]

Imports are read from the text, so imports in functions that have not run count, too. Not detected: computed names,
and modules of installed packages.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from njc.project.units import SUFFIX


def list_program_files(program: Path, roots: Sequence[Path]) -> list[Path]:
    """Return a program's files; modules are searched for beside it, above its packages, and in `roots`."""
    program = program.absolute()
    top = program.parent
    while (top / "__init__.py").is_file() and top != top.parent:
        top = top.parent
    folders = dict.fromkeys([program.parent, top, *roots])
    files = {program: None}
    waiting = [program]
    while waiting:
        file = waiting.pop()
        for parts, base in _list_imports(file):
            for folder in [base] if base else folders:
                for found in _find_modules(folder, parts):
                    if found not in files:
                        files[found] = None
                        waiting.append(found)
    return list(files)


def _list_imports(file: Path) -> Iterator[tuple[list[str], Path | None]]:
    """Yield the parts of each imported name, with the folder if the import is relative."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # the program fails when it imports the file
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from ((alias.name.split("."), None) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = [file, *file.parents][level] if level < len(file.parents) else None
                head = module.split(".") if module else []
                yield from (([*head, alias.name], base if level else None) for alias in names)


def _find_modules(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    """Yield the files of a module and its enclosing packages; the last part may be a name in a module."""
    for part in parts:
        for suffix in (".py", SUFFIX):
            for file in (folder / f"{part}{suffix}", folder / part / f"__init__{suffix}"):
                if file.is_file():
                    yield file
        folder /= part
