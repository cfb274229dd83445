"""The account of every run: its calls, effects, costs and outcome.

    njrt.last_run()               Run(place='mailbox.njpy:12', outcome='completed', ...)

    with njrt.watch() as watch:
        triage(mailbox)
    print(watch)                  3 runs, 4 calls, 5 effects, 6,120 tokens, $0.0131, 9.2 s

An account has only texts and numbers, none of the program's objects, so it keeps nothing alive.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace

from njrt.data.context import Stack, allow_one_entry
from njrt.data.records import record
from njrt.effects import Effect, NeedsCode, Refusal
from njrt.errors import BudgetError, NaturalError
from njrt.events import Asked, Began, Ended, Event, Performed, Replied, RunId, Unanswered
from njrt.messages import CallAttempt, Reply, Request, Usage, UserMessage
from njrt.values.questions import Answers, find_certainty, list_probabilities
from njrt.values.rendering.endings import format_error_line, name_ending, summarize_result


@record
class ModelCall:
    """One request to the model, and its reply or error; `attempts` are its calls, if several."""

    request: Request
    reply: Reply | None
    error: str | None
    seconds: float
    attempts: tuple[CallAttempt, ...] = ()

    def list_usages(self) -> list[Usage]:
        """Return the usage of each call; a reply from the cache costs nothing."""
        if self.attempts or self.reply is None:
            return [attempt.usage for attempt in self.attempts]
        usage = self.reply.usage
        return [replace(usage, usd=0.0) if self.reply.source == "cache" else usage]

    @property
    def has_unknown_usage(self) -> bool:
        """Whether a server replied without a usage."""
        is_new = self.reply is not None and self.reply.source == "model" and not self.attempts
        return is_new and self.list_usages() == [Usage()]


@record
class PerformedEffect:
    """One effect, and the answer to the model or the outcome that ended the block."""

    effect: Effect | Refusal
    result: str
    is_refused: bool
    seconds: float


def format_cost(usd: float, unpriced: int) -> str:
    """Format the cost of calls, some of them without a known price: `$0.0200`, `price unknown`."""
    if not unpriced:
        return f"${usd:.4f}"
    return f"at least ${usd:.4f}" if usd else "price unknown"


@record
class Totals:
    """The usage of one or more runs. `usd` omits calls of unknown price; cached ones are free."""

    runs: int = 0
    calls: int = 0
    effects: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    needed_code: int = 0
    """Runs that started without code and continued with it, because the model asked for it."""
    cached_tokens: int = 0
    """Input tokens that were read from a vendor's prompt cache, at the lower price."""
    unpriced: int = 0
    """Calls without a known price."""

    @property
    def tokens(self) -> int:
        """The sum of input and output tokens."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            *(getattr(self, part.name) + getattr(other, part.name) for part in fields(Totals))
        )

    def __str__(self) -> str:
        counts = [
            (self.runs, "run"),
            (self.calls, "call"),
            (self.effects, "effect"),
            (self.tokens, "token"),
        ]
        words = [f"{number:,} {noun}" + ("" if number == 1 else "s") for number, noun in counts]
        words += [format_cost(self.usd, self.unpriced), f"{self.seconds:.1f} s"]
        words += [f"{self.needed_code:,} needed code"] * bool(self.needed_code)
        return ", ".join(words)


@record
class RunAccount:
    """The account of one finished block run.

    `outcome` is `completed`, `broke`, `continued`, `returned` or `raised`, or `failed` if the
    runtime raised an error or was cancelled; `error` is then its message. `parent` is the run that
    called this block from code, if any. `warnings` are the signs that the block did nothing.
    """

    id: RunId
    place: str
    model: str
    calls: tuple[ModelCall, ...] = field(repr=False)
    effects: tuple[PerformedEffect, ...] = field(repr=False)
    outcome: str
    error: str | None
    seconds: float
    parent: RunId | None = None
    warnings: tuple[str, ...] = ()

    @property
    def probabilities(self) -> dict[str, dict[str, float]]:
        """The probabilities of the answers by output, if the block has decided.

        The name is `(jump)` for the question whether the block jumps, and `return` for the value
        that it returns.
        """
        return list_probabilities(self._asked)

    @property
    def certainty(self) -> float | None:
        """The least probability of the answers that were chosen; None if it was asked for more."""
        return find_certainty(self._asked)

    @property
    def _asked(self) -> Answers:
        return [
            (call.request.question, None if call.reply is None else call.reply.probabilities)
            for call in self.calls
        ]

    @property
    def totals(self) -> Totals:
        """The usage of the run."""
        usages = [usage for call in self.calls for usage in call.list_usages()]
        return Totals(
            runs=1,
            calls=sum(max(1, len(call.attempts)) for call in self.calls),
            effects=len(self.effects),
            input_tokens=sum(usage.input for usage in usages),
            output_tokens=sum(usage.output for usage in usages),
            cached_tokens=sum(usage.cached for usage in usages),
            usd=sum(usage.usd or 0.0 for usage in usages),
            unpriced=sum(usage.is_unpriced for usage in usages)
            + sum(call.has_unknown_usage for call in self.calls),
            seconds=self.seconds,
            needed_code=sum(isinstance(effect.effect, NeedsCode) for effect in self.effects),
        )


class Watch:
    """The accounts of the runs inside a `with njrt.watch()`, in the order they ended."""

    def __init__(self) -> None:
        self.runs: list[RunAccount] = []
        self.errors: list[NaturalError] = []
        """The runtime's errors that ended or prevented a run, even if the program caught them."""
        self.dropped = Totals()
        """The usage of requests that were sent ahead and not used, as far as it is known."""

    @property
    def totals(self) -> Totals:
        """The usage of all runs, and `dropped`; `seconds` is the sum of runs in parallel, too."""
        return sum((run.totals for run in self.runs), self.dropped)

    @property
    def by_place(self) -> dict[str, Totals]:
        """Return the usage of every block, in the order their first runs ended."""
        places = dict.fromkeys((run.place for run in self.runs), Totals())
        for run in self.runs:
            places[run.place] += run.totals
        return places

    def __str__(self) -> str:
        return "\n".join(
            [str(self.totals), *(f"  {place}: {used}" for place, used in self.by_place.items())]
        )


