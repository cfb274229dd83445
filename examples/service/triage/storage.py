"""Classified messages in SQLite, through SQLAlchemy.

    store = TicketStore("sqlite:///triage.db")
    store.add(Ticket("a1", "Where is my parcel?", "shipping", False))

The methods block; call them with `asyncio.to_thread`.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Boolean, Column, MetaData, String, Table, Text, create_engine, event, select
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import ConnectionPoolEntry

METADATA = MetaData()
TICKETS = Table(
    "tickets",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("message", Text, nullable=False),
    Column("team", String(32), nullable=False),
    Column("urgent", Boolean, nullable=False),
)

SECONDS_TO_WAIT = 5.0
"""For a lock of another process."""


@dataclass(frozen=True)
class Ticket:
    """A message and how it was classified. `id` is the client's."""

    id: str
    message: str
    team: str
    urgent: bool


class TicketStore:
    """The tickets in a database."""

    def __init__(self, url: str) -> None:
        self._engine = create_engine(url, connect_args={"timeout": SECONDS_TO_WAIT})
        event.listen(self._engine, "connect", _configure_sqlite)

    def create(self) -> None:
        """Create what the database lacks."""
        try:
            METADATA.create_all(self._engine)
        except DBAPIError:
            # Another instance of the service may have created it at the same moment.
            time.sleep(0.2)
            METADATA.create_all(self._engine)

    def find(self, id: str) -> Ticket | None:
        """Find a ticket."""
        with self._engine.connect() as connection:
            row = connection.execute(select(TICKETS).where(TICKETS.c.id == id)).one_or_none()
        return None if row is None else Ticket(**row._mapping)

    def add(self, ticket: Ticket) -> Ticket:
        """Add a ticket; return it, or the one of the same id that was there before."""
        try:
            with self._engine.begin() as connection:
                connection.execute(TICKETS.insert().values(asdict(ticket)))
        except IntegrityError:
            if found := self.find(ticket.id):
                return found
            raise
        return ticket

    def check(self) -> None:
        """Raise an SQLAlchemyError if tickets cannot be read."""
        with self._engine.connect() as connection:
            connection.execute(select(TICKETS).limit(1))

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def _configure_sqlite(connection: Any, _: ConnectionPoolEntry) -> None:
    """Let readers and a writer work at once; a power cut may lose the last commits, a killed process none."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
