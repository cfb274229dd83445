"""Renaming a variable of a function in the program and its prompts, or refusing to if it is unsafe.

    total -> amount         Put the sum into <:total: int>.     Put the sum into <:amount: int>.
                            print(f"{total}")                   print(f"{amount}")

Names that other code may know by their text are refused: parameters, attributes, imports, and names
of the module. The changed text is read again: every name must mean the same variable as before.
"""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from njc.compiler.frontend.name_resolution import Local
from njc.compiler.frontend.occurrences import Occurrence
from njc.compiler.frontend.prompt_references import NearTag
from njc.editors.lsp.texts.documents import Document, Reading, TextEdit, apply_edits

_NAMESPACES = {"locals", "vars", "eval", "exec", "dir"}
_PRINTED = re.compile(r"[\s)]*=\s*[!:}]")
"""The text after an expression that an f-string prints, such as `{total=}`."""


class RenameRefused(Exception):
    """The name cannot be changed safely; the message gives the reason."""


def find_renamed(document: Document, offset: int) -> Occurrence:
    """Return the name at an offset; raises RenameRefused if it cannot be renamed."""
    reading, occurrence = _find_variable(document, offset)
    for reason in _find_obstacles(reading, occurrence):
        raise RenameRefused(reason)
    return occurrence


def rename(document: Document, offset: int, new_name: str) -> list[TextEdit]:
    """Return the edits that rename a variable; raises RenameRefused."""
    occurrence, new_name = find_renamed(document, offset), unicodedata.normalize("NFKC", new_name)
    if not new_name.isidentifier() or keyword.iskeyword(new_name) or new_name.startswith("__"):
        raise RenameRefused(f"`{new_name}` is not a name for a variable")
    reading, _ = _find_variable(document, offset)
    edits = [TextEdit(it.start, it.end, new_name) for it in reading.list_uses(occurrence)]
    changed = Document(document.uri, document.path, apply_edits(document.text, edits))
    for problem in _find_changes(document, changed):
        raise RenameRefused(f"with `{new_name}` {problem}")
    return edits


def _find_variable(document: Document, offset: int) -> tuple[Reading, Occurrence]:
    reading = document.reading
    if reading is None or not document.is_python:
        raise RenameRefused("the file is not Python yet; correct that first")
    occurrence = reading.find_name(offset)
    if occurrence is None:
        raise RenameRefused("there is no variable here")
    return reading, occurrence


def _find_obstacles(reading: Reading, occurrence: Occurrence) -> Iterator[str]:
    """Yield what makes it unsafe to change a name."""
    name, text = occurrence.name, reading.module.source.text
    uses, place = reading.list_uses(occurrence), reading.module.source.place
    match occurrence.home:
        case Local(scope=scope) if scope.is_function and not name.startswith("__"):
            pass
        case _:
            yield f"`{name}` is not a variable of a function: other code may use its name"
    for use in uses:
        if use.role in ("parameter", "import", "define"):
            yield f"`{name}` is a {use.role} in line {place(use.start)[0]}: its name has a meaning"
        if _PRINTED.match(text, use.end):
            yield f"line {place(use.start)[0]} may print the name `{name}`"
    for other in reading.names:
        if other.name in _NAMESPACES:
            yield f"`{other.name}` in line {place(other.start)[0]} may use the name `{name}`"
        if other.name == name and _is_of_class_inside(other, occurrence):
            yield f"a class inside has the name `{name}` in line {place(other.start)[0]}, too"
    for block in reading.blocks:
        for tag in block.tags:
            if isinstance(tag, NearTag) and tag.root == name:
                yield f"line {place(tag.start)[0]} names `{name}` in plain text"
    in_tree = sum(
        isinstance(it, ast.Name) and it.id == name for it in ast.walk(reading.module.tree)
    )
    located = [it for it in reading.names if it.name == name and it.role in ("read", "bind")]
    if in_tree > sum(not it.in_prompt for it in located):
        yield f"a use of `{name}` cannot be located in the text"


def _is_of_class_inside(other: Occurrence, occurrence: Occurrence) -> bool:
    """Return whether a class's body with the same name may read the variable of its function."""
    home = other.home.scope
    return home.kind == "class" and occurrence.home.scope in home.walk_outwards()


def _find_changes(document: Document, changed: Document) -> Iterator[str]:
    """Yield the ways in which a changed text means something else."""
    before, after = document.reading, changed.reading
    if before is None or after is None or not changed.is_python:
        yield "the file would not be Python"
        return
    if errors := _count_errors(changed) - _count_errors(document):
        yield f"there would be an error: {next(iter(errors))}"
    old, new = _number_variables(before.names), _number_variables(after.names)
    if old != new:
        yield "a name would mean another variable"


def _count_errors(document: Document) -> Counter[str]:
    found = document.analysis.diagnostics
    return Counter(finding.code for finding in found if finding.severity == "error")


def _number_variables(names: Sequence[Occurrence]) -> list[tuple[int, bool]]:
    """Return the number of each name's variable in order, and whether it is bound."""
    numbers: dict[object, int] = {}
    bound = {it.variable for it in names if it.binds}
    return [(numbers.setdefault(it.variable, len(numbers)), it.variable in bound) for it in names]
