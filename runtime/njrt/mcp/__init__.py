"""MCP servers' tools as functions, for the modules that `njc mcp add` writes (extra `mcp`)."""

from njrt.mcp.server import McpServer, ToolConnectionError, ToolError, ToolTimeoutError

__all__ = ["McpServer", "ToolConnectionError", "ToolError", "ToolTimeoutError"]
