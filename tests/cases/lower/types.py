# compiled by njc 0.1.0 from types.njpy (sha256 596097b78c5a5a5a, abi 1)
# do not edit: change types.njpy and build again
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


# njc lines 1=1 4:1 12=8 16:9 18=8 32:11 34=12 36:13 38=12 46:15 51=19 53:20 55=19 62:22 63=23 sha256 b9df8d1d9e7ee2b8
