"""Numbers in JSON keep their digits for a `Decimal`, and are floats for everything else.

Oracle: `Decimal(text)` and `float(text)` of the text that is sent. The numbers are generated from a seed.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from programs import Program

import njrt
from anthropic_server import KEY as ANTHROPIC_KEY
from anthropic_server import AnthropicServer, message, tool_use
from loopback import Raw
from njc.batch.rows import bind_row, read_rows
from njc.measure.cases.case_file import read_cases
from njc.measure.cases.runner import Form, run_case
from njc.target import TargetFunction, load_target
from njrt.interface import Interface
from njrt.models.anthropic import Anthropic
from njrt.models.openai import OpenAI
from openai_server import KEY, OpenAIServer, calls

FIXED = [
    *("0.1000000000000000055", "12345678901234567890.12", "9.50", "1e400", "-0.0", "1E-400", "1.0"),
    *("0.1", "-1.5e10", "5", "123456789012345678901234567890", "1e0", "179769313486231570e292"),
]


def write_number(choose: random.Random) -> str:
    whole = str(choose.randrange(10 ** choose.randrange(1, 30)))
    part = f".{choose.randrange(10 ** choose.randrange(1, 30))}" * choose.randrange(2)
    power = f"{choose.choice('eE')}{choose.randrange(-40, 40)}" * (choose.random() < 0.3)
    return choose.choice(["", "-"]) + whole + part + power


NUMBERS = FIXED + [write_number(random.Random(seed)) for seed in range(200)]


def to_float(text: str) -> float:
    """Return the number as `json.loads` does, and an int as a float."""
    return float(json.loads(text))


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> TargetFunction:
    file = tmp_path_factory.mktemp("numbers") / "paying_numbers.py"
    file.write_text(
        "from dataclasses import dataclass\nfrom decimal import Decimal\nfrom typing import Any\n\n\n"
        "@dataclass\nclass Line:\n    cost: Decimal\n    extra: Any\n\n\n"
        "def pay(a: Decimal, b: list[Decimal | None], c: dict[str, Decimal], line: Line, f: float, x: Any, y, **z: Decimal):\n"
        "    return a\n"
    )
    return load_target(f"{file}:pay")


def write_row(text: str) -> str:
    return (
        f'{{"a": {text}, "b": [null, {text}], "c": {{"k": {text}}}, "line": {{"cost": {text}, "extra": 1}}, '
        f'"f": {text}, "x": [{text}], "y": {{"k": [{text}]}}, "z1": {text}}}'
    )


def check_arguments(arguments: dict[str, Any], text: str) -> None:
    exact, value = Decimal(text), json.loads(text)
    decimals = [
        *(arguments["a"], arguments["b"][1], arguments["c"]["k"]),
        *(arguments["line"].cost, arguments["z1"]),
    ]
    assert [(type(it), str(it)) for it in decimals] == [(Decimal, str(exact))] * 5
    assert type(arguments["f"]) is float
    assert repr(arguments["f"]) == repr(to_float(text))
    for held in (arguments["x"][0], arguments["y"]["k"][0]):
        assert type(held) is type(value)
        assert repr(held) == repr(value)


def name_arguments(
    target: TargetFunction, positional: list[Any], named: dict[str, Any]
) -> dict[str, Any]:
    return dict(zip(target.signature.parameters, positional, strict=False)) | named


def test_the_rows_of_a_batch_keep_the_digits_of_decimals(
    target: TargetFunction, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"
    for text in NUMBERS:
        rows.write_text(write_row(text) + "\n")
        (row,) = read_rows(rows, "jsonl", target)
        check_arguments(name_arguments(target, *bind_row(target, row)), text)


def test_cases_keep_the_digits_of_decimals(target: TargetFunction, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    lines = [f'{{"inputs": {write_row(text)}, "expect": "{Decimal(text)}"}}' for text in NUMBERS]
    file.write_text("\n".join(lines))
    cases = read_cases(file)
    assert len({repr(each.expect) for each in cases}) == len(set(NUMBERS))
    for text, case in zip(NUMBERS, cases, strict=True):
        check_arguments(name_arguments(target, *target.bind_arguments(case.inputs)), text)
        assert run_case(target, Form(), case).problem == ""


PAYING = Program('''
    def act(interface):
        """natural(interface=interface)
        Pay, for <:y>.
        """
        return y
''')
SEEN: list[Any] = []


def pay(amount: Decimal, parts: list[Decimal], ratio: float) -> str:
    """Pay an amount."""
    SEEN.append((amount, *parts, ratio))
    return "paid"


def pay_any(x: Any) -> str:
    """Pay with anything."""
    SEEN.append(x)
    return "paid"


Calls = Sequence[tuple[str, str]]
"""Calls of functions with their arguments as they are written; one reply for each."""
DONE = ("done", '{"y": 1.50}')


@contextmanager
def from_openai(written: Calls) -> Iterator[njrt.Model]:
    with OpenAIServer([calls(call) for call in written]) as server:
        yield OpenAI("gpt-4.1", vendor_url=server.base_url, key=KEY)


@contextmanager
def from_text(written: Calls) -> Iterator[njrt.Model]:
    calls = (f'{{"name": "{name}", "arguments": {arguments}}}' for name, arguments in written)
    yield njrt.Scripted([f"```json\n{call}\n```" for call in calls], protocol="text")


@contextmanager
def from_anthropic(written: Calls) -> Iterator[njrt.Model]:
    replies = [
        Raw(json.dumps(message(tool_use("t", name, "PLACE")).body).replace('"PLACE"', arguments))
        for name, arguments in written
    ]
    with AnthropicServer(replies) as server:
        yield Anthropic("claude-sonnet-4-6", vendor_url=server.url, key=ANTHROPIC_KEY)


@pytest.mark.slow
@pytest.mark.parametrize("serve", [from_openai, from_text, from_anthropic])
def test_the_arguments_of_calls_keep_their_digits_and_so_do_recordings(
    serve: Callable[[Calls], AbstractContextManager[njrt.Model]], tmp_path: Path
) -> None:
    act = PAYING.load()["act"]
    finite = [text for text in NUMBERS[:60] if math.isfinite(to_float(text))]
    pays = [f'{{"amount": {text}, "parts": [{text}, 3], "ratio": {text}}}' for text in finite]
    with serve([call for it in pays for call in (("pay", it), DONE)]) as model:
        for number, text in enumerate(finite):
            SEEN.clear()
            path = tmp_path / f"{number}.jsonl"
            with njrt.using(model=model, record=f"all:{path}"):
                assert act(Interface("bank", [pay])) == 1.5
            silent = njrt.Scripted([], protocol="text" if serve is from_text else "tools")
            with njrt.using(model=silent, record=f"none:{path}"):
                assert act(Interface("bank", [pay])) == 1.5
            amount = Decimal(text)
            assert [list(map(str, seen)) for seen in SEEN] == [
                [str(amount), str(amount), "3", str(to_float(text))]
            ] * 2
            assert [type(each) for each in SEEN[1]] == [Decimal] * 3 + [float]


def test_an_argument_of_any_type_is_a_plain_float() -> None:
    act = PAYING.load()["act"]
    for text in ("1.50", "0.1000000000000000055"):
        SEEN.clear()
        written = [("pay_any", f'{{"x": {text}}}'), DONE]
        with from_openai(written) as model, njrt.using(model=model):
            act(Interface("bank", [pay_any]))
        assert [(type(it), it) for it in SEEN] == [(float, float(text))]
