# compiled by njc 0.2.0 from shop.njpy (sha256 eae2f17affc9871a, options 30c31fb3656dbd44, abi 1)
# do not edit: change shop.njpy and build again
# pyright: reportUnboundVariable=false
# njc: max_effects=50
"""A shop, in which blocks use every argument of a call."""

import njrt as _nj
import json
from collections.abc import Callable
from typing import Literal

import njrt
from njrt.interface import Broke, Handling

LIMIT = 3
_nj.run(
    """natural(max_repeats=3)
Put a greeting into <:greeting: str>.
""",
    lambda: (greeting,),
    writes="greeting",
    types=lambda: {"greeting": str},
    at="shop.njpy:12",
    effects="answer",
    max_effects=50,
    max_repeats=3,
    project={"max_calls": 20},
)


def sort(mail: str) -> str:
    team: Literal["sales", "support"]
    _nj.run(
        """natural(effects="answer")
    Put into <:team: Literal["sales", "support"]> the team for <mail>.
    """,
        lambda: (team, mail),
        writes="team",
        types=lambda: {"team": Literal["sales", "support"]},
        at="shop.njpy:18",
        effects="answer",
        max_effects=50,
        project={"max_calls": 20},
    )
    return team


def sure(mail: str) -> str:
    team: Literal["sales", "support"]
    _nj.run(
        """natural(votes=3, second_model="openai/large", second_below=0.5)
    Put into <:team: Literal["sales", "support"]> the team for <mail>.
    """,
        lambda: (team, mail),
        writes="team",
        types=lambda: {"team": Literal["sales", "support"]},
        at="shop.njpy:25",
        effects="answer",
        votes=3,
        second_model="openai/large",
        second_below=0.5,
        max_effects=50,
        project={"max_calls": 20},
    )
    return team


def cheap(price: float) -> bool:
    ok: bool
    _nj.run(
        """natural
    Put into <:ok: bool> whether <price> is low.
    """,
        lambda: (ok, price),
        writes="ok",
        types=lambda: {"ok": bool},
        ensures=["isinstance(ok, bool)", "ok or price > LIMIT"],
        at="shop.njpy:32",
        effects="answer",
        max_effects=50,
        project={"max_calls": 20},
    )
    assert isinstance(ok, bool)
    assert ok or price > LIMIT
    return ok


def serve(orders: list[dict[str, int]]) -> int:
    total = 0

    def count() -> None:
        nonlocal total
        _nj.run(
            """natural
        Add the numbers in <orders> to <total> and put it into <:total>; use <json.dumps> if it helps.
        """,
            lambda: (orders, total, json),
            writes="total",
            reads="total",
            uses="json.dumps",
            at="shop.njpy:45",
            max_effects=50,
            project={"max_calls": 20},
        )

    count()
    for order in orders:
        price: int
        try:
            _nj.run(
                """natural
        Break if <order> is empty, continue if it is small; return 0 or raise <ValueError> if it is wrong.
        Put its price into <:price: int>.
        """,
                lambda: (order, ValueError, price),
                writes="price",
                types=lambda: {"price": int, "return": int},
                labels="break continue return",
                at="shop.njpy:51",
                max_effects=50,
                project={"max_calls": 20},
            )
        except _nj.Break:
            break
        except _nj.Continue:
            continue
        except _nj.Return as _nj_r:
            return _nj_r.value
        total += price
    return total


def write(text: str) -> Callable[[str], str]:
    shout: Callable[[str], str]
    _nj.run(
        """natural
    Put into <:shout: Callable[[str], str]> a function that shouts <text> and its argument.
    """,
        lambda: (shout, text),
        writes="shout",
        types=lambda: {"shout": Callable[[str], str]},
        at="shop.njpy:60",
        max_effects=50,
        project={"max_calls": 20},
    )
    return shout


class Desk:
    size: int = 3
    kinds = list[str]
    _nj.run(
        """natural
    From <size>, choose a <:label: str> and <:__secret: str> of <kinds>.
    """,
        lambda: (),
        writes="label __secret",
        types=lambda: {"label": str, "__secret": str},
        cls="Desk",
        ns=locals(),
        own="size label __secret kinds",
        at="shop.njpy:69",
        effects="answer",
        max_effects=50,
        project={"max_calls": 20},
    )

    def __init__(self) -> None:
        self.__notes: list[str] = []

    def note(self, word: str) -> list[str]:
        _nj.run(
            """natural
        Append <word> to <self.__notes>.
        """,
            lambda: (word, self),
            cls="Desk",
            at="shop.njpy:77",
            max_effects=50,
            project={"max_calls": 20},
        )
        return self.__notes

    def secret(self) -> str:
        return self.__secret


def leave(run: Handling) -> Broke:
    """Leave the loop."""
    return Broke()


DESK = njrt.Interface("desk", [leave])


def talk(lines: list[str]) -> int:
    heard = 0
    for line in lines:
        try:
            _nj.run(
                """natural(interface=DESK, max_calls=4)
        Hear <line>, or leave.
        """,
                lambda: (line,),
                types=lambda: {"return": int},
                labels="break continue return",
                at="shop.njpy:97",
                interface=DESK,
                max_effects=50,
                max_calls=4,
                project={"max_calls": 20},
            )
        except _nj.Break:
            break
        except _nj.Continue:
            continue
        except _nj.Return as _nj_r:
            return _nj_r.value
        heard += 1
    return heard


async def later(text: str) -> str:
    big: str
    await _nj.arun(
        """natural
    Put <text> in capitals into <:big: str>.
    """,
        lambda: (text, big),
        writes="big",
        types=lambda: {"big": str},
        at="shop.njpy:105",
        effects="answer",
        max_effects=50,
        project={"max_calls": 20},
    )
    return big


# njc lines 1=1 4:1 7=4 8:4 16=12 18:13 20=12 29:15 33=18 35:19 37=18 45:21 50=25 52:26 54=25 65:28 70=32 72:33 74=32 83:35 94=45 95:46 97=45 105:48 109=51 112:52 115=51 129:55 135=60 137:61 139=60 146:63 153=69 154:70 156=69 167:72 173=77 174:78 176=77 182:80 200=97 202:98 204=97 219:100 225=105 227:106 229=105 237:108 238=109 sha256 4e09d302dc62ddbb
