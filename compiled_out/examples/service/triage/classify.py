# compiled by njc 0.3.0 from service/triage/classify.njpy (sha256 6fcbf48c08baf4ca, abi 1)
# do not edit: change service/triage/classify.njpy and build again
# pyright: reportUnboundVariable=false
"""The natural code of the service: which team answers a message, and how soon."""

import njrt as _nj
from dataclasses import dataclass
from typing import Literal

Team = Literal["billing", "shipping", "technical"]


@dataclass(frozen=True)
class Classification:
    """What the model found out about a message."""

    team: Team
    urgent: bool


async def classify(message: str) -> Classification:
    team: Team
    urgent: bool
    await _nj.arun(
        """natural(max_calls=3)
    Put into <:team: Team> the team that should answer <message>, and into <:urgent: bool> whether its sender cannot
    wait until tomorrow.
    """,
        lambda: (team, message, urgent),
        writes="team urgent",
        types=lambda: {"team": Team, "urgent": bool},
        at="service/triage/classify.njpy:18",
        effects="answer",
        max_calls=3,
    )
    return Classification(team, urgent)


# njc lines 1=1 4:1 6=3 7:3 23=18 26:19 29=18 36:22 37=23 sha256 4ba992173e84b54a
