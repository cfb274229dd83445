"""Limits on requests and tokens per minute, shared by threads, processes and, with a store on a server, machines.

    RateLimitModel(model, requests=500, tokens=200_000)                              processes of this user
    RateLimitModel(model, requests=500, store="redis://cache.example:6379/0")        machines

A request waits until it fits. A running call counts with an estimate of its prompt and the longest reply, a finished
call with the server's count. The store has one entry, with counts for each sixtieth of the time; a killed process's
reservations count until they expire.
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast
from urllib.parse import quote

from njrt.errors import ConfigurationError, NotAskedError
from njrt.messages import ModelMessage, Reply, Request, ToolMessage, UserMessage
from njrt.models.model import ModelAround
from njrt.models.wrapped import Attempts, Calls, WrappedModel, adapt_model, require_numbers
from njrt.stores import Store, update

PARTS = 60
"""The number of parts of the time that are counted separately."""

CHARS_PER_TOKEN = 3
"""Characters of a prompt per reserved token: fewer than in most languages."""

FILE_TOKENS = 1_500
"""Tokens reserved for each file that is shown."""


@dataclass(slots=True)
class Part:
    """One part of the time: its calls, their tokens, and how many of them are running."""

    calls: int = 0
    tokens: int = 0
    open: int = 0

    def add(self, calls: int, tokens: int, open: int) -> None:
        """Add to the counts, or subtract from them; no count falls below 0."""
        self.calls = max(0, self.calls + calls)
        self.tokens = max(0, self.tokens + tokens)
        self.open = max(0, self.open + open)

    @property
    def counts(self) -> list[int]:
        """The three numbers, as stored."""
        return [self.calls, self.tokens, self.open]


class Window:
    """The calls of the last `seconds` (state: its parts); `now` is the time by the store's clock."""

    def __init__(self, text: str | None, now: float, seconds: float) -> None:
        self.width = seconds / PARTS
        self.now = now
        self.number = int(now / self.width)
        self.parts: dict[int, Part] = {}
        for number, counts in _read_parts(text).items():
            # A part in the future was counted before the clock was set back.
            self.change(min(number, self.number), *counts)

    def find_wait(self, fits: Callable[[Part], bool]) -> float:
        """Return the seconds until the remaining calls satisfy `fits`; 0.0 if they do now."""
        total = Part()
        for part in self.parts.values():
            total.add(*part.counts)
        if fits(total):
            return 0.0
        wait = 0.0
        for number in sorted(self.parts):
            total.add(*(-count for count in self.parts[number].counts))
            wait = (number + PARTS + 1) * self.width - self.now
            if fits(total):
                break
        return max(wait, self.width / 10)

    def change(self, number: int, calls: int, tokens: int, open: int) -> None:
        """Add to a part of the time; do nothing if it has expired."""
        if number >= self.number - PARTS:
            self.parts.setdefault(min(number, self.number), Part()).add(calls, tokens, open)

    def format(self) -> str:
        """Return the text to store."""
        parts = {
            str(number): part.counts
            for number, part in sorted(self.parts.items())
            if any(part.counts)
        }
        return json.dumps(parts, separators=(",", ":"))


def _read_parts(text: str | None) -> dict[int, list[int]]:
    try:
        parts = {
            int(number): [int(count) for count in counts]
            for number, counts in json.loads(text or "{}").items()
        }
    except (ValueError, TypeError, AttributeError):  # written by another version
        return {}
    return {number: counts for number, counts in parts.items() if len(counts) == 3}


