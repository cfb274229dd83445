# compiled by njc 0.3.0 from service/triage/service.py (sha256 b007110c2174b47a, abi 1)
# do not edit: change service/triage/service.py and build again
"""The application: classifies messages and keeps the results.

    PUT /tickets/a1 {"message": "Where is my parcel?"}   ->   201 {"id": "a1", "team": "shipping", "urgent": false}
    PUT /tickets/a1, the same again                      ->   200 and the same answer; the model is not asked
    GET /tickets/a1                                      ->   200 or 404
    GET /health/live, /health/ready, /metrics

A client that did not get its answer sends its request again: the id makes that safe.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import FastAPI, Path, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError

import njrt
from njrt.log.listeners import add_listener
from triage.admission import Admission, Gate
from triage.classify import classify
from triage.failures import CONFLICT, NOT_FOUND, STOPPING, STORAGE, Failure, describe_failure
from triage.metrics import ServiceMetrics
from triage.settings import ServiceSettings
from triage.storage import Ticket, TicketStore

log = logging.getLogger("triage")

TicketId = Annotated[str, Path(pattern=r"^[\w.-]{1,64}$")]


class NewTicket(BaseModel):
    """The body of a request: what a customer wrote."""

    message: str = Field(min_length=1, max_length=8000)


class TicketAnswer(BaseModel):
    """The body of an answer."""

    id: str
    team: str
    urgent: bool


def make_app(settings: ServiceSettings, gate: Gate) -> FastAPI:
    """Make the application; `gate` is closed by whoever stops it."""
    store = TicketStore(settings.database)
    metrics = ServiceMetrics()

    @asynccontextmanager
    async def run_service(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(store.create)
        remove_listener = add_listener(metrics.receive_event)
        try:
            yield
        finally:
            remove_listener()
            await asyncio.to_thread(store.close)

    app = FastAPI(title="triage", lifespan=run_service)
    app.add_middleware(
        Admission,
        gate=gate,
        metrics=metrics,
        max_running=settings.max_running,
        seconds=settings.request_seconds,
    )

    @app.put("/tickets/{id}", response_model=TicketAnswer)
    async def put_ticket(id: TicketId, new: NewTicket, response: Response) -> Ticket | Response:
        ticket = await asyncio.to_thread(store.find, id)
        if ticket is None:
            found = await classify(new.message)
            response.status_code = 201
            ticket = Ticket(id, new.message, found.team, found.urgent)
            ticket = await asyncio.to_thread(store.add, ticket)
        return ticket if ticket.message == new.message else make_answer(CONFLICT)

    @app.get("/tickets/{id}", response_model=TicketAnswer)
    async def get_ticket(id: TicketId) -> Ticket | Response:
        return await asyncio.to_thread(store.find, id) or make_answer(NOT_FOUND)

    @app.get("/health/live")
    async def check_life() -> dict[str, str]:
        return {"status": "live"}

    @app.get("/health/ready", response_model=None)
    async def check_readiness() -> dict[str, str] | Response:
        if gate.is_closed:
            return make_answer(STOPPING)
        try:
            await asyncio.to_thread(store.check)
        except SQLAlchemyError:
            return make_answer(STORAGE)
        return {"status": "ready"}

    @app.get("/metrics")
    async def show_metrics() -> Response:
        return Response(metrics.write_text(), media_type="text/plain; version=0.0.4")

    app.add_exception_handler(njrt.NaturalError, answer_failure)
    app.add_exception_handler(SQLAlchemyError, answer_failure)
    return app


async def answer_failure(request: Request, error: Exception) -> Response:
    """Log an error of the model or the database, and answer what the client may know of it."""
    log.error("%s %s: %s: %s", request.method, request.url.path, type(error).__name__, error)
    return make_answer(describe_failure(error))


def make_answer(failure: Failure) -> Response:
    """Make the answer for a failure."""
    headers = {} if failure.retry_after is None else {"Retry-After": str(failure.retry_after)}
    body = {"error": failure.code, "message": failure.message}
    return JSONResponse(body, failure.status, headers)


# njc lines 1=1 3:1 126=124 sha256 58784d0b4a586c43
