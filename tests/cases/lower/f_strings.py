# compiled by njc 0.3.0 from f_strings.njpy (sha256 46eec43945d179fa, abi 1)
# do not edit: change f_strings.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj


def f(n, items):
    limit = 3
    _nj.run(
        f"""natural
    Take {n + 1:>{limit}} of <items>, not {items["<x>"]!r}, {{<limit>}} or {"<y>"}.
    """,
        lambda: (items, limit),
        at="f_strings.njpy:3",
    )
    text: _nj.Any
    _nj.run(
        rf"""natural
    Keep \d in <:text>.
    """,
        lambda: (text,),
        writes="text",
        at="f_strings.njpy:6",
    )
    return text


# njc lines 1=1 7:1 10=3 11:4 13=3 16:6 17=6 19:7 21=6 25:9 26=10 sha256 e595abfa7713006d
