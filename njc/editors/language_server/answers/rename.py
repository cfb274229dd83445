"""Renaming a variable in both the program and its prompts, or refusing to if that is not safe.

    total -> amount         Put the sum into <:total: int>.     Put the sum into <:amount: int>.
                            print(f"{total}")                   print(f"{amount}")

The changed text is read again: every name must mean the same variable as before. Names that other
code may know by their text are refused: attributes, names that other modules import, and parameters
whose name is a keyword of any call.

Not detected: names inside strings, such as arguments of `getattr`, keywords that another module
gives by `**`, and modules outside the project.
"""

from __future__ import annotations

import ast
import keyword
import re
import symtable
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from njc.analysis.authority import decide_authority
from njc.editors.language_server.texts.documents import Document, Reading, TextEdit, apply_edits
from njc.editors.language_server.texts.name_index import (
    NameIndex,
    Occurrence,
    Variable,
)
from njc.frontend.prompt_references import NearTag
from njc.frontend.source import SourceFile
from njrt.private_names import mangle


class RenameRefused(Exception):
    """The name cannot be changed safely; the message gives the reason."""


def find_renamed(document: Document, offset: int) -> Occurrence:
    """Return the name at an offset; raises RenameRefused if it cannot be renamed."""
    reading, occurrence, variable = _find_variable(document, offset)
    for reason in _find_obstacles(reading, variable):
        raise RenameRefused(reason)
    return occurrence


def rename(
    document: Document, offset: int, new_name: str, others: Iterable[SourceFile] = ()
) -> list[TextEdit]:
    """Return the edits that rename a variable; raises RenameRefused. `others` are the other modules of the project."""
    reading, occurrence, variable = _find_variable(document, offset)
    new_name = unicodedata.normalize("NFKC", new_name)
    if not new_name.isidentifier() or keyword.iskeyword(new_name):
        raise RenameRefused(f"`{new_name}` is not a name")
    if new_name in ("__debug__", "__class__", "super"):
        raise RenameRefused(f"`{new_name}` has a special meaning in Python")
    for reason in _find_obstacles(reading, variable):
        raise RenameRefused(reason)
    places = reading.names.variables[variable]
    is_parameter = any(place.role == "parameter" for place in places)
    if is_parameter or variable.scope.kind == "module":
        _check_uses_elsewhere(document, variable, others)
    if mangle(new_name, occurrence.scope.class_name) == variable.name:
        return []
    edits = []
    for place in places:
        text = new_name
        match place.node:
            case ast.alias(name=imported, asname=None) if place.role == "import":
                text = f"{imported} as {new_name}"
        edits.append(TextEdit(place.start, place.end, text))
    _check_meaning(document, reading.names, variable, edits, new_name)
    return edits


def _find_variable(document: Document, offset: int) -> tuple[Reading, Occurrence, Variable]:
    reading = document.reading
    if reading is None or not document.is_python:
        raise RenameRefused("the file is not Python yet; correct that first")
    occurrence = reading.names.find_at(offset)
    if occurrence is None:
        raise RenameRefused("there is no variable here")
    return reading, occurrence, reading.names.resolve(occurrence)


# ── what makes a name unsafe to change ───────────────────────────────────────────────────────────


def _find_obstacles(reading: Reading, variable: Variable) -> Iterator[str]:
    name, scope = variable.name, variable.scope
    places = reading.names.variables.get(variable, ())
    if variable.is_builtin:
        yield f"`{name}` is not bound in this file"
        return
    if name.startswith("__") and name.endswith("__"):
        yield f"`{name}` has a special meaning in Python"
    if scope.kind == "class":
        yield f"`{name}` is an attribute of the class `{scope.name}`: other code may use it by an object"
    for place in places:
        line = reading.module.source.place(place.start)[0]
        match place.node:
            case ast.alias(name=imported, asname=None) if (
                place.role == "import" and "." in imported
            ):
                yield f"line {line} imports `{imported}`, which binds `{name}`"
        if place.is_printed:
            yield f"the f-string in line {line} prints the name `{name}`"
    yield from _find_namespace_uses(reading, variable)
    yield from _find_class_bodies(reading.names, variable)
    yield from _find_plain_mentions(reading, variable)
    if scope.kind == "module" and reading.names.star_import and not places:
        yield f"`{name}` may come from `import *`"
    if scope.kind == "module" and _is_exported(reading, name):
        yield f"`__all__` has the text `{name}`"
    if any(place.role == "parameter" for place in places):
        yield from _find_keyword_uses(reading.module.tree, variable)


_LOCAL_NAMESPACES = {"locals", "vars", "eval", "exec", "dir"}
_GLOBAL_NAMESPACES = {"globals", "eval", "exec", "vars"}


def _find_namespace_uses(reading: Reading, variable: Variable) -> Iterator[str]:
    """Yield the calls that access variables by the text of their names."""
    functions = _GLOBAL_NAMESPACES if variable.scope.kind == "module" else _LOCAL_NAMESPACES
    for place in reading.names.occurrences:
        inside = variable.scope.start <= place.start < max(variable.scope.end, 1)
        if inside and place.name in functions and reading.names.resolve(place).is_builtin:
            line = reading.module.source.place(place.start)[0]
            yield f"`{place.name}` in line {line} may use the name `{variable.name}`"


def _find_class_bodies(names: NameIndex, variable: Variable) -> Iterator[str]:
    """Yield the class bodies that read a variable from outside and bind the same name, as in `total = total`."""
    for other, places in names.variables.items():
        scope = other.scope
        if other.name != variable.name or scope.kind != "class" or scope.parent is None:
            continue
        is_read = any(place.role == "read" and place.scope is scope for place in places)
        if is_read and names.look_up(other.name, scope.parent) == variable:
            yield f"the class `{scope.name}` reads and binds `{variable.name}`"


