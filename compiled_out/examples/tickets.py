# compiled by njc 0.3.0 from tickets.njpy (sha256 0db099a881bfaceb, abi 1)
# do not edit: change tickets.njpy and build again
# pyright: reportUnboundVariable=false
"""An async pipeline: all tickets are judged at once, and the event loop runs on meanwhile."""

import njrt as _nj
import asyncio
from typing import Literal


async def route(ticket: str) -> str:
    team: Literal["billing", "shipping", "technical"]
    await _nj.arun(
        """natural
    Put into <:team: Literal["billing", "shipping", "technical"]> the team that should answer <ticket>.
    """,
        lambda: (team, ticket),
        writes="team",
        types=lambda: {"team": Literal["billing", "shipping", "technical"]},
        at="tickets.njpy:8",
        effects="answer",
    )
    return team


async def main(tickets: list[str]) -> list[str]:
    return await asyncio.gather(*(route(ticket) for ticket in tickets))


TICKETS = [
    "I was charged twice for my subscription this month.",
    "My parcel has not arrived; it was sent two weeks ago.",
    "The app crashes when I open the settings page.",
]

if __name__ == "__main__":
    for ticket, team in zip(TICKETS, asyncio.run(main(TICKETS)), strict=True):
        print(f"{team:<10} {ticket}")


# njc lines 1=1 4:1 6=3 7:3 13=8 15:9 17=8 23:11 39=27 sha256 2030b31556a54ce8
