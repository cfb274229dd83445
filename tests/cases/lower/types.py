# compiled by njc 0.3.0 from types.njpy (sha256 c89896de8e9c09b2, abi 1)
# do not edit: change types.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj
from typing import ClassVar, Final, Literal

total: Final[float] = 0.0


def count(items: "list[str]", limit: int = 3, *rest: int) -> int:
    kinds: dict[str, set[int]] = {}
    n: int
    best: str | None
    _nj.run(
        """natural
    Fill <:kinds> and <:items>, lower <:limit>, trim <:rest>, and count in <:n: int>; name the <:best: str | None>.
    """,
        lambda: (kinds, items, limit, rest, n, best),
        writes="kinds items limit rest n best",
        types=lambda: {
            "kinds": dict[str, set[int]],
            "items": list[str],
            "limit": int,
            "n": int,
            "best": str | None,
        },
        at="types.njpy:8",
    )
    global total
    _nj.run(
        """natural
    Add to <:total>; keep <:n: 'int'>.
    """,
        lambda: (total, n),
        writes="total n",
        types=lambda: {"total": float, "n": int},
        at="types.njpy:12",
        effects="answer",
    )
    return n + len(best or "")


def shadows(list: list[int]):
    _nj.run(
        """natural
    Change <:list>.
    """,
        lambda: (list,),
        writes="list",
        at="types.njpy:19",
    )
    return list


def spell(text: str) -> None:
    face: Literal["🫨", "é", 'say "hi"', "it's", "\u200b", b"x"]
    _nj.run(
        """natural
    Read <text> and make <:face: Literal["🫨", "é", 'say "hi"', "it's", "\u200b", b'x']>
    and <<:none: Literal[f"{text['a']}"]>.
    """,
        lambda: (text, face),
        writes="face",
        types=lambda: {"face": Literal["🫨", "é", 'say "hi"', "it's", "\u200b", b"x"]},
        at="types.njpy:26",
    )
    print(face)


# njc lines 1=1 5:1 13=8 16:9 18=8 29:11 31=12 32:13 34=12 40:15 45=19 46:20 48=19 52:22 57=26 59:27 62=26 67:30 68=31 sha256 af6f9dfb526e8a04
