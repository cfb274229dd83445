"""A server with the two protocols for decisions: OpenAI's `/v1/decisions`, and `/v1/systemone`.

with DecisionServer([chosen(a=0.9, b=0.1)]) as server: ...

It refuses questions that the protocols do not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loopback import Answer, Loopback, Seen, Status

KEY = "sk-loopback-0123456789abcdef"


def predicate(probability: Any) -> Answer:
    """Return the answer to a predicate of OpenAI."""
    return decision({"type": "predicate", "name": "answer", "probability": probability})


def chosen(confidence: float = 0.9, /, **probabilities: Any) -> Answer:
    """Return the answer to a choice of OpenAI, with the probabilities by value."""
    listed = [{"value": value, "probability": it} for value, it in probabilities.items()]
    best = max(listed, key=lambda it: it["probability"])["value"]
    return decision(
        {"type": "choice", "name": "answer", "choice": best, "confidence": confidence}
        | {"probabilities": listed}
    )


def refused() -> Answer:
    """Return OpenAI's refusal of the question."""
    return decision({"type": "refusal", "name": "answer"})


def decision(*answers: Any) -> Answer:
    """Return OpenAI's response with these answers."""
    usage = {
        "input_tokens": 80,
        "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 81,
    }
    return Answer({"answers": list(answers), "model": "gpt-6-luna", "usage": usage})


def system_one(answer: Any) -> Answer:
    """Return a response of `/v1/systemone` with this answer."""
    usage = {"input_tokens": 80, "output_tokens": 0}
    return Answer({"answers": {"answer": answer}, "model": "clm-latest", "usage": usage})


class DecisionServer(Loopback):
    """The server; both protocols take their answers from the script."""

    @property
    def base_url(self) -> str:
        return self.url + "/v1"

    def find_refusal(self, seen: Seen) -> Status | None:
        body = seen.body or {}
        match seen.path:
            case "/v1/decisions":
                if seen.headers.get("authorization") != f"Bearer {KEY}":
                    return Status(401, body={"error": {"message": "Incorrect API key"}})
                found = list(_complain(body.get("questions") or [], body.get("input")))
                if body.get("model") != "gpt-6-luna":
                    return Status(404, body={"error": {"message": "no such model"}})
            case "/v1/systemone":
                found = [*([] if isinstance(body.get("state"), str) else ["state"])]
            case _:
                return None
        return Status(400, body={"error": {"message": found[0]}}) if found else None


def _complain(questions: list[Any], text: Any) -> Iterator[str]:
    if not (isinstance(text, str) and text):
        yield "input is missing"
    if not 1 <= len(questions) <= 400:
        yield "1 to 400 questions"
    for question in questions:
        extra = question.keys() - {"type", "name", "instructions", "choices"}
        if extra or question.get("type") not in ("predicate", "choice"):
            yield f"unknown question {question}"
        if question["type"] == "choice":
            values = [choice["value"] for choice in question["choices"]]
            if not 2 <= len(values) <= 255 or len(set(values)) < len(values):
                yield "2 to 255 unique choices"
