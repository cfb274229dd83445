"""MCP servers' tools as functions, for the modules that `njc mcp add` writes (extra `mcp`)."""

from njrt.mcp.results import ToolConnectionError, ToolError, ToolTimeoutError
from njrt.mcp.server import McpServer

__all__ = ["McpServer", "ToolConnectionError", "ToolError", "ToolTimeoutError"]
