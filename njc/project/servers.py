"""The `[[mcp]]` sections of njc.lock: MCP servers with modules, and digests of their tools.

    [[mcp]]
    name = "files"
    file = "shop/files.py"
    command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
    server = "secure-filesystem-server 0.2.0"
    digest = "9f3c..."
    tools = { read_text_file = "41aa...", ... }

Values of variables and tokens are never stored: `env` and `headers` name variables.
"""

from __future__ import annotations

from collections.abc import Mapping

from njrt.data.records import field, record
from njrt.values.dataclass_json import NO_OTHER_KEYS


@record
class ServerSection:
    """A section, with the fields in the file."""

    __pydantic_config__ = NO_OTHER_KEYS
    name: str
    file: str
    """The module's path, relative to the lock."""
    command: tuple[str, ...] = ()
    url: str = ""
    env: tuple[str, ...] = ()
    """The names of the variables that the server gets."""
    headers: Mapping[str, str] = field(default_factory=dict)
    allow: tuple[str, ...] = ()
    """The tools, besides read-only ones, that blocks may call without a decision; `*` means all."""
    timeout: float = 60.0
    server: str = ""
    """The name and version that the server gave."""
    digest: str = ""
    """The digest of the module as it was written."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """The digest of each tool, by name."""
