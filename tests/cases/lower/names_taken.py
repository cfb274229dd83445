# compiled by njc 0.3.0 from names_taken.njpy (sha256 16ff88d815e48e3d, abi 1)
# do not edit: change names_taken.njpy and build again
import njrt as _nj2

_nj = 3


def f(_nj1_r):
    try:
        _nj2.run(
            """natural
    Return <_nj> + <_nj1_r>.
    """,
            lambda: (_nj, _nj1_r),
            labels="return",
            at="names_taken.njpy:5",
        )
    except _nj2.Return as _nj2_r:
        return _nj2_r.value


# njc lines 1=1 5:1 10=5 12:6 14=5 20=8 sha256 148be769fade4151
