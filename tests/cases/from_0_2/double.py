# compiled by njc 0.2.0 from double.njpy (sha256 711f2cfa90141c29, options 30c31fb3656dbd44, code 665d933448c72e17, abi 1)
# do not edit: change double.njpy and build again
# code by writer; the checks of its program were not run
# pyright: reportUnboundVariable=false
import njrt as _nj


def double(x: int) -> int:
    # natural
    # Double <x> into <:y: int>.
    y: int
    y = x // 2
    # end of natural block
    return y


def half(x: int) -> int:
    y: int
    with _nj.attempt(
        """natural(mode="auto", canary=0.5, canary_seed=1)
    Halve <x> into <:y: int>.
    """,
        lambda: (x, y),
        writes="y",
        types=lambda: {"y": int},
        at="double.njpy:9",
        effects="answer",
        canary=0.5,
        canary_seed=1,
        project={"max_calls": 20},
        code="double.njpy:half 49fa76ffd868b7c2",
    ) as _nj_try:
        _nj_try.expect(x="int")
        y = x // 2
        _nj_try.check()
    if _nj_try.has_failed:
        _nj_try.run()
    return y


def sort(mail: str) -> str:
    team: str
    _nj.run(
        """natural
    Put into <:team: str> the team for <mail>.
    """,
        lambda: (team, mail),
        writes="team",
        types=lambda: {"team": str},
        at="double.njpy:16",
        effects="answer",
        project={"max_calls": 20},
        tuned={"openai/local": {"reasoning": "text", "votes": 3}},
        examples=[("openai/local", "mail: str = 'Hi'", '{"team": "sales"}')],
    )
    return team


# njc lines 1=1 8:1 10=2 14:5 19=9 21:10 23=9 38:12 43=16 45:17 47=16 56:19 57=20 sha256 d5d47aba168e4c7b
