# compiled by njc 0.3.0 from except_star.njpy (sha256 6bf3fceb2152ca80, abi 1)
# do not edit: change except_star.njpy and build again
"""A block in `except*`: a `raise` of the program's own keeps the group together."""

import njrt as _nj
import logging


def run(job, log: logging.Logger) -> None:
    try:
        job()
    except* ValueError as failed:
        if _nj.run(
            """natural
        Write the <failed> part to <log>, and raise it again if it is serious.
        """,
            lambda: (failed, log),
            reraises=True,
            at="except_star.njpy:10",
            guarded="`failed` is a group of exceptions, which contained code cannot get",
        ):
            raise
    except* OSError as failed:
        for attempt in range(3):
            try:
                if _nj.run(
                    """natural
            Call <job> again. Break if it succeeds; raise what <failed> if this is <attempt> 2.
            """,
                    lambda: (job, failed, attempt),
                    labels="break",
                    reraises=True,
                    at="except_star.njpy:15",
                    guarded="`failed` is a group of exceptions, which contained code cannot get",
                ):
                    raise
            except _nj.Break:
                break
    except* KeyError as failed:
        _nj.run(
            """natural
        Write the <failed> part to <log>.
        """,
            lambda: (failed, log),
            at="except_star.njpy:19",
            guarded="`failed` is a group of exceptions, which contained code cannot get",
        )


# njc lines 1=1 3:1 5=3 6:3 14=10 15:11 17=10 23:13 26=15 28:16 30=15 39:18 41=19 42:20 44=19 48=22 sha256 59473afc00d49c86
