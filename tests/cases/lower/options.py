# compiled by njc 0.3.0 from options.njpy (sha256 37661a605b4b1650, abi 1)
# do not edit: change options.njpy and build again
# njc: model=openai/gpt-4.1, max_effects=20


import njrt as _nj


def f(x):
    try:
        _nj.run(
            """natural(max_effects=5, temperature=0.5)
    Return <x>, made better.
    """,
            lambda: (x,),
            labels="return",
            at="options.njpy:5",
            model="openai/gpt-4.1",
            temperature=0.5,
            max_effects=5,
        )
    except _nj.Return as _nj_r:
        return _nj_r.value


_nj.run(
    """natural
Print hello.
""",
    lambda: (),
    at="options.njpy:10",
    model="openai/gpt-4.1",
    max_effects=20,
)


# njc lines 1=1 3:1 6=4 9:4 11=5 13:6 15=5 24:8 26=10 28:11 30=10 35=13 sha256 3d07783b25fb5975
