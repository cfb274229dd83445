"""The tools of MCP servers as modules of Python functions."""
