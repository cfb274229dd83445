"""The model's prompts: a system prompt per effect set and protocol, and an opening per block.

    Put the sum of <prices> into <:total>.       the instruction
    ---
    prices: list[int], 3 items = [3, 4, 5]       an input: its type and value
    total: float, to be bound                    an output
    Allowed jumps: `break`, `continue`           the legal jumps

The system prompts are byte-stable, so that a vendor's prompt cache can hold them. They are short
because a small model reads them, at about a hundred tokens a second, before every first call.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from njrt.block.agent.calls import limit_time, make_refusal
from njrt.block.agent.parts import Hidden, read_part
from njrt.block.block import Block
from njrt.data.options import Options, Reasoning
from njrt.data.private_names import unmangle
from njrt.execution.scope.bindings import Absent, Bound
from njrt.execution.scope.scope import Scope
from njrt.messages import Protocol
from njrt.values.introspection import get_class_name, is_a, is_exactly
from njrt.values.rendering.describe import describe_function, describe_variable, render_value
from njrt.values.rendering.redaction import REDACTED, Redactor
from njrt.values.rendering.shown_classes import find_shown_classes, find_signature_classes
from njrt.values.rendering.signatures import format_type

INTRODUCTION = """\
You are part of a running Python program. It gives you an instruction and the variables that the \
instruction names: <x> may be read, <:x> must be bound."""

JUDGEMENT_RULES = """\
- The variables exist: use them by name, never write their values out again. Change objects in \
place.
- You judge, classify, extract, translate and write texts yourself: read the values, decide, and \
put only your decision into the code. Use code for what can be computed."""

DIRECT_RULES = f"""\
{JUDGEMENT_RULES}
- The code runs once, for these values: write what is to be done, not a case for other values.
- Builtins and imports of the standard library are there, too.
- `break`, `continue`, `return VALUE` and `raise` at the top level act on the program around you. \
Use one only if it is listed (`raise` always is) and the instruction asks for it in this case."""

DIRECT_TOOLS_PROMPT = f"""\
{INTRODUCTION} Carry the instruction out on these variables: call `run` once, with all the code \
and done=true. Only if you must first see what is not shown, use done=false: the value of the \
last expression and what is printed come back.

{DIRECT_RULES}"""

ONLY_A_BLOCK = """\
Reply with one ```python block that carries the instruction out on these variables, and nothing \
else."""

END_WITH_A_BLOCK = """\
End your reply with one ```python block that carries the instruction out on these variables."""

DIRECT_TEXT_PROMPT = f"""\
{INTRODUCTION} {ONLY_A_BLOCK}

{DIRECT_RULES}

Example:
Do with the <guests> what the <reply> says, and put its tone into <:tone>.
---
guests: dict[str, int], 2 keys = {{'Ann': 3, 'Bo': 1}}
reply: str = 'Bo cannot make it, sorry! Ann will be alone.'
tone: str, to be bound

```python
del guests["Bo"]
guests["Ann"] = 1
tone = "friendly"
```
"""

ANSWER_ROLE = (
    "You are a function in a Python program: <x> is an input, <:x> an output. Follow the"
    " instruction"
)

ANSWER_RULES = """\
- Judge, extract, compute, translate and write yourself.
- If it is impossible: {"raise": "ValueError", "message": "why"}"""

STRICT_ANSWER_PROMPT = f"""\
{ANSWER_ROLE}; reply with one JSON object, on one line, in the form given.
{ANSWER_RULES}"""

NEEDS_CODE_RULE = """
- If only code can do it: {"needs_code": "why"}"""

REASONED_ANSWER_PROMPT = f"""\
{ANSWER_ROLE}. First reason step by step, in at most six short lines without code; then end with \
one JSON object, on one line, in the form given.
{ANSWER_RULES}"""

REASONED_CODE_RULE = """

First reason step by step about these values, in at most six short lines; then send the code."""

ASKING_RULE = """

Put each judgement about a text or a thing to `ask(question, type)`, with the value in the \
question, and let the code act on the answer:
for item in items:
    if ask(f"Is this an insult? {item}", bool):
        item.hidden = True"""

INTERFACE_PROMPT = f"""{INTRODUCTION}

