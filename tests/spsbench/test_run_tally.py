"""What a trace comes to in numbers, and which category a failure has."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import njrt
from njrt.testing import Said, call, run
from spsbench.failures import classify_failure
from spsbench.interfaces import EffectSet, make_settings
from spsbench.results import TrialUsage
from spsbench.tally import TraceCounts, count_trace

STOCK = {"sushi": 10, "ramen": 5}


def sell(order: str, inventory: dict[str, int]) -> None:
    """What a block that changes an object in place is compiled to."""
    njrt.run(
        """natural
    Subtract from <inventory>, in place, what the customer's <order> takes.
    """,
        lambda: (inventory, order),
        at="menu/natural.njpy:5",
    )


def traced(folder: Path, *script: Said, effects: EffectSet = "direct") -> TraceCounts:
    """Return the tally of a real run of `sell`, whose model says this."""
    trace = folder / "trace.jsonl"
    model = njrt.Scripted(script)
    with (
        njrt.using(model=model, **make_settings(effects), trace=trace),
        suppress(njrt.NaturalError, LookupError),
    ):
        sell("two", dict(STOCK))
    return count_trace(trace.read_text().splitlines(keepends=True))


def test_blocks_effects_and_calls_are_counted(tmp_path: Path) -> None:
    counted = traced(tmp_path, run("inventory['sushi'] -= 1"), run("", done=True))
    assert (counted.blocks, counted.effects, counted.calls, counted.given_up) == (1, 2, 2, 0)
    assert counted.cost == 0.0


@pytest.mark.parametrize(
    ("script", "given_up"),
    [
        ((call("exec", code="1 / 0"), call("done")), 1),
        ((call("exec", code="1 / 0"), call("exec", code="1"), call("done")), 0),
        ((call("raise", error="error"), call("done")), 0),
    ],
)
def test_ending_a_block_after_an_error_is_giving_up(
    tmp_path: Path, script: tuple[Said, ...], given_up: int
) -> None:
    assert traced(tmp_path, *script, effects="shared-python").given_up == given_up


def test_what_a_block_raises_on_purpose_is_told(tmp_path: Path) -> None:
    assert traced(tmp_path, run("raise LookupError('none')")).raised == ("LookupError('none')",)


def line(event: str, **parts: Any) -> str:
    return json.dumps({"event": event, "run": "1"} | parts) + "\n"


def replied(source: str, **usage: Any) -> str:
    return line("replied", source=source, reply={"usage": {"input": 10, "output": 2} | usage})


def test_tokens_and_cost_are_summed_and_the_cache_is_free() -> None:
    asked = line("asked", turn=1)
    counted = count_trace(
        [asked, replied("model", cached=4, usd=0.5), asked, replied("cache", usd=0.5)]
    )
    assert counted == TraceCounts(calls=2, reused=1, usage=TrialUsage(10, 4, 2), cost=0.5)
    assert (counted + counted).usage == TrialUsage(20, 8, 4)


def test_one_call_without_a_price_leaves_the_cost_unknown() -> None:
    assert count_trace([replied("model", usd=0.5), replied("model")]).cost is None
    assert (TraceCounts(cost=0.5) + TraceCounts(cost=None)).cost is None


def test_a_trace_that_a_kill_cut_off_counts_as_far_as_it_goes() -> None:
    asked = line("asked", turn=1)
    failed = line("unanswered", error="ServerError: down")
    counted = count_trace([asked, replied("model", usd=0.5), asked, failed, asked[:20]])
    assert (counted.calls, counted.unanswered) == (2, ("ServerError: down",))


@pytest.mark.parametrize(
    ("error", "said", "category"),
    [
        (None, {}, "wrong result"),
        (None, {"gave_up": True}, "gave up"),
        ("UnboundLocalError: x", {}, "program raised"),
        (None, {"is_operation": True}, "incorrect state operation"),
        ("KeyError: 'x'", {"is_code": True}, "generated code"),
        ("KeyError: 'x'", {"raised": ["KeyError('x')"]}, "gave up"),
        ("EffectLimitError: too many", {}, "limit"),
        ("OutputTypeError: not an int", {}, "no answer"),
        ("ValidationError: 1 error", {}, "no answer"),
        ("ServerError: down", {"is_code": True}, "server"),
        ("RejectedRequestError: too long", {}, "rejected"),
        ("UnsupportedCodeError: no", {}, "unsayable"),
        ("RecordingError: no", {}, "unclassified"),
    ],
)
def test_failures_are_told_apart_by_rule(
    error: str | None, said: dict[str, Any], category: str
) -> None:
    assert classify_failure(error, **said) == category
