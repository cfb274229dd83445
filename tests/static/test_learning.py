"""`njc static --learn`: code is held against recorded runs, and mended until it does the same."""

from __future__ import annotations

import json
import sys
import types
from typing import Any

import pytest
from studio import Studio

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt.messages import Request, UserMessage

SHOP = '''\
from dataclasses import dataclass, field


@dataclass
class Basket:
    items: list[int] = field(default_factory=list)


def fill(prices, limit, basket):
    spent = 0
    for price in prices:
        """natural
        Append <price> to <basket.items> and add it to <:spent>, but break before it is above <limit>.
        """
    return spent
'''
RIGHT = "if spent + price > limit:\n    break\nbasket.items.append(price)\nspent += price"
WRONG = "basket.items.append(price)\nspent += price\nif spent > limit:\n    break"
WORSE = "spent = price"


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def said(request: Request) -> str:
    """Return the last thing that the model is told."""
    message = request.messages[-1]
    assert isinstance(message, UserMessage)
    return message.text


def live(source: str) -> dict[str, Any]:
    """Return the program with live blocks."""
    output = compile_source(SourceFile("shop.njpy", source.encode())).output
    assert output is not None
    module = sys.modules["shop"] = types.ModuleType("shop")  # where dataclasses look for it
    exec(output, vars(module))
    return vars(module)


def record(studio: Studio, source: str = SHOP) -> None:
    """Run the program live, and keep what it did as examples."""
    space = live(source)
    model = njrt.Scripted(lambda request: fenced(RIGHT), protocol="text")
    with njrt.using(model=model, examples=studio.folder / "traces" / "shop.jsonl"):
        for limit in (4, 9, 100):
            space["fill"]([1, 2, 3, 4], limit, space["Basket"]())


