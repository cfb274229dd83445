"""The first message of a block that answers with data: its inputs whole, and the form of the reply.

    Put the healthiest of <items> into <:best: Item>.
    ---
    items = [#1 Item(name='apple', price=1.25), #2 Item(name='fries', price=3.0)]
    Reply with {"best": Item number | {"name": string, "price": number}}

A model that answers with data sees nothing but this text, so nothing in it is shortened. If a value
cannot be shown whole, or the prompt is longer than `max_prompt_chars`, there is a `PromptProblem`
in its place.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from enum import EnumMeta
from functools import lru_cache, partial

from njrt.block.agent.answer import AnswerForm, make_answer_form
from njrt.block.agent.attachments import find_attachments
from njrt.block.agent.parts import Hidden, Part, read_part
from njrt.block.agent.prompt import join_opening
from njrt.block.block import Block
from njrt.data.media import Attachment
from njrt.data.outcome import UserValue
from njrt.data.private_names import unmangle
from njrt.data.records import record
from njrt.errors import ConfigurationError
from njrt.execution.scope.bindings import Bound
from njrt.execution.scope.scope import Scope
from njrt.values.introspection import find_meaning, get_class_name, is_a
from njrt.values.json_forms import make_json_form
from njrt.values.rendering.describe import describe_function, describe_size, describe_whole
from njrt.values.rendering.members import describe_doc, format_enum_members
from njrt.values.rendering.redaction import REDACTED, Redactor
from njrt.values.rendering.shown_classes import find_shown_classes
from njrt.values.rendering.whole import TOO_LONG, CannotShow, WholeWriter

Inputs = Mapping[str, Part]
"""The values that a prompt reads, by the paths that it names."""


@record
class AnswerPrompt:
    """A block's first message, its files, and how the replies are read."""

    text: str
    attachments: tuple[Attachment, ...]
    form: AnswerForm
    objects: tuple[UserValue, ...]
    """The program's objects that a reply may choose by their numbers, counted from 1."""
    write_opening: Callable[[], str]
    """Writes the message without the form of the reply."""
    redact: Callable[[str], str]
    """Redacts what is added to the message."""


@record
class PromptProblem:
    """Why a block cannot be answered with data, and the way out."""

    reason: str


def list_inputs(
    block: Block, scope: Scope, redactor: Redactor, call: Callable[[Callable[[], Part]], Part]
) -> Inputs:
    """Return the values that the prompt reads: of objects only the attributes that it names.

    `call` calls a function that may run the program's code, such as a property.
    """
    inputs: dict[str, Part] = {}
    for name in scope.names:
        written = unmangle(name, scope.class_name)
        is_output = written in scope.outputs
        if is_output and written not in block.reads:
            continue
        found = scope.lookup(name)
        paths = find_read_parts(block.instruction).get(written, ())
        if not isinstance(found, Bound):
            if not is_output:
                inputs[written] = found
        elif is_a(found.value, types.ModuleType) or not paths:
            for path, value in scope.list_named(name, found.value).items():
                inputs[unmangle(path, scope.class_name)] = Bound(value)
        else:
            for path in paths:
                inputs[path] = call(partial(read_part, scope, path, redactor))
    return inputs


_READ = re.compile(r"<([^\W\d]\w*)((?:\.[^\W\d]\w*)*)>")


@lru_cache(maxsize=256)
def find_read_parts(instruction: str) -> Mapping[str, tuple[str, ...]]:
    """Return the attribute paths in a text by variable, unless it also reads the whole variable."""
    paths: dict[str, dict[str, None]] = {}
    for found in _READ.finditer(instruction):
        paths.setdefault(found[1], {})[found[1] + found[2]] = None
    return {name: tuple(read) for name, read in paths.items() if name not in read}


