'''Indenting code as a whole, without touching what is inside its strings.

text = """a          text = """a          the second line is the string's own
b"""            ->   b"""
done()                   done()
'''

from __future__ import annotations

import io
import re
import tokenize

_MARGIN = re.compile(r"(?: {4})+")


def indent_code(code: str, indent: str, step: str = "    ") -> str:
    """Put `indent` before each line of Python code; its own levels are given the width `step`."""
    kept = find_lines_in_strings(code)
    return "\n".join(
        line if number in kept or not line.strip() else indent + _rescale_indent(line, step)
        for number, line in enumerate(code.split("\n"), 1)
    )


def find_lines_in_strings(code: str) -> set[int]:
    """Return the numbers of the lines that begin inside a string."""
    inside: set[int] = set()
    began: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        name = tokenize.tok_name[token.type]
        if name.endswith("STRING_START"):  # f-strings from Python 3.12 on
            began.append(token.start[0])
        elif name.endswith("STRING_END"):
            inside.update(range(began.pop() + 1, token.end[0] + 1))
        elif name == "STRING":
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
    return inside


def _rescale_indent(line: str, step: str) -> str:
    margin = _MARGIN.match(line)
    if margin is None or step == "    ":
        return line
    return step * (margin.end() // 4) + line[margin.end() :]
