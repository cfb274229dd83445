"""Examples: the variables of a live block before and after a run, for testing static code.

    NJC_EXAMPLES=traces/shop.jsonl python shop.py            one line for each run of a block

    {"event": "example", "place": "shop.njpy:4", "instruction": ["Add <price> to <:spent>, ..."],
     "before": {"price": "3", "limit": "10", "spent": "4"}, "after": {"spent": "7"}, "outcome": "completed"}

Values are written as expressions that make them again (njrt.values.encode); `lost` names those that could not be
written so, and why; a value that holds a secret (njrt.rendering.redaction) is one of them. `after` has the outputs, and what else the block has changed in place. Runs that end by an error
of the runtime are no examples.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from njrt.agent.conversation import Conversation
from njrt.message_json import format_json_line
from njrt.observability.accounts import name_ending
from njrt.observability.trace import TraceFile
from njrt.outcome import Outcome, Raised, Returned, UserValue
from njrt.rendering.one_line import find_write_function, is_masked, list_hidden_attributes
from njrt.rendering.redaction import Redactor, RedactRule, is_secret
from njrt.rendering.writer import ValueWriter
from njrt.scope.scope import Bound, Scope
from njrt.values.encode import EncodedValues, SecretFinder, encode_values
from njrt.values.introspection import is_user_class
from njrt.values.shapes import infer_shape

RETURN_VALUE = "return value"
"""The name of the returned value among the variables; no variable can have it."""
TextsByName = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Example:
    """One run of a block. Values are expressions, by the names of their variables."""

    place: str
    instruction: str
    before: TextsByName
    after: TextsByName
    outcome: str
    value: str | None = None
    """What was returned."""
    error: str | None = None
    """The class of what was raised."""
    shapes: TextsByName = field(default_factory=dict)
    """The shapes of the values before; those that are lost, too."""
    classes: TextsByName = field(default_factory=dict)
    """The modules of the named classes; "" is the program's own file."""
    lost: TextsByName = field(default_factory=dict)


def with_example_recording(
    conversation: Conversation,
    scope: Scope,
    place: str,
    instruction: str,
    keep: Callable[[Example], None],
    redact: RedactRule = True,
) -> Conversation:
    """The conversation, recorded as an example unless it fails; `scope` is a separate one on the same block."""
    own = str(scope.module.get("__name__", ""))
    values = _read_values(scope)
    redactor = Redactor(redact)
    redactor.scan(values.items())
    find_secret = make_secret_finder(redactor)
    before, shapes = (
        encode_values(values, own, find_secret),
        {name: infer_shape(value) for name, value in values.items()},
    )
    outcome = yield from conversation
    after = _read_values(scope)
    texts = encode_values(after, own, find_secret).texts
    # What has changed is encoded again, alone: its texts must not refer to what has not changed.
    changed = {
        name: value
        for name, value in after.items()
        if name in scope.outputs or texts.get(name) != before.texts.get(name)
    }
    made = encode_values(changed | _get_returned_value(outcome), own, find_secret)
    keep(_make_example(place, redactor.redact_whole(instruction), before, made, shapes, outcome))
    return outcome


def make_secret_finder(redactor: Redactor) -> SecretFinder:
    """What finds the values that a model would not be shown: by their names and shapes, and by what owners hide."""
    writer = ValueWriter(find_write_function, redactor)

    def find_secret(name: str, value: UserValue) -> str | None:
        if redactor.rule is False:
            return None
        if type(value) is str:
            shown = redactor.redact_whole(redactor.write_named(name, value, lambda: value))
            return None if shown == value else "a value that is redacted"
        if is_secret(name, value) or (type(value) is bytes and _is_redacted(value, redactor)):
            return "a value that is redacted"
        if is_user_class(type(value)) and (hidden := list_hidden_attributes(value, writer)):
            return f"a {type(value).__name__} that hides {', '.join(sorted(hidden))}"
        if is_user_class(type(value)) and is_masked(value, writer):
            return f"a {type(value).__name__} that is masked"
        return None

    return find_secret


def _is_redacted(value: bytes, redactor: Redactor) -> bool:
    text = value.decode("latin-1")
    return redactor.redact(text) != text


def _make_example(
    place: str,
    instruction: str,
    before: EncodedValues,
    after: EncodedValues,
    shapes: TextsByName,
    outcome: Outcome,
) -> Example:
    ending, _ = name_ending(outcome)
    return Example(
        place,
        instruction,
        before.texts,
        {name: text for name, text in after.texts.items() if name != RETURN_VALUE},
        ending,
        after.texts.get(RETURN_VALUE),
        type(outcome.exception).__name__ if isinstance(outcome, Raised) else None,
        shapes,
        {**before.classes, **after.classes},
        {**after.lost, **before.lost},
    )


def _read_values(scope: Scope) -> dict[str, UserValue]:
    """Return the variables that are bound now, without definitions: those are found again by name."""
    found = {name: scope.lookup(name) for name in scope.names}
    return {
        name: bound.value
        for name, bound in found.items()
        if isinstance(bound, Bound) and not _is_definition(bound.value)
    }


def _is_definition(value: UserValue) -> bool:
    """Return whether a value is part of the program's text rather than of its state."""
    return isinstance(value, _DEFINITION_TYPES) or typing.get_origin(value) is not None


_DEFINITION_TYPES = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)


def _get_returned_value(outcome: Outcome) -> dict[str, UserValue]:
    return {RETURN_VALUE: outcome.value} if isinstance(outcome, Returned) else {}


def format_example_line(example: Example) -> str:
    """Return an example as one line of JSON."""
    written: dict[str, Any] = {
        "event": "example",
        "place": example.place,
        "instruction": example.instruction.split("\n"),
        "before": dict(example.before),
        "after": dict(example.after),
        "outcome": example.outcome,
    }
    for name in ("value", "error", "shapes", "classes", "lost"):
        if part := getattr(example, name):
            written[name] = part
    return format_json_line(written)


def example_from_json(written: Mapping[str, Any]) -> Example:
    """Read an example; raise KeyError or TypeError where it is none."""
    return Example(
        written["place"],
        "\n".join(written["instruction"]),
        written["before"],
        written["after"],
        written["outcome"],
        written.get("value"),
        written.get("error"),
        written.get("shapes", {}),
        written.get("classes", {}),
        written.get("lost", {}),
    )


@lru_cache(maxsize=16)
def make_example_writer(path: str) -> Callable[[Example], None]:
    """Return a function that appends examples to a file; one for the whole process."""
    file = TraceFile(path)
    return lambda example: file.add(format_example_line(example))