def make_answer_prompt(
    block: Block, scope: Scope, inputs: Inputs, redactor: Redactor
) -> AnswerPrompt | PromptProblem:
    """Return a block's prompt, or why it has none.

    Raises ConfigurationError if an output has no JSON form.
    """
    most = block.options.max_prompt_chars or 30_000
    values = {path: found.value for path, found in inputs.items() if isinstance(found, Bound)}
    files = find_attachments(values, redactor)
    answered = find_shown_classes((), scope.types.values())
    candidates = [cls for cls in answered if not is_a(cls, EnumMeta)]
    writer = WholeWriter(most, redactor, candidates, files.has)
    fixed: list[str] = []
    lines: dict[str, str] = {}
    for path, found in inputs.items():
        try:
            if isinstance(found, Hidden):
                lines[path] = f"{path} = {REDACTED}"
            elif not isinstance(found, Bound):
                lines[path] = f"{path}: not bound"
            elif is_a(found.value, type):
                fixed += _describe_class(path, found.value, answered, writer)
            elif type(found.value) is types.FunctionType and "." in path:
                lines[path] = describe_function(path, found.value, most, redactor)
            else:
                lines[path] = describe_whole(path, found.value, writer)
        except CannotShow as problem:
            return _explain(path, values[path], problem.args[0], most)
    try:
        if answered or writer.enums:
            named = {id(value) for value in values.values()}
            fixed += _describe_other_classes(scope, named, answered, writer)
        if candidates:
            form = _make_choosing_form(block, scope, writer.objects, candidates)
        else:
            form = make_answer_form(block, scope)
    except CannotShow as problem:
        return PromptProblem(problem.args[0])
    text = join_opening(block.instruction, [*lines.values()], form.text, fixed)
    if len(text) <= most:
        objects = tuple(writer.objects)
        opening = partial(join_opening, block.instruction, [*lines.values()], "", fixed)
        return AnswerPrompt(
            *(redactor.redact(text), tuple(files.found), form, objects),
            write_opening=lambda: redactor.redact(opening()),
            redact=redactor.redact,
        )
    longest = max(lines, key=lambda path: len(lines[path]), default=None)
    if longest is None or len(lines[longest]) < len(text) // 10:
        way = "shorten its text, or raise max_prompt_chars"
        return PromptProblem(
            f"its prompt has {len(text):,} characters, more than max_prompt_chars={most:,}; {way}"
        )
    return _explain(longest, values[longest], f"makes a prompt of {len(text):,} characters", most)


def _explain(path: str, value: UserValue, reason: str, most: int) -> PromptProblem:
    way = "pass data that can be shown, such as a list"
    if reason == TOO_LONG or reason.startswith("makes"):
        reason += f"; the whole prompt may have max_prompt_chars={most:,}"
        way = "pass less of it, or raise the option"
    return PromptProblem(f"`{path}` ({describe_size(value)}) {reason}; {way}")


def _describe_class(
    path: str, cls: type, answered: Iterable[type], writer: WholeWriter
) -> Iterator[str]:
    """Yield a class that the text names, or its docstring if the form has its fields or members."""
    if any(cls is known for known in answered):
        doc = next(describe_doc(cls, is_whole=True), "")
        yield from [path + doc.removeprefix(get_class_name(cls))] if doc else []
    else:
        yield describe_whole(path, cls, writer)


def _describe_other_classes(
    scope: Scope, named: Container[int], answered: Iterable[type], writer: WholeWriter
) -> Iterator[str]:
    """Yield the docstrings of classes in the form, and of enums in it and in values.

    Those that the text names are left out.
    """
    declared = (scope.lookup(name) for name in scope.type_names)
    known = {id(cls) for cls in answered}
    in_form = [it.value for it in declared if isinstance(it, Bound) and id(it.value) in known]
    enums = [cls for cls in (*answered, *writer.enums.values()) if is_a(cls, EnumMeta)]
    for cls in {id(cls): cls for cls in (*in_form, *enums) if id(cls) not in named}.values():
        yield from describe_doc(cls, is_whole=True)
        is_read = any(cls is read for read in writer.enums.values())
        if is_read and not (id(cls) in known and any(map(find_meaning, cls))):
            yield format_enum_members(cls, writer)


def _make_choosing_form(
    block: Block, scope: Scope, objects: Sequence[UserValue], candidates: Sequence[type]
) -> AnswerForm:
    """Return the form of a reply that may choose objects of candidate classes.

    Raises CannotShow if JSON confuses the objects that it offers.

    Raises ConfigurationError if an output must be one of the program's objects, but they hold no
    such object.
    """
    chosen = {cls for cls in candidates if any(is_a(each, cls) for each in objects)}
    for path in scope.outputs:
        declared = scope.types.get(path)
        parts = typing.get_args(declared) or (declared,)
        is_container = typing.get_origin(declared) not in (None, typing.Union, types.UnionType)
        missing = [
            cls for cls in candidates if any(cls is it for it in parts) and cls not in chosen
        ]
        if path not in block.chooses:
            missing = [cls for cls in missing if not (is_container or _can_make(cls))]
        if missing and len(parts) == len(missing) and not is_container:
            raise ConfigurationError(
                f"`<:{path}>` is one of the program's objects, and the inputs hold no "
                f'`{missing[0].__name__}`; add `| None` to its type, or use effects="direct"'
            )
        chosen.update(missing)
    try:
        return make_answer_form(block, scope, frozenset(chosen))
    except ConfigurationError as error:
        make_answer_form(block, scope)  # raises the error if it is not about the choice
        raise CannotShow(str(error)) from None


def _can_make(cls: type) -> bool:
    try:
        return bool(make_json_form(cls))
    except TypeError:
        return False
