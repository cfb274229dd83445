# compiled by njc 0.1.0 from types.njpy (sha256 596097b78c5a5a5a, abi 1)
# do not edit: change types.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj
from typing import ClassVar, Final

total: Final[float] = 0.0


def count(items: "list[str]", limit: int = 3, *rest: int) -> int:
    kinds: dict[str, set[int]] = {}
    n: int
    best: str | None
    try:
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
            labels="return",
            at="types.njpy:8",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    global total
    try:
        _nj.run(
            """natural
    Add to <:total>; keep <:n: 'int'>.
    """,
            lambda: (total, n),
            writes="total n",
            types=lambda: {"total": float, "n": "int"},
            labels="return",
            at="types.njpy:12",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return n + len(best or "")


def shadows(list: list[int]):
    try:
        _nj.run(
            """natural
    Change <:list>.
    """,
            lambda: (list,),
            writes="list",
            labels="return",
            at="types.njpy:19",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return list


# njc lines 1=1 5:1 13=8 17:9 19=8 33:11 35=12 37:13 39=12 47:15 52=19 54:20 56=19 63:22 64=23 sha256 e8c634dca42279dc
