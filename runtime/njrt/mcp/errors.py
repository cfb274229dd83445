"""What calls of tools raise.

ToolError("files.read_text_file: no such file")     the tool has failed; the code of a block may catch it
"""

from __future__ import annotations


class ToolError(RuntimeError):
    """A tool has failed: the text is the server's."""


class ToolTimeoutError(ToolError, TimeoutError):
    """A tool has not answered in time. The server has got a cancellation."""


class ToolConnectionError(ToolError, ConnectionError):
    """There is no connection to the server, or it was lost during a call."""
