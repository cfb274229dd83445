"""Blocks that choose among a few values, for `njc show`.

<:topic: Literal["bills", "food"]>              a decision: 2 values
<:score: Annotated[int, Field(ge=1, le=5)]>     a decision: 5 values
<:best: Item>, one of <items>                   a decision, if there are at most 19 items
<:reply: str>                                   none

At run time `njrt.values.questions` decides by the same rule on the types themselves.

Not detected: bounds that are not in a `Field`, or inside an alias or a union.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from njc.compiler.analysis.authority import Authority
from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.json_compatibility import read_json_form
from njc.compiler.analysis.types import Typed
from njc.compiler.frontend.blocks import NaturalBlock
from njrt.data.aliases import Json
from njrt.values.questions import make_decision


def is_decision(
    block: NaturalBlock, authority: Authority, types: TypeReader, chosen: Collection[str] = ()
) -> bool:
    """Return whether each output of a block, or the value that it returns, is one of a few values.

    The outputs `chosen` are objects that the inputs hold.
    """
    outputs = {
        path: _read_schema(types.output_type(path, block.scope), types, path in chosen)
        for path in block.writes
    }
    returns = getattr(block.scope.node, "returns", None)
    returned = Typed(returns, block.scope.signature_scope) if returns else None
    schema = _read_schema(returned, types) if "return" in authority.labels else None
    return make_decision(outputs, schema, authority.labels, (), ()) is not None


def _read_schema(typed: Typed | None, types: TypeReader, is_object: bool = False) -> Json:
    """Return the schema of a type, with the bounds of an integer; one of no few values for none.

    That of objects of an input is one of a few, if they have classes.
    """
    if typed is None:
        return {}
    parts = types.union_parts(types.expand(typed)) if is_object else []
    if parts and all(types.class_of_type(it) or types.name_of(it) == "None" for it in parts):
        return {"type": "boolean"}
    match typed.annotation:
        case ast.Subscript(
            slice=ast.Tuple([ast.Name("int"), ast.Call(args=[], keywords=bounds)])
        ) if types.name_of(typed) == "typing.Annotated":
            match {it.arg: it.value for it in bounds}:
                case {"ge": ast.Constant(int(least)), "le": ast.Constant(int(most))} if (
                    len(bounds) == 2
                ):
                    return {"type": "integer", "minimum": least, "maximum": most}
    form, root = read_json_form(typed, types)
    return {"anyOf": [form or {}], **root}
