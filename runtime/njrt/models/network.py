"""The event loop for requests to models, in a separate thread.

    get_network().run(exchange)             a thread waits          one client for each server,
    await get_network().arun(exchange)      an event loop waits     shared by all threads and loops

A connection belongs to one event loop, but a program may have many, or none.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context
from typing import Any, TypeVar

from njrt.data.context import free_in_child

T = TypeVar("T")


class Network:
    """An event loop in a thread, and the clients with connections that belong to it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._clients: dict[object, Any] = {}
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name="njrt-network", daemon=True)
        Context().run(self._thread.start)  # each exchange runs in the context of its caller

    def run(self, exchange: Coroutine[Any, Any, T]) -> T:
        """Run `exchange` on the network's loop and wait for it; an interrupt cancels it.

        Raises RuntimeError in the network's own thread, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            exchange.close()
            raise RuntimeError(
                "a model is asked by `ask` inside of an asynchronous model; await `aask`"
            )
        future = self.start(exchange)
        try:
            return future.result()
        finally:
            future.cancel()

    async def arun(self, exchange: Coroutine[Any, Any, T]) -> T:
        """Run `exchange` on the network's loop without blocking the caller's."""
        return await asyncio.wrap_future(self.start(exchange))

    def start(self, exchange: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `exchange` on the network's loop, in the caller's context; a cancel ends it."""
        return asyncio.run_coroutine_threadsafe(_run_exchange(exchange), self._loop)

    def get_client(self, owner: object, connect: Callable[[], Any]) -> Any:
        """Return the client of `owner`, made by `connect` when first needed, on this loop."""
        if owner not in self._clients:
            self._clients[owner] = connect()
        return self._clients[owner]

    def close(self) -> None:
        """Cancel running exchanges, close the clients and end the thread."""
        with suppress(RuntimeError):  # it is closed
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(timeout=2)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._wait_for_end())

    async def _wait_for_end(self) -> None:
        await self._end.wait()
        exchanges = asyncio.all_tasks() - {asyncio.current_task()}
        for exchange in exchanges:
            exchange.cancel()
        await asyncio.gather(*exchanges, return_exceptions=True)
        for client in self._clients.values():
            with suppress(Exception):
                await client.close()


async def _run_exchange(exchange: Coroutine[Any, Any, T]) -> T:
    try:
        return await exchange
    except (KeyboardInterrupt, SystemExit) as error:  # of a model's code: it would end the loop
        raise RuntimeError(f"a model raised {type(error).__name__}") from error


_networks: dict[int, Network] = {}
"""The networks by process: a forked one has the connections of its parent, and not the thread."""
_networks_lock = free_in_child(threading.RLock())


def get_network() -> Network:
    """Return the network of this process, started when first needed."""
    with _networks_lock:
        if os.getpid() not in _networks:
            _networks[os.getpid()] = Network()
            atexit.register(close_network)
        return _networks[os.getpid()]


def close_network() -> None:
    """Close this process's connections to models; the next request opens new ones."""
    with _networks_lock:
        network = _networks.pop(os.getpid(), None)
    if network is not None:
        network.close()
