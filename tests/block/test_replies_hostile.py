"""Random misbehaviour of models: every run ends as the program or njrt defines, is billed in full, and replays to the same.

Replies are generated from a seed: empty, cut off, refused, enormous, with unknown effects, wrong arguments, several calls.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from programs import Program

import njrt
from njrt.testing import ModelMessage, Reply, Request, Scripted, ToolCall, Usage
from spsbench.interfaces import make_settings

RUNS = 250
PROGRAM = Program('''
    def count(s):
        for i in (1, 2):
            """natural
            Put the length of <s> into <:n: int>; continue if it is empty.
            """
            return n
        return "end"
''')
CODES = [
    *("n = len(s)", "n = 'x'", "1/0", "n =", "continue", "break", "return 5", "raise ValueError('a')"),
    *("print('x' * 10**5)", "n = 1\n1/0", "del n", "\x00", "\ud800", "yield 1", "n: int = 4", ""),
    "def f(): return f()\nf()",
]  # fmt: skip
SETS = ["direct", "direct", "nightjar", "shared-eval", "baseline", "isolated-eval", "answer"]


def make_reply(choose: random.Random) -> Reply:
    """Return a reply that a model might send, with a price."""
    code = choose.choice(CODES)
    arguments: list[Any] = [
        *({"code": code, "done": True}, {"code": 5, "done": "yes"}, {}, {"cod": code}),
        {"code": code, "done": True, "extra": 1},
    ]
    calls = tuple(
        ToolCall(
            f"c{number}", choose.choice(["run", "none", "done", "exec"]), sent, json.dumps(sent)
        )
        for number in range(choose.randrange(1, 4))
        for sent in [choose.choice(arguments)]
    )
    message = choose.choice(
        [
            *(ModelMessage(""), ModelMessage(" \n"), ModelMessage("no"), ModelMessage("", calls)),
            *(ModelMessage("", calls), ModelMessage('{"n": 3, "n": 4}')),
            ModelMessage("", (ToolCall("c", "run", None, '{"code": '),)),
            ModelMessage("x" * choose.choice([10, 300_000])),
            ModelMessage(f"```python\n{code}\n```\n```python\n{choose.choice(CODES)}\n```"),
            ModelMessage(f"```python\n{code}\n```"),
            ModelMessage('```json\n{"name": "run", "arguments": {"code": "n = 3"'),
            ModelMessage("```json\n" + "[" * 5000 + "\n```"),
            ModelMessage(json.dumps({"n": choose.choice([3, "3", None, [3], 2.5, True])})),
        ]
    )
    stop: Any = choose.choice(["end"] * 8 + ["length", "refusal"])
    return Reply(message, stop, Usage(choose.randrange(99), 5, usd=choose.random()), "m")


def refuse_to_answer(request: Request) -> Reply:
    raise AssertionError("a replay asks no model")


@pytest.mark.filterwarnings("ignore")
def test_misbehaviour_ends_with_a_place_a_bill_and_a_recording(tmp_path: Path) -> None:
    ended: Counter[str] = Counter()
    for seed in range(RUNS):
        choose = random.Random(seed)
        replies = [make_reply(choose) for _ in range(40)]
        options = make_settings(choose.choice(SETS)) | {"max_calls": choose.choice([3, 30])}
        protocol: Any = choose.choice(["tools", "text"])

        def play(says: Any, mode: Any) -> tuple[Any, Scripted, Any]:
            model = Scripted(says, protocol=protocol)  # noqa: B023
            record = tmp_path / f"{seed}.jsonl"  # noqa: B023
            with (
                njrt.using(model=model, record=f"{mode}:{record}", **options),  # noqa: B023
                njrt.watch() as used,
            ):
                try:
                    return PROGRAM.load()["count"]("text"), model, used
                except (njrt.NaturalError, ValueError) as error:
                    place = getattr(error, "place", "program.njpy")
                    return f"{type(error).__name__}: {error} ({place})", model, used

        result, model, used = play(replies, "all")
        asked = replies[: len(model.requests)]
        assert used.totals.calls == len(asked), seed
        assert used.totals.usd == pytest.approx(sum(reply.usage.usd or 0 for reply in asked)), seed
        assert "zip()" not in str(result)
        assert "(None)" not in str(result), seed
        assert play(refuse_to_answer, "none")[0] == result, seed
        ended[str(result).partition(":")[0]] += 1
    assert len(ended) > 4, ended
