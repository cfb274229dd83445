"""Ask several times, and take the reply that most agree on.

    VoteModel(model, 3)             the same model three times
    VoteModel((a, b, c))            three models

Replies agree if they are equal as data: JSON and the arguments of calls regardless of layout and key order, code
regardless of layout and comments, or the same text.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from njrt.errors import ConfigurationError, ModelError, ReplyError
from njrt.message_json import find_last_object
from njrt.messages import Reply, Request
from njrt.models.model import Model
from njrt.models.response import MalformedReplyError, parse_json
from njrt.models.retry_and_fallback import extract_json, is_unusable_reply
from njrt.models.wrapped import Attempts, Calls, WrappedModel, adapt_model, require_numbers


class VoteModel(WrappedModel):
    """Asks `models` (or one model `count` times) at the same time, and returns the reply with the most equal replies.

    `temperature` applies to the requests; it defaults to the block's, but at least 0.7 if one model is asked several
    times. An unusable reply has no vote if another reply is usable, and a failed call has none. Of replies with
    equally many votes, the first in order wins. `Reply.agreement` is the share of all calls that agree with the
    winner; with fewer than `quorum` votes a `ReplyError` is raised.
    """

    def __init__(
        self,
        models: Any,
        count: int | None = None,
        *,
        temperature: float | None = None,
        quorum: int = 1,
    ) -> None:
        require_numbers(
            "VoteModel", {"count": count, "quorum": quorum}, {"temperature": temperature}
        )
        if isinstance(models, Sequence) and not isinstance(models, str):
            given = tuple(map(adapt_model, models)) * (1 if count is None else count)
        else:
            given = (adapt_model(models),) * (3 if count is None else count)
        if not given or not 1 <= quorum <= len(given):
            raise ConfigurationError(
                "VoteModel needs a model, a count from 1, and a quorum of at most the count"
            )
        self.models: tuple[Model, ...] = given
        self.quorum = quorum
        self._temperature = temperature

    @property
    def name(self) -> str:
        counts = Counter(model.name for model in self.models)
        return f"vote({','.join(f'{count}x{name}' for name, count in counts.items())})"

    async def answer(self, request: Request, calls: Calls) -> Reply:
        attempts = Attempts(request, calls)
        results = await attempts.ask_all(self.models, temperature=self._choose_temperature(request))
        replies = [result for result in results if isinstance(result, Reply)]
        if not replies:
            limits = [result for result in results if not isinstance(result, ModelError)]
            return attempts.finish((limits or results)[0])
        usable = [reply for reply in replies if not is_unusable_reply(request, reply)]
        ballots = [(make_ballot(request, reply), reply) for reply in usable or replies]
        counts = Counter(ballot for ballot, _ in ballots)
        winner, votes = max(counts.items(), key=lambda counted: counted[1])
        if votes < self.quorum:
            raise attempts.fail(
                ReplyError(
                    f"only {votes} of {len(self.models)} replies agree, fewer than the quorum of {self.quorum}"
                )
            )
        chosen = next(reply for ballot, reply in ballots if ballot == winner)
        reply = attempts.finish(chosen, "outvoted")
        return replace(reply, agreement=round(votes / len(self.models), 4))

    def _choose_temperature(self, request: Request) -> float | None:
        if self._temperature is not None:
            return self._temperature
        is_repeated = len({id(model) for model in self.models}) < len(self.models)
        if request.temperature is None or not is_repeated:
            return request.temperature
        return max(request.temperature, 0.7)


def make_ballot(request: Request, reply: Reply) -> str:
    """Return a reply's vote: the same text for replies that are equal as data."""
    message = reply.message
    if request.schema is not None:
        return make_answer_ballot(message.calls[0].raw if message.calls else message.text)
    if message.calls:
        return json.dumps(
            [[call.name, normalize(call.arguments or call.raw)] for call in message.calls]
        )
    code = _FENCED.search(message.text)
    if code and not code[0].startswith("```json"):
        return normalize_code(code[1])
    # Reasoning before an answer does not count.
    answer = find_last_object(message.text)
    return message.text.strip() if answer is None else make_answer_ballot(json.dumps(answer))


_FENCED = re.compile(r"^```\w*[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def make_answer_ballot(text: str) -> str:
    """Return an answer's data, without the texts that explain an exception or a need for code."""
    try:
        value = parse_json(extract_json(text))
    except MalformedReplyError:
        return text.strip()
    match value:
        case {"raise": str(name)}:
            value = {"raise": name}
        case {"needs_code": str()}:
            value = {"needs_code": ""}
    return json.dumps(normalize(value), sort_keys=True)


def normalize(value: Any) -> Any:
    """Return JSON with whole numbers as integers, and code without layout and comments."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [normalize(item) for item in value]
        case dict():
            return {
                name: normalize_code(item)
                if name == "code" and isinstance(item, str)
                else normalize(item)
                for name, item in sorted(value.items())
            }
        case _:
            return value


def normalize_code(code: str) -> str:
    """Return code without its layout and comments, or the text itself if it is not Python."""
    try:
        return ast.dump(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code.strip()
