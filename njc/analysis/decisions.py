"""Blocks that choose among a few values, for `njc show`.

<:topic: Literal["bills", "food"]>              a decision: 2 values
<:score: Annotated[int, Field(ge=1, le=5)]>     a decision: 5 values
<:best: Item>, one of <items>                   a decision, if there are at most 19 items
<:reply: str>                                   none

At run time `njrt.questions` decides by the same rule on the types themselves.

Not detected: bounds by `gt` and `lt`, and those inside an alias, a union, or a class of bounds.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from njc.analysis.authority import Authority
from njc.analysis.inference import TypeReader
from njc.analysis.json_compatibility import read_json_form
from njc.analysis.types import Typed
from njc.frontend.blocks import NaturalBlock
from njrt.aliases import Json
from njrt.questions import make_decision


def is_decision(
    block: NaturalBlock, authority: Authority, types: TypeReader, chosen: Collection[str] = ()
) -> bool:
    """Return whether each output of a block, or the value that it returns, is one of a few values.

    The outputs `chosen` are objects that the inputs hold.
    """
    outputs = {
        path: _OBJECT if path in chosen and _is_object(it, types) else _read_schema(it, types)
        for path in block.writes
        for it in [types.output_type(path, block.scope)]
    }
    returns = getattr(block.scope.node, "returns", None)
    returned = Typed(returns, block.scope.signature_scope) if returns else None
    schema = _read_schema(returned, types) if "return" in authority.labels else None
    return make_decision(outputs, schema, authority.labels, (), ()) is not None


_OBJECT: Json = {"type": "boolean"}
"""The schema of an object of an input: one of a few."""


def _is_object(typed: Typed | None, types: TypeReader) -> bool:
    """Return whether a type is a class, or a union of classes and None."""
    parts = types.union_parts(types.expand(typed)) if typed else []
    return all(types.class_of_type(part) or types.name_of(part) == "None" for part in parts)


def _read_schema(typed: Typed | None, types: TypeReader) -> Json:
    """Return the schema of a type, with the bounds of an integer; one of no few values for none."""
    if typed is None:
        return {}
    form, root = read_json_form(typed, types)
    return _read_bounds(typed, types) or {"anyOf": [form or {}], **root}


def _read_bounds(typed: Typed, types: TypeReader) -> Json:
    """Return the schema of `Annotated[int, Field(ge=1, le=5)]` or `[int, Ge(1), Le(5)]`, or {}."""
    match typed.annotation:
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Name(id="int"), *notes])) if (
            types.name_of(typed) == "typing.Annotated"
        ):
            bounds: dict[str | None, ast.expr] = {}
            for call in (it for it in notes if isinstance(it, ast.Call)):
                bounds |= {it.arg: it.value for it in call.keywords}
                if call.args:
                    bounds[ast.unparse(call.func).rpartition(".")[2].lower()] = call.args[0]
            match bounds:
                case {
                    "ge": ast.Constant(int() as least),
                    "le": ast.Constant(int() as most),
                    **others,
                } if not others:
                    return {"type": "integer", "minimum": least, "maximum": most}
    return {}
