"""Commands for an installation and a project: a new one, checks, MCP, the skill."""
