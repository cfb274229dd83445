"""Code with the imports that it forgot.

    kind = llm(f"...", Literal["a"])  ->  from typing import Literal
                                          kind = llm(f"...", Literal["a"])

Only names with one meaning: modules that only compute, and the words of types. What the program calls so
itself is never imported over.
"""

from __future__ import annotations

import ast

from njc.static.holes import Hole
from njrt.execution.guard.allowed import IMPORTABLE_MODULES
from njrt.execution.symbols import find_names

_IMPORT_SOURCES = {
    **dict.fromkeys(("Literal", "Any", "Optional", "Union", "Annotated"), "typing"),
    **dict.fromkeys(("dataclass", "field"), "dataclasses"),
    **dict.fromkeys(("defaultdict", "Counter", "deque"), "collections"),
    **dict.fromkeys(("Decimal",), "decimal"),
    **dict.fromkeys(("Enum",), "enum"),
}


def add_missing_imports(code: str, hole: Hole) -> str:
    """Put the imports that are missing before the code."""
    try:
        names = find_names(ast.parse(code), hole.class_name)
    except (SyntaxError, ValueError, RecursionError):
        return code
    missing = [name for name in names.read if name not in names.bound and name not in hole.visible]
    imports = [
        text for name in missing if (text := _make_import(name)) and _is_free(name, text, hole)
    ]
    return "\n".join([*imports, code])


def _make_import(name: str) -> str | None:
    if name in _IMPORT_SOURCES:
        return f"from {_IMPORT_SOURCES[name]} import {name}"
    return f"import {name}" if name in IMPORTABLE_MODULES else None


def _is_free(name: str, text: str, hole: Hole) -> bool:
    """Whether the name means nothing else in the file, or just what it would be imported as."""
    return name not in hole.taken or text in hole.imports
