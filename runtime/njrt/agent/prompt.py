"""What the model is told: one system prompt for each effect set and protocol, one opening for each block.

    Put the sum of <prices> into <:total>.       the instruction, as it stands in the program
    ---
    prices: list[int], 3 items = [3, 4, 5]       what it may read, by type and value
    total: float, to be bound                    what it must bind
    jumps: break, continue                       where it may go

The system prompts are byte-stable, so that a vendor's prompt cache can hold them. They are short: a small
model reads them at about a hundred tokens a second, before every first call.
"""

from __future__ import annotations

from collections.abc import Sequence

from njrt.block import Block
from njrt.messages import Protocol
from njrt.options import EffectSet

INTRODUCTION = """\
You are part of a running Python program. It gives you an instruction and the variables that the \
instruction names: <x> may be read, <:x> must be bound."""

JUDGEMENT_RULES = """\
- The variables exist: use them by name, never write their values out again. Change objects in place.
- You judge, classify, extract, translate and write texts yourself: read the values, decide, and put only \
your decision into the code. Use code for what can be computed."""

DIRECT_RULES = f"""\
{JUDGEMENT_RULES}
- Besides the variables there are Python's builtins and the standard modules that you import. Names that \
you invent are yours alone.
- `break`, `continue`, `return VALUE` and `raise` at the top level of your code act on the program around \
you. Use one only if it is listed (`raise` always is) and the instruction asks for it in this case."""

DIRECT_TOOLS_PROMPT = f"""\
{INTRODUCTION} Carry the instruction out on these variables: call `run` once, with all the code and done=true. \
Only if you must first see what is not shown, use done=false: the value of the last expression and what \
is printed come back.

{DIRECT_RULES}"""

DIRECT_TEXT_PROMPT = f"""\
{INTRODUCTION} Reply with one ```python block that carries the instruction out on these variables, and nothing \
else.

{DIRECT_RULES}

Example:
Sort <letter> into <boxes> by topic and put its topic into <:topic>. Continue if it is rude.
---
letter: Letter = Letter(text='Where is my parcel? I wait since May.')
boxes: dict[str, list], 0 items = {{}}
topic: str, to be bound
jumps: break, continue

```python
topic = "delivery"
boxes.setdefault(topic, []).append(letter)
```

The same with Letter(text='You are all idiots!'):

```python
continue
```
"""

ENDING_RULES = """\
`raise`, `break`, `continue` and `return` jump in the program, as far as they are listed; `raise` and `return` take \
the name of a variable. When all outputs are bound, call `done`."""

PYTHON_PROMPT = f"""{INTRODUCTION}

{JUDGEMENT_RULES}
`exec` runs statements: with them you bind variables and change objects. `eval` only shows the value of an \
expression. Both see the listed names and Python's builtins, and names that you bind stay. {ENDING_RULES}"""

VALUE_FORMAT = """\
A value is JSON, such as 12.5, "text", true or [1, 2] (a dict is {"type": "dict", "items": [{"key": K, \
"value": V}]}), or a reference {"type": "Ref", "addr": N} to an object."""

SHARED_EVAL_PROMPT = f"""{INTRODUCTION}

{JUDGEMENT_RULES}
{VALUE_FORMAT} `eval` shows the value of an expression over the listed names and Python's builtins, and the \
reference to it; `assign` binds a variable to a value; `deref` shows an object one level deep and `setref` \
updates it in place. {ENDING_RULES}"""

REFERENCE_FORMAT = f"""\
{VALUE_FORMAT} `lookup` reads a variable, `assign` binds one, `deref` shows an object one level deep, `ref` makes \
one, `setref` updates one in place."""

ISOLATED_EVAL_PROMPT = f"""{INTRODUCTION}

{JUDGEMENT_RULES}
{REFERENCE_FORMAT} `eval` computes an expression of literals and builtins; it sees none of the program's \
variables. {ENDING_RULES}"""

BASELINE_PROMPT = f"""{INTRODUCTION}

{REFERENCE_FORMAT} `goto` jumps to a label of the program, as far as it is listed. When all outputs are bound, \
call `done`."""

SYSTEM_PROMPTS = {
    "direct": DIRECT_TOOLS_PROMPT,
    "nightjar": PYTHON_PROMPT,
    "shared-python": PYTHON_PROMPT,
    "shared-eval": SHARED_EVAL_PROMPT,
    "isolated-eval": ISOLATED_EVAL_PROMPT,
    "baseline": BASELINE_PROMPT,
}
TEXT_CALLS_RULE = """

Reply with one call as a ```json block {"name": NAME, "arguments": {...}}, and nothing else. The calls: """

LOOKUP_EXAMPLE = ('{"name": "lookup", "arguments": {"var": "note"}}', '"What a day!"')
EVAL_EXAMPLE = ('{"name": "eval", "arguments": {"expr": "note"}}', "'What a day!'")
EXEC_EXAMPLE = ('{"name": "exec", "arguments": {"code": "mood = \'happy\'"}}', "Success")
ASSIGN_EXAMPLE = ('{"name": "assign", "arguments": {"var": "mood", "val": "happy"}}', "Success")
EXAMPLE_CALLS: dict[EffectSet, tuple[tuple[str, str], ...]] = {
    "nightjar": (EXEC_EXAMPLE,),
    "shared-python": (EXEC_EXAMPLE,),
    "shared-eval": (EVAL_EXAMPLE, ASSIGN_EXAMPLE),
    "isolated-eval": (LOOKUP_EXAMPLE, ASSIGN_EXAMPLE),
    "baseline": (LOOKUP_EXAMPLE, ASSIGN_EXAMPLE),
}
"""The calls of the example that models of plain text are shown, each with what comes back."""

EFFECTS_SHOWING_VALUES = ("direct", "nightjar")
"""The effect sets in which the model is shown the values of its inputs without asking."""


def build_system_prompt(effects: EffectSet, protocol: Protocol, signatures: Sequence[str]) -> str:
    """The system prompt of an effect set; `signatures` are those of its tools, for the text protocol."""
    if protocol == "tools":
        return SYSTEM_PROMPTS[effects]
    if effects == "direct":
        return DIRECT_TEXT_PROMPT
    return (
        SYSTEM_PROMPTS[effects]
        + TEXT_CALLS_RULE
        + ", ".join(signatures)
        + "\n\n"
        + format_example_block(effects)
    )


def format_example_block(effects: EffectSet) -> str:
    """A block that is carried out by calls, as a model of plain text is to write them."""
    note = "note: str = 'What a day!'" if effects in EFFECTS_SHOWING_VALUES else "note"
    lines = [
        "Example:",
        "Put the mood of <note> into <:mood: str>.",
        "---",
        note,
        "mood: str, to be bound",
        "",
    ]
    for call, answer in EXAMPLE_CALLS[effects]:
        lines += ["```json", call, "```", "", f"When `{answer}` has come back:", ""]
    return "\n".join([*lines, "```json", '{"name": "done", "arguments": {}}', "```", ""])


def format_opening(block: Block, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """The first message of a block: its instruction, then a line for each name and one for the jumps."""
    jumps = [JUMP_FORMS[label] for label in block.labels]
    lines = [*inputs, *outputs, *([f"jumps: {', '.join(jumps)}"] if jumps else [])]
    return "\n".join([block.instruction, *(["---", *lines] if lines else [])])


JUMP_FORMS = {
    "break": "break",
    "continue": "continue",
    "return": "return VALUE",
    "bare_return": "return (without a value)",
}
