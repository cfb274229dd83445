"""Count how often a model corrects a reply that breaks the assert after a block: 12 planted wrong replies.

    NJC_MODEL=openai/local NJC_BASE_URL=http://127.0.0.1:8080/v1 python bench/contracts.py

    corrected in the next call     12 of 12
    corrected at all               12 of 12

(Measured with Qwen2.5-Coder 1.5B at temperature 0. With the text as a further message, after the refused reply, it was 0 of 12.) The
first reply of each block is the planted one; the following ones are the model's.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt.messages import Protocol, Reply, Request
from njrt.models.choose import choose_model
from njrt.models.model import Model
from njrt.models.scripted import Scripted
from njrt.options import DEFAULTS, merge_option_layers, read_environment_options

WALK = "the hours and stops of a walk that fulfils <text>"
HEAD = """\
from dataclasses import dataclass


@dataclass(frozen=True)
class Walk:
    start: int
    end: int
    stops: tuple[str, ...]


def f(text: str):
"""


@dataclass(frozen=True)
class Case:
    """A block that reads a text: the type and the description of its output, its assert, and a reply that breaks it."""

    type: str
    description: str
    ensures: str
    text: str
    reply: Any


CASES = [
    Case("Walk", WALK, "x.end > x.start", "leave at 9 for the lake", {"start": 9, "end": 9, "stops": []}),
    Case("Walk", WALK, "x.end <= 12, 'lunch is at noon'", "leave at 9 for the lake", {"start": 9, "end": 15, "stops": []}),
    Case("list[str]", "the names in <text>", "len(x) == 3", "Ada met Grace and Barbara", ["Ada", "Grace"]),
    Case("list[str]", "the names in <text>", "all(n.istitle() for n in x)", "Ada met Grace", ["ada", "grace"]),
    Case("list[str]", "keywords of <text>", "all(n.islower() for n in x), 'keywords are in lower case'", "Snow stops Trains", ["Snow"]),
    Case("str", "a title for <text>", "len(x) <= 30", "The election of the new mayor was postponed because of snow.", "Election of the New Mayor Postponed Because of Snow"),
    Case("int", "the number of vowels in <text>", "x > 0", "banana", 0),
    Case("str", "the answer to <text>", "x.endswith('.'), 'it is a whole sentence'", "What is the capital of Peru?", "Lima"),
    Case("dict[str, int]", "how many fruits of each kind <text> has", "sum(x.values()) == 5", "two apples and three pears", {"apples": 2, "pears": 2}),
    Case("list[int]", "the numbers in <text>", "x == sorted(x), 'in ascending order'", "nine, 4 and seven", [9, 4, 7]),
    Case("str", "the language of <text>, as a code", "len(x) == 2", "Guten Morgen", "German"),
    Case("float", "the price in <text>", "0 < x < 100", "it costs 8,450 cents", 8450.0),
]  # fmt: skip


@dataclass
class Planted:
    """A model whose first reply is given (state: the calls so far)."""

    model: Model
    first: Scripted
    calls: int = 0
    protocol: Protocol = "text"
    name: str = field(default="planted")

    def ask(self, request: Request) -> Reply:
        """Answer by the planted reply, then by the model."""
        self.calls += 1
        return (self.first if self.calls == 1 else self.model).ask(request)

    async def aask(self, request: Request) -> Reply:
        """Do the same."""
        return self.ask(request)


def run_case(case: Case, model: Model) -> int | None:
    """Return the number of calls until the assert was true; None if it never was."""
    block = f"Put into <:x: {case.type}> {case.description}."
    text = f'{HEAD}    """natural\n    {block}\n    """\n    assert {case.ensures}\n    return x\n'
    output = compile_source(SourceFile("case.njpy", text.encode())).output
    assert output is not None
    module = sys.modules["case"] = ModuleType("case")
    exec(output.decode(), vars(module))
    planted = Planted(model, Scripted([{"x": case.reply}], protocol="text"))
    try:
        with njrt.using(model=planted, temperature=0.0):
            vars(module)["f"](case.text)
    except (AssertionError, ValueError, njrt.NaturalError):
        return None
    return planted.calls


def main() -> None:
    """Run all cases, and print how many were corrected."""
    options = merge_option_layers(read_environment_options(os.environ), DEFAULTS)
    if options.model is None and not options.base_url:
        print("contracts: set NJC_MODEL, and NJC_BASE_URL for your own server")
        return
    model = choose_model(options, os.environ)
    calls = [run_case(case, model) for case in CASES]
    print(f"corrected in the next call     {calls.count(2)} of {len(CASES)}")
    print(f"corrected at all               {len(CASES) - calls.count(None)} of {len(CASES)}")


if __name__ == "__main__":
    main()
