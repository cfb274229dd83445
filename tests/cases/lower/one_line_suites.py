# compiled by njc 0.1.0 from one_line_suites.njpy (sha256 5d8cf8ebea5b7e08, abi 1)
# do not edit: change one_line_suites.njpy and build again
import njrt as _nj


def f(x, y):
    if x:
        try:
            _nj.run(
                """natural
    Make <:y> better.
    """,
                lambda: (y,),
                writes="y",
                labels="return",
                at="one_line_suites.njpy:2",
            )
        except _nj.Return as _nj_r:
            return _nj_r.value
    elif y:
        try:
            _nj.run(
                """natural
    Make <:y> worse.
    """,
                lambda: (y,),
                writes="y",
                labels="return",
                at="one_line_suites.njpy:5",
            )
        except _nj.Return as _nj_r:
            return _nj_r.value  # really
    else: pass
    a = 1
    try:
        _nj.run(
            """natural
    Add to <:a>.
    """,
            lambda: (a,),
            writes="a",
            labels="return",
            at="one_line_suites.njpy:9",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    b = a; c = b  # the rest
    try:
        _nj.run(
            """natural
    Multiply <:a>.""",
            lambda: (a,),
            writes="a",
            labels="return",
            at="one_line_suites.njpy:12",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
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
                labels="break continue return",
                at="one_line_suites.njpy:16",
            )
        except _nj.Break:
            break
        except _nj.Continue:
            continue
        except _nj.Return as _nj_r:
            return _nj_r.value
        a -= 1
    return a, b, c, y


def g(a, b):
    if (a and
  b):
        try:
            _nj.run(
                """natural
    Use <a>.
    """,
                lambda: (a,),
                labels="return",
                at="one_line_suites.njpy:24",
            )
        except _nj.Return as _nj_r:
            return _nj_r.value
        a = 1
    match a:
        case (1 |
      2):
            try:
                _nj.run(
                    """natural
        Use <b>.
        """,
                    lambda: (b,),
                    labels="return",
                    at="one_line_suites.njpy:29",
                )
            except _nj.Return as _nj_r:
                return _nj_r.value
        case _:
            try:
                _nj.run(
                    """natural
        Use <a>.
        """,
                    lambda: (a,),
                    labels="return",
                    at="one_line_suites.njpy:32",
                )
            except _nj.Return as _nj_r:
                return _nj_r.value
    c = (1,
2)
    try:
        _nj.run(
            """natural
    Use <c>.
    """,
            lambda: (c,),
            labels="return",
            at="one_line_suites.njpy:36",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    try: pass
    except (ValueError,
TypeError):
        try:
            _nj.run(
                """natural
    Use <c>.
    """,
                lambda: (c,),
                labels="return",
                at="one_line_suites.njpy:41",
            )
        except _nj.Return as _nj_r:
            return _nj_r.value
    finally:
        _nj.run(
            """natural
    Use <c>.
    """,
            lambda: (c,),
            at="one_line_suites.njpy:44",
        )


# njc lines 1=1 6:1 8=2 11:3 13=2 20:5 21=5 24:6 26=5 33:8 35=9 38:10 40=9 47=11 48:12 49=12 51:13 52=12 59=13 62:14 64=13 70:16 71=16 74:17 76=16 86=18 87:19 93=24 96:25 98=24 104=26 105:27 108=29 111:30 113=29 119:32 120=32 123:33 125=32 131:35 133=36 136:37 138=36 144:39 147=41 150:42 152=41 158:44 159=44 161:45 163=44 166=47 sha256 f1f1f1ef9f49f2bc
