"""Types that a model proposes at build time for outputs and parameters without a type.

    find_missing_types(source, blocks, types)     MissingType(name="mood", start=..., is_input=False, ...)
    ask_for_type(missing, source)                 "Here is a part of a program ... Which type has `mood`?"
    read_type('`Literal["good", "bad"]`', ...)    ProposedType('Literal["good", "bad"]', "from typing import Literal")

A proposal is an expression of the program's names, Python's own types, and a few types that are imported for it.
Not detected: whether the type is right. Findings, a type checker, cases and the author decide that.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence

from njc.analysis.inference import TypeReader
from njc.analysis.types import Typed
from njc.frontend.blocks import NaturalBlock
from njc.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.frontend.name_resolution import FunctionDefinition, list_named_parameters
from njc.frontend.prompt_references import list_variables
from njc.frontend.source import SourceFile
from njrt.records import record, replace

IMPORTS = {
    "Literal": "from typing import Literal",
    "Sequence": "from collections.abc import Sequence",
    "Mapping": "from collections.abc import Mapping",
    "date": "from datetime import date",
    "datetime": "from datetime import datetime",
    "Decimal": "from decimal import Decimal",
}
"""Names that a proposal may use even if the program has not imported them."""

MAX_SHOWN_LINES = 60
"""The number of lines around a block that the model sees."""

_UNSPECIFIC = ("Any", "object", "None")
_NODES = (ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.BinOp, ast.BitOr, ast.Tuple, ast.Load, ast.UnaryOp, ast.USub)  # fmt: skip
_CODE = re.compile(
    r"\b(?:generator|iterator|coroutine|function|lambda|closure|(?:sub)?class|instance|instantiate|object)(?:e?s|d)?\b",
    re.IGNORECASE,
)
"""Words that ask for more than data."""
_QUOTES = re.compile(r"^```\w*\s*|```$|^`|`$")


@record
class MissingType:
    """An untyped output, or an untyped parameter that a block reads."""

    name: str
    block: NaturalBlock
    start: int
    end: int
    is_input: bool


@record
class ProposedType:
    """A type and the import that it needs."""

    text: str
    imports: str = ""


def find_missing_types(
    source: SourceFile, blocks: Sequence[NaturalBlock], types: TypeReader
) -> Iterator[MissingType]:
    """Yield the untyped outputs and parameters of all blocks, each parameter once."""
    seen: set[int] = set()
    for block in blocks:
        if block.is_fstring or block.interface or block.options.effects is not None:
            continue
        outputs: set[str] = set()
        for reference in block.references:
            name = reference.path
            if not reference.writes or reference.is_dotted or name in outputs:
                continue
            outputs.add(name)
            if not reference.type and types.output_type(name, block.scope) is None:
                yield MissingType(name, block, reference.start, reference.end, False)
        for parameter in _list_bare_parameters(block):
            start = source.get_offset(parameter.lineno, parameter.col_offset)
            if parameter.arg in block.reads and start not in seen:
                seen.add(start)
                end = start + len(parameter.arg)
                yield MissingType(parameter.arg, block, start, end, True)


def _list_bare_parameters(block: NaturalBlock) -> list[ast.arg]:
    node = block.scope.node
    if not isinstance(node, FunctionDefinition):
        return []
    given = list_named_parameters(node.args)
    defaults = {*node.args.defaults, *node.args.kw_defaults}
    is_static = any(ast.unparse(each) == "staticmethod" for each in node.decorator_list)
    has_self = block.scope.mangling_class is not None and given[:1] and not is_static
    bare = [each for each in given[bool(has_self) :] if each.annotation is None]
    return bare if not defaults - {None} else []  # a hint covers `x=1`, as `x: int = 1`


def ask_for_type(missing: MissingType, source: SourceFile) -> str:
    """Return the question that asks for a type."""
    block, node = missing.block, missing.block.scope.node
    first = max(getattr(node, "lineno", 1), block.line - MAX_SHOWN_LINES // 2)
    last = min(getattr(node, "end_lineno", block.end_line + 5), len(source.line_starts))
    lines = map(source.line, range(first, min(last, first + MAX_SHOWN_LINES) + 1))
    shown = "".join(line.rstrip("\r\n") + "\n" for line in lines)
    classes = sorted(_list_classes(block))
    kind, use = ("parameter", "only reads") if missing.is_input else ("variable", "binds")
    role = f"Which type has the {kind} `{missing.name}`, which the instruction {use}?"
    return (
        "This is a part of a Python program. The string that starts with `natural` is an instruction: it reads <x> and binds "
        f"<:x>.\n\n{shown}\n{role} Answer with the type alone, such as str, bool, float, list[str], "
        'Literal["yes", "no"]' + "".join(f", {name}" for name in classes[:8]) + "."
    )


def _list_classes(block: NaturalBlock) -> set[str]:
    return {reference.path for reference in block.references if reference.path[:1].isupper()}


def read_type(answer: str, missing: MissingType, types: TypeReader) -> ProposedType | None:
    """Return the type that an answer proposes; None for other text, for `object`, and for data instead of code.

    A type that promises that an input is only read is never proposed: only the author knows this.
    """
    text = _QUOTES.sub("", answer.strip()).strip().partition("\n")[0].strip().rstrip(".")
    if missing.is_input:
        text = re.sub(r"\bSequence\b", "list", re.sub(r"\bMapping\b", "dict", text))
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not all(isinstance(node, _NODES) for node in ast.walk(tree)):
        return None
    imports = ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Subscript):
            return None
        if isinstance(node, ast.Attribute) and not _is_inside(node, missing, types):
            return None
        if not isinstance(node, ast.Name) or _is_known(node.id, missing, types):
            continue
        if node.id not in IMPORTS or imports not in ("", IMPORTS[node.id]):
            return None
        imports = IMPORTS[node.id]
    if ast.unparse(tree.body) in _UNSPECIFIC or isinstance(tree.body, ast.Constant):
        return None
    is_data = _list_classes(missing.block).isdisjoint(list_variables(tree))
    if not missing.is_input and is_data and _CODE.search(missing.block.words):
        return None
    return ProposedType(text, imports)


def _is_inside(node: ast.Attribute, missing: MissingType, types: TypeReader) -> bool:
    """Return whether a dotted name is in an imported module, or in a class of the program."""
    owner = Typed(node.value, missing.block.scope)
    name = types.name_of(owner)
    is_module = isinstance(node.value, ast.Name) and name != "" and "." not in name
    return is_module or name == "collections.abc" or types.class_of_type(owner) is not None


def _is_known(name: str, missing: MissingType, types: TypeReader) -> bool:
    typed = Typed(ast.Name(name, ast.Load()), missing.block.scope)
    if types.class_of_type(typed) or types.alias_of(name, missing.block.scope):
        return True
    found = types.name_of(typed)
    return "." in found or isinstance(getattr(builtins, name, None), type) or name == "None"


def make_annotation(source: SourceFile, missing: MissingType, proposed: ProposedType) -> Diagnostic:
    """Return the correction that inserts a type."""
    written = f"{missing.name}: {proposed.text}"
    written = written if missing.is_input else f"<:{written}>"
    message = f"`{missing.name}` has no annotation"
    found = make_diagnostic(
        source, "NJ308", missing.start, missing.end, message, f"write `{written}`", written
    )
    return replace(found, imports=proposed.imports)
