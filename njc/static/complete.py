"""Code with the imports that it forgot.

    kind = llm(f"...", Literal["a"])  ->  from typing import Literal
                                          kind = llm(f"...", Literal["a"])

Only names with one meaning: modules that only compute, and the words of types. What the program calls so
itself is never imported over.
"""

from __future__ import annotations

import ast

from njc.static.holes import Gap
from njrt.execution.guard.allowed import IMPORTABLE
from njrt.execution.symbols import names_of

_WORDS = {
    **dict.fromkeys(("Literal", "Any", "Optional", "Union", "Annotated"), "typing"),
    **dict.fromkeys(("dataclass", "field"), "dataclasses"),
    **dict.fromkeys(("defaultdict", "Counter", "deque"), "collections"),
    **dict.fromkeys(("Decimal",), "decimal"),
    **dict.fromkeys(("Enum",), "enum"),
}


def completed(code: str, gap: Gap) -> str:
    """Put the imports that are missing before the code."""
    try:
        names = names_of(ast.parse(code), gap.class_name)
    except (SyntaxError, ValueError, RecursionError):
        return code
    missing = [name for name in names.read if name not in names.bound and name not in gap.visible]
    imports = [text for name in missing if (text := _import(name)) and _is_free(name, text, gap)]
    return "\n".join([*imports, code])


def _import(name: str) -> str | None:
    if name in _WORDS:
        return f"from {_WORDS[name]} import {name}"
    return f"import {name}" if name in IMPORTABLE else None


def _is_free(name: str, text: str, gap: Gap) -> bool:
    """Whether the name means nothing else in the file, or just what it would be imported as."""
    return name not in gap.taken or text in gap.imports
