"""Examples: a live block's variables before and after a run, for testing static code.

    NJC_EXAMPLES=traces/shop.jsonl python shop.py            one line for each run of a block

    {"event": "example", "place": "shop.njpy:4", "instruction": ["Add <price> to <:spent>, ..."],
     "before": {"price": "3", "limit": "10", "spent": "4"}, "after": {"spent": "7"}, "outcome": "completed"}

Values are expressions that recreate them (njrt.values.encode); `lost` names the others, and values with secrets.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from njrt.agent.conversation import Conversation
from njrt.message_json import format_json_line
from njrt.observability.accounts import name_ending
from njrt.observability.trace import TraceFile
from njrt.outcome import Raised, Returned, UserValue
from njrt.records import asdict, field, fields, record
from njrt.rendering.one_line import find_write_function, is_masked, list_hidden_attributes
from njrt.rendering.redaction import Redactor, RedactRule, is_secret
from njrt.rendering.writer import ValueWriter
from njrt.scope.scope import Scope
from njrt.values.encode import SecretFinder, encode_values
from njrt.values.introspection import is_user_class
from njrt.values.shapes import infer_shape

RETURN_VALUE = "return value"
"""The name of the returned value among the variables; no variable can have it."""
TextsByName = Mapping[str, str]


@record
class Example:
    """One run of a block. Values are expressions, by variable name."""

    place: str
    instruction: str
    before: TextsByName
    after: TextsByName
    outcome: str
    value: str | None = None
    """The returned value."""
    error: str | None = None
    """The class of the raised exception."""
    shapes: TextsByName = field(default_factory=dict)
    """The shapes of the values before the run, including lost values."""
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
    """Yield the conversation and record it as an example unless it fails; `scope` is a separate one for the block."""
    own = str(scope.module.get("__name__", ""))
    values = _read_values(scope)
    redactor = Redactor(redact)
    redactor.scan(values.items())
    find_secret = make_secret_finder(redactor)
    before = encode_values(values, own, find_secret)
    shapes = {name: infer_shape(value) for name, value in values.items()}
    outcome = yield from conversation
    after = _read_values(scope)
    texts = encode_values(after, own, find_secret).texts
    # Changed values are encoded again on their own, since their texts must not refer to unchanged values.
    changed = {
        name: value
        for name, value in after.items()
        if name in scope.outputs or texts.get(name) != before.texts.get(name)
    }
    returned = {RETURN_VALUE: outcome.value} if isinstance(outcome, Returned) else {}
    made = encode_values(changed | returned, own, find_secret)
    made_texts = dict(made.texts)
    value = made_texts.pop(RETURN_VALUE, None)
    keep(
        Example(
            place,
            redactor.redact_whole(instruction),
            before.texts,
            made_texts,
            name_ending(outcome)[0],
            value,
            type(outcome.exception).__name__ if isinstance(outcome, Raised) else None,
            shapes,
            {**before.classes, **made.classes},
            {**made.lost, **before.lost},
        )
    )
    return outcome


def make_secret_finder(redactor: Redactor) -> SecretFinder:
    """Return a function that finds values to hide from a model, by name and shape and by their owners' rules."""
    writer = ValueWriter(find_write_function, redactor)

    def find_secret(name: str, value: UserValue) -> str | None:
        if redactor.rule is False:
            return None
        if type(value) is str:
            shown = redactor.redact_whole(redactor.write_named(name, value, lambda: value))
            return None if shown == value else "a value that is redacted"
        text = value.decode("latin-1") if type(value) is bytes else ""
        if is_secret(name, value) or redactor.redact(text) != text:
            return "a value that is redacted"
        if is_user_class(type(value)) and (hidden := list_hidden_attributes(value, writer)):
            return f"a {type(value).__name__} that hides {', '.join(sorted(hidden))}"
        if is_user_class(type(value)) and is_masked(value, writer):
            return f"a {type(value).__name__} that is masked"
        return None

    return find_secret


def _read_values(scope: Scope) -> dict[str, UserValue]:
    """Return the variables that are bound now, except definitions, which are found again by name."""
    return {
        name: value
        for name, value in scope.list_variables(scope.names).items()
        if not isinstance(value, _DEFINITIONS) and typing.get_origin(value) is None
    }


_DEFINITIONS = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
"""Types of objects that belong to the program's text, not to its state."""


def format_example_line(example: Example) -> str:
    """Return an example as one line of JSON, without empty fields after its outcome."""
    written = {"event": "example"} | asdict(example)
    written["instruction"] = example.instruction.split("\n")
    for name in ("value", "error", "shapes", "classes", "lost"):
        if not written[name]:
            del written[name]
    return format_json_line(written)


def example_from_json(written: Mapping[str, Any]) -> Example:
    """Read an example; raise KeyError or TypeError for anything else."""
    known = {field.name: written[field.name] for field in fields(Example) if field.name in written}
    known["instruction"] = "\n".join(written["instruction"])
    return Example(**known)


@lru_cache(maxsize=16)
def make_example_writer(path: str) -> Callable[[Example], None]:
    """Return a function that appends examples to a file, shared by the whole process."""
    file = TraceFile(path)
    return lambda example: file.add(format_example_line(example))
