# compiled by njc 0.3.0 from jumps.njpy (sha256 b4a8d29ecdd788b1, abi 1)
# do not edit: change jumps.njpy and build again
import njrt as _nj


def f(items):
    try:
        for item in items:
            try:
                check(item)
            except* ValueError:
                _nj.run(
                    """natural
                Log <item>; break, continue or return.
                """,
                    lambda: (item,),
                    at="jumps.njpy:7",
                )
            finally:
                _nj.run(
                    """natural
                Close <item>; break, continue or return.
                """,
                    lambda: (item,),
                    at="jumps.njpy:11",
                )
        else:
            try:
                _nj.run(
                    """natural
            Break, continue or return nothing.
            """,
                    lambda: (),
                    labels="return",
                    at="jumps.njpy:15",
                    effects="answer",
                )
            except _nj.Return as _nj_r:
                return _nj_r.value
    finally:
        for item in items:
            try:
                _nj.run(
                    """natural
            Drop <item>; break, continue or return.
            """,
                    lambda: (item,),
                    labels="break continue",
                    at="jumps.njpy:20",
                )
            except _nj.Break:
                break
            except _nj.Continue:
                continue


def check(item): ...


# njc lines 1=1 6:1 13=7 14:8 16=7 19:10 21=11 22:12 24=11 27:14 29=15 31:16 33=15 40:18 43=20 45:21 47=20 55:23 58=26 sha256 550a291619754631