def test_code_is_mended_by_a_run_that_went_wrong(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    record(studio)
    result = studio.njc(
        "static", "--learn", "traces", "shop.njpy", replies=map(fenced, (WRONG, WORSE, RIGHT))
    )
    assert result.exit_code == 0, result.output
    assert "11 recorded runs in traces" in result.stderr
    assert "9 of 11 right" in result.stdout
    assert "11 of 11 right" in result.stdout
    first, second = (said(request) for request in studio.asked[1:])
    assert "It was run on recorded runs of the program: 9 of 11 right" in first
    assert "price = 4\nbasket = Basket(items=[1, 2, 3])\nspent = 6\nlimit = 9\n" in first
    assert "spent += price              # (2) spent = 10\nif spent > limit:\n    break\n" in first
    assert "- `spent` is 10, but should be 6\n" in first
    assert "should still be Basket(items=[1, 2, 3])" in first
    assert second == first, "what is worse is forgotten"
    lock = studio.read("njc.lock")
    assert 'mode = "static-learned"' in lock
    assert "score = { right = 11, wrong = 0, of = 11 }" in lock
    assert 'shapes = { basket = "Basket(items=list[int])", limit = "int", price = "int", ' in lock


def test_what_is_learned_is_built(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    record(studio)
    studio.njc("static", "--learn", "traces", "shop.njpy", replies=map(fenced, (WRONG, RIGHT)))
    assert studio.njc("build", ".", "--mode", "static", "--locked").exit_code == 0
    assert "if spent + price > limit:" in studio.read("shop.py")
    studio.njc("build", ".", "--mode", "static", "--locked", "--unlearned")
    assert "if spent > limit:" in studio.read("shop.py")
    result = studio.njc("lock", ".", "--mode", "static")
    assert "up to date, learned: 11 of 11 right" in result.stdout


def test_stale_learned_code_is_passed_over_unless_it_was_edited(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    record(studio)
    studio.njc("static", "--learn", "traces", "shop.njpy", replies=map(fenced, (WRONG, RIGHT)))
    studio.write({"shop.njpy": SHOP.replace("break before", "break just before")})
    lock = studio.read("njc.lock")
    result = studio.njc("build", ".", "--mode", "static", replies=[fenced(WRONG)])
    assert result.exit_code == 0, result.output
    assert "the learned code of shop.njpy:fill is stale" in result.stderr
    studio.write({"njc.lock": lock.replace("if spent + price >", "if price + spent >")})
    result = studio.njc("build", ".", "--mode", "static")
    assert "error[NJ403]: `shop.njpy:fill` is stale: its instruction changed" in result.stderr


def test_what_is_right_already_costs_nothing(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    record(studio)
    studio.njc("build", ".", "--mode", "static", replies=[fenced(RIGHT)])
    result = studio.njc("static", "--learn", "traces", "shop.njpy")
    assert result.exit_code == 0, result.output
    assert len(studio.asked) == 1


def test_code_that_stays_wrong_is_kept_with_its_score(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    record(studio)
    replies = [fenced(WRONG)] + [fenced(WORSE)] * 2
    result = studio.njc(
        "static", "--learn", "traces", "shop.njpy", "--attempts", "2", replies=replies
    )
    assert result.exit_code == 1
    assert "score = { right = 9, wrong = 2, of = 11 }" in studio.read("njc.lock")


def test_endless_and_greedy_code_is_stopped(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    record(studio)
    endless = f"while limit == 100 and price == 4:\n    pass\n{RIGHT}"
    greedy = "spent = len([0] * 10**10)"
    result = studio.njc(
        *("static", "--learn", "traces", "shop.njpy", "--seconds", "1"),
        replies=map(fenced, (endless, greedy, RIGHT)),
    )
    assert result.exit_code == 0, result.output
    assert "it ran too long" in said(studio.asked[1])


JUDGE = '''\
def kind(mail):
    """natural
    Bind <:it: str> to "bill" or "other", whichever <mail> is.
    """
    return it
'''


def test_code_may_ask_a_model_while_it_is_run(studio: Studio) -> None:
    studio.write({"shop.njpy": JUDGE})
    space = live(JUDGE)
    script = njrt.Scripted(
        lambda request: fenced('it = "bill" if "EUR" in mail else "other"'), protocol="text"
    )
    with njrt.using(model=script, examples=studio.folder / "t.jsonl"):
        for mail in ("pay 3 EUR", "hello", "pay 4 EUR"):
            space["kind"](mail)

    def say(request: Request) -> str:
        question = said(request)
        if "What is this" in question:
            return "bill" if "EUR" in question else "other"
        return fenced('it = llm(f"What is this? {mail}")')

    result = studio.njc("static", "--learn", "t.jsonl", "shop.njpy", replies=say)
    assert result.exit_code == 0, result.output
    assert "3 of 3 right" in result.stdout


@pytest.mark.parametrize(
    ("failure", "learned"),
    [
        (njrt.ServerError("too busy"), False),
        (njrt.BudgetError("spent"), False),
        (njrt.AuthenticationError("no key"), False),
        (njrt.RejectedRequestError("too long"), True),
        (njrt.ReplyError("refused"), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_of_the_setting_is_none_of_the_code(
    studio: Studio, failure: Exception, learned: bool
) -> None:
    """Code asks a question that cannot be answered; only if the question is at fault, the code is wrong."""
    studio.write({"shop.njpy": JUDGE})
    space = live(JUDGE)
    replies = [fenced('it = "bill"')] * 2
    script = njrt.Scripted(replies, protocol="text")
    with njrt.using(model=script, examples=studio.folder / "t.jsonl"):
        for mail in ("pay 3 EUR", "pay 4 EUR"):
            space["kind"](mail)

    def say(request: Request) -> str:
        if "What is this" in said(request) and "There is code" not in said(request):
            raise failure
        return fenced('it = llm(f"What is this? {mail}")')

    words = ("static", "--learn", "t.jsonl", "shop.njpy", "--attempts", "1")
    result = studio.njc(*words, replies=say)
    assert result.exit_code == (1 if learned else 3), result.output
    assert ("0 of 2 right" in result.stdout) == learned
    assert ("static-learned" in studio.read("njc.lock")) == learned
    assert str(failure) in result.stderr or learned


@pytest.mark.parametrize("codes", [[WORSE, WRONG], [WRONG]])
def test_better_code_is_kept_if_the_model_fails_then(studio: Studio, codes: list[str]) -> None:
    studio.write({"shop.njpy": SHOP})
    record(studio)
    answers = iter(codes)

    def reply(request: Request) -> str:
        if (code := next(answers, None)) is None:
            raise njrt.BudgetError("spent")
        return fenced(code)

    result = studio.njc("static", "--learn", "traces", "shop.njpy", replies=reply)
    assert (result.exit_code, "spent" in result.stderr) == (3, True), result.output
    is_kept = len(codes) == 2
    assert ("kept: 9 of 11 right" in result.stderr) == is_kept
    assert ("score = { right = 9, wrong = 2, of = 11 }" in studio.read("njc.lock")) == is_kept
    assert studio.njc("build", ".", "--mode", "static", "--locked").exit_code == 0


def test_code_that_was_tried_before_is_sent_back(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    record(studio)
    replies = map(fenced, (WRONG, WRONG, RIGHT))
    result = studio.njc("static", "--learn", "traces", "shop.njpy", replies=replies)
    assert result.exit_code == 0, result.output
    assert "this code was tried before and was wrong" in said(studio.asked[2])


@pytest.mark.parametrize("guard", ["price != 3", "1 // (price - 3) is not None"])
def test_code_for_auto_may_leave_runs_to_the_live_block(studio: Studio, guard: str) -> None:
    studio.write({"shop.njpy": SHOP})
    record(studio)
    guarded = f"assert {guard}\n{RIGHT}"
    result = studio.njc(
        "static", "--learn", "traces", "shop.njpy", "--mode", "auto", replies=[fenced(guarded)]
    )
    assert result.exit_code == 0, result.output
    assert "8 of 11 right, 3 left to the live block" in result.stdout
    assert studio.njc("build", ".", "--mode", "auto", "--locked").exit_code == 0
    text = studio.read("shop.py")
    assert 'basket="Basket(items=list[int])", limit="int", price="int", spent="int"\n' in text
    assert f"_nj_try.guard({guard})" in text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "no run of it was recorded"),
        (
            {"lost": {"basket": "a TextIOWrapper"}},
            "no run of it can be used: `basket` holds a TextIOWrapper",
        ),
    ],
)
def test_what_cannot_be_learned_is_said(studio: Studio, line: Any, words: str) -> None:
    studio.write({"shop.njpy": SHOP, "t.jsonl": ""})
    if line:
        record(studio)
        first = json.loads(studio.read("traces/shop.jsonl").split("\n")[0])
        studio.write({"t.jsonl": json.dumps(first | line)})
    result = studio.njc("static", "--learn", "t.jsonl", "shop.njpy")
    assert result.exit_code == 1
    assert f"shop.njpy:fill: {words}" in result.stderr


def test_sources_without_static_blocks_are_an_error(studio: Studio) -> None:
    studio.write({"plain.njpy": "x = 1\n", "t.jsonl": ""})
    for words in (["--learn", "t.jsonl"], ["--repair", "--test", "true"]):
        result = studio.njc("static", *words, "plain.njpy")
        assert (result.exit_code, "no static block" in result.stderr) == (2, True)