def _find_plain_mentions(reading: Reading, variable: Variable) -> Iterator[str]:
    """Yield the texts in angle brackets that contain the variable but are not references."""
    source = reading.module.source
    for block in reading.blocks:
        for tag in block.tags:
            if isinstance(tag, NearTag) and tag.root == variable.name:
                line = source.place(tag.start)[0]
                yield f"line {line} names `{variable.name}` in plain text"


def _is_exported(reading: Reading, name: str) -> bool:
    for statement in reading.module.tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")])
                | ast.AugAssign(target=ast.Name(id="__all__"))
                | ast.AnnAssign(target=ast.Name(id="__all__"))
            ):
                if any(getattr(node, "value", None) == name for node in ast.walk(statement)):
                    return True
    return False


# ── keywords of calls ────────────────────────────────────────────────────────────────────────────


_PLAIN_DECORATORS = {"staticmethod", "classmethod", "abstractmethod", "override"}


def _find_keyword_uses(tree: ast.AST, variable: Variable) -> Iterator[str]:
    """Yield who may know a parameter by its name: a decorator, pytest, a call with this keyword."""
    function, name = variable.scope.node, variable.name
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        for decorator in map(ast.unparse, function.decorator_list):
            if decorator not in _PLAIN_DECORATORS:
                yield f"the decorator `@{decorator}` may use the name of the parameter `{name}`"
        if function.name.startswith("test"):
            yield f"`{name}` names a fixture of the test `{function.name}`"
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in (name, None):
            yield f"line {node.value.lineno} may give `{name}` as a keyword"


# ── other modules ────────────────────────────────────────────────────────────────────────────────


def _check_uses_elsewhere(
    document: Document, variable: Variable, others: Iterable[SourceFile]
) -> None:
    """Refuse a name that another module may import, or a parameter that it may pass by keyword."""
    *folders, stem = document.path.removesuffix(".njpy").split("/")
    module = folders[-1] if folders and stem == "__init__" else stem
    name = re.escape(variable.name)
    is_global = variable.scope.kind == "module"
    use = re.compile(rf"\b{name}\b" if is_global else rf"[(,]\s*{name}\s*=(?!=)")
    for other in others:
        text = other.data.decode("utf-8", "replace")
        found = use.search(text)
        if found is not None and module in text and other.path != document.path:
            line = text.count("\n", 0, found.start()) + 1
            use_of = f"use `{variable.name}` of this module"
            as_keyword = f"give `{variable.name}` as a keyword"
            raise RenameRefused(f"{other.path}:{line} may {use_of if is_global else as_keyword}")


# ── the meaning of the changed text ──────────────────────────────────────────────────────────────


def _check_meaning(
    document: Document,
    before: NameIndex,
    variable: Variable,
    edits: Sequence[TextEdit],
    new_name: str,
) -> None:
    """Read the changed text, and refuse it if a name now means a different variable."""
    changed = Document(document.uri, document.path, apply_edits(document.text, edits))
    after = changed.reading
    if after is None or not changed.is_python:
        raise RenameRefused(f"with `{new_name}` the file would not be Python")
    errors = _count_errors(changed) - _count_errors(document)
    if errors:
        raise RenameRefused(f"with `{new_name}` there would be an error: {next(iter(errors))}")
    if len(after.names.occurrences) != len(before.occurrences):
        raise RenameRefused(f"with `{new_name}` other names would be read from the text")
    meanings: dict[Variable, Variable] = {}
    for old, new in zip(before.occurrences, after.names.occurrences, strict=True):
        meant, means = before.resolve(old), after.names.resolve(new)
        known = meanings.setdefault(meant, means)
        if known != means or means.is_builtin != meant.is_builtin:
            _refuse_capture(before, old, new_name)
    if len(set(meanings.values())) != len(meanings):
        _refuse_capture(before, None, new_name)
    for captured in _find_class_bodies(after.names, meanings[variable]):
        raise RenameRefused(captured)
    for reason in _find_other_readings(document, after):
        raise RenameRefused(f"with `{new_name}` {reason}")
    problem = _find_name_error(changed.text)
    if problem is not None and _find_name_error(document.text) is None:
        raise RenameRefused(f"with `{new_name}` the file would not be Python: {problem}")


def _find_name_error(text: str) -> str | None:
    """Return Python's error about the names in a parsable text, such as a parameter that is also global."""
    try:
        symtable.symtable(text, "renamed", "exec")
    except SyntaxError as error:
        return error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return None


def _find_other_readings(document: Document, after: Reading) -> Iterator[str]:
    """Yield the prompts that have other references or other effects than before."""
    before, options = document.reading, document.options
    if before is None or len(before.blocks) != len(after.blocks):
        yield "there would be other prompts"
        return
    for old, new in zip(before.blocks, after.blocks, strict=True):
        was = decide_authority(old, before.types, options)
        would = decide_authority(new, after.types, options)
        if [type(tag) for tag in old.tags] != [type(tag) for tag in new.tags]:
            yield f"the prompt in line {old.line} would have other references"
        if was.effects != would.effects:
            yield f"the block in line {old.line} would be given the effects `{would.effects}`"


def _count_errors(document: Document) -> Counter[str]:
    found = document.analysis.diagnostics
    return Counter(finding.code for finding in found if finding.severity == "error")


def _refuse_capture(before: NameIndex, place: Occurrence | None, new_name: str) -> None:
    where = f" in line {before.source.place(place.start)[0]}" if place is not None else ""
    raise RenameRefused(f"`{new_name}` would then mean another variable{where}")
