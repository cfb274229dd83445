"""Which blocks cannot run their code in a separate process.

Define <:keep: Callable[[str], bool]>.      `keep` is a function, a class or an iterator, which ends with contained code
"""

from __future__ import annotations

import re

from njc.frontend.blocks import NaturalBlock
from njrt.execution.contained.platforms import MADE_BY_CODE
from njrt.options import Options

_MADE_BY_CODE = frozenset(["Type", *(kind.__name__ for kind in MADE_BY_CODE)])
"""The names of types of objects that live in the process of their code."""


def find_containment_problem(block: NaturalBlock, options: Options) -> tuple[str, str] | None:
    """Return why the code of a block cannot be contained, and a way out; None if it can."""
    if block.scope.kind == "class":
        return "code in the body of a class cannot be contained", "move the block into a function"
    for reference in block.references:
        kind = re.match(r"(?:\w+\.)*(\w+)", reference.type or "")
        if kind is not None and kind[1] in _MADE_BY_CODE:
            return (
                f"`{reference.path}` is a function, a class or an iterator, which ends with contained code",
                'let the block bind data, or write `policy="guarded"`',
            )
    return None
