"""MCP servers' tools as functions, for the modules that `njc mcp add` writes (extra `mcp`)."""

from njrt.mcp.results import Resource, ToolConnectionError, ToolError, ToolText, ToolTimeoutError
from njrt.mcp.server import McpServer, Progress

__all__ = [
    "McpServer",
    "Progress",
    "Resource",
    "ToolConnectionError",
    "ToolError",
    "ToolText",
    "ToolTimeoutError",
]
