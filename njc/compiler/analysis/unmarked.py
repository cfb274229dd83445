'''String statements with an output, such as `<:n>`, that are not natural blocks.

"""naturl
Put it into <:n>."""        NJ103  an output, and no marker
"""Prompts"""               a docstring like any other
'''

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from njc.compiler.frontend.blocks import FORM, BlockOrDiagnostic, NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.parse import Module

_OUTPUT = re.compile(r"<:[^\W\d]\w*(?:\.\w+)*(?:>|:[^<>\r\n]{1,80}>)")


def may_have_unmarked(data: bytes) -> bool:
    """Return whether a file may contain a string with an output."""
    return b"<:" in data


def check_unmarked(module: Module, found: Sequence[BlockOrDiagnostic]) -> Iterator[Diagnostic]:
    """Report string statements with an output that are neither blocks nor reported already."""
    source = module.source
    blocks = [each for each in found if isinstance(each, NaturalBlock)]
    starts = [block.start for block in blocks]

    def is_in_block(at: int) -> bool:
        before = bisect_right(starts, at)
        return before > 0 and at < blocks[before - 1].end

    outputs = [it for it in _OUTPUT.finditer(source.text) if not is_in_block(it.start())]
    reported = {each.line for each in found if isinstance(each, Diagnostic)}
    for node in ast.walk(module.tree) if outputs else ():
        if not isinstance(node, ast.Expr) or not isinstance(
            node.value, ast.Constant | ast.JoinedStr
        ):
            continue
        start, end = source.get_span(node)
        output = next((it for it in outputs if start <= it.start() < end), None)
        if output and reported.isdisjoint(range(node.lineno, (node.end_lineno or 0) + 1)):
            message = f"the string has an output, `{output[0]}`, and no marker"
            yield make_diagnostic(source, "NJ103", *output.span(), message, FORM)
