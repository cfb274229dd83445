# compiled by njc 0.1.0 from f_strings.njpy (sha256 46eec43945d179fa, abi 1)
# do not edit: change f_strings.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj


def f(n, items):
    limit = 3
    try:
        _nj.run(
            f"""natural
    Take {n + 1:>{limit}} of <items>, not {items["<x>"]!r}, {{<limit>}} or {"<y>"}.
    """,
            lambda: (items, limit),
            labels="return",
            at="f_strings.njpy:3",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    text: _nj.Any
    try:
        _nj.run(
            rf"""natural
    Keep \d in <:text>.
    """,
            lambda: (text,),
            writes="text",
            labels="return",
            at="f_strings.njpy:6",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return text


# njc lines 1=1 7:1 10=3 12:4 14=3 20:6 21=6 24:7 26=6 33:9 34=10 sha256 9b03456eaeb10d7b
