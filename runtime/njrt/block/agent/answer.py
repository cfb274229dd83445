"""The effect set `answer`: the model replies with one JSON object, and none of its code runs.

    Put into <:team: Literal["billing", "shipping"]> the team for <ticket>; continue if it is empty.
    Reply with {"team": "billing" | "shipping"}        or with {"continue": true}

    {"team": "shipping"}      ──parse_answer──>   BindOutputs({"team": "shipping"})
    {"continue": true}        ──parse_answer──>   ContinueLoop()
    {"needs_code": "..."}     ──parse_answer──>   NeedsCode("..."): the run continues as `direct`

The object's form follows from the types of the outputs and from the jumps that the block may make.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from njrt.block.agent.prompt import ANSWER_FORM, REASONED_FORM
from njrt.block.agent.text_protocol import parse_text_effects
from njrt.block.agent.tools import DIRECT
from njrt.block.block import Block
from njrt.data.message_json import find_last_object
from njrt.data.records import record
from njrt.effects import (
    BindOutputs,
    BreakLoop,
    ContinueLoop,
    Effect,
    NeedsCode,
    RaiseNamed,
    Refusal,
    ReturnAnswer,
    Run,
)
from njrt.errors import ConfigurationError
from njrt.execution.scope.scope import Scope
from njrt.messages import ANSWER_DECODER, Json, Reply, make_object_schema
from njrt.values.adapters import DeclaredType
from njrt.values.introspection import find_meaning, is_exception_class
from njrt.values.json_forms import JsonForm, describe_object, make_json_form, move_definitions
from njrt.values.rendering.shown_classes import find_shown_classes

UNTYPED = bool | int | float | str | list[bool | int | float | str] | None
"""The type of an output without a declared type."""


COMMON_EXCEPTIONS = ("ValueError", "LookupError", "RuntimeError")
"""Exceptions that any block may raise by name, in addition to the exceptions in its text."""

Alternative = tuple[Json, str]
"""One form that a reply may take: its schema, and the example that the model reads."""


@record
class AnswerForm:
    """The allowed replies to a block: `schema` for servers that enforce one, `text` for the model.

    There is no schema if the model reasons in text before it answers: a server that enforces one
    would suppress the text.
    """

    schema: Json | None
    text: str
    outputs: Mapping[str, JsonForm]
    """The forms of the values that the reply binds, by name."""
    returned: JsonForm | None
    """The form of the value that the reply returns, if it may return one."""
    may_need_code: bool
    """Whether the reply may ask for code."""
    exceptions: tuple[str, ...] = ()
    """The exceptions that the text names."""

    @property
    def is_reasoned(self) -> bool:
        """Whether the answer is the last JSON object in a text."""
        return self.schema is None


def make_answer_form(
    block: Block, scope: Scope, numbered: frozenset[type] = frozenset()
) -> AnswerForm:
    """Return the reply form of a block, which chooses objects of the `numbered` classes by number.

    Raises ConfigurationError if an output or returned value has no JSON form.
    """
    return _make_answer_form(
        tuple([(path, find_output_form(scope, path, numbered)) for path in scope.outputs]),
        _find_form(
            *(scope, "return", numbered),
            *("the type that the function returns", "annotate another one"),
        )
        if "return" in block.labels
        else None,
        block.labels,
        tuple(
            [
                name
                for name in scope.names
                if name not in scope.outputs and find_exception(scope, name)
            ]
        ),
        block.options.authority != "strict",
        block.options.reasoning == "text",
    )


@lru_cache(maxsize=256)
def _make_answer_form(
    forms: tuple[tuple[str, JsonForm], ...],
    returned: JsonForm | None,
    labels: tuple[str, ...],
    exceptions: tuple[str, ...],
    may_need_code: bool,
    is_reasoned: bool,
) -> AnswerForm:
    """Return the form for a block's outputs, labels and named exceptions, cached for later runs."""
    definitions: dict[str, Json] = {}
    outputs = dict(forms)
    alternatives = [
        (move_definitions(schema, definitions), example)
        for schema, example in _list_alternatives(outputs, returned, labels)
    ]
    schemas, examples = zip(*alternatives, strict=True)
    raising = [f'{{"raise": "{name}", "message": "why"}}' for name in exceptions]
    raised = {"enum": list(dict.fromkeys((*exceptions, *COMMON_EXCEPTIONS)))}
    hidden = [make_object_schema({"raise": raised, "message": _STRING})]
    if may_need_code and "needs_code" not in outputs:
        hidden.append(make_object_schema({"needs_code": _STRING}))
    schema: dict[str, Any] = {"anyOf": [*schemas, *hidden]}
    if definitions:
        schema["$defs"] = definitions
    meanings = list_meanings(form.declared for _, form in forms)
    text = describe_form(examples, meanings, raising, is_reasoned)
    sent = None if is_reasoned else schema
    return AnswerForm(sent, text, outputs, returned, may_need_code, exceptions)


