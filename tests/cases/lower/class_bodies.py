# compiled by njc 0.3.0 from class_bodies.njpy (sha256 9e1405cfddcec256, abi 1)
# do not edit: change class_bodies.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj


def make(prefix):
    shared = 0
    label = "outer"

    class Box:
        nonlocal shared
        size: int = 3
        Kind = list[str]
        for label in ():
            pass
        _nj.run(
            """natural
        From <size> and <prefix>, choose a <:label>, a <:__secret> and <:kinds: Kind>; count in <:shared>.
        """,
            lambda: (prefix, shared),
            writes="label __secret kinds shared",
            types=lambda Kind=Kind: {"kinds": Kind},
            cls="Box",
            ns=locals(),
            own="size label __secret kinds",
            nl="shared",
            at="class_bodies.njpy:9",
        )
        for step in range(2):
            try:
                _nj.run(
                    """natural
            Break if <step> is enough; else grow <:size>.
            """,
                    lambda: (),
                    writes="size",
                    types=lambda: {"size": int},
                    labels="break",
                    cls="Box",
                    ns=locals(),
                    own="step size",
                    at="class_bodies.njpy:13",
                    effects="answer",
                )
            except _nj.Break:
                break

    return Box


# njc lines 1=1 7:1 16=9 19:10 21=9 30:12 32=13 34:14 36=13 48:16 50=18 sha256 9413334b5153cf3e
