"""Writing the code of one hole: a conversation with a model, as a generator without any I/O.

    Request   ──yielded──>  the driver asks a model  ──sent back──>  Reply

It returns `Generated` or `GenerationFailed`, both with all attempts. Each refusal goes back to the model with the code
that it is about; earlier attempts are left out, so that the request stays short.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from njc.static.extract import extract_code
from njc.static.holes import Hole
from njc.static.prompt import EXAMPLE_MESSAGES, NO_CODE, SYSTEM_PROMPT, make_refusal_messages
from njrt.messages import Message, Reply, Request, UserMessage

MAX_ATTEMPTS = 4
TEMPERATURE_STEP = 0.3


@dataclass(frozen=True, slots=True)
class GenerationAttempt:
    """One reply: its code, and why it was refused, or how its tests went."""

    code: str
    """The whole reply if it has no code."""
    verdict: tuple[str, ...]
    rationale: str = ""
    """What the model wrote before the code, if it was asked for that."""


@dataclass(frozen=True, slots=True)
class GenerationCost:
    """What the conversation used."""

    input: int = 0
    output: int = 0
    usd: float | None = None
    model: str = ""

    def add_reply(self, reply: Reply) -> GenerationCost:
        """Add what a reply used."""
        usd = reply.usage.usd
        return GenerationCost(
            self.input + reply.usage.input,
            self.output + reply.usage.output,
            self.usd if usd is None else (self.usd or 0.0) + usd,
            reply.model or self.model,
        )


@dataclass(frozen=True, slots=True)
class Generated:
    """Code that passed all checks."""

    code: str
    attempts: tuple[GenerationAttempt, ...]
    cost: GenerationCost


@dataclass(frozen=True, slots=True)
class GenerationFailed:
    """No attempt passed all checks."""

    attempts: tuple[GenerationAttempt, ...]
    cost: GenerationCost = field(default_factory=GenerationCost)


CodeCheck = Callable[[str], tuple[str, ...]]
"""Returns the reasons why code is refused."""
Generation = Generator[Request, Reply, Generated | GenerationFailed]


def generate_code(
    hole: Hole, check: CodeCheck, max_attempts: int = MAX_ATTEMPTS, temperature: float | None = None
) -> Generation:
    """Ask for the code of a hole until it passes the checks, at most `max_attempts` times.

    A `temperature`, if there is one, rises with each refusal: at the same one, small models repeat themselves.
    """
    attempts: tuple[GenerationAttempt, ...] = ()
    cost = GenerationCost()
    messages: tuple[Message, ...] = (*EXAMPLE_MESSAGES, UserMessage(hole.shown))
    for turn in range(1, max_attempts + 1):
        reply = yield make_code_request(hole, messages, temperature, turn)
        cost = cost.add_reply(reply)
        code = extract_code(reply.message.text, hole)
        refusals = (NO_CODE,) if code is None else check(code)
        if code is not None and not refusals:
            return Generated(code, (*attempts, GenerationAttempt(code, ())), cost)
        attempts = (
            *attempts,
            GenerationAttempt(reply.message.text if code is None else code, refusals),
        )
        refusal = (
            make_refusal_messages(code, refusals) if code is not None else (UserMessage(NO_CODE),)
        )
        messages = (*EXAMPLE_MESSAGES, UserMessage(hole.shown), *refusal)
        if temperature is not None:
            temperature = min(1.0, temperature + TEMPERATURE_STEP)
    return GenerationFailed(attempts, cost)


def make_code_request(
    hole: Hole, messages: tuple[Message, ...], temperature: float | None, turn: int
) -> Request:
    """Return the request for the code of a hole."""
    return Request(
        system=SYSTEM_PROMPT,
        messages=messages,
        temperature=temperature,
        max_reply_tokens=hole.options.max_reply_tokens or 4096,
        timeout=hole.options.max_call_seconds or 120.0,
        place=hole.place,
        turn=turn,
    )
