"""Blocks that choose among a few values, for `njc show`.

<:topic: Literal["bills", "food"]>              a decision: 2 values
<:score: Annotated[int, Field(ge=1, le=5)]>     a decision: 5 values
<:best: Item>, one of <items>                   a decision, if there are at most 19 items
<:reply: str>                                   none

At run time `njrt.questions` decides by the same rule on the types themselves.

Not detected: bounds of integers inside an alias, a union, or a class of bounds.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from njc.analysis.authority import Authority
from njc.analysis.inference import TypeReader
from njc.analysis.json_compatibility import read_json_form
from njc.analysis.types import Typed
from njc.frontend.blocks import NaturalBlock
from njrt.aliases import Json
from njrt.questions import MAX_ANSWERS, MAX_QUESTIONS
from njrt.values.json_unions import flatten_alternatives, list_constants


def is_decision(
    block: NaturalBlock, authority: Authority, types: TypeReader, chosen: Collection[str] = ()
) -> bool:
    """Return whether each output of a block, or the value that it returns, is one of a few values.

    The outputs `chosen` are objects that the inputs hold.
    """
    found = {path: types.output_type(path, block.scope) for path in block.writes}
    typed = [it for path, it in found.items() if path not in chosen or not _is_object(it, types)]
    if "return" in authority.labels:
        returns = getattr(block.scope.node, "returns", None)
        typed.append(Typed(returns, block.scope.signature_scope) if returns else None)
    questions = bool(authority.labels) + max(len(block.writes), "return" in authority.labels)
    is_few = all(each and 2 <= count_values(each, types) <= MAX_ANSWERS for each in typed)
    return is_few and 1 <= questions <= MAX_QUESTIONS


def _is_object(typed: Typed | None, types: TypeReader) -> bool:
    """Return whether a type is a class, or a union of classes and None."""
    parts = types.union_parts(types.expand(typed)) if typed else []
    return all(types.class_of_type(part) or types.name_of(part) == "None" for part in parts)


def count_values(typed: Typed, types: TypeReader) -> int:
    """Return how many values a type has; 0 if they are not a few."""
    bounds = list(_list_bounds(typed, types))
    if bounds:
        return max(0, bounds[0][1] - bounds[0][0] + 1)
    form, root = read_json_form(typed, types)
    parts = [] if form is None else list(flatten_alternatives([form], root))
    counts = [_count_constants(part) for part in parts]
    return sum(counts) if all(counts) else 0


def _count_constants(form: Json) -> int:
    kinds = {"boolean": 2, "null": 1}
    return len(list_constants(form)) or kinds.get(str(form.get("type")), 0)


def _list_bounds(typed: Typed, types: TypeReader) -> Iterator[tuple[int, int]]:
    """Yield the bounds of `Annotated[int, Field(ge=1, le=5)]` or `Annotated[int, Ge(1), Le(5)]`."""
    match typed.annotation:
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Name(id="int"), *notes])) if (
            types.name_of(typed) == "typing.Annotated"
        ):
            found: dict[str, int] = {}
            for call in notes:
                if not isinstance(call, ast.Call):
                    continue
                name = ast.unparse(call.func).rpartition(".")[2].lower()
                given = {it.arg: it.value for it in call.keywords}
                if call.args:
                    given[name] = call.args[0]
                found |= {
                    str(bound): value.value
                    for bound, value in given.items()
                    if isinstance(value, ast.Constant) and type(value.value) is int
                }
            least = found.get("ge", found["gt"] + 1 if "gt" in found else None)
            most = found.get("le", found["lt"] - 1 if "lt" in found else None)
            if least is not None and most is not None and "multiple_of" not in found:
                yield least, most
