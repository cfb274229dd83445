"""Types that many modules name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Json = Mapping[str, Any]
"""A JSON object."""

Protocol = Literal["tools", "text"]
"""How a model requests effects: by tool calls, or by one fenced code block in plain text."""
