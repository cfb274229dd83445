# compiled by njc 0.3.0 from interfaces.njpy (sha256 6f193887e3b5f723, abi 1)
# do not edit: change interfaces.njpy and build again
# pyright: reportUnboundVariable=false
"""Blocks with an interface: in a function, a method and a class body."""

import njrt as _nj
import njrt
from njrt.interface import Broke, Handling


def leave(run: Handling) -> Broke:
    """Leave the loop."""
    return Broke()


class Clerk:
    DESK = njrt.Interface("desk", [leave])

    def serve(self, orders: list[str]) -> int:
        served = 0
        for order in orders:
            try:
                _nj.run(
                    """natural(interface=self.DESK, max_calls=4)
            Serve <order>, or leave.
            """,
                    lambda: (order,),
                    types=lambda: {"return": int},
                    labels="break continue return",
                    cls="Clerk",
                    at="interfaces.njpy:18",
                    interface=self.DESK,
                    max_calls=4,
                )
            except _nj.Break:
                break
            except _nj.Continue:
                continue
            except _nj.Return as _nj_r:
                return _nj_r.value
            served += 1
        return served

    _nj.run(
        """natural(interface=DESK)
    Put a greeting into <:greeting: str>.
    """,
        lambda: (),
        writes="greeting",
        types=lambda: {"greeting": str},
        cls="Clerk",
        ns=locals(),
        own="greeting",
        at="interfaces.njpy:24",
        interface=DESK,
    )


async def answer(question: str) -> str:
    reply: str
    try:
        await _nj.arun(
            """natural(interface=Clerk.DESK)
    Answer <question> in <:reply: str>.
    """,
            lambda: (question, reply),
            writes="reply",
            types=lambda: {"reply": str, "return": str},
            labels="return",
            at="interfaces.njpy:30",
            interface=Clerk.DESK,
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return reply


# njc lines 1=1 4:1 6=3 7:3 23=18 25:19 27=18 41:21 45=24 46:25 48=24 57:27 61=30 64:31 66=30 75:33 76=34 sha256 2c478806f8876b93
