"""Write the code for a hole: a conversation with a model, as a generator without any I/O.

    Request   ──yielded──>  the driver asks a model  ──sent back──>  Reply

A refusal is sent to the model with the rejected code; earlier attempts are left out to keep the
request short.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Generator, Sequence

from njc.static.context import PLACEHOLDER
from njc.static.holes import Hole
from njrt.block.agent.text_protocol import parse_text_effects
from njrt.block.agent.tools import DIRECT
from njrt.data.records import record
from njrt.effects import Run
from njrt.execution.guard.allowed import IMPORTABLE_MODULES
from njrt.messages import Message, ModelMessage, Reply, Request, UserMessage

MAX_ATTEMPTS = 4
TEMPERATURE_STEP = 0.3


@record
class GenerationCost:
    """A conversation's tokens and price."""

    input: int = 0
    output: int = 0
    usd: float | None = None

    def add_reply(self, reply: Reply) -> GenerationCost:
        """Return the cost with a reply added."""
        usd = reply.usage.usd
        tokens = self.input + reply.usage.input, self.output + reply.usage.output
        usd = self.usd if usd is None else (self.usd or 0.0) + usd
        return GenerationCost(*tokens, usd)


@record
class Generated:
    """The code of the last attempt."""

    code: str
    attempts: int
    cost: GenerationCost
    refusals: tuple[str, ...] = ()
    """Why the code was refused; empty if it passed all checks."""
    reply: str = ""
    """The last reply, with the rationale of repaired code."""


CodeCheck = Callable[[str], tuple[str, ...]]
"""Returns the reasons to reject code."""


def generate_code(
    hole: Hole,
    check: CodeCheck,
    max_attempts: int = MAX_ATTEMPTS,
    temperature: float | None = None,
    failure: str = "",
) -> Generator[Request, Reply, Generated]:
    """Ask for a hole's code until it passes the checks, at most `max_attempts` times.

    With a `failure` of code that is there already, the model is asked to correct it. A given
    `temperature` rises with each refusal: at a constant one, small models repeat themselves.
    """
    system, question = SYSTEM_PROMPT, (*EXAMPLE_MESSAGES, UserMessage(hole.question))
    if failure:
        system, question = REPAIR_SYSTEM_PROMPT, (UserMessage(f"{hole.shown}\n\n{failure}"),)
    made = Generated("", 0, GenerationCost(), (NO_CODE,))
    messages: tuple[Message, ...] = question
    while made.refusals and made.attempts < max_attempts:
        turn = made.attempts + 1
        reply = yield Request(
            system=system,
            messages=messages,
            temperature=temperature,
            max_reply_tokens=hole.options.max_reply_tokens or 4096,
            timeout=hole.options.max_call_seconds or 120.0,
            place=hole.place,
            turn=turn,
        )
        text = reply.message.text
        code = extract_code(text)
        refusals = check(code) if code else (NO_CODE,)
        made = Generated(code, turn, made.cost.add_reply(reply), refusals, text)
        refusal = make_refusal_messages(code, refusals) if code else (UserMessage(NO_CODE),)
        messages = (*question, *refusal)
        if temperature is not None:
            temperature = min(1.0, temperature + TEMPERATURE_STEP)
    return made


# ── the prompts for writing a block's code ────────────────────────────────────────────────────────


_CODE_ONLY = (
    "Reply with one ```python block that holds only these statements, unindented, without the"
    " function around them, and nothing else."
)
_RATIONALE_FIRST = (
    "There is code for this place already, and it is wrong. Reply with a rationale first: say in"
    " two to four sentences of plain text what the code should do, what it does instead, and why."
    " Then reply with one ```python block that holds only the corrected statements, unindented,"
    " without the function around them."
)


IMPORTS = ", ".join(f"`{name}`" for name in sorted(IMPORTABLE_MODULES - {"__future__"}))

