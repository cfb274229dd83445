# compiled by njc 0.3.0 from mailbox.njpy (sha256 13ec5e9529b556ec, abi 1)
# do not edit: change mailbox.njpy and build again
# pyright: reportUnboundVariable=false
"""Triage a mailbox: one block judges each mail, one files it in place or skips it."""

import njrt as _nj
from typing import Literal


class Mailbox:
    def __init__(self, mails: list[str]) -> None:
        self.mails = mails
        self.folders: dict[str, list[str]] = {"bills": [], "meetings": []}
        self.opened = 0

    def triage(self) -> None:
        for mail in self.mails:
            topic: Literal["bills", "meetings", "prizes"]
            _nj.run(
                """natural
            Put into <:topic: Literal["bills", "meetings", "prizes"]> what <mail> is about.
            """,
                lambda: (topic, mail),
                writes="topic",
                types=lambda: {"topic": Literal["bills", "meetings", "prizes"]},
                cls="Mailbox",
                at="mailbox.njpy:14",
                effects="answer",
            )
            try:
                _nj.run(
                    """natural
            Continue if <topic> is "prizes". Otherwise append <mail> to the list in <self.folders>
            that is for its <topic>.
            """,
                    lambda: (topic, mail, self),
                    parts="self.folders",
                    labels="continue",
                    cls="Mailbox",
                    at="mailbox.njpy:17",
                )
            except _nj.Continue:
                continue
            self.opened += 1


MAILS = [
    "Can we talk about the new catalogue on Monday at ten? Anna",
    "YOU WON 1,000,000 dollars!!! Click here to claim your prize!",
    "Please pay 84.20 EUR for electricity by 30 June.",
]

if __name__ == "__main__":
    mailbox = Mailbox(MAILS)
    mailbox.triage()
    for folder, mails in mailbox.folders.items():
        print(f"{folder}: {mails}")
    print(f"{mailbox.opened} of {len(MAILS)} mails are worth reading")


# njc lines 1=1 4:1 6=3 7:3 19=14 21:15 23=14 30:17 31=17 33:18 36=17 44:21 59=36 sha256 c999cb5ec0a7cf47