def describe_form(
    examples: Sequence[str],
    meanings: Sequence[str],
    raising: Sequence[str] = (),
    is_reasoned: bool = False,
) -> str:
    """Return the reply form as text: alternatives and enum members' meanings, then exceptions."""
    first, *jumps = examples
    start = REASONED_FORM if is_reasoned else ANSWER_FORM
    if jumps and first == PASS_EXAMPLE:
        lines = [f"{start} one of:", *examples]
    else:
        lines = [f"{start} {first}{':' if meanings else ''}", *meanings]
        if jumps:
            lines.append(f"or, only if the instruction asks for it here, with {' or '.join(jumps)}")
    if raising:
        lines.append(f"or, if none of that fits, with {' or '.join(raising)}")
    return "\n".join(lines)


def list_meanings(kinds: Iterable[DeclaredType]) -> list[str]:
    """Return the meanings of the members of enums in some types: texts that are members' values."""
    return [
        f'- "{member.name}": {member.value}'
        for kind in find_shown_classes((), kinds)
        if issubclass(kind, Enum)
        for member in kind
        if find_meaning(member)
    ]


PASS_EXAMPLE = '{"pass": true}'
"""The reply that does nothing, for a block without outputs."""

COPIED_EXAMPLE = (
    "Reply with the answer. Only if it is impossible, raise `{}`, and write the reason into"
    " `message`."
)
"""The answer to a mere copy of the exception example, as small models send after a mistake."""

_STRING: Json = {"type": "string"}
_TRUE: Json = {"const": True}


def _list_alternatives(
    forms: Mapping[str, JsonForm], returned: JsonForm | None, labels: Iterable[str]
) -> Iterator[Alternative]:
    """Yield the forms that the block's text calls for: its outputs, then its jumps."""
    if forms:
        properties = {path: form.schema for path, form in forms.items()}
        yield make_object_schema(properties), describe_object(forms)
    else:
        yield make_object_schema({"pass": _TRUE}), PASS_EXAMPLE
    for label in labels:
        if label in ("break", "continue"):
            yield make_object_schema({label: _TRUE}), f'{{"{label}": true}}'
        elif label == "bare_return":
            yield make_object_schema({"return": {"type": "null"}}), '{"return": null}'
        elif label == "return" and returned is not None:
            properties = {"return": returned.schema}
            yield make_object_schema(properties), describe_object({"return": returned})


def find_output_form(scope: Scope, path: str, numbered: frozenset[type]) -> JsonForm:
    """Return the JSON form of an output; raise ConfigurationError if it has none."""
    if "." in path:
        raise ConfigurationError(
            f'`<:{path}>` sets an attribute, which effects="answer" cannot; '
            'bind a name instead, or use effects="direct"'
        )
    return _find_form(scope, path, numbered, f"the type of `<:{path}>`", "give it another type")


