# compiled by njc 0.3.0 from one_line_suites.njpy (sha256 1b32bbca5d51ccde, abi 1)
# do not edit: change one_line_suites.njpy and build again
import njrt as _nj


def f(x, y):
    if x:
        _nj.run(
            """natural
    Make <:y> better.
    """,
            lambda: (y,),
            writes="y",
            at="one_line_suites.njpy:2",
        )
    elif y:
        _nj.run(
            """natural
    Make <:y> worse.
    """,
            lambda: (y,),
            writes="y",
            at="one_line_suites.njpy:5",
        )  # really
    else: pass
    a = 1
    _nj.run(
        """natural
    Add to <:a>.
    """,
        lambda: (a,),
        writes="a",
        at="one_line_suites.njpy:9",
    )
    b = a; c = b  # the rest
    _nj.run(
        """natural
    Multiply <:a>.""",
        lambda: (a,),
        writes="a",
        at="one_line_suites.njpy:12",
    )
    try:
        _nj.run(
            """natural
    Return <a>.
    """,
            lambda: (a,),
            labels="return",
            at="one_line_suites.njpy:13",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    while a:
        try:
            _nj.run(
                """natural
    Break.
    """,
                lambda: (),
                labels="break",
                at="one_line_suites.njpy:16",
                effects="answer",
            )
        except _nj.Break:
            break
        a -= 1
    return a, b, c, y


def g(a, b):
    if (a and
  b):
        _nj.run(
            """natural
    Use <a>.
    """,
            lambda: (a,),
            at="one_line_suites.njpy:24",
        )
        a = 1
    match a:
        case (1 |
      2):
            _nj.run(
                """natural
        Use <b>.
        """,
                lambda: (b,),
                at="one_line_suites.njpy:29",
            )
        case _:
            _nj.run(
                """natural
        Use <a>.
        """,
                lambda: (a,),
                at="one_line_suites.njpy:32",
            )
    c = (1,
2)
    _nj.run(
        """natural
    Print <c>.
    """,
        lambda: (c,),
        at="one_line_suites.njpy:36",
    )
    try: pass
    except (ValueError,
TypeError):
        _nj.run(
            """natural
    Print <c>.
    """,
            lambda: (c,),
            at="one_line_suites.njpy:41",
        )
    finally:
        _nj.run(
            """natural
    Print <c>.
    """,
            lambda: (c,),
            at="one_line_suites.njpy:44",
        )


# njc lines 1=1 6:1 8=2 10:3 12=2 16:5 17=5 19:6 21=5 25:8 27=9 29:10 31=9 35=11 36:12 37=12 38:13 39=12 43=13 46:14 48=13 54:16 55=16 58:17 60=16 67=18 68:19 74=24 76:25 78=24 81=26 82:27 85=29 87:30 89=29 92:32 93=32 95:33 97=32 100:35 102=36 104:37 106=36 109:39 112=41 114:42 116=41 119:44 120=44 122:45 124=44 127=47 sha256 26a47ff14f6984c0
