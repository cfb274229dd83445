# compiled by njc 0.3.0 from service/triage/__main__.py (sha256 d7a53d9a1eb4d0b4, abi 1)
# do not edit: change service/triage/__main__.py and build again
"""`python -m triage`: serves until SIGTERM or SIGINT, then lets running requests end."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from types import FrameType

import uvicorn

from triage.admission import Gate
from triage.service import make_app
from triage.settings import ServiceSettings, read_settings


class DrainingServer(uvicorn.Server):
    """A server that answers new requests with 503 for a while after SIGTERM, before it closes its port.

    Whoever balances the load learns in that time that the instance is gone, and no connection is cut off.
    """

    def __init__(self, config: uvicorn.Config, gate: Gate, settings: ServiceSettings) -> None:
        super().__init__(config)
        self._gate = gate
        self._settings = settings

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note the signal."""
        self._gate.close()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for those who may still send requests, and for the requests that run; then stop."""
        self._gate.close()
        await asyncio.sleep(self._settings.drain_seconds)
        await self._gate.wait_until_idle(self._settings.stop_seconds)
        await super().shutdown(sockets)


def main() -> None:
    """Serve."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    for client in ("httpx", "httpx2"):  # a line for each request to the model
        logging.getLogger(client).setLevel(logging.WARNING)
    try:
        settings = read_settings(os.environ)
    except ValueError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    gate = Gate()
    config = uvicorn.Config(
        make_app(settings, gate),
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    DrainingServer(config, gate, settings).run()


if __name__ == "__main__":
    main()


# njc lines 1=1 3:1 71=69 sha256 7c41bf3a27f31a70