def _find_form(scope: Scope, path: str, numbered: frozenset[type], what: str, way: str) -> JsonForm:
    """Return a declared type's JSON form, or raise ConfigurationError if it cannot be evaluated."""
    types = scope.types
    if path not in types and scope.has_unresolved_type(path):
        raise ConfigurationError(
            f"{what} cannot be evaluated: some name in it is not defined at run time, such as one"
            ' imported under `if TYPE_CHECKING:`; import it outside, or use effects="direct"'
        )
    declared = types.get(path, UNTYPED)
    try:
        is_anything = path == "return" and declared in (Any, object)
        return make_json_form(UNTYPED if is_anything else declared, numbered)
    except TypeError as error:
        raise ConfigurationError(
            f'{what} has no JSON form: {error}; {way}, or use effects="direct"'
        ) from None


def find_exception(scope: Scope, name: str) -> type[BaseException] | None:
    """Return the exception class with this name: one in the prompt, or a builtin `Exception`."""
    value = scope.find_value(name)
    if is_exception_class(value) and (name in scope.names or issubclass(value, Exception)):
        return value
    return None


_FENCED_JSON = re.compile(r"^```\w*[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def parse_answer(reply: Reply, form: AnswerForm) -> tuple[Effect | Refusal, ...]:
    """Read a reply as one effect; return nothing if it has no text.

    If it is reasoned, the answer is the last JSON object in the text. An output may be named
    `needs_code`.
    """
    for call in reply.message.calls:
        if not call.arguments:
            return (_refuse(call.raw),)
        return (make_effect(call.arguments, form),)
    if not (text := unfence(reply.message.text)):
        return ()
    try:
        value = ANSWER_DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        value = find_last_object(reply.message.text) if form.is_reasoned else None
        if value is None and any(isinstance(it, Run) for it in parse_text_effects(text, DIRECT)):
            return (_refuse_code(form),)
        if value is None:
            return (_refuse(text[-80:] if form.is_reasoned else text, str(error)),)
    return (make_effect(value, form),)


def _refuse_code(form: AnswerForm) -> Refusal:
    way = ' If only code can do it, reply {"needs_code": "why"}.' * form.may_need_code
    return Refusal(f"No code runs here. Reply with the JSON object alone.{way}")


def unfence(text: str) -> str:
    """Return the text in the first fence; all of it without one or if it starts like an object."""
    fenced = None if text.lstrip().startswith("{") else _FENCED_JSON.search(text)
    return (fenced[1] if fenced else text).strip()


def _refuse(text: str, reason: str = "") -> Refusal:
    problem = "says nothing" if text == "{}" else "is no JSON object"
    why = f" ({reason.partition(';')[0]})" if reason and text.startswith("{") else ""
    return Refusal(f"Your reply {problem}{why}: {text[:80]!r}. Reply with the JSON object alone.")


def make_effect(value: Any, form: AnswerForm) -> Effect | Refusal:
    """Read the JSON value of a reply as an effect."""
    outputs = form.outputs
    match value:
        case {"code": _} if "code" not in outputs:
            return _refuse_code(form)
        case {"raise": str(name), "message": "why"} if len(value) == 2:
            return Refusal(COPIED_EXAMPLE.format(name), restart=COPIED_EXAMPLE.format(name))
        case {"raise": str(name), **others} if others.keys() <= {"message"}:
            return RaiseNamed(name, str(others.get("message") or ""))
        case {"needs_code": str(reason)} if len(value) == 1 and "needs_code" not in outputs:
            return NeedsCode(reason)
        case {"break": True} if len(value) == 1:
            return BreakLoop()
        case {"continue": True} if len(value) == 1:
            return ContinueLoop()
        case {"return": returned} if len(value) == 1:
            return ReturnAnswer(returned)
        case {"pass": True} if len(value) == 1:
            return BindOutputs({})
        case dict() if value or outputs:
            return BindOutputs(value)
        case _:
            return _refuse(json.dumps(value))


def find_name_problem(names: Collection[str], outputs: Collection[str]) -> str | None:
    """Describe an output missing from a reply, or a name that is no output; None if they agree."""
    for name in names:
        if name not in outputs:
            known = ", ".join(outputs) or "none"
            return f"there is no output `{name}`; the outputs are: {known}"
    for name in outputs:
        if name not in names:
            return f"`{name}` is missing"
    return None