Judge, extract, translate and write yourself, and act on the program only by the calls that you \
are given; a result comes back after each. When all of it is done, call `done`."""

REFERENCE_RULE = """ An object of the program is passed as a reference {"type": "Ref", "addr": N} \
that a result has shown, or as the name of a variable, "NAME"."""

TEXT_CALLS_RULE = """

Reply with one call as a ```json block {"name": NAME, "arguments": {...}}, and nothing else. The \
calls: """

LONG_FORM = 500
"""The number of characters above which an answer form precedes the values."""


def build_answer_prompt(options: Options) -> str:
    """Return the system prompt of the effect set `answer`."""
    prompt = REASONED_ANSWER_PROMPT if options.reasoning == "text" else STRICT_ANSWER_PROMPT
    return prompt if options.authority == "strict" else prompt + NEEDS_CODE_RULE


CODE_RULES: Mapping[Reasoning | None, str] = {"text": REASONED_CODE_RULE, "ask": ASKING_RULE}
"""The text appended to the prompt of the effect set `direct`, by the option `reasoning`."""


def build_direct_prompt(protocol: Protocol, reasoning: Reasoning | None = None) -> str:
    """Return the system prompt of the effect set `direct`."""
    prompt = DIRECT_TOOLS_PROMPT if protocol == "tools" else DIRECT_TEXT_PROMPT
    if reasoning == "text":
        prompt = prompt.replace(ONLY_A_BLOCK, END_WITH_A_BLOCK)
    return prompt + CODE_RULES.get(reasoning, "")


def build_interface_prompt(
    rules: str, calls: Sequence[str], protocol: Protocol, has_references: bool
) -> str:
    """Return the system prompt of a block with an interface; `calls` has its effects as text."""
    parts = [INTERFACE_PROMPT + REFERENCE_RULE * has_references]
    if rules := inspect.cleandoc(rules):
        parts.append(rules)
    if protocol == "text":
        parts.append(f"{TEXT_CALLS_RULE.strip()}\n" + "\n".join(f"- {call}" for call in calls))
    return "\n\n".join(parts)


ANSWER_FORM = "Reply with"
REASONED_FORM = "First reason step by step, in at most six short lines without code. Then end with"
"""The first words of an answer form, without and with reasoning before the answer."""


def join_opening(
    instruction: str, lines: Sequence[str], form: str, fixed: Sequence[str] = ()
) -> str:
    """Return a first message's text; `lines` has its values, `fixed` the parts shared by all runs.

    A long form of the reply precedes the values: after it, a small model would lose sight of them.
    """
    rule = choose_rule(instruction)
    if not form:
        return "\n".join([instruction, *([rule, *fixed, *lines] if fixed or lines else [])])
    parts = [*lines, form]
    if len(form) > LONG_FORM:
        parts = [form, rule, *lines] if lines else [form]
    return "\n".join([instruction, rule, *fixed, *parts])


def build_opening(block: Block, scope: Scope, redactor: Redactor | None = None) -> str:
    """Return a block's first message: its instruction, then lines for inputs, outputs and jumps.

    Classes come first: they are the same in every run, which helps a prompt cache.
    """
    redactor = redactor or Redactor()
    budget = block.options.show_chars or 1000
    if block.interface is not None and not block.interface.shows_values:
        budget = 0
    lines: list[str] = []
    fixed: list[str] = []
    has_objects = False
    for name in (*scope.names, *scope.type_names):
        written = unmangle(name, scope.class_name)
        if written in scope.outputs:
            continue
        found = scope.lookup(name)
        if not isinstance(found, Bound):
            lines.append(f"{written}: not bound")
            continue
        value = found.value
        has_objects = has_objects or not is_exactly(value, *_PLAIN_TYPES)
        if name in scope.parts:
            lines += _describe_parts(block, scope, scope.parts[name], budget, redactor)
        elif is_a(value, type):
            shown = describe_variable(written, value, budget, redactor) if budget else written
            fixed.append(shown)
        else:
            for path, shown in scope.list_named(name, value).items():
                label = unmangle(path, scope.class_name)
                if not budget:
                    lines.append(label)
                elif path != name and type(shown) is FunctionType:
                    lines.append(describe_function(label, shown, budget, redactor))
                else:
                    lines.append(describe_variable(label, shown, budget, redactor))
    if budget and scope.uses:
        for cls in find_signature_classes(scope.list_used_functions()):
            fixed.append(describe_variable(cls.__name__, cls, budget, redactor))
    if budget and has_objects:
        fixed += _describe_classes(scope, budget, redactor)
    outs = [format_output_line(block, scope, path, budget, redactor) for path in scope.outputs]
    if offered := list_offered_jumps(block):
        outs.append(f"Allowed jumps: {', '.join(offered)}")
    return redactor.redact(join_opening(block.instruction, [*lines, *outs], "", fixed))


_PLAIN_TYPES = (str, int, float, bool, type(None))


def _describe_classes(scope: Scope, budget: int, redactor: Redactor) -> Iterator[str]:
    """Yield the classes of the objects that a block may change, each once, with their members."""
    values = scope.list_visible((*scope.names, *scope.type_names)).values()
    known = [value for value in values if is_a(value, type)]
    known += find_signature_classes(scope.list_used_functions())
    room = 2 * budget
    for cls in find_shown_classes(values, ()):
        if room > 0 and not any(cls is each for each in known):
            shown = describe_variable(get_class_name(cls), cls, min(budget, room), redactor)
            room -= len(shown)
            yield shown


def _describe_parts(
    block: Block, scope: Scope, paths: Sequence[str], budget: int, redactor: Redactor
) -> Iterator[str]:
    """Yield a line for each part of a variable that the prompt reads, which may run properties."""
    in_time = partial(limit_time, block.options.max_code_seconds)
    for path in paths:
        if path in scope.outputs and path not in block.reads:
            continue
        try:
            part = in_time(partial(read_part, scope, path, redactor))
        except Exception as error:
            yield f"{path}: cannot be read: {make_refusal(error).message}"
            continue
        match part:
            case Bound(value):
                yield describe_variable(path, value, budget, redactor) if budget else path
            case Hidden():
                yield f"{path} = {REDACTED}"
            case _:
                yield f"{path}: not bound"


def list_offered_jumps(block: Block) -> list[str]:
    """Return the legal jumps as code; behind an interface, those with an effect of their name."""
    labels = block.labels
    if block.interface is not None:
        names = {name for name, _ in block.interface.list_effects()}
        labels = tuple(each for each in labels if each.removeprefix("bare_") in names)
    return [f"`{JUMP_FORMS[label]}`" for label in labels]


def choose_rule(instruction: str) -> str:
    """Return the instruction's end line: longer than any in it, so that no value can imitate it."""
    return "-" * (max(map(len, _RULE.findall(instruction)), default=2) + 1)


_RULE = re.compile(r"^[ \t]*(-{3,})[ \t]*$", re.MULTILINE)


def format_output_line(
    block: Block, scope: Scope, path: str, budget: int, redactor: Redactor
) -> str:
    """Return the line for an output: its name and type, and its value if the prompt also reads it.

    A value that the prompt does not read is not shown: it would only lead a model to repeat it.
    """
    declared = scope.types.get(path)
    typed = path if declared is None else f"{path}: {format_type(declared)}"
    line = f"{typed}, to be {'set' if '.' in path else 'bound'}"
    if typing.get_origin(declared) is Callable:
        parameters, result = typing.get_args(declared) or (..., Any)
        shown = ", ".join(map(format_type, parameters)) if isinstance(parameters, list) else "..."
        line = f"def {path}({shown}) -> {format_type(result)}: ...  # to be defined"
    value = scope.find_value(path)
    if "." in path or type(value) is Absent:
        return line
    if budget and path in block.reads:
        shown = redactor.write_named(path, value, lambda: render_value(value, budget, redactor))
        return f"{line} anew; now {shown}"
    return f"{line} anew"


JUMP_FORMS = {
    "break": "break",
    "continue": "continue",
    "return": "return VALUE",
    "bare_return": "return",
}