RULES = f"""\
- The program runs your code each time it comes there, every time with other values. Write code \
for all values, never for one case.
- The code may read the listed names and Python's builtins. On every path it must bind what is to \
be bound. Variables that it invents are its own; it must not assign to other names of the \
program. It may change objects in place.
- What may be read needs no import. It may import, of modules, {IMPORTS}. Refused are `eval`, \
`exec`, `compile`, `open`, `input`, `globals` and `__import__`; `getattr` and `setattr` \
take only literal names; names that begin with an underscore are internal to their object.
- `break`, `continue` and `return` act on the program around it, if they are listed, except in \
loops and functions of its own; `raise` always does. Use one only where the instruction says so; \
else the program goes on below the mark.
- What can be computed is computed. What needs judgement (what a text means or says, reading \
facts out of a text, translating, writing, knowledge of the world) is asked of a language model \
when the code runs: `llm(prompt, schema)`, in async functions `await allm(prompt, schema)`. The \
prompt is an f-string that holds all values needed and says exactly what is asked. The schema is \
the type of the answer: str, bool, int, float, Literal["a", "b"], an Enum, a dataclass or a \
pydantic model, list[...] of these, or one of these or None; without one the answer is text. One \
question is better than several. Never judge texts by keywords."""
"""What code must do, whoever writes it."""


def _make_system_prompt(form: str) -> str:
    return f"""\
You are a compiler. You see a part of a Python program in which the line `{PLACEHOLDER}` \
stands for an instruction. Write the Python statements for this place. {form}

{RULES}"""


SYSTEM_PROMPT = _make_system_prompt(_CODE_ONLY)
REPAIR_SYSTEM_PROMPT = _make_system_prompt(_RATIONALE_FIRST)
"""For correcting code: the reply has a rationale before the code."""

EXAMPLE_QUESTION = f"""\
class Letter:
    text: str

def file(letters: list[Letter], boxes: dict[str, list]) -> None:
    for letter in letters:
        {PLACEHOLDER}
        print(topic, amount)

Put <letter> into <boxes> by its topic, and bind <:topic: Literal["sales", "help"]> and the sum \
of all amounts of money in it to <:amount: float>. Continue if it is empty.
---
may be read: letter, boxes, Literal
topic: Literal["sales", "help"], to be bound
amount: float, to be bound
jumps: break, continue, return VALUE
to ask a language model: llm(prompt, schema), such as llm(f"...", Literal["sales", "help"])"""

EXAMPLE_ANSWER = """\
```python
if not letter.text.strip():
    continue
topic = llm(f"What is the topic of this letter?\\n\\n{letter.text}", Literal["sales", "help"])
boxes.setdefault(topic, []).append(letter)
amounts = llm(f"List all amounts of money in this letter.\\n\\n{letter.text}", list[float])
amount = sum(amounts)
```"""

EXAMPLE_MESSAGES: tuple[Message, ...] = (
    UserMessage(EXAMPLE_QUESTION),
    ModelMessage(EXAMPLE_ANSWER),
)
"""An example question and its answer, for small models."""


def make_refusal_messages(code: str, refusals: Sequence[str]) -> tuple[Message, ...]:
    """Return messages with the code that the model sent, and the reasons why it was rejected."""
    reasons = "\n".join(f"- {refusal}" for refusal in refusals)
    again = "Send the code again, corrected: only the statements for the marked place."
    return (
        ModelMessage(f"```python\n{code.rstrip()}\n```"),
        UserMessage(f"This was refused:\n{reasons}\n\n{again}"),
    )


NO_CODE = (
    "There is no code in your reply. Send one ```python block with the code for the marked place."
)


# ── the code in a reply ───────────────────────────────────────────────────────────────────────────


def extract_code(text: str) -> str:
    """Return the code in a reply: its first piece of Python; empty without code."""
    for effect in parse_text_effects(text, DIRECT):
        if isinstance(effect, Run) and effect.code.strip():
            return textwrap.dedent(effect.code.replace("\r\n", "\n")).strip("\n").rstrip() + "\n"
    return ""
