"""The settings of the service, from variables of the environment.

TRIAGE_PORT=8080 TRIAGE_DATABASE=sqlite:////var/lib/triage.db python -m triage
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, Field, ValidationError

PREFIX = "TRIAGE_"


class ServiceSettings(BaseModel, frozen=True):
    """Each field is set by the variable of its name, such as TRIAGE_PORT."""

    database: str = "sqlite:///triage.db"
    """The URL of a database, as SQLAlchemy writes it."""
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    request_seconds: float = Field(30.0, gt=0)
    """The time of one request, from its first byte to its answer."""
    max_running: int = Field(200, ge=1)
    """Requests that may run at once; further ones are refused."""
    drain_seconds: float = Field(2.0, ge=0)
    """After SIGTERM, how long new requests are answered with 503 before the port is closed."""
    stop_seconds: float = Field(30.0, ge=0)
    """After SIGTERM, how long running requests may take to end."""


def read_settings(environ: Mapping[str, str]) -> ServiceSettings:
    """Read the settings; raise ValueError with a line for each that is wrong or unknown."""
    given = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environ.items()
        if name.startswith(PREFIX)
    }
    unknown = sorted(given.keys() - ServiceSettings.model_fields.keys())
    try:
        settings = ServiceSettings.model_validate(given)
    except ValidationError as error:
        wrong = [
            f"{PREFIX}{found['loc'][0]}".upper() + f": {found['msg']}" for found in error.errors()
        ]
    else:
        if not unknown:
            return settings
        wrong = []
    wrong += [f"{PREFIX}{name.upper()}: there is no such setting" for name in unknown]
    raise ValueError("\n".join(wrong))
