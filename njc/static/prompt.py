"""The prompts for writing the code of a block.

    from dataclasses import dataclass               the program, with a mark where the code goes
    ...
    Put the sum of <prices> into <:total: float>.   the instruction of the block
    ---
    may be read: prices                             its interface
    total: float, to be bound
    to ask a language model: llm(prompt, schema), such as llm(f"...", float)

The system prompt is always the same bytes. Small models do best with one fenced block of Python and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from njc.static.context import PLACEHOLDER
from njrt.messages import Message, ModelMessage, UserMessage

_CODE_ONLY = (
    "Reply with one ```python block that holds only these statements, unindented, without the function around "
    "them, and nothing else."
)
_RATIONALE_FIRST = (
    "There is code for this place already, and it is wrong. Reply with a rationale first: say in two to four "
    "sentences of plain text what the code should do, what it does instead, and why. Then reply with one "
    "```python block that holds only the corrected statements, unindented, without the function around them."
)


def _make_system_prompt(form: str) -> str:
    return f"""\
You are a compiler. You see a part of a Python program in which the line `{PLACEHOLDER}` \
stands for an instruction. Write the Python statements for this place. {form}

- The program runs your code each time it comes there, every time with other values. Write code for all \
values, never for one case.
- The code may read the listed names, Python's builtins and standard modules that it imports. On every path \
it must bind what is to be bound. Variables that it invents are its own; it must not assign to other names \
of the program. It may change objects in place.
- `break`, `continue` and `return` act on the program around it, if they are listed; `raise` always does. \
Use one only where the instruction says so; else the program goes on below the mark.
- What can be computed is computed. What needs judgement (what a text means or says, reading facts out of a \
text, translating, writing, knowledge of the world) is asked of a language model when the code runs: \
`llm(prompt, schema)`, in async functions `await allm(prompt, schema)`. The prompt is an f-string that holds \
all values needed and says exactly what is asked. The schema is the type of the answer: str, bool, int, \
float, Literal["a", "b"], an Enum, list[...] of these, a dataclass or a pydantic model; without one the \
answer is text. One question is better than several. Never judge texts by keywords."""


SYSTEM_PROMPT = _make_system_prompt(_CODE_ONLY)
REPAIR_SYSTEM_PROMPT = _make_system_prompt(_RATIONALE_FIRST)
"""For the correction of code: the reply has a rationale before the code."""

_EXAMPLE_QUESTION = f"""\
class Letter:
    text: str

def file(letters: list[Letter], boxes: dict[str, list]) -> None:
    for letter in letters:
        {PLACEHOLDER}
        print(topic, amount)

Put <letter> into <boxes> by its topic, and bind <:topic: Literal["sales", "help"]> and the sum of all \
amounts of money in it to <:amount: float>. Continue if it is empty.
---
may be read: letter, boxes, Literal
topic: Literal["sales", "help"], to be bound
amount: float, to be bound
jumps: break, continue, return VALUE
to ask a language model: llm(prompt, schema), such as llm(f"...", Literal["sales", "help"])"""

_EXAMPLE_ANSWER = """\
```python
if not letter.text.strip():
    continue
topic = llm(f"What is the topic of this letter?\\n\\n{letter.text}", Literal["sales", "help"])
boxes.setdefault(topic, []).append(letter)
amounts = llm(f"List all amounts of money in this letter.\\n\\n{letter.text}", list[float])
amount = sum(amounts)
```"""

EXAMPLE_MESSAGES: tuple[Message, ...] = (
    UserMessage(_EXAMPLE_QUESTION),
    ModelMessage(_EXAMPLE_ANSWER),
)
"""An example question and its answer, for small models."""


def make_refusal_messages(code: str, refusals: Sequence[str]) -> tuple[Message, ...]:
    """Return the code as the model sent it, and the reasons why it was refused."""
    reasons = "\n".join(f"- {refusal}" for refusal in refusals)
    again = "Send the code again, corrected: only the statements for the marked place."
    return (
        ModelMessage(f"```python\n{code.rstrip()}\n```"),
        UserMessage(f"This was refused:\n{reasons}\n\n{again}"),
    )


NO_CODE = (
    "There is no code in your reply. Send one ```python block with the code for the marked place."
)
