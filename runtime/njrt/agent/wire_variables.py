"""Variables and objects as JSON: what the effects `lookup`, `assign`, `deref`, `ref` and `set` do.

    lookup("prices")                          {"type": "Ref", "addr": 1}
    deref(1)                                  [3, 4]
    set(1, [3, 4, 5])                         the program's own list has three elements
    assign("n", {"type": "Ref", "addr": 2})   `n` follows what the cell is set to

The formal interface of *Sharing State Between Prompts and Programs*; `njrt.agent.references` has the forms of values.
"""

from __future__ import annotations

import builtins
import json

from njrt.agent.references import (
    JSON_SCALARS,
    Cell,
    ReferenceTable,
    decode_attributes,
    decode_wire,
    encode_level,
    encode_wire,
    set_attributes,
    update_in_place,
)
from njrt.effects import Answer, EffectResult, Refusal, WireValue
from njrt.outcome import UserValue
from njrt.rendering.writer import escape_unprintable
from njrt.scope.scope import Absent, Bound, Scope
from njrt.values.introspection import get_class_name, is_a, is_exactly, is_exception_class


class WireVariables:
    """The variables of a block in the forms of the interface (state: references).

    With `only_outputs`, `assign` makes no variables of the block's own: those are of use only where an effect takes the
    name of a variable.
    """

    def __init__(
        self, scope: Scope, references: ReferenceTable, only_outputs: bool = False
    ) -> None:
        self.scope = scope
        self.references = references
        self.only_outputs = only_outputs

    def dereference(self, reference: int) -> Answer:
        """Return what a reference refers to, one level deep."""
        held = self.references.at(reference)
        value = held.value if type(held) is Cell else held
        return Answer(format_wire(encode_level(value, self.references)))

    def make_reference(self, value: WireValue) -> Answer:
        """Return a reference to a new object; to a cell for a value that cannot change."""
        made = self.decode(value)
        if is_exactly(made, *JSON_SCALARS):
            made = Cell(made)
        return Answer(format_wire(encode_wire(made, self.references)))

    def decode(self, value: WireValue) -> UserValue:
        """Return the value of a form of the interface."""
        return decode_wire(value, self.references, self.find_class)

    def find_class(self, name: str) -> type:
        """Return the class of this name: that of a variable, a type or a reference, or a builtin exception."""
        if cls := self.references.find_class(name):
            return cls
        match self.scope.lookup(name):
            case Bound(value) if is_a(value, type) and (
                is_exception_class(value) or self.is_visible(name)
            ):
                found: type = value
                return found
        raise ValueError(f"there is no class `{name}` here")

    def assign(self, variable: str, value: WireValue) -> EffectResult:
        """Bind a variable; one that is bound to a cell follows what the cell is set to."""
        made = self.decode(value)
        is_made_up = self.only_outputs and variable not in (*self.scope.outputs, *self.scope.names)
        if is_made_up:
            outputs = ", ".join(f"`{name}`" for name in self.scope.outputs)
            way = f"assign to {outputs}" if outputs else "the block has no outputs"
            return Refusal(f"the prompt names no variable `{variable}`; {way}")
        if refusal := self.scope.assign(variable, made):
            return refusal
        match value:
            case {"type": "Ref", "addr": int(address)} if type(self.references.at(address)) is Cell:
                self.references.at(address).variables.append(variable)
        return Answer("Success")

    def set_reference(self, reference: int, value: WireValue) -> EffectResult:
        """Set a cell, or update an object in place by a value or by the attributes of an `Object`."""
        target = self.references.at(reference)
        if type(target) is Cell:
            before, target.value = target.value, self.decode(value)
            for variable in target.variables:
                if self.scope.lookup(variable) == Bound(before):
                    self.scope.assign(variable, target.value)
            return Answer("Success")
        match value:
            case {"type": "Object" | "Class", "attributes": list(attributes)}:
                name = value.get("class", value.get("name"))
                owner = target if is_a(target, type) else type(target)
                if name != get_class_name(owner):
                    return Refusal(f"this is a {get_class_name(owner)}, not a {name}")
                set_attributes(target, decode_attributes(attributes, self.decode))
                return Answer("Success")
        problem = update_in_place(target, self.decode(value))
        return Refusal(problem) if problem else Answer("Success")

    def show(self, variable: str) -> EffectResult:
        """Return the value of a variable, as JSON or as a reference."""
        match self.scope.lookup(variable):
            case Bound(value) if self.is_visible(variable):
                return Answer(format_wire(encode_wire(value, self.references, variable)))
            case Absent.UNBOUND:
                return Refusal(f"`{variable}` is not bound yet")
            case _:
                names = ", ".join(self.scope.names) or "none"
                return Refusal(f"there is no variable `{variable}`; the variables are: {names}")

    def format_reference(self, value: UserValue) -> str:
        """Return the reference to an object; empty for a value that has none."""
        wire = None if type(value) in JSON_SCALARS else encode_wire(value, self.references)
        return format_wire(wire) if isinstance(wire, dict) else ""

    def is_visible(self, variable: str) -> bool:
        """Return whether the prompt names a variable, or the block made it; builtins are not variables."""
        return variable in self.scope.names or not hasattr(builtins, variable)


def format_wire(wire: WireValue) -> str:
    """Return a value of the interface as the text that the model reads."""
    return escape_unprintable(json.dumps(wire, ensure_ascii=False))