class RateLimitModel(ModelAround, WrappedModel):
    """The model `model`, asked at most `requests` times and for at most `tokens` tokens in any `seconds`.

    All models with the same `key`, by default the model's name, share the limit; give them equal numbers.
    `store` is a store, its URL, or None for the user's store. A request waits as long as the run has left, or
    without a time limit at most its own timeout, and then fails with a `NotAskedError`.
    """

    def __init__(
        self,
        model: Any,
        *,
        requests: int | None = None,
        tokens: int | None = None,
        seconds: float = 60.0,
        key: str | None = None,
        store: Store | str | None = None,
    ) -> None:
        counts = {"requests": requests, "tokens": tokens}
        require_numbers("RateLimitModel", counts, {"seconds": seconds})
        limits = [limit for limit in (requests, tokens) if limit is not None]
        if not limits or min(limits) < 1 or not 0 < seconds < math.inf:
            raise ConfigurationError(
                "RateLimitModel needs requests or tokens, from 1, and a time above 0"
            )
        self.model = adapt_model(model)
        self.requests = requests
        self.tokens = tokens
        self.seconds = seconds
        self._key = f"rate/{quote(key or self.model.name, safe='')[:400]}"
        self._given_store = store
        self._store: Store | None = None

    async def answer(self, request: Request, calls: Calls) -> Reply:
        attempts = Attempts(request, calls)
        prompt = estimate_prompt_tokens(request)
        held: list[tuple[int, int]] = []
        tokens: int | None = None
        try:
            await self._wait_for_turn(request, calls, prompt, held)
            tokens = prompt
            result = await attempts.ask(self.model)
            if isinstance(result, Reply):
                tokens = count_tokens(result, prompt)
            elif isinstance(result, NotAskedError) and not result.attempts:
                tokens = None
        finally:
            # Even if the call was cancelled, because nothing is awaited here.
            for part, reserved in held:
                self._settle(part, reserved, tokens)
        return attempts.finish(result)

    async def _wait_for_turn(
        self, request: Request, calls: Calls, prompt: int, held: list[tuple[int, int]]
    ) -> None:
        """Wait until the call fits; add its part of the time and the tokens reserved for it to `held`."""
        began = time.monotonic()
        most = request.timeout if request.seconds_left is None else request.seconds_left
        while (wait := await calls.run(lambda: self._reserve(prompt, request, held))) > 0:
            if time.monotonic() - began + wait >= most:
                raise self._make_error(wait)
            # The jitter keeps waiting requests from all coming back at the same moment.
            await calls.wait(wait * (1 + random.random() / 20))

    def _reserve(self, prompt: int, request: Request, held: list[tuple[int, int]]) -> float:
        """Reserve a call that is about to be made and return 0.0, or return the seconds until it may fit."""
        bound = prompt + request.max_reply_tokens
        wait = 0.0
        number = 0

        def fits(total: Part) -> bool:
            if self.requests is not None and total.calls >= self.requests:
                return False
            if self.tokens is None or total.tokens + bound <= self.tokens:
                return True
            # A call that may exceed the limit on its own is made when no other is running.
            return total.open == 0 and (total.tokens == 0 or total.tokens + prompt <= self.tokens)

        def change(window: Window) -> None:
            nonlocal wait, number
            wait, number = window.find_wait(fits), window.number
            if wait == 0.0:
                window.change(number, 1, bound, 1)

        self._update(change)
        if wait == 0.0:
            held.append((number, bound))
        return wait

    def _settle(self, part: int, reserved: int, tokens: int | None) -> None:
        """Count a call's actual use; None for `tokens` means that it was not made."""
        calls, used = (-1, 0) if tokens is None else (0, tokens)
        try:
            self._update(lambda window: window.change(part, calls, used - reserved, -1))
        except Exception as error:  # from the store: the reply has arrived and is paid for
            logs = import_module("njrt.observability.logs")  # a layer above the models
            logs.warn("a call counts with its reservation: %s", error)

    def _update(self, change: Callable[[Window], None]) -> None:
        if self._store is None:
            given = self._given_store
            if given is None or isinstance(given, str):
                # The code that opens stores is a layer above the models, loaded when a limit first needs a store.
                opening = import_module("njrt.persistence.open_store")
                given = cast(Store, opening.get_store(given, os.environ))
            self._store = given
        store = self._store

        def change_text(text: str | None) -> str:
            window = Window(text, store.now(), self.seconds)
            change(window)
            return window.format()

        update(store, self._key, change_text)

    def _make_error(self, wait: float) -> NotAskedError:
        limits = [f"{self.requests:,} requests"] if self.requests is not None else []
        limits += [f"{self.tokens:,} tokens"] if self.tokens is not None else []
        error = NotAskedError(
            f"{self.name} is not asked: the limit of {' and '.join(limits)} in {self.seconds:g} s is used up for "
            f"{wait:.1f} s, longer than this call may take; allow more, or raise `max_seconds`"
        )
        error.retry_after = wait
        return error


def count_tokens(reply: Reply, prompt: int) -> int:
    """Return a call's tokens as the server counts them, or an estimate if the counts are missing or impossible."""
    counts = reply.usage.input, reply.usage.output
    if reply.source == "script" or (any(counts) and min(counts) >= 0):
        return sum(counts)
    return prompt + count_chars(reply.message) // CHARS_PER_TOKEN


def count_chars(message: ModelMessage) -> int:
    """Return the number of characters in a reply's text and tool calls."""
    return len(message.text) + sum(len(call.raw) for call in message.calls)


def estimate_prompt_tokens(request: Request) -> int:
    """Return an estimate of the number of tokens in a request's prompt, on the high side."""
    chars, files = len(request.system), 0
    for message in request.messages:
        match message:
            case UserMessage(text, attachments):
                chars, files = chars + len(text), files + len(attachments)
            case ToolMessage(results):
                chars += sum(len(result.text) for result in results)
            case _:
                chars += count_chars(message)
    chars += sum(len(tool.description) + len(json.dumps(tool.parameters)) for tool in request.tools)
    chars += len(json.dumps(request.schema)) if request.schema is not None else 0
    return chars // CHARS_PER_TOKEN + FILE_TOKENS * files
