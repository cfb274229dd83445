"""Writing the code of one gap: a conversation with a model, as a generator without any I/O.

    Request   ──yielded──>  the driver asks a model  ──sent back──>  Reply

and it returns `Generated` or `Failed`, each with all attempts. Every refusal goes back to the model with
the code that it is about; what was said before that is left out, so that the question stays short.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from njc.static.complete import completed
from njc.static.extract import unwrapped
from njc.static.holes import Gap
from njc.static.prompt import EXAMPLE, NO_CODE, SYSTEM, code_in, refused
from njrt.messages import Message, Reply, Request, UserMessage

MOST_ATTEMPTS = 4
WARMER = 0.3


@dataclass(frozen=True, slots=True)
class Attempt:
    """One reply: its code, and why it was refused."""

    code: str
    refusals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """What the conversation used."""

    input: int = 0
    output: int = 0
    usd: float | None = None
    model: str = ""

    def with_reply(self, reply: Reply) -> Cost:
        """Add what a reply used."""
        usd = reply.usage.usd
        return Cost(
            self.input + reply.usage.input,
            self.output + reply.usage.output,
            self.usd if usd is None else (self.usd or 0.0) + usd,
            reply.model or self.model,
        )


@dataclass(frozen=True, slots=True)
class Generated:
    """Code that passed all checks."""

    code: str
    attempts: tuple[Attempt, ...]
    cost: Cost


@dataclass(frozen=True, slots=True)
class Failed:
    """No attempt passed all checks."""

    attempts: tuple[Attempt, ...]
    cost: Cost = field(default_factory=Cost)


Check = Callable[[str], tuple[str, ...]]
"""Gives the reasons why code cannot stand in the gap."""
Generation = Generator[Request, Reply, Generated | Failed]


def generating(
    gap: Gap, check: Check, most: int = MOST_ATTEMPTS, temperature: float | None = None
) -> Generation:
    """Ask for the code of a gap, and have it mended until nothing is wrong with it or `most` is reached.

    A `temperature`, if there is one, rises with each refusal: at the same one, small models say the same.
    """
    attempts: tuple[Attempt, ...] = ()
    cost = Cost()
    messages: tuple[Message, ...] = (*EXAMPLE, UserMessage(gap.shown))
    for turn in range(1, most + 1):
        reply = yield request_for(gap, messages, temperature, turn)
        cost = cost.with_reply(reply)
        code = code_in(reply.message.text)
        code = code if code is None else completed(unwrapped(code, gap), gap)
        refusals = (NO_CODE,) if code is None else check(code)
        if code is not None and not refusals:
            return Generated(code, (*attempts, Attempt(code, ())), cost)
        attempts = (*attempts, Attempt(reply.message.text if code is None else code, refusals))
        said = refused(code, refusals) if code is not None else (UserMessage(NO_CODE),)
        messages = (*EXAMPLE, UserMessage(gap.shown), *said)
        if temperature is not None:
            temperature = min(1.0, temperature + WARMER)
    return Failed(attempts, cost)


def request_for(
    gap: Gap, messages: tuple[Message, ...], temperature: float | None, turn: int
) -> Request:
    """A question about a gap."""
    return Request(
        system=SYSTEM,
        messages=messages,
        temperature=temperature,
        max_reply_tokens=gap.options.max_reply_tokens or 4096,
        timeout=gap.options.max_call_seconds or 120.0,
        place=gap.place,
        turn=turn,
    )
