# compiled by njc 0.1.0 from f_strings.njpy (sha256 46eec43945d179fa, abi 1)
# do not edit: change f_strings.njpy and build again
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


# njc lines 1=1 6:1 9=3 11:4 13=3 19:6 20=6 23:7 25=6 32:9 33=10 sha256 0e2e7cf282ca29cb