@dataclass(slots=True)
class _OpenRun:
    began: Began
    watches: tuple[Watch, ...]
    asked: Request | None = None
    calls: list[ModelCall] = field(default_factory=list)
    effects: list[PerformedEffect] = field(default_factory=list)


_open_watches: Stack[Watch] = Stack("njrt.watches")
_open_runs: dict[RunId, _OpenRun] = {}
_thread_local = threading.local()


def record_event(event: Event) -> None:
    """Keep the accounts, as a listener; attach the account to an error of the runtime."""
    if isinstance(event, Began):
        _open_runs[event.run] = _OpenRun(event, _open_watches.here())
        return
    run = _open_runs.get(event.run)
    if run is None:
        return
    match event:
        case Asked(request=request):
            run.asked = without_files(request)
        case Replied(reply=reply, seconds=seconds) if run.asked is not None:
            run.calls.append(ModelCall(run.asked, reply, None, seconds, reply.attempts))
        case Unanswered(error=error, seconds=seconds) if run.asked is not None:
            line, attempts = format_error_line(error), getattr(error, "attempts", ())
            if attempts or not isinstance(error, BudgetError):  # a call was made
                run.calls.append(ModelCall(run.asked, None, line, seconds, attempts))
        case Performed(effect=effect, result=result, seconds=seconds):
            refused, summary = isinstance(result, Refusal), summarize_result(result, event.redact)
            run.effects.append(PerformedEffect(effect, summary, refused, seconds))
        case Ended():
            _close_run(run, event)


def without_files(request: Request) -> Request:
    """Return the request without its files' bytes, which an account does not keep."""
    if not [it for it in request.messages if isinstance(it, UserMessage) and it.attachments]:
        return request
    kept = (UserMessage(it.text) if isinstance(it, UserMessage) else it for it in request.messages)
    return replace(request, messages=tuple(kept))


def _close_run(run: _OpenRun, ended: Ended) -> None:
    del _open_runs[ended.run]
    began = run.began
    finished = RunAccount(
        ended.run,
        began.place,
        began.model,
        tuple(run.calls),
        tuple(run.effects),
        *name_ending(ended.outcome, ended.redact),
        ended.seconds,
        began.parent,
        ended.warnings,
    )
    if isinstance(ended.outcome, NaturalError) and ended.outcome.run is None:
        ended.outcome.run = finished
    _thread_local.run = finished
    for watch in run.watches:
        watch.runs.append(finished)


def note_error(error: NaturalError) -> None:
    """Add an error of the runtime to the accounts around this point of the program, once."""
    for watch in _open_watches.here():
        if not any(known is error for known in watch.errors):
            watch.errors.append(error)


def note_dropped(usage: Usage) -> None:
    """Add a request that was sent ahead and not used to the accounts around this point."""
    tokens = {"input_tokens": usage.input, "output_tokens": usage.output}
    cost = {"cached_tokens": usage.cached, "unpriced": int(usage.is_unpriced)}
    for watch in _open_watches.here():
        watch.dropped += Totals(calls=1, usd=usage.usd or 0.0, **tokens, **cost)


def last_run() -> RunAccount | None:
    """Return the account of the last run that ended in this thread; None before the first."""
    return getattr(_thread_local, "run", None)


@allow_one_entry
@contextmanager
def watch() -> Iterator[Watch]:
    """Collect the accounts of all blocks that run inside the `with`."""
    with _open_watches.opened(Watch()) as here:
        yield here
