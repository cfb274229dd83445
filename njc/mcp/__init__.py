"""MCP servers as modules of Python functions, and compiled functions as an MCP server."""
